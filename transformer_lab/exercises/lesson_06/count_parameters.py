"""Lesson 06: predict `count_parameters`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict


def count_case(label: str, *sizes: int) -> Case:
    names = ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers")
    return Case(label, dict(zip(names, sizes, strict=True)))


@partial(
    Predict,
    lesson="06",
    minutes=20,
    difficulty=2,
    statement="""
    How many parameters does `Transformer(TransformerConfig(vocab_size, d_model, n_heads, d_ff, n_layers))` have?

    Work it out on paper: whoever builds the model and counts predicts nothing. Write it as a function of the sizes that
    returns an int.
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
        count_case("the translator of lesson 07", 406, 128, 4, 256, 2),
        count_case("the paper's base model, with a vocabulary of 37 000", 37000, 512, 8, 2048, 6),
    ),
    hints=(
        "Count part by part: table, attention, feed-forward network, norm. Then add up a layer of each stack.",
        "A linear layer from a to b features has a matrix of a · b numbers and a bias of b.",
        "An attention has four projections of d_model to d_model. What changes if they are split into heads?",
        "A layer of the encoder has one attention and two norms. What does a layer of the decoder have besides?",
    ),
)
def count_parameters(vocab_size, d_model, n_heads, d_ff, n_layers):
    """The parameters of a post-norm Transformer with tied weights.

    `n_heads` does not matter: the heads share out the features of one projection. Positions are computed, not learned.
    """
    embedding = vocab_size * d_model  # one table for both languages and the output
    attention = 4 * (d_model + 1) * d_model  # W_Q, W_K, W_V and W_O; the 1 is the bias
    feed_forward = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    norm = 2 * d_model  # weight and bias
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm  # to itself, and to the encoder's output
    return embedding + n_layers * (encoder_layer + decoder_layer)


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


@count_parameters.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    n_heads, vocabulary = number(generator, 2, 8), number(generator, 20, 30_000)
    layers = {"n_heads": n_heads, "d_ff": number(generator, 3, 2000), "n_layers": number(generator, 2, 12)}
    return {"vocab_size": vocabulary, "d_model": n_heads * number(generator, 2, 64)} | layers
