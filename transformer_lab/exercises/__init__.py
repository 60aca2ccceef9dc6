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
from transformer_lab.exercises.lesson_06 import decoder_layer, embed, encoder_layer
from transformer_lab.exercises.lesson_07 import label_smoothing_loss, merge_pair, shift_right, warmup_rate
from transformer_lab.exercises.lesson_08 import (
    beam_search,
    cached_attention,
    greedy_decode,
    top_k_filter,
    top_p_filter,
)

catalogue: dict[str, Exercise] = {
    one.name: one
    for one in (
        *(dot_product,),
        *(softmax, scaled_dot_product_attention, softmax_jacobian),
        *(split_heads, merge_heads, multi_head_attention),
        *(sinusoidal_encoding, shift_matrix),
        *(layer_norm, residual_block),
        *(causal_mask, padding_mask, decoder_mask, masked_softmax),
        *(embed, encoder_layer, decoder_layer),
        *(merge_pair, shift_right, label_smoothing_loss, warmup_rate),
        *(greedy_decode, top_k_filter, top_p_filter, beam_search, cached_attention),
    )
}

__all__ = [*catalogue, "Exercise", "Mistake", "Verdict", "catalogue"]
