"""Exercises of lesson 06: the embedding, an encoder layer and a decoder layer."""

import torch
import torch.nn.functional as F

from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention, positions, transformer


def embed_case(label: str, tokens: list, table, max_len: int) -> Case:
    with torch.device("cpu"):
        encoding = positions.sinusoidal_encoding(max_len, table.size(1), dtype=table.dtype)
        return Case(label, {"tokens": torch.tensor(tokens), "table": table, "encoding": encoding})


embed = Exercise(
    transformer.embed,
    lesson="06",
    minutes=5,
    difficulty=1,
    statement="""
    Token ids to vectors: embedding · √d_model + position.

    tokens (B, T), ids; table (vocab, d_model), a row for each token; encoding (max_len, d_model) with max_len ≥ T, a
    row for each position, 0 first. Returns (B, T, d_model).
    """,
    returns=("vectors",),
    cases=(
        embed_case("two tokens, d_model 4", [[2, 0]], counting(3, 4), 2),
        embed_case("d_model 2", [[1, 1, 0]], counting(3, 2) - 1, 3),
        embed_case("the same token twice", [[5, 3, 5]], normal(7, 6), 3),
        embed_case("one token of one sentence", [[4]], normal(5, 6), 8),
        embed_case("room for longer sentences", [[4, 1, 0, 2, 2]], normal(5, 6), 9),
        embed_case("two sentences", [[6, 1, 3], [0, 2, 2]], normal(8, 10), 7),
        embed_case("as many sentences as tokens", [[6, 1], [0, 2]], normal(8, 10), 8),
        embed_case("float64", [[6, 1, 3], [0, 2, 2]], normal(9, 12, dtype=torch.float64), 30),
    ),
    hints=(
        "Two terms are added: one for what a token means, one for where it stands.",
        "Indexing the table with a tensor of ids, however many axes that has, fetches one row for each id.",
        "The factor applies to the embeddings alone. It depends on the width of a row, not on the number of rows.",
        "The encoding may be longer than the sentence: its first row belongs to the first token.",
    ),
)


def width(table):
    return table.size(1)


def places(tokens, encoding):
    return encoding[: tokens.size(1)]


@embed.mistake(
    "The embeddings are not multiplied by √d_model. They start with numbers of about 1/√d_model, and the much larger "
    "numbers of the encoding drown them out."
)
def not_scaled(tokens, table, encoding):
    return table[tokens] + places(tokens, encoding)


@embed.mistake("You multiply by d_model itself. The factor is its square root.")
def scaled_by_d_model(tokens, table, encoding):
    return table[tokens] * width(table) + places(tokens, encoding)


@embed.mistake("You divide by √d_model, as attention does with its scores. Embeddings are multiplied by it.")
def divided_by_the_root(tokens, table, encoding):
    return table[tokens] / width(table) ** 0.5 + places(tokens, encoding)


@embed.mistake(
    "The whole sum is multiplied by √d_model, including the encoding. The factor applies to the embeddings alone."
)
def sum_scaled(tokens, table, encoding):
    return (table[tokens] + places(tokens, encoding)) * width(table) ** 0.5


@embed.mistake("The encoding is multiplied by the factor. It applies to the embeddings instead.")
def positions_scaled(tokens, table, encoding):
    return table[tokens] + places(tokens, encoding) * width(table) ** 0.5


@embed.mistake("The factor is the root of the vocabulary's size. It should be the root of d_model, the width of a row.")
def scaled_by_the_vocabulary(tokens, table, encoding):
    return table[tokens] * len(table) ** 0.5 + places(tokens, encoding)


@embed.mistake(
    "The factor is the root of the sentence's length. It should be the root of d_model, which is the same for every "
    "sentence."
)
def scaled_by_the_length(tokens, table, encoding):
    return table[tokens] * tokens.size(1) ** 0.5 + places(tokens, encoding)


