"""The figure of lesson 09: the next character, when one, two or three characters before it are known."""

import math
from collections import Counter

from drawing import BODY, GREY, HAIR, INK, KEY, QUERY, SMALL, VALUE, Drawing, mix

TEXT = """\
def area(r):
    return 3 * r * r

def read(rows):
    result = [row for row in rows]
    return result
"""
CONTEXTS, SHOWN = ("r", "re", "ret"), 5
NAMES = {" ": "space", "\n": "line end"}


def following(context):
    """Return the share of each character among those that follow the context in the text, the largest first."""
    places = range(len(TEXT) - len(context))
    found = Counter(TEXT[i + len(context)] for i in places if TEXT.startswith(context, i))
    return [(letter, count / sum(found.values())) for letter, count in found.most_common()]


def letters(d, x, y, context):
    """Draw the known characters, and a place for the one that is asked for."""
    for i, letter in enumerate([*context, "?"]):
        known = letter != "?"
        colour = QUERY if known else KEY
        d.rect(x + 36 * i, y, 32, 36, mix(colour, 0.14), colour)
        d.text(x + 36 * i + 16, y + 18, letter, BODY, colour if not known else INK, bold=True)


def bars(d, x, y, shares):
    for i, (letter, share) in enumerate(shares[:SHOWN]):
        top = y + 34 * i
        d.text(x + 62, top + 11, NAMES.get(letter, letter), SMALL, INK, "end")
        d.rect(x + 70, top, max(100 * share, 2), 22, VALUE, "none", 4)
        d.text(x + 78 + 100 * share, top + 11, f"{share:.2f}", SMALL, GREY, "start")
    if (rest := len(shares) - SHOWN) > 0:
        d.text(x + 70, y + 34 * SHOWN + 8, f"and {rest} more", SMALL, GREY, "start")


def next_character():
    shares = [following(context) for context in CONTEXTS]
    nats = [-sum(p * math.log(p) for _, p in one) for one in shares]
    d = Drawing(
        392,
        "What comes next, when more of the text is known",
        "Three panels say what follows in six lines of Python, by counting. After r: "
        + ", ".join(f"{NAMES.get(c, c)} {p:.2f}" for c, p in shares[0][:SHOWN])
        + f" and {len(shares[0]) - SHOWN} more. After re: "
        + ", ".join(f"{NAMES.get(c, c)} {p:.2f}" for c, p in shares[1])
        + ". After ret: "
        + ", ".join(f"{NAMES.get(c, c)} {p:.2f}" for c, p in shares[2])
        + ". The uncertainty falls: "
        + ", ".join(f"{abs(n):.2f}" for n in nats)
        + " nats.",
    )
    for i, (context, one) in enumerate(zip(CONTEXTS, shares, strict=True)):
        x = 30 + 258 * i
        if i:
            d.path(f"M{x - 16} 34V336", HAIR, 1.2)
        letters(d, x + 62, 34, context)
        bars(d, x, 100, one)
        d.text(x + 112, 326, f"uncertainty {abs(nats[i]):.2f} nats", SMALL, GREY)
    d.text(400, 362, "counted in six lines of Python", SMALL, GREY)
    return d
