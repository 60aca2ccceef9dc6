"""An assignment as the instructor keeps it: what grading needs to know, in a file of JSON."""

import json
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.grading.handout.questions import Question

FORMAT = 1
LATENESS = ("due", "late", "grace", "late_most", "slip_days", "file_times")


def find_exercise(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        ValueError: there is none.
    """
    if name not in catalogue:
        raise ValueError(f"an exercise must be one of {', '.join(catalogue)} (got {name})")
    return catalogue[name]


@dataclass(frozen=True)
class Assignment:
    """What the instructor keeps: exercises with their points, the time for each answer, the seed of hidden cases."""

    name: str
    points: dict[str, float | int]
    seconds: float | int = 10
    seed: str = field(default_factory=lambda: secrets.token_hex(16))
    handed_out: dict[str, str] = field(default_factory=dict)  # digest of each code cell, by its id
    partial: bool = False  # part of the points for an answer that is right in part
    excuse: bool = False  # all points for an answer that is right but for another, which it calls
    due: str = ""  # ISO; empty: whenever
    late: float | int = 0  # percent of all points that each day begun after `due` takes
    grace: float | int = 0  # hours after `due` in which nothing is late
    late_most: float | int = 100  # percent that lateness takes at most
    slip_days: int = 0  # late days of a term that cost nobody anything
    file_times: bool = False  # whether the times of files tell when they came: where no student can set them
    questions: dict[str, Question] = field(default_factory=dict)  # answered in words, marked by hand
    variants: tuple[str, ...] = ()  # predictions that everybody makes of numbers of their own
    key: str = ""  # from which these are drawn, with a student's id; not secret
    format: int = FORMAT

    @property
    def most(self) -> dict[str, float | int]:
        """The points of each exercise and each question."""
        return self.points | {name: question.points for name, question in self.questions.items()}

    @property
    def total(self) -> float | int:
        return sum(self.most.values())

    def what_decides(self) -> dict:
        """All that the points of an answer depend on. What is late, and its cost, may change without grading anew."""
        return {name: value for name, value in asdict(self).items() if name not in LATENESS}

    def as_text(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    def save(self, path: Path) -> None:
        """Write it where nobody else on this machine may read it: it has the seed."""
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_text(self.as_text(), encoding="utf-8")

    @staticmethod
    def load(path: Path) -> "Assignment":
        """Read one.

        Raises:
            ValueError: the file is none, or names an exercise that there is none of.
        """
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            questions = {name: Question(**question) for name, question in told.get("questions", {}).items()}
            variants = tuple(told.get("variants", ()))
            assignment = Assignment(**{**told, "questions": questions, "variants": variants})
        except OSError as error:
            why = "there is none" if isinstance(error, FileNotFoundError) else error.strerror
            raise ValueError(
                f"the assignment {path} must be a file written by `transformer-lab assign` ({why})"
            ) from None
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} must be an assignment written by `transformer-lab assign` ({error})") from None
        if assignment.format != FORMAT:
            raise ValueError(f"the assignment must have format {FORMAT} (it has {assignment.format}): assign again")
        for name in assignment.points:
            find_exercise(name)
        return assignment
