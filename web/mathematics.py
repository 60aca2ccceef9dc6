"""Mathematics as MathML, made when the site is built: no script, nothing to load but one font, legible by machines.

math-core writes the MathML that browsers draw themselves; the font is STIX Two Math, cut down to the letters that such
formulas use, so that they look alike on phones and systems without a font for mathematics.
"""

from pathlib import Path

import ziamath
from docutils import nodes
from fontTools import subset
from fontTools.ttLib import TTFont
from formula_lines import SHORT, lines, parts
from math_core import LatexToMathML
from sphinx.application import Sphinx

FONT = Path(ziamath.__file__).with_name("fonts") / "STIXTwoMath-Regular.ttf"
# Letters and digits; Greek; accents; punctuation, arrows, operators; brackets; italic, bold and script letters.
LETTERS = "U+20-7E,U+A0-FF,U+391-3F6,U+2016-2044,U+2061-2064,U+207A-208E,U+210A-2133,U+2190-21D5,U+2200-22EF"
BRACKETS = "U+2308-230B,U+23DC-23E1,U+27E8-27E9,U+2A00-2A02,U+1D400-1D467,U+1D49C-1D4CF,U+1D6A4-1D71B"
GAP = "&emsp;&emsp; "  # between two formulas of one line
convert = LatexToMathML()


def mathml(tex: str, block: bool) -> str:
    """A formula as MathML, which a browser sets as it sets text."""
    return convert.convert_with_local_state(tex.strip(), displaystyle=block)


def visit_inline(self, node: nodes.math) -> None:
    tex = node.astext()
    self.body.append(" ".join(mathml(part, block=False) for part in parts(tex, {"="}, SHORT)))
    raise nodes.SkipNode


def visit_block(self, node: nodes.math_block) -> None:
    html = ""
    for formula in node.astext().split(r"\qquad"):
        pieces = (f"{{}}{part}" if part[0] in "+-" else part for part in lines(formula.strip()))  # {}: room before it
        html += GAP * bool(html) + " ".join(mathml(part, block=True) for part in pieces)
    self.body.append(f'<div class="math">{html}</div>\n')
    raise nodes.SkipNode


def write_font(path: Path) -> None:
    """The part of the font that formulas use, with the table that says how mathematics is set."""
    options = subset.Options(flavor="woff", layout_features=["ssty", "dtls", "flac"], hinting=False)
    font = subset.load_font(str(FONT), options)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=subset.parse_unicodes(f"{LETTERS},{BRACKETS}"))
    cutter.subset(font)
    make_roots_alike(font)
    subset.save_font(font, str(path), options)


def make_roots_alike(font: TTFont) -> None:
    """Give all sizes of the root sign the width of the smallest; taller ones reach out to the left.

    Chromium leaves room for the widest behind every root, however low.
    """
    smallest = font.getBestCmap()[ord("√")]
    width, _ = font["hmtx"][smallest]
    for name in (name for name in font.getGlyphOrder() if name.startswith(f"{smallest}.")):
        own, start = font["hmtx"][name]
        font["glyf"][name].coordinates.translate((width - own, 0))
        font["hmtx"][name] = (width, start + width - own)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
