"""Random sequences that repeat themselves, so that the next token can only be predicted by looking back."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_lab.checks import check_least


class Repeated(NamedTuple):
    """Sequences, with the number of tokens after which each one starts over."""

    tokens: Int[Tensor, "B T"]
    periods: Int[Tensor, " B"]

    @property
    def known(self) -> Bool[Tensor, "B T_but_last"]:
        """Whether position t could know token t + 1, because its own token and the one that followed it came before.

        The last token of the first round could not: nothing says that the round is over.
        """
        positions = torch.arange(self.tokens.size(1) - 1, device=self.tokens.device)
        return positions >= self.periods[:, None]  # (T - 1,), (B, 1) → (B, T - 1)


def repeated(
    n: int, length: int = 32, *, periods: tuple[int, int] = (8, 16), n_symbols: int = 24, seed: int = 0
) -> Repeated:
    """`n` sequences of `length` tokens, 0 to n_symbols - 1, each a random beginning that is repeated to the end.

    The length of the beginning, the period, is drawn for each sequence, from the smallest to the largest of `periods`:
    so no fixed distance is right to look back. No symbol occurs twice in a beginning, so that one place is.

    Raises:
        ValueError: the periods are not in order, or longer than n_symbols; n is below 0, another number below 1.
    """
    check_least(0, n=n)
    check_least(1, length=length, period=periods[0])
    if not periods[0] <= periods[1] <= n_symbols:
        rule = f"periods must be two numbers in order, at most n_symbols ({n_symbols}): no symbol occurs twice"
        raise ValueError(f"{rule} (got {periods})")
    generator = torch.Generator("cpu").manual_seed(seed)  # the same numbers on every device
    period = torch.randint(periods[0], periods[1] + 1, (n,), generator=generator, device="cpu")
    order = torch.rand(n, n_symbols, generator=generator, device="cpu").argsort(dim=-1)  # (n, n_symbols)
    places = torch.arange(length, device="cpu") % period[:, None]  # (n, length): 0, 1, …, period - 1, 0, 1, …
    return Repeated(order.gather(1, places), period)
