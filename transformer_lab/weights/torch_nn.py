"""The same weights in our modules and in torch.nn's: copied either way, they compute the same numbers.

torch keeps W_Q, W_K and W_V stacked in one `in_proj_weight` and numbers its norms and linears; the rest is names.
What is no weight, such as the number of heads, must agree, or the copy is refused. Only dropout may differ: the two
compute the same in eval mode.
"""

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor, nn

from transformer_lab.nn.attention import MultiHeadAttention
from transformer_lab.nn.blocks import FeedForward, LayerNorm, PreNormResidual
from transformer_lab.nn.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer

Ours = MultiHeadAttention | EncoderLayer | DecoderLayer | Encoder | Decoder
Theirs = (
    nn.MultiheadAttention
    | nn.TransformerEncoderLayer
    | nn.TransformerDecoderLayer
    | nn.TransformerEncoder
    | nn.TransformerDecoder
)
COUNTERPARTS = {
    MultiHeadAttention: nn.MultiheadAttention,
    EncoderLayer: nn.TransformerEncoderLayer,
    DecoderLayer: nn.TransformerDecoderLayer,
    Encoder: nn.TransformerEncoder,
    Decoder: nn.TransformerDecoder,
}


def copy_to_torch(ours: Ours, theirs: Theirs) -> None:
    """Give torch's module the weights of ours.

    Raises:
        ValueError: the two would not compute the same with equal weights; nothing is copied then.
    """
    copy((mine, other) for mine, other in paired(ours, theirs))


def copy_from_torch(theirs: Theirs, ours: Ours) -> None:
    """Give our module the weights of torch's.

    Raises:
        ValueError: the two would not compute the same with equal weights; nothing is copied then.
    """
    copy((other, mine) for mine, other in paired(ours, theirs))


@torch.no_grad()
def copy(pairs: Iterable[tuple[Tensor, Tensor]]) -> None:
    """Copy the first tensor of each pair into the second, once it is known that all can be."""
    pairs = list(pairs)
    for source, target in pairs:
        if source.shape != target.shape:
            shapes = f"{tuple(source.shape)}, {tuple(target.shape)}"
            raise ValueError(f"weights must have equal shapes to be copied ({shapes})")
        if source.is_meta != target.is_meta:
            devices = f"{source.device}, {target.device}"
            raise ValueError(f"both modules must lie on devices that hold numbers, which meta does not ({devices})")
    for source, target in pairs:
        target.copy_(source)


