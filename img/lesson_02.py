"""The figure of lesson 02: several heads side by side."""

from drawing import AMBER, DOT, GREY, INK, KEY, QUERY, SMALL, TIMES, VALUE, Drawing, blend, dot, softmax

GRAIN, HEADS, HEAD_ROWS = 18, 3, (128, 240, 352)


def pattern(rows, seed):
    """Made-up features between 0.05 and 0.8, two for each row, the same at every run."""
    return [[0.05 + 0.75 * ((7 * i + 5 * j + 3 * i * j + 4 * seed) % 11) / 10 for j in range(2)] for i in range(rows)]


def piece(d, x, middle, values, colour, outlined):
    """Draw one head's share of a matrix around a middle height."""
    height, width = GRAIN * len(values), GRAIN * len(values[0])
    d.matrix(x, middle - height / 2, values, colour, (GRAIN, GRAIN))
    if outlined:
        d.rect(x - 3, middle - height / 2 - 3, width + 6, height + 6, "none", INK, 5, thick=2.6)


def pieces(d, x, middle, shares, colour, name, axes):
    """Draw a matrix whose columns are shared out among the heads."""
    height = GRAIN * len(shares[0])
    for head, share in enumerate(shares):
        piece(d, x + 42 * head, middle, share, colour, head == 0)
    d.text(x - 10, middle, axes[0], SMALL, GREY, "end")
    d.text(x + 60, middle - height / 2 - 17, axes[1], SMALL, GREY)
    d.text(x + 60, middle + height / 2 + 18, name, SMALL, colour, bold=True)


def one_head(d, middle, head, query, key, value):
    """Draw what one head does with its slices of query, key and value; return its output."""
    weights = [softmax([6 * dot(q, k) for k in key]) for q in query]
    output = [blend(row, value) for row in weights]
    d.text(238, middle, f"head {head}", SMALL, bold=True)
    for x, values, colour in ((272, query, QUERY), (318, key, KEY), (364, value, VALUE)):
        piece(d, x, middle, values, colour, head == 0)
    d.route([(406, middle), (426, middle)])
    piece(d, 432, middle, weights, AMBER, head == 0)
    d.route([(510, middle), (530, middle)])
    piece(d, 536, middle, output, VALUE, head == 0)
    if not head:
        d.text(468, middle - 44, f"*T* {TIMES} *S*", SMALL, GREY)
        d.text(554, middle - 44, "*d*_{head}", SMALL, GREY)
    return output


def merge(d, outputs):
    """Put the heads' outputs side by side and project them."""
    x, top, bottom = 640, HEAD_ROWS[0], HEAD_ROWS[2]
    for middle in HEAD_ROWS:
        d.route([(580, middle), (594, middle), (594, top), (614, top)], head=middle == top)
    pieces(d, x, top, outputs, VALUE, "heads side by side", ("*T*", "*d*_{model}"))
    joined = [[v for part in parts for v in part] for parts in zip(*outputs, strict=True)]
    w_o = [[0.1 + ((5 * i + 3 * j + i * j) % 7) / 10 for j in range(6)] for i in range(6)]
    d.text(x - 4, 236, f"{TIMES} W_{{O}}", SMALL, bold=True)
    d.matrix(x + 24, 200, w_o, GREY, (12, 12))
    d.route([(x + 60, 278), (x + 60, bottom - 36)])
    projected = [[dot(row, column) / 3 for column in zip(*w_o, strict=True)] for row in joined]
    d.matrix(x + 6, bottom - 27, projected, VALUE, (GRAIN, GRAIN))
    d.text(x + 60, bottom + 46, "output", SMALL, VALUE, bold=True)


def heads():
    d = Drawing(
        466,
        "Multi-head attention: share the features out among heads, attend in each, concatenate, project",
        "Left: the projected query, key and value, their d_model columns shared out among three heads. Middle: each "
        "head takes its columns, computes its own attention weights (T by S) and its own output (T by d_head). Right: "
        "the outputs stand side by side again (T by d_model) and are multiplied by W_O. Head 0 is outlined.",
    )
    d.step(36, 44, 1, "project, split")
    d.step(262, 44, 2, "attend in every head")
    d.step(604, 44, 3, "merge, project")
    shares = []
    for i, (name, rows, colour) in enumerate((("query", 3, QUERY), ("key", 4, KEY), ("value", 4, VALUE))):
        shares.append([pattern(rows, 3 * i + head) for head in range(HEADS)])
        axes = ("*T*" if name == "query" else "*S*", "" if i else "*d*_{model}")
        pieces(d, 56, HEAD_ROWS[i], shares[i], colour, f"{name} {DOT} W_{{{name[0].upper()}}}", axes)
    d.route([(186, 240), (206, 240)])
    outputs = [one_head(d, middle, head, *(share[head] for share in shares)) for head, middle in enumerate(HEAD_ROWS)]
    merge(d, outputs)
    return d
