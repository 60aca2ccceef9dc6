"""Which exercises are solved, which were tried: one file on this machine, and the map that `progress()` draws of it.

The file lies in the user's data folder. `TRANSFORMER_LAB_PROGRESS=off` keeps none; any other value is its path.
"""

import json
import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_data_path

SOLVED, TRIED, OPEN = "solved", "tried", "open"
VARIABLE = "TRANSFORMER_LAB_PROGRESS"
PATIENCE = 2.0  # seconds to wait for another notebook that writes


def progress_file() -> Path | None:
    """Where progress is kept; None if it is not to be kept."""
    given = os.environ.get(VARIABLE, "")
    if given.lower() == "off":
        return None
    return Path(given).expanduser() if given else user_data_path("transformer_lab", appauthor=False) / "progress.json"


def read_progress() -> dict[str, str]:
    """What became of each exercise that was tried. A damaged file is put aside, and a warning says where."""
    path = progress_file()
    if path is None or not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))["exercises"]
        if not isinstance(kept, dict) or not set(kept.values()) <= {SOLVED, TRIED}:
            raise ValueError("not a map of exercises")
        return kept
    except (ValueError, KeyError, TypeError, RecursionError):
        aside = next(one for n in range(1, 10_000) if not (one := path.with_name(f"{path.name}.damaged-{n}")).exists())
        path.replace(aside)
        warnings.warn(
            f"your progress could not be read; the file is kept as {aside}, and a new one begins", stacklevel=2
        )
        return {}


def record(name: str, solved: bool) -> None:
    """Note that an exercise was tried, or solved. What was solved once stays so. Without a place to write, nothing is.

    Other notebooks wait while one writes, and the file is whole at any time: a new one takes its place at once.
    """
    path = progress_file()
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f"{path.name}.lock"), timeout=PATIENCE):
            kept = read_progress()
            if kept.get(name) in (SOLVED, SOLVED if solved else TRIED):
                return
            write(path, kept | {name: SOLVED if solved else TRIED})
    except (OSError, RuntimeError, Timeout):  # no home folder is a RuntimeError
        return


def write(path: Path, kept: Mapping[str, str]) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"exercises": dict(sorted(kept.items()))}, file, indent=1)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
