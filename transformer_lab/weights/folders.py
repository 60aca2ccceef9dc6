"""A folder as Hugging Face writes it: config.json, weights in safetensors, whole or in shards, and tokenizer.json."""

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


def read_json(path: Path) -> dict[str, Any]:
    """What a file of JSON holds.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no JSON, or no object.
    """
    if not path.is_file():
        raise FileNotFoundError(f"a published model must have a {path.name} ({path.parent} has none)")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} must be JSON ({error})") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} must hold names and what they stand for (got a {type(found).__name__})")
    return found


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of a folder, by the names that they have there.

    Raises:
        FileNotFoundError: there are no safetensors, or a shard is missing.
        ValueError: a file is damaged, the index names no files, or what it promises is not in its shard.
    """
    if (folder / WEIGHTS).is_file() or not (folder / INDEX).is_file():
        return read_safetensors(folder / WEIGHTS)
    where: dict[str, str] | None = read_json(folder / INDEX).get("weight_map")  # tensor: file
    if not where:
        raise ValueError(
            f"{INDEX} must say which file holds which tensor ({folder}: its weight_map is missing or empty)"
        )
    shards = {name: read_safetensors(folder / name) for name in sorted(set(where.values()))}
    if lost := [name for name, file in where.items() if name not in shards[file]]:
        raise ValueError(f"each shard must hold what {INDEX} says (missing: {', '.join(lost[:3])})")
    return {name: shards[file][name] for name, file in where.items()}


def read_safetensors(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise FileNotFoundError(f"published weights must be safetensors ({path.parent} has no {path.name})")
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"published weights must be a whole safetensors file ({path}: {error})") from error


def read_tokenizer(folder: Path) -> Tokenizer | None:
    """The tokenizer of a folder, without the padding and cutting that some files ask for; None if there is none."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def check_digest(path: Path, wanted: str) -> None:
    """Raise a ValueError unless a file has this SHA-256."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted:
        rule = f"{path.name} must have the SHA-256 {wanted[:12]}… that was published"
        raise ValueError(f"{rule} (got {found[:12]}…: delete {path} and get it again)")
