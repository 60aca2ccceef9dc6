"""Drawing: shapes and words in, one self-contained SVG out.

Coordinates are pixels, y grows downwards. A figure is WIDTH pixels wide and its smallest words are SMALL pixels
high, which leaves 12 pixels when a page shows the figure 700 pixels wide. The picture brings its own card. In a dark
page, of which the browser tells it, light and dark change places, and hues stay.
"""

import math
import re
from xml.sax.saxutils import escape

WIDTH = 800
SMALL, BODY, HEAD = 14, 16, 20
TIMES, DOT, ROOT, MINUS = "×", "·", "√", "−"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"

INVERTED = "invert(.92) hue-rotate(180deg)"  # as in the figures of the package: white becomes nearly black

CARD, WHITE, PANEL, LINE, GREY, INK = "#fbfcfd", "#ffffff", "#f1f4f7", "#a3afbb", "#566473", "#1c2733"
QUERY, KEY, VALUE = "#0072b2", "#d55e00", "#009e73"  # Okabe and Ito's blue, vermillion and bluish green
TEXT_OF = {QUERY: "#00639b", KEY: "#a94b00", VALUE: "#00725a"}  # the same hues, dark enough for words


def number(value):
    """Write a coordinate with at most one decimal, so that a figure has the same bytes everywhere."""
    return f"{round(value, 1) + 0.0:g}"


def mix(colour, amount):
    """Blend white (amount 0) into a colour (amount 1)."""
    channels = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + (channel - 255) * amount):02x}" for channel in channels)


