"""Exercises with feedback: `exercises.softmax.check(my_softmax)` says what is right, or which mistake was made.

Each has `check(function)`, `hint()` and `solution()`; `catalogue` maps their names to them. A lesson's folder has a
file for each of its exercises, with all that belongs to it: statement, reference, cases, hints, mistakes, hidden cases.

In reading order: `exercise` and the other `kinds`; the `engine` that judges answers; `diagnosis`, which says what may
be wrong with them; `progress`, `progress_map` and `own_answers`, which keep and show what a learner has done.
"""

from difflib import get_close_matches
from itertools import pairwise

from transformer_lab.exercises.engine.cards import Verdict
from transformer_lab.exercises.engine.specification import Mistake
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_00.dot_product import dot_product
from transformer_lab.exercises.lesson_01.look_at_kind import look_at_kind
from transformer_lab.exercises.lesson_01.new_weights import new_weights
from transformer_lab.exercises.lesson_01.scaled_dot_product_attention import scaled_dot_product_attention
from transformer_lab.exercises.lesson_01.softmax import softmax
from transformer_lab.exercises.lesson_01.softmax_jacobian import softmax_jacobian
from transformer_lab.exercises.lesson_02.look_back_one import look_back_one
from transformer_lab.exercises.lesson_02.look_both_ways import look_both_ways
from transformer_lab.exercises.lesson_02.merge_heads import merge_heads
from transformer_lab.exercises.lesson_02.multi_head_attention import multi_head_attention
from transformer_lab.exercises.lesson_02.place_in_heads import place_in_heads
from transformer_lab.exercises.lesson_02.split_heads import split_heads
from transformer_lab.exercises.lesson_03.first_repeat import first_repeat
from transformer_lab.exercises.lesson_03.is_relative import is_relative
from transformer_lab.exercises.lesson_03.rotate import rotate
from transformer_lab.exercises.lesson_03.shift_matrix import shift_matrix
from transformer_lab.exercises.lesson_03.sinusoidal_encoding import sinusoidal_encoding
from transformer_lab.exercises.lesson_04.layer_norm import layer_norm
from transformer_lab.exercises.lesson_04.mend_stack import mend_stack
from transformer_lab.exercises.lesson_04.residual_block import residual_block
from transformer_lab.exercises.lesson_04.which_control import which_control
from transformer_lab.exercises.lesson_05.causal_mask import causal_mask
from transformer_lab.exercises.lesson_05.decoder_mask import decoder_mask
from transformer_lab.exercises.lesson_05.leaks import leaks
from transformer_lab.exercises.lesson_05.masked_softmax import masked_softmax
from transformer_lab.exercises.lesson_05.padding_mask import padding_mask
from transformer_lab.exercises.lesson_05.visible_pairs import visible_pairs
from transformer_lab.exercises.lesson_06.count_parameters import count_parameters
from transformer_lab.exercises.lesson_06.decoder_layer import decoder_layer
from transformer_lab.exercises.lesson_06.embed import embed
from transformer_lab.exercises.lesson_06.encoder_layer import encoder_layer
from transformer_lab.exercises.lesson_06.is_attention import is_attention
from transformer_lab.exercises.lesson_07.label_smoothing_loss import label_smoothing_loss
from transformer_lab.exercises.lesson_07.learn_merges import learn_merges
from transformer_lab.exercises.lesson_07.mend_training_step import mend_training_step
from transformer_lab.exercises.lesson_07.merge_pair import merge_pair
from transformer_lab.exercises.lesson_07.same_rate_again import same_rate_again
from transformer_lab.exercises.lesson_07.shift_right import shift_right
from transformer_lab.exercises.lesson_07.warmup_rate import warmup_rate
from transformer_lab.exercises.lesson_08.beam_search import beam_search
from transformer_lab.exercises.lesson_08.cached_attention import cached_attention
from transformer_lab.exercises.lesson_08.greedy_decode import greedy_decode
from transformer_lab.exercises.lesson_08.is_top_p import is_top_p
from transformer_lab.exercises.lesson_08.positions_computed import positions_computed
from transformer_lab.exercises.lesson_08.top_k_filter import top_k_filter
from transformer_lab.exercises.lesson_08.top_p_filter import top_p_filter
from transformer_lab.exercises.lesson_09.bits_per_byte import bits_per_byte
from transformer_lab.exercises.lesson_09.mend_bigram_loss import mend_bigram_loss
from transformer_lab.exercises.lesson_09.next_token_loss import next_token_loss
from transformer_lab.exercises.lesson_09.perplexity import perplexity
from transformer_lab.exercises.lesson_09.predict_loss import predict_loss
from transformer_lab.exercises.lesson_10.ablate_head import ablate_head
from transformer_lab.exercises.lesson_10.count_paths import count_paths
from transformer_lab.exercises.lesson_10.head_matters import head_matters
from transformer_lab.exercises.lesson_10.induction_by_hand import induction_by_hand
from transformer_lab.exercises.lesson_10.induction_score import induction_score
from transformer_lab.exercises.lesson_10.logit_lens import logit_lens
from transformer_lab.exercises.lesson_11.grouped_query_attention import grouped_query_attention
from transformer_lab.exercises.lesson_11.kv_cache_bytes import kv_cache_bytes
from transformer_lab.exercises.lesson_11.mend_rotary_cache import mend_rotary_cache
from transformer_lab.exercises.lesson_11.rms_norm import rms_norm
from transformer_lab.exercises.lesson_11.swiglu import swiglu
from transformer_lab.exercises.lesson_12.loaded_right import loaded_right
from transformer_lab.exercises.lesson_12.mean_pool import mean_pool
from transformer_lab.exercises.lesson_12.mend_loading import mend_loading
from transformer_lab.exercises.lesson_12.split_fused_projection import split_fused_projection
from transformer_lab.exercises.lesson_13.attention_backward import attention_backward
from transformer_lab.exercises.lesson_13.mend_tiles import mend_tiles
from transformer_lab.exercises.lesson_13.merge_partial import merge_partial
from transformer_lab.exercises.lesson_13.online_softmax import online_softmax
from transformer_lab.exercises.lesson_13.residual_distribution import residual_distribution
from transformer_lab.exercises.lesson_13.tokens_per_pass import tokens_per_pass
from transformer_lab.exercises.lesson_14.clinic_01 import clinic_01
from transformer_lab.exercises.lesson_14.clinic_02 import clinic_02
from transformer_lab.exercises.lesson_14.clinic_03 import clinic_03
from transformer_lab.exercises.lesson_14.clinic_04 import clinic_04
from transformer_lab.exercises.lesson_14.clinic_05 import clinic_05
from transformer_lab.exercises.lesson_14.clinic_06 import clinic_06
from transformer_lab.exercises.lesson_14.clinic_07 import clinic_07
from transformer_lab.exercises.lesson_14.clinic_08 import clinic_08
from transformer_lab.exercises.lesson_14.clinic_09 import clinic_09
from transformer_lab.exercises.lesson_14.clinic_10 import clinic_10
from transformer_lab.exercises.lesson_14.clinic_11 import clinic_11
from transformer_lab.exercises.lesson_14.clinic_12 import clinic_12
from transformer_lab.exercises.lesson_14.mend_accumulation import mend_accumulation
from transformer_lab.exercises.lesson_14.mend_generation import mend_generation
from transformer_lab.exercises.lesson_15.bytes_per_token import bytes_per_token
from transformer_lab.exercises.lesson_15.delta_rule import delta_rule
from transformer_lab.exercises.lesson_15.latent_attention import latent_attention
from transformer_lab.exercises.lesson_15.mend_rolling_cache import mend_rolling_cache
from transformer_lab.exercises.lesson_15.qk_norm import qk_norm
from transformer_lab.exercises.lesson_15.sliding_window_mask import sliding_window_mask
from transformer_lab.exercises.lesson_16.answer_loss import answer_loss
from transformer_lab.exercises.lesson_16.clipped_objective import clipped_objective
from transformer_lab.exercises.lesson_16.dpo_loss import dpo_loss
from transformer_lab.exercises.lesson_16.group_advantages import group_advantages
from transformer_lab.exercises.lesson_16.lora_forward import lora_forward
from transformer_lab.exercises.lesson_16.mend_grpo import mend_grpo
from transformer_lab.exercises.lesson_16.pass_at_k import pass_at_k
from transformer_lab.exercises.lesson_16.verifies import verifies
from transformer_lab.exercises.lesson_17.all_reduce_ring import all_reduce_ring
from transformer_lab.exercises.lesson_17.bytes_sent import bytes_sent
from transformer_lab.exercises.lesson_17.mend_data_parallel import mend_data_parallel
from transformer_lab.exercises.lesson_17.ring_attention import ring_attention
from transformer_lab.exercises.lesson_17.split_columns_rows import split_columns_rows
from transformer_lab.exercises.own_answers import Mine
from transformer_lab.exercises.progress_map import ProgressMap, progress_map

