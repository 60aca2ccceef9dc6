"""The wall of the gallery: of each of its views a drawing, which leads to it, and a sentence on what it does."""

import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from wall_sketches import on_card

from transformer_lab.exercises.engine.cards import inline

PLACE = re.compile(r'class="place" id="([\w-]+)"')
STILL = re.compile(r'(<img [^>]*width="\d+" src=")data:image/svg\+xml,([^"]+)(?=")')
TITLE = re.compile(r'data-title="[^"]*"')
CALLED = re.compile(r"\*\*(.+?)\*\*(?: \(lesson \d+\))?[:,.]?\s*(.+?[.:])(?=\s|$)", re.DOTALL)


def put_up(page: NotebookNode, folder: Path) -> None:
    """Put the wall below the first text of the gallery's page. The pictures that the views show before they are alive
    become files of `folder`, so that the page is there before them."""
    folder.mkdir(parents=True)
    tiles, names = [], {}
    for title, said, place, view in views(page):
        address = f"{folder.name}/{place}.svg"
        html, found = view.data["text/html"], STILL.search(view.data["text/html"])
        assert found
        (folder / f"{place}.svg").write_text(unquote(unescape(found[2])), "utf-8")
        view.data["text/html"] = STILL.sub(rf"\g<1>{address}", html, count=1)
        words = f"<b>{escape(title)}</b><span>{inline(said)}</span>"
        tiles.append(f'<li><a href="#{place}">{on_card(place)}{words}</a></li>')
        names[place] = title
    wall = f'<ul class="wall" aria-label="All views">{"".join(tiles)}</ul>'
    page.cells.insert(1, new_markdown_cell(wall))
    for cell in page.cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            if found := PLACE.search(html):
                output.data["text/html"] = TITLE.sub(f'data-title="{escape(names[found[1]])}"', html)


def views(page: NotebookNode) -> Iterator[tuple[str, str, str, NotebookNode]]:
    """Of each view: what the text before it calls it and says of it first, its place on the page, its output."""
    title = said = place = ""
    for cell in page.cells:
        if cell.cell_type == "markdown" and (found := CALLED.search(cell.source)):
            title, said = found[1], f"{found[2][0].upper()}{found[2][1:-1]}."
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            if found := PLACE.search(html):
                place = found[1]
            elif STILL.search(html):
                yield title, said, place, output
