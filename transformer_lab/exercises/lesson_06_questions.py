"""Exercises of lesson 06 that ask for no layer: a count of parameters, and a test that tells right attention."""

import torch

from transformer_lab.exercises import references
from transformer_lab.exercises.attention_candidates import RIGHT_ATTENTIONS, WRONG_ATTENTIONS
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict, WriteTheTest


def count_case(label: str, *sizes: int) -> Case:
    names = ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers")
    return Case(label, dict(zip(names, sizes, strict=True)))


count_parameters = Predict(
    references.count_parameters,
    lesson="06",
    minutes=20,
    difficulty=2,
    statement="""
    How many parameters does `Transformer(TransformerConfig(vocab_size, d_model, n_heads, d_ff, n_layers))` have?

    Work it out on paper before you look. Write it as a function of the sizes that builds no model and returns an int.
    The weights are tied: one table serves as both embeddings and as the output layer, which has no bias. All other
    linear layers have one, and each norm has a weight and a bias. The layers are post-norm: the norm at the end of a
    stack is that of its last layer.
    """,
    returns=("count",),
    cases=(
        count_case("one layer, one head", 10, 4, 1, 6, 1),
        count_case("two heads", 10, 4, 2, 6, 1),
        count_case("three layers", 10, 4, 2, 6, 3),
        count_case("d_ff below d_model", 50, 12, 3, 5, 2),
        count_case("the translator of lesson 08", 406, 128, 4, 256, 2),
        count_case("the paper's base model, with a vocabulary of 37 000", 37000, 512, 8, 2048, 6),
    ),
    hints=(
        "Count part by part: table, attention, feed-forward network, norm. Then add up a layer of each stack.",
        "A linear layer from a to b features has a matrix of a · b numbers and a bias of b.",
        "An attention has four projections of d_model to d_model. What changes if they are split into heads?",
        "A layer of the encoder has one attention and two norms. What does a layer of the decoder have besides?",
    ),
)


def parts(d_model, d_ff):
    """The parameters of an attention, a feed-forward network and a norm."""
    return 4 * (d_model + 1) * d_model, 2 * d_model * d_ff + d_ff + d_model, 2 * d_model


