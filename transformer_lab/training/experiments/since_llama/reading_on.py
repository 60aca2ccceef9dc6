"""What becomes of a model that has read 64 characters at a time, when it reads 256? By position, and by recipe."""

from copy import deepcopy
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_lab.models.since_llama.open_model import OpenModel
from transformer_lab.models.since_llama.rope_scaling import (
    LinearScaling,
    Llama3Scaling,
    ScaledRotaryPositions,
    Scaling,
    YarnScaling,
    yarn_magnitude,
)
from transformer_lab.models.since_llama.sliding_window import SlidingWindowLayer
from transformer_lab.training.experiments.since_llama.parts import (
    D_HEAD,
    LENGTH,
    python_ids,
    python_model,
    train_on_python,
)

FACTOR, BASE = 4, 10000.0
LONGER = FACTOR * LENGTH
STEPS, RATE, SEEDS, N_TEXTS = 400, 1e-2, (0, 1, 2), 100
ARMS: dict[str, Scaling | None] = {
    "as trained": LinearScaling(1.0),
    "linear": LinearScaling(float(FACTOR)),
    "Llama 3": Llama3Scaling(float(FACTOR), low=1.0, high=4.0, original_length=LENGTH),
    "YaRN": YarnScaling(float(FACTOR), LENGTH, yarn_magnitude(float(FACTOR)), fast=4.0, slow=1.0),
    "as trained, window of 64": None,
}


def rescaled(model: OpenModel, scaling: Scaling) -> OpenModel:
    """A copy of a model that turns its queries and keys by a recipe."""
    model = deepcopy(model)
    positions = ScaledRotaryPositions(LONGER, D_HEAD, BASE, scaling)
    layer: Any
    for layer in model.layers:
        layer.self_attention.positions = positions
    return model


def windowed(model: OpenModel) -> OpenModel:
    """A copy of a model whose layers see as many positions as they saw in training."""
    model = deepcopy(model)
    layer: Any
    for i, layer in enumerate(model.layers):
        parts = layer.self_attention, layer.feed_forward, layer.residual_1, layer.residual_2
        model.layers[i] = SlidingWindowLayer(*parts, LENGTH)
    return model


@torch.no_grad()
def nats_by_position(model: OpenModel) -> Float[Tensor, " T"]:
    """The loss of each character but the first of a text, a mean over texts of LONGER characters."""
    texts = python_ids("test")[: N_TEXTS * LONGER].view(N_TEXTS, LONGER)
    log_probs = model(texts)[:, :-1].log_softmax(-1)  # (N, T - 1, vocab)
    return -log_probs.gather(-1, texts[:, 1:, None])[..., 0].mean(0)


def measure_all(seed: int, n_steps: int = STEPS) -> dict[str, dict[str, list[float]]]:
    """For each arm the loss in four parts of a text, the first of which is as long as the texts of the training.

    One training serves all arms, since a recipe is applied afterwards.
    """
    model = train_on_python(python_model(seed, max_len=LONGER), seed, n_steps, RATE)
    found = {}
    for arm, scaling in ARMS.items():
        losses = nats_by_position(windowed(model) if scaling is None else rescaled(model, scaling))
        parts = [part.mean().item() for part in losses.split([LENGTH - 1, *[LENGTH] * (FACTOR - 1)])]
        found[arm] = {"nats": [round(part, 3) for part in parts]}
    return found
