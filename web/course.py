"""The course as a map: one thread through all lessons, with a knot for each and a dot for each of its exercises.

What a reader has done stands in the browser alone, so here every dot is open; `static/progress.js` fills them.
"""

import re
from collections.abc import Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from lessons import bridge_of, minutes_of, title_and_promise
from nbformat import NotebookNode

from transformer_lab.exercises import catalogue
from transformer_lab.exercises.engine.cards import inline

PARTS = {"Part I: the paper": ("00", "08"), "Part II: since then": ("09", "14"), "Part III: today": ("15", "99")}
ROWS = (("Part I: the paper",), ("Part II: since then", "Part III: today"))  # where the page is wide
ROW = re.compile(r"^\|.*\[([^\]]+)\]\(notebooks/(\w+)\.ipynb\) \| (.+?) \|$", re.MULTILINE)
BEAD = (
    '<svg viewBox="0 0 40 40" aria-hidden="true"><circle cx="20" cy="20" r="18.5"/>'
    '<circle class="arc" cx="20" cy="20" r="18" pathLength="100"/></svg>'
)


def lessons_of(stored: Mapping[str, NotebookNode], root: Path) -> list[dict[str, Any]]:
    """What the map says of each lesson: its number, topic, question, minutes and exercises."""
    questions = {row[1]: row[2] for row in ROW.findall((root / "README.md").read_text("utf-8"))}
    lessons = []
    for name in (name for name in stored if name[0].isdigit()):
        title, promise = title_and_promise(stored[name])
        number, _, topic = title.partition(" · ")
        question = questions.get(name, promise).replace("'", "’")
        lessons.append(
            {"name": name, "number": number, "topic": topic, "question": question[:1].upper() + question[1:]}
            | {"minutes": minutes_of(stored[name]), "bridge": bridge_of(stored[name])}
            | {"exercises": [one.name for one in catalogue.values() if one.lesson == number]}
        )
    return lessons


def part_of(lesson: Mapping[str, Any]) -> str:
    return next(part for part, (first, last) in PARTS.items() if first <= lesson["number"] <= last)


def course_map(lessons: list[dict[str, Any]]) -> str:
    """The map as HTML: two rows where the page is wide, else a thread from top to bottom."""
    parts = {part: [*of_it] for part, of_it in groupby(lessons, part_of)}
    rows = []
    for names in ROWS:
        own = {name: parts[name] for name in names if name in parts}
        knots = sum(map(len, own.values()))
        inside = "".join(
            f'<section class="part" style="--own:{len(of_it)}"><h3 class="part-name" id="{anchor(name)}">{name}</h3>'
            f'<ol class="thread">{"".join(map(knot, of_it))}</ol></section>'
            for name, of_it in own.items()
        )
        rows.append(f'<div class="row" style="--knots:{knots}">{inside}</div>')
    return f'<div class="map">{"".join(rows)}</div>'


def anchor(part: str) -> str:
    return part.partition(":")[0].lower().replace(" ", "-")


def knot(lesson: Mapping[str, Any]) -> str:
    """One lesson: a link with its number, topic and question, then its dots, its minutes and the place to go on at."""
    names = lesson["exercises"]
    dots = "".join('<i class="dot"></i>' for _ in names)
    said = f"{len(names)} exercise{'s' * (len(names) != 1)}"
    return (
        f'<li class="knot" data-knot="{lesson["name"]}" data-exercises="{" ".join(names)}">'
        f'<a href="lessons/{lesson["name"]}.html"><span class="bead">{BEAD}{lesson["number"]}</span>'
        f'<span class="title">{escape(lesson["topic"])}</span>'
        f'<span class="question">{inline(lesson["question"])}</span></a>'
        f'<span class="dots" role="img" aria-label="{said}">{dots}</span>'
        f'<span class="minutes">{lesson["minutes"]} min</span>'
        f'<a class="button primary go-on" href="lessons/{lesson["name"]}.html" hidden></a></li>'
    )
