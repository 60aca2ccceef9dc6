"""The figure of lesson 04: the three ways around a sub-layer."""

from drawing import GREY, INK, KEY, LINE, QUERY, SMALL, VALUE, WHITE, WIDTH, Drawing, mix

LOWER, UPPER = 366, 106  # heights at which x enters and leaves
SUBLAYER, NORM = mix(QUERY, 0.16), mix(VALUE, 0.2)


def part(d, x, middle, words, fill, stroke):
    """Draw a box of the column around a height."""
    d.rect(x - 58, middle - 19, 116, 38, fill, stroke)
    d.text(x, middle, words)


def plus(d, x, y):
    """Draw the place where two ways are added."""
    d.disc(x, y, 12, WHITE, INK)
    d.text(x, y - 1, "+", bold=True)


def column(d, x, name, formula, parts):
    """Draw one kind of block: parts from bottom to top, joined by arrows."""
    d.text(x, 40, name, bold=True)
    d.text(x, 64, formula, SMALL, GREY)
    d.text(x, LOWER + 16, "*x*", bold=True)
    bottom = LOWER
    for middle, words in parts:
        half = 12 if words == "+" else 19
        d.route([(x, bottom), (x, middle + half)])
        if words == "+":
            plus(d, x, middle)
        else:
            part(d, x, middle, words, *((NORM, VALUE) if words == "norm" else (SUBLAYER, QUERY)))
        bottom = middle - half
    d.route([(x, bottom), (x, UPPER - 14)])


def around(d, x, start, end):
    """Draw the way around a sub-layer: from a height below it to the plus above it."""
    d.route([(x, start), (x - 84, start), (x - 84, end), (x - 12, end)], KEY, thick=3.2)


def blocks():
    d = Drawing(
        412,
        "One sub-layer: alone, with post-norm, with pre-norm",
        "Three columns, each read from bottom to top. Alone: x goes through the sub-layer. Post-norm: x goes through "
        "the sub-layer and around it, both are added, and the sum is normalised. Pre-norm: x is normalised and goes "
        "through the sub-layer; x itself goes around both and is added, and no norm stands on that way. A last "
        "norm ends the pre-norm stack.",
    )
    for x in (WIDTH / 3 - 8, 2 * WIDTH / 3 + 8):
        d.path(f"M{x:g} 30V382", LINE, 1.2)
    column(d, 128, "alone", "Sublayer(*x*)", [(242, "sub-layer")])
    column(
        d, 412, "post-norm (2017)", "LayerNorm(*x* + Sublayer(*x*))", [(272, "sub-layer"), (208, "+"), (156, "norm")]
    )
    column(d, 684, "pre-norm", "*x* + Sublayer(LayerNorm(*x*))", [(296, "norm"), (230, "sub-layer"), (156, "+")])
    d.text(670, 106, "a last norm", SMALL, GREY, "end")
    d.text(670, 124, "ends the stack", SMALL, GREY, "end")
    around(d, 412, 334, 208)
    around(d, 684, 342, 156)
    return d
