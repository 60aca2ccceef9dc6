"""Exercises of lesson 05: causal and padding masks, both at once, a softmax that keeps to them, a test for leaks."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from transformer_lab.exercises import references
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.kinds import WriteTheTest
from transformer_lab.nn import attention, masks

causal_mask = Exercise(
    masks.causal_mask,
    lesson="05",
    minutes=5,
    difficulty=1,
    statement="""
    The causal mask of a sentence, bool of shape (length, length): True = this query may attend to this key.

    A token may attend to itself and to those before it.
    """,
    returns=("mask",),
    cases=tuple(Case(f"{n} token{'s' * (n > 1)}", {"length": n}) for n in (3, 1, 2, 4, 7)),
    properties=(
        Property("every token may attend to itself", lambda given, mask: bool(mask.diagonal().all())),
        Property("no token may attend to a later one", lambda given, mask: not mask.triu(1).any()),
        Property("the last token may attend to all", lambda given, mask: bool(mask[-1].all())),
    ),
    hints=(
        "Row t says what query t may see. Write the table for three tokens on paper: which half of it is True?",
        "The diagonal is included: a token may attend to itself.",
        "Make a square that is True everywhere, then keep one triangle. Or compare the position of each key with the "
        "position of each query.",
    ),
)


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


@causal_mask.mistake("This is a single row. Each query needs a row of its own, so the shape is (T, T).")
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


padding_mask = Exercise(
    masks.padding_mask,
    lesson="05",
    minutes=5,
    difficulty=1,
    statement="""
    The padding mask of a batch of sentences: (B, S) token ids in, bool (B, 1, 1, S) out, True = may attend.

    Every query may attend to every key that is not padding, wherever the padding stands.
    """,
    returns=("mask",),
    cases=TOKEN_CASES,
    properties=(Property("no query may attend to padding", hides_every_pad),),
    hints=(
        "Compare each token with pad_id. Which comparison is True for words?",
        "The result must broadcast to weights of (B, h, T, S). It depends on the sentence and the key, but not on the "
        "head and the query, so those two axes have size 1.",
        "Indexing with `None` inserts an axis of size 1; so does `unsqueeze`.",
    ),
)


@padding_mask.mistake(
    "The polarity is inverted: True stands at the padding. That is the `key_padding_mask` of "
    "`nn.MultiheadAttention`; here True = may attend."
)
def padding_is_true(tokens, pad_id):
    return (tokens == pad_id)[:, None, None, :]


@padding_mask.mistake(
    "This hides *queries*, whole rows: (B, 1, S, 1). What must be hidden are keys, so the sentence lies along the last "
    "axis. A padded query does no harm; attending to a padded key does."
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
    "The mask has the shape (B, S). Against weights of (B, h, T, S) its first axis is taken for the queries. Insert "
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


decoder_mask = Exercise(
    masks.decoder_mask,
    lesson="05",
    minutes=10,
    difficulty=2,
    statement="""
    What the self-attention of a decoder may see: neither the future nor padding.

    (B, T) token ids in, bool (B, 1, T, T) out, True = may attend.
    """,
    returns=("mask",),
    cases=TOKEN_CASES,
    properties=(
        Property("no query may attend to padding", hides_every_pad),
        Property("no query may attend to a later key", lambda given, mask: not mask.triu(1).any()),
    ),
    hints=(
        "You have both parts from the previous exercises: the triangle, and one row for each sentence.",
        "A key must satisfy both at once. Which operator combines two tables of True and False so, and which combines "
        "them if one of the two is enough?",
        "Write down the axes of both parts, aligned at the right. Which of them have size 1, or are missing?",
    ),
)


def triangle(tokens):
    return torch.ones(tokens.size(1), tokens.size(1), dtype=torch.bool, device=tokens.device).tril()


@decoder_mask.mistake(
    "The masks are combined by `|`, *or*: a future word may be seen because it is no padding. A key must pass both."
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


@decoder_mask.mistake("This is the upper triangle: every token sees itself and the future, but not its past.")
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

    The mask is boolean and broadcasts to the scores. A query that may attend to nothing gets zeros, in every type.
    """,
    returns=("weights",),
    cases=(
        softmax_case("the last of three keys is masked", [[0.0, 1.0, 2.0]], [[True, True, False]]),
        softmax_case("a causal mask", counting(3, 3) / 4, lower(3)),
        softmax_case("a query that may attend to nothing", [[0.0, 1.0, 2.0], [3.0, 1.0, 2.0]], NOTHING_ALLOWED),
        softmax_case("the masked score is the largest by far", [[0.0, 1.0, 1000.0]], [[True, True, False]]),
        softmax_case("large scores", [[1000.0, 1001.0, 1003.0]], [[True, False, True]], loose=True),
        softmax_case("very low scores", [[-20000.0, -19999.0, 0.0]], [[True, True, False]], loose=True),
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


# ── write the test ──


MIX = normal(16, 16).double() / 4  # the weights of the candidates that mix features


def exactly(layer: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The layer computed in float64: on every machine, a shorter sentence then gives the same float32 numbers.

    Scores of large inputs come close to 1e5, where float32 rounds by 1e-2: a right layer would seem to leak.
    """
    return lambda x: layer(x.double()).to(x.dtype)


def causal_weights(x: Tensor, reach: int = 0) -> Tensor:
    """The weights (B, T, T) of a head that may look `reach` positions ahead."""
    visible = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril(reach)
    return (x @ MIX @ x.mT / 4).masked_fill(~visible, float("-inf")).softmax(-1)


RIGHT_LAYERS = {
    "each position alone, through a feed-forward network": exactly(lambda x: (x @ MIX).relu() @ MIX.T),
    "attention behind a causal mask": exactly(lambda x: causal_weights(x) @ x),
    "the mean of all positions so far": exactly(lambda x: x.cumsum(1) / torch.arange(1, x.size(1) + 1)[:, None]),
    "a convolution that is padded on the left": lambda x: x + torch.cat([x.new_zeros(x.size(0), 2, 16), x], 1)[:, :-2],
    "every output 0": torch.zeros_like,
    "layer norm at each position": exactly(lambda x: torch.nn.functional.layer_norm(x, (16,))),
    "the largest of all numbers so far": lambda x: x.cummax(1).values,
}

LEAKING_LAYERS = {
    "every query attends to every key: no mask": exactly(lambda x: (x @ MIX @ x.mT / 4).softmax(-1) @ x),
    "a mask that lies one too far: each position sees the next": exactly(lambda x: causal_weights(x, reach=1) @ x),
    "only the first output depends on what follows": lambda x: (
        torch.cat([x[:, 1:2], x[:, 1:]], 1) if x.size(1) > 1 else x
    ),
    "only the last input is seen too early": lambda x: x + x[:, -1:],
    "a norm over the positions instead of the features": lambda x: (
        (x - x.mean(1, keepdim=True)) / (1 + x.std(1, keepdim=True, correction=0))
    ),
    "a convolution that is padded on both sides": lambda x: x + torch.cat([x[:, 1:], torch.zeros_like(x[:, :1])], 1),
    "the sentence is read backwards": lambda x: x.flip(1),
    "only the second sentence of a batch leaks": lambda x: torch.cat([x[:1], x[1:] + x[1:].mean(1, keepdim=True)]),
    "only one of the sixteen features leaks": lambda x: x + x.sum((1, 2), keepdim=True) * (torch.arange(16) == 11),
    "it leaks only in sentences of more than twenty tokens": lambda x: x.flip(1) if x.size(1) > 20 else x,
    "it depends on whether the last input is positive, so that its gradient is 0": lambda x: (
        x + (x[:, -1:] > 0).float()
    ),
    "the largest of all inputs is taken away, that of later ones too": lambda x: x - x.amax(1, keepdim=True),
    "a later input leaks only where it is larger than 20": lambda x: x + (x - 20).relu().sum(1, keepdim=True),
    "a leak of a hundredth": lambda x: x + 0.01 * x.mean(1, keepdim=True),
}


def layer_cases() -> Iterator[Case]:
    for label, layer in (RIGHT_LAYERS | LEAKING_LAYERS).items():
        yield Case(label, {"layer": layer})


leaks = WriteTheTest(
    references.leaks,
    lesson="05",
    minutes=15,
    difficulty=2,
    statement="""
    Write a test: True if any output of `layer` depends on a later input. `layer` is a function from (B, T, 16) to
    the same shape, for any B and T, and gives the same output for the same input.

    Your test is tried on layers that do not leak and on layers that do, each in its own way. Its score is the share of
    leaks that it catches, less the share of right layers that it refuses.
    """,
    returns=("leaks",),
    cases=tuple(layer_cases()),
    says_of_right=False,
    candidate="layer",
    hints=(
        "Change the input at one position, and compare the outputs at all positions *before* it.",
        "Which positions, lengths and sentences of a batch do you try? A leak may show at one of them only.",
        "How do you compare? An exact comparison may refuse a right layer that rounds; one that is too loose misses a "
        "small leak. And a change that is too small does not reach a leak that only large numbers open.",
        "A gradient of 0 does not show that an output is independent: think of `x > 0`.",
    ),
)


@leaks.mistake("You compare only the shapes, or nothing at all: no layer leaks for your test.")
def never_leaks(layer):
    return False


@leaks.mistake("Your test says of every layer that it leaks.")
def always_leaks(layer):
    return True


@leaks.mistake(
    "You compare *all* outputs. Those at the changed position and behind it may change: only those before it may not."
)
def compares_all(layer):
    x = torch.randn(4, 33, 16)
    changed = x.clone()
    changed[:, -1] = 100 * torch.randn(4, 16)
    return not torch.allclose(layer(changed), layer(x))


@leaks.mistake(
    "You look at gradients. Where an output takes a step, as in `x > 0`, the gradient is 0 although it depends on the "
    "input: change the input instead."
)
def by_gradients(layer):
    for length in (2, 5, 33):
        for size in (1.0, 100.0):
            x = (size * torch.randn(4, length, 16)).requires_grad_()
            output = layer(x)
            if not output.requires_grad:
                continue
            for t in range(length - 1):
                (gradient,) = torch.autograd.grad(output[:, t].sum(), x, retain_graph=True, allow_unused=True)
                if gradient is not None and gradient[:, t + 1 :].abs().max() > 1e-6:
                    return True
    return False


@leaks.mistake("You try one short length only: a leak in longer sentences stays unseen.")
def one_length(layer):
    for size in (1.0, 100.0):
        x = torch.randn(4, 5, 16)
        for t in range(1, 5):
            changed = x.clone()
            changed[:, t:] = size * torch.randn(4, 5 - t, 16)
            if not torch.allclose(layer(changed)[:, :t], layer(x)[:, :t], rtol=1e-5, atol=1e-6):
                return True
    return False


@leaks.mistake("You look at the first sentence of the batch only.")
def first_sentence_only(layer):
    for length in (2, 5, 33):
        for size in (1.0, 100.0):
            x = torch.randn(1, length, 16)
            for t in range(1, length):
                changed = x.clone()
                changed[:, t:] = size * torch.randn(1, length - t, 16)
                if not torch.allclose(layer(changed)[:, :t], layer(x)[:, :t], rtol=1e-5, atol=1e-6):
                    return True
    return False
