"""Unpacking what was handed in as a zip file: the files that grading reads, and nothing outside their folder.

An archive is written by students, so it is not believed: neither its sizes, nor its paths, nor its kinds of files.
"""

import os
import stat
import time
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MOST_FILE = 20 << 20  # bytes of a file
WANTED = (".ipynb", ".py", ".zip")
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, OSError)


@dataclass
class Budget:
    """How much may still be unpacked: of a class as a whole, or of one student, archives in archives included."""

    files: int = 200
    bytes: int = 200 << 20


def of_a_class() -> Budget:
    return Budget(files=50_000, bytes=8 << 30)


def unpack(archive: Path, folder: Path, budget: Budget) -> list[str]:
    """Write the notebooks, Python files and archives in a zip file below a folder, with their times; what is odd.

    Folders keep their names, without `..`. Links, hidden files and all other kinds are left out.
    """
    odd: list[str] = []
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                if (place := place_of(member, folder)) is None:
                    continue
                if budget.files <= 0 or budget.bytes <= 0:
                    return [*odd, f"the rest of {archive.name} is left out: it is too much"]
                with opened.open(member) as file:
                    content = file.read(MOST_FILE + 1)
                budget.files, budget.bytes = budget.files - 1, budget.bytes - len(content)
                if len(content) > MOST_FILE:
                    odd.append(f"{place.name} in {archive.name} is left out: a file may have {MOST_FILE >> 20} MiB")
                    continue
                write(place, content, member.date_time)
    except BROKEN as error:
        odd.append(f"{archive.name} can't be unpacked ({type(error).__name__}: {error})")
    return odd


def place_of(member: zipfile.ZipInfo, folder: Path) -> Path | None:
    """Where a member of an archive belongs; None for what nobody reads."""
    parts = [part for part in PurePosixPath(member.filename.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
    kind = stat.S_IFMT(member.external_attr >> 16)
    wanted = bool(parts) and (parts[-1].lower().endswith(WANTED) or parts[-1] == "timestamp.txt")
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
