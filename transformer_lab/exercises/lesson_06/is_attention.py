"""Lesson 06: write the test `is_attention`."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from transformer_lab.exercises.engine.candidates import MOST, MOST_ROWS, need_few, need_tensor
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import WriteTheTest

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


def attend_takes(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple:
    for name, x, shape in (
        ("query", query, "(…, T, d_k)"),
        ("key", key, "(…, S, d_k)"),
        ("value", value, "(…, S, d_v)"),
    ):
        need_tensor(name, x, shape, lambda x: 2 <= x.ndim <= 4 and x.numel() > 0, floats=True)
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.ndim < 2:
        raise ValueError(f"mask must be a tensor (…, T, S) of bool (got {getattr(mask, 'dtype', type(mask).__name__)})")
    agree = key.shape[:-1] == value.shape[:-1] and query.shape[:-2] == key.shape[:-2]
    if not agree or query.size(-1) != key.size(-1) or mask.shape[-2:] != (query.size(-2), key.size(-2)):
        shapes = ", ".join(str(tuple(x.shape)) for x in (query, key, value, mask))
        raise ValueError(f"shapes must be (…, T, d_k), (…, S, d_k), (…, S, d_v) and (…, T, S) (got {shapes})")
    need_few(max(query.numel() * key.size(-2), value.numel(), key.size(-2) ** 2, query.size(-2) * MOST // MOST_ROWS))
    return query, key, value, mask


@partial(
    WriteTheTest,
    lesson="06",
    minutes=25,
    difficulty=3,
    statement="""
    Write a test: True if `attend(query, key, value, mask)` is scaled dot-product attention, and False if not.

    query (…, T, d_k), key (…, S, d_k), value (…, S, d_v) with up to two axes before them, in float32; mask (…, T, S),
    True = may attend, is always given. Right is what returns `(output, weights)`, with zeros for a query that may
    attend to nothing.

    Your test is tried on right implementations of several styles and on wrong ones, each wrong in its own way. Its
    score is the share of wrong ones that it catches, less the share of right ones that it refuses.
    """,
    returns=("is_right",),
    cases=tuple(Case(label, {"attend": one}) for label, one in (RIGHT_ATTENTIONS | WRONG_ATTENTIONS).items()),
    says_of_right=True,
    candidate="attention",
    takes=attend_takes,
    hints=(
        "Compute what is right in three lines of your own, and compare both things that come back.",
        "Which sizes do you try? If two of them are equal, a mix-up of the two stays unseen. But some mistakes "
        "show only where two sizes are equal. So try both.",
        "Which masks, and scores of which size? Think of a query that may attend to nothing, and of scores beyond 100.",
        "Right implementations round differently: compare with a tolerance. Wrong ones may raise an error: what does "
        "your test say then?",
    ),
)
def is_attention(attend):
    """Whether `attend` does what attention does: compare it with three lines that do, on inputs of several shapes.

    One that raises an error is wrong. Random masks hide about a third, and all of it from the first query.
    """
    generator = torch.Generator().manual_seed(0)
    for axes, n_queries, n_keys, d_k, d_v in (((), 3, 3, 4, 4), ((3,), 5, 4, 9, 2), ((2, 2), 4, 6, 5, 5)):
        for size in (1.0, 100.0):
            query = size * torch.randn(*axes, n_queries, d_k, generator=generator)
            key = torch.randn(*axes, n_keys, d_k, generator=generator)
            value = torch.randn(*axes, n_keys, d_v, generator=generator)
            mask = torch.rand(*axes, n_queries, n_keys, generator=generator) < 2 / 3
            mask[..., 0, :] = False
            scores = (query @ key.mT / d_k**0.5).masked_fill(~mask, float("-inf"))
            weights = scores.softmax(-1).masked_fill(~mask, 0.0)  # no NaN where all is hidden
            try:
                for given, right in zip(attend(query, key, value, mask), (weights @ value, weights), strict=True):
                    if given.shape != right.shape or not torch.allclose(given, right, rtol=1e-3, atol=1e-3):
                        return False
            except Exception:
                return False
    return True


def inputs(axes, n_queries, n_keys, d_k, d_v, size):
    """Arguments of an attention; the first query may attend to nothing."""
    generator = torch.Generator().manual_seed(n_queries + 10 * n_keys)
    query = size * torch.randn(*axes, n_queries, d_k, generator=generator)
    key, value = (torch.randn(*axes, n_keys, width, generator=generator) for width in (d_k, d_v))
    mask = torch.rand(*axes, n_queries, n_keys, generator=generator) < 2 / 3
    mask[..., 0, :] = False
    return query, key, value, mask


def right(query, key, value, mask):
    scores = (query @ key.mT / query.size(-1) ** 0.5).masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1).nan_to_num()
    return weights @ value, weights


def like_it(one, other):
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-3, atol=1e-3)


def returned(attend, given):
    """What it returns, or two tensors that are like no other."""
    try:
        return attend(*given)
    except Exception:
        return torch.empty(0), torch.empty(0)


SHAPES = (((), 3, 3, 4, 4), ((3,), 5, 4, 9, 2), ((2, 2), 4, 6, 5, 5))
SIZES = (1.0, 100.0)


def agrees(attend, shapes=SHAPES, sizes=SIZES, masked=lambda mask: mask, alike=like_it):
    """Whether it returns what is right, on inputs of these shapes and sizes, with their masks changed."""
    for size in sizes:
        for shape in shapes:
            query, key, value, mask = inputs(*shape, size)
            given = query, key, value, masked(mask)
            if not all(map(alike, returned(attend, given), right(*given))):
                return False
    return True


@is_attention.mistake("You compare nothing: every implementation is right for your test.")
def accepts_everything(attend):
    return True


@is_attention.mistake("Every implementation is wrong for your test.")
def refuses_everything(attend):
    return False


@is_attention.mistake(
    "You compare the shapes alone. Most mistakes leave the shapes as they are: compare the numbers, with some that you "
    "know to be right."
)
def shapes_only(attend):
    for shape in SHAPES:
        given = inputs(*shape, 1.0)
        if [x.shape for x in returned(attend, given)] != [x.shape for x in right(*given)]:
            return False
    return True


@is_attention.mistake(
    "You ask whether the weights sum to 1. Those of many wrong implementations do so, too: it is necessary, but not "
    "enough."
)
def sums_only(attend):
    for shape in SHAPES:
        query, key, value, mask = inputs(*shape, 1.0)
        _, weights = returned(attend, (query, key, value, mask))
        if weights.ndim == 0 or not like_it(weights.sum(-1), mask.any(-1).float()):
            return False
    return True


@is_attention.mistake(
    "You compare the output alone. The weights come back, too, and may differ from those that were used."
)
def output_only(attend):
    for size in SIZES:
        for shape in SHAPES:
            given = inputs(*shape, size)
            if not like_it(returned(attend, given)[0], right(*given)[0]):
                return False
    return True


@is_attention.mistake("You compare the weights alone. What is made of them may still be wrong.")
def weights_only(attend):
    for size in SIZES:
        for shape in SHAPES:
            given = inputs(*shape, size)
            if not like_it(returned(attend, given)[1], right(*given)[1]):
                return False
    return True


@is_attention.mistake(
    "You try one sentence without a batch, with as many keys as queries and d_k equal to d_v. What mixes up two equal "
    "sizes, or fails with more axes, stays unseen."
)
def one_square_only(attend):
    return agrees(attend, shapes=SHAPES[:1])


@is_attention.mistake("You try no batch: what is right for one sentence may fail, or differ, for several.")
def without_a_batch(attend):
    return agrees(attend, shapes=(((), 3, 3, 4, 4), ((), 5, 4, 9, 2), ((), 4, 6, 5, 5)))


@is_attention.mistake("Your mask hides nothing: whatever is done with a mask stays unseen.")
def all_visible(attend):
    return agrees(attend, masked=torch.ones_like)


@is_attention.mistake("Each of your queries may attend to something. What becomes of one that may attend to nothing?")
def no_blind_query(attend):
    return agrees(attend, masked=lambda mask: mask | (torch.arange(mask.size(-1)) == 1))


@is_attention.mistake("Your scores are small. exp(89) is infinite in float32: try large ones as well.")
def small_scores_only(attend):
    return agrees(attend, sizes=(1.0,))


@is_attention.mistake(
    "You ask for exact equality. Right implementations add in another order and round differently: compare with "
    "`torch.allclose`."
)
def exactly_equal(attend):
    return agrees(attend, alike=torch.equal)


@is_attention.mistake(
    "Your test stops where an implementation raises an error. One that raises is wrong: catch the error and return "
    "False."
)
def lets_errors_out(attend):
    for size in SIZES:
        for shape in SHAPES:
            given = inputs(*shape, size)
            if not all(map(like_it, attend(*given), right(*given))):
                return False
    return True


def weights_for(query: Tensor, key: Tensor, mask: Tensor, scale: float) -> Tensor:
    scores = query @ key.mT / query.size(-1) ** 0.5 * scale
    return scores.masked_fill(~mask, float("-inf")).softmax(-1).nan_to_num()


@is_attention.hidden_case
def hidden_right(generator: Generator) -> Arguments:
    order = torch.randperm(12, generator=generator)

    def drawn_right(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The keys in another order, which must not matter, and back."""
        keys = order[order < key.size(-2)]
        weights = weights_for(query, key[..., keys, :], mask[..., keys], 1.0)
        return weights @ value[..., keys, :], weights[..., keys.argsort()]

    return {"attend": drawn_right}


@is_attention.hidden_case
def hidden_scale(generator: Generator) -> Arguments:
    scale = number(generator, 11, 30) / (10 if number(generator, 0, 1) else 40)

    def drawn_scale(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        weights = weights_for(query, key, mask, scale)
        return weights @ value, weights

    return {"attend": drawn_scale}


@is_attention.hidden_case
def hidden_leak(generator: Generator) -> Arguments:
    unmasked = number(generator, 0, 2)

    def drawn_leak(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """One key is seen by all."""
        weights = weights_for(query, key, mask | (torch.arange(key.size(-2)) == unmasked), 1.0)
        return weights @ value, weights

    return {"attend": drawn_leak}


@is_attention.hidden_case
def hidden_feature(generator: Generator) -> Arguments:
    feature, share = number(generator, 0, 1), number(generator, 2, 8) / 10

    def drawn_feature(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """One feature of the values counts too little."""
        weights = weights_for(query, key, mask, 1.0)
        return weights @ (value * torch.where(torch.arange(value.size(-1)) == feature, share, 1.0)), weights

    return {"attend": drawn_feature}
