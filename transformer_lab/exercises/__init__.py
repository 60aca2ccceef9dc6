"""Exercises that answer: `exercises.softmax.check(my_softmax)` says what is right, or which mistake was made.

Each has `check(function)`, `hint()` and `solution()`; `catalogue` maps their names to them.
"""

from transformer_lab.exercises.engine.cards import Verdict
from transformer_lab.exercises.engine.specification import Mistake
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_00 import dot_product
from transformer_lab.exercises.lesson_01 import scaled_dot_product_attention, softmax, softmax_jacobian
from transformer_lab.exercises.lesson_01_weights import look_at_kind, new_weights
from transformer_lab.exercises.lesson_02 import (
    look_back_one,
    look_both_ways,
    merge_heads,
    multi_head_attention,
    split_heads,
)
from transformer_lab.exercises.lesson_02_places import place_in_heads
from transformer_lab.exercises.lesson_03 import rotate, shift_matrix, sinusoidal_encoding
from transformer_lab.exercises.lesson_03_relative import is_relative
from transformer_lab.exercises.lesson_03_repeats import first_repeat
from transformer_lab.exercises.lesson_04 import layer_norm, residual_block
from transformer_lab.exercises.lesson_04_controls import which_control
from transformer_lab.exercises.lesson_04_stack import mend_stack
from transformer_lab.exercises.lesson_05 import causal_mask, decoder_mask, leaks, masked_softmax, padding_mask
from transformer_lab.exercises.lesson_05_pairs import visible_pairs
from transformer_lab.exercises.lesson_06 import decoder_layer, embed, encoder_layer
from transformer_lab.exercises.lesson_06_questions import count_parameters, is_attention
from transformer_lab.exercises.lesson_07 import label_smoothing_loss, learn_merges, merge_pair, shift_right, warmup_rate
from transformer_lab.exercises.lesson_07_mend import mend_training_step
from transformer_lab.exercises.lesson_07_rate import same_rate_again
from transformer_lab.exercises.lesson_08 import (
    beam_search,
    cached_attention,
    greedy_decode,
    top_k_filter,
    top_p_filter,
)
from transformer_lab.exercises.lesson_08_positions import positions_computed
from transformer_lab.exercises.lesson_08_top_p import is_top_p
from transformer_lab.exercises.lesson_09 import bits_per_byte, next_token_loss, perplexity
from transformer_lab.exercises.lesson_09_tables import mend_bigram_loss, predict_loss
from transformer_lab.exercises.lesson_10 import induction_score, logit_lens
from transformer_lab.exercises.lesson_10_circuit import induction_by_hand
from transformer_lab.exercises.lesson_10_claims import head_matters
from transformer_lab.exercises.lesson_10_heads import ablate_head
from transformer_lab.exercises.lesson_10_paths import count_paths
from transformer_lab.exercises.lesson_11 import rms_norm, swiglu
from transformer_lab.exercises.lesson_11_cache import mend_rotary_cache
from transformer_lab.exercises.lesson_11_groups import grouped_query_attention, kv_cache_bytes
from transformer_lab.exercises.lesson_12 import mean_pool, split_fused_projection
from transformer_lab.exercises.lesson_12_loaded import loaded_right
from transformer_lab.exercises.lesson_12_loading import mend_loading
from transformer_lab.exercises.lesson_13 import merge_partial, online_softmax
from transformer_lab.exercises.lesson_13_backward import attention_backward
from transformer_lab.exercises.lesson_13_drafts import residual_distribution, tokens_per_pass
from transformer_lab.exercises.lesson_13_tiles import mend_tiles
from transformer_lab.exercises.lesson_14 import clinic_01, clinic_02, clinic_03, clinic_04, clinic_05, clinic_06
from transformer_lab.exercises.lesson_14_around import clinic_07, clinic_08, clinic_09, clinic_10, clinic_11, clinic_12
from transformer_lab.exercises.own_answers import Mine
from transformer_lab.exercises.progress_map import ProgressMap, progress_map

catalogue: dict[str, Exercise] = {
    one.name: one
    for one in (
        *(dot_product,),
        *(softmax, scaled_dot_product_attention, softmax_jacobian, new_weights, look_at_kind),
        *(split_heads, merge_heads, multi_head_attention, look_back_one, look_both_ways, place_in_heads),
        *(sinusoidal_encoding, shift_matrix, rotate, first_repeat, is_relative),
        *(layer_norm, residual_block, which_control, mend_stack),
        *(causal_mask, padding_mask, decoder_mask, masked_softmax, leaks, visible_pairs),
        *(embed, encoder_layer, decoder_layer, count_parameters, is_attention),
        *(merge_pair, learn_merges, shift_right, label_smoothing_loss, warmup_rate, mend_training_step),
        *(same_rate_again,),
        *(greedy_decode, top_k_filter, top_p_filter, beam_search, cached_attention),
        *(positions_computed, is_top_p),
        *(next_token_loss, perplexity, bits_per_byte, mend_bigram_loss, predict_loss),
        *(induction_score, logit_lens, ablate_head, count_paths, head_matters, induction_by_hand),
        *(rms_norm, swiglu, grouped_query_attention, kv_cache_bytes, mend_rotary_cache),
        *(mean_pool, split_fused_projection, mend_loading, loaded_right),
        *(online_softmax, merge_partial, mend_tiles, attention_backward, residual_distribution, tokens_per_pass),
        *(clinic_01, clinic_02, clinic_03, clinic_04, clinic_05, clinic_06),
        *(clinic_07, clinic_08, clinic_09, clinic_10, clinic_11, clinic_12),
    )
}


def progress() -> ProgressMap:
    """The map of all exercises: solved, tried, open. It is kept on this machine; nothing leaves it."""
    return progress_map(catalogue)


def withhold(*names: str) -> None:
    """Have these exercises show no solution in this session: they are handed in, and graded."""
    for name in names:
        catalogue[name].withheld = True


def mine() -> Mine:
    """The functions that you have passed, to use in place of the package's: `exercises.mine().softmax(scores, dim)`."""
    return Mine(catalogue)


__all__ = [*catalogue, "mine", "progress", "withhold", "Exercise", "Mistake", "Verdict", "catalogue"]
