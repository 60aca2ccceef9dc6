"""What others see when a lesson's page is sent to them: its question, large, and the drawing of its poster.

`share.py` draws these with Chromium, because that takes a browser. Each picture carries the digest of what it was drawn
from, so that a test can tell when a question or a poster has changed since.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import strokes
from answered import ANSWERED
from posters import POSTERS

from transformer_lab.exercises.engine.cards import inline

STATIC = Path(__file__).with_name("static")
FOLDER = STATIC / "postcards"
DIGEST = "Drawn from"  # what the picture's note is called
BRAND = (
    '<svg viewBox="0 0 32 24"><path d="M3 5h26M3 12h26M3 19h26"/><path d="M3 19C14 19 18 5 29 5" class="thick"/></svg>'
)
LONG = 95  # letters of a question from which on it is written smaller
STYLE = """
body { width: 1200px; height: 630px; overflow: hidden; }
.postcard { display: flex; flex-direction: column; height: 630px; padding: 52px 64px 40px; }
.postcard p { margin: 0; }
.sent { display: flex; justify-content: space-between; font: 600 27px var(--words); color: var(--soft); }
.sent span { display: flex; align-items: center; gap: 14px; }
.sent svg { flex: none; width: 40px; height: 30px; fill: none; stroke: var(--stream); stroke-width: 2; }
.sent .thick { stroke: var(--weight); stroke-width: 4.5; }
.postcard .asked { margin: 26px 0 10px; font: 500 60px/1.14 var(--words); }
.asked { letter-spacing: -0.012em; text-wrap: balance; }
.asked :is(em, i) { font-weight: 400; } /* as heavy as the upright, which is cut for large sizes */
.postcard .asked.long { font-size: 47px; }
.postcard .poster { display: flex; flex: 1; min-height: 0; max-width: none; margin: 0; border: 0; background: none; }
.postcard .poster svg { flex: 1; width: 100%; height: 100%; }
"""


def postcard(lesson: Mapping[str, Any], answered: bool = False) -> str:
    """The picture of a lesson as HTML, without its style; at the lesson's end it is drawn as `answered`."""
    *_, asked = POSTERS[lesson["number"]]
    draw = ANSWERED[lesson["number"]] if answered else asked
    long = " long" * (len(lesson["question"]) > LONG)
    return (
        f'<div class="postcard"><p class="sent"><span>{BRAND}Transformer Lab</span><span>{lesson["number"]} · '
        f'{lesson["topic"]}</span></p><p class="asked{long}">{inline(lesson["question"])}</p><div class="poster">'
        f'<svg class="sketch" viewBox="0 0 {strokes.ACROSS} {strokes.DOWN}">{draw()}</svg></div></div>'
    )


def style() -> str:
    """What a picture's style is: that of the site's pages, whose fonts stand elsewhere, and its own."""
    pages = "".join((STATIC / name).read_text("utf-8") for name in ("base.css", "cards.css"))
    return re.sub(r"@font-face \{.*?\}", "", pages, flags=re.DOTALL) + STYLE


def digest(lesson: Mapping[str, Any], answered: bool = False) -> str:
    return hashlib.sha256((postcard(lesson, answered) + STYLE).encode()).hexdigest()[:16]


def described(lesson: Mapping[str, Any]) -> str:
    """The picture in words."""
    return f"{lesson['question']} {POSTERS[lesson['number']][2]}"
