"""Exercises of lesson 06: the embedding, an encoder layer and a decoder layer."""

import torch
import torch.nn.functional as F

from transformer_lab import attention, positions
from transformer_lab.exercises.exercise import exercise
from transformer_lab.exercises.running import Case
from transformer_lab.exercises.samples import counting, normal


def embed_case(label: str, tokens: list, table, max_len: int) -> Case:
    tokens = torch.tensor(tokens, device="cpu")
    with torch.device("cpu"):
        encoding = positions.sinusoidal_encoding(max_len, table.size(1), dtype=table.dtype)
    return Case(label, {"tokens": tokens, "table": table, "encoding": encoding})


@exercise(
    lesson="06",
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
        "Two terms are added: what a token means, and where it stands.",
        "Indexing a table with a tensor of ids, however many axes it has, fetches a row for each of them.",
        "The factor belongs to the words alone. It depends on the width of a row, not on how many rows there are.",
        "The encoding may be longer than the sentence: its first row belongs to the first token.",
    ),
)
def embed(tokens, table, encoding):
    """Token ids to vectors: embedding · √d_model + position.

    tokens (B, T), ids; table (vocab, d_model), a row for each token; encoding (max_len, d_model) with max_len ≥ T, a
    row for each position, 0 first. Returns (B, T, d_model).
    """
    return table[tokens] * table.size(1) ** 0.5 + encoding[: tokens.size(1)]


def width(table):
    return table.size(1)


def places(tokens, encoding):
    return encoding[: tokens.size(1)]


@embed.mistake(
    "The embeddings are not multiplied by √d_model. They start with numbers of about 1/√d_model, and beside the "
    "encoding's they are hard to hear."
)
def not_scaled(tokens, table, encoding):
    return table[tokens] + places(tokens, encoding)


@embed.mistake("You multiply by d_model itself. The factor is its square root.")
def scaled_by_d_model(tokens, table, encoding):
    return table[tokens] * width(table) + places(tokens, encoding)


@embed.mistake("You divide by √d_model, as attention does with its scores. Embeddings are multiplied by it.")
def divided_by_the_root(tokens, table, encoding):
    return table[tokens] / width(table) ** 0.5 + places(tokens, encoding)


@embed.mistake("The sum is multiplied by √d_model, positions too. The factor belongs to the words alone.")
def sum_scaled(tokens, table, encoding):
    return (table[tokens] + places(tokens, encoding)) * width(table) ** 0.5


@embed.mistake("The factor stands at the positions. It belongs to the words.")
def positions_scaled(tokens, table, encoding):
    return table[tokens] + places(tokens, encoding) * width(table) ** 0.5


@embed.mistake("The factor is the root of the number of tokens in the vocabulary. It is that of d_model, the width.")
def scaled_by_the_vocabulary(tokens, table, encoding):
    return table[tokens] * len(table) ** 0.5 + places(tokens, encoding)


@embed.mistake("The factor is the root of the sentence's length. It is that of d_model, whatever the sentence.")
def scaled_by_the_length(tokens, table, encoding):
    return table[tokens] * tokens.size(1) ** 0.5 + places(tokens, encoding)