def paired(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Each parameter of ours beside the tensor (or the part of a stacked tensor) of torch's that means the same."""
    check_counterpart(ours, theirs)
    match ours, theirs:
        case MultiHeadAttention(), nn.MultiheadAttention():
            yield from paired_attentions(ours, theirs)
        case EncoderLayer(), nn.TransformerEncoderLayer():
            check_equal("norm_first", isinstance(ours.residual_1, PreNormResidual), theirs.norm_first)
            yield from paired(ours.self_attention, theirs.self_attn)
            yield from paired_feed_forwards(ours.feed_forward, theirs)
            yield from paired_norms(ours.residual_1.norm, theirs.norm1)
            yield from paired_norms(ours.residual_2.norm, theirs.norm2)
        case DecoderLayer(), nn.TransformerDecoderLayer():
            check_equal("norm_first", isinstance(ours.residual_1, PreNormResidual), theirs.norm_first)
            yield from paired(ours.self_attention, theirs.self_attn)
            yield from paired(ours.cross_attention, theirs.multihead_attn)
            yield from paired_feed_forwards(ours.feed_forward, theirs)
            yield from paired_norms(ours.residual_1.norm, theirs.norm1)
            yield from paired_norms(ours.residual_2.norm, theirs.norm2)
            yield from paired_norms(ours.residual_3.norm, theirs.norm3)
        case Encoder(), nn.TransformerEncoder():
            yield from paired_stacks(ours, theirs)
        case Decoder(), nn.TransformerDecoder():
            yield from paired_stacks(ours, theirs)


def paired_stacks(
    ours: Encoder | Decoder, theirs: nn.TransformerEncoder | nn.TransformerDecoder
) -> Iterator[tuple[Tensor, Tensor]]:
    check_equal("number of layers", len(ours.layers), len(theirs.layers))
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        yield from paired(mine, other)
    yield from paired_norms(ours.norm, theirs.norm)


def paired_attentions(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> Iterator[tuple[Tensor, Tensor]]:
    check_equal("kind of attention", type(ours).__name__, MultiHeadAttention.__name__)
    check_equal("number of heads", ours.n_heads, theirs.num_heads)
    if theirs.bias_k is not None or theirs.add_zero_attn:
        additions = f"(bias_k: {theirs.bias_k is not None}, add_zero_attn: {theirs.add_zero_attn})"
        raise ValueError(f"torch's attention must add no keys and values of its own to be copied {additions}")
    if theirs.in_proj_weight is None or theirs.in_proj_bias is None:
        message = "torch's attention must have biases, and keys and values as wide as queries, to be copied"
        raise ValueError(message)
    stacked = zip(theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3), strict=True)
    for mine, (weight, bias) in zip((ours.w_q, ours.w_k, ours.w_v), stacked, strict=True):
        yield from ((mine.weight, weight), (mine.bias, bias))
    yield from same_names(ours.w_o, theirs.out_proj)


def paired_feed_forwards(
    ours: nn.Module, theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
) -> Iterator[tuple[Tensor, Tensor]]:
    """torch's layers hold the two linears themselves."""
    ours = two_layers(ours)
    if not same_function(ours.activation, theirs.activation):
        names = ", ".join(getattr(f, "__name__", str(f)) for f in (ours.activation, theirs.activation))
        raise ValueError(f"both modules must have the same activation to be copied ({names})")
    yield from same_names(ours.w_1, theirs.linear1)
    yield from same_names(ours.w_2, theirs.linear2)


def two_layers(module: nn.Module) -> FeedForward:
    """A feed-forward network, if it is the paper's."""
    if not isinstance(module, FeedForward):
        raise ValueError(f"a feed-forward network must have two layers to be copied (got {type(module).__name__})")
    return module


def paired_norms(ours: nn.Module, theirs: nn.Module | None) -> Iterator[tuple[Tensor, Tensor]]:
    """A stack may end in a norm or in none, which is an `nn.Identity` here and None there."""
    if not isinstance(ours, LayerNorm) and theirs is None:
        return
    kinds = f"({type(ours).__name__}, {type(theirs).__name__})"
    if not isinstance(ours, LayerNorm) or not isinstance(theirs, nn.LayerNorm):
        raise ValueError(f"both modules must have layer norms in the same places to be copied {kinds}")
    check_equal("eps", ours.eps, theirs.eps)
    yield from same_names(ours, theirs)


def same_names(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Parameters of two modules that carry the same names."""
    mine, other = dict(ours.named_parameters()), dict(theirs.named_parameters())
    if mine.keys() != other.keys():
        raise ValueError(f"both modules must have the same parameters ({sorted(mine)}, {sorted(other)})")
    for name, parameter in mine.items():
        yield parameter, other[name]


def same_function(one: Callable[[Tensor], Tensor], other: Callable[[Tensor], Tensor]) -> bool:
    """Whether they are one, such as F.relu, or like F.relu and `nn.ReLU()` give the same from -4 to 4."""
    probe = torch.linspace(-4, 4, 33, device="cpu")
    return one is other or torch.equal(one(probe.clone()), other(probe.clone()))  # one may work in place


def check_counterpart(ours: nn.Module, theirs: nn.Module) -> None:
    for kind, counterpart in COUNTERPARTS.items():
        if isinstance(ours, kind):
            if not isinstance(theirs, counterpart):
                rule = f"the counterpart of {kind.__name__} must be torch.nn's {counterpart.__name__}"
                raise ValueError(f"{rule} (got {type(theirs).__name__})")
            return
    raise ValueError(f"torch.nn must have a counterpart of the module to copy (got {type(ours).__name__})")


def check_equal(what: str, mine: object, other: object) -> None:
    if mine != other:
        raise ValueError(f"both modules must have the same {what} to be copied ({mine}, {other})")
