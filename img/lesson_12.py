"""The figure of lesson 12: where the tensors of a published file belong."""

from drawing import BODY, GREY, INK, KEY, LINE, PANEL, QUERY, SMALL, VALUE, WHITE, Drawing, mix

WIDTH, HIDDEN = 384, 1536
LAYER = (  # the name in the file, its shape, the part that it becomes, and that one's colour
    ("attention.self.query.weight", (WIDTH, WIDTH), "W_{Q}", QUERY),
    ("attention.self.key.weight", (WIDTH, WIDTH), "W_{K}", KEY),
    ("attention.self.value.weight", (WIDTH, WIDTH), "W_{V}", VALUE),
    ("attention.output.dense.weight", (WIDTH, WIDTH), "W_{O}", GREY),
    ("intermediate.dense.weight", (HIDDEN, WIDTH), "W_{1}", GREY),
    ("output.dense.weight", (WIDTH, HIDDEN), "W_{2}", GREY),
)
GROUPS = (("attention", 4), ("feed-forward network", 2))
TOP, ROW = 74, 44


def row(d, i):
    name, shape, part, colour = LAYER[i]
    y = TOP + ROW * i
    d.rect(36, y, 372, 34, WHITE, colour)
    d.text(48, y + 17, name, SMALL, INK, "start")
    d.text(396, y + 17, f"{shape[0]} × {shape[1]}", SMALL, colour, "end", bold=True)
    d.route([(412, y + 17), (502, y + 17)], colour, thick=2.4)
    d.box(508, y, 88, 34, part, mix(colour, 0.16), colour)


def loading():
    d = Drawing(
        384,
        "Where the tensors of a published file belong",
        "Left, six tensors of a layer of all-MiniLM-L6-v2, as the file names them; from each an arrow leads to the "
        "part of the project's encoder layer that it becomes. "
        + "; ".join(f"{name}, {a} by {b}" for name, (a, b), *_ in LAYER)
        + ". The first four become W_Q, W_K, W_V and W_O of the attention, the others W_1 and W_2 of the "
        "feed-forward network.",
    )
    d.rect(24, 60, 396, ROW * len(LAYER) + 16, PANEL, LINE, 10)
    d.text(222, 38, "layer 0 in the file", BODY, bold=True)
    d.text(630, 38, "the same layer in your classes", BODY, bold=True)
    for i in range(len(LAYER)):
        row(d, i)
    first = 0
    for name, count in GROUPS:
        y, end = TOP + ROW * first, TOP + ROW * (first + count) - 10
        d.path(f"M608 {y}H618V{end}H608", GREY, 1.8)
        d.text(632, (y + end) / 2, name, SMALL, INK, "start")
        first += count
    d.text(400, 362, "each matrix has a bias, too; with two norms that makes sixteen tensors in all", SMALL, GREY)
    return d