catalogue: dict[str, Exercise] = {
    one.name: one
    for one in (
        *(dot_product,),
        *(softmax, scaled_dot_product_attention, new_weights, look_at_kind, softmax_jacobian),
        *(split_heads, merge_heads, place_in_heads, multi_head_attention, look_back_one, look_both_ways),
        *(sinusoidal_encoding, first_repeat, shift_matrix, rotate, is_relative),
        *(layer_norm, residual_block, which_control, mend_stack),
        *(causal_mask, leaks, padding_mask, decoder_mask, visible_pairs, masked_softmax),
        *(embed, encoder_layer, decoder_layer, is_attention, count_parameters),
        *(merge_pair, learn_merges, shift_right, label_smoothing_loss, warmup_rate, same_rate_again),
        *(mend_training_step,),
        *(top_k_filter, top_p_filter, is_top_p, greedy_decode, beam_search, cached_attention),
        *(positions_computed,),
        *(perplexity, bits_per_byte, next_token_loss, mend_bigram_loss, predict_loss),
        *(count_paths, induction_score, induction_by_hand, ablate_head, head_matters, logit_lens),
        *(rms_norm, swiglu, grouped_query_attention, kv_cache_bytes, mend_rotary_cache),
        *(split_fused_projection, mend_loading, loaded_right, mean_pool),
        *(online_softmax, merge_partial, mend_tiles, attention_backward, residual_distribution),
        *(tokens_per_pass,),
        *(clinic_12, clinic_07, clinic_01, mend_generation, mend_accumulation, clinic_02, clinic_03),
        *(clinic_04, clinic_05, clinic_06, clinic_08, clinic_09, clinic_10, clinic_11),
        *(sliding_window_mask, mend_rolling_cache, latent_attention, delta_rule, bytes_per_token, qk_norm),
        *(answer_loss, lora_forward, verifies, pass_at_k, group_advantages, clipped_objective, dpo_loss),
        *(mend_grpo,),
        *(all_reduce_ring, split_columns_rows, ring_attention, bytes_sent, mend_data_parallel),
    )
}


