"""Lesson 00: implement `dot_product`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise


def dot_case(label: str, a, b) -> Case:
    return Case(label, {"a": torch.as_tensor(a), "b": torch.as_tensor(b)})


@partial(
    Exercise,  # the package has no such function: torch has `@`
    lesson="00",
    minutes=2,
    difficulty=1,
    statement="The dot product of two vectors: multiply them number by number, and add up.",
    returns=("product",),
    cases=(
        dot_case("two numbers each", [1.0, 2.0], [3.0, 4.0]),
        dot_case("at right angles", [1.0, 0.0], [0.0, 5.0]),
        dot_case("of opposite sign", [1.0, -2.0, 3.0], [4.0, 5.0, -6.0]),
        dot_case("one number each", [3.0], [-7.0]),
        dot_case("many numbers", normal(97), normal(97) + 1),
        dot_case(
            "float64, not contiguous", normal(5, 3, dtype=torch.float64)[:, 0], normal(5, 2, dtype=torch.float64)[:, 1]
        ),
    ),
    properties=(
        Property(
            "it is at most the product of the vectors' lengths",
            lambda given, product: bool(product.abs() <= 1.001 * given["a"].norm() * given["b"].norm()),
        ),
    ),
    hints=(
        "Of [1, 2] and [3, 4] it is 1 · 3 + 2 · 4 = 11. Which two operations are these?",
        "In torch `*` multiplies number by number, and every tensor has a method that adds up.",
    ),
)
def dot_product(a, b):
    return (a * b).sum()


@dot_product.mistake("You have multiplied number by number. What is missing is the sum.")
def not_summed(a, b):
    return a * b


@dot_product.mistake(
    "Every number of `a` meets every number of `b`: that is the product of their sums. Only numbers at the same place "
    "are to be multiplied."
)
def product_of_sums(a, b):
    return a.sum() * b.sum()


@dot_product.mistake("You add the vectors where they should be multiplied number by number.")
def added(a, b):
    return (a + b).sum()


@dot_product.mistake(
    "You take the mean of the products. The dot product is their sum: it is not divided by how many there are."
)
def mean_of_products(a, b):
    return (a * b).mean()


@dot_product.mistake("This is the outer product: a matrix of each number of `a` times each number of `b`.")
def outer_product(a, b):
    return torch.outer(a, b)


@dot_product.mistake("You divide by the lengths of the vectors: that is the cosine of the angle between them.")
def cosine(a, b):
    return (a * b).sum() / (a.norm() * b.norm())


@dot_product.mistake("This is the dot product of `a` with itself; `b` is never used.")
def with_itself(a, b):
    return (a * a).sum()


@dot_product.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, length = floats(generator), number(generator, 1, 60)
    return {"a": normal(length), "b": normal(length)}
