"""Exercises of lesson 05: causal and padding masks, both at once, and a softmax that keeps to them."""

import torch

from transformer_lab import attention, masks
from transformer_lab.exercises.exercise import Law, exercise
from transformer_lab.exercises.running import Case
from transformer_lab.exercises.samples import counting, normal


@exercise(
    lesson="05",
    returns=("mask",),
    package=masks.causal_mask,
    cases=tuple(Case(f"{n} token{'s' * (n > 1)}", {"length": n}) for n in (3, 1, 2, 4, 7)),
    laws=(
        Law("every token may attend to itself", lambda given, mask: bool(mask.diagonal().all())),
        Law("no token may attend to a later one", lambda given, mask: not mask.triu(1).any()),
        Law("the last token may attend to all", lambda given, mask: bool(mask[-1].all())),
    ),
    hints=(
        "Row t says what query t may see. Write the table for three tokens on paper: which half of it is True?",
        "The diagonal is in: a token may attend to itself.",
        "Make a square that is True everywhere, then keep one triangle. Or compare the number of each key with the "
        "number of each query.",
    ),
)
def causal_mask(length):
    """The causal mask of a sentence, bool of shape (length, length): True = this query may attend to this key.

    A token may attend to itself and to those before it.
    """
    return torch.ones(length, length, dtype=torch.bool).tril()


@causal_mask.mistake(
    "The polarity is inverted: True stands where attention is *forbidden*. That is the convention of "
    "`nn.MultiheadAttention`; here, as in `F.scaled_dot_product_attention`, True = may attend."
)
def future_is_true(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1)


@causal_mask.mistake(
    "The triangle is strict: no token may attend to itself, and the first may attend to nothing at all."
)
def strict_triangle(length):
    return torch.ones(length, length, dtype=torch.bool).tril(-1)


@causal_mask.mistake(
    "It is the upper triangle: each token sees itself and the *future*. Rows are queries, columns are keys."
)
def upper_triangle(length):
    return torch.ones(length, length, dtype=torch.bool).triu()


@causal_mask.mistake(
    "The triangle reaches one too far: each token sees the next one, which is the very word that it must predict."
)
def one_step_ahead(length):
    return torch.ones(length, length, dtype=torch.bool).tril(1)


@causal_mask.mistake(
    "The mask holds numbers, 1.0 and 0.0. Torch *adds* a mask of numbers to the scores, so that this one hides "
    "nothing. A mask of True and False has the dtype torch.bool."
)
def float_mask(length):
    return torch.ones(length, length).tril()


@causal_mask.mistake(
    "This mask is to be added to the scores: 0 and -inf. A boolean one is asked for, True = may attend."
)
def additive_mask(length):
    return torch.full((length, length), float("-inf")).triu(1)


@causal_mask.mistake("Every token may attend to every other: nothing is hidden.")
def everything_allowed(length):
    return torch.ones(length, length, dtype=torch.bool)


@causal_mask.mistake("Each token may attend to itself only. Those before it are allowed, too.")
def itself_only(length):
    return torch.eye(length, dtype=torch.bool)


@causal_mask.mistake("One row of True is no table: each query needs a row of its own, so the shape is (T, T).")
def one_row(length):
    return torch.ones(length, dtype=torch.bool)


def tokens_case(label: str, tokens: list, pad_id: int) -> Case:
    return Case(label, {"tokens": torch.tensor(tokens, device="cpu"), "pad_id": pad_id})


TOKEN_CASES = (
    tokens_case("three words and a pad", [[5, 6, 7, 0]], 0),
    tokens_case("no padding", [[5, 6, 7]], 0),
    tokens_case("padding on the left", [[0, 0, 5, 6]], 0),
    tokens_case("two sentences, the second is shorter", [[5, 6, 7], [8, 9, 0]], 0),
    tokens_case("another pad_id; 0 is a word", [[0, 5, 9, 3, 3]], 3),
    tokens_case("a sentence of nothing but padding", [[4, 1], [1, 1]], 1),
    tokens_case("a batch, pad_id between the words", [[2, 7, 4, 9, 1, 4, 4], [8, 4, 4, 4, 4, 4, 4], [9] * 7], 4),
)


