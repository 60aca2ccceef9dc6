"""Make the two weights of Inter in which figures are set, from the variable font of npm's package `inter-ui`.

    python notebooks/figure_font.py package/variable/InterVariable.woff2        needs `pip install brotli`

It is run only where Inter itself is to change: what it makes is committed. matplotlib reads neither WOFF2 nor variable
fonts. Digits are as wide as one another, as they are on the pages; arrows, Greek letters and signs of mathematics,
which the font of the pages lacks, are kept.
"""

import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

FOLDER = Path(__file__).resolve().parents[1] / "transformer_lab" / "plots" / "fonts"
FAMILY = "Transformer Lab Inter"  # a name of its own: an Inter of the machine might be another version
WEIGHTS = {"Regular": 400, "Bold": 650}
NAMES = {1: FAMILY, 2: "{0}", 4: f"{FAMILY} {{0}}", 6: "TransformerLabInter-{0}"}
BLOCKS = ((0x20, 0x17F), (0x370, 0x3FF), (0x2000, 0x22FF), (0x2500, 0x27BF))
TABULAR = "0123456789.,+−-"


def made(inter: Path, style: str, weight: int) -> TTFont:
    """The font at a weight, for small sizes, with its tabular digits in the place of the others."""
    font = instantiateVariableFont(TTFont(inter, recalcTimestamp=False), {"wght": weight, "opsz": 14})
    for table in font["cmap"].tables:
        for code, glyph in list(table.cmap.items()):
            tabular = f"{glyph}.tf"
            if chr(code) in TABULAR and tabular in font.getGlyphSet():
                table.cmap[code] = tabular
    options = Options(layout_features=[], hinting=False, name_IDs=[0, 5, 13, 14], drop_tables=["GPOS", "GDEF", "STAT"])
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[code for first, last in BLOCKS for code in range(first, last + 1)])
    subsetter.subset(font)
    for number, text in NAMES.items():
        font["name"].setName(text.format(style), number, 3, 1, 0x409)
    font["OS/2"].usWeightClass = 700 if style == "Bold" else 400
    font.flavor = None
    return font


if __name__ == "__main__":
    for style, weight in WEIGHTS.items():
        made(Path(sys.argv[1]), style, weight).save(FOLDER / f"inter-{style.lower()}.ttf")
