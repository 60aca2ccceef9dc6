"""Small models, and claims that a head of theirs matters: where a head looks says little about what it does."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

TOKENS = 10  # in the vocabulary
Model = Callable[[Tensor, Sequence[int]], tuple[Tensor, Tensor]]
Head = tuple[Callable[[Tensor], Tensor], Tensor, Callable[[Tensor], Any]]  # where it looks, what it writes, and when


def table(seed: int) -> Tensor:
    """What a head adds to the logits, a row for each token that it sees."""
    generator = torch.Generator("cpu").manual_seed(seed)
    return torch.randn(TOKENS, TOKENS, generator=generator, dtype=torch.float64, device="cpu")


NEXT, OTHER = table(0), table(1)  # NEXT: the logits by the present token alone
COPY = 3 * torch.eye(TOKENS, dtype=torch.float64, device="cpu")
NOTHING = 0 * COPY
SAME_FOR_ALL = OTHER[:, :1] * torch.ones(TOKENS, dtype=torch.float64, device="cpu")  # rows of equal numbers
SAME_FROM_ALL = OTHER[:1].expand(TOKENS, -1).clone()  # equal rows
ON_NINE = OTHER * (torch.arange(TOKENS, device="cpu") == 9)[:, None]
SURER = F.one_hot(NEXT.argmax(-1), TOKENS).double()  # more for what is the most likely token anyway


# ── where a head looks: (B, T) tokens → (B, T, T) weights ──


def among(chosen: Tensor) -> Tensor:
    """Weights spread evenly over the chosen keys of the past; a query that has none looks at itself."""
    length = chosen.size(-1)
    past = chosen & torch.ones(length, length, dtype=torch.bool).tril()
    alone = ~past.any(-1, keepdim=True) & torch.eye(length, dtype=torch.bool)
    looked_at = (past | alone).double()
    return looked_at / looked_at.sum(-1, keepdim=True)


def at_all(tokens: Tensor) -> Tensor:
    return among(torch.ones(len(tokens), tokens.size(1), tokens.size(1), dtype=torch.bool))


def at_itself(tokens: Tensor) -> Tensor:
    return among(torch.zeros(len(tokens), tokens.size(1), tokens.size(1), dtype=torch.bool))


def back_one(tokens: Tensor) -> Tensor:
    return among(torch.eye(tokens.size(1)).roll(-1, 1).bool().expand(len(tokens), -1, -1))


def by_induction(tokens: Tensor) -> Tensor:
    """At what came after the present token when it stood there last."""
    previous = F.pad(tokens, (1, 0), value=-1)[:, :-1]  # (B, T): the token before each
    found = (tokens[:, :, None] == previous[:, None]).tril()
    return among(found & (found.flip(-1).cumsum(-1).flip(-1) == 1))  # the last of each row


# ── when it writes: (B, T) tokens → what its output is multiplied by ──


def always(tokens: Tensor) -> float:
    return 1.0


def late(tokens: Tensor) -> Tensor:
    return (torch.arange(tokens.size(1)) >= 12)[:, None]  # (T, 1)


def at_the_start(tokens: Tensor) -> Tensor:
    return (torch.arange(tokens.size(1)) < 2)[:, None]


def seen_before(tokens: Tensor) -> Tensor:
    return (tokens[:, :, None] == tokens[:, None]).tril(-1).any(-1, keepdim=True)  # (B, T, 1)


# ── models: (B, T) tokens and the heads to take away → logits (B, T, TOKENS), weights (B, h, T, T) ──


def parts_of(heads: Sequence[Head], tokens: Tensor, without: Sequence[int]) -> tuple[list[Tensor], Tensor]:
    """What each head writes, (B, T, TOKENS) each, and where all look."""
    weights = [look(tokens) for look, _, _ in heads]
    written = [
        w @ values[tokens] * when(tokens) * (i not in without)
        for i, (w, (_, values, when)) in enumerate(zip(weights, heads, strict=True))
    ]
    return written, torch.stack(weights, 1).float()


def of_heads(*heads: Head) -> Model:
    """All heads side by side: what they write is added up. Computed in float64, so as to be equal everywhere."""

    def model(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        written, weights = parts_of(heads, tokens, without)
        return (NEXT[tokens] + sum(written)).float(), weights

    return model


def with_a_backup(*heads: Head) -> Model:
    """The first head that is there writes; the others are silent."""

    def model(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        written, weights = parts_of(heads, tokens, without)
        first = next((part for i, part in enumerate(written) if i not in without), 0 * NEXT[tokens])
        return (NEXT[tokens] + first).float(), weights

    return model


def in_two_layers(values: Tensor) -> Model:
    """Head 1 finds its place by what head 0 has written: without that it looks at all alike."""

    def model(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        second = (at_all if 0 in without else by_induction)(tokens)
        logits = NEXT[tokens] + second @ values[tokens] * (1 not in without)
        return logits.float(), torch.stack([back_one(tokens), second], 1).float()

    return model
