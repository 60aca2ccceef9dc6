"""The figure of lesson 17: what each of four ranks holds, in five ways to cut a training."""

from drawing import BODY, CHANGE, GREY, INK, KEY, LINE, PANEL, QUERY, SMALL, VALUE, WHITE, Drawing, mix, readable_on

RANKS = 4
COLOURS = (QUERY, KEY, VALUE, CHANGE)  # of the ranks
SIDE, STEP, LEFT = 108, 154, 38  # of a square, from panel to panel, of the first
TEXTS, WEIGHTS = 118, 286  # where the squares begin
BACK_AND_FORTH = [*range(RANKS), *reversed(range(RANKS))]

BY_ROWS = [[rank] for rank in range(RANKS)]
BY_COLUMNS = [[*range(RANKS)]]
SLICES = [[*range(RANKS)]] * RANKS
ALL = None
WAYS = (  # the name, what is cut; who has which part of the activations and of the weights; what is sent
    ("data", "the texts", BY_ROWS, ALL, ("gradients,", "once a step")),
    ("sharded", "texts, weights", BY_ROWS, SLICES, ("weights twice,", "gradients once")),
    ("tensor", "the features", ALL, SLICES, ("activations,", "4 times a layer")),
    ("context", "the positions", [BACK_AND_FORTH], ALL, ("keys and values", "in every layer")),
    ("pipeline", "the layers", ALL, BY_ROWS, ("activations,", "at each border")),
)


def square(d, x, y, parts):
    """Draw who has which part: a row for each row of ranks, grey where every rank has all."""
    if parts is ALL:
        d.rect(x, y, SIDE, SIDE, PANEL, LINE, 4)
        d.text(x + SIDE / 2, y + SIDE / 2, "all ranks", SMALL, GREY)
        return
    height = SIDE / len(parts)
    for i, row in enumerate(parts):
        width = SIDE / len(row)
        for j, rank in enumerate(row):
            fill = mix(COLOURS[rank], 0.75)
            d.rect(x + j * width, y + i * height, width, height, fill, WHITE, 3)
            d.text(x + (j + 0.5) * width, y + (i + 0.5) * height, f"{rank}", SMALL, readable_on(fill), bold=True)


def ways():
    d = Drawing(
        500,
        "Five ways to cut a training for four ranks",
        "For each way, a square of activations, whose rows are texts and whose columns are positions, and a square of "
        "weights, whose rows are layers and whose columns are features. Data: the ranks share the texts, all have the "
        "weights. Sharded: the ranks share the texts and every weight. Tensor: all have the activations, each rank has "
        "some features of each layer. Context: the ranks share the positions, rank 0 has the first and the last piece; "
        "all have the weights. Pipeline: all texts pass through all ranks, each of which has a layer.",
    )
    for i, (name, cut, activations, weights, sent) in enumerate(WAYS):
        x, middle = LEFT + i * STEP, LEFT + i * STEP + SIDE / 2
        d.text(middle, 36, name, BODY, INK, bold=True)
        d.text(middle, 60, cut, SMALL, GREY)
        d.text(middle, TEXTS - 18, "activations", SMALL, INK)
        square(d, x, TEXTS, activations)
        d.text(middle, WEIGHTS - 18, "weights", SMALL, INK)
        square(d, x, WEIGHTS, weights)
        d.text(middle, WEIGHTS + SIDE + 28, sent[0], SMALL, INK)
        d.text(middle, WEIGHTS + SIDE + 46, sent[1], SMALL, INK)
    d.text(400, 480, "rows: texts above, layers below; columns: positions above, features below", SMALL, GREY)
    return d
