"""Measurements and experiments on models, whose numbers the lessons and views show.

In reading order: `attention`; what parts of a model do, in `circuits`, `contributions`, `interventions`, `switches` and
`planted_circuit`; what a model takes, in `costs`, `designs` and `peak_memory`; what many machines do with their
time, in `rank_tasks` and `ranks`.
"""

from transformer_lab.analysis.attention import (
    cross_attention,
    entropy,
    head_contributions,
    norms_by_layer,
    softmax_jacobian,
    token_names,
)
from transformer_lab.analysis.circuits import ablate_head, induction_score, logit_lens
from transformer_lab.analysis.contributions import record_heads, record_states
from transformer_lab.analysis.costs import (
    PRESETS,
    DecoderSize,
    cache_bytes,
    cost_of_a_token,
    flops_of_a_pair,
    flops_of_a_position,
    flops_with_cache,
    flops_without_cache,
)
from transformer_lab.analysis.interventions import (
    ablate,
    patch_heads,
    patch_input,
)
from transformer_lab.analysis.peak_memory import peak_bytes, tile_bytes
from transformer_lab.analysis.planted_circuit import planted_induction
from transformer_lab.analysis.switches import swapped, switched_off

__all__ = [
    "PRESETS",
    "DecoderSize",
    "ablate",
    "ablate_head",
    "cache_bytes",
    "cost_of_a_token",
    "cross_attention",
    "entropy",
    "flops_of_a_pair",
    "flops_of_a_position",
    "flops_with_cache",
    "flops_without_cache",
    "head_contributions",
    "induction_score",
    "logit_lens",
    "norms_by_layer",
    "patch_heads",
    "patch_input",
    "peak_bytes",
    "planted_induction",
    "record_heads",
    "record_states",
    "softmax_jacobian",
    "swapped",
    "switched_off",
    "tile_bytes",
    "token_names",
]