def hides_every_pad(given: dict, mask: torch.Tensor) -> bool:
    """Whether no query of any sentence may attend to padding."""
    pads = (given["tokens"] == given["pad_id"])[:, None, None, :]
    return not (mask & pads).any()


@exercise(
    lesson="05",
    returns=("mask",),
    package=masks.padding_mask,
    cases=TOKEN_CASES,
    laws=(Law("no query may attend to padding", hides_every_pad),),
    hints=(
        "Compare each token with pad_id. Which comparison is True for words?",
        "The result must broadcast to weights of (B, h, T, S): it says something about sentence and key, and nothing "
        "about head and query. Those two axes have size 1.",
        "Indexing with `None` puts in an axis of size 1; so does `unsqueeze`.",
    ),
)
def padding_mask(tokens, pad_id):
    """The padding mask of a batch of sentences: (B, S) token ids in, bool (B, 1, 1, S) out, True = may attend.

    Every query may attend to every key that is not padding, wherever the padding stands.
    """
    return (tokens != pad_id)[:, None, None, :]


@padding_mask.mistake(
    "The polarity is inverted: True stands at the padding. That is the `key_padding_mask` of "
    "`nn.MultiheadAttention`; here True = may attend."
)
def padding_is_true(tokens, pad_id):
    return (tokens == pad_id)[:, None, None, :]


@padding_mask.mistake(
    "The padding hides *queries*, whole rows: (B, 1, S, 1). What must be hidden are keys, so the sentence lies along "
    "the last axis. A pad may ask; nobody may listen to it."
)
def rows_hidden(tokens, pad_id):
    return (tokens != pad_id)[:, None, :, None]


@padding_mask.mistake(
    "Rows are hidden as well as columns: (B, 1, S, S). A padded query then attends to nothing, which needs care in "
    "the softmax and gains nothing; and where T ≠ S, as in cross-attention, the shape does not fit."
)
def rows_and_columns_hidden(tokens, pad_id):
    words = tokens != pad_id
    return words[:, None, None, :] & words[:, None, :, None]


@padding_mask.mistake(
    "The mask has the shape (B, S). Against weights of (B, h, T, S) its first axis is taken for the queries. Put in "
    "axes of size 1 for heads and queries."
)
def two_axes(tokens, pad_id):
    return tokens != pad_id


@padding_mask.mistake(
    "One axis is missing: (B, 1, S). Against weights of (B, h, T, S) the sentences are taken for the heads."
)
def three_axes(tokens, pad_id):
    return (tokens != pad_id)[:, None, :]


@padding_mask.mistake("The mask holds numbers, 1.0 and 0.0. Make it torch.bool: a mask of numbers is added to scores.")
def float_padding(tokens, pad_id):
    return (tokens != pad_id).float()[:, None, None, :]


@padding_mask.mistake("You compare with 0. That is right as long as pad_id is 0, and hides a word when it is not.")
def pad_is_zero(tokens, pad_id):
    return (tokens != 0)[:, None, None, :]


@padding_mask.mistake(
    "You count the words and allow as many keys from the left. Padding may stand on the left, too, and then you hide "
    "words and show padding."
)
def padding_assumed_right(tokens, pad_id):
    lengths = (tokens != pad_id).sum(1, keepdim=True)
    return (torch.arange(tokens.size(1)) < lengths)[:, None, None, :]


@padding_mask.mistake("Only ids above pad_id are taken for words. Nothing says that the pad has the smallest id.")
def words_above_the_pad(tokens, pad_id):
    return (tokens > pad_id)[:, None, None, :]


