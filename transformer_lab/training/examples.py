"""Pairs of sentences as two tables of token ids, and the order in which training goes through them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Int
from safetensors.torch import save
from torch import Tensor

from transformer_lab.data.tasks import pad
from transformer_lab.data.tokenizer import TokenizerLike

POOL = 4  # batches: among so many, sentences of equal length are put together


@dataclass(frozen=True)
class Examples:
    """Sources and targets, one pair per row, padded on the right; every target ends in eos before its padding."""

    src: Int[Tensor, "N S"]
    tgt: Int[Tensor, "N T"]
    bos_id: int
    pad_id: int

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]], tokenizer: TokenizerLike) -> "Examples":
        """Build the tables from pairs of texts.

        Raises:
            ValueError: there is no pair.
        """
        pairs = list(pairs)
        if not pairs:
            raise ValueError("examples must be made from one pair of texts or more (got none)")
        sources, targets = zip(*pairs, strict=True)
        return cls(
            encode_texts(sources, tokenizer), encode_texts(targets, tokenizer), tokenizer.bos_id, tokenizer.pad_id
        )

    def __len__(self) -> int:
        return len(self.src)

    def rows(self, indices: Int[Tensor, " B"]) -> tuple[Int[Tensor, "B S_"], Int[Tensor, "B T_"]]:
        """Select some of the pairs, without the columns that are padding in all of them."""
        return trim(self.src[indices], self.pad_id), trim(self.tgt[indices], self.pad_id)

    def fingerprint(self) -> str:
        """A checksum, which is equal for equal tables."""
        return hashlib.sha256(save({"src": self.src, "tgt": self.tgt})).hexdigest()

    def count(self, indices: Int[Tensor, " B"]) -> int:
        """The number of target tokens in these pairs, without padding."""
        return int((self.tgt[indices] != self.pad_id).sum())

    def batches(self, batch_size: int, seed: int, epoch: int) -> tuple[Tensor, ...]:
        """Batches of row numbers in a random order; what does not fill a batch is left for the next epoch.

        A batch holds pairs of about equal length, so that little of it is padding (§5.1).
        """
        generator = torch.Generator("cpu").manual_seed(derive_seed(seed, "order", epoch))
        lengths = (self.tgt != self.pad_id).sum(dim=1).cpu()
        drawn = torch.randperm(len(self), generator=generator, device="cpu")[: len(self) // batch_size * batch_size]
        pools = (pool[lengths[pool].argsort(stable=True)] for pool in drawn.split(POOL * batch_size))
        batches = torch.cat([*pools]).split(batch_size)
        return tuple(batches[i] for i in torch.randperm(len(batches), generator=generator, device="cpu"))


def encode_texts(texts: Iterable[str], tokenizer: TokenizerLike) -> Int[Tensor, "N T"]:
    """Encode texts as rows of ids, each followed by eos and padding.

    Raises:
        ValueError: `texts` is a single text.
    """
    if isinstance(texts, str):
        raise ValueError(f"texts must be several texts, such as a list of them (got one: {texts[:20]!r})")
    return pad([[*tokenizer.encode(text), tokenizer.eos_id] for text in texts], tokenizer.pad_id)


def trim(tokens: Int[Tensor, "B T"], pad_id: int) -> Int[Tensor, "B T_"]:
    """Remove the columns at the end that are padding in every row."""
    used = (tokens != pad_id).any(dim=0).nonzero()  # columns, which need not be those on the left
    return tokens[:, : int(used[-1]) + 1 if len(used) else 0]


def derive_seed(*key: object) -> int:
    """Derive a seed from a key such as (7, "dropout", step), which is the same in every run."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:7])
