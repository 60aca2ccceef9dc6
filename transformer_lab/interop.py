"""The same weights in our modules and in torch.nn's: copied either way, they compute the same numbers.

torch keeps W_Q, W_K and W_V stacked in one `in_proj_weight` and numbers its norms and linears; the rest is names.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from transformer_lab.attention import MultiHeadAttention
from transformer_lab.blocks import FeedForward
from transformer_lab.model import Decoder, DecoderLayer, Encoder, EncoderLayer

Ours = MultiHeadAttention | EncoderLayer | DecoderLayer | Encoder | Decoder
Theirs = (
    nn.MultiheadAttention
    | nn.TransformerEncoderLayer
    | nn.TransformerDecoderLayer
    | nn.TransformerEncoder
    | nn.TransformerDecoder
)


def copy_to_torch(ours: Ours, theirs: Theirs) -> None:
    """Give torch's module the weights of ours.

    Raises:
        ValueError: the two differ in a size, in the number of layers or in whether they end in a norm.
    """
    copy((mine, other) for mine, other in paired(ours, theirs))


def copy_from_torch(theirs: Theirs, ours: Ours) -> None:
    """Give our module the weights of torch's.

    Raises:
        ValueError: the two differ in a size, in the number of layers or in whether they end in a norm.
    """
    copy((other, mine) for mine, other in paired(ours, theirs))


@torch.no_grad()
def copy(pairs: Iterator[tuple[Tensor, Tensor]]) -> None:
    """Copy the first tensor of each pair into the second, once it is known that all shapes agree."""
    pairs = list(pairs)
    for source, target in pairs:
        if source.shape != target.shape:
            shapes = f"{tuple(source.shape)}, {tuple(target.shape)}"
            raise ValueError(f"weights must have equal shapes to be copied ({shapes})")
    for source, target in pairs:
        target.copy_(source)


def paired(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Each parameter of ours beside the tensor (or the part of a stacked tensor) of torch's that means the same."""
    match ours:
        case MultiHeadAttention():
            if theirs.in_proj_weight is None or theirs.in_proj_bias is None:
                message = "torch's attention must have biases, and keys and values as wide as queries, to be copied"
                raise ValueError(message)
            stacked = zip(theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3), strict=True)
            for mine, (weight, bias) in zip((ours.w_q, ours.w_k, ours.w_v), stacked, strict=True):
                yield from ((mine.weight, weight), (mine.bias, bias))
            yield from same_names(ours.w_o, theirs.out_proj)
        case FeedForward():  # torch's layers hold its two linears themselves
            yield from same_names(ours.w_1, theirs.linear1)
            yield from same_names(ours.w_2, theirs.linear2)
        case EncoderLayer():
            yield from paired(ours.self_attention, theirs.self_attn)
            yield from paired(ours.feed_forward, theirs)
            yield from same_names(ours.residual_1.norm, theirs.norm1)
            yield from same_names(ours.residual_2.norm, theirs.norm2)
        case DecoderLayer():
            yield from paired(ours.self_attention, theirs.self_attn)
            yield from paired(ours.cross_attention, theirs.multihead_attn)
            yield from paired(ours.feed_forward, theirs)
            for i, residual in enumerate((ours.residual_1, ours.residual_2, ours.residual_3), start=1):
                yield from same_names(residual.norm, getattr(theirs, f"norm{i}"))
        case Encoder() | Decoder():
            if len(ours.layers) != len(theirs.layers):
                counts = f"({len(ours.layers)}, {len(theirs.layers)})"
                raise ValueError(f"both stacks must have the same number of layers {counts}")
            for mine, other in zip(ours.layers, theirs.layers, strict=True):
                yield from paired(mine, other)
            yield from same_names(ours.norm, theirs.norm or nn.Identity())
        case _:
            raise ValueError(f"torch.nn must have a counterpart of the module to copy (got {type(ours).__name__})")


def same_names(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Parameters of two modules that carry the same names."""
    mine, other = dict(ours.named_parameters()), dict(theirs.named_parameters())
    if mine.keys() != other.keys():
        raise ValueError(f"both modules must have the same parameters ({sorted(mine)}, {sorted(other)})")
    for name, parameter in mine.items():
        yield parameter, other[name]
