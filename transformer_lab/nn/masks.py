"""Masks: section 3.2.3 of "Attention Is All You Need", and the two opposite conventions of torch.

Here and in `F.scaled_dot_product_attention`, True = may attend. In `nn.MultiheadAttention` and all of
`nn.Transformer`, True = may *not* attend. Combine ours with `&`; convert with the `to_torch_*` functions.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_lab.checks import check_boolean, check_least, check_tokens, check_whole


def causal_mask(length: int, device: torch.device | str | None = None) -> Bool[Tensor, "{length} {length}"]:
    """Each position may attend to itself and to those before it: a lower triangle of True (§3.2.3)."""
    check_least(0, length=length)
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def padding_mask(tokens: Int[Tensor, "B S"], pad_id: int) -> Bool[Tensor, "B 1 1 S"]:
    """Every query may attend to every key that is not padding.

    Raises:
        ValueError: the tokens are not whole numbers on two axes.
    """
    check_tokens("tokens", tokens)
    check_whole(pad_id=pad_id)
    return (tokens != pad_id)[:, None, None, :]


def decoder_mask(tokens: Int[Tensor, "B T"], pad_id: int) -> Bool[Tensor, "B 1 T T"]:
    """The mask of a decoder's self-attention, which hides the future and the padding.

    Raises:
        ValueError: the tokens are not whole numbers on two axes.
    """
    return padding_mask(tokens, pad_id) & causal_mask(tokens.size(1), tokens.device)


def to_torch_attn_mask(mask: Bool[Tensor, "..."], batch: int, n_heads: int) -> Bool[Tensor, "{batch}*{n_heads} T S"]:
    """Our mask as the `attn_mask` of `nn.MultiheadAttention`: True = may not attend, batch and heads in one axis.

    The heads of one sentence lie next to one another there: row `b * n_heads + i` belongs to head i of sentence b.
    A query that may attend to nothing makes that module return NaN; ours returns zeros.

    Raises:
        ValueError: the mask is not boolean, or does not broadcast to (batch, n_heads, T, S); batch is below 0, or
            n_heads below 1.
    """
    check_boolean(mask)
    check_least(0, batch=batch)
    check_least(1, n_heads=n_heads)
    if mask.ndim not in (2, 3, 4):
        raise ValueError(f"a mask must have 2, 3 or 4 axes, the last two being T and S (got {mask.ndim})")
    full = (batch, n_heads, *mask.shape[-2:])
    try:
        return ~mask.expand(full).flatten(0, 1)
    except RuntimeError:
        raise ValueError(f"a mask must broadcast to {full} (got {tuple(mask.shape)})") from None


def to_torch_key_padding_mask(mask: Bool[Tensor, "B 1 1 S"]) -> Bool[Tensor, "B S"]:
    """A padding mask as the `key_padding_mask` of `nn.MultiheadAttention`: True = ignore this key.

    Raises:
        ValueError: the mask is not boolean, or is no padding mask.
    """
    check_boolean(mask)
    if mask.ndim != 4 or mask.shape[1:3] != (1, 1):
        raise ValueError(f"a padding mask must have the shape (B, 1, 1, S) (got {tuple(mask.shape)})")
    return ~mask[:, 0, 0, :]


def to_additive_mask(mask: Bool[Tensor, "*axes"], dtype: torch.dtype = torch.float32) -> Float[Tensor, "*axes"]:
    """A mask to be *added* to the scores, as all of torch accepts it: 0 where allowed, -inf where not.

    Raises:
        ValueError: the mask is not boolean, or the type not one of floating-point numbers.
    """
    check_boolean(mask)
    if not dtype.is_floating_point:
        raise ValueError(f"dtype must be one of floating-point numbers, which have -inf (got {dtype})")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, float("-inf"))
