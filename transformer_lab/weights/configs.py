"""What type each value of a config.json must have, so that a wrong one is named before anything is reckoned with it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from transformer_lab.checks import is_whole


class Kind(NamedTuple):
    """What a value must be, in words and as a test."""

    rule: str
    fits: Callable[[Any], bool]


SIZE = Kind("a whole number of at least 1", lambda x: is_whole(x) and x >= 1)
WHOLE = Kind("a whole number", is_whole)
NUMBER = Kind("a number", lambda x: isinstance(x, float) or is_whole(x))
SWITCH = Kind("true or false", lambda x: isinstance(x, bool))
TEXT = Kind("a text", lambda x: isinstance(x, str))
TEXTS = Kind("a list of texts", lambda x: isinstance(x, list) and all(isinstance(one, str) for one in x))
WHOLES = Kind("a list of whole numbers", lambda x: isinstance(x, list) and all(map(is_whole, x)))
TABLE = Kind("names and what they stand for", lambda x: isinstance(x, dict))

NAMES = {
    SIZE: """vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads head_dim
        max_position_embeddings original_max_position_embeddings type_vocab_size n_embd n_head n_inner n_layer
        n_positions sliding_window sliding_window_pattern _sliding_window_pattern full_attention_interval
        decoder_sparse_step linear_num_key_heads linear_num_value_heads linear_key_head_dim linear_value_head_dim
        linear_conv_kernel_dim num_experts num_local_experts num_experts_per_tok n_routed_experts n_shared_experts
        n_group topk_group moe_intermediate_size shared_expert_intermediate_size q_lora_rank kv_lora_rank
        qk_nope_head_dim qk_rope_head_dim v_head_dim""",
    WHOLE: "pad_token_id first_k_dense_replace max_window_layers",
    NUMBER: """layer_norm_eps layer_norm_epsilon rms_norm_eps rope_theta rope_local_base_freq partial_rotary_factor
        factor low_freq_factor high_freq_factor attention_factor beta_fast beta_slow mscale mscale_all_dim
        query_pre_attn_scalar final_logit_softcapping routed_scaling_factor swiglu_alpha swiglu_limit""",
    SWITCH: "attention_bias tie_word_embeddings use_sliding_window rope_interleave truncate",
    TEXT: "model_type hidden_act activation_function rope_type type",
    TEXTS: "layer_types",
    WHOLES: "mlp_only_layers",
    TABLE: "rope_parameters rope_scaling full_attention sliding_attention quantization_config",
}
KINDS = {name: kind for kind, names in NAMES.items() for name in names.split()}


def checked(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """A config whose values have the types that the families here count on, without those that are null.

    Raises:
        ValueError: a value has another type; the file, the name and the value are said.
    """
    found = {name: value for name, value in config.items() if value is not None}
    for name, value in found.items():
        if name in KINDS and not KINDS[name].fits(value):
            raise ValueError(f"{name} of a checkpoint must be {KINDS[name].rule} (got {value!r} in {path})")
    return {name: checked(value, path) if isinstance(value, dict) else value for name, value in found.items()}
