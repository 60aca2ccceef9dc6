"""Families with experts: Mixtral, gpt-oss, DeepSeek-V3."""

import torch
from torch import Tensor, nn

from transformer_lab.models.experts import MixtureOfExperts
from transformer_lab.models.language_model import drop_biases
from transformer_lab.models.since_llama.latent_attention import LatentAttention, LowRankLinear
from transformer_lab.models.since_llama.layers import OpenLayer
from transformer_lab.models.since_llama.rope_scaling import yarn_magnitude
from transformer_lab.models.since_llama.routing import ClampedExperts, SigmoidExperts
from transformer_lab.models.since_llama.sinks import SinkAttention
from transformer_lab.nn.blocks import SwiGLU
from transformer_lab.nn.positions import RotaryPositions
from transformer_lab.weights.families import Config, Tensors, ask
from transformer_lab.weights.open_families.angles import rope_of, rope_type, rotary_of
from transformer_lab.weights.open_families.reading import (
    FULL,
    SLIDING,
    Made,
    attention_of,
    heads_of,
    layer_of,
    located,
    neighbours,
    open_model,
    paired_rows,
    residuals_of,
    swiglu_of,
    windows_of,
)
from transformer_lab.weights.tensor_names import DEEPSEEK_V3, GPT_OSS, MIXTRAL


def mixtral(config: Config, tensors: Tensors) -> Made:
    """A Mixtral: a Mistral with a mixture of experts in each layer."""
    ask(config, "hidden_act", "silu")
    config = {"rope_theta": 1e6, **config}
    d_head = heads_of(config).d_head
    rotary = rotary_of(config, d_head)

    def layer(i: int) -> OpenLayer:
        sizes = config["hidden_size"], config["intermediate_size"]
        experts = MixtureOfExperts(*sizes, config["num_local_experts"], config["num_experts_per_tok"])
        drop_biases(experts)
        return layer_of(config.get("sliding_window"), attention_of(config, rotary), experts, *residuals_of(config))

    return open_model(config, layer), neighbours(located(config, tensors, MIXTRAL), d_head)


def gpt_oss(config: Config, tensors: Tensors) -> Made:
    """A gpt-oss: sinks, every other layer with a window, experts with clamps, biases nearly everywhere."""
    ask(config, "hidden_act", "silu")
    config = {"head_dim": 64, "rope_theta": 150_000.0, "attention_bias": True, **config}
    d_head, windows = heads_of(config).d_head, windows_of(config, lambda i: FULL if i % 2 else SLIDING)
    rotary = rotary_of(config, d_head)

    def layer(i: int) -> OpenLayer:
        experts = ClampedExperts(
            *(config["hidden_size"], config["intermediate_size"]),
            *(config["num_local_experts"], config["num_experts_per_tok"]),
            *(config.get("swiglu_alpha", 1.702), config.get("swiglu_limit", 7.0)),
        )
        attention = attention_of(config, rotary, kind=SinkAttention)
        return layer_of(windows[i], attention, experts, *residuals_of(config))

    found = neighbours(located(config, tensors, GPT_OSS), d_head)
    return open_model(config, layer), {name: x for each in found.items() for name, x in single_experts(*each)}


def single_experts(name: str, tensor: Tensor) -> list[tuple[str, Tensor]]:
    """Of a gpt-oss, each expert's own part of a tensor that holds all; gate and up take turns in its columns there."""
    stem, of_all, end = name.partition(".experts.")
    if not of_all:
        return [(name, tensor)]
    part, end = end.split(".")
    parts = {"w_down": tensor} if part == "down" else {"w_gate": tensor[..., ::2], "w_up": tensor[..., 1::2]}
    return [
        (f"{stem}.experts.{i}.{key}.{end}", x.T if x.ndim == 2 else x)
        for key in parts
        for i, x in enumerate(parts[key])
    ]


