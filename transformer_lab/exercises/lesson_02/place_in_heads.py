"""Lesson 02: predict `place_in_heads`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict


def place_case(label: str, *numbers: int) -> Case:
    return Case(label, dict(zip(("token", "feature", "length", "d_model", "n_heads"), numbers, strict=True)))


@partial(
    Predict,
    lesson="02",
    minutes=5,
    difficulty=1,
    statement="""
    A sentence `x` has the shape (1, length, d_model). `split_heads(x, n_heads)` makes (1, n_heads, length, d_head) of
    it. Where does the number x[0, token, feature] stand afterwards?

    Return its `(head, row, column)`: three whole numbers, all counted from 0, such that heads[0, head, row, column] is
    that number. Work it out on paper: whoever splits a tensor and looks predicts nothing.
    """,
    returns=("head", "row", "column"),
    cases=(
        place_case("the second feature of the first token", 0, 1, 3, 4, 2),
        place_case("the last feature of the first token", 0, 3, 3, 4, 2),
        place_case("a token in the middle", 1, 2, 3, 4, 2),
        place_case("the last token", 4, 7, 5, 12, 3),
        place_case("one head", 2, 5, 4, 6, 1),
        place_case("as many heads as features", 2, 5, 4, 6, 6),
        place_case("the paper's sizes", 17, 300, 40, 512, 8),
    ),
    hints=(
        "Each head owns a block of d_model / n_heads neighbouring features, of *every* token.",
        "In which block does the feature lie, and at which place within the block? Integer division gives the one, its "
        "remainder the other.",
    ),
)
def place_in_heads(token, feature, length, d_model, n_heads):
    """Where `split_heads` puts a feature of a token: `(head, row, column)`. The sentence's length plays no part."""
    head, column = divmod(feature, d_model // n_heads)
    return head, token, column


def width(d_model, n_heads):
    return d_model // n_heads


@place_in_heads.mistake(
    "That is where a straight `view` to (1, h, T, d_head) would put it. It cuts the sentence into runs of *tokens*. To "
    "split heads, the features are cut into blocks first, and the axes of tokens and heads are then swapped."
)
def as_by_a_straight_view(token, feature, length, d_model, n_heads):
    d_head = width(d_model, n_heads)
    row, column = divmod(token * d_model + feature, d_head)
    return row // length, row % length, column


@place_in_heads.mistake("You give head i every h-th feature. A head owns a *block* of neighbouring features.")
def dealt_out_like_cards(token, feature, length, d_model, n_heads):
    return feature % n_heads, token, feature // n_heads


@place_in_heads.mistake("You divide by the number of heads. A head is d_model / n_heads features wide.")
def number_for_width(token, feature, length, d_model, n_heads):
    return feature // n_heads, token, feature % n_heads


@place_in_heads.mistake("Row and column have changed places: the rows of a head are tokens, its columns features.")
def row_and_column_exchanged(token, feature, length, d_model, n_heads):
    d_head = width(d_model, n_heads)
    return feature // d_head, feature % d_head, token


@place_in_heads.mistake("The axis of heads comes before that of tokens: these are (row, head, column).")
def tokens_before_heads(token, feature, length, d_model, n_heads):
    d_head = width(d_model, n_heads)
    return token, feature // d_head, feature % d_head


@place_in_heads.mistake("The column is counted within a head: it is below d_head.")
def column_of_the_whole(token, feature, length, d_model, n_heads):
    return feature // width(d_model, n_heads), token, feature


@place_in_heads.mistake("You share out the *tokens* among the heads. Every head sees every token.")
def tokens_shared_out(token, feature, length, d_model, n_heads):
    return token * n_heads // length, token, feature


@place_in_heads.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    n_heads, length = number(generator, 2, 9), number(generator, 3, 30)
    d_model = n_heads * number(generator, 2, 40)
    place = {"token": number(generator, 1, length - 1), "feature": number(generator, d_model // 2, d_model - 1)}
    return place | {"length": length, "d_model": d_model, "n_heads": n_heads}
