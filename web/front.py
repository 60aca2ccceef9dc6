"""The front page: a machine that is alive, the course as a map, the commands to begin with.

It is written in `front.md`; what it shows of the lessons is taken from the notebooks and from README.md.
"""

import re
from pathlib import Path
from typing import Any

from course import course_map
from jinja2 import Template
from lessons import html_of
from nbformat import NotebookNode

# The view that the front page opens with: the first of these kinds that a notebook shows, and what to try with it.
OPENING = {
    "machine": "It writes numbers in German. The ribbons say where it looks; cut a part, and see what it writes then.",
    "heads": "Each row shows how much one token looks at the others, in each of its eight heads.",
}


def front_page(
    stored: dict[str, NotebookNode], lessons: list[dict[str, Any]], repository: str, root: Path, source: Path
) -> str:
    """The text of the front page; writes the view and the map that it names below `source`."""
    readme = (root / "README.md").read_text("utf-8")
    kind, html = opening_view(stored)
    (source / "opening.html").write_text(html, "utf-8")
    (source / "course.html").write_text(course_map(lessons), "utf-8")
    return Template(Path(__file__).with_name("front.md").read_text("utf-8")).render(
        words=OPENING[kind],
        lessons=lessons,
        exercises=sum(len(lesson["exercises"]) for lesson in lessons),
        repository=f'<a href="{repository}">repository</a>' if repository else "repository",
        commands=re.findall(r"^```\n(.+?)\n```", readme.partition("## Start")[2], re.DOTALL | re.MULTILINE)[:2],
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