@exercise(
    lesson="05",
    returns=("mask",),
    package=masks.decoder_mask,
    cases=TOKEN_CASES,
    laws=(
        Law("no query may attend to padding", hides_every_pad),
        Law("no query may attend to a later key", lambda given, mask: not mask.triu(1).any()),
    ),
    hints=(
        "You have both parts from the exercises before: the triangle, and the row of words for each sentence.",
        "A key may be seen if it is not in the future *and* not padding.",
        "(T, T) and (B, 1, 1, T) broadcast to (B, 1, T, T) by themselves.",
    ),
)
def decoder_mask(tokens, pad_id):
    """What the self-attention of a decoder may see: neither the future nor padding.

    (B, T) token ids in, bool (B, 1, T, T) out, True = may attend.
    """
    length = tokens.size(1)
    causal = torch.ones(length, length, dtype=torch.bool, device=tokens.device).tril()
    return causal & (tokens != pad_id)[:, None, None, :]


def triangle(tokens):
    return torch.ones(tokens.size(1), tokens.size(1), dtype=torch.bool, device=tokens.device).tril()


@decoder_mask.mistake(
    "The masks are joined by `|`, *or*: a future word may be seen because it is no padding. A key must pass both: `&`."
)
def either(tokens, pad_id):
    return triangle(tokens) | (tokens != pad_id)[:, None, None, :]


@decoder_mask.mistake("The polarity is inverted: True stands where attention is forbidden. Here True = may attend.")
def forbidden_is_true(tokens, pad_id):
    return ~(triangle(tokens) & (tokens != pad_id)[:, None, None, :])


@decoder_mask.mistake("Only the future is hidden. A decoder's batch has padding, too.")
def causal_only(tokens, pad_id):
    return triangle(tokens).expand(tokens.size(0), 1, -1, -1)


@decoder_mask.mistake("Only padding is hidden, and every word sees the future.")
def padding_only(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, :].expand(-1, 1, tokens.size(1), -1)


@decoder_mask.mistake("The triangle is strict: no token may attend to itself.")
def strictly_before(tokens, pad_id):
    return triangle(tokens).tril(-1) & (tokens != pad_id)[:, None, None, :]


@decoder_mask.mistake("The triangle is the upper one: every token sees itself and the future, and not its past.")
def future_only(tokens, pad_id):
    return triangle(tokens).T & (tokens != pad_id)[:, None, None, :]


@decoder_mask.mistake(
    "The padding hides rows, queries, where it should hide columns, keys: words still attend to the padding."
)
def padded_rows_hidden(tokens, pad_id):
    return triangle(tokens) & (tokens != pad_id)[:, None, :, None]


@decoder_mask.mistake(
    "The padding hides rows as well as columns. Hiding the keys is enough: what a padded query computes is thrown away."
)
def padded_rows_and_columns_hidden(tokens, pad_id):
    words = tokens != pad_id
    return triangle(tokens) & words[:, None, None, :] & words[:, None, :, None]


@decoder_mask.mistake(
    "The axis of heads is missing: (B, T, T). Against weights of (B, h, T, T) the sentences are taken for the heads."
)
def no_axis_of_heads(tokens, pad_id):
    return triangle(tokens) & (tokens != pad_id)[:, None, :]


@decoder_mask.mistake("The product of two masks of numbers is a mask of numbers. Make it torch.bool.")
def product_of_floats(tokens, pad_id):
    return triangle(tokens).float() * (tokens != pad_id).float()[:, None, None, :]


def softmax_case(label: str, scores, mask, coarse: bool = False) -> Case:
    scores, mask = (torch.as_tensor(x, device="cpu") for x in (scores, mask))
    return Case(label, {"scores": scores, "mask": mask}, coarse)


def lower(length: int):
    return torch.ones(length, length, dtype=torch.bool, device="cpu").tril()


NOTHING_ALLOWED = [[True, False, True], [False, False, False]]


