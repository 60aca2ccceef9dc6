"""A language model as it travels into a page: matrices as whole numbers of 8 bits, with a scale for each row.

`language_model.js` reads it, and computes with the numbers as they were sent; `as_sent` is the same model in torch.
"""

import base64
from copy import deepcopy

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.language_model import LanguageModel

MOST_WEIGHTS = 640_000  # about 850 kB of text
LARGEST = 127  # of 8 bits, as far from 0 to both sides


def sent(model: LanguageModel) -> dict:
    """All that a page needs to compute the model's logits.

    Raises:
        ValueError: the model has more than MOST_WEIGHTS weights.
    """
    config, n_weights = model.config, count(model)
    if n_weights > MOST_WEIGHTS:
        raise ValueError(f"a model in a page may have at most {MOST_WEIGHTS:,} weights (this one has {n_weights:,})")
    return {
        "n_heads": config.n_heads,
        "max_len": config.max_len,
        "rotary": config.positions == "rotary",
        "activation": config.activation,
        "norm_first": config.norm_first,
        "tokens": in_bytes(model.tokens.weight),
        "positions": None if model.positions is None else in_bytes(model.positions.encoding),
        "layers": [layer_sent(layer) for layer in model.layers],
        "norm": norm_sent(model.norm),
        "to_logits": None if config.tie_weights else in_bytes(model.to_logits.weight),
    }


def count(model: nn.Module) -> int:
    """How many weights a model has; one that is used twice counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def layer_sent(layer: nn.Module) -> dict:
    attention, feed_forward = layer.self_attention, layer.feed_forward
    return {
        "attention": {name: linear_sent(getattr(attention, name)) for name in ("w_q", "w_k", "w_v", "w_o")},
        "norm_1": norm_sent(layer.get_submodule("residual_1.norm")),
        "feed_forward": {name: linear_sent(getattr(feed_forward, name)) for name in ("w_1", "w_2")},
        "norm_2": norm_sent(layer.get_submodule("residual_2.norm")),
    }


def linear_sent(linear: nn.Linear) -> dict:
    return {"weight": in_bytes(linear.weight), "bias": linear.bias}


def norm_sent(norm: nn.Module) -> dict | None:
    """Its weight and bias; None if it is no norm but leaves all as it is."""
    if isinstance(norm, nn.Identity):
        return None
    return {"weight": norm.weight, "bias": norm.bias, "eps": norm.eps}


def whole_numbers(matrix: Float[Tensor, "rows columns"]) -> tuple[Tensor, Float[Tensor, " rows"]]:
    """Whole numbers from -127 to 127, and what one of them is worth in each row."""
    matrix = matrix.detach().cpu().float()
    scale = matrix.abs().amax(dim=1) / LARGEST  # (rows,)
    whole = (matrix / scale.where(scale > 0, 1.0)[:, None]).round()
    return whole.to(torch.int8), scale


def in_bytes(matrix: Float[Tensor, "rows columns"]) -> dict:
    """A matrix as base64 of its whole numbers, with their scales."""
    whole, scale = whole_numbers(matrix)
    return {"i8": base64.b64encode(whole.numpy().tobytes()).decode(), "scale": scale, "shape": list(whole.shape)}


def as_sent(model: LanguageModel) -> LanguageModel:
    """A copy of the model with the weights that reach the page: on the CPU, in eval mode."""
    copy = deepcopy(model).cpu().eval()
    with torch.no_grad():
        for parameter in copy.parameters():
            if parameter.ndim == 2:
                whole, scale = whole_numbers(parameter)
                parameter.copy_(whole * scale[:, None])  # (rows, columns) · (rows, 1)
    return copy
