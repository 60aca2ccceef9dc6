"""The figure of lesson 10: two heads that continue what was said before."""

from drawing import BODY, GREY, KEY, LINE, QUERY, SMALL, VALUE, WHITE, Drawing, mix

WORDS = ["the", "cat", "sat", "on", "a", "mat", "the", "cat"]
STEP, LEFT, WIDE = 93, 24, 84
ROWS = {"words": 318, "notes": 206, "answer": 84}
NOW, FOUND = len(WORDS) - 1, WORDS.index("cat") + 1


def middle(i):
    return LEFT + STEP * i + WIDE / 2


def notes(d):
    """Draw what the head of layer 0 writes at each position: which word came before."""
    for i, before in enumerate(WORDS[:-1], start=1):
        right = before == WORDS[NOW] and i == FOUND
        colour = KEY if right else LINE
        d.rect(
            LEFT + STEP * i,
            ROWS["notes"],
            WIDE,
            32,
            mix(KEY, 0.16) if right else WHITE,
            colour,
            thick=2.6 if right else 1.5,
        )
        d.text(middle(i), ROWS["notes"] + 16, f"after *{before}*", SMALL, KEY if right else GREY, bold=right)
        start, end = middle(i - 1) + 16, middle(i)
        d.route([(start, ROWS["words"]), (start, 268), (end, 268), (end, ROWS["notes"] + 34)], KEY if right else GREY)


def induction():
    d = Drawing(
        396,
        "Two heads that continue a repeated text",
        f"The words {', '.join(WORDS)} in a row. Above each, from the second on, stands the note that the "
        "previous-token head of layer 0 writes: which word came before. From the last word, cat, an arrow leads to the "
        "note 'after cat', which stands at sat: the induction head of layer 1 looks there, and brings the word sat.",
    )
    notes(d)
    for i, word in enumerate(WORDS):
        colour = {NOW: QUERY, FOUND: VALUE}.get(i, LINE)
        d.box(LEFT + STEP * i, ROWS["words"], WIDE, 36, word, mix(colour, 0.14) if colour != LINE else WHITE, colour)
    now, found = middle(NOW), middle(FOUND)
    right = now + WIDE / 2
    corners = [(right, ROWS["words"] + 18), (right + 16, ROWS["words"] + 18), (right + 16, 152), (found, 152)]
    d.route([*corners, (found, ROWS["notes"] - 4)], QUERY, thick=2.8)
    d.text((now + found) / 2, 138, "layer 1 asks: where does it say “after *cat*”?", SMALL, QUERY, bold=True)
    left = LEFT + STEP * FOUND
    between = left - (STEP - WIDE) / 2
    d.route(
        [(left, ROWS["words"] + 18), (between, ROWS["words"] + 18), (between, 68), (now - 48, 68)], VALUE, thick=2.8
    )
    d.text((now + found) / 2 - 30, 52, "and brings the word that stands there", SMALL, VALUE, bold=True)
    d.box(now - 44, 50, 84, 36, WORDS[FOUND], mix(VALUE, 0.14), VALUE)
    d.text(now - 2, 30, "next", SMALL, GREY)
    d.text(LEFT, ROWS["notes"] + 6, "layer 0", SMALL, GREY, "start")
    d.text(LEFT, ROWS["notes"] + 26, "notes:", SMALL, GREY, "start")
    d.text(400, 374, "a previous-token head below, an induction head above", BODY, GREY)
    return d