@embed.mistake("The encoding is missing: words in another order give the same vectors in another order.")
def no_positions(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5


@embed.mistake("The embeddings are missing: only the encoding is left.")
def positions_only(tokens, table, encoding):
    return places(tokens, encoding).expand(len(tokens), -1, -1)


@embed.mistake(
    "The whole encoding is used. That fails, or is wrong, for a sentence shorter than the encoding: take as many rows "
    "as there are tokens."
)
def whole_table_of_positions(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding


@embed.mistake(
    "The number of rows is that of the sentences, not of the tokens: `len(tokens)` is the size of the batch."
)
def rows_counted_by_sentences(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[: len(tokens)]


@embed.mistake(
    "Each *sentence* gets one position for all its tokens, because the encoding runs along the batch axis. It should "
    "run along the axis of tokens."
)
def a_place_for_each_sentence(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[: len(tokens), None]


@embed.mistake(
    "The encoding is indexed by the token's *id*. A position says where a token stands, not which token it is."
)
def position_of_the_id(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[tokens]


@embed.mistake("The positions are counted from 1, so row 0 is never used, and a row may be missing at the end.")
def counted_from_one(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[1 : tokens.size(1) + 1]


@embed.mistake("You take the *last* rows of the encoding. The first token has position 0.")
def last_rows(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[-tokens.size(1) :]


@embed.mistake("Every token gets the first row of the encoding, as if all stood at position 0.")
def all_at_the_start(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[0]


@embed.mistake("Embeddings and encoding are concatenated, which makes the vectors twice as wide. The paper adds them.")
def side_by_side(tokens, table, encoding):
    words = table[tokens] * width(table) ** 0.5
    return torch.cat([words, places(tokens, encoding).expand_as(words)], dim=-1)


@embed.mistake(
    "Embeddings and encoding are multiplied. Wherever the encoding is 0, as in half the features of position 0, the "
    "word is wiped out."
)
def multiplied(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 * places(tokens, encoding)


# What the layers are tried with. First functions whose numbers a reader can follow, then ones in which query, key and
# value play different parts, so that none can stand in for another.


def weighted(scores, value, mask):
    """Values averaged by the softmax of scores; without a mask, over all of them."""
    weights = scores.softmax(-1) if mask is None else attention.masked_softmax(scores, mask)
    return weights @ value


def average(query, key, value, mask=None):
    """The plain average of the values that a query may attend to."""
    return weighted(0 * (query @ key.mT), value, mask)


def first_look(query, key, value, mask=None):
    return weighted(torch.tanh(query) @ (key.roll(1, -1) + 0.5).mT, 2 * value.roll(2, -1) + 1, mask)


def second_look(query, key, value, mask=None):
    return 3 * torch.tanh(weighted(query.roll(1, -1) @ torch.tanh(key).mT, value - 2, mask))


def doubled(x):
    return 2 * x


def bent(x):
    return 3 * torch.relu(x.roll(1, -1)) - x.roll(2, -1) + 1


def plus_one(x):
    return x + 1


def halved(x):
    return x / 2


def standardised(x):
    return F.layer_norm(x, x.shape[-1:])


def learned_norm(number: int):
    """A layer norm whose weight and bias belong to it alone."""

    def norm(x):
        features = torch.arange(x.size(-1), dtype=x.dtype, device=x.device)
        return F.layer_norm(x, x.shape[-1:], 1 + features / (number + 1), number - features / 2)

    norm.__name__ = f"layer_norm_{number}"
    return norm


NORM_1, NORM_2, NORM_3 = map(learned_norm, (1, 2, 3))


def causal(length: int):
    return torch.ones(length, length, dtype=torch.bool, device="cpu").tril()


def words(*lengths: int):
    """(B, 1, S): True for the words of each sentence, False for the padding that fills it up to the longest."""
    return (torch.arange(max(lengths), device="cpu") < torch.tensor(lengths, device="cpu")[:, None])[:, None]


def encoder_case(label: str, x, mask, functions=(first_look, bent, NORM_1, NORM_2)) -> Case:
    self_attention, feed_forward, norm_1, norm_2 = functions
    given = {"x": x, "self_attention": self_attention, "feed_forward": feed_forward, "norm_1": norm_1, "norm_2": norm_2}
    return Case(label, given | {"mask": mask})


encoder_layer = Exercise(
    transformer.encoder_layer,
    lesson="06",
    minutes=10,
    difficulty=2,
    statement="""
    One layer of the encoder, post-norm: self-attention, then feed-forward, each as norm(x + sublayer(x)).

    x is (B, T, d_model). `self_attention(query, key, value, mask)` returns the output alone, no weights;
    `feed_forward`, `norm_1` (after attention) and `norm_2` (after feed-forward) take and return (B, T, d_model).
    """,
    returns=("output",),
    cases=(
        encoder_case(
            "two tokens, four simple functions", counting(1, 2, 3), words(2), (average, doubled, plus_one, halved)
        ),
        encoder_case("two norms that differ", counting(1, 2, 3), words(2), (average, doubled, NORM_1, NORM_2)),
        encoder_case("one token alone", normal(1, 1, 5), words(1)),
        encoder_case("two sentences, the second is shorter", normal(2, 3, 5), words(3, 2)),
        encoder_case("another mask", normal(2, 5, 6), causal(5)),
        encoder_case("other functions", normal(3, 2, 7), words(2, 1, 2), (second_look, doubled, NORM_2, standardised)),
        encoder_case("float64, not contiguous", normal(2, 7, 5, dtype=torch.float64).mT, words(5, 3)),
    ),
    hints=(
        "There are two sub-layers, attention and then feed-forward. Each has a residual connection and a norm of its "
        "own.",
        "Post-norm is the paper's order, from lesson 04: add the sub-layer's input to its result, then normalise.",
        "In *self*-attention, query, key and value are one and the same tensor; the mask comes fourth.",
        "The second sub-layer starts from what came out of the first, and so does its residual connection.",
    ),
)


@encoder_layer.mistake(
    "The inputs are missing: the result of each sub-layer is normalised alone. Add it to what went in first."
)
def no_residuals(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(feed_forward(norm_1(self_attention(x, x, x, mask))))


@encoder_layer.mistake("The attention has no residual connection: its result is normalised without x.")
def no_residual_around_attention(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "The feed-forward network has no residual connection: its result is normalised without its input."
)
def no_residual_around_feed_forward(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(feed_forward(norm_1(x + self_attention(x, x, x, mask))))


@encoder_layer.mistake(
    "The result of the feed-forward network is added to *itself*. There is a sum, but the input is not part of it."
)
def feed_forward_added_to_itself(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = feed_forward(norm_1(x + self_attention(x, x, x, mask)))
    return norm_2(x + x)


@encoder_layer.mistake("`norm_1` is used twice and `norm_2` never, so the weights of `norm_2` would get no gradient.")
def first_norm_twice(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, mask))
    return norm_1(x + feed_forward(x))


@encoder_layer.mistake("The two norms are swapped: `norm_1` belongs to the attention.")
def norms_exchanged(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_2(x + self_attention(x, x, x, mask))
    return norm_1(x + feed_forward(x))


@encoder_layer.mistake(
    "This is pre-norm: the norms come before the sub-layers. The paper's layer adds first and then normalises."
)
def pre_norm(x, self_attention, feed_forward, norm_1, norm_2, mask):
    y = norm_1(x)
    x = x + self_attention(y, y, y, mask)
    return x + feed_forward(norm_2(x))


@encoder_layer.mistake("The norms are inside the sums: x + norm(sublayer(x)). Post-norm normalises the *sum*.")
def norms_inside_the_sums(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + norm_1(self_attention(x, x, x, mask))
    return x + norm_2(feed_forward(x))


@encoder_layer.mistake("There are no norms at all, so the numbers grow from layer to layer.")
def no_norms(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + self_attention(x, x, x, mask)
    return x + feed_forward(x)


@encoder_layer.mistake(
    "The norms come before the sub-layers, and you add the *normalised* x: x = norm(x), then x + sublayer(x). The "
    "paper's layer adds first and then normalises."
)
def normalised_input_added(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x)
    x = norm_2(x + self_attention(x, x, x, mask))
    return x + feed_forward(x)


@encoder_layer.mistake(
    "`out, _ = self_attention(…)` unpacks a batch of two sentences into its sentences, and fails with any other "
    "batch. The attention given here returns its output alone, without weights."
)
def output_unpacked(x, self_attention, feed_forward, norm_1, norm_2, mask):
    attended, _ = self_attention(x, x, x, mask)
    x = norm_1(x + attended)
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake("The first norm is missing: the first sum is passed on as it is.")
def no_first_norm(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + self_attention(x, x, x, mask)
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake("The second norm is missing: the layer's last sum is returned as it is.")
def no_second_norm(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, mask))
    return x + feed_forward(x)


@encoder_layer.mistake(
    "The mask is not passed on to the attention, so nothing is hidden, and the words attend to padding."
)
def mask_forgotten(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x))
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "`self_attention` takes four arguments: query, key, value and mask. In self-attention the first three are the same."
)
def attention_of_x_and_mask(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, mask))
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "`[0]` takes the first *sentence* of the output. The attention given here returns its output alone, not a tuple. "
    "With a batch of one sentence the slip does not show."
)
def first_sentence_only(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, mask)[0])
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "The second residual connection starts at the *layer's* input. It should start at the input of its own sub-layer, "
    "which is the output of the first."
)
def second_residual_from_the_start(x, self_attention, feed_forward, norm_1, norm_2, mask):
    y = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(y))


@encoder_layer.mistake(
    "The feed-forward network reads the layer's input. It should read what comes out of the attention's block."
)
def feed_forward_of_the_input(x, self_attention, feed_forward, norm_1, norm_2, mask):
    y = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(y + feed_forward(x))


@encoder_layer.mistake("The order is reversed. Attention comes first, then feed-forward.")
def feed_forward_first(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + feed_forward(x))
    return norm_2(x + self_attention(x, x, x, mask))


@encoder_layer.mistake("There is one residual connection around both sub-layers together. Each should have its own.")
def one_residual_around_both(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(x + feed_forward(norm_1(self_attention(x, x, x, mask))))


@encoder_layer.mistake("The feed-forward network is missing: attention alone is half a layer.")
def no_feed_forward(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_1(x + self_attention(x, x, x, mask))


@encoder_layer.mistake("The attention is missing, so no token looks at another.")
def no_attention(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(x + feed_forward(x))


def decoder_case(label: str, x, memory, tgt_mask, memory_mask, functions) -> Case:
    names = ("self_attention", "cross_attention", "feed_forward", "norm_1", "norm_2", "norm_3")
    given = {"x": x, "memory": memory} | dict(zip(names, functions, strict=True))
    return Case(label, given | {"tgt_mask": tgt_mask, "memory_mask": memory_mask})


SIMPLE = (average, average, doubled, plus_one, halved, plus_one)
USUAL = (first_look, second_look, bent, NORM_1, NORM_2, NORM_3)
OTHER = (second_look, first_look, doubled, NORM_3, standardised, NORM_1)


decoder_layer = Exercise(
    transformer.decoder_layer,
    lesson="06",
    minutes=10,
    difficulty=2,
    statement="""
    One layer of the decoder, post-norm: self-attention, cross-attention, feed-forward.

    x is (B, T, d_model), memory (B, S, d_model), the encoder's output. Both attentions are called as
    `attention(query, key, value, mask)` and return the output alone, no weights. `norm_1`, `norm_2` and `norm_3` belong
    to the three sub-layers in this order.
    """,
    returns=("output",),
    cases=(
        decoder_case("six simple functions", counting(1, 2, 3), 10 * counting(1, 3, 3), causal(2), words(3), SIMPLE),
        decoder_case(
            "as many tokens as in the memory", normal(1, 4, 5), normal(1, 4, 5) + 1, causal(4), words(4), USUAL
        ),
        decoder_case("one token, one in the memory", normal(1, 1, 5), normal(1, 1, 5) - 1, causal(1), words(1), USUAL),
        decoder_case("T = 3, S = 5", normal(1, 3, 6), normal(1, 5, 6), causal(3), words(5), USUAL),
        decoder_case(
            "two sentences, padding in the memory", normal(2, 3, 5), normal(2, 4, 5), causal(3), words(4, 2), USUAL
        ),
        decoder_case(
            "padding on both sides, T = S",
            normal(2, 4, 7),
            normal(2, 4, 7) - 1,
            causal(4) & words(4, 3),
            words(2, 4),
            USUAL,
        ),
        decoder_case("other functions", normal(3, 7, 5), normal(3, 2, 5), causal(7), words(1, 2, 2), OTHER),
        decoder_case(
            "float64, not contiguous",
            normal(2, 7, 5, dtype=torch.float64).mT,
            normal(2, 7, 3, dtype=torch.float64).mT,
            causal(5),
            words(3, 2),
            USUAL,
        ),
    ),
    hints=(
        "There are three sub-layers: the target attends to itself, then the target attends to the memory, then "
        "feed-forward. Each has a residual connection and a norm of its own.",
        "In cross-attention the queries come from one sequence, and both keys and values from the other.",
        "Each attention has its own mask: one hides the target's future, the other the source's padding.",
        "Every sub-layer starts from what the one before has put out; so do the queries of the cross-attention.",
    ),
)


@decoder_layer.mistake("The order is reversed. The target attends to itself first, and then to the memory.")
def cross_attention_first(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + cross_attention(x, memory, memory, memory_mask))
    x = norm_2(x + self_attention(x, x, x, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The cross-attention is missing: the decoder never learns what the source says.")
def no_cross_attention(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The two masks are swapped. `tgt_mask` belongs to the self-attention and hides the future; `memory_mask` "
    "hides the padding of the source."
)
def masks_exchanged(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, memory_mask))
    x = norm_2(x + cross_attention(x, memory, memory, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "`tgt_mask` is used in both attentions. The source has no future to hide: its mask is `memory_mask`."
)
def target_mask_on_both(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The self-attention gets no mask, so every position sees the very token that it must predict.")
def future_not_masked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The cross-attention gets no mask, so the target attends to the padding of the source.")
def memory_not_masked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("Neither attention gets its mask, so the target sees its future and attends to padding.")
def neither_masked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x))
    x = norm_2(x + cross_attention(x, memory, memory))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The cross-attention's queries are the layer's *input*. They should be what comes out of the self-attention's "
    "block."
)
def queries_from_the_input(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    y = norm_1(x + self_attention(x, x, x, tgt_mask))
    y = norm_2(y + cross_attention(x, memory, memory, memory_mask))
    return norm_3(y + feed_forward(y))


@decoder_layer.mistake(
    "The roles are reversed: the queries come from the memory, and keys and values from the target. Queries come from "
    "the target, since each of its positions needs an output."
)
def memory_asks(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(memory, x, x, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "Only the keys come from the memory; the values are the target's own, so nothing of the source is fetched."
)
def values_from_the_target(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, x, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The cross-attention attends to the target again. Its keys and values must come from the memory."
)
def second_self_attention(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, x, x, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The self-attention is used a second time, on the memory. Self- and cross-attention have weights of their own."
)
def one_attention_for_both(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + self_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "`norm_1` is also used after the cross-attention, and `norm_2` never, so `norm_2` would get no gradient."
)
def first_norm_reused(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_1(x + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("`norm_2` and `norm_3` are swapped: `norm_2` belongs to the cross-attention.")
def last_norms_exchanged(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_3(x + cross_attention(x, memory, memory, memory_mask))
    return norm_2(x + feed_forward(x))


@decoder_layer.mistake("The memory is added to the cross-attention's result. Add the sub-layer's own input instead, x.")
def memory_added(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(memory + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The cross-attention has no residual connection: the target forgets what it has read of itself.")
def no_residual_around_cross_attention(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The inputs are missing in all three sub-layers. Add what comes out to what went in, then normalise."
)
def without_residuals(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(self_attention(x, x, x, tgt_mask))
    x = norm_2(cross_attention(x, memory, memory, memory_mask))
    return norm_3(feed_forward(x))


@decoder_layer.mistake("The result of the feed-forward network is added to *itself*; its input is not part of the sum.")
def result_added_to_itself(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    x = feed_forward(x)
    return norm_3(x + x)


@decoder_layer.mistake(
    "Every residual connection starts at the layer's input. Each should start at the input of its own sub-layer."
)
def all_residuals_from_the_start(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    y = norm_1(x + self_attention(x, x, x, tgt_mask))
    y = norm_2(x + cross_attention(y, memory, memory, memory_mask))
    return norm_3(x + feed_forward(y))


@decoder_layer.mistake(
    "This is pre-norm: the norms come before the sub-layers. The paper's layer adds first and then normalises."
)
def norms_first(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    y = norm_1(x)
    x = x + self_attention(y, y, y, tgt_mask)
    x = x + cross_attention(norm_2(x), memory, memory, memory_mask)
    return x + feed_forward(norm_3(x))


@decoder_layer.mistake(
    "The norms come before the sub-layers, and you add the *normalised* x: x = norm(x), then x + sublayer(x). The "
    "paper's layer adds first and then normalises."
)
def normalised_inputs_added(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x)
    x = norm_2(x + self_attention(x, x, x, tgt_mask))
    x = norm_3(x + cross_attention(x, memory, memory, memory_mask))
    return x + feed_forward(x)


@decoder_layer.mistake("The last norm is missing: the third sum is returned as it is.")
def no_last_norm(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    return x + feed_forward(x)


@decoder_layer.mistake(
    "`out, _ = attention(…)` unpacks a batch of two sentences into its sentences, and fails with any other batch. The "
    "attentions given here return their output alone, without weights."
)
def outputs_unpacked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    attended, _ = self_attention(x, x, x, tgt_mask)
    x = norm_1(x + attended)
    attended, _ = cross_attention(x, memory, memory, memory_mask)
    x = norm_2(x + attended)
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("There are no norms at all, so the numbers grow from layer to layer.")
def without_norms(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = x + self_attention(x, x, x, tgt_mask)
    x = x + cross_attention(x, memory, memory, memory_mask)
    return x + feed_forward(x)


@decoder_layer.mistake("The feed-forward network is missing: the layer ends after the cross-attention.")
def without_feed_forward(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    return norm_2(x + cross_attention(x, memory, memory, memory_mask))


@decoder_layer.mistake(
    "`[0]` takes the first *sentence* of the outputs. The attentions given here return their output alone, not a tuple."
)
def first_sentences_only(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask)[0])
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask)[0])
    return norm_3(x + feed_forward(x))
