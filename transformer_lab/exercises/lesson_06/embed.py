"""Lesson 06: implement `embed`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import positions, transformer


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
    "The embeddings are not multiplied by √d_model. They start with numbers of about 1/√d_model, far smaller than "
    "those of the encoding, and the factor brings the two to a similar size."
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


@embed.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, length, vocabulary, d_model) = floats(generator), sizes(generator, 4, most=9)
    ids = torch.randint(vocabulary, (batch, length), generator=generator, device="cpu")
    encoding = normal(length + number(generator, 0, 9), d_model)
    return {"tokens": ids, "table": normal(vocabulary, d_model), "encoding": encoding}
