"""Lesson 10: implement `ablate_head`."""

import torch
from torch import Generator, Tensor

from transformer_lab import analysis
from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise


def heads_case(label: str, output_by_head: Tensor, head: int, w_o: Tensor | None = None) -> Case:
    width = output_by_head.size(1) * output_by_head.size(3)
    matrix = normal(width, width, dtype=output_by_head.dtype) if w_o is None else w_o
    return Case(label, {"output_by_head": output_by_head, "w_o": matrix, "head": head})


ablate_head = Exercise(
    analysis.ablate_head,
    lesson="10",
    minutes=10,
    difficulty=2,
    statement="""
    Take one head away: the output of an attention without what that head contributes.

    `output_by_head` (B, h, T, d_head) is what each head makes of the values, and `w_o` (d_model, d_model) is applied to
    the heads side by side as `x @ w_o`, where d_model = h · d_head. `head` is the number of one head, counted from 0.
    Return (B, T, d_model): the sum of what all *other* heads contribute. What you are given stays as it is.
    """,
    returns=("output",),
    cases=(
        heads_case("two heads of one number", 1 + counting(1, 2, 1, 1), 0, 1 + counting(2, 2)),
        heads_case("the other of the two", 1 + counting(1, 2, 1, 1), 1, 1 + counting(2, 2)),
        heads_case("two tokens", normal(1, 2, 2, 2), 0),
        heads_case("a batch", normal(3, 2, 5, 4), 1),
        heads_case("a head in the middle", normal(2, 4, 3, 2), 2),
        heads_case("one head alone", normal(2, 1, 3, 4), 0),
        heads_case("as many tokens as heads", normal(2, 3, 3, 3), 2),
        heads_case("float64", normal(1, 3, 4, 2, dtype=torch.float64), 1),
    ),
    hints=(
        "The output is a sum over the heads. Which rows of `w_o` belong to head i?",
        "You may put zeros in place of the head before the heads are merged, or leave out its rows of `w_o`, or "
        "subtract its part from the whole. Write into copies.",
        "Merging means: (B, h, T, d_head) to (B, T, h · d_head). Which two axes have to change places first?",
    ),
)


def merged(output_by_head):
    return output_by_head.transpose(1, 2).flatten(2)


def without(output_by_head, head):
    kept = output_by_head.clone()
    kept[:, head] = 0
    return kept


@ablate_head.mistake("That is what the head contributes. The question is what is left when it is *gone*.")
def that_head_alone(output_by_head, w_o, head):
    return merged(output_by_head - without(output_by_head, head)) @ w_o


@ablate_head.mistake("You count the heads from 1, and take away the one before: head 0 is the first.")
def counted_from_one(output_by_head, w_o, head):
    return merged(without(output_by_head, head - 1)) @ w_o


@ablate_head.mistake(
    "You clear features of the output, into which every head writes: those are the *columns* of `w_o`. What reads head "
    "i, in x @ w_o, are rows."
)
def columns_cleared(output_by_head, w_o, head):
    d_head, kept = output_by_head.size(-1), w_o.clone()
    kept[:, head * d_head : (head + 1) * d_head] = 0
    return merged(output_by_head) @ kept


@ablate_head.mistake("You clear one row of `w_o`. A head is d_head features wide, and has as many rows.")
def one_row_cleared(output_by_head, w_o, head):
    kept = w_o.clone()
    kept[head] = 0
    return merged(output_by_head) @ kept


@ablate_head.mistake(
    "You count the heads from 1, and take away the rows of the one before: head 0 is the first, and begins in row 0."
)
def rows_counted_from_one(output_by_head, w_o, head):
    d_head, kept = output_by_head.size(-1), w_o.clone()
    kept[(head - 1) * d_head : head * d_head] = 0
    return merged(output_by_head) @ kept


@ablate_head.mistake(
    "You share out the rows of `w_o` like cards. When heads are merged, each keeps a *block* of neighbouring features."
)
def dealt_out_like_cards(output_by_head, w_o, head):
    kept = w_o.clone()
    kept[head :: output_by_head.size(1)] = 0
    return merged(output_by_head) @ kept


@ablate_head.mistake(
    "You reshape (B, h, T, d_head) without swapping heads and positions first. The shape is right, and the numbers of "
    "different tokens are mixed."
)
def merged_without_swapping(output_by_head, w_o, head):
    kept = without(output_by_head, head)
    return kept.reshape(kept.size(0), kept.size(2), -1) @ w_o


@ablate_head.mistake("You take away a *position*: the tokens are on axis 2, the heads on axis 1.")
def a_position_taken_away(output_by_head, w_o, head):
    kept = output_by_head.clone()
    kept[:, :, head] = 0
    return merged(kept) @ w_o


@ablate_head.mistake("You take away a sentence of the batch: axis 0. The heads are axis 1.")
def a_sentence_taken_away(output_by_head, w_o, head):
    kept = output_by_head.clone()
    kept[head] = 0
    return merged(kept) @ w_o


@ablate_head.mistake(
    "You leave the head out, so that those after it move up, and are read by rows of `w_o` that are not theirs."
)
def the_others_moved_up(output_by_head, w_o, head):
    others = [output_by_head[:, i] for i in range(output_by_head.size(1)) if i != head]
    zeros = torch.zeros_like(output_by_head[:, 0])
    return torch.cat([*others, zeros], -1) @ w_o


@ablate_head.mistake("`w_o` is missing: these are the heads side by side, as they go into it.")
def without_w_o(output_by_head, w_o, head):
    return merged(without(output_by_head, head)) + 0 * w_o.sum()


@ablate_head.mistake(
    "`w_o` is transposed. Here it is applied as `x @ w_o`; the weight of `nn.Linear` is the transpose."
)
def w_o_transposed(output_by_head, w_o, head):
    return merged(without(output_by_head, head)) @ w_o.T


@ablate_head.mistake(
    "You make the other heads larger to make up for the one that is gone, as dropout does. Then the difference shows "
    "two changes at once."
)
def made_up_for(output_by_head, w_o, head):
    h = output_by_head.size(1)
    return merged(without(output_by_head, head)) @ w_o * (h / max(1, h - 1))


@ablate_head.mistake(
    "You put the head's mean over the positions in its place. That is *mean ablation*, another experiment: what it "
    "says at every position alike is kept."
)
def its_mean_kept(output_by_head, w_o, head):
    kept = output_by_head.clone()
    kept[:, head] = output_by_head[:, head].mean(1, keepdim=True)
    return merged(kept) @ w_o


@ablate_head.mistake("Nothing is taken away: the head is still there.")
def nothing_taken_away(output_by_head, w_o, head):
    return merged(output_by_head) @ w_o


@ablate_head.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, n_heads, length, d_head) = floats(generator), sizes(generator, 4)
    width, head = n_heads * d_head, number(generator, 0, n_heads - 1)
    return {"output_by_head": normal(batch, n_heads, length, d_head), "w_o": normal(width, width), "head": head}
