"""One long text as a table of windows, and the order in which training goes through them."""

import hashlib
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_lab.checks import check_least
from transformer_lab.training.examples import derive_seed


@dataclass(frozen=True)
class TextExamples:
    """A text as ids, to be read in windows of `length` tokens.

    An epoch cuts the text into windows side by side, and begins at another token than the one before: so what stands
    at the end of a window, with all of it to look back at, stands at the beginning of one in another epoch.

    Raises:
        ValueError: length is below 2, or the text has fewer than 2 · length tokens.
    """

    ids: Int[Tensor, " n"]
    length: int

    def __post_init__(self) -> None:
        check_least(2, length=self.length)
        object.__setattr__(self, "length", int(self.length))  # numpy's would be written in another way
        if len(self.ids) < 2 * self.length:
            rule = f"a text must have at least 2 windows of {self.length} tokens"
            raise ValueError(f"{rule} (got {len(self.ids)} tokens)")

    def __len__(self) -> int:
        """The windows in an epoch: one fewer than fit, so that all epochs have equally many, wherever they begin."""
        return len(self.ids) // self.length - 1

    def rows(self, starts: Int[Tensor, " B"]) -> Int[Tensor, "B length"]:
        """The windows that begin at these tokens."""
        return self.ids[starts[:, None] + torch.arange(self.length)]

    def batches(self, batch_size: int, seed: int, epoch: int) -> tuple[Tensor, ...]:
        """Batches of window starts in a random order; what does not fill a batch is left out."""
        generator = torch.Generator("cpu").manual_seed(derive_seed(seed, "order", epoch))
        offset = torch.randint(self.length, (), generator=generator, device="cpu")
        drawn = torch.randperm(len(self), generator=generator, device="cpu")[: len(self) // batch_size * batch_size]
        return (offset + self.length * drawn).split(batch_size)

    def fingerprint(self) -> str:
        """A checksum, which is equal for equal texts."""
        return hashlib.sha256(self.ids.numpy().tobytes() + repr(self.length).encode()).hexdigest()