@count_parameters.mistake(
    "You count three tables: one for each language and one for the output. The weights are tied: it is one and the "
    "same table."
)
def three_tables(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return 3 * vocab_size * d_model + n_layers * (3 * attention + 2 * feed_forward + 5 * norm)


@count_parameters.mistake("You count two tables. The weights are tied: both embeddings and the output share one.")
def two_tables(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return 2 * vocab_size * d_model + n_layers * (3 * attention + 2 * feed_forward + 5 * norm)


@count_parameters.mistake("The embedding is missing: its table has a row of d_model numbers for each token.")
def without_embedding(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return n_layers * (3 * attention + 2 * feed_forward + 5 * norm)


@count_parameters.mistake(
    "The biases of the linear layers are missing: four in each attention, two in each feed-forward network."
)
def without_biases(vocab_size, d_model, n_heads, d_ff, n_layers):
    return vocab_size * d_model + n_layers * (12 * d_model**2 + 4 * d_model * d_ff + 10 * d_model)


@count_parameters.mistake("The biases of the attentions are missing: each of the four projections has one.")
def attention_without_biases(vocab_size, d_model, n_heads, d_ff, n_layers):
    _, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (12 * d_model**2 + 2 * feed_forward + 5 * norm)


@count_parameters.mistake("The output layer has no bias here: it is the table of the embedding and nothing else.")
def bias_of_the_output(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * (d_model + 1) + n_layers * (3 * attention + 2 * feed_forward + 5 * norm)


@count_parameters.mistake("The norms are missing: each has a weight and a bias for each feature.")
def without_norms(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, _ = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (3 * attention + 2 * feed_forward)


@count_parameters.mistake("A norm has two numbers for each feature, a weight and a bias; you count one.")
def norms_without_bias(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (3 * attention + 2 * feed_forward + 5 * norm // 2)


@count_parameters.mistake(
    "You add a norm behind each stack. That is how pre-norm models end; in a post-norm model the last layer ends in a "
    "norm already."
)
def norms_behind_the_stacks(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (3 * attention + 2 * feed_forward + 5 * norm) + 2 * norm


@count_parameters.mistake(
    "A layer of the decoder has more than one of the encoder: it also has a cross-attention, and a norm behind that."
)
def encoder_layers_only(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * d_model + 2 * n_layers * (attention + feed_forward + 2 * norm)


@count_parameters.mistake("The cross-attention is missing: you count its norm, and not its four projections.")
def without_cross_attention(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (2 * attention + 2 * feed_forward + 5 * norm)


@count_parameters.mistake("A layer of the decoder has three norms, one for each sub-layer. You count two.")
def two_norms_in_the_decoder(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (3 * attention + 2 * feed_forward + 4 * norm)


@count_parameters.mistake("You count one of the two stacks: `n_layers` layers in the encoder, as many in the decoder.")
def one_stack(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (attention + feed_forward + 2 * norm)


@count_parameters.mistake(
    "You divide the layers between the two stacks. Each of them has `n_layers` layers: the paper's 6 are 6 and 6."
)
def layers_shared_out(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (3 * attention + 2 * feed_forward + 5 * norm) // 2


@count_parameters.mistake(
    "More heads do not mean more parameters: each has d_model / n_heads features, so that all heads together are one "
    "projection of d_model to d_model."
)
def heads_multiply(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (3 * n_heads * attention + 2 * feed_forward + 5 * norm)


@count_parameters.mistake("W_O is missing: it mixes what the heads bring. An attention has four projections.")
def without_w_o(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (9 * attention // 4 + 2 * feed_forward + 5 * norm)


@count_parameters.mistake(
    "You count one matrix in the feed-forward network. It has two: from d_model to d_ff, and back."
)
def one_matrix_in_the_network(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, _, norm = parts(d_model, d_ff)
    return vocab_size * d_model + n_layers * (3 * attention + 2 * (d_model + 1) * d_ff + 5 * norm)


@count_parameters.mistake(
    "Positions are no parameters: the sinusoidal encoding is computed. You count a learned vector for each of the "
    "512 positions."
)
def positions_counted(vocab_size, d_model, n_heads, d_ff, n_layers):
    attention, feed_forward, norm = parts(d_model, d_ff)
    return (vocab_size + 512) * d_model + n_layers * (3 * attention + 2 * feed_forward + 5 * norm)


# ── write the test ──


is_attention = WriteTheTest(
    references.is_attention,
    lesson="06",
    minutes=25,
    difficulty=3,
    statement="""
    Write a test: True if `attend(query, key, value, mask)` is scaled dot-product attention, and False if not.

    query (…, T, d_k), key (…, S, d_k), value (…, S, d_v) with up to two axes before them, in float32; mask (…, T, S),
    True = may attend. Right is what returns `(output, weights)`, with zeros for a query that may attend to nothing.

    Your test is tried on right implementations of several styles and on wrong ones, each wrong in its own way. Its
    score is the share of wrong ones that it catches, less the share of right ones that it refuses.
    """,
    returns=("is_right",),
    cases=tuple(Case(label, {"attend": one}) for label, one in (RIGHT_ATTENTIONS | WRONG_ATTENTIONS).items()),
    says_of_right=True,
    candidate="attention",
    hints=(
        "Compute what is right in three lines of your own, and compare both things that come back.",
        "Which sizes do you try? If two of them are equal, a mix-up of the two stays unseen. But some mistakes "
        "show only where two sizes are equal. So try both.",
        "Which masks, and scores of which size? Think of a query that may attend to nothing, and of scores beyond 100.",
        "Right implementations round differently: compare with a tolerance. Wrong ones may raise an error: what does "
        "your test say then?",
    ),
)


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
    for size in (1.0, 100.0):
        for shape in SHAPES:
            given = inputs(*shape, size)
            if not like_it(returned(attend, given)[0], right(*given)[0]):
                return False
    return True


@is_attention.mistake("You compare the weights alone. What is made of them may still be wrong.")
def weights_only(attend):
    for size in (1.0, 100.0):
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
    for size in (1.0, 100.0):
        given = inputs((), 3, 3, 4, 4, size)
        if not all(map(like_it, returned(attend, given), right(*given))):
            return False
    return True


@is_attention.mistake("You try no batch: what is right for one sentence may fail, or differ, for several.")
def without_a_batch(attend):
    for size in (1.0, 100.0):
        for shape in (((), 3, 3, 4, 4), ((), 5, 4, 9, 2), ((), 4, 6, 5, 5)):
            given = inputs(*shape, size)
            if not all(map(like_it, returned(attend, given), right(*given))):
                return False
    return True


@is_attention.mistake("Your mask hides nothing: whatever is done with a mask stays unseen.")
def all_visible(attend):
    for size in (1.0, 100.0):
        for shape in SHAPES:
            query, key, value, mask = inputs(*shape, size)
            given = query, key, value, torch.ones_like(mask)
            if not all(map(like_it, returned(attend, given), right(*given))):
                return False
    return True


@is_attention.mistake("Each of your queries may attend to something. What becomes of one that may attend to nothing?")
def no_blind_query(attend):
    for size in (1.0, 100.0):
        for shape in SHAPES:
            query, key, value, mask = inputs(*shape, size)
            mask = mask | (torch.arange(key.size(-2)) == 1)
            given = query, key, value, mask
            if not all(map(like_it, returned(attend, given), right(*given))):
                return False
    return True


@is_attention.mistake("Your scores are small. exp(89) is infinite in float32: try large ones as well.")
def small_scores_only(attend):
    for shape in SHAPES:
        given = inputs(*shape, 1.0)
        if not all(map(like_it, returned(attend, given), right(*given))):
            return False
    return True


@is_attention.mistake(
    "You ask for exact equality. Right implementations add in another order and round differently: compare with "
    "`torch.allclose`."
)
def exactly_equal(attend):
    for size in (1.0, 100.0):
        for shape in SHAPES:
            given = inputs(*shape, size)
            if not all(map(torch.equal, returned(attend, given), right(*given))):
                return False
    return True


@is_attention.mistake(
    "Your test stops where an implementation raises an error. One that raises is wrong: catch the error and return "
    "False."
)
def lets_errors_out(attend):
    for size in (1.0, 100.0):
        for shape in SHAPES:
            given = inputs(*shape, size)
            if not all(map(like_it, attend(*given), right(*given))):
                return False
    return True
