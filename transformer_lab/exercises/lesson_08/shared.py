"""Lesson 08, what its exercises share: small models to decode from, and what all filters keep."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import number
from transformer_lab.exercises.engine.specification import Property

ENDLESS = 40  # no case asks for so many tokens


def named(name: str, distribution: Callable[[list[int]], Tensor]) -> Callable[[list[int]], Tensor]:
    """A model to decode from, under a name to show; it stops a loop that does not end."""

    def model(ids):  # a list, or whatever an answer keeps its ids in
        if len(ids) > ENDLESS:
            raise RuntimeError(f"the sentence has more than {ENDLESS} tokens: what ends the loop?")
        return distribution(ids)

    model.__name__ = name
    return model


def chain(name: str, *rows: list[float]) -> Callable[[list[int]], Tensor]:
    """A model whose next token depends on the last one only: row i holds the probabilities after token i."""
    table = torch.tensor(rows, dtype=torch.float64, device="cpu").log()
    return named(name, lambda ids: table[int(ids[-1])].clone())


def scattered(vocab: int, eos_id: int, sharpness: float = 1.0, salt: int = 0) -> Callable[[list[int]], Tensor]:
    """A model without rhyme or reason, which looks at every id and their order; the end comes after some five ids."""

    def distribution(ids):
        seed = salt + sum((int(token) + 1) * 31**place for place, token in enumerate(ids))
        logits = torch.randn(vocab, generator=torch.Generator("cpu").manual_seed(seed % 2**31), device="cpu").double()
        logits[eos_id] += len(ids) - 5
        return (sharpness * logits).log_softmax(-1)

    return named("scattered", distribution)


def all_but_minus_infinity_untouched(given, filtered) -> bool:
    kept = filtered > -torch.inf
    return bool(kept.any(-1).all()) and torch.equal(filtered[kept], given["logits"][kept])


UNTOUCHED = Property("what is kept keeps its logit, and each row keeps a token", all_but_minus_infinity_untouched)


def a_model(generator: Generator) -> tuple[Callable, int, int]:
    """`(model, bos_id, eos_id)` of a model to decode from."""
    vocabulary = number(generator, 4, 8)
    bos_id, eos_id = torch.randperm(vocabulary, generator=generator)[:2].tolist()
    sharpness, salt = number(generator, 1, 3) / 2, number(generator, 10, 1_000_000)
    return scattered(vocabulary, eos_id, sharpness, salt), bos_id, eos_id