def say_what_follows(exercises: list[Exercise]) -> None:
    """Make each exercise say, once it is passed, which one comes next, and how many of its lesson are solved."""
    for one, after in pairwise(exercises):
        one.following = after
    for one in exercises:
        one.fellows = tuple(other.name for other in exercises if other.lesson == one.lesson)
    exercises[-1].following = None


say_what_follows([*catalogue.values()])


def __getattr__(name: str) -> object:
    """Raise an error for a name that does not exist, which may be a misspelt exercise."""
    near = get_close_matches(name, catalogue, 1, cutoff=0.7) if not name.startswith("_") else []
    meant = f": did you mean `exercises.{near[0]}`?" if near else ""
    raise AttributeError(f"there is no exercise {name!r}{meant or ' (`exercises.progress()` lists all)'}")


def progress() -> ProgressMap:
    """The map of all exercises: solved, tried or open. It is kept on this machine, and nothing leaves it."""
    return progress_map(catalogue)


def withhold(*names: str) -> None:
    """Make these exercises show no solution in this session, because they are handed in and graded."""
    for name in names:
        catalogue[name].withheld = True


def mine() -> Mine:
    """The functions that you have passed, to use in place of the package's: `exercises.mine().softmax(scores, dim)`."""
    return Mine(catalogue)


__all__ = [*catalogue, "mine", "progress", "withhold", "Exercise", "Mistake", "Verdict", "catalogue"]
