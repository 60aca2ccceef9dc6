"""What torch computes, with the weights as they are sent, for the tests of the language model in the page."""

import json

import torch
import torch.nn.functional as F

from transformer_lab import LanguageModel, LanguageModelConfig, complete, record_attention
from transformer_lab.widgets.shared.sent_model import as_sent, sent
from transformer_lab.widgets.shared.view import copied, packed, with_tensors

KINDS = {
    "rotary, as in lesson 09": {"positions": "rotary", "activation": "gelu"},
    "GPT-2's": {},
    "post-norm, untied": {"norm_first": False, "tie_weights": False, "activation": "relu"},
    "Llama's": {"positions": "rotary", "rotary_base": 500.0, "norm": "rms_norm", "norm_eps": 1e-3, "bias": False}
    | {"feed_forward": "swiglu", "activation": "silu", "n_kv_heads": 2},
    "groups without rotary positions": {"n_kv_heads": 3, "bias": False},
    "silu": {"positions": "rotary", "activation": "silu", "tie_weights": False},
}
MAX_LEN = 12


def numbers() -> dict:
    xs = torch.cat([torch.linspace(-9, 9, 181), torch.tensor([1e-9, 1e-3, 5.99, 6.01])]).double()
    activations = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
    curves = {name: f(xs).tolist() for name, f in activations.items()}
    curves["gelu_tanh"] = F.gelu(xs, approximate="tanh").tolist()
    models = {name: model_case(**kind) for name, kind in KINDS.items()}
    return {"xs": xs.tolist(), "erf": xs.erf().tolist(), "activations": curves, "models": models}


def model_case(**kind) -> dict:
    model = made(**kind)
    rounded = as_sent(model).double()
    tokens = torch.randint(1, 17, (1, MAX_LEN))
    with torch.no_grad(), record_attention(rounded) as maps:
        logits = rounded(tokens)[0]
    weights = [maps[f"layers.{i}.self_attention"][0] for i in range(2)]
    prompt = tokens[:, :5]
    greedy = complete(rounded, prompt, 30, top_k=1)[0, 5:]
    return {
        "sent": json.loads(json.dumps(with_tensors(sent(model), copied), default=packed)),
        "tokens": tokens[0].tolist(),
        "logits": logits.tolist(),
        "maps": [[[row[: t + 1].tolist() for t, row in enumerate(head)] for head in layer] for layer in weights],
        "greedy": greedy.tolist(),
        "table": rounded.tokens.weight.tolist(),
    }


def made(**kind) -> LanguageModel:
    """A model with random weights and biases, sure enough of itself that no two tokens are equally probable."""
    config = LanguageModelConfig(17, 24, 6, 40, 2, MAX_LEN, **kind)
    model = LanguageModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        model.tokens.weight[3] = 0.0  # a row without a scale
    return model
