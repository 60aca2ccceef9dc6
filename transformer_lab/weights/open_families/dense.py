"""Families with one feed-forward network in each layer: Llama 3, Mistral, Qwen 2 and 3, OLMo 2, Gemma 3."""

from torch import Tensor

from transformer_lab.models.language_model import LanguageModelConfig
from transformer_lab.models.since_llama.feed_forwards import GeGLU
from transformer_lab.models.since_llama.layers import OpenLayer
from transformer_lab.models.since_llama.open_model import OpenModel
from transformer_lab.models.since_llama.qk_norm import QKNorm, WholeQKNorm
from transformer_lab.models.since_llama.residuals import SandwichResidual, SublayerNormResidual
from transformer_lab.models.since_llama.soft_cap import CappedLinear
from transformer_lab.weights import families
from transformer_lab.weights.families import Config, Tensors, ask
from transformer_lab.weights.open_families.angles import rope_of, rope_type, rotary_of
from transformer_lab.weights.open_families.reading import (
    FULL,
    SLIDING,
    Made,
    attention_of,
    from_one,
    heads_of,
    layer_of,
    located,
    neighbours,
    open_model,
    residuals_of,
    swiglu_of,
    windows_of,
)
from transformer_lab.weights.tensor_names import GEMMA3, LLAMA, OLMO2, QWEN3


def llama(config: Config, tensors: Tensors) -> tuple[LanguageModelConfig | OpenModel, dict[str, Tensor]]:
    """A Llama: the first ones are a `LanguageModel`; those with scaled angles or other heads need other parts."""
    heads = heads_of(config)
    first = rope_type(rope_of(config)) == "default" and heads.d_head * heads.n_heads == config["hidden_size"]
    if first and not config.get("attention_bias"):
        return families.llama(config, tensors)
    ask(config, "mlp_bias", False)
    return plain(config, tensors)


def plain(
    config: Config, tensors: Tensors, windows: list[int | None] | None = None, biases: tuple[str, ...] = ()
) -> Made:
    """Llama's layers, some of which may have a window: RMSNorm in front, grouped-query attention, SwiGLU."""
    ask(config, "hidden_act", "silu")
    heads = heads_of(config)
    rotary = rotary_of(config, heads.d_head)

    def layer(i: int) -> OpenLayer:
        attention = attention_of(config, rotary, biases=biases)
        return layer_of(windows[i] if windows else None, attention, swiglu_of(config), *residuals_of(config))

    return open_model(config, layer), neighbours(located(config, tensors, LLAMA), heads.d_head)


def mistral(config: Config, tensors: Tensors) -> Made:
    """A Mistral: the same window in all layers, or in none."""
    ask(config, "layer_types", None)
    return plain(config, tensors, [config.get("sliding_window")] * config["num_hidden_layers"])


def qwen_windows(config: Config) -> list[int | None]:
    """The first layers of a Qwen see everything, and so do the others unless it says otherwise."""
    sliding, first = config.get("use_sliding_window", False), config.get("max_window_layers", 28)
    return windows_of(config, lambda i: SLIDING if sliding and i >= first else FULL)


def qwen2(config: Config, tensors: Tensors) -> Made:
    """A Qwen 2: Llama's layers with biases on queries, keys and values."""
    return plain(config, tensors, qwen_windows(config), biases=("w_q", "w_k", "w_v"))


def qwen3(config: Config, tensors: Tensors) -> Made:
    """A Qwen 3: a norm on the queries and keys of each head."""
    ask(config, "hidden_act", "silu")
    config = {"head_dim": 128, **config}
    d_head, windows = heads_of(config).d_head, qwen_windows(config)
    rotary = rotary_of(config, d_head)

    def layer(i: int) -> OpenLayer:
        attention = attention_of(config, rotary, QKNorm(d_head, config["rms_norm_eps"]))
        return layer_of(windows[i], attention, swiglu_of(config), *residuals_of(config))

    return open_model(config, layer), neighbours(located(config, tensors, QWEN3), d_head)


def olmo2(config: Config, tensors: Tensors) -> Made:
    """An OLMo 2: norms behind the sub-layers, and on queries and keys over all heads together."""
    ask(config, "hidden_act", "silu")
    heads = heads_of(config)
    rotary = rotary_of(config, heads.d_head)

    def layer(i: int) -> OpenLayer:
        attention = attention_of(config, rotary, WholeQKNorm(*heads, config["rms_norm_eps"]))
        return OpenLayer(attention, swiglu_of(config), *residuals_of(config, SublayerNormResidual))

    return open_model(config, layer), neighbours(located(config, tensors, OLMO2), heads.d_head)


def gemma3(config: Config, tensors: Tensors) -> Made:
    """The text model of a Gemma 3: local and global layers with angles of their own, norms on both sides, GeGLU.

    Two things are reckoned into the weights. A norm there multiplies by 1 + weight. And scores are divided by
    √query_pre_attn_scalar there, but by √d_head here, so the queries' norm makes up for it.
    """
    config = {"head_dim": 256, "tie_word_embeddings": True, **config}
    ask(config, "hidden_activation", "gelu_pytorch_tanh")
    ask(config, "use_bidirectional_attention", False)
    ask(config, "attn_logit_softcapping", None)  # transformers' Gemma 3 doesn't compute it either
    d_head, cap = heads_of(config).d_head, config.get("final_logit_softcapping")
    pattern = config.get("sliding_window_pattern") or config.get("_sliding_window_pattern") or 6
    windows = windows_of(config, lambda i: SLIDING if (i + 1) % pattern else FULL)
    rotary = {kind: rotary_of({**config, **gemma_rope(config, kind)}, d_head) for kind in (FULL, SLIDING)}

    def layer(i: int) -> OpenLayer:
        positions = rotary[SLIDING if windows[i] else FULL]
        attention = attention_of(config, positions, QKNorm(d_head, config["rms_norm_eps"]))
        network = swiglu_of(config, GeGLU)
        return layer_of(windows[i], attention, network, *residuals_of(config, SandwichResidual))

    to_logits = CappedLinear(config["hidden_size"], config["vocab_size"], cap) if cap else None
    found = from_one(neighbours(located(config, tensors, GEMMA3), d_head))
    for name in found:
        if name.endswith(".weight_q"):
            found[name] = found[name] * (d_head / config["query_pre_attn_scalar"]) ** 0.5
    return open_model(config, layer, config["hidden_size"] ** 0.5, to_logits), found


def gemma_rope(config: Config, kind: str) -> Config:
    """What a Gemma says about the angles of one kind of layer, as other families say it; older files say it apart."""
    new = config.get("rope_parameters") or {}
    if kind in new:
        return {"rope_parameters": new[kind], "rope_theta": 1e6 if kind == FULL else 1e4}
    if kind == SLIDING:
        return {"rope_parameters": {"rope_theta": config.get("rope_local_base_freq") or 1e4}}
    return {"rope_parameters": config.get("rope_scaling"), "rope_theta": config.get("rope_theta") or 1e6}
