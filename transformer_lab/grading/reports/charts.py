"""The pictures of a report, as SVG within the page: drawn for a desk and for a phone, in the page's own colours.

They are text, a few kB each, so that a report stays one file, and to draw them loads no plotting.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil

DESK, PHONE = 760, 340  # pixels across
LETTER, LINE = 7, 18  # pixels of a letter, at most about, and of a line
MOST_BARS = 16
STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000)
STYLE = """<style>
figure { margin: 1.4rem 0 2rem; break-inside: avoid; } figcaption { margin-top: 4px; font-size: 0.9em; }
figure h3 { margin: 0 0 6px; } figure svg { display: block; width: 100%; height: auto; }
svg text { font: 13px system-ui, sans-serif; fill: currentColor; } svg text.small { font-size: 12px; opacity: 0.75; }
svg .full { fill: var(--link); } svg .bad { fill: var(--bad); } svg .empty { fill: var(--soft); }
svg line { stroke: var(--line); } svg line.full { stroke: var(--link); } svg line.bad { stroke: var(--bad); }
svg * { print-color-adjust: exact; }
.on-phone { display: none; max-width: 27rem; }
@media screen and (max-width: 40rem) { .on-phone { display: block; } .at-desk { display: none; } }
</style>"""


def figure(title: str, draw: Callable[[int], str], alt: str, caption: str) -> str:
    """A picture with its title, what it says to who can't see it, and how it is read."""
    widths = (("at-desk", DESK), ("on-phone", PHONE))
    drawn = "".join(f"<div class={kind} aria-hidden=true>{draw(width)}</div>" for kind, width in widths)
    picture = f'<div role=img aria-label="{escape(alt)}">{drawn}</div>'
    return f"<figure><h3>{escape(title)}</h3>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def svg(width: int, height: float, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {width} {height:.0f}">{"".join(parts)}</svg>'


def text(x: float, y: float, words: str, anchor: str = "start", small: bool = False) -> str:
    kind = "small" if small else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "", width: int = 1) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke-width="{width}" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, kind: str, told: str = "") -> str:
    title = f"<title>{escape(told)}</title>" if told else ""
    return f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}" class="{kind}">{title}</rect>'


def fitting(words: str, pixels: float) -> str:
    """As much of a name as has room."""
    most = int(pixels / LETTER)
    return words if len(words) <= most else f"{words[: most - 1]}…"


# ── how many have how many points ──


def counted(values: Sequence[float], most: float) -> list[tuple[float, int]]:
    """From how many points on, and how many have so many; each bar goes up to the next, the last holds all points."""
    step = next((s for s in STEPS if most / s <= MOST_BARS - 1), ceil(most / (MOST_BARS - 1)))
    bars = int(most // step) + 1
    inside = [min(int(value // step), bars - 1) for value in values]
    return [(number * step, inside.count(number)) for number in range(bars)]


def histogram(bars: Sequence[tuple[float, int]], unit: str, width: int) -> str:
    """Bars side by side, each with its count above it and the number from which it goes below."""
    height, bottom, each = 150, 150 + LINE, width / len(bars)
    highest = max(count for _, count in bars) or 1
    parts = [line(0, bottom, width, bottom)]
    for number, (start, count) in enumerate(bars):
        tall, middle = height * count / highest, (number + 0.5) * each
        if count:
            parts.append(box(number * each + 0.1 * each, bottom - tall, 0.8 * each, tall, "full"))
            parts.append(text(middle, bottom - tall - 4, str(count), "middle"))
        parts.append(text(middle, bottom + LINE, f"{start:g}", "middle"))
    return svg(width, bottom + 2 * LINE + 6, [*parts, text(width, bottom + 2 * LINE, unit, "end", small=True)])


# ── which exercise separates ──


@dataclass(frozen=True)
class Lever:
    """A named number between -1 and 1 (None: there is none), with something said of it."""

    name: str
    value: float | None
    told: str
    is_bad: bool = False


def levers(rows: Sequence[Lever], ends: tuple[str, str], width: int) -> str:
    """Each number as a dot, with a line from 0, below one another."""
    above = width < DESK  # names stand above their lines where they have no room beside them
    left, right = (8.0, width - 70) if above else (250.0, width - 80)
    lowest = min([-0.25, *(row.value for row in rows if row.value is not None)])
    each, zero = (2 if above else 1.5) * LINE, left + (right - left) * -lowest / (1 - lowest)
    parts = []
    for number, row in enumerate(rows):
        y = (number + 0.5) * each + (LINE / 2 if above else 0)
        parts.append(text(0, y - 13 if above else y + 4, fitting(row.name, width - 8 if above else left - 8)))
        parts.append(text(width, y + 4, row.told, "end", small=True))
        parts.append(line(left, y, right, y))
        if row.value is not None:
            x, kind = left + (right - left) * (row.value - lowest) / (1 - lowest), "bad" if row.is_bad else "full"
            parts += [
                line(zero, y - 5, zero, y + 5),
                line(zero, y, x, y, kind, 3),
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" class="{kind}"/>',
            ]
    bottom = len(rows) * each + (LINE / 2 if above else 0)
    parts.append(text(zero, bottom + LINE, ends[0], "middle", small=True))
    return svg(width, bottom + LINE + 8, [*parts, text(right, bottom + LINE, ends[1], "end", small=True)])


# ── who made which mistake ──


@dataclass(frozen=True)
class Row:
    """Two lines of a name, and the numbers of the columns that are filled."""

    name: str
    below: str
    filled: frozenset[int]


def grid(rows: Sequence[Row], columns: Sequence[str], ends: tuple[str, str], width: int) -> str:
    """A row of cells for each name, of which some are filled, and how many."""
    above = width < DESK
    left, right, high = (0.0, width - 34.0, 16.0) if above else (250.0, width - 34.0, 24.0)
    each, cell = (2 * LINE + high + 6 if above else high + 16), min(26.0, (right - left) / len(columns))
    gap = 1.0 if cell > 4 else 0.0
    parts = [text(left, LINE - 5, ends[0], small=True)]
    if len(columns) * cell > LETTER * (len(ends[0]) + len(ends[1]) + 2):
        parts.append(text(left + len(columns) * cell, LINE - 5, ends[1], "end", small=True))
    for number, row in enumerate(rows):
        y = LINE + 4 + number * each
        room = width if above else left - 8
        parts.append(text(0, y + 12, fitting(row.name, room)))
        parts.append(text(0, y + 28, fitting(row.below, room), small=True))
        top = y + 2 * LINE if above else y + 4
        for place in range(len(columns)) if gap else ():
            parts += [] if place in row.filled else [box(left + place * cell, top, cell - gap, high, "empty")]
        parts += [] if gap else [box(left, top, len(columns) * cell, high, "empty")]
        for place in sorted(row.filled):
            parts.append(box(left + place * cell, top, cell - gap, high, "full", columns[place]))
        parts.append(text(left + len(columns) * cell + 8, top + high / 2 + 5, str(len(row.filled))))
    return svg(width, LINE + 4 + len(rows) * each, parts)
