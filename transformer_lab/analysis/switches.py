"""Switching off parts of a running Transformer and replacing single vectors, as the switches of the machine do.

Parts have the names of their modules, and a last word for what is no module of its own:

    src_embedding.positions                  the encoding is not added
    encoder.layers.0.self_attention.head.2   the head writes zeros
    encoder.layers.0.residual_1.skip         no way around the sub-layer: its output alone
    encoder.layers.0.residual_1.norm         the norm leaves all as it is
    encoder.layers.0.feed_forward            it writes zeros
    decoder.layers.0.self_attention.mask     a position sees those after it

After the block the model is as before. All hold with a cache, too; but a model without its mask must not use one, since
what a position has read then changes with every token that is written.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_lab.analysis.interventions import (
    ablate,
    attention_named,
    head_mask,
    heads_changed,
    module_named,
    position_mask,
)
from transformer_lab.nn.attention import MultiHeadAttention
from transformer_lab.nn.blocks import PreNormResidual, Residual
from transformer_lab.nn.transformer import Embedding


@contextmanager
def switched_off(model: nn.Module, *parts: str) -> Iterator[None]:
    """Within the block, these parts do nothing.

    Raises:
        ValueError: the model is compiled, or has no such part.
    """
    with ExitStack() as stack:
        for part in parts:
            stack.enter_context(switch(model, part))
        yield


def switch(model: nn.Module, part: str) -> Any:
    """The context in which one part does nothing."""
    owner, _, last = part.rpartition(".")
    if owner.endswith(".head") and last.isdecimal():
        return ablate(model, owner.removesuffix(".head"), int(last))
    if last in HOOKS:
        kind, hooked = HOOKS[last]
        module = module_named(model, owner)
        if isinstance(module, kind):
            return hooked(module)
    elif last == "feed_forward":
        return module_named(model, part).register_forward_hook(lambda module, args, output: torch.zeros_like(output))
    raise ValueError(f"a part must be one of those that can be switched off (got {part!r})")


def without_positions(module: Embedding) -> Any:
    """Make the embedding that of the tokens alone; dropout is left out along with the encoding."""

    def scaled(module: Embedding, args: tuple, output: Tensor) -> Tensor:
        return module.tokens(args[0]) * module.tokens.embedding_dim**0.5  # (B, T, d_model)

    return module.register_forward_hook(scaled)


def without_skip(module: Residual) -> Any:
    """Make the output the norm of the sub-layer's output or, in a pre-norm layer, the sub-layer's output itself."""

    def around(module: Residual, args: tuple[Tensor, Callable]) -> tuple[Tensor, Callable]:
        x, sublayer = args
        read = module.norm(x) if isinstance(module, PreNormResidual) else x
        return torch.zeros_like(x), lambda _: sublayer(read)

    return module.register_forward_pre_hook(around)


def without_norm(module: Residual) -> Any:
    return module.norm.register_forward_hook(lambda norm, args, output: args[0])


def without_mask(module: MultiHeadAttention) -> Any:
    return module.register_forward_pre_hook(lambda attention, args: args[:3])


HOOKS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "positions": (Embedding, without_positions),
    "skip": (Residual, without_skip),
    "norm": (Residual, without_norm),
    "mask": (MultiHeadAttention, without_mask),
}


@contextmanager
def swapped(
    model: nn.Module, part: str, position: int, value: Float[Tensor, " d"], *, head: int | None = None
) -> Iterator[None]:
    """Within the block, a part writes `value` at one position: activation patching, for runs of any two lengths.

    With `head`, a head of an attention does, and `value` has d_head numbers. A call that has no such position is left
    as it is. The model must be called with whole sequences, not with a cache.

    Raises:
        ValueError: the model is compiled; it has no such part or head.
    """

    def put(x: Float[Tensor, "*axes T d"], chosen: Bool[Tensor, "h 1 1"] | None = None) -> Float[Tensor, "*axes T d"]:
        if position >= x.size(-2):
            return x
        at = position_mask([position], x)  # (T, 1)
        at = at if chosen is None else at & chosen.to(x.device)  # (h, T, 1)
        return torch.where(at, value.to(x.dtype), x)

    if head is None:

        def hook(module: nn.Module, args: tuple, output: Any) -> Any:
            return (put(output[0]), *output[1:]) if isinstance(output, tuple) else put(output)

        block = module_named(model, part).register_forward_hook(hook)
    else:
        attention = attention_named(model, part)
        heads = head_mask(attention, [head])
        block = heads_changed(attention, lambda outputs: put(outputs, heads))  # (B, h, T, d_head)
    with block:
        yield
