"""From a model's config and tensors at Hugging Face to those here, for each family that can be loaded or copied.

The tensors are views of theirs, each by the name that it has here. In a GPT-2, W_Q, W_K and W_V are side by side in one
matrix, and every matrix is applied as `x @ weight`, which is the transpose of `nn.Linear`'s. In a Llama, the two
features of a head that turn together lie half a head apart, i and i + d_head / 2; here they are neighbours, 2i and
2i + 1, as in the paper of RoPE and in Llama's own code. The rest is names.
"""

from collections.abc import Callable, Mapping
from typing import Any

from jaxtyping import Float
from torch import Tensor

from transformer_lab.models.language_model import LanguageModelConfig
from transformer_lab.models.since_llama.open_model import OpenModel
from transformer_lab.models.text_encoder import TextEncoderConfig
from transformer_lab.weights.tensor_names import BERT, GPT2, LLAMA, ours

Config = Mapping[str, Any]
Tensors = Mapping[str, Tensor]
Family = Callable[[Config, Tensors], tuple[TextEncoderConfig | LanguageModelConfig | OpenModel, dict[str, Tensor]]]
ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}


def bert(config: Config, tensors: Tensors) -> tuple[TextEncoderConfig, dict[str, Tensor]]:
    """A BERT without heads for a task, such as a sentence encoder."""
    ask(config, "position_embedding_type", "absolute")
    ask(config, "is_decoder", False)
    sizes = TextEncoderConfig(
        **{"vocab_size": config["vocab_size"], "d_model": config["hidden_size"], "d_ff": config["intermediate_size"]},
        **{"n_heads": config["num_attention_heads"], "n_layers": config["num_hidden_layers"]},
        max_len=config["max_position_embeddings"],
        n_types=config["type_vocab_size"],
        norm_eps=config["layer_norm_eps"],
        activation=known(config, "hidden_act", ACTIVATIONS),
        pad_id=config.get("pad_token_id") or 0,
    )
    old = {".gamma": ".weight", ".beta": ".bias"}  # what TensorFlow, and the first checkpoints, called them
    return sizes, dict(ours(tensors, BERT, "bert.", lambda end: old.get(end, end)))


def gpt2(config: Config, tensors: Tensors) -> tuple[LanguageModelConfig, dict[str, Tensor]]:
    """A GPT-2: its matrices are transposed, and queries, keys and values taken out of one of them."""
    ask(config, "scale_attn_weights", True)
    ask(config, "scale_attn_by_inverse_layer_idx", False)
    sizes = LanguageModelConfig(
        **{"vocab_size": config["vocab_size"], "d_model": config["n_embd"], "n_heads": config["n_head"]},
        **{"d_ff": config.get("n_inner") or 4 * config["n_embd"], "n_layers": config["n_layer"]},
        max_len=config["n_positions"],
        norm_eps=config["layer_norm_epsilon"],
        activation=known(config, "activation_function", ACTIVATIONS),
        tie_weights=config.get("tie_word_embeddings", True),
    )
    found: dict[str, Tensor] = {}
    named = dict(ours(tensors, GPT2, "transformer."))
    for name, tensor in named.items():
        if ".w_qkv." not in name:
            is_matrix = name.startswith("layers.") and tensor.ndim == 2
            found[name] = tensor.T if is_matrix else tensor
        elif name.endswith(".weight") and (bias := named.get(name.replace(".weight", ".bias"))) is not None:
            stem = name.removesuffix("w_qkv.weight")
            parts = split_fused_projection(tensor, bias, 3)
            for part, weight, bias in zip(("w_q", "w_k", "w_v"), *parts, strict=True):
                found |= {f"{stem}{part}.weight": weight, f"{stem}{part}.bias": bias}
    return sizes, without_tied(found, sizes)


def llama(config: Config, tensors: Tensors) -> tuple[LanguageModelConfig, dict[str, Tensor]]:
    """A Llama: of W_Q and W_K the rows by head and pair (h, pairs, 2, d_model), in the order that they have here."""
    ask(config, "attention_bias", False)
    ask(config, "mlp_bias", False)
    ask(config, "hidden_act", "silu")
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    ask({"rope_type": rope.get("rope_type", rope.get("type", "default"))}, "rope_type", "default")
    n_heads = config["num_attention_heads"]
    n_kv_heads = config.get("num_key_value_heads") or n_heads
    ask(config, "head_dim", config["hidden_size"] // n_heads)
    sizes = LanguageModelConfig(
        **{"vocab_size": config["vocab_size"], "d_model": config["hidden_size"], "d_ff": config["intermediate_size"]},
        **{"n_heads": n_heads, "n_kv_heads": n_kv_heads, "n_layers": config["num_hidden_layers"]},
        positions="rotary",
        norm="rms_norm",
        feed_forward="swiglu",
        activation="silu",
        bias=False,
        dropout=0.0,
        attention_dropout=0.0,
        max_len=config["max_position_embeddings"],
        rotary_base=float(rope.get("rope_theta") or config.get("rope_theta") or 10000.0),
        norm_eps=config["rms_norm_eps"],
        tie_weights=config.get("tie_word_embeddings", False),
    )
    found = dict(ours(tensors, LLAMA, "model."))
    for name, tensor in found.items():
        if name.endswith((".w_q.weight", ".w_k.weight")):
            heads = n_heads if ".w_q." in name else n_kv_heads
            found[name] = halves(tensor, heads)
    return sizes, without_tied(found, sizes)


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


def halves(weight: Float[Tensor, "out d_model"], n_heads: int) -> Float[Tensor, "{n_heads} pairs 2 d_model"]:
    """The rows of a projection by head and pair, if features i and i + d_head / 2 turn together: a view."""
    return weight.unflatten(0, (n_heads, 2, -1)).transpose(1, 2)


FAMILIES: dict[str, Family] = {"bert": bert, "gpt2": gpt2, "llama": llama}


def without_tied(tensors: dict[str, Tensor], config: LanguageModelConfig) -> dict[str, Tensor]:
    """Without the output matrix, if it is the embedding's: some files hold it twice."""
    if config.tie_weights:
        tensors.pop("to_logits.weight", None)
    return tensors


def ask(config: Config, name: str, wanted: object) -> None:
    """Raise a ValueError if a checkpoint's config asks for something that is not here. What it leaves out is usual."""
    found = config.get(name, wanted)
    if found is not None and found != wanted:
        raise ValueError(f"{name} of a checkpoint must be {wanted!r} to be loaded (got {found!r})")


def known(config: Config, name: str, names: Mapping[str, str]) -> str:
    if config[name] not in names:
        raise ValueError(f"{name} of a checkpoint must be one of {', '.join(names)} (got {config[name]!r})")
    return names[config[name]]
