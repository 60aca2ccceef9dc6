"""Texts to learn from: Python's own source, which is on every learner's disk, or a file of the learner's own."""

import hashlib
import json
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

PRINTABLE = "\n" + "".join(map(chr, range(32, 127)))  # of ASCII: what nearly all of Python's source is written in
NO_CODE = {"encodings", "pydoc_data"}  # tables of characters, nearly alike; a text in one long string
NOT_EVERYWHERE = {"distutils", "ensurepip", "idlelib", "lib2to3", "tkinter", "turtledemo", "venv"}
HELD_OUT = 16  # of 256 parts, for validation and for test each


@dataclass(frozen=True)
class Corpus:
    """Texts by file name, for training, for monitoring the training (validation), and for the final test."""

    train: dict[str, str]
    validation: dict[str, str]
    test: dict[str, str]

    def text(self, part: str) -> str:
        """All texts of a part, "train", "validation" or "test", joined together."""
        return "".join(getattr(self, part).values())


def python_source() -> Corpus:
    """The modules of the running Python's standard library, split by file.

    Nothing is downloaded, and one version of Python gives the same corpus on every machine. Tests are left out, and so
    is what some systems leave out, what is no code, and a file with a character that is not in `PRINTABLE`. The part
    of a file follows from its name alone, so it is the same in every version of Python.

    Raises:
        ValueError: this Python came without its source.
    """
    root = Path(sysconfig.get_path("stdlib"))
    parts: dict[str, dict[str, str]] = {"train": {}, "validation": {}, "test": {}}
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
    for name in filter(is_code, names):
        text = (root / name).read_bytes().decode("latin-1").replace("\r\n", "\n")
        if not set(text) - set(PRINTABLE):
            parts[part_of(name)][name] = text
    if not all(parts.values()):
        raise ValueError(f"Python must come with the source of its standard library (there is none in {root})")
    return Corpus(**parts)


def is_code(name: str) -> bool:
    """Whether a file in the folder of the standard library belongs to the corpus."""
    folders = name.removesuffix(".py").split("/")
    skipped = NO_CODE | NOT_EVERYWHERE | {"test", "tests"}
    return folders[0] in sys.stdlib_module_names and not skipped & {*folders} and not name.startswith("_sysconfig")


def part_of(name: str) -> str:
    """Assign a name to validation, test or train: at random, but always in the same way."""
    place = hashlib.sha256(name.encode()).digest()[0]  # from 0 to 255
    return "test" if place < HELD_OUT else "validation" if place < 2 * HELD_OUT else "train"


def text_file(path: str | Path) -> Corpus:
    """A UTF-8 file of the learner's own: its last 16th is the test, the 16th before that the validation.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not UTF-8, or has fewer than 10 000 characters.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"a text must be in UTF-8 ({path}: {error})") from error
    if len(text) < 10_000:
        raise ValueError(f"a text to learn from must have at least 10 000 characters ({path} has {len(text)})")
    test, validation = (len(text) * (256 - parts * HELD_OUT) // 256 for parts in (1, 2))
    name = Path(path).name
    return Corpus({name: text[:validation]}, {name: text[validation:test]}, {name: text[test:]})


class Characters:
    """A vocabulary with one token for each character of an alphabet, and one for all other characters.

    Id 0 is for padding, id 1 for what is not in the alphabet; it is written as U+FFFD.

    Raises:
        ValueError: a character stands twice in the alphabet, or U+FFFD stands in it.
    """

    pad_id, other_id = 0, 1
    OTHER = "\ufffd"

    def __init__(self, alphabet: str):
        twice = [c for c, n in Counter(alphabet).items() if n > 1 or c == self.OTHER]
        if twice:
            raise ValueError(f"each character of an alphabet must be another one, and none U+FFFD (got {twice[0]!r})")
        self.alphabet = alphabet
        self.symbols = ["", self.OTHER, *alphabet]
        self.table = np.full(sys.maxunicode + 1, self.other_id, dtype=np.int64)  # from code points to ids
        self.table[[*map(ord, alphabet)]] = range(2, len(alphabet) + 2)

    @classmethod
    def of(cls, text: str, at_most: int = 126) -> "Characters":
        """Build the vocabulary from the most frequent characters of a text, in the order of their code points."""
        counts = Counter(text)
        del counts[cls.OTHER]
        return cls("".join(sorted(sorted(counts, key=lambda c: (-counts[c], c))[:at_most])))

    def __len__(self) -> int:
        return len(self.symbols)

    def encode(self, text: str) -> Int[Tensor, " n"]:
        """The id of each character, on the CPU.

        Raises:
            UnicodeEncodeError: half a surrogate pair, which is no character, is in the text.
        """
        return torch.from_numpy(self.table[np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)])

    def decode(self, ids: Iterable[int] | Int[Tensor, " n"]) -> str:
        """The characters of the ids, without padding.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        ids = [int(i) for i in ids]
        if ids and not 0 <= min(ids) <= max(ids) < len(self):
            raise ValueError(f"ids must be from 0 to {len(self) - 1} (got {min(ids)} to {max(ids)})")
        return "".join(map(self.symbols.__getitem__, ids))

    def to_json(self) -> str:
        """The alphabet as JSON, from which everything else follows."""
        return json.dumps({"characters": self.alphabet}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Characters":
        """Read the vocabulary that `to_json` wrote.

        Raises:
            ValueError: the text is no vocabulary of characters.
        """
        try:
            return cls(json.loads(text)["characters"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"a vocabulary of characters must be JSON with its alphabet ({error!r})") from error
