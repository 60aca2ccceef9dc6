"""Unpacking what was handed in as a zip file: the files that grading reads, and nothing outside their folder.

An archive is written by students, so it is not believed: neither its sizes, nor its paths, nor its kinds of files.
"""

import os
import stat
import time
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from transformer_lab.grading.submissions.file_names import READ
from transformer_lab.grading.submissions.gradescope_export import METADATA

MOST_FILE, MOST_ARCHIVE = 20 << 20, 100 << 20  # bytes of a file
WANTED, NOTED = (*READ, ".zip"), ("timestamp.txt", METADATA)
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, OSError)


@dataclass
class Budget:
    """How much of a student may still be unpacked, archives in archives included."""

    files: int = 200
    bytes: int = 200 << 20

    @property
    def is_spent(self) -> bool:
        return self.files <= 0 or self.bytes <= 0


def for_each_student(folder: Path) -> Callable[[Path], Budget]:
    """The budgets of a class that is unpacked into a folder: one for each folder in which a student's files lie."""
    budgets: defaultdict[tuple[str, ...], Budget] = defaultdict(Budget)

    def budget_of(place: Path) -> Budget:
        parts = place.relative_to(folder).parts
        return budgets[parts[:2] if len(parts) > 2 else parts[:1]]

    return budget_of


@dataclass(frozen=True)
class LeftOut:
    """A file of an archive that was not unpacked, and why; without a path, the archive itself."""

    path: Path | None
    why: str


def unpack(archive: Path, folder: Path, budget_of: Callable[[Path], Budget]) -> list[LeftOut]:
    """Write the notebooks, Python files and archives in a zip file below a folder, with their times; what is left out.

    Folders keep their names, without `..`. Links, hidden files and all other kinds are passed over in silence. A file
    that can't be unpacked costs itself alone.
    """
    odd: list[LeftOut] = []
    spent: list[Budget] = []
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                if (place := place_of(member, folder)) is None:
                    continue
                budget = budget_of(place)
                if budget.is_spent:
                    if not any(budget is one for one in spent):
                        odd.append(LeftOut(place, f"the rest of {archive.name} is left out: it is too much"))
                        spent.append(budget)
                    continue
                if why := unpack_one(opened, member, place, budget):
                    odd.append(LeftOut(place, f"{place.name} in {archive.name} {why}"))
    except BROKEN as error:
        odd.append(LeftOut(None, f"{archive.name} can't be unpacked ({type(error).__name__}: {error})"))
    return odd


def unpack_one(opened: zipfile.ZipFile, member: zipfile.ZipInfo, place: Path, budget: Budget) -> str:
    """Write one file; why it is left out, if it is."""
    most = MOST_ARCHIVE if place.suffix.lower() == ".zip" or place.name == METADATA else MOST_FILE
    try:
        with opened.open(member) as file:
            content = file.read(most + 1)
        budget.files, budget.bytes = budget.files - 1, budget.bytes - len(content)
        if len(content) > most:
            return f"is left out: a file may have {most >> 20} MiB"
        write(place, content, member.date_time)
    except BROKEN as error:
        return f"can't be unpacked ({type(error).__name__}: {error})"
    return ""


def place_of(member: zipfile.ZipInfo, folder: Path) -> Path | None:
    """Where a member of an archive belongs; None for what nobody reads."""
    parts = [part for part in PurePosixPath(member.filename.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
    kind = stat.S_IFMT(member.external_attr >> 16)
    wanted = bool(parts) and (parts[-1].lower().endswith(WANTED) or parts[-1] in NOTED)
    if member.is_dir() or hidden or not wanted or kind not in (0, stat.S_IFREG):
        return None
    return folder.joinpath(*(part.replace("\0", "")[-150:] for part in parts))


def write(place: Path, content: bytes, when: tuple[int, ...]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    try:
        year, month, day, hour, minute, second = when
        # an archive does not say in which zone: this machine's
        seconds = time.mktime((year, month, day, hour, minute, second, 0, 0, -1))
        os.utime(place, (seconds, seconds))
    except (ValueError, OverflowError, OSError):  # a day that there is none of: the time of unpacking stays
        return
