"""What was given by hand for answers in words: kept beside the grades, apart from all that is computed.

The page for marking saves a file, and so may several people; `grade --marked` takes them over. Of two decisions on one
answer the later counts. Grading anew never touches them.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.questions import fingerprint

NAME, FORMAT = "marked.json", 1
Marked = dict[tuple[str, str], "ByHand"]  # by student and question


@dataclass(frozen=True)
class ByHand:
    """Points (None: taken back) and a comment for an answer, when, and the fingerprint of the text that was read."""

    student: str
    question: str
    points: float | int | None
    comment: str = ""
    at: str = ""  # ISO, UTC
    text: str = ""

    @property
    def moment(self) -> datetime:
        told = datetime.fromisoformat(self.at)
        return told if told.tzinfo else told.replace(tzinfo=UTC)

    def is_of(self, text: str) -> bool:
        """Whether the text is still the one that was read."""
        return self.text == fingerprint(text)


def read_marked(path: Path, assignment: Assignment) -> Marked:
    """What a file of decisions holds; without a file, nothing.

    Raises:
        ValueError: it is no such file, is another assignment's, or decides what can't be decided; says which.
    """
    if not path.exists():
        return {}
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        name, made = told["assignment"], [ByHand(**one) for one in told["marks"]]
        newest = {(one.student, one.question): one for one in sorted(made, key=lambda one: one.moment)}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} must be a file saved by the page marking.html ({type(error).__name__}: {error})"
        ) from None
    if name != assignment.name:
        raise ValueError(f"{path} must hold marks of {assignment.name} (it holds those of {name})")
    for one in made:
        check(one, path, assignment)
    return newest


def check(one: ByHand, path: Path, assignment: Assignment) -> None:
    """Raise ValueError for a decision on what was not asked, or for points that there are not."""
    if one.question not in assignment.questions:
        asked = ", ".join(assignment.questions) or "none"
        raise ValueError(f"{path} must mark questions of the assignment, {asked} (it marks {one.question})")
    most = assignment.questions[one.question].points
    if one.points is not None and not (isinstance(one.points, int | float) and 0 <= one.points <= most):
        raise ValueError(
            f"{path} must give from 0 to {most:g} points for {one.question} (it gives {one.student} {one.points})"
        )


def take_over(files: Iterable[Path], folder: Path, assignment: Assignment) -> Marked:
    """Put what was saved together with what is kept in the folder of grades, and keep that: whole, or not at all.

    Raises:
        ValueError: a file is none, or can't be read; nothing is changed then.
    """
    kept = read_marked(folder / NAME, assignment)
    for path in files:
        if not path.is_file():
            raise ValueError(f"--marked takes files saved by the page marking.html (there is none at {path})")
        for key, one in read_marked(path, assignment).items():
            if key not in kept or kept[key].moment < one.moment:
                kept[key] = one
    if kept:
        told = {"format": FORMAT, "assignment": assignment.name, "marks": [asdict(one) for one in kept.values()]}
        temporary = folder / f"{NAME}.part"
        temporary.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        temporary.replace(folder / NAME)
    return kept
