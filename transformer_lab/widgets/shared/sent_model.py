"""A language model in the form in which it is sent to a page: 8-bit integer matrices with a scale for each row.

`language_model.js` reads it, and computes with the numbers as they were sent; `as_sent` is the same model in torch.
"""

import base64
from typing import TypeVar

from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.models.language_model import RotaryAttention
from transformer_lab.nn.attention import MultiHeadAttention
from transformer_lab.nn.blocks import LayerNorm, RMSNorm
from transformer_lab.nn.positions import SinusoidalPositions
from transformer_lab.weights.quantization import in_whole_numbers, steps

Model = TypeVar("Model", bound=nn.Module)
LARGEST = 127  # of 8 bits, as far from 0 to both sides
MOST_WEIGHTS = 640_000  # about 850 kB of text


def sent(model: nn.Module) -> dict:
    """Everything a page needs to compute the logits of a language model: any LanguageModel, or one of attention alone.

    A layer may have no feed-forward network, and no norms (then it has no `residual_1` and `residual_2` either).

    Raises:
        ValueError: the model has more than MOST_WEIGHTS weights, or parts that this package does not have.
    """
    if (n_weights := count(model)) > MOST_WEIGHTS:
        raise ValueError(f"a model in a page may have at most {MOST_WEIGHTS:,} weights (this one has {n_weights:,})")
    tokens, positions, to_logits = (getattr(model, name) for name in ("tokens", "positions", "to_logits"))
    if isinstance(positions, SinusoidalPositions):
        raise ValueError("the positions of a model in a page must be learned or rotary (got sinusoidal)")
    config, layers = getattr(model, "config", None), model.get_submodule("layers")
    longest = config.max_len if config else None if positions is None else len(positions.encoding)
    return {
        "max_len": longest,  # None: there is no limit
        "activation": config and config.activation,
        "norm_first": config is None or config.norm_first,
        "tokens": in_bytes(tokens.weight),
        "positions": None if positions is None else in_bytes(positions.encoding),
        "layers": [layer_sent(layer) for layer in layers.children()],
        "norm": norm_sent(model.get_submodule("norm")),
        "to_logits": None if to_logits.weight is tokens.weight else in_bytes(to_logits.weight),
    }


def count(model: nn.Module) -> int:
    """The number of weights of a model; a shared one counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def layer_sent(layer: nn.Module) -> dict:
    parts = dict(layer.named_modules())
    norms = {f"norm_{i}": norm_sent(parts.get(f"residual_{i}.norm", nn.Identity())) for i in (1, 2)}
    feed_forward = parts.get("feed_forward")
    linears = None if feed_forward is None else linears_sent(feed_forward)
    return norms | {"attention": attention_sent(parts["self_attention"]), "feed_forward": linears}


def attention_sent(attention: nn.Module) -> dict:
    """The matrices of an attention, their number of heads, and the base of its rotary positions, if it has any."""
    if not isinstance(attention, MultiHeadAttention):
        raise ValueError(f"the attention of a model in a page must be one of this package's (got {attention})")
    base = attention.positions.base if isinstance(attention, RotaryAttention) else None
    return linears_sent(attention) | {
        "n_heads": attention.n_heads,
        "n_kv_heads": attention.n_kv_heads,
        "rotary_base": base,
    }


def linears_sent(module: nn.Module) -> dict:
    """The linear layers of a module, by name."""
    linears = {name: part for name, part in module.named_children() if isinstance(part, nn.Linear)}
    return {name: {"weight": in_bytes(part.weight), "bias": part.bias} for name, part in linears.items()}


def norm_sent(norm: nn.Module) -> dict | None:
    """The learned parameters of a norm; None if it is an identity."""
    if isinstance(norm, nn.Identity):
        return None
    if not isinstance(norm, LayerNorm | RMSNorm):
        raise ValueError(f"a norm of a model in a page must be LayerNorm or RMSNorm (got {norm})")
    learned = {"weight": norm.weight, "bias": getattr(norm, "bias", None)}
    return learned | {"eps": norm.eps, "centred": isinstance(norm, LayerNorm)}


def matrix_sent(matrix: Float[Tensor, "rows columns"], largest: int = LARGEST) -> tuple[Tensor, Float[Tensor, " rows"]]:
    """A matrix as integers from -largest to largest, and the scale of each row.

    The worth of coarse numbers is coarse, too: half of its bytes are 0, and take no room.
    """
    matrix = matrix.detach().cpu().float()
    scale = matrix.abs().amax(dim=1) / largest  # (rows,)
    if largest < LARGEST:
        scale = scale.bfloat16().float()
    return steps(matrix, scale), scale


def in_bytes(matrix: Float[Tensor, "rows columns"]) -> dict:
    """A matrix as base64 of its integers, with their scales."""
    whole, scale = matrix_sent(matrix)
    return {"i8": base64.b64encode(whole.numpy().tobytes()).decode(), "scale": scale, "shape": list(whole.shape)}


def as_sent(model: Model, largest: int = LARGEST) -> Model:
    """A copy of the model with the weights that the page receives, on the CPU and in eval mode."""
    return in_whole_numbers(model, lambda matrix: matrix_sent(matrix, largest)).cpu().eval()
