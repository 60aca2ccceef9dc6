"""What Hugging Face calls the tensors of a model, and where they belong in ours; {} is the number of a layer."""

import re
from collections.abc import Callable, Iterator, Mapping

from torch import Tensor

BERT = {
    "embeddings.word_embeddings.weight": "tokens.weight",
    "embeddings.position_embeddings.weight": "positions.encoding",
    "embeddings.token_type_embeddings.weight": "types.weight",
    "embeddings.LayerNorm": "norm",
    "encoder.layer.{}.attention.self.query": "layers.{}.self_attention.w_q",
    "encoder.layer.{}.attention.self.key": "layers.{}.self_attention.w_k",
    "encoder.layer.{}.attention.self.value": "layers.{}.self_attention.w_v",
    "encoder.layer.{}.attention.output.dense": "layers.{}.self_attention.w_o",
    "encoder.layer.{}.attention.output.LayerNorm": "layers.{}.residual_1.norm",
    "encoder.layer.{}.intermediate.dense": "layers.{}.feed_forward.w_1",
    "encoder.layer.{}.output.dense": "layers.{}.feed_forward.w_2",
    "encoder.layer.{}.output.LayerNorm": "layers.{}.residual_2.norm",
}
GPT2 = {
    "wte.weight": "tokens.weight",
    "wpe.weight": "positions.encoding",
    "ln_f": "norm",
    "h.{}.ln_1": "layers.{}.residual_1.norm",
    "h.{}.attn.c_attn": "layers.{}.self_attention.w_qkv",  # three in one
    "h.{}.attn.c_proj": "layers.{}.self_attention.w_o",
    "h.{}.ln_2": "layers.{}.residual_2.norm",
    "h.{}.mlp.c_fc": "layers.{}.feed_forward.w_1",
    "h.{}.mlp.c_proj": "layers.{}.feed_forward.w_2",
    "lm_head.weight": "to_logits.weight",
}
LLAMA = {
    "embed_tokens.weight": "tokens.weight",
    "norm": "norm",
    "layers.{}.input_layernorm": "layers.{}.residual_1.norm",
    "layers.{}.self_attn.q_proj": "layers.{}.self_attention.w_q",
    "layers.{}.self_attn.k_proj": "layers.{}.self_attention.w_k",
    "layers.{}.self_attn.v_proj": "layers.{}.self_attention.w_v",
    "layers.{}.self_attn.o_proj": "layers.{}.self_attention.w_o",
    "layers.{}.post_attention_layernorm": "layers.{}.residual_2.norm",
    "layers.{}.mlp.gate_proj": "layers.{}.feed_forward.w_gate",
    "layers.{}.mlp.up_proj": "layers.{}.feed_forward.w_up",
    "layers.{}.mlp.down_proj": "layers.{}.feed_forward.w_down",
    "lm_head.weight": "to_logits.weight",
}
QWEN3 = LLAMA | {
    "layers.{}.self_attn.q_norm.weight": "layers.{}.self_attention.norms.weight_q",
    "layers.{}.self_attn.k_norm.weight": "layers.{}.self_attention.norms.weight_k",
}
OLMO2 = QWEN3 | {
    "layers.{}.post_attention_layernorm": "layers.{}.residual_1.norm",
    "layers.{}.post_feedforward_layernorm": "layers.{}.residual_2.norm",
}
GEMMA3 = QWEN3 | {
    "layers.{}.post_attention_layernorm": "layers.{}.residual_1.norm_2",
    "layers.{}.pre_feedforward_layernorm": "layers.{}.residual_2.norm",
    "layers.{}.post_feedforward_layernorm": "layers.{}.residual_2.norm_2",
}
MIXTRAL = LLAMA | {
    "layers.{}.block_sparse_moe.gate": "layers.{}.feed_forward.router",
    "layers.{}.block_sparse_moe.experts.{}.w1": "layers.{}.feed_forward.experts.{}.w_gate",
    "layers.{}.block_sparse_moe.experts.{}.w3": "layers.{}.feed_forward.experts.{}.w_up",
    "layers.{}.block_sparse_moe.experts.{}.w2": "layers.{}.feed_forward.experts.{}.w_down",
}
GPT_OSS = LLAMA | {
    "layers.{}.self_attn.sinks": "layers.{}.self_attention.sinks",
    "layers.{}.mlp.router": "layers.{}.feed_forward.router",
    "layers.{}.mlp.experts.gate_up_proj": "layers.{}.feed_forward.experts.gate_up.weight",  # two in one, of all experts
    "layers.{}.mlp.experts.gate_up_proj_bias": "layers.{}.feed_forward.experts.gate_up.bias",
    "layers.{}.mlp.experts.down_proj": "layers.{}.feed_forward.experts.down.weight",
    "layers.{}.mlp.experts.down_proj_bias": "layers.{}.feed_forward.experts.down.bias",
}
EXPERTS = {
    "layers.{}.mlp.gate": "layers.{}.feed_forward.router",
    "layers.{}.mlp.experts.{}.gate_proj": "layers.{}.feed_forward.experts.{}.w_gate",
    "layers.{}.mlp.experts.{}.up_proj": "layers.{}.feed_forward.experts.{}.w_up",
    "layers.{}.mlp.experts.{}.down_proj": "layers.{}.feed_forward.experts.{}.w_down",
}
DEEPSEEK_V3 = (
    LLAMA
    | EXPERTS
    | {
        "layers.{}.self_attn.q_a_proj": "layers.{}.self_attention.w_q.down",
        "layers.{}.self_attn.q_a_layernorm": "layers.{}.self_attention.w_q.norm",
        "layers.{}.self_attn.q_b_proj": "layers.{}.self_attention.w_q.up",
        "layers.{}.self_attn.kv_a_proj_with_mqa": "layers.{}.self_attention.w_latent_and_rope",  # two in one
        "layers.{}.self_attn.kv_a_layernorm": "layers.{}.self_attention.norm",
        "layers.{}.self_attn.kv_b_proj": "layers.{}.self_attention.w_uk_and_uv",  # two in one
        "layers.{}.mlp.gate.e_score_correction_bias": "layers.{}.feed_forward.balance",
        "layers.{}.mlp.shared_experts.gate_proj": "layers.{}.feed_forward.shared.w_gate",
        "layers.{}.mlp.shared_experts.up_proj": "layers.{}.feed_forward.shared.w_up",
        "layers.{}.mlp.shared_experts.down_proj": "layers.{}.feed_forward.shared.w_down",
    }
)
QWEN3_NEXT = (
    QWEN3
    | EXPERTS
    | {
        "layers.{}.self_attn.q_proj": "layers.{}.self_attention.w_q_and_gate",  # two in one
        "layers.{}.linear_attn.in_proj_qkvz": "layers.{}.self_attention.w_query_key_value_gate",  # four in one
        "layers.{}.linear_attn.in_proj_ba": "layers.{}.self_attention.w_beta_decay",  # two in one
        "layers.{}.linear_attn.conv1d": "layers.{}.self_attention.convolution",
        "layers.{}.linear_attn.A_log": "layers.{}.self_attention.rate",
        "layers.{}.linear_attn.dt_bias": "layers.{}.self_attention.shift",
        "layers.{}.linear_attn.norm.weight": "layers.{}.self_attention.norm_weight",
        "layers.{}.linear_attn.out_proj": "layers.{}.self_attention.w_o",
        "layers.{}.mlp.shared_expert.gate_proj": "layers.{}.feed_forward.shared.network.w_gate",
        "layers.{}.mlp.shared_expert.up_proj": "layers.{}.feed_forward.shared.network.w_up",
        "layers.{}.mlp.shared_expert.down_proj": "layers.{}.feed_forward.shared.network.w_down",
        "layers.{}.mlp.shared_expert_gate": "layers.{}.feed_forward.shared.gate",
    }
)
NO_WEIGHTS = re.compile(  # masks and tables that are computed, and a part that no task here reads
    r"(embeddings\.position_ids|h\.\d+\.attn\.(bias|masked_bias)|layers\.\d+\.self_attn\.rotary_emb\.inv_freq|"
    r"pooler\.dense\.(weight|bias)|cls\..*)"
)


def ours(
    tensors: Mapping[str, Tensor], names: Mapping[str, str], prefix: str, end: Callable[[str], str] = str
) -> Iterator[tuple[str, Tensor]]:
    """Each tensor under the name that it has here. A name that is not known stays as it is, and will be refused."""
    for name, tensor in tensors.items():
        plain = name.removeprefix(prefix)
        if not NO_WEIGHTS.fullmatch(plain):
            yield renamed(plain, names, end), tensor


def renamed(name: str, names: Mapping[str, str], end: Callable[[str], str]) -> str:
    numbers = re.findall(r"(?<=\.)\d+(?=\.)", name)
    whole = re.sub(r"(?<=\.)\d+(?=\.)", "{}", name)
    if whole in names:
        return names[whole].format(*numbers)
    stem, dot, last = whole.rpartition(".")
    return names[stem].format(*numbers) + end(dot + last) if stem in names else name
