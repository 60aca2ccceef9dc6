"""The wall of the gallery: of each of its views the picture, which leads to it, and a sentence on what it does."""

import base64
import io
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from PIL import Image

from transformer_lab.exercises.engine.cards import inline

PLACE = re.compile(r'class="place" id="([\w-]+)"')
STILL = re.compile(r'<img [^>]*width="(\d+)" src="data:image/svg\+xml,([^"]+)"')
PIXELS = re.compile(r"(?<=data:image/png;base64,)[\w+/=]+")
ACROSS = 440  # pixels of a tile, two for each that a page shows
CALLED = re.compile(r"\*\*(.+?)\*\*(?: \(lesson \d+\))?[:,.]?\s*(.+?[.:])(?=\s|$)", re.DOTALL)


def put_up(page: NotebookNode, folder: Path) -> None:
    """Put the wall below the first text of the gallery's page; the pictures become files of `folder`."""
    folder.mkdir(parents=True)
    tiles = []
    for title, said, place, svg in stills(page):
        (folder / f"{place}.svg").write_text(PIXELS.sub(smaller, svg), "utf-8")
        picture = f'<img src="{folder.name}/{place}.svg" alt="" loading="lazy">'
        words = f"<b>{escape(title)}</b><span>{inline(said)}</span>"
        tiles.append(f'<li><a href="#{place}">{picture}{words}</a></li>')
    wall = f'<ul class="wall" aria-label="All views">{"".join(tiles)}</ul>'
    page.cells.insert(1, new_markdown_cell(wall))


def stills(page: NotebookNode) -> Iterator[tuple[str, str, str, str]]:
    """Of each view: what the text before it calls it and says of it first, its place on the page, its picture."""
    title = said = ""
    for cell in page.cells:
        if cell.cell_type == "markdown" and (found := CALLED.search(cell.source)):
            title, said = found[1], f"{found[2][0].upper()}{found[2][1:-1]}."
        html = "".join(output.get("data", {}).get("text/html", "") for output in cell.get("outputs", []))
        if (place := PLACE.search(html)) and (still := STILL.search(html)):
            yield title, said, place[1], unquote(unescape(still[2]))


def smaller(png: re.Match[str]) -> str:
    """A picture in base64 as large as a tile needs it."""
    with Image.open(io.BytesIO(base64.b64decode(png[0]))) as picture:
        small, out = picture.convert("RGBA"), io.BytesIO()
    small.thumbnail((ACROSS, ACROSS))
    small.quantize(64).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()
