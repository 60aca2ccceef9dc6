"""The drawings in the letters of the pages: an image sees no font of its page, so each brings those that it needs."""

import base64
import io
import re

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

from transformer_lab.plots.picture import FONTS

WEIGHTS = {"inter-regular": "400", "inter-bold": "600"}
FAMILY = "Inter of the drawing"
WORDS = re.compile(r">([^<>]+)<")


def with_letters(svg: str) -> str:
    """An SVG with the letters of its words, and their family before those that it names."""
    letters = set("".join(WORDS.findall(svg.partition("</style>")[2])))
    faces = "".join(face(path.stem, path.read_bytes(), letters) for path in FONTS)
    svg = svg.replace("<style>", f"<style>{faces}", 1)
    return svg.replace('font-family="', f"font-family=\"'{FAMILY}', ", 1)


def face(name: str, font: bytes, letters: set[str]) -> str:
    cut, made = TTFont(io.BytesIO(font), recalcTimestamp=False), io.BytesIO()
    subsetter = Subsetter(Options(notdef_outline=True))
    subsetter.populate(text="".join(letters))
    subsetter.subset(cut)
    cut.flavor = "woff"
    cut.save(made)
    address = f"data:font/woff;base64,{base64.b64encode(made.getvalue()).decode()}"
    return f"@font-face {{ font-family: '{FAMILY}'; font-weight: {WEIGHTS[name]}; src: url({address}) }} "
