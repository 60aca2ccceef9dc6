"""Families with one feed-forward network in each layer: Llama 3."""

from torch import Tensor

from transformer_lab.models.language_model import LanguageModelConfig
from transformer_lab.models.since_llama.layers import OpenLayer
from transformer_lab.models.since_llama.open_model import OpenModel
from transformer_lab.weights import families
from transformer_lab.weights.families import Config, Tensors, ask
from transformer_lab.weights.open_families.reading import (
    attention_of,
    heads_of,
    located,
    neighbours,
    open_model,
    residual_of,
    rope_of,
    rope_type,
    rotary_of,
    swiglu_of,
)
from transformer_lab.weights.tensor_names import LLAMA


def llama(config: Config, tensors: Tensors) -> tuple[LanguageModelConfig | OpenModel, dict[str, Tensor]]:
    """A Llama: the first ones are a `LanguageModel`; those with scaled angles or other heads need other parts."""
    heads = heads_of(config)
    first = rope_type(rope_of(config)) == "default" and heads.d_head * heads.n_heads == config["hidden_size"]
    if first and not config.get("attention_bias"):
        return families.llama(config, tensors)
    ask(config, "mlp_bias", False)
    return plain(config, tensors)


def plain(config: Config, tensors: Tensors) -> tuple[OpenModel, dict[str, Tensor]]:
    """Llama's layers: RMSNorm in front, grouped-query attention, SwiGLU."""
    ask(config, "hidden_act", "silu")
    heads = heads_of(config)
    rotary = rotary_of(config, heads.d_head)

    def layer(i: int) -> OpenLayer:
        return OpenLayer(attention_of(config, rotary), swiglu_of(config), residual_of(config), residual_of(config))

    return open_model(config, layer), neighbours(located(config, tensors, LLAMA), heads)
