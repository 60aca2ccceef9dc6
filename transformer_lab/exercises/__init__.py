"""Exercises that answer: `exercises.softmax.check(my_softmax)` says what is right, or which mistake was made.

Each has `check(function)`, `hint()` and `solution()`; `catalogue` maps their names to them.
"""

from transformer_lab.exercises.cards import Verdict
from transformer_lab.exercises.exercise import Exercise, Mistake
from transformer_lab.exercises.lesson_00 import dot_product
from transformer_lab.exercises.lesson_01 import scaled_dot_product_attention, softmax, softmax_jacobian
from transformer_lab.exercises.lesson_02 import merge_heads, multi_head_attention, split_heads
from transformer_lab.exercises.lesson_03 import shift_matrix, sinusoidal_encoding
from transformer_lab.exercises.lesson_04 import layer_norm, residual_block
from transformer_lab.exercises.lesson_05 import causal_mask, decoder_mask, masked_softmax, padding_mask

catalogue: dict[str, Exercise] = {
    one.name: one
    for one in (
        *(dot_product,),
        *(softmax, scaled_dot_product_attention, softmax_jacobian),
        *(split_heads, merge_heads, multi_head_attention),
        *(sinusoidal_encoding, shift_matrix),
        *(layer_norm, residual_block),
        *(causal_mask, padding_mask, decoder_mask, masked_softmax),
    )
}

__all__ = [*catalogue, "Exercise", "Mistake", "Verdict", "catalogue"]
