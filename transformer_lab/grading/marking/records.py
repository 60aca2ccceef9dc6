"""What is kept of each student: the marks, and what was odd, in a file of their own."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.submissions.file_names import file_name


@dataclass(frozen=True)
class Graded:
    """A student's marks, and notes on what was odd in what they handed in."""

    student: str
    marks: tuple[Mark, ...]
    notes: tuple[str, ...]
    digest: str = ""  # of what was graded
    submitted: str = ""  # when it came, ISO
    texts: dict[str, str] = field(default_factory=dict)  # answers to questions, in words
    own_id: str = ""  # by which they drew the numbers of their own
    left_out: tuple[str, ...] = ()  # of the notes, what says that something could not be read
    came_by: str = ""  # who says when it came: see Submission
    hand_back: str = ""
    together: tuple[str, ...] = ()  # the others who handed it in
    addresses: dict[str, str] = field(default_factory=dict)  # of all who did, where Gradescope tells them

    @property
    def points(self) -> float | int:
        """As computed: before lateness, and before what an instructor decides."""
        return sum(mark.points for mark in self.marks)

    def save(self, folder: Path) -> None:
        temporary = folder / f"{file_name(self.student)}.part"
        temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
        temporary.replace(folder / f"{file_name(self.student)}.json")  # whole, or not at all

    @staticmethod
    def load(path: Path) -> "Graded":
        """Read a record.

        Raises:
            ValueError: it is none.
        """
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            marks = tuple(Mark(**m | {"notes": tuple(m["notes"])}) for m in record["marks"])
            notes = tuple(record["notes"])
            words = dict(record.get("texts", {}))
            more = (record.get("submitted", ""), words, record.get("own_id", ""))
            came = (tuple(record.get("left_out", ())), record.get("came_by", ""), record.get("hand_back", ""))
            others = tuple(record.get("together", ()))
            known = dict(record.get("addresses", {}))
            return Graded(record["student"], marks, notes, record["digest"], *more, *came, others, known)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{path} must be a record of grading ({type(error).__name__}: {error}): "
                "delete it, and the student is graded again"
            ) from None


def graded_so_far(out: Path) -> list[Graded]:
    """All records in `out`, by student."""
    return sorted(map(Graded.load, (out / "records").glob("*.json")), key=lambda graded: graded.student)
