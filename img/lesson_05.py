"""The figure of lesson 05: four masks as tables."""

from drawing import BODY, GREY, HAIR, INK, KEY, QUERY, SMALL, VALUE, WHITE, Drawing, mix

CELL = 30
FRENCH, ENGLISH = ("Je", "suis", "ici", "pad"), ("I", "am", "here")


def causal(t, s):
    return s <= t


def no_pad(t, s):
    return FRENCH[s] != "pad"


def both(t, s):
    return causal(t, s) and no_pad(t, s)


def table(d, x, y, rows, allowed, colour):
    """Draw a table of queries and keys: ticks on colour where a query may attend, dots where not."""
    for s, word in enumerate(FRENCH):
        d.text(x + (s + 0.5) * CELL, y - 13, word, SMALL, GREY)
    for t, word in enumerate(rows):
        d.text(x - 8, y + (t + 0.5) * CELL, word, SMALL, GREY, "end")
        for s in range(len(FRENCH)):
            may = allowed(t, s)
            left, top = x + s * CELL, y + t * CELL
            d.rect(left, top, CELL, CELL, mix(colour, 0.3) if may else WHITE, WHITE if may else HAIR, 3)
            if may:
                middle, low = left + CELL / 2, top + CELL / 2
                corners = ((-6, 0), (-2, 5), (7, -6))
                steps = [f"{middle + dx:g} {low + dy:g}" for dx, dy in corners]
                d.path("M" + "L".join(steps), INK, 2.2)
            else:
                d.disc(left + CELL / 2, top + CELL / 2, 1.8)
    d.rect(x, y, CELL * len(FRENCH), CELL * len(rows), "none", colour, 3)


def four_masks():
    d = Drawing(
        284,
        "Four masks: causal, padding, both, and across two sentences",
        "Four tables; rows are queries, columns are keys, a tick means may attend. Causal: the lower triangle of the "
        "words Je, suis, ici, pad. Padding: every row ticks Je, suis, ici and leaves out the pad. Both: the lower "
        "triangle without the column of the pad. Cross: the English queries I, am, here each tick Je, suis, ici.",
    )
    panels = (
        ("causal", "no future", FRENCH, causal, QUERY),
        ("padding", "no pad as a key", FRENCH, no_pad, KEY),
        ("both", "causal & padding", FRENCH, both, VALUE),
        ("cross", "English asks French", ENGLISH, no_pad, KEY),
    )
    for i, (name, words, rows, allowed, colour) in enumerate(panels):
        x, y = 54 + 191 * i, 92
        d.text(x + 2 * CELL, 36, name, BODY, colour, bold=True)
        table(d, x, y, rows, allowed, colour)
        d.text(x + 2 * CELL, y + CELL * len(FRENCH) + 22, words, SMALL)
    d.text(400, 262, "rows: queries, columns: keys", SMALL, GREY)
    return d
