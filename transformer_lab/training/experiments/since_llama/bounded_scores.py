"""How large a learning rate does training survive, with the scores of attention bounded in several ways, or in none?"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_lab.decoding.completion import token_log_probs
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.models.since_llama.layers import OpenAttention
from transformer_lab.models.since_llama.qk_norm import QKNorm, qk_norm
from transformer_lab.models.since_llama.soft_cap import soft_cap
from transformer_lab.nn.attention import masked_softmax
from transformer_lab.nn.positions import RotaryPositions
from transformer_lab.training.experiments.since_llama.parts import (
    D_MODEL,
    N_HEADS,
    python_ids,
    python_model,
    train_on_python,
)

STEPS, RATES, READ = 150, (0.03, 0.1, 0.3), 30_000  # characters of the validation that are read
CAP = 5.0


class NormOnly(nn.Module):
    """`QKNorm` without its learned weights."""

    def forward(
        self, query: Float[Tensor, "B h T d_head"], key: Float[Tensor, "B g S d_head"]
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
        ones = torch.ones(query.size(-1), dtype=query.dtype, device=query.device)
        return qk_norm(query, key, ones, ones, eps=1e-6)


class CappedAttention(OpenAttention):
    """`OpenAttention` whose scores pass through `soft_cap`, as in Gemma 2 (arXiv:2408.00118, section 2)."""

    def attend(
        self,
        queries: Float[Tensor, "B h T d_head"],
        keys: Float[Tensor, "B h S d_head"],
        values: Float[Tensor, "B h S d_head"],
        mask: Bool[Tensor, "..."] | None,
        need_weights: bool,
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B h T S"] | None]:
        scores = soft_cap(queries @ keys.mT / queries.size(-1) ** 0.5, CAP)  # (B, h, T, S)
        weights = scores.softmax(-1) if mask is None else masked_softmax(scores, mask)
        return weights @ values, weights


ATTENTIONS = ("plain", "QK-norm", "norm only", "soft cap")
ARMS = {f"{name}, rate {rate}": (name, rate) for rate in RATES for name in ATTENTIONS}


def attention(name: str, rotary: RotaryPositions) -> OpenAttention:
    """One of ATTENTIONS."""
    d_head = D_MODEL // N_HEADS
    norms = {"QK-norm": QKNorm(d_head), "norm only": NormOnly()}
    kind = CappedAttention if name == "soft cap" else OpenAttention
    return kind(D_MODEL, N_HEADS, N_HEADS, d_head, rotary, norms.get(name))


def nats(model: LanguageModel) -> float:
    """The mean loss per character at the beginning of the validation text."""
    return -token_log_probs(model, python_ids("validation")[:READ]).mean().item()


@torch.no_grad()
def largest_score(model: LanguageModel) -> float:
    """The largest |q · k| / √d_head of the first 64 windows of the validation, over all layers, heads and positions."""
    tokens, largest = python_ids("validation")[: 64 * 64].view(64, 64), []
    x = model.embedded(tokens, 0)
    layer: Any
    for layer in model.layers:
        layer_input = layer.residual_1.norm(x)
        mixer = layer.self_attention
        query, key = (
            projection(layer_input).unflatten(-1, (N_HEADS, -1)).transpose(1, 2)
            for projection in (mixer.w_q, mixer.w_k)
        )
        query, key = mixer.apply_positions(query, key, 0)
        scores = query @ key.mT / query.size(-1) ** 0.5
        largest.append(scores.abs().max().item())
        x = layer(x, torch.ones(64, 64, dtype=torch.bool).tril())
    return max(largest)


def measure(arm: str, seed: int, n_steps: int = STEPS) -> dict[str, float]:
    """The loss after a training, and the largest score."""
    name, rate = ARMS[arm]
    model = python_model(seed, lambda rotary: attention(name, rotary))
    train_on_python(model, seed, n_steps, rate)
    return {"nats": round(nats(model), 3), "largest score": round(largest_score(model), 1)}
