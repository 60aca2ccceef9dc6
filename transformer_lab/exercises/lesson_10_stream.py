"""What two layers of one head each make of repeated sequences, and how that is judged and shown."""

import itertools
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lab.exercises.engine.cards import Picture

NAMES = "abcdefgh"  # of the tokens


def sequences_of(given: Mapping) -> list[tuple[int, ...]]:
    """All sequences of different tokens that fit in twice; the shortest first."""
    periods = range(1, min(given["n_tokens"], given["n_positions"] // 2) + 1)
    return [once for period in periods for once in itertools.permutations(range(given["n_tokens"]), period)]


def stream_of(given: Mapping) -> Tensor:
    """(N, T, d_model): token | position | previous | next, the last two empty.

    Each sequence is repeated until all are as long as the longest twice. What stands behind its second half does not
    matter: it is hidden by the mask.
    """
    once = sequences_of(given)
    length = 2 * len(once[-1])
    tokens = torch.tensor([[one[t % len(one)] for t in range(length)] for one in once], device="cpu")  # (N, T)
    here = F.one_hot(tokens, given["n_tokens"]).double()  # (N, T, n_tokens)
    places = torch.eye(given["n_positions"], dtype=torch.float64, device="cpu")[:length]
    return torch.cat([here, places.expand(len(once), -1, -1), 0 * here, 0 * here], -1)


def layer(x: Tensor, qk: Tensor, ov: Tensor) -> tuple[Tensor, Tensor]:
    """The stream (N, T, d_model) behind a layer of one head, and the head's weights (N, T, T)."""
    qk, ov = (matrix.detach().to("cpu", torch.float64) for matrix in (qk, ov))
    future = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device="cpu").triu(1)
    weights = (x @ qk @ x.mT).masked_fill(future, float("-inf")).softmax(-1)
    return x + weights @ x @ ov, weights


def both_layers(given: Mapping, qk_0: Tensor, ov_0: Tensor, qk_1: Tensor, ov_1: Tensor) -> Tensor:
    """(N, T, T + T + n_tokens): for each sequence the weights of both heads, and `next` behind the second."""
    x, first = layer(stream_of(given), qk_0, ov_0)
    x, second = layer(x, qk_1, ov_1)
    return torch.cat([first, second, x[..., -given["n_tokens"] :]], -1).float()


def smallest_failure(given: Mapping, effect: Tensor) -> tuple[int, int] | None:
    """The number of the first sequence that is not continued, and the position where it is not."""
    following = effect[..., -given["n_tokens"] :]  # (N, T, n_tokens)
    for i, once in enumerate(sequences_of(given)):
        period = len(once)
        for t in range(period, 2 * period):
            right, others = following[i, t].clone(), following[i, t].clone()
            others[once[(t + 1) % period]] = 0
            if not (right[once[(t + 1) % period]] >= 0.9 and (others <= 0.1).all()):
                return i, t
    return None


def not_continued(given: Mapping, effect: Tensor) -> str | None:
    if (failure := smallest_failure(given, effect)) is None:
        return None
    i, t = failure
    once = sequences_of(given)[i]
    read = [NAMES[once[s % len(once)]] for s in range(t + 1)]
    held = effect[i, t, -given["n_tokens"] :].tolist()
    lines = [
        "It does not continue every sequence that is repeated.",
        f"  tokens          {' '.join(read)}",
        f"  what comes next {NAMES[once[(t + 1) % len(once)]]}",
        f"  next holds      {', '.join(f'{x:.2f} for {NAMES[token]}' for token, x in enumerate(held))}",
    ]
    return "\n".join(lines)


def pictures_of(given: Mapping, effect: Tensor) -> list[Picture]:
    """Both heads and `next` on the smallest sequence that is not continued."""
    i, _ = smallest_failure(given, effect) or (0, 0)
    once, length = sequences_of(given)[i], effect.size(1)
    tokens = [NAMES[token] for token in 2 * once]
    alphabet = [*NAMES[: given["n_tokens"]]]
    parts = effect[i, : len(tokens)].split([length, length, len(alphabet)], -1)
    captions = ("layer 0: rows are queries, columns are keys", "layer 1", "next, behind both layers")
    return [
        Picture(caption, corner, tokens, columns, part[:, : len(columns)].tolist())
        for caption, corner, columns, part in zip(
            captions, ("q╲k", "q╲k", ""), (tokens, tokens, alphabet), parts, strict=True
        )
    ]
