"""The lessons' notebooks: where they are, and the section that speaks most of an exercise."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path

from transformer_lab.exercises import catalogue

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"


def lesson_notebook(notebooks: Path, lesson: str) -> Path:
    """The notebook of a lesson.

    Raises:
        ValueError: there is none, perhaps as the package is installed without the repository; says what to do.
    """
    if not notebooks.is_dir():
        raise ValueError(
            "exercises are taken from the lessons' notebooks, which the installed package has not (there are none in "
            f"{notebooks}): clone the repository, and give --notebooks REPOSITORY/notebooks"
        )
    found = sorted(notebooks.glob(f"{lesson}_*.ipynb"))
    if not found:
        raise ValueError(f"lesson {lesson} must have a notebook in {notebooks} (there is none)")
    return found[0]


def where_the_package_is(repository: Path = NOTEBOOKS.parent) -> str:
    """What pip may be told to install: the repository that this is installed from, if it has an address for everybody.

    Names and passwords in the address are left out.
    """
    asked = ["git", "-C", str(repository), "remote", "get-url", "origin"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # there is no git
        return ""
    found = re.fullmatch(r"(?:https://(?:[^/@]*@)?|ssh://git@|git@)([\w.-]+\.\w+)[:/]([\w./-]+?)(?:\.git)?/?", told)
    return f"transformer-lab @ git+https://{found[1]}/{found[2]}" if found else ""


@cache
def where_to_look(name: str) -> str:
    """The lesson, and the first section that speaks much of it, in words; without notebooks, the lesson alone."""
    lesson = catalogue[name].lesson
    paths = sorted(NOTEBOOKS.glob(f"{lesson}_*.ipynb")) if NOTEBOOKS.is_dir() else []
    if not paths:
        return f"lesson {lesson}"
    counted: dict[str, int] = {}
    heading, words = "", re.compile(rf"\b{name}\b|\b{name.replace('_', ' ')}\b")
    for cell in json.loads(paths[0].read_text(encoding="utf-8"))["cells"]:
        if "exercise" in cell.get("metadata", {}) or ".check(" in "".join(cell["source"]):
            continue
        for line in "".join(cell["source"]).split("\n"):
            found = re.match(r"##+ (.+)", line) if cell["cell_type"] == "markdown" else None
            heading = found[1].strip() if found else heading
            counted[heading] = counted.get(heading, 0) + len(words.findall(line))
    counted.pop("", None)
    most = max(counted.values(), default=0)
    section = next((one for one, count in counted.items() if most and 2 * count >= most), "")
    return f"lesson {lesson} (`{paths[0].name}`)" + (f", section “{section}”" if section else "")
