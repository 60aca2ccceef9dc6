"""The figure of lesson 07: teacher forcing, where all positions learn at once, and writing, one after another."""

from drawing import BODY, GREY, INK, KEY, LINE, PANEL, QUERY, SMALL, VALUE, Drawing, mix

BEGIN, TARGETS = "begin", ("ein", "undzwan", "zig", "end")
INPUTS = (BEGIN, *TARGETS[:-1])  # the targets, shifted right
CHIP, GAP, HEIGHT = 74, 88, 30  # a token's width, the distance of two columns, its height
FIRST = 98  # the middle of the first column
TOP, MIDDLE, BOTTOM = 104, 150, 256  # of targets, decoder, inputs


def chip(d, x, y, word, colour, width=CHIP):
    d.rect(x - width / 2, y - HEIGHT / 2, width, HEIGHT, mix(colour, 0.16), colour)
    d.text(x, y, word, SMALL)


def training(d):
    """Targets on top, the decoder, and the same targets one position further right below."""
    columns = [FIRST + GAP * i for i in range(len(TARGETS))]
    d.text(FIRST + 1.5 * GAP, 36, "in training: all positions at once", BODY, INK, bold=True)
    d.text(54, TOP, "target", SMALL, GREY, "end")
    d.text(54, BOTTOM, "input", SMALL, GREY, "end")
    d.text(FIRST + 1.5 * GAP, 68, "must say", SMALL, GREY)
    for x in columns[:-1]:
        between = x + GAP / 2
        corners = [(x + CHIP / 2, TOP), (between, TOP), (between, BOTTOM), (x + GAP - CHIP / 2, BOTTOM)]
        d.route(corners, QUERY, thick=1.6, dash="4 4", bend=6)
    d.box(FIRST - CHIP / 2, MIDDLE, 3 * GAP + CHIP, 50, "decoder, causal mask", PANEL)
    for x, target, given in zip(columns, TARGETS, INPUTS, strict=True):
        d.route([(x, BOTTOM - HEIGHT / 2), (x, MIDDLE + 50)])
        d.route([(x, MIDDLE), (x, TOP + HEIGHT / 2)])
        chip(d, x, TOP, target, VALUE)
        chip(d, x, BOTTOM, given, KEY if given == BEGIN else VALUE)
    d.text(FIRST + 1.5 * GAP, BOTTOM + 34, "the targets, shifted right behind *begin*", SMALL, QUERY)


def writing(d):
    """One row for each step: what has been written is read again, and one token is appended."""
    left, step, width = 438, 69, 67
    d.text(612, 36, "when it writes: one after the other", BODY, INK, bold=True)
    for row in range(len(TARGETS)):
        y = 92 + 56 * row
        d.text(left - 4, y, f"{row + 1}", SMALL, GREY, "end")
        for i in range(row + 1):
            chip(d, left + 34 + step * i, y, INPUTS[i], KEY if i == 0 else VALUE, width)
        chip(d, left + 34 + step * (row + 1), y, TARGETS[row], QUERY, width)


def shift():
    d = Drawing(
        316,
        "Teacher forcing: the decoder's input is the target, shifted right by one position",
        "Left, in training: four columns. The targets are ein, undzwan, zig, end. Below them the decoder with its "
        "causal mask, and under it the inputs: begin, ein, undzwan, zig. Dashed arrows lead from each target to the "
        "input one position further right. Right, when it writes: four steps, one below the other. Step 1 reads begin "
        "and says ein; step 2 reads begin, ein and says undzwan; step 3 says zig; step 4 says end.",
    )
    d.path("M414 24V292", LINE, 1.2)
    training(d)
    writing(d)
    return d
