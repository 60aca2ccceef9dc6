"""The exercises that were solved or tried, and the answers that passed, stored in one file on this machine.

The file lies in the user's data folder. `TRANSFORMER_LAB_PROGRESS=off` keeps none; any other value is its path. Without
a file the answers that passed are known until the session ends.
"""

import json
import os
import warnings
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_data_path

from transformer_lab.exercises.progress.own_source import OwnSource
from transformer_lab.files import put_in_place, replace_file

SOLVED, TRIED, OPEN = "solved", "tried", "open"
VARIABLE = "TRANSFORMER_LAB_PROGRESS"
PATIENCE = 20.0  # seconds to wait for another notebook that writes, on a machine that may be busy
SESSION: dict[str, OwnSource] = {}  # answers that could not be written


def progress_file() -> Path | None:
    """The file in which progress is kept; None if it is not to be kept."""
    given = os.environ.get(VARIABLE, "")
    if given.lower() == "off":
        return None
    return Path(given).expanduser() if given else user_data_path("transformer_lab", appauthor=False) / "progress.json"


def read_progress() -> dict[str, str]:
    """The progress of each exercise that was tried. A damaged file is moved aside, and a warning says where."""
    return read()[0]


def read_answers() -> dict[str, OwnSource]:
    """The answers that passed, by the name of the exercise. A damaged file is moved aside, as above."""
    return SESSION | read()[1]


def read() -> tuple[dict[str, str], dict[str, OwnSource]]:
    path = progress_file()
    if path is None or not path.exists():
        return {}, {}
    try:
        return parsed(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        aside = next(one for n in range(1, 10_000) if not (one := path.with_name(f"{path.name}.damaged-{n}")).exists())
        put_in_place(path, aside)
        warnings.warn(
            f"your progress could not be read; the file is kept as {aside}, and a new one begins", stacklevel=3
        )
        return {}, {}


def parsed(text: str) -> tuple[dict[str, str], dict[str, OwnSource]]:
    kept = json.loads(text)
    states = kept["exercises"]
    if not isinstance(states, dict) or not set(states.values()) <= {SOLVED, TRIED}:
        raise ValueError("not a map of exercises")
    answers = {}
    for name, answer in kept.get("answers", {}).items():
        if not all(isinstance(part, str) for part in (answer["source"], *answer["missing"])):
            raise ValueError("not the source of an answer")
        answers[name] = OwnSource(answer["source"], tuple(answer["missing"]))
    return states, answers


def record(name: str, solved: bool, answer: OwnSource | None = None) -> None:
    """Record that an exercise was tried, or solved and with which answer. Once solved, it stays so.

    Of several answers that passed the last is kept. Without a place to write, it is known to this session alone. Other
    notebooks wait while one writes, and the file is whole at any time: a new one takes its place at once.
    """
    path = progress_file()
    if path is None or not written(path, name, solved, answer):
        SESSION.update({name: answer} if answer else {})


def written(path: Path, name: str, solved: bool, answer: OwnSource | None) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f"{path.name}.lock"), timeout=PATIENCE):
            states, answers = read()
            now = SOLVED if solved else states.get(name, TRIED)
            if states.get(name) != now or (answer and answers.get(name) != answer):
                write(path, states | {name: now}, answers | ({name: answer} if answer else {}))
        return True
    except (OSError, RuntimeError, Timeout):  # no home folder is a RuntimeError
        return False


def write(path: Path, states: dict[str, str], answers: dict[str, OwnSource]) -> None:
    kept = {name: {"source": one.source, "missing": one.missing} for name, one in sorted(answers.items())}
    replace_file(path, json.dumps({"exercises": dict(sorted(states.items())), "answers": kept}, indent=1).encode())
