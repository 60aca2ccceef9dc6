"""The figures of lesson 08: a small tree of sentences, and what a key-value cache keeps."""

from drawing import BODY, GREY, INK, KEY, LINE, PANEL, QUERY, SMALL, VALUE, WHITE, Drawing, mix

TREE = {  # the tree of the lesson: the next words after each, with their probabilities
    "It will": {"be": 0.55, "rain": 0.45},
    "be": {"sunny": 0.40, "windy": 0.35, "cold": 0.25},
    "rain": {"*end*": 0.90, "again": 0.10},
}
COLUMNS = (96, 280, 464, 640)  # the middles of: the begin, the first word, the second, the whole sentence
FIRST_ROWS = {"be": 150, "rain": 302}
SECOND_ROWS = (98, 150, 202, 276, 328)
GREEDY, BEST = QUERY, KEY


def branch(d, start, end, probability, colour):
    """Draw a branch from one word's right edge to the next one's left, with its probability on it."""
    strong = colour != GREY
    d.route([(start[0] + 48, start[1]), (end[0] - 50, end[1])], colour, thick=3.2 if strong else 1.6)
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    d.rect(x - 19, y - 11, 38, 22, WHITE, "none", radius=4)
    d.text(x, y, f"{probability:.2f}", SMALL, colour if strong else INK, bold=strong)


def tree():
    d = Drawing(
        392,
        "A tree of sentences in which greedy choice misses the best one",
        "A tree that grows from 'It will' to the right. First word: be with probability 0.55, rain 0.45. After be: "
        "sunny 0.40, windy 0.35, cold 0.25. After rain: the end 0.90, again 0.10. At the right the probability of each "
        "sentence, the product along its path: be sunny 0.2200, be windy 0.1925, be cold 0.1375, rain 0.4050, rain "
        "again 0.0450. The greedy path leads to be sunny, the best is rain.",
    )
    for x, words in zip(COLUMNS, ("begin", "first word", "second word", "the product"), strict=True):
        d.text(x, 36, words, SMALL, GREY)
    root = (COLUMNS[0], (FIRST_ROWS["be"] + FIRST_ROWS["rain"]) / 2)
    rows = iter(SECOND_ROWS)
    for first, p in TREE["It will"].items():
        at, path = (COLUMNS[1], FIRST_ROWS[first]), GREEDY if first == "be" else BEST
        branch(d, root, at, p, path)
        for i, (second, q) in enumerate(TREE[first].items()):
            there, colour = (COLUMNS[2], next(rows)), GREY if i else path
            branch(d, at, there, q, colour)
            d.box(there[0] - 46, there[1] - 18, 92, 36, second, *((WHITE, LINE) if i else (mix(colour, 0.14), colour)))
            d.text(COLUMNS[3], there[1], f"{p * q:.4f}", BODY, colour if not i else INK, bold=not i)
            if not i:
                d.text(COLUMNS[3] + 72, there[1], "greedy" if first == "be" else "the best", SMALL, colour, bold=True)
        d.box(at[0] - 46, at[1] - 18, 92, 36, first, mix(path, 0.14), path)
    d.box(root[0] - 46, root[1] - 18, 92, 36, "It will", PANEL)
    d.text(400, 368, "on each branch: the probability of that word after the words before it", SMALL, GREY)
    return d


STEPS, CELL = 5, 42


def staircase(d, x, y, computed):
    """Draw a row of keys and values for each step: full where they are computed, light where they are kept."""
    count = 0
    for step in range(STEPS):
        d.text(x - 14, y + step * CELL + CELL / 2, f"step {step + 1}", SMALL, GREY, "end")
        for place in range(step + 1):
            new = computed(step, place)
            count += new
            fill, stroke = (VALUE, VALUE) if new else (mix(VALUE, 0.13), mix(VALUE, 0.5))
            left, top = x + place * CELL, y + step * CELL
            d.rect(left + 2, top + 2, CELL - 4, CELL - 4, fill, stroke, radius=5)
            d.text(left + CELL / 2, top + CELL / 2, f"{place + 1}", SMALL, WHITE if new else INK, bold=bool(new))
    d.text(x + STEPS * CELL / 2, y + STEPS * CELL + 30, f"{count} computed", BODY, INK, bold=True)


def cache():
    d = Drawing(
        370,
        "What a key-value cache keeps: five steps without and with it",
        "Two staircases of five steps; a cell stands for the key and the value of one position in the sentence. Left, "
        "without a cache: at step t the cells of all t positions are computed, 1 + 2 + 3 + 4 + 5 = 15 in all. Right, "
        "with a cache: at each step only the newest cell is computed, 5 in all, and the older ones are kept.",
    )
    d.path("M400 28V300", LINE, 1.2)
    d.text(212, 42, "without a cache", BODY, INK, bold=True)
    d.text(602, 42, "with a cache", BODY, INK, bold=True)
    staircase(d, 122, 72, lambda step, place: True)
    staircase(d, 512, 72, lambda step, place: step == place)
    d.rect(150, 332, 18, 18, VALUE, VALUE, radius=4)
    d.text(176, 341, "key and value computed in this step", SMALL, GREY, "start")
    d.rect(466, 332, 18, 18, mix(VALUE, 0.13), mix(VALUE, 0.5), radius=4)
    d.text(492, 341, "kept from an earlier step", SMALL, GREY, "start")
    return d
