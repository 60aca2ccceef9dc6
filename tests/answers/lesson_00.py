"""Right answers to the exercise of lesson 00, and the mutants of its reference that compute the same."""

import torch

from tests.answers.reasons import COMMUTATIVE


def dot_of_torch(a, b):
    return torch.dot(a, b)


def dot_by_matmul(a, b):
    return a @ b


def dot_by_loop(a, b):
    total = torch.zeros((), dtype=a.dtype)
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def dot_by_einsum(a, b):
    return torch.einsum("i,i->", a.double(), b.double()).to(a.dtype)


RIGHT_ANSWERS = {"dot_product": [dot_of_torch, dot_by_matmul, dot_by_loop, dot_by_einsum]}

EQUIVALENT = {"dot_product": {"dot_product: a * b → b * a": COMMUTATIVE}}
