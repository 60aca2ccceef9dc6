"""GPT-2's weights: the same in our `LanguageModel` and in Hugging Face's `GPT2LMHeadModel`, copied either way.

There W_Q, W_K and W_V are side by side in one matrix, and every matrix is applied as `x @ weight`, which is the
transpose of `nn.Linear`'s; the rest is names. The library itself is not needed here.
"""

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.models.language_model import LanguageModel, LanguageModelLayer
from transformer_lab.nn.attention import MultiHeadAttention
from transformer_lab.nn.positions import LearnedPositions
from transformer_lab.weights.torch_nn import check_equal, copy, paired_norms, same_function, same_names, two_layers


def copy_to_gpt2(ours: LanguageModel, theirs: nn.Module) -> None:
    """Give Hugging Face's model the weights of ours.

    Raises:
        ValueError: the two would not compute the same with equal weights; nothing is copied then.
    """
    copy((mine, other) for mine, other in paired_gpt2(ours, theirs))


def copy_from_gpt2(theirs: nn.Module, ours: LanguageModel) -> None:
    """Give our model the weights of Hugging Face's.

    Raises:
        ValueError: the two would not compute the same with equal weights; nothing is copied then.
    """
    copy((other, mine) for mine, other in paired_gpt2(ours, theirs))


def paired_gpt2(ours: LanguageModel, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Each parameter of ours beside the tensor of theirs, or the view of one, that means the same."""
    if type(theirs).__name__ != "GPT2LMHeadModel":
        raise ValueError(f"the counterpart of a LanguageModel must be GPT2LMHeadModel (got {type(theirs).__name__})")
    body = theirs.get_submodule("transformer")
    layers = [*body.get_submodule("h").children()]
    if not isinstance(ours.positions, LearnedPositions) or not ours.config.norm_first:
        kind = f"positions {ours.config.positions!r}, norm_first {ours.config.norm_first}"
        raise ValueError(f"a GPT-2 must have learned positions and norms in front ({kind})")
    check_equal("number of layers", len(ours.layers), len(layers))
    tied = theirs.get_parameter("lm_head.weight") is body.get_parameter("wte.weight")
    check_equal("tying of embedding and output", ours.config.tie_weights, tied)
    yield ours.tokens.weight, body.get_parameter("wte.weight")
    yield ours.positions.encoding, body.get_parameter("wpe.weight")
    for mine, other in zip(ours.layers, layers, strict=True):
        yield from paired_layers(mine, other)
    yield from paired_norms(ours.norm, body.get_submodule("ln_f"))
    if not tied:
        yield ours.to_logits.weight, theirs.get_parameter("lm_head.weight")


def paired_layers(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    assert isinstance(ours, LanguageModelLayer)  # a ModuleList does not say of what
    yield from paired_norms(ours.residual_1.norm, theirs.get_submodule("ln_1"))
    yield from paired_attentions(ours.self_attention, theirs.get_submodule("attn"))
    yield from paired_norms(ours.residual_2.norm, theirs.get_submodule("ln_2"))
    feed_forward = two_layers(ours.feed_forward)
    if not same_function(feed_forward.activation, theirs.get_submodule("mlp.act")):
        raise ValueError("both modules must have the same activation to be copied: GPT-2's own is gelu_tanh")
    for mine, other in ((feed_forward.w_1, "mlp.c_fc"), (feed_forward.w_2, "mlp.c_proj")):
        yield from paired_linears(mine, theirs.get_submodule(other))


def paired_attentions(ours: MultiHeadAttention, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Their three projections are the three thirds of one matrix (d_model, 3 · d_model)."""
    check_equal("number of heads", ours.n_heads, getattr(theirs, "num_heads", None))
    fused = theirs.get_submodule("c_attn")
    weights, biases = split_fused_projection(fused.get_parameter("weight"), fused.get_parameter("bias"), 3)
    for mine, weight, bias in zip((ours.w_q, ours.w_k, ours.w_v), weights, biases, strict=True):
        yield from ((mine.weight, weight), (mine.bias, bias))
    yield from paired_linears(ours.w_o, theirs.get_submodule("c_proj"))


def split_fused_projection(
    weight: Float[Tensor, "d_in d_out_of_all"], bias: Float[Tensor, " d_out_of_all"], n_parts: int
) -> tuple[Float[Tensor, "n_parts d_out d_in"], Float[Tensor, "n_parts d_out"]]:
    """The weights and the biases of projections that lie side by side in one, each as `nn.Linear` has them.

    GPT-2 computes queries, keys and values by one product, `x @ weight + bias` with weight (d_in, n_parts · d_out);
    an `nn.Linear` holds (d_out, d_in), and multiplies by its transpose. What is returned are views.

    Raises:
        ValueError: the columns can't be shared out equally.
    """
    if n_parts < 1 or weight.size(1) % n_parts:
        raise ValueError(f"the columns of weight ({weight.size(1)}) must be divisible by n_parts ({n_parts})")
    weights = weight.T.unflatten(0, (n_parts, -1))  # (n_parts · d_out, d_in) → (n_parts, d_out, d_in)
    return weights, bias.unflatten(0, (n_parts, -1))  # (n_parts, d_out)


def paired_linears(ours: nn.Linear, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Theirs holds the transpose."""
    for mine, other in same_names(ours, theirs):
        yield mine, other.T if other.ndim == 2 else other
