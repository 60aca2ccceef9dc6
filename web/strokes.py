"""What drawings of posters, of lessons' ends and of the gallery's wall are made of: words, lines, curves, boxes, cells.

Their colours are those of the page, by classes that `cards.css` styles.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

ACROSS, DOWN = 520, 220  # of a poster's drawing


def word(x: float, y: float, text: str, kind: str = "", anchor: str = "middle") -> str:
    """A word around a point: in the serif, in a label's type (kind "label") or in that of code (kind "code")."""
    return f'<text x="{x:g}" y="{y + 7:g}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def line(*points: tuple[float, float], kind: str = "stream") -> str:
    return f'<path class="{kind}" d="M{"L".join(f"{x:g} {y:g}" for x, y in points)}"/>'


def curve(start: tuple[float, float], end: tuple[float, float], kind: str = "edge") -> str:
    """From left to right, level at both ends."""
    (x, y), (to, down), middle = start, end, (start[0] + end[0]) / 2
    return f'<path class="{kind}" d="M{x:g} {y:g}C{middle:g} {y:g} {middle:g} {down:g} {to:g} {down:g}"/>'


def arc(start: float, end: float, y: float, kind: str = "edge", rise: float = 0.32) -> str:
    high = y - 22 - abs(end - start) * rise
    return f'<path class="{kind}" d="M{start:g} {y:g}C{start:g} {high:g} {end:g} {high:g} {end:g} {y:g}"/>'


def box(x: float, y: float, wide: float, high: float, kind: str = "hair", round_: float = 6) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="{round_:g}"/>'


def ring(x: float, y: float, radius: float, kind: str = "ink") -> str:
    return f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>'


def heat(x: float, y: float, wide: float, high: float, share: float) -> str:
    """A cell that is as full of amber as its share."""
    edge = f'x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="3"'
    return f'<rect class="slab" {edge}/><rect class="heat" {edge} style="fill-opacity:{share:.2f}"/>'


def tick(x: float, y: float, kind: str = "tick") -> str:
    return line((x - 12, y), (x - 3, y + 9), (x + 13, y - 9), kind=kind)


def row(words: Sequence[str], y: float, left: float = 12, right: float = ACROSS - 12) -> tuple[list[float], str]:
    """Words in a line, as far apart as their lengths ask for: the middle of each, and the drawing."""
    sizes = [10 * len(one) + 4 for one in words]
    gap = (right - left - sum(sizes)) / max(1, len(words) - 1)
    middles, x = [], left
    for size in sizes:
        middles.append(x + size / 2)
        x += size + gap
    return middles, "".join(word(x, y, one) for x, one in zip(middles, words, strict=True))


def seen(parts: Iterable[str]) -> str:
    return "".join(parts)


def spark(x: float, y: float, radius: float) -> str:
    tips = ((i * math.pi / 8, radius * (0.42 if i % 2 else 1)) for i in range(16))
    points = "L".join(f"{x + far * math.sin(angle):.1f} {y - far * math.cos(angle):.1f}" for angle, far in tips)
    return f'<path class="spark" d="M{points}Z"/>'