@embed.mistake("The positions are missing: words in another order give the same vectors in another order.")
def no_positions(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5


@embed.mistake("The words are missing: only their positions are left.")
def positions_only(tokens, table, encoding):
    return places(tokens, encoding).expand(len(tokens), -1, -1)


@embed.mistake(
    "The encoding is used whole. That fails, or is wrong, for a sentence shorter than the table: take as many rows as "
    "there are tokens."
)
def whole_table_of_positions(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding


@embed.mistake("The rows are counted by sentences, not by tokens: `len(tokens)` is the size of the batch.")
def rows_counted_by_sentences(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[: len(tokens)]


@embed.mistake(
    "Each *sentence* gets a position, the same for all its tokens: the encoding was laid along the batch. "
    "It belongs to the axis of tokens."
)
def a_place_for_each_sentence(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[: len(tokens), None]


@embed.mistake(
    "The encoding is looked up by the token's *id*. A position is where a token stands, not which token it is."
)
def position_of_the_id(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[tokens]


@embed.mistake("The positions are counted from 1: row 0 is never used, and the last may be missing.")
def counted_from_one(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[1 : tokens.size(1) + 1]


@embed.mistake("These are the *last* rows of the encoding. The first token has position 0.")
def last_rows(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[-tokens.size(1) :]


@embed.mistake("Every token gets the first row of the encoding: all stand at position 0.")
def all_at_the_start(tokens, table, encoding):
    return table[tokens] * width(table) ** 0.5 + encoding[0]


@embed.mistake("Words and positions stand side by side, twice as wide. The paper adds them.")
def side_by_side(tokens, table, encoding):
    words = table[tokens] * width(table) ** 0.5
    return torch.cat([words, places(tokens, encoding).expand_as(words)], dim=-1)


@embed.mistake("Words and positions are multiplied. Where the encoding is 0, as in position 0, the word is wiped out.")
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


@exercise(
    lesson="06",
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
        "Two sub-layers, one after the other: attention, then feed-forward. Each has a way around it and its own norm.",
        "Post-norm is the order of lesson 04: go around the sub-layer, add, normalise.",
        "In *self*-attention one and the same tensor asks, is asked and answers; then comes the mask.",
        "The second sub-layer starts from what came out of the first, and so does the way around it.",
    ),
)
def encoder_layer(x, self_attention, feed_forward, norm_1, norm_2, mask):
    """One layer of the encoder, post-norm: self-attention, then feed-forward, each as norm(x + sublayer(x)).

    x is (B, T, d_model). `self_attention(query, key, value, mask)` returns the output alone, no weights;
    `feed_forward`, `norm_1` (after attention) and `norm_2` (after feed-forward) take and return (B, T, d_model).
    """
    x = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "The inputs are skipped: what comes out of each sub-layer is normalised alone. Add it to what went in."
)
def no_residuals(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(feed_forward(norm_1(self_attention(x, x, x, mask))))


@encoder_layer.mistake("Nothing goes around the attention: its result is normalised without x.")
def no_residual_around_attention(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake("Nothing goes around the feed-forward network: its result is normalised without its input.")
def no_residual_around_feed_forward(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(feed_forward(norm_1(x + self_attention(x, x, x, mask))))


@encoder_layer.mistake(
    "The result of the feed-forward network is added to *itself*. A sum is there, but the input is not in it."
)
def feed_forward_added_to_itself(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = feed_forward(norm_1(x + self_attention(x, x, x, mask)))
    return norm_2(x + x)


@encoder_layer.mistake("`norm_1` is used twice, and `norm_2` never: its weights would get no gradient.")
def first_norm_twice(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, mask))
    return norm_1(x + feed_forward(x))


@encoder_layer.mistake("The two norms have changed places: `norm_1` belongs to the attention.")
def norms_exchanged(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_2(x + self_attention(x, x, x, mask))
    return norm_1(x + feed_forward(x))


@encoder_layer.mistake(
    "This is pre-norm: the norms stand before the sub-layers. The paper's layer adds first and then normalises."
)
def pre_norm(x, self_attention, feed_forward, norm_1, norm_2, mask):
    y = norm_1(x)
    x = x + self_attention(y, y, y, mask)
    return x + feed_forward(norm_2(x))


@encoder_layer.mistake("The norms stand inside the sums: x + norm(sublayer(x)). Post-norm normalises the *sum*.")
def norms_inside_the_sums(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + norm_1(self_attention(x, x, x, mask))
    return x + norm_2(feed_forward(x))


@encoder_layer.mistake("There are no norms at all: the numbers grow from layer to layer.")
def no_norms(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + self_attention(x, x, x, mask)
    return x + feed_forward(x)


@encoder_layer.mistake("One norm is missing: the first sum goes on as it is.")
def no_first_norm(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + self_attention(x, x, x, mask)
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake("The second norm is missing: the layer's last sum is not normalised.")
def no_second_norm(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, mask))
    return x + feed_forward(x)


@encoder_layer.mistake("The mask is not handed on, so that nothing is hidden: padding would be listened to.")
def mask_forgotten(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x))
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "`self_attention` takes four things: query, key, value and mask. In self-attention the first three are the same."
)
def attention_of_x_and_mask(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, mask))
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "`[0]` takes the first *sentence* of the output. The attention given here returns its output alone, no tuple; "
    "with a batch of one the slip does not show."
)
def first_sentence_only(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, mask)[0])
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "The second way around starts at the *layer's* input. It starts at the input of its own sub-layer, which is what "
    "the first has put out."
)
def second_residual_from_the_start(x, self_attention, feed_forward, norm_1, norm_2, mask):
    y = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(y))


@encoder_layer.mistake("The feed-forward network reads the layer's input. It comes after the attention.")
def feed_forward_of_the_input(x, self_attention, feed_forward, norm_1, norm_2, mask):
    y = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(y + feed_forward(x))


@encoder_layer.mistake("The order is turned round. It must be attention first, then feed-forward.")
def feed_forward_first(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + feed_forward(x))
    return norm_2(x + self_attention(x, x, x, mask))


@encoder_layer.mistake("There is one way around both sub-layers together. Each has its own.")
def one_residual_around_both(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(x + feed_forward(norm_1(self_attention(x, x, x, mask))))


@encoder_layer.mistake("The feed-forward network is missing: attention alone makes half a layer.")
def no_feed_forward(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_1(x + self_attention(x, x, x, mask))


@encoder_layer.mistake("The attention is missing: no token looks at another.")
def no_attention(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(x + feed_forward(x))


def decoder_case(label: str, x, memory, tgt_mask, memory_mask, functions) -> Case:
    names = ("self_attention", "cross_attention", "feed_forward", "norm_1", "norm_2", "norm_3")
    given = {"x": x, "memory": memory} | dict(zip(names, functions, strict=True))
    return Case(label, given | {"tgt_mask": tgt_mask, "memory_mask": memory_mask})


SIMPLE = (average, average, doubled, plus_one, halved, plus_one)
USUAL = (first_look, second_look, bent, NORM_1, NORM_2, NORM_3)
OTHER = (second_look, first_look, doubled, NORM_3, standardised, NORM_1)


@exercise(
    lesson="06",
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
        "Three sub-layers: the target among itself, the target asks the memory, feed-forward. Each has a way around it "
        "and a norm of its own.",
        "In cross-attention the queries come from one sequence, keys and values both from the other.",
        "Each attention has its own mask: one keeps the target from its future, the other hides the source's padding.",
        "Every sub-layer starts from what the one before has put out, queries of the cross-attention included.",
    ),
)
def decoder_layer(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    """One layer of the decoder, post-norm: self-attention, cross-attention, feed-forward.

    x is (B, T, d_model), memory (B, S, d_model), the encoder's output. Both attentions are called as
    `attention(query, key, value, mask)` and return the output alone, no weights. `norm_1`, `norm_2` and `norm_3` belong
    to the three sub-layers in this order.
    """
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The order is turned round. The target must look at itself first, and ask the memory then.")
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
    "The two masks have changed places. `tgt_mask` belongs to the self-attention and hides the future; `memory_mask` "
    "hides the padding of the source."
)
def masks_exchanged(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, memory_mask))
    x = norm_2(x + cross_attention(x, memory, memory, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "`tgt_mask` is used in both attentions. Nothing in the source is future: its mask is `memory_mask`."
)
def target_mask_on_both(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The self-attention gets no mask: every position sees the very token that it must predict.")
def future_not_masked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The cross-attention gets no mask: the padding of the source is listened to.")
def memory_not_masked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("Neither attention gets its mask: the future is seen, and padding is listened to.")
def neither_masked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x))
    x = norm_2(x + cross_attention(x, memory, memory))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The cross-attention's queries are the layer's *input*. What the self-attention found out never asks."
)
def queries_from_the_input(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    y = norm_1(x + self_attention(x, x, x, tgt_mask))
    y = norm_2(y + cross_attention(x, memory, memory, memory_mask))
    return norm_3(y + feed_forward(y))


@decoder_layer.mistake(
    "The roles are turned round: the memory asks and the target answers. Queries come from the target: one output for "
    "each of its positions."
)
def memory_asks(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(memory, x, x, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "Only the keys come from the memory; the values are the target's own. Nothing of the source is fetched."
)
def values_from_the_target(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, x, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The cross-attention looks at the target again: keys and values must come from the memory.")
def second_self_attention(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, x, x, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The self-attention is used a second time, on the memory. The two have weights of their own.")
def one_attention_for_both(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + self_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("`norm_1` is used after the cross-attention, too, and `norm_2` never: it would get no gradient.")
def first_norm_reused(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_1(x + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("`norm_2` and `norm_3` have changed places.")
def last_norms_exchanged(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_3(x + cross_attention(x, memory, memory, memory_mask))
    return norm_2(x + feed_forward(x))


@decoder_layer.mistake("The memory goes around the cross-attention. What is added is the *query's* side, x.")
def memory_added(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(memory + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("Nothing goes around the cross-attention: the target forgets what it has read of itself.")
def no_residual_around_cross_attention(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The inputs are skipped in all three sub-layers. Add what comes out to what went in.")
def without_residuals(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(self_attention(x, x, x, tgt_mask))
    x = norm_2(cross_attention(x, memory, memory, memory_mask))
    return norm_3(feed_forward(x))


@decoder_layer.mistake("The result of the feed-forward network is added to *itself*; its input is not in the sum.")
def result_added_to_itself(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    x = feed_forward(x)
    return norm_3(x + x)


@decoder_layer.mistake("Every way around starts at the layer's input. Each starts at the input of its own sub-layer.")
def all_residuals_from_the_start(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    y = norm_1(x + self_attention(x, x, x, tgt_mask))
    y = norm_2(x + cross_attention(y, memory, memory, memory_mask))
    return norm_3(x + feed_forward(y))


@decoder_layer.mistake(
    "This is pre-norm: the norms stand before the sub-layers. The paper's layer adds first and then normalises."
)
def norms_first(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    y = norm_1(x)
    x = x + self_attention(y, y, y, tgt_mask)
    x = x + cross_attention(norm_2(x), memory, memory, memory_mask)
    return x + feed_forward(norm_3(x))


@decoder_layer.mistake("There are no norms at all: the numbers grow from layer to layer.")
def without_norms(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = x + self_attention(x, x, x, tgt_mask)
    x = x + cross_attention(x, memory, memory, memory_mask)
    return x + feed_forward(x)


@decoder_layer.mistake("The feed-forward network is missing.")
def without_feed_forward(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    return norm_2(x + cross_attention(x, memory, memory, memory_mask))


@decoder_layer.mistake(
    "`[0]` takes the first *sentence* of the outputs. The attentions given here return their output alone, no tuple."
)
def first_sentences_only(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask)[0])
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask)[0])
    return norm_3(x + feed_forward(x))
