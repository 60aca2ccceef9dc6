"""Drawing: shapes and words in, one self-contained SVG out.

Coordinates are pixels, y grows downwards. A figure is WIDTH pixels wide and its smallest words are SMALL pixels
high, which leaves 12 pixels when a page shows the figure 700 pixels wide. The picture brings its own card. A colour is
two, that of a light page and that of a dark one: the attributes say the first, and a style the second, for the browser
tells a picture which page is around it.
"""

import math
import re
from xml.sax.saxutils import escape

WIDTH = 800
SMALL, BODY, HEAD = 14, 16, 20
TIMES, DOT, ROOT, MINUS = "×", "·", "√", "−"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"


class Colour(str):
    """A colour of a light page, which knows what it is in a dark one."""

    def __new__(cls, light, dark):
        new = super().__new__(cls, light)
        new.dark = dark
        return new


# Paper, ink and thread, as in the views and figures (widgets/shared/palette.js); a test compares them.
PAPER = {
    "paper": Colour("#fbfaf6", "#0e1217"),
    "slab": Colour("#f0ede3", "#171c23"),
    "ink": Colour("#16202b", "#ece9e2"),
    "soft": Colour("#55606c", "#a7b0ba"),
    "line": Colour("#e3dfd5", "#262d36"),
    "edge": Colour("#808992", "#66717d"),
    "amber": Colour("#e0a02e", "#f6bc43"),
    "amber-edge": Colour("#bf7c00", "#f6bc43"),
    "amber-ink": Colour("#8a5a00", "#f6bc43"),
    "change": Colour("#a8337e", "#f28fcb"),
    "query": Colour("#0067a5", "#62b5f0"),
    "key": Colour("#b84a00", "#ff915a"),
    "value": Colour("#007a58", "#35c79c"),
}
WHITE = CARD = PAPER["paper"]
PANEL, HAIR, LINE, GREY, INK = (PAPER[name] for name in ("slab", "line", "edge", "soft", "ink"))
QUERY, KEY, VALUE, CHANGE, AMBER = (PAPER[name] for name in ("query", "key", "value", "change", "amber"))
EDGE_OF = {AMBER: PAPER["amber-edge"]}  # of what is filled with it, so that it stands out from the paper
TEXT_OF = {AMBER: PAPER["amber-ink"]}


def number(value):
    """Write a coordinate with at most one decimal, so that a figure has the same bytes everywhere."""
    return f"{round(value, 1) + 0.0:g}"


def mix(colour, amount):
    """Blend paper (amount 0) into a colour (amount 1)."""
    return Colour(blended(CARD, colour, amount), blended(CARD.dark, colour.dark, amount))


def blended(start, end, amount):
    ways = [(int(start[i : i + 2], 16), int(end[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * amount):02x}" for a, b in ways)


def readable_on(fill):
    """Choose black or white words for a fill, whichever stands out more, in a light page and in a dark one."""
    return Colour(*(max("#000000", "#ffffff", key=lambda one: contrast(one, of)) for of in (fill, fill.dark)))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2


def paint(**colours):
    """The attributes that colour a shape, and the classes by which a dark page changes them."""
    attributes = "".join(f' {what}="{colour}"' for what, colour in colours.items())
    classes = [f"{what}{colour[1:]}-{colour.dark[1:]}" for what, colour in colours.items() if colour != "none"]
    return f'{attributes} class="{" ".join(classes)}"' if classes else attributes


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
        self.rect(1, 1, WIDTH - 2, height - 2, fill=CARD, stroke=HAIR, radius=14)

    def rect(self, x, y, width, height, fill=WHITE, stroke=LINE, radius=7, thick=1.5):
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="{radius}"'
            f'{paint(fill=fill, stroke=EDGE_OF.get(stroke, stroke))} stroke-width="{thick}"/>'
        )

    def text(self, x, y, words, size=BODY, colour=INK, anchor="middle", bold=False):
        """Write words around (x, y): y is the middle of the small letters' height, not the base line."""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y + size * 0.35)}" font-size="{size}"'
            f'{paint(fill=TEXT_OF.get(colour, colour))} text-anchor="{anchor}"{weight}>{spans(words, size)}</text>'
        )

    def path(self, data, stroke=GREY, thick=1.8, dash=""):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<path d="{data}" fill="none"{paint(stroke=stroke)} stroke-width="{number(thick)}"'
            f' stroke-linecap="round" stroke-linejoin="round"{dashed}/>'
        )

    def disc(self, x, y, radius=3, fill=GREY, stroke="none"):
        self.parts.append(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"{paint(fill=fill, stroke=stroke)}'
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
        self.parts.append(f'<polygon points="{listed}"{paint(fill=colour)}/>')

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

    def in_the_dark(self):
        """The rules that give every colour its other one."""
        used = sorted(set(re.findall(r"\b(fill|stroke)(\w{6})-(\w{6})\b", "".join(self.parts))))
        return [f".{what}{light}-{dark} {{ {what}: #{dark}; }}" for what, light, dark in used]

    def svg(self):
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}"'
            f' viewBox="0 0 {WIDTH} {self.height}" role="img" font-family="{FONT}">\n'
            f"<title>{escape(self.title)}</title>\n<desc>{escape(self.description)}</desc>\n"
            f"<style>@media (prefers-color-scheme: dark) {{ {' '.join(self.in_the_dark())} }}</style>\n"
            + "\n".join(self.parts)
            + "\n</svg>\n"
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
