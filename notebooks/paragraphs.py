"""The paragraphs of lessons 01 to 10, which lesson 12 searches: they come with the package, as text without marks."""

import json
import re
from pathlib import Path

from nbformat import NotebookNode

FILE = Path(__file__).resolve().parents[1] / "transformer_lab" / "data" / "lessons.json"
LESSONS = [f"{number:02}" for number in range(1, 11)]
MARKS = re.compile(r"<[^>]*>|!\[[^]]*\]|\$\$.*?\$\$|\]\([^)]*\)|[*`#\[]", re.DOTALL)
FEWEST_WORDS = 12


def paragraphs(notebook: NotebookNode) -> list[str]:
    """The paragraphs of a lesson of 12 words or more; lists and tables are none."""
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    found = [" ".join(part.split()) for part in MARKS.sub(" ", text).split("\n\n")]
    return [part for part in found if len(part.split()) >= FEWEST_WORDS and part[0] not in "|-"]


def as_json(lessons: dict[str, NotebookNode]) -> str:
    """What the package holds, given the notebooks by their numbers."""
    rows = [(number, part) for number in LESSONS for part in paragraphs(lessons[number])]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"
