"""Lesson 10: predict `count_paths`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict


@partial(
    Predict,
    lesson="10",
    minutes=10,
    difficulty=2,
    statement="""
    How many paths lead through a model of attention alone?

    Layer i has `heads[i]` heads (a list of whole numbers, some perhaps 0; the list may be empty). They read the
    residual stream side by side, and what they write is added to it. So, with the weights of attention held fixed, the
    logits are a sum of terms, and each term is one path from the embedding to the logits: which heads it went through.
    Return how many there are.

    Work it out on paper. Start with one layer, and multiply out.
    """,
    returns=("paths",),
    cases=(
        Case("one layer of one head", {"heads": [1]}),
        Case("one layer of three heads", {"heads": [3]}),
        Case("two layers of one head", {"heads": [1, 1]}),
        Case("two layers of two", {"heads": [2, 2]}),
        Case("another number in each layer", {"heads": [3, 2]}),
        Case("no layer at all", {"heads": []}),
        Case("three layers", {"heads": [4, 1, 2]}),
        Case("a layer that has lost its heads", {"heads": [2, 0, 5]}),
        Case("four layers", {"heads": [2, 3, 4, 5]}),
        Case("three layers of twelve", {"heads": [12, 12, 12]}),
    ),
    hints=(
        "With one layer of one head, the stream after it is x + A x. How many terms are that?",
        "A second layer reads this sum, and adds to it. What does its head make of each term? And what becomes of the "
        "terms themselves?",
        "Two heads of one layer read the same stream: neither reads what the other has just written.",
    ),
)
def count_paths(heads):
    """How many paths lead from the embedding to the logits of an attention-only model with so many heads a layer.

    A layer leaves each path as it is, by the residual connection, and lets it branch through each of its heads.
    """
    paths = 1
    for count in heads:
        paths = paths + paths * count
    return paths


@count_paths.mistake(
    "You count each head once, and the direct path. But a head also reads what heads *below* it have written: such a "
    "pair is a path of its own, a virtual head."
)
def each_head_once(heads):
    return 1 + sum(heads)


@count_paths.mistake("That is the number of heads. The direct path is missing, and those through several heads.")
def the_heads_alone(heads):
    return sum(heads)


@count_paths.mistake(
    "These are the paths that go through a head of *every* layer. The residual connection also leads past a layer."
)
def a_head_in_every_layer(heads):
    paths = 1
    for count in heads:
        paths *= count
    return paths


@count_paths.mistake(
    "You count the paths through a head of every layer, and the one that passes all layers by. Others pass some by."
)
def all_or_none(heads):
    paths = 1
    for count in heads:
        paths *= count
    return paths + 1


@count_paths.mistake("The direct path is missing, from the embedding straight to the logits: it is a term, too.")
def without_the_direct_path(heads):
    paths = 1
    for count in heads:
        paths *= 1 + count
    return paths - 1


@count_paths.mistake("You take a layer for one path. Its heads write separately: each is a path of its own.")
def a_layer_as_one(heads):
    return 2 ** len(heads)


@count_paths.mistake(
    "You count all subsets of heads. Two heads of *one* layer stand side by side: no path goes through both."
)
def all_subsets(heads):
    return 2 ** sum(heads)


@count_paths.mistake(
    "You add up the layers. Each path through one layer goes on by every way through the next: multiply."
)
def layers_added_up(heads):
    return sum(1 + count for count in heads)


@count_paths.mistake("You give all layers as many heads as the first has.")
def all_layers_like_the_first(heads):
    return (1 + sum(heads[:1])) ** len(heads)


@count_paths.mistake(
    "You count paths through two heads at most. With three layers a path may go through three heads, one of each layer."
)
def two_heads_at_most(heads):
    pairs = (sum(heads) ** 2 - sum(count**2 for count in heads)) // 2
    return 1 + sum(heads) + pairs


@count_paths.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"heads": sizes(generator, number(generator, 3, 6), most=9)}
