"""The front page: one sentence, a view that is alive, the lessons as pictures, the commands to begin with.

It is written in `front.md`; what it shows of the lessons is taken from the notebooks and from README.md.
"""

import os
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from jinja2 import Template
from lessons import html_of, title_and_promise
from nbformat import NotebookNode
from pictures import is_tall_enough, pictures_in

from notebooks.drawings import ATTACHED
from transformer_lab.exercises.engine.cards import inline

# The view that the front page opens with: the first of these kinds that a notebook shows, and what to try with it.
# As soon as a notebook shows the machine, the front page does, too.
OPENING = {
    "machine": "A whole Transformer, alive in this page: type a number in English, and follow it to the German.",
    "heads": "A Transformer that has learned to translate numbers reads one. Each row shows how much one token looks "
    "at the others, in each of its eight heads: choose one, point at a cell, move the temperature.",
}
PARTS = {"Part I: the paper": ("00", "08"), "Part II: since then": ("09", "14"), "Part III: today": ("15", "99")}
ROW = re.compile(r"^\|.*\[([^\]]+)\]\(notebooks/(\w+)\.ipynb\) \| (.+?) \|$", re.MULTILINE)


def front_page(stored: dict[str, NotebookNode], root: Path, source: Path) -> str:
    """The text of the front page; writes the pictures and the view that it names below `source`."""
    readme = (root / "README.md").read_text("utf-8")
    names = [name for name in stored if name[0].isdigit()]
    kind, html = opening_view(stored)
    (source / "opening.html").write_text(html, "utf-8")
    cards = {name: card(name, stored[name], readme, root / "img", source / "_extra/img") for name in names}
    template = Template(Path(__file__).with_name("front.md").read_text("utf-8"))
    return template.render(
        words=OPENING[kind],
        repository=repository_of(os.environ),
        commands=re.findall(r"^```\n(.+?)\n```", readme.partition("## Start")[2], re.DOTALL | re.MULTILINE)[:2],
        parts=[
            (part, {n: c for n, c in cards.items() if first <= n[:2] <= last}) for part, (first, last) in PARTS.items()
        ],
    )


def opening_view(stored: dict[str, NotebookNode]) -> tuple[str, str]:
    """The kind of the opening view, and its HTML as a notebook has stored it (the gallery, if it is there)."""
    by_kind: dict[str, str] = {}
    for notebook in (stored["gallery"], *stored.values()):
        for html in map(html_of, notebook.cells):
            if found := re.match(r"<tl-([a-z_]+)-", html):
                by_kind.setdefault(found[1], html)
    kind = next(kind for kind in OPENING if kind in by_kind)
    return kind, by_kind[kind]


def card(name: str, notebook: NotebookNode, readme: str, drawings: Path, pictures: Path) -> str:
    """A lesson as a picture that leads to it, with its title and the question that it opens with."""
    title, promise = title_and_promise(notebook)
    number, _, topic = title.partition(" · ")
    questions = {row[1]: row[2] for row in ROW.findall(readme)}
    return (
        f'<a class="card" href="lessons/{name}.html"><span class="card-picture">'
        f'<img src="img/{picture(name, notebook, drawings, pictures)}" alt=""></span>'
        f'<span class="card-title"><span class="card-number">{number}</span> {escape(topic)}</span>'
        f'<span class="card-question">{inline(questions.get(name, promise))}</span></a>'
    )


def picture(name: str, notebook: NotebookNode, drawings: Path, pictures: Path) -> str:
    """The file name of a lesson's picture, in `pictures`: its first drawing, or else its first figure."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    drawn = [f"{drawing}.svg" for drawing in ATTACHED.findall(text)]
    drawn.sort(key=lambda drawing: drawing[:2] != name[:2])  # its own before another's
    if drawn:
        (pictures / drawn[0]).write_bytes((drawings / drawn[0]).read_bytes())
        return drawn[0]
    fitting = [svg for cell in notebook.cells for svg in pictures_in(html_of(cell)) if is_tall_enough(svg)]
    if not fitting:
        raise ValueError(f"a lesson needs a drawing or a figure for its card ({name} has none)")
    (pictures / f"{name}.svg").write_text(fitting[0], "utf-8")
    return f"{name}.svg"


def repository_of(environment: Mapping[str, str]) -> str:
    """The word *repository*, with a link to it where a workflow says which it is."""
    address = [environment.get(name) for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY")]
    return f'<a href="{"/".join(address)}">repository</a>' if all(address) else "repository"
