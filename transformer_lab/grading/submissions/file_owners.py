"""Whose a file is, by the names that learning-management systems give to what they hand back.

Canvas: `doeann_12345_67890_01_attention.ipynb`, after the name `_LATE` where it is; 12345 is the student's number.
Moodle: `Ann Doe_12345_assignsubmission_file_/01_attention.ipynb`, or the same in one name; 12345 is the participant's.
"""

import re
from dataclasses import dataclass

from transformer_lab.grading.submissions.file_names import NOTEBOOKS

CANVAS = re.compile(r"(?P<name>[^_]+)(?P<late>_LATE)?_(?P<number>\d+)_\d+_(?P<file>.+)", re.IGNORECASE)
MOODLE = re.compile(r"(?P<name>.+)_(?P<number>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.IGNORECASE)

FEEDBACK = "feedback.html"


@dataclass(frozen=True)
class Owner:
    """A student, as a name tells them; the file's own name; whether the name says that it came late."""

    student: str
    file: str
    late: bool = False
    hand_back: str = ""  # the name of a file by which the system knows that it is for this student
    system: str = ""  # "Moodle" or "Canvas", whose name it is


def owner_of(name: str, is_file: bool = True) -> Owner:
    """Whose a file or a folder of submissions is. Where no system's name is recognised, it is named after the student.

    A folder keeps its whole name in Canvas's pattern, for Canvas makes none.
    """
    if is_file and (found := CANVAS.fullmatch(name)):  # first, for it ends in whatever name the student chose
        return Owner(
            f"{found['name']}_{found['number']}",
            found["file"],
            bool(found["late"]),
            f"{name[: found.start('file')]}{FEEDBACK}",
            "Canvas",
        )
    if found := MOODLE.fullmatch(name):
        back = f"{found['name'].replace('_', ' ')}_{found['number']}_assignsubmission_file_{FEEDBACK}"
        return Owner(f"{found['name'].strip()}_{found['number']}", found["file"], hand_back=back, system="Moodle")
    ends = (end for end in NOTEBOOKS if is_file and name.lower().endswith(end) and name.lower() != end)
    end = next(ends, f".{name.rpartition('.')[2]}" if is_file and "." in name else "")
    return Owner(name[: len(name) - len(end)], name)