def deepseek_v3(config: Config, tensors: Tensors) -> Made:
    """A DeepSeek-V3: latent attention, and, but for the first layers, experts beside a network that all use.

    Where YaRN makes scores larger by a factor of their own, the queries' matrix has it here. Layers behind the last
    that predict further tokens, which only they do from two vectors joined by `eh_proj`, are left out.
    """
    for name, wanted in (("hidden_act", "silu"), ("attention_bias", False), ("norm_topk_prob", True)):
        ask(config, name, wanted)
    rotary = rotary_of(config, config["qk_rope_head_dim"])

    def layer(i: int) -> OpenLayer:
        dense = i < config["first_k_dense_replace"]
        network = swiglu_of(config) if dense else deepseek_experts(config)
        return OpenLayer(latent_attention_of(config, rotary), network, *residuals_of(config))

    found = located(config, tensors, DEEPSEEK_V3)
    further = {layer_number(name) for name in found if name.endswith(".eh_proj.weight")}
    further -= {*range(config["num_hidden_layers"])}
    main = {name: x for name, x in found.items() if layer_number(name) not in further}
    return open_model(config, layer), {name: x for each in main.items() for name, x in deepseek_parts(config, *each)}


def layer_number(name: str) -> int:
    return int(name.split(".")[1]) if name.startswith("layers.") else -1


def deepseek_experts(config: Config) -> nn.Module:
    d_model, d_ff = config["hidden_size"], config["moe_intermediate_size"]
    experts = SigmoidExperts(
        *(d_model, d_ff, config["n_routed_experts"], config["num_experts_per_tok"]),
        shared=SwiGLU(d_model, d_ff * config["n_shared_experts"]),
        scale=config["routed_scaling_factor"],
        n_groups=config.get("n_group") or 1,
        top_groups=config.get("topk_group") or 1,
    )
    drop_biases(experts)
    return experts


def latent_attention_of(config: Config, rotary: RotaryPositions) -> LatentAttention:
    d_model, n_heads, d_nope = config["hidden_size"], config["num_attention_heads"], config["qk_nope_head_dim"]
    width, rank = n_heads * (d_nope + rotary.d_head), config.get("q_lora_rank")
    w_q = LowRankLinear(d_model, rank, width) if rank else nn.Linear(d_model, width, bias=False)
    return LatentAttention(d_model, n_heads, d_nope, config["kv_lora_rank"], config["v_head_dim"], rotary, w_q)


def deepseek_parts(config: Config, name: str, tensor: Tensor) -> list[tuple[str, Tensor]]:
    """What a tensor of a DeepSeek-V3 is here: two matrices in one are parted, and pairs that turn are neighbours."""
    d_nope, d_rope, d_latent = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["kv_lora_rank"]
    stem = name.rpartition(".w_")[0]
    apart = not config.get("rope_interleave", True)  # pairs lie half of d_rope apart
    if name.endswith((".w_q.up.weight", ".w_q.weight")):
        by_head = tensor.float().unflatten(0, (-1, d_nope + d_rope)) * score_scale(config)  # in bf16 this would round
        turning = by_head[:, d_nope:].flatten(0, 1)
        turning = paired_rows(turning, d_rope, d_rope) if apart else turning
        rows = torch.cat([by_head[:, :d_nope], turning.unflatten(0, (-1, d_rope))], dim=1)
        return [(name, rows.flatten(0, 1))]
    if name.endswith(".w_latent_and_rope.weight"):
        rope = paired_rows(tensor[d_latent:], d_rope, d_rope) if apart else tensor[d_latent:]
        return [(f"{stem}.w_latent.weight", tensor[:d_latent]), (f"{stem}.w_rope.weight", rope)]
    if name.endswith(".w_uk_and_uv.weight"):
        by_head = tensor.unflatten(0, (-1, d_nope + config["v_head_dim"])).mT  # (h, d_latent, d_nope + d_v)
        return [(f"{stem}.w_uk", by_head[..., :d_nope]), (f"{stem}.w_uv", by_head[..., d_nope:])]
    return [(name, tensor)]


def score_scale(config: Config) -> float:
    """By what scores are multiplied beyond 1 / √(d_nope + d_rope)."""
    rope = rope_of(config)
    slope = rope.get("mscale_all_dim") or 0
    return yarn_magnitude(rope["factor"], slope) ** 2 if rope_type(rope) != "default" and slope else 1.0