@exercise(
    lesson="05",
    returns=("weights",),
    package=attention.masked_softmax,
    cases=(
        softmax_case("the last of three keys is masked", [[0.0, 1.0, 2.0]], [[True, True, False]]),
        softmax_case("a causal mask", counting(3, 3) / 4, lower(3)),
        softmax_case("a query that may attend to nothing", [[0.0, 1.0, 2.0], [3.0, 1.0, 2.0]], NOTHING_ALLOWED),
        softmax_case("the masked score is the largest by far", [[0.0, 1.0, 1000.0]], [[True, True, False]]),
        softmax_case("large scores", [[1000.0, 1001.0, 1003.0]], [[True, False, True]], coarse=True),
        softmax_case("nothing masked", normal(2, 5), torch.ones(2, 5, dtype=torch.bool, device="cpu")),
        softmax_case("float16", counting(2, 3).half(), NOTHING_ALLOWED),
        softmax_case("a padding mask (B, 1, 1, S)", normal(2, 3, 5, 7), (normal(2, 7) > -0.5)[:, None, None, :]),
        softmax_case("a mask for each sentence (B, 1, T, S)", normal(3, 2, 7, 5), normal(3, 1, 7, 5) > 0.5),
        softmax_case("float64, not contiguous", normal(2, 7, 5, dtype=torch.float64).mT, normal(2, 5, 7) > 0),
    ),
    laws=(
        Law("a masked key has no weight", lambda given, weights: not (weights * ~given["mask"]).any()),
        Law(
            "each row sums to 1, or to 0 where everything is masked",
            lambda given, weights: torch.allclose(
                weights.sum(-1).double(),
                given["mask"].expand(weights.shape).any(-1).double(),
                atol=2e-3,
            ),
        ),
    ),
    hints=(
        "What must a score be, so that its exponential is 0? Put that in *before* the softmax.",
        "-inf leaves a row without any allowed key with 0 / 0. The lowest finite number of the scores' own type does "
        "not: `torch.finfo` knows it, for float16, too.",
        "A row in which all scores are equally low comes out even. Which second step makes it zeros?",
    ),
)
def masked_softmax(scores, mask):
    """Softmax over the last axis, the keys, among those where the mask is True; all other weights are 0.

    The mask is boolean and broadcasts to the scores. A query that may attend to nothing gets zeros, in every type.
    """
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


@masked_softmax.mistake(
    "The masked scores became 0 or a tiny number such as 1e-20. That is a middling score, and exp(0) = 1: much of the "
    "weight leaks to masked keys. Masked scores must be lower than all others."
)
def filled_with_a_tiny_number(scores, mask):
    return scores.masked_fill(~mask, 1e-20).softmax(-1)


@masked_softmax.mistake(
    "-1e9 is only a low number. float16 cannot hold it, and a row in which everything is masked comes out even: a "
    "query that may see nothing sees all."
)
def filled_with_minus_1e9(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)


@masked_softmax.mistake("A row in which everything is masked is 0 / 0 after filling with -inf: NaN. It must be zeros.")
def filled_with_minus_infinity(scores, mask):
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)


@masked_softmax.mistake(
    "Nearly. A row in which everything is masked has equal scores, all as low as can be, and so comes out even. It "
    "must be zeros."
)
def even_where_nothing_is_allowed(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)


@masked_softmax.mistake("The polarity is inverted: you hide the keys that may be seen. True = may attend.")
def allowed_ones_hidden(scores, mask):
    weights = scores.masked_fill(mask, torch.finfo(scores.dtype).min).softmax(-1)
    return weights.masked_fill(mask, 0.0)


@masked_softmax.mistake(
    "The mask comes after the softmax: masked keys have already taken their share, and the rows no longer sum to 1."
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
    "exp(1000) overflows: inf / inf is NaN. `softmax` takes the largest score of the row away first. And a row in "
    "which everything is masked is 0 / 0."
)
def exponential_overflows(scores, mask):
    powers = scores.exp() * mask
    return powers / powers.sum(-1, keepdim=True)
