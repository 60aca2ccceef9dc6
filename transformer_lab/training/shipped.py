"""Files that come with the package, by name: small trained models, and the losses of many small training runs."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "checkpoints"


def checkpoint_path(checkpoint: str | Path) -> Path:
    """The path of a checkpoint that comes with the package, given its name ("en_de"); a path is returned as it is.

    Raises:
        FileNotFoundError: it is neither such a name nor a file.
    """
    names = names_of("safetensors")
    if isinstance(checkpoint, str) and checkpoint in names:
        return FOLDER / f"{checkpoint}.safetensors"
    if not checkpoint or not Path(checkpoint).exists():
        raise FileNotFoundError(f"a checkpoint must be a file, or one of {', '.join(names)} (got {checkpoint})")
    return Path(checkpoint)


def load_table(name: str) -> list[dict[str, Any]]:
    """The rows of a table of results, such as "swaps", which a module of `experiments` makes.

    Raises:
        ValueError: there is no such table.
    """
    names = names_of("json")
    if name not in names:
        raise ValueError(f"a table must be one of {', '.join(names)} (got {name})")
    rows: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return rows


def names_of(ending: str) -> list[str]:
    return sorted(path.stem for path in FOLDER.glob(f"*.{ending}"))
