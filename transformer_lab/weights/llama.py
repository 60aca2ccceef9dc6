"""Llama's weights: the same in our `LanguageModel` and in Hugging Face's `LlamaForCausalLM`, copied either way.

The names differ, and one thing more: which two features of a head turn together. Here they are neighbours, 2i and
2i + 1, as in the paper of RoPE and in Llama's own code; there they lie half a head apart, i and i + d_head / 2. The
scores are the same if the rows of W_Q and W_K change places. The library itself is not needed here.
"""

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.models.language_model import LanguageModel, LanguageModelLayer, RotaryAttention
from transformer_lab.nn.blocks import RMSNorm, SwiGLU
from transformer_lab.weights.torch_nn import check_equal, copy, same_function, same_names


def copy_to_llama(ours: LanguageModel, theirs: nn.Module) -> None:
    """Give Hugging Face's model the weights of ours.

    Raises:
        ValueError: the two would not compute the same with equal weights; nothing is copied then.
    """
    copy((mine, other) for mine, other in paired_llama(ours, theirs))


def copy_from_llama(theirs: nn.Module, ours: LanguageModel) -> None:
    """Give our model the weights of Hugging Face's.

    Raises:
        ValueError: the two would not compute the same with equal weights; nothing is copied then.
    """
    copy((other, mine) for mine, other in paired_llama(ours, theirs))


def paired_llama(ours: LanguageModel, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Each parameter of ours beside the tensor of theirs, or the view of one, that means the same."""
    if type(theirs).__name__ != "LlamaForCausalLM":
        raise ValueError(f"the counterpart of a LanguageModel must be LlamaForCausalLM (got {type(theirs).__name__})")
    check_llama(ours)
    body = theirs.get_submodule("model")
    layers = [*body.get_submodule("layers").children()]
    check_equal("number of layers", len(ours.layers), len(layers))
    embedding, output = body.get_parameter("embed_tokens.weight"), theirs.get_parameter("lm_head.weight")
    check_equal("tying of embedding and output", ours.config.tie_weights, embedding is output)
    check_rotations(ours, getattr(theirs, "config", None))
    yield ours.tokens.weight, embedding
    for mine, other in zip(ours.layers, layers, strict=True):
        assert isinstance(mine, LanguageModelLayer)  # a ModuleList does not say of what
        yield from paired_layers(mine, other)
    yield from paired_norms(ours.norm, body.get_submodule("norm"))
    if embedding is not output:
        yield ours.to_logits.weight, output


def check_llama(ours: LanguageModel) -> None:
    """Raise a ValueError unless a model's config is that of a Llama."""
    wanted = {"positions": "rotary", "norm": "rms_norm", "norm_first": True, "feed_forward": "swiglu", "bias": False}
    for name, value in wanted.items():
        if (found := getattr(ours.config, name)) != value:
            raise ValueError(f"{name} of a Llama must be {value!r} (got {found!r})")


def check_rotations(ours: LanguageModel, config: object) -> None:
    """Raise a ValueError unless both turn by the same angles: theirs may have been stretched for longer texts."""
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    kind = rope.get("rope_type", "default")
    if kind != "default":
        raise ValueError(f"the angles of a Llama must be those of its base alone (its rope_type is {kind!r})")
    base = rope.get("rope_theta", getattr(config, "rope_theta", None))
    check_equal("base of the angles", ours.config.rotary_base, base)


def paired_layers(ours: LanguageModelLayer, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    yield from paired_norms(ours.residual_1.norm, theirs.get_submodule("input_layernorm"))
    assert isinstance(ours.self_attention, RotaryAttention)  # as `check_llama` found
    yield from paired_attentions(ours.self_attention, theirs.get_submodule("self_attn"))
    yield from paired_norms(ours.residual_2.norm, theirs.get_submodule("post_attention_layernorm"))
    assert isinstance(ours.feed_forward, SwiGLU)
    mlp = theirs.get_submodule("mlp")
    if not same_function(nn.functional.silu, mlp.get_submodule("act_fn")):
        raise ValueError("the activation of a Llama must be silu to be copied")
    names = ((ours.feed_forward.w_gate, "gate_proj"), (ours.feed_forward.w_up, "up_proj"))
    for mine, name in (*names, (ours.feed_forward.w_down, "down_proj")):
        yield from same_names(mine, mlp.get_submodule(name))


def paired_attentions(ours: RotaryAttention, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    check_equal("size of a head", ours.w_q.out_features // ours.n_heads, getattr(theirs, "head_dim", None))
    for mine, name, n_heads in ((ours.w_q, "q_proj", ours.n_heads), (ours.w_k, "k_proj", ours.n_kv_heads)):
        ((weight, other),) = same_names(mine, theirs.get_submodule(name))
        check_equal(f"shape of {name}", tuple(weight.shape), tuple(other.shape))
        yield neighbours(weight, n_heads), halves(other, n_heads)
    yield from same_names(ours.w_v, theirs.get_submodule("v_proj"))
    yield from same_names(ours.w_o, theirs.get_submodule("o_proj"))


def neighbours(weight: Float[Tensor, "out d_model"], n_heads: int) -> Float[Tensor, "{n_heads} pairs 2 d_model"]:
    """The rows of a projection by head and pair, if features 2i and 2i + 1 turn together: a view."""
    return weight.unflatten(0, (n_heads, -1, 2))


def halves(weight: Float[Tensor, "out d_model"], n_heads: int) -> Float[Tensor, "{n_heads} pairs 2 d_model"]:
    """The rows of a projection by head and pair, if features i and i + d_head / 2 turn together: a view."""
    return weight.unflatten(0, (n_heads, 2, -1)).transpose(1, 2)


def paired_norms(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    assert isinstance(ours, RMSNorm)  # as `check_llama` found
    check_equal("eps", ours.eps, getattr(theirs, "variance_epsilon", None))
    yield from same_names(ours, theirs)
