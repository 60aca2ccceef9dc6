"""Does it matter in which form a cache holds its numbers? Keys of all heads, of one group, and latents."""

from torch import nn

from transformer_lab.models.since_llama.latent_attention import LatentAttention
from transformer_lab.models.since_llama.layers import OpenAttention
from transformer_lab.nn.positions import RotaryPositions
from transformer_lab.training.experiments.since_llama.bounded_scores import nats
from transformer_lab.training.experiments.since_llama.parts import (
    D_HEAD,
    D_MODEL,
    N_HEADS,
    python_model,
    train_on_python,
)

STEPS, RATE = 200, 3e-2
NUMBERS = {"all heads": 2 * D_MODEL, "one group": 2 * D_HEAD, "latent": 2 * D_HEAD}  # for a position of a layer
ARMS = NUMBERS


def attention(arm: str, rotary: RotaryPositions) -> nn.Module:
    """An attention of four heads; a latent and the key that turns together have as many numbers as one group has."""
    if arm == "latent":
        turning = RotaryPositions(len(rotary.table), D_HEAD // 2)
        w_q = nn.Linear(D_MODEL, N_HEADS * D_HEAD, bias=False)
        d_latent = NUMBERS[arm] - D_HEAD // 2
        return LatentAttention(D_MODEL, N_HEADS, D_HEAD // 2, d_latent, D_HEAD, turning, w_q)
    groups = 1 if arm == "one group" else N_HEADS
    return OpenAttention(D_MODEL, N_HEADS, groups, D_HEAD, rotary)


def measure(arm: str, seed: int, n_steps: int = STEPS) -> dict[str, float]:
    """The loss after a training."""
    model = python_model(seed, lambda rotary: attention(arm, rotary))
    return {"nats": round(nats(train_on_python(model, seed, n_steps, RATE)), 3)}
