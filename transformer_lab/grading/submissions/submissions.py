"""Finding what a class handed in: files and folders, as students, learning systems and nbgrader leave them."""

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from transformer_lab.grading.submissions.archives import for_each_student, unpack
from transformer_lab.grading.submissions.file_names import READ
from transformer_lab.grading.submissions.file_owners import CANVAS, owner_of
from transformer_lab.grading.submissions.gradescope_export import METADATA, NAMELESS, read_export
from transformer_lab.grading.submissions.pile import Pile, Submission

HOLDS = "must hold notebooks, one for each student or in a folder for each"


def find_submissions(place: Path, name: str, unpacked: Path | None = None) -> list[Submission]:
    """The submissions in a folder or a zip file; `name` is the assignment's, `unpacked` a folder for what is in zips.

    A student's are `ann.ipynb`, `ann/**/*.ipynb`, nbgrader's `ann/<name>/*.ipynb`, the same in a zip file, or what
    Canvas, Moodle and Gradescope make of them. Links are not followed. Paths are absolute: who grades may stand in
    another folder.

    Raises:
        ValueError: there is no such place, or no submission in it.
    """
    left_out: list[tuple[str, bool, str]] = []  # the name of an entry, whether it is a file, why
    if place.is_file() and place.suffix.lower() == ".zip":
        place, left_out = unpacked_class(place, unpacked)
    if not place.is_dir():
        raise ValueError(f"the submissions must be a folder or a zip file (there is none at {place})")
    refuse_our_own(place)
    exported = read_export(place)
    found: dict[str, Pile] = {}

    def pile_of(entry: str, is_file: bool) -> Pile:
        told = exported.get(entry)
        owner = told.owner(entry) if told else owner_of(entry, is_file)
        pile = found.setdefault(owner.student, Pile(name, unpacked))
        pile.system, pile.hand_back = owner.system, owner.hand_back
        pile.is_late |= owner.late
        if told:
            pile.stamp, pile.together, pile.addresses = told.came, told.students[1:], told.addresses
            pile.notes += [] if told.students else [NAMELESS]
        return pile

    for entry in sorted(place.absolute().iterdir()):
        if entry.name.startswith("._") or (entry.name.startswith(".") and entry.is_dir()):  # not a student's
            continue
        is_file = not entry.is_dir() or entry.is_symlink()
        if is_file and not entry.is_symlink() and not entry.name.lower().endswith((*READ, ".zip")):
            continue
        pile_of(entry.name, is_file).add(entry)
    for entry_name, is_file, why in left_out:
        pile_of(entry_name, is_file).left_out.append(why)
    for folder in exported:  # of which there is nothing to read
        pile_of(folder, is_file=False)
    if not found:
        raise ValueError(f"{place} {HOLDS} (it holds none)")
    return [pile.submission(student) for student, pile in sorted(found.items())]


def one_submission(paths: Iterable[Path], name: str, unpacked: Path) -> Submission:
    """What one student handed in, as files or folders.

    Raises:
        ValueError: there is no such file.
    """
    pile = Pile(name, unpacked)
    for path in paths:
        if not path.exists():
            raise ValueError(f"a submission must be files or folders that are there (there is none at {path})")
        pile.add(path.absolute())
    return pile.submission("submission")


def refuse_our_own(place: Path) -> None:
    """Raise ValueError for a folder that `assign` or `grade` wrote, in which parts would be taken for students."""
    within = place.resolve()
    if (within / "assignment.json").is_file():
        what = "it is the folder of an assignment: what nbgrader collects lies in its submitted/"
    elif within.name in ("release", "source") and (within.parent / "assignment.json").is_file():
        what = f"it is the {within.name} of an assignment"
    elif (within / "records").is_dir() and (within / "graded-with").is_file():
        what = "it is a folder of grades"
    else:
        return
    raise ValueError(f"the submissions must be what students handed in ({place} is something else: {what})")


def refuse_foreign(out: Path) -> None:
    """Raise ValueError for a folder of grades that holds something which grading did not write."""
    known = {"records", "unpacked", "overrides.csv", "marked.json"}
    others = sorted(one.name for one in out.iterdir() if one.name not in known) if out.is_dir() else []
    if others and not (out / "records").is_dir():
        raise ValueError(f"--out must be a new folder, or one of grades ({out} holds {others[0]})")


def unpacked_class(archive: Path, folder: Path | None) -> tuple[Path, list[tuple[str, bool, str]]]:
    """The folder of submissions that a zip file holds, and of what could not be unpacked whose it is, and why.

    Raises:
        ValueError: nothing can be unpacked; says why.
    """
    if folder is None:
        raise ValueError(f"{archive} is a zip file: say where to unpack it")
    whole = folder / "class"
    shutil.rmtree(whole, ignore_errors=True)  # an older download may hold others
    odd = unpack(archive, whole, for_each_student(whole))
    if any(one.path is None for one in odd) or not (odd or whole.is_dir()):
        with suppress(OSError):
            folder.rmdir()  # of an older download, perhaps, which is gone
        raise ValueError("; ".join(one.why for one in odd) or f"{archive} {HOLDS} (it holds none)")
    whole.mkdir(parents=True, exist_ok=True)
    top = top_of([*whole.iterdir()], whole)
    return top, [(*entry_of(one.path, top, whole), one.why) for one in odd if one.path]


def entry_of(path: Path, top: Path, whole: Path) -> tuple[str, bool]:
    """In which entry of the class a file lies, and whether it is that entry."""
    parts = path.relative_to(top if path.is_relative_to(top) else whole).parts
    return parts[0], len(parts) == 1


def top_of(inner: list[Path], whole: Path) -> Path:
    """The folder in which the submissions lie: where all is in one folder, that one."""
    within = [*inner[0].iterdir()] if len(inner) == 1 and inner[0].is_dir() else []
    folders = len(within) > 1 and all(one.is_dir() for one in within)
    folders |= any(one.name == METADATA for one in within)
    return inner[0] if folders or any(CANVAS.fullmatch(one.name) for one in within) else whole
