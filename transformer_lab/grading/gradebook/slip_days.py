"""Slip days: late days that cost nothing, so many for everybody in a term. What was used is kept with the grades."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.lateness import penalty

NAME, SUMMARY = "slip-days-used.json", "summary.json"


def used_before(folders: Iterable[Path]) -> dict[str, int]:
    """How many slip days everybody has used, by their id, in earlier assignments, given as folders of grades.

    Raises:
        ValueError: a folder holds no grades.
    """
    used: Counter[str] = Counter()
    for folder in folders:
        try:
            told = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))["students"]
            used.update({one["id"]: int(one.get("slip_days", 0)) for one in told})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"--after takes folders of grades by `transformer-lab grade` ({folder}: {error})"
            ) from None
    return dict(used)


def keep(after: Sequence[Path] | None, folder: Path) -> None:
    """Keep what was used in earlier assignments. Without any named, those that were named before are read anew.

    Raises:
        ValueError: a folder holds no grades, is named twice, or is that of these grades.
    """
    if after is None:
        if before := kept_folders(folder):
            with suppress(ValueError):  # one of them is gone by now: what is kept of them stays
                keep(before, folder)
        return
    named = [one.resolve() for one in after]
    if len({*named, folder.resolve()}) <= len(named):
        raise ValueError(f"--after takes the grades of earlier assignments, each once, and not {folder} itself")
    used = used_before(after)
    (folder / NAME).unlink(missing_ok=True)
    if after:
        told = {"after": [*map(str, named)], "used": used}
        (folder / NAME).write_text(json.dumps(told) + "\n", encoding="utf-8")


def kept_folders(folder: Path) -> list[Path]:
    """The earlier assignments' grades that were named last."""
    return [*map(Path, kept(folder).get("after", []))]


def kept(folder: Path) -> dict:
    """What the file says; one that names no folders, as earlier versions wrote it, has only what was used."""
    path = folder / NAME
    told = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return told if "after" in told else {"used": told}


def kept_used(folder: Path) -> dict[str, int]:
    """How many slip days each student used before, as is kept in a folder of grades."""
    return kept(folder)["used"]


def taken(assignment: Assignment, days: int, earned: float | int, used: int) -> int:
    """How many slip days late work takes, of those that are left: the fewest that spare as much as all of them."""
    most = min(days, max(0, assignment.slip_days - used))
    costs = [penalty(assignment, days - slips, earned) for slips in range(most + 1)]
    return costs.index(costs[-1])
