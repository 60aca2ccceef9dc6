"""The tasks that models learn: number names, Python's source, and toy tasks for which the right attention is known."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_lab.checks import check_least
from transformer_lab.data.number_names import Pairs as Pairs
from transformer_lab.data.number_names import languages as languages
from transformer_lab.data.number_names import lengths_of_numbers as lengths_of_numbers
from transformer_lab.data.number_names import number_name as number_name
from transformer_lab.data.number_names import number_names as number_names
from transformer_lab.data.number_names import wrong_names as wrong_names
from transformer_lab.data.repeated_sequences import repeated as repeated
from transformer_lab.data.texts import python_source as python_source


class Vocabulary:
    """Ids for a few symbols, with the interface of a tokenizer; in a text, single spaces separate the symbols.

    Ids 0, 1 and 2 are for padding, for the begin and for the end of a sequence; the symbols follow in their order.

    Raises:
        ValueError: a symbol is empty, contains white space or occurs twice; a text has an unknown symbol.
    """

    pad_id, bos_id, eos_id = 0, 1, 2

    def __init__(self, symbols: Sequence[str]):
        for symbol in symbols:
            if not isinstance(symbol, str) or symbol.split() != [symbol]:
                raise ValueError(f"a symbol must be a text without white space (got {symbol!r})")
        if len(set(symbols)) < len(symbols):
            raise ValueError(f"symbols must differ (got {list(symbols)})")
        self.symbols = list(symbols)
        self.ids = {symbol: i for i, symbol in enumerate(symbols, start=self.eos_id + 1)}

    def __len__(self) -> int:
        return self.eos_id + 1 + len(self.symbols)

    def encode(self, text: str) -> list[int]:
        """The ids of the symbols, without begin and end tokens."""
        unknown = [symbol for symbol in text.split() if symbol not in self.ids]
        if unknown:
            raise ValueError(f"a text must consist of the symbols {' '.join(self.symbols)} (got {unknown[0]!r})")
        return [self.ids[symbol] for symbol in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        """The symbols of the ids, without padding, begin and end tokens.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        unknown = [i for i in ids if i not in range(len(self))]
        if unknown:
            raise ValueError(f"ids must be from 0 to {len(self) - 1} (got {unknown[0]!r})")
        return " ".join(self.symbols[i - self.eos_id - 1] for i in ids if i > self.eos_id)


def pad(sequences: Sequence[Sequence[int]], pad_id: int) -> Int[Tensor, "B T"]:
    """Stack lists of ids into one tensor, each padded with `pad_id` to the length of the longest."""
    longest = max(map(len, sequences), default=0)
    rows = [[*ids, *[pad_id] * (longest - len(ids))] for ids in sequences]
    return torch.tensor(rows, dtype=torch.long).view(len(sequences), longest)


# Toy tasks. A target is its source in another order, so the order *is* the right attention: `alignment[b, t]` is the
# source position that target position t must look at.


def copy_alignment(src: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """The alignment of copying: each target position looks at the same position of the source."""
    return torch.arange(src.size(1), device=src.device).expand_as(src)


def reverse_alignment(src: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """The alignment of reversal: the first target position looks at the last of the source, and so on."""
    return copy_alignment(src).flip(-1)


class Sequences(NamedTuple):
    """Sources, their targets, and the source position from which each target position is copied."""

    src: Int[Tensor, "B T"]
    tgt: Int[Tensor, "B T"]
    alignment: Int[Tensor, "B T"]


def random_sequences(
    align: Callable[[Tensor], Tensor], n: int, length: int, n_symbols: int, *, seed: int = 0
) -> Sequences:
    """`n` random sources for a toy task: `random_sequences(reverse_alignment, n=64, length=7, n_symbols=10)`.

    The ids of the symbols follow those of padding, begin and end, which are left out: 3 to n_symbols + 2. No symbol
    occurs twice in a source, so that one place and no other is right to look at.

    Raises:
        ValueError: length is above n_symbols, or a number is below 0.
    """
    check_least(0, n=n, length=length)
    if length > n_symbols:
        raise ValueError(f"length ({length}) must be at most n_symbols ({n_symbols}): no symbol occurs twice")
    generator = torch.Generator("cpu").manual_seed(seed)  # the same numbers on every device
    order = torch.rand(n, n_symbols, generator=generator, device="cpu").argsort(dim=-1)
    src = order[:, :length] + Vocabulary.eos_id + 1
    alignment = align(src)
    return Sequences(src, src.gather(1, alignment), alignment)
