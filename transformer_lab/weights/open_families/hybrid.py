"""A family whose layers differ in kind: Qwen3-Next, in which one layer of four attends, and the others keep a state."""

from torch import Tensor, nn

from transformer_lab.models.language_model import drop_biases
from transformer_lab.models.since_llama.delta_rule import GatedDeltaNet
from transformer_lab.models.since_llama.gated_attention import GatedAttention
from transformer_lab.models.since_llama.layers import OpenLayer
from transformer_lab.models.since_llama.qk_norm import QKNorm
from transformer_lab.models.since_llama.rope_scaling import PartialRotaryPositions
from transformer_lab.models.since_llama.routing import GatedNetwork, SharedExperts
from transformer_lab.nn.blocks import SwiGLU
from transformer_lab.weights.families import Config, Tensors, ask
from transformer_lab.weights.open_families.angles import rope_of, rotary_of
from transformer_lab.weights.open_families.reading import (
    FULL,
    Made,
    attention_of,
    from_one,
    heads_of,
    kinds_of,
    located,
    neighbours,
    open_model,
    residuals_of,
    swiglu_of,
)
from transformer_lab.weights.tensor_names import QWEN3_NEXT

LINEAR = "linear_attention"


def qwen3_next(config: Config, tensors: Tensors) -> Made:
    """A Qwen3-Next: gated attention in some layers, a gated delta rule in the others; a part of each head turns.

    A norm there multiplies by 1 + weight. What belongs to the prediction of further tokens is left out.
    """
    for name, wanted in (("hidden_act", "silu"), ("attention_bias", False), ("norm_topk_prob", True)):
        ask(config, name, wanted)
    config = {"head_dim": 256, **config}
    d_head, every = heads_of(config).d_head, config.get("full_attention_interval", 4)
    kinds = kinds_of(config, lambda i: LINEAR if (i + 1) % every else FULL, (FULL, LINEAR))
    share = rope_of(config).get("partial_rotary_factor") or config.get("partial_rotary_factor", 0.25)
    n_turning = int(d_head * share)
    positions = PartialRotaryPositions(rotary_of(config, n_turning, share), d_head)

    def layer(i: int) -> OpenLayer:
        norms = QKNorm(d_head, config["rms_norm_eps"])
        full = kinds[i] == FULL
        mixer = attention_of(config, positions, norms, kind=GatedAttention) if full else delta_net_of(config)
        return OpenLayer(mixer, network_of(config, i), *residuals_of(config))

    main = {name: x for name, x in tensors.items() if not name.startswith("mtp.")}
    named = located(config, main, QWEN3_NEXT)
    found = {name: x for each in named.items() for name, x in parts(config, d_head, *each)}
    return open_model(config, layer), from_one(neighbours(found, d_head, n_turning))


def delta_net_of(config: Config) -> GatedDeltaNet:
    return GatedDeltaNet(
        *(config["hidden_size"], config["linear_num_key_heads"], config["linear_num_value_heads"]),
        *(config["linear_key_head_dim"], config["linear_value_head_dim"]),
        *(config["linear_conv_kernel_dim"], config["rms_norm_eps"]),
    )


def network_of(config: Config, i: int) -> nn.Module:
    """The feed-forward network of layer i: experts beside a gated one, or, where the config says so, one SwiGLU."""
    if i in (config.get("mlp_only_layers") or ()) or (i + 1) % config.get("decoder_sparse_step", 1):
        return swiglu_of(config)
    d_model = config["hidden_size"]
    shared = GatedNetwork(d_model, SwiGLU(d_model, config["shared_expert_intermediate_size"]))
    sizes = d_model, config["moe_intermediate_size"], config["num_experts"], config["num_experts_per_tok"]
    experts = SharedExperts(*sizes, shared)
    drop_biases(experts)
    return experts


def parts(config: Config, d_head: int, name: str, tensor: Tensor) -> list[tuple[str, Tensor]]:
    """What a tensor of a Qwen3-Next is here: of matrices that lie in one, head by head, each by itself."""
    stem, _, last = name.removesuffix(".weight").rpartition(".")
    n_heads, d_k, d_v = (config[f"linear_{of}"] for of in ("num_key_heads", "key_head_dim", "value_head_dim"))
    shared = config["linear_num_value_heads"] // n_heads  # heads of values for one of keys
    if last == "w_q_and_gate":
        pieces, heads = {"w_q": d_head, "w_gate": d_head}, config["num_attention_heads"]
    elif last == "w_query_key_value_gate":
        pieces, heads = {"w_query": d_k, "w_key": d_k, "w_value": shared * d_v, "w_gate": shared * d_v}, n_heads
    elif last == "w_beta_decay":
        pieces, heads = {"w_beta": shared, "w_decay": shared}, n_heads
    else:
        return [(name, tensor.flatten(1) if last == "convolution" else tensor)]
    apart = tensor.unflatten(0, (heads, -1)).split([*pieces.values()], dim=1)  # (heads, rows of the piece, d_model)
    return [(f"{stem}.{piece}.weight", x.flatten(0, 1)) for piece, x in zip(pieces, apart, strict=True)]
