"""Three ways to treat a router that sends most positions to a few experts: leave it alone, a loss, and a bias."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.models.experts import balance_loss, record_routing
from transformer_lab.models.since_llama.open_model import OpenModel
from transformer_lab.models.since_llama.routing import SigmoidExperts, sigmoid_route
from transformer_lab.nn.blocks import SwiGLU
from transformer_lab.training.experiments.since_llama.bounded_scores import nats
from transformer_lab.training.experiments.since_llama.parts import D_MODEL, PythonTraining, python_ids, python_model
from transformer_lab.training.text_training import TextRecipe

N_EXPERTS, TOP_K, STEPS, RATE = 8, 2, 100, 1e-2
WEIGHTS = {"loss": 0.1}
MOVES = {"bias": 0.02}  # by which a bias is moved after each step
ARMS = ("free", *WEIGHTS, *MOVES)


def experts() -> SigmoidExperts:
    """The experts of a layer, beside a network that every position uses."""
    return SigmoidExperts(D_MODEL, 32, N_EXPERTS, TOP_K, SwiGLU(D_MODEL, 32))


class BalancedTraining(PythonTraining):
    """Training in which a loss pulls on the routers, or a bias is moved after each step."""

    def __init__(self, model: OpenModel, recipe: TextRecipe, weight: float, move: float):
        super().__init__(model, recipe)
        self.weight, self.move = weight, move

    def loss(self, batch: Int[Tensor, " B"]) -> Float[Tensor, ""]:
        with record_routing(self.model) as said:
            loss = super().loss(batch)
        layer: Any
        for layer, logits in zip(self.model.layers, said, strict=True):
            loads = loads_of(layer.feed_forward, logits.detach())  # (n_experts,)
            layer.feed_forward.balance += self.move * (1 - loads).sign()
        return loss + self.weight * sum(balance_loss(logits, TOP_K) for logits in said)


def loads_of(experts: SigmoidExperts, logits: Float[Tensor, "*axes n_experts"]) -> Float[Tensor, " n_experts"]:
    """How often each expert is picked, by a mean of 1."""
    picked = sigmoid_route(logits, experts.balance, TOP_K) > 0
    return picked.flatten(0, -2).float().mean(0) * len(experts.balance) / TOP_K


def measure(arm: str, seed: int, n_steps: int = STEPS) -> dict[str, float]:
    """The loss after a training, and the largest load of an expert, a mean over the layers; 1 is even."""
    model = python_model(seed, network=experts)
    training = BalancedTraining(
        model, TextRecipe(n_steps, peak_rate=RATE, seed=seed), WEIGHTS.get(arm, 0.0), MOVES.get(arm, 0.0)
    )
    for _ in training.run(n_steps):
        pass
    with torch.no_grad(), record_routing(model.eval()) as said:
        model(python_ids("validation")[: 64 * 64].view(64, 64))
    layers: list[Any] = [*model.layers]
    largest = [loads_of(layer.feed_forward, one).max() for layer, one in zip(layers, said, strict=True)]
    return {"nats": round(nats(model), 3), "largest load": round(torch.stack(largest).mean().item(), 2)}
