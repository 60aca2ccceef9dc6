"""Lesson 05: implement `masked_softmax`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, mask, pick, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention


def softmax_case(label: str, scores, mask, loose: bool = False) -> Case:
    scores, mask = (torch.as_tensor(x, device="cpu") for x in (scores, mask))
    return Case(label, {"scores": scores, "mask": mask}, loose)


def lower(length: int):
    return torch.ones(length, length, dtype=torch.bool, device="cpu").tril()


NOTHING_ALLOWED = [[True, False, True], [False, False, False]]


masked_softmax = Exercise(
    attention.masked_softmax,
    lesson="05",
    minutes=15,
    difficulty=3,
    statement="""
    Softmax over the last axis, the keys, among those where the mask is True; all other weights are 0.

    The mask is boolean and broadcasts to the scores. A query that may attend to nothing gets zeros, in float16 as well.
    """,
    returns=("weights",),
    cases=(
        softmax_case("the last of three keys is masked", [[0.0, 1.0, 2.0]], [[True, True, False]]),
        softmax_case("a causal mask", counting(3, 3) / 4, lower(3)),
        softmax_case("a query that may attend to nothing", [[0.0, 1.0, 2.0], [3.0, 1.0, 2.0]], NOTHING_ALLOWED),
        softmax_case("the masked score is the largest by far", [[0.0, 1.0, 1000.0]], [[True, True, False]]),
        softmax_case("large scores", [[1000.0, 1001.0, 1003.0]], [[True, False, True]], loose=True),
        softmax_case("very low scores", [[-200000.0, -199999.0, 0.0]], [[True, True, False]], loose=True),
        softmax_case("nothing masked", normal(2, 5), torch.ones(2, 5, dtype=torch.bool, device="cpu")),
        softmax_case("float16", counting(2, 3).half(), NOTHING_ALLOWED),
        softmax_case("a padding mask (B, 1, 1, S)", normal(2, 3, 5, 7), (normal(2, 7) > -0.5)[:, None, None, :]),
        softmax_case("a mask for each sentence (B, 1, T, S)", normal(3, 2, 7, 5), normal(3, 1, 7, 5) > 0.5),
        softmax_case("float64, not contiguous", normal(2, 7, 5, dtype=torch.float64).mT, normal(2, 5, 7) > 0),
    ),
    properties=(
        Property("a masked key has no weight", lambda given, weights: not (weights * ~given["mask"]).any()),
        Property(
            "each row sums to 1, or to 0 where everything is masked",
            lambda given, weights: torch.allclose(
                weights.sum(-1).double(),
                given["mask"].expand(weights.shape).any(-1).double(),
                atol=2e-3,
            ),
        ),
    ),
    hints=(
        "Which score has the exponential 0? Fill it in *before* the softmax.",
        "In a row without any allowed key, -inf gives 0 / 0. The lowest finite number of the scores' own type does "
        "not: `torch.finfo` knows it, also for float16.",
        "A row in which all scores are equally low becomes even. Which second step turns it into zeros?",
    ),
)


@masked_softmax.mistake(
    "The masked scores became 0 or a tiny number such as 1e-20. That is an ordinary score, since exp(0) = 1, and much "
    "of the weight leaks to masked keys. Masked scores must be far lower than all others."
)
def filled_with_a_tiny_number(scores, mask):
    return scores.masked_fill(~mask, 1e-20).softmax(-1)


@masked_softmax.mistake(
    "-1e9 is only a low number. float16 cannot hold it, and a row in which everything is masked becomes even: a query "
    "that may see nothing sees all."
)
def filled_with_minus_1e9(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)


@masked_softmax.mistake(
    "-10000 is only a low number: where all allowed scores are lower still, the masked key wins. Take the lowest "
    "number that the type has, or -inf."
)
def filled_with_minus_10000(scores, mask):
    return scores.masked_fill(~mask, -1e4).softmax(-1) * mask


@masked_softmax.mistake(
    "-10000 is added where the mask is False. That is only a low number: where the allowed scores are lower still, the "
    "masked key wins. And a mask of numbers may change the type of the scores."
)
def minus_10000_added(scores, mask):
    return (scores + (1.0 - mask.float()) * -1e4).softmax(-1) * mask


@masked_softmax.mistake("A row in which everything is masked is 0 / 0 after filling with -inf: NaN. It must be zeros.")
def filled_with_minus_infinity(scores, mask):
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)


@masked_softmax.mistake(
    "Nearly. A row in which everything is masked has equal scores, all as low as possible, so its weights are even. "
    "They must be zeros."
)
def even_where_nothing_is_allowed(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)


@masked_softmax.mistake("The polarity is inverted: you hide the keys that may be seen. True = may attend.")
def allowed_ones_hidden(scores, mask):
    weights = scores.masked_fill(mask, torch.finfo(scores.dtype).min).softmax(-1)
    return weights.masked_fill(mask, 0.0)


@masked_softmax.mistake(
    "The mask comes after the softmax: masked keys have already taken their share, so the rows no longer sum to 1."
)
def masked_after_softmax(scores, mask):
    return scores.softmax(-1) * mask


@masked_softmax.mistake(
    "The mask comes after the softmax, and the rows are made to sum to 1 again. A masked score that is large has by "
    "then pushed all others to 0: 0 / 0 is NaN. So is a row in which everything is masked."
)
def renormalised(scores, mask):
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


@masked_softmax.mistake("The softmax runs over the queries. The weights of one query, along the last axis, sum to 1.")
def over_the_queries(scores, mask):
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-2)
    return weights.masked_fill(~mask, 0.0)


@masked_softmax.mistake("`dim=1` is right for (T, S) only: among (B, h, T, S) it is the heads. Count from the end.")
def over_axis_one(scores, mask):
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(1)
    return weights.masked_fill(~mask, 0.0)


@masked_softmax.mistake(
    "The mask is added as numbers: True is 1 and False is 0, so that allowed keys gain a factor e and none is hidden."
)
def mask_added(scores, mask):
    return (scores + mask.to(scores.dtype)).softmax(-1)


@masked_softmax.mistake("The mask is never used.")
def mask_ignored(scores, mask):
    return scores.softmax(-1)


@masked_softmax.mistake("The scores are masked, but they are still scores: the softmax is missing.")
def still_scores(scores, mask):
    return scores.masked_fill(~mask, float("-inf"))


@masked_softmax.mistake(
    "exp(1000) overflows: inf / inf is NaN. `softmax` subtracts the largest score of the row first. And a row in "
    "which everything is masked is 0 / 0."
)
def exponential_overflows(scores, mask):
    powers = scores.exp() * mask
    return powers / powers.sum(-1, keepdim=True)


@masked_softmax.mistake(
    "As soon as one row has no allowed key, *all* rows become zeros. Each row is judged by itself: `any` or `all` over "
    "the whole mask asks too much."
)
def one_empty_row_empties_all(scores, mask):
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights if mask.any(-1).all() else torch.zeros_like(scores)


@masked_softmax.mistake(
    "exp(1000) overflows, and inf / inf is NaN. `softmax` subtracts the largest score of the row first, which changes "
    "no weight."
)
def overflow_where_something_is_allowed(scores, mask):
    powers = scores.exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-6)


@masked_softmax.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    *axes, queries, keys = shape = [*leading(generator), *sizes(generator, 2)]
    shapes = (shape, [queries, keys], [keys], [*(1 for _ in axes), 1, keys], [*axes, 1, keys])
    return {"scores": 3 * floats(generator)(*shape), "mask": mask(generator, *pick(generator, *shapes))}
