"""The figure of lesson 11: six parts of the block of 2017, and what stands in their place today."""

import math

from drawing import BODY, GREY, INK, KEY, LINE, QUERY, VALUE, WHITE, Drawing, mix

ROW, TOP = 66, 84
BEFORE, AFTER, PICTURE = 40, 440, 168  # the left edges, and where the picture stands in a row


def curve(d, x, y, function):
    """Draw a function from -3 to 3 in a square of 44 pixels."""
    points = [(x + 22 + 7 * t / 2, y + 34 - 9 * function(t / 2)) for t in range(-6, 7)]
    d.path(f"M{x} {y + 34}H{x + 46}", LINE, 1.2)
    d.path("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points), VALUE, 2.4)


def norm_place(d, x, y, first):
    """Draw a sub-layer with its norm on the residual stream, or off it."""
    d.path(f"M{x - 10} {y + 34}H{x + 90}", GREY, 2.2)
    d.path(f"M{x - 2} {y + 34}V{y + 14}H{x + 60}V{y + 34}", GREY, 1.6)
    d.disc(x + 60, y + 34, 6, WHITE, GREY)
    at = (x + 16, y + 14) if first else (x + 78, y + 34)
    d.rect(at[0] - 8, at[1] - 8, 16, 16, KEY, KEY, 3)
    d.rect(x + 32, y + 5, 20, 18, mix(QUERY, 0.3), QUERY, 3)


def heights(d, x, y, values):
    """Draw a vector as bars around a line."""
    d.path(f"M{x} {y + 26}H{x + 80}", LINE, 1.2)
    for i, value in enumerate(values):
        top, tall = (y + 26 - 9 * value, 9 * value) if value > 0 else (y + 26, -9 * value)
        d.rect(x + 4 + 19 * i, top, 13, max(tall, 1), VALUE, "none", 2)


def heads(d, x, y, groups):
    """Draw eight query heads, and the keys that they share."""
    for i in range(8):
        d.disc(x + 11 * i, y + 8, 4, QUERY)
        group = i * groups // 8
        d.path(f"M{x + 11 * i} {y + 13}L{x + 77 * (group + 0.5) / groups:.1f} {y + 33}", LINE, 1.2)
    for group in range(groups):
        d.rect(x + 77 * (group + 0.5) / groups - 4, y + 33, 8, 8, KEY, KEY, 2)


def position(d, x, y, rotary):
    """Draw a wave that is added, or an arrow that turns."""
    if not rotary:
        points = [(x + 4 * t, y + 24 - 13 * math.sin(t / 3)) for t in range(21)]
        d.path("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points), VALUE, 2.4)
        return
    for i, angle in enumerate((0.2, 0.9, 1.6)):
        centre = x + 14 + 28 * i, y + 26
        d.disc(*centre, 13, WHITE, LINE)
        tip = centre[0] + 12 * math.cos(angle), centre[1] - 12 * math.sin(angle)
        d.path(f"M{centre[0]} {centre[1]}L{tip[0]:.1f} {tip[1]:.1f}", VALUE, 2.6)


def bias(d, x, y, there):
    d.text(x + 40, y + 24, "*xW* + *b*" if there else "*xW*", BODY, INK, bold=True)


def centred(values):
    mean = sum(values) / len(values)
    return [value - mean for value in values]


VECTOR = (0.4, 1.8, 1.0, 2.0)
SWAPS = (
    ("norm after", "norm before", lambda d, x, y, new: norm_place(d, x, y, new)),
    ("LayerNorm", "RMSNorm", lambda d, x, y, new: heights(d, x, y, VECTOR if new else centred(VECTOR))),
    (
        "ReLU",
        "SwiGLU",
        lambda d, x, y, new: curve(d, x + 16, y, (lambda t: t / (1 + math.exp(-t))) if new else (lambda t: max(t, 0))),
    ),
    ("sines, added", "RoPE, turned", position),
    ("8 keys", "2 keys, shared", lambda d, x, y, new: heads(d, x, y, 2 if new else 8)),
    ("with biases", "without biases", lambda d, x, y, new: bias(d, x, y, not new)),
)


def swaps():
    d = Drawing(
        TOP + ROW * len(SWAPS) + 12,
        "Six parts of the block of 2017, and what stands in their place today",
        "Six rows, left 2017, right today: "
        + "; ".join(f"{old} becomes {new}" for old, new, _ in SWAPS)
        + ". Each has a small picture: where the norm stands, whether a vector is centred, the activations, a "
        "wave or arrows that turn, eight query heads with eight keys or with two, a layer with a bias or without.",
    )
    d.text(BEFORE + 140, 40, "2017", BODY, bold=True)
    d.text(AFTER + 160, 40, "today", BODY, bold=True)
    for i, (old, new, picture) in enumerate(SWAPS):
        y = TOP + ROW * i - 18
        for x, words, is_new in ((BEFORE, old, False), (AFTER, new, True)):
            d.rect(x, y, 300 if is_new else 280, 54, mix(VALUE, 0.08) if is_new else WHITE, VALUE if is_new else LINE)
            d.text(x + 18, y + 27, words, BODY, INK, "start", bold=is_new)
            picture(d, x + PICTURE + (12 if is_new else 0), y + 3, is_new)
        d.route([(BEFORE + 290, y + 27), (AFTER - 8, y + 27)])
    return d
