"""What one student handed in: the files that count, when they came, and what could not be read."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from transformer_lab.grading.submissions.archives import Budget, unpack
from transformer_lab.grading.submissions.file_names import READ, file_name
from transformer_lab.grading.submissions.notebooks import MOST_BYTES

SAME_MOMENT = 60  # seconds: what is downloaded or copied as a whole gets times that say nothing
COPY = re.compile(r"(?:\((\d+)\)|-copy(\d*)|[-_ ](\d{1,2}))(?=\.\w+$)", re.IGNORECASE)  # `a (1).ipynb`, `a-Copy1.ipynb`
MOST_DEPTH, MOST_NAMED = 6, 5


@dataclass(frozen=True)
class Submission:
    """A student, the files that count, the oldest first, when they came, and what was odd.

    `came_by` tells who says so: nbgrader, Gradescope, Moodle's zip file, Canvas, which says only whether it was late,
    or the files.
    """

    student: str
    paths: tuple[str, ...] = ()
    submitted: str = ""  # ISO, UTC; empty if nothing says when
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # of the notes, what says that something could not be read
    came_by: str = ""
    hand_back: str = ""  # as what its system takes back a file for this student
    together: tuple[str, ...] = ()  # the others who handed it in, where its system says so
    addresses: dict[str, str] = field(default_factory=dict)  # of all who did, where Gradescope tells them

    def digest(self) -> str:
        """Changes when a file does."""
        who = (self.together, self.addresses) if self.addresses else self.together
        whole = hashlib.sha256(repr(who).encode() if who else b"")
        for path in map(Path, self.paths):
            whole.update(repr((path.name, path.stat().st_size)).encode())
            if os.access(path, os.R_OK):
                with path.open("rb") as file:
                    whole.update(file.read(MOST_BYTES))
        return whole.hexdigest()


class Pile:
    """What one student handed in, as it is found."""

    def __init__(self, assignment: str, unpacked: Path | None):
        self.assignment, self.unpacked, self.budget = assignment, unpacked, Budget()
        self.files: list[Path] = []
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.others: list[str] = []
        self.stamp = ""  # nbgrader's, or Gradescope's
        self.together: tuple[str, ...] = ()
        self.addresses: dict[str, str] = {}
        self.system, self.hand_back, self.is_late = "", "", False
        self.times: list[float] = []  # of what lies in the class itself: what a student zipped may have any
        self.archives = 0  # in which the file lies that is being taken

    def add(self, entry: Path, depth: int = 0) -> None:
        """Take a file, what a folder holds, or what a zip file holds; what can't be read is left out."""
        try:
            self.take(entry, depth)
        except OSError as error:  # a folder that nobody may read, say
            self.left_out.append(f"{entry.name} can't be read ({error.strerror})")

    def take(self, entry: Path, depth: int) -> None:
        if entry.is_symlink():
            self.notes.append("no notebook was handed in (a link is none)" if depth == 0 else f"{entry.name} is a link")
        elif entry.is_dir():
            inner = entry / self.assignment
            chosen = inner if depth == 0 and inner.is_dir() and not inner.is_symlink() else entry
            for one in sorted(chosen.iterdir()) if depth < MOST_DEPTH else ():
                if not one.name.startswith((".", "__")):
                    self.add(one, depth + 1)
        elif not entry.is_file():  # to read a FIFO would wait for ever
            self.left_out.append(f"{entry.name} is left out: it is no file")
        elif entry.suffix.lower() == ".zip" and self.unpacked is not None:
            self.add_archive(entry, depth)
        elif entry.name.lower().endswith(READ):
            self.files.append(entry)
            self.times += [entry.stat().st_mtime] if not self.archives else []
        elif depth == 1 and entry.name == "timestamp.txt" and entry.parent.name == self.assignment and not self.system:
            self.stamp = entry.read_bytes()[:100].decode(errors="replace").strip()
        else:
            self.others.append(entry.name)

    def add_archive(self, archive: Path, depth: int) -> None:
        assert self.unpacked is not None
        key = hashlib.sha256(str(archive).encode(errors="surrogateescape")).hexdigest()[:12]
        folder = self.unpacked / f"{file_name(archive.stem)[:80]}-{key}"
        if depth >= MOST_DEPTH:
            self.left_out.append(f"{archive.name} is left out: it lies {MOST_DEPTH} folders and archives deep")
            return
        shutil.rmtree(folder, ignore_errors=True)
        self.times += [archive.stat().st_mtime] if not self.archives else []
        self.archives += 1
        self.left_out += [one.why for one in unpack(archive, folder, lambda _: self.budget)]
        if folder.is_dir():
            self.add(folder, depth + 1)
        self.archives -= 1

    def submission(self, student: str) -> Submission:
        left_out = tuple(dict.fromkeys(self.left_out))
        notes = [*dict.fromkeys(self.notes), *left_out]
        if not self.files and not notes:
            rest = ", ".join(self.others[:MOST_NAMED])
            notes.append(f"no notebook was handed in ({f'but {rest}' if rest else 'the folder is empty'})")
        paths = tuple(map(str, in_order(self.files)))
        came = (self.came_by, self.hand_back, self.together, self.addresses)
        return Submission(student, paths, self.came, tuple(notes), left_out, *came)

    @property
    def came(self) -> str:
        """When it came: what its system noted, or the time of the newest file that lies in the class itself."""
        return next(stamps(self.stamp), "") or ("" if self.system == "Canvas" else latest(self.times))

    @property
    def came_by(self) -> str:
        """Who says so. Canvas gives its files the time of the download, but marks those that came late."""
        if self.system:
            return f"{self.system} LATE" if self.is_late else self.system
        return "nbgrader" if [*stamps(self.stamp)] else "files"


def in_order(files: list[Path]) -> list[Path]:
    """The oldest first, by their times; of those that came in one moment, by the number of the copy."""
    groups: list[list[Path]] = []
    for path in sorted(files, key=lambda path: path.stat().st_mtime):
        if not groups or path.stat().st_mtime - groups[-1][0].stat().st_mtime > SAME_MOMENT:
            groups.append([])
        groups[-1].append(path)
    return [path for group in groups for path in sorted(group, key=lambda path: (copy_number(path.name), str(path)))]


def copy_number(name: str) -> int:
    """Which copy a file is by its name: 0 for `a.ipynb`, 1 for `a (1).ipynb` and `a-Copy1.ipynb`."""
    found = COPY.search(name)
    return int(next(filter(None, found.groups()), "1")) if found else 0


def latest(times: list[float]) -> str:
    try:
        return datetime.fromtimestamp(max(times), UTC).isoformat(timespec="seconds") if times else ""
    except (ValueError, OverflowError, OSError):  # of the year 60 000
        return ""


def stamps(stamp: str) -> Iterator[str]:
    text = stamp.removesuffix(" UTC")
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        return
    told = told if told.tzinfo else told.replace(tzinfo=UTC)
    with suppress(OverflowError):  # of the year 1
        yield told.astimezone(UTC).isoformat(timespec="seconds")
