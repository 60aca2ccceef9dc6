"""Experiments on a running model: remove a part, or replace its output with that of another run.

Each is a `with` block; after it, the model is as before. A part is named as in `model.named_modules()`. What a head
writes is the input of W_O, at which all of them act: so they hold for every attention of this package, whether torch's
fused kernel computes it or not, and with a cache. The terms are those of Elhage et al., 2021, "A Mathematical Framework
for Transformer Circuits", and of Heimersheim & Nanda, 2024, "How to use and interpret activation patching",
arXiv:2404.15255.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_lab.nn.attention import MultiHeadAttention, merge_heads, split_heads
from transformer_lab.nn.recording import check_not_compiled

PARTS = ("query", "key", "value")


@contextmanager
def ablate(model: nn.Module, layer: str, *heads: int, mean: bool = False) -> Iterator[None]:
    """Within the block, these heads of an attention write zeros or, with `mean`, their mean over the call.

    The mean, over the batch and the positions, keeps what a head writes always, and takes away what it says about this
    position of this text. (A step with a cache has one position: its mean says all.)

    Raises:
        ValueError: the model is compiled; `layer` is not the name of one of its attentions, or has no such head.
    """
    attention = attention_named(model, layer)
    chosen = head_mask(attention, heads)

    def without(output: Float[Tensor, "B h T d_head"]) -> Float[Tensor, "B h T d_head"]:
        instead = output.mean((0, 2), keepdim=True) if mean else output.new_zeros(())
        return torch.where(chosen.to(output.device), instead, output)

    with heads_changed(attention, without):
        yield


@contextmanager
def patch_heads(
    model: nn.Module,
    layer: str,
    outputs: Float[Tensor, "B h T d_head"],
    *,
    heads: Sequence[int] | None = None,
    positions: Sequence[int] | None = None,
) -> Iterator[None]:
    """Within the block, these heads of an attention write what `record_heads` recorded in another run.

    Without `heads` all of them, without `positions` at all positions.

    Raises:
        ValueError: the model is compiled; no such attention, head or position; or when the model is called, `outputs`
            have not the shape of what they replace.
    """
    attention = attention_named(model, layer)
    chosen = head_mask(attention, range(attention.n_heads) if heads is None else heads)

    def patched(output: Float[Tensor, "B h T d_head"]) -> Float[Tensor, "B h T d_head"]:
        check_same_shape(outputs, output)
        at = position_mask(positions, output) & chosen.to(output.device)  # (T, 1) & (h, 1, 1) → (h, T, 1)
        return torch.where(at, outputs, output)

    with heads_changed(attention, patched):
        yield


@contextmanager
def patch_input(
    model: nn.Module,
    layer: str,
    part: str,
    x: Float[Tensor, "B S d_model"],
    *,
    positions: Sequence[int] | None = None,
) -> Iterator[None]:
    """Within the block, an attention reads other vectors at these positions of its "query", "key" or "value" alone.

    So one can ask by which of the three something travels from layer to layer (Elhage et al. call it composition).

    Raises:
        ValueError: the model is compiled; no such attention or part; or when the model is called, `x` has not the shape
            of what it replaces, or there is no such position.
    """
    attention = attention_named(model, layer)
    if part not in PARTS:
        raise ValueError(f"part must be one of {', '.join(PARTS)} (got {part!r})")

    def hook(module: nn.Module, args: tuple) -> tuple:
        old = args[PARTS.index(part)]
        check_same_shape(x, old)
        inputs = [*args]
        inputs[PARTS.index(part)] = torch.where(position_mask(positions, old), x, old)
        return tuple(inputs)

    with attention.register_forward_pre_hook(hook):
        yield


def heads_changed(attention: MultiHeadAttention, change: Callable[[Tensor], Tensor]) -> Any:
    """A block in which `change` is applied to the outputs of the heads, (B, h, T, d_head), before W_O reads them."""

    def hook(module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        return (merge_heads(change(split_heads(args[0], attention.n_heads))),)  # (B, T, d_model) in and out

    return attention.w_o.register_forward_pre_hook(hook)


def module_named(model: nn.Module, name: str) -> nn.Module:
    check_not_compiled("an intervention", model)
    modules = dict(model.named_modules())
    if name not in modules:
        raise ValueError(f"a part must have a name in model.named_modules() (got {name!r})")
    return modules[name]


def attention_named(model: nn.Module, name: str) -> MultiHeadAttention:
    check_not_compiled("an intervention", model)
    attentions = {name: part for name, part in model.named_modules() if isinstance(part, MultiHeadAttention)}
    if name not in attentions:
        raise ValueError(f"an attention must be one of {', '.join(attentions) or 'none'} (got {name!r})")
    return attentions[name]


def head_mask(attention: MultiHeadAttention, heads: Sequence[int]) -> Bool[Tensor, "h 1 1"]:
    """A mask of the selected heads that broadcasts to (B, h, T, d_head)."""
    if not heads or not all(0 <= head < attention.n_heads for head in heads):
        raise ValueError(f"heads must be one or more of 0 to {attention.n_heads - 1} (got {[*heads]})")
    mask = torch.zeros(attention.n_heads, 1, 1, dtype=torch.bool)
    mask[[*heads]] = True
    return mask


def position_mask(positions: Sequence[int] | None, x: Float[Tensor, "*axes T d"]) -> Bool[Tensor, "T 1"]:
    """A mask of the selected positions that broadcasts to the tensor."""
    length = x.size(-2)
    if positions is None:
        return torch.ones(length, 1, dtype=torch.bool, device=x.device)
    if not all(0 <= position < length for position in positions):
        raise ValueError(f"positions must be from 0 to {length - 1} (got {[*positions]})")
    mask = torch.zeros(length, 1, dtype=torch.bool)
    mask[[*positions]] = True
    return mask.to(x.device)


def check_same_shape(new: Tensor, old: Tensor) -> None:
    if new.shape != old.shape:
        rule = f"what is patched in must have the shape of what it replaces, {tuple(old.shape)}"
        raise ValueError(f"{rule} (got {tuple(new.shape)})")
