"""The front page: a machine that is alive, the course as a map, the commands to begin with.

It is written in `front.md`; what it shows of the lessons is taken from the notebooks and from README.md.
"""

import re
from pathlib import Path
from typing import Any

from course import BEAD, course_map
from jinja2 import Template
from lessons import html_of
from nbformat import NotebookNode
from wall import card

from transformer_lab.exercises import catalogue

# The view that the front page opens with: the first of these kinds that a notebook shows, and what to try with it.
OPENING = {
    "machine": "This translator runs in your browser, offline too. Ribbons show where it looks. Cut a part.",
    "heads": "It works offline, too. Each row shows how much one token looks at every other, in each of eight heads.",
}
INSIDE = "#s=thirty-four+thousand+and+twenty-one&view=map"  # all matrices of the machine at once
SLIP = catalogue["causal_mask"].mistakes["upper_triangle"].explanation
# What one does here and in no book: the view whose drawing it has, where it leads, its name, what it is, where that is.
REASONS = {
    "machine": (
        "view-attention-2",
        INSIDE,
        "Which number decided?",
        "Press a part of the machine, and its matrices open, down to each product of each sum.",
        "in the machine above",
    ),
    "mask": (
        "view-masks",
        "lessons/05_masking.html#exercise-causal_mask",
        "Which mistake was it?",
        f"Paint the wrong triangle, and the exercise says: “{SLIP}”",
        "lesson 05",
    ),
    "training": (
        "view-own-sentence",
        "lessons/07_training.html",
        "Can a laptop learn it?",
        "You write the training, and in a minute your own laptop learns to translate numbers that it was never shown.",
        "lesson 07",
    ),
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
        inside=INSIDE if kind == "machine" else "",
        cards="".join(card(*told) for name, told in REASONS.items() if name in ("mask", "training", kind)),
        lessons=lessons,
        bead=BEAD,
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
