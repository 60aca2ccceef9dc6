"""Slip days: late days that cost nothing, so many for everybody in a term. What was used is kept with the grades."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

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


def keep(used: dict[str, int], folder: Path) -> None:
    """Keep what was used before, if anything was."""
    (folder / NAME).unlink(missing_ok=True)
    if used:
        (folder / NAME).write_text(json.dumps(used) + "\n", encoding="utf-8")


def kept(folder: Path) -> dict[str, int]:
    """What is kept in a folder of grades; nothing if there is none."""
    path = folder / NAME
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
