"""The wall of the gallery: of each of its views a drawing, which leads to it, and a sentence on what it does.

The cards hang in the parts of the page, by their headings.
"""

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
PART = re.compile(r"^## (.+)$", re.MULTILINE)
CALLED = re.compile(r"\*\*(.+?)\*\*(?: \(lesson (\d+)\))?[:,.]?\s*(.+?[.:])(?=\s|$)", re.DOTALL)


def put_up(page: NotebookNode, folder: Path) -> None:
    """Put the wall below the first text of the gallery's page. The pictures that the views show before they are alive
    become files of `folder`, so that the page is there before them."""
    folder.mkdir(parents=True)
    parts: dict[str, list[str]] = {}
    names = {}
    for part, (title, lesson, said), place, view in views(page):
        address = f"{folder.name}/{place}.svg"
        html, found = view.data["text/html"], STILL.search(view.data["text/html"])
        assert found
        (folder / f"{place}.svg").write_text(unquote(unescape(found[2])), "utf-8")
        view.data["text/html"] = STILL.sub(rf"\g<1>{address}", html, count=1)
        parts.setdefault(part, []).append(card(place, f"#{place}", title, said, f"lesson {lesson}" * bool(lesson)))
        names[place] = title
    rows = (
        f'<p class="wall-part">{escape(part)} <span>{len(tiles)} views</span></p>'
        f'<ul class="cards" aria-label="Views: {escape(part)}">{"".join(tiles)}</ul>'
        for part, tiles in parts.items()
    )
    for cell in page.cells:
        if cell.cell_type == "markdown":
            cell.source = CALLED.sub(headed, cell.source, count=1)
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            if found := PLACE.search(html):
                output.data["text/html"] = TITLE.sub(f'data-title="{escape(names[found[1]])}"', html)
    page.cells.insert(1, new_markdown_cell(f'<div class="wall">{"".join(rows)}</div>'))


def card(view: str, address: str, title: str, said: str = "", below: str = "") -> str:
    """One entry of a list of cards: the drawing of a view and words, which lead to an address."""
    words = f"<span>{inline(said)}</span>" * bool(said) + f"<i>{escape(below)}</i>" * bool(below)
    return f'<li><a href="{escape(address)}">{on_card(view)}<b>{escape(title)}</b>{words}</a></li>'


def headed(called: re.Match[str]) -> str:
    """The name of a view as a heading above what is said of it, as on its card. It is none of the page's own headings,
    because the contents name each view already."""
    title, lesson, said = called.groups()
    of = f" <span>lesson {lesson}</span>" if lesson else ""
    heading = f'<p class="view-title" role="heading" aria-level="3">{escape(title)}{of}</p>'
    return f"{heading}\n\n{said}"


def views(page: NotebookNode) -> Iterator[tuple[str, tuple[str, str, str], str, NotebookNode]]:
    """Of each view: the part that it is in, what the text before it calls it, its lesson and what is said of it first,
    its place on the page, its output."""
    part = place = ""
    called = ("", "", "")
    for cell in page.cells:
        if cell.cell_type == "markdown" and (found := PART.search(cell.source)):
            part = found[1]
        if cell.cell_type == "markdown" and (found := CALLED.search(cell.source)):
            called = (found[1], found[2] or "", f"{found[3][0].upper()}{found[3][1:-1]}.")
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            if found := PLACE.search(html):
                place = found[1]
            elif STILL.search(html):
                yield part, called, place, output
