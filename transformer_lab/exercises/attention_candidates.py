"""What a test of attention is tried on: right implementations of every style, and wrong ones, each with its symptom."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

Attend = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def weights_of(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the keys; zeros for a query that may attend to none."""
    return scores.masked_fill(~mask, float("-inf")).softmax(-1).nan_to_num()


def with_weights(weigh: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Attend:
    """Attention with the weights `weigh(query, key, mask)`."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        weights = weigh(query, key, mask)
        return weights @ value, weights

    return attend


def scaled(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT / query.size(-1) ** 0.5


# ── right ──


def by_einsum(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    scores = torch.einsum("...td,...sd->...ts", query, key) * query.size(-1) ** -0.5
    weights = weights_of(scores, mask)
    return torch.einsum("...ts,...sd->...td", weights, value), weights


def by_loop(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    mask = mask.broadcast_to(*query.shape[:-1], key.size(-2))
    rows = []
    for t in range(query.size(-2)):
        scores = (query[..., t, None, :] * key).sum(-1) / query.size(-1) ** 0.5  # (…, S)
        rows.append(weights_of(scores, mask[..., t, :]))
    weights = torch.stack(rows, -2)
    return torch.stack([(row[..., None] * value).sum(-2) for row in rows], -2), weights


def in_float64(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    weights = weights_of(scaled(query.double(), key.double()), mask)
    return (weights @ value.double()).to(value.dtype), weights.to(value.dtype)


def by_the_fused_kernel(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    def fused(values: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(query, key, values, attn_mask=mask).nan_to_num()

    each_key = torch.eye(key.size(-2)).expand(*key.shape[:-1], key.size(-2))  # its values are the weights themselves
    return fused(value), fused(each_key)


def by_hand(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    scores = scaled(query, key).masked_fill(~mask, float("-inf"))
    largest = scores.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)  # finite where all is hidden
    powers = (scores - largest).exp()
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1.0)  # the largest score has a power of 1
    return weights @ value, weights


def small_numbers_instead(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    weights = scaled(query, key).masked_fill(~mask, torch.finfo(query.dtype).min).softmax(-1) * mask
    return weights @ value, weights


def scaled_in_advance(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    fourth_root = query.size(-1) ** 0.25
    hidden = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, float("-inf"))  # added to the scores
    weights = ((query / fourth_root) @ (key / fourth_root).mT + hidden).softmax(-1).nan_to_num()
    return weights @ value, weights


RIGHT_ATTENTIONS: dict[str, Attend] = {
    "with einsum": by_einsum,
    "with a loop over the queries": by_loop,
    "in float64 inside": in_float64,
    "with torch's fused kernel": by_the_fused_kernel,
    "with exponentials and sums written out": by_hand,
    "with the smallest number in place of minus infinity, and zeros where the mask is False": small_numbers_instead,
    "with a mask that is added to the scores, and queries and keys scaled in advance": scaled_in_advance,
}

# ── wrong ──


def unmasked_weights(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The output is right; what is returned as weights was never masked."""
    return weights_of(scaled(query, key), mask) @ value, scaled(query, key).softmax(-1)


def returns_scores(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return weights_of(scaled(query, key), mask) @ value, scaled(query, key).masked_fill(~mask, 0.0)


def averages_keys(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    weights = weights_of(scaled(query, key), mask)
    return weights @ (key if key.shape == value.shape else value), weights


def looks_for_values(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    weights = weights_of(scaled(query, value), mask)
    return weights @ key, weights


def as_many_keys_as_queries(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    n = query.size(-2)
    weights = weights_of(scaled(query, key)[..., :n], mask.broadcast_to(*query.shape[:-1], key.size(-2))[..., :n])
    return weights @ value[..., :n, :], weights


def one_sentence_only(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    weights = weights_of(torch.mm(query, key.t()) / query.size(-1) ** 0.5, mask)
    return torch.mm(weights, value), weights


def first_mask_for_all(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    while mask.ndim > 2:
        mask = mask[0]
    return weights_of(scaled(query, key), mask)


def over_all_keys_of_the_batch(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    scores = scaled(query, key).masked_fill(~mask, float("-inf"))
    return scores.flatten().softmax(0).nan_to_num().reshape(scores.shape) * scores[..., 0].numel()


def overflows(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    powers = scaled(query, key).exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)


def clamped(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    return weights_of(scaled(query, key).clamp(-8, 8), mask)


WRONG_ATTENTIONS: dict[str, Attend] = {
    "the scores are not scaled": with_weights(lambda q, k, m: weights_of(q @ k.mT, m)),
    "the scores are divided by d_k, not by its root": with_weights(
        lambda q, k, m: weights_of(q @ k.mT / q.size(-1), m)
    ),
    "the scores are divided by the root of the number of keys": with_weights(
        lambda q, k, m: weights_of(q @ k.mT / k.size(-2) ** 0.5, m)
    ),
    "the weights of a key over all queries sum to 1": with_weights(
        lambda q, k, m: scaled(q, k).masked_fill(~m, float("-inf")).softmax(-2).nan_to_num()
    ),
    "the weights of all queries together sum to their number": with_weights(over_all_keys_of_the_batch),
    "the mask is read the other way round": with_weights(lambda q, k, m: weights_of(scaled(q, k), ~m)),
    "the mask is ignored": with_weights(lambda q, k, m: scaled(q, k).softmax(-1)),
    "weights are hidden after the softmax: a row no longer sums to 1": with_weights(
        lambda q, k, m: scaled(q, k).softmax(-1) * m
    ),
    "what is hidden keeps a little weight, for its scores are only lowered by 6": with_weights(
        lambda q, k, m: weights_of(scaled(q, k) - 6.0 * ~m, m.any(-1, keepdim=True))
    ),
    "a query that may attend to nothing gets NaN": with_weights(
        lambda q, k, m: scaled(q, k).masked_fill(~m, float("-inf")).softmax(-1)
    ),
    "a query that may attend to nothing attends to all alike": with_weights(
        lambda q, k, m: scaled(q, k).masked_fill(~m, -1e9).softmax(-1)
    ),
    "the mask of the first sentence and head is used for all": with_weights(first_mask_for_all),
    "large scores overflow": with_weights(overflows),
    "scores beyond 8 are cut off": with_weights(clamped),
    "the weights returned are not the ones that were used": unmasked_weights,
    "scores are returned in place of weights": returns_scores,
    "keys are averaged in place of values, where both are equally wide": averages_keys,
    "keys and values have changed places": looks_for_values,
    "it is right only where there are as many keys as queries": as_many_keys_as_queries,
    "it is right only without batch and heads": one_sentence_only,
    "each query attends to the single key that fits best": with_weights(
        lambda q, k, m: weights_of(1e4 * scaled(q, k), m)
    ),
}
