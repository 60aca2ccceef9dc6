"""Where in a lesson to read on about an exercise: the section that speaks most of it."""

import json
import re
from functools import cache

from transformer_lab.exercises import catalogue
from transformer_lab.grading.assign import NOTEBOOKS


@cache
def where_to_look(name: str) -> str:
    """The lesson, and its section, in words. Where the notebooks are not at hand, the lesson alone."""
    lesson = catalogue[name].lesson
    paths = sorted(NOTEBOOKS.glob(f"{lesson}_*.ipynb")) if NOTEBOOKS.is_dir() else []
    if not paths:
        return f"lesson {lesson}"
    best, heading, counted, most = "", "", 0, 0
    for cell in json.loads(paths[0].read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if "exercise" in cell.get("metadata", {}):  # the exercises come last
            break
        for line in text.split("\n"):
            if found := re.match(r"##+ (.+)", line) if cell["cell_type"] == "markdown" else None:
                heading, counted = found[1].strip(), 0
            counted += len(re.findall(rf"\b{name}\b|\b{name.replace('_', ' ')}\b", line))
            if counted > most and heading:
                best, most = heading, counted
    return f"lesson {lesson} (`{paths[0].name}`)" + (f", section “{best}”" if best else "")
