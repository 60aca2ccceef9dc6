"""Lesson 05, what its exercises share: sentences with padding."""

import torch

from transformer_lab.exercises.engine.running import Case


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
