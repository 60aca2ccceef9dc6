"""Does QK-norm help because matrices that grow are turned less by each step? Training with their sizes kept says no.

A normed query does not depend on the size of W^Q, so that a step of a given length turns a larger matrix less. Here
W^Q and W^K are scaled back to their first size after each step, which takes this away and changes nothing else.
"""

from typing import Any

import torch
from torch import Tensor

from transformer_lab.models.since_llama.open_model import OpenModel
from transformer_lab.training.experiments.since_llama.bounded_scores import STEPS, attention, nats
from transformer_lab.training.experiments.since_llama.parts import PythonTraining, python_model
from transformer_lab.training.text_training import TextRecipe

RATE = 0.3
ARMS = {f"{name}, {sizes}": (name, sizes == "kept") for name in ("plain", "norm only") for sizes in ("free", "kept")}


class TurningTraining(PythonTraining):
    """Notes by what angle W^Q and W^K turn in each step and, if `kept`, gives them their first size back."""

    def __init__(self, model: OpenModel, recipe: TextRecipe, kept: bool):
        super().__init__(model, recipe)
        layers: list[Any] = [*model.layers]
        attentions = [layer.self_attention for layer in layers]
        self.matrices: list[Tensor] = [w.weight.detach() for a in attentions for w in (a.w_q, a.w_k)]
        self.sizes, self.kept = [matrix.norm() for matrix in self.matrices], kept
        self.turns: list[float] = []

    def take_step(self) -> tuple[float, float]:
        before = [matrix.clone() for matrix in self.matrices]
        result = super().take_step()
        for matrix, size in zip(self.matrices, self.sizes, strict=True):
            if self.kept:
                matrix *= size / matrix.norm()
        angles = [angle(*pair) for pair in zip(before, self.matrices, strict=True)]
        self.turns.append(sum(angles) / len(angles))
        return result


def angle(one: Tensor, other: Tensor) -> float:
    """The angle between two matrices, taken as long vectors."""
    return torch.acos(((one * other).sum() / (one.norm() * other.norm())).clamp(-1, 1)).item()


def measure(arm: str, seed: int, n_steps: int = STEPS) -> dict[str, float]:
    """The loss after a training, and the mean turn of a step."""
    name, kept = ARMS[arm]
    model = python_model(seed, lambda rotary: attention(name, rotary))
    training = TurningTraining(model, TextRecipe(n_steps, peak_rate=RATE, seed=seed), kept)
    for _ in training.run(n_steps):
        pass
    return {"nats": round(nats(model.eval()), 3), "turn": round(sum(training.turns) / n_steps, 3)}
