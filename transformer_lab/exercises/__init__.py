"""Exercises that answer: `exercises.softmax.check(my_softmax)` says what is right, or which mistake was made.

Each has `check(function)`, `hint()` and `solution()`; `catalogue` maps their names to them.
"""

from transformer_lab.exercises.cards import Verdict
from transformer_lab.exercises.exercise import Exercise, Mistake
from transformer_lab.exercises.lesson_00 import dot_product
from transformer_lab.exercises.lesson_01 import scaled_dot_product_attention, softmax, softmax_jacobian
from transformer_lab.exercises.lesson_02 import merge_heads, multi_head_attention, split_heads

catalogue: dict[str, Exercise] = {
    one.name: one
    for one in (
        *(dot_product,),
        *(softmax, scaled_dot_product_attention, softmax_jacobian),
        *(split_heads, merge_heads, multi_head_attention),
    )
}

__all__ = [*catalogue, "Exercise", "Mistake", "Verdict", "catalogue"]
