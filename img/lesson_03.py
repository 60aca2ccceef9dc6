"""The figure of lesson 03: pairs of features as the hands of clocks."""

from math import cos, pi, sin

from drawing import BODY, GREY, INK, KEY, LINE, PANEL, QUERY, SMALL, WHITE, Drawing

D_MODEL, POSITION, OFFSET, RADIUS = 8, 3, 5, 46
COLUMNS, ROWS = (210, 370, 530, 690), (112, 280)


def on_the_dial(x, y, angle, radius):
    """A point of a clock: angle 0 is up, and angles grow clockwise, so that x is the sine and y the cosine."""
    return x + radius * sin(angle), y - radius * cos(angle)


def arc(d, x, y, start, end):
    """An arc with an arrow head from one angle to another, inside the dial."""
    steps = max(2, round(12 * (end - start)))
    points = [on_the_dial(x, y, start + (end - start) * i / steps, RADIUS - 12) for i in range(steps + 1)]
    d.path("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points), KEY, 2.4)
    if end - start > 0.3:
        d.arrow_head(points[-1], on_the_dial(x, y, end - 0.3, RADIUS - 12), KEY)


def clock(d, x, y, angle, came_from=None):
    d.disc(x, y, RADIUS, WHITE, LINE)
    for tick in range(8):
        d.route([on_the_dial(x, y, tick * pi / 4, r) for r in (RADIUS - 5, RADIUS)], LINE, head=False)
    if came_from is not None:
        d.route([(x, y), on_the_dial(x, y, came_from, RADIUS - 6)], GREY, head=False, dash="3 5")
        arc(d, x, y, came_from, angle)
    d.route([(x, y), on_the_dial(x, y, angle, RADIUS - 3)], QUERY, thick=2.8)
    d.disc(x, y, 3.4, INK)


def clocks():
    d = Drawing(
        390,
        "A position as the hands of four clocks; a shift turns each hand by an angle of its own",
        f"Four clocks, one for each pair of features, with the frequencies 1, 0.1, 0.01 and 0.001. Above, their hands "
        f"at position {POSITION}; below, at position {POSITION + OFFSET}: the hands have turned by {OFFSET} times the "
        "frequency, which is the same from any position.",
    )
    d.rect(20, 352 - 20, 760, 40, PANEL, LINE)
    d.text(78, 26, "frequency", SMALL, GREY)
    for i, x in enumerate(COLUMNS):
        frequency = 10000 ** (-2 * i / D_MODEL)
        before, after = POSITION * frequency, (POSITION + OFFSET) * frequency
        d.text(x, 26, f"pair {i}:  ω = {frequency:g}", SMALL, bold=True)
        clock(d, x, ROWS[0] - 14, before)
        d.text(x, 161, f"angle {before:g}", SMALL, GREY)
        clock(d, x, ROWS[1] - 28, after, before)
        d.text(x, 314, f"angle {after:g}", SMALL, GREY)
        d.text(x, 352, f"turned by {OFFSET * frequency:g}", SMALL, KEY, bold=True)
    d.text(78, ROWS[0] - 14, f"position {POSITION}", BODY, bold=True)
    d.text(78, ROWS[1] - 28, f"position {POSITION + OFFSET}", BODY, bold=True)
    d.text(78, 352, f"shift by {OFFSET}", SMALL, bold=True)
    return d