def readable_on(fill):
    """Choose ink or white words for a fill, by its luminance."""
    red, green, blue = (int(fill[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return INK if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.26 else WHITE


def spans(words, size):
    """Turn `d_{model}`, `K^{T}` and `*x*` into subscripts, superscripts and italics."""
    out, sunk = "", 0
    for part in re.split(r"([_^]\{[^}]*\}|\*[^*]+\*)", words):
        drop = {"_{": size * 0.22, "^{": -size * 0.36}.get(part[:2], 0)
        shift = f' dy="{number(drop - sunk)}"' if drop != sunk and part else ""
        small = f' font-size="{number(size * 0.8)}"' if drop else ""
        slant = ' font-style="italic"' if part[:1] == "*" else ""
        body = escape(part[2:-1] if drop else part.strip("*"))
        out += f"<tspan{shift}{small}{slant}>{body}</tspan>" if shift or small or slant else body
        sunk = drop if part else sunk
    return out


class Drawing:
    """One figure: a card, a name and a description for readers who can't see it, and what is drawn on it."""

    def __init__(self, height, title, description):
        self.height, self.title, self.description = height, title, description
        self.parts = []
        self.rect(1, 1, WIDTH - 2, height - 2, fill=CARD, stroke="#cfd7df", radius=14)

    def rect(self, x, y, width, height, fill=WHITE, stroke=LINE, radius=7, thick=1.5):
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="{radius}"'
            f' fill="{fill}" stroke="{stroke}" stroke-width="{thick}"/>'
        )

    def text(self, x, y, words, size=BODY, colour=INK, anchor="middle", bold=False):
        """Write words around (x, y): y is the middle of the small letters' height, not the base line."""
        weight, fill = ' font-weight="600"' if bold else "", TEXT_OF.get(colour, colour)
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y + size * 0.35)}" font-size="{size}" fill="{fill}"'
            f' text-anchor="{anchor}"{weight}>{spans(words, size)}</text>'
        )

    def path(self, data, stroke=GREY, thick=1.8, dash=""):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<path d="{data}" fill="none" stroke="{stroke}" stroke-width="{number(thick)}"'
            f' stroke-linecap="round" stroke-linejoin="round"{dashed}/>'
        )

    def disc(self, x, y, radius=3, fill=GREY, stroke="none"):
        self.parts.append(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" fill="{fill}" stroke="{stroke}"'
            ' stroke-width="1.5"/>'
        )

    def route(self, points, colour=GREY, head=True, thick=1.8, dash="", bend=9):
        """Draw a line through points, with round corners and an arrow head at its end."""
        steps = [f"M{number(points[0][0])} {number(points[0][1])}"]
        for before, corner, after in zip(points, points[1:], points[2:], strict=False):
            enter, leave = towards(corner, before, bend), towards(corner, after, bend)
            steps.append("L{} {}Q{} {} {} {}".format(*map(number, (*enter, *corner, *leave))))
        end = towards(points[-1], points[-2], 6) if head else points[-1]
        steps.append("L{} {}".format(*map(number, end)))
        self.path("".join(steps), colour, thick, dash)
        if head:
            self.arrow_head(points[-1], points[-2], colour)

    def arrow_head(self, tip, origin, colour):
        back = towards(tip, origin, 9)
        dx, dy = (tip[1] - back[1]) * 0.5, (back[0] - tip[0]) * 0.5
        corners = [tip, (back[0] + dx, back[1] + dy), (back[0] - dx, back[1] - dy)]
        listed = " ".join(f"{number(x)},{number(y)}" for x, y in corners)
        self.parts.append(f'<polygon points="{listed}" fill="{colour}"/>')

    def badge(self, x, y, words):
        """Draw a lesson's number on a dark disc."""
        self.disc(x, y, 12.5, INK, WHITE)
        self.text(x, y, words, SMALL, WHITE, bold=True)

    def box(self, x, y, width, height, words, fill=WHITE, stroke=LINE, size=BODY, badge=""):
        """Draw a box with words in its middle and, at will, a lesson's badge at its left."""
        self.rect(x, y, width, height, fill, stroke)
        shift = 13 if badge else 0
        self.text(x + width / 2 + shift, y + height / 2, words, size)
        if badge:
            self.badge(x + min(height / 2 + 2, 18), y + height / 2, badge)

    def matrix(self, x, y, values, colour, cell=(30, 28), strength=None, write=None):
        """Draw a matrix as cells: `strength` says how dark a value's cell is (0 to 1), `write` what stands in it."""
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                fill = mix(colour, 0.1 + 0.9 * (strength(value) if strength else value))
                left, top = x + j * cell[0], y + i * cell[1]
                self.rect(left, top, *cell, fill, WHITE, radius=3)
                if write:
                    self.text(left + cell[0] / 2, top + cell[1] / 2, write(value), SMALL, readable_on(fill))
        self.rect(x, y, len(values[0]) * cell[0], len(values) * cell[1], "none", colour, radius=3)

    def step(self, x, y, count, words):
        """Head one step of a computation: its number in a ring, then what it does."""
        self.disc(x + 12, y, 12.5, WHITE, INK)
        self.text(x + 12, y, f"{count}", bold=True)
        self.text(x + 32, y, words, anchor="start")

    def svg(self):
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}"'
            f' viewBox="0 0 {WIDTH} {self.height}" role="img" font-family="{FONT}">\n'
            f"<title>{escape(self.title)}</title>\n<desc>{escape(self.description)}</desc>\n"
            f"<style>@media (prefers-color-scheme: dark) {{ g {{ filter: {INVERTED}; }} }}</style>\n<g>\n"
            + "\n".join(self.parts)
            + "\n</g>\n</svg>\n"
        )


def towards(start, end, distance):
    """Return the point `distance` away from start on the way to end."""
    length = max(((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5, 1e-9)
    return tuple(a + (b - a) * min(distance, length) / length for a, b in zip(start, end, strict=True))


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def softmax(scores):
    exponentials = [math.exp(score) for score in scores]
    return [e / sum(exponentials) for e in exponentials]


def blend(weights, values):
    return [dot(weights, feature) for feature in zip(*values, strict=True)]


def short(value):
    """Write 0.617 as .62: the leading zero carries nothing."""
    return f"{value:.2f}".replace("0.", ".", 1)


def plain(value):
    return f"{value:g}".replace("-", MINUS).replace("0.", ".")
