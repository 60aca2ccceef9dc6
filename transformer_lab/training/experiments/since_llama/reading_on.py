"""What becomes of a model that has read 64 characters at a time, when it reads 256? By position, and by recipe."""

from copy import deepcopy
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_lab.models.since_llama.layers import OpenAttention
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
from transformer_lab.nn.attention import masked_softmax
from transformer_lab.training.experiments.since_llama.parts import (
    D_HEAD,
    D_MODEL,
    LENGTH,
    N_HEADS,
    python_ids,
    python_model,
    train_on_python,
)

FACTOR, BASE = 4, 10000.0
LONGER = FACTOR * LENGTH
STEPS, RATE, N_TEXTS = 400, 1e-2, 100
SCALINGS: dict[str, Scaling] = {
    "as trained": LinearScaling(1.0),
    "linear": LinearScaling(float(FACTOR)),
    "Llama 3": Llama3Scaling(float(FACTOR), low=1.0, high=4.0, original_length=LENGTH),
    "YaRN": YarnScaling(float(FACTOR), LENGTH, yarn_magnitude(float(FACTOR)), fast=4.0, slow=1.0),
}
WINDOW, NEAR = "as trained, window of 64", "as trained, distances up to 63"
ARMS = (*SCALINGS, WINDOW, NEAR)


class NoNewDistances(OpenAttention):
    """`OpenAttention` for which all keys that are further away than any was in training are as far as the furthest."""

    def apply_positions(
        self, queries: Float[Tensor, "B h T d_head"], keys: Float[Tensor, "B g S d_head"], start: int
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
        return queries, keys  # `attend` turns them, as it does so in two ways

    def attend(
        self,
        queries: Float[Tensor, "B h T d_head"],
        keys: Float[Tensor, "B h S d_head"],
        values: Float[Tensor, "B h S d_head"],
        mask: Bool[Tensor, "..."] | None,
        need_weights: bool,
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B h T S"] | None]:
        turned, turned_keys = self.positions(queries, keys, 0)
        # Each query as a text of its own, with a single position: the last one of the training.
        alone = queries.reshape(-1, 1, 1, queries.size(-1))
        furthest = self.positions(alone, alone, LENGTH - 1)[0].view_as(queries)
        back = torch.arange(queries.size(-2))[:, None] - torch.arange(keys.size(-2))  # (T, S)
        scores = torch.where(back < LENGTH, turned @ turned_keys.mT, furthest @ keys.mT) / queries.size(-1) ** 0.5
        weights = scores.softmax(-1) if mask is None else masked_softmax(scores, mask)
        return weights @ values, weights


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


def without_new_distances(model: OpenModel) -> OpenModel:
    """A copy of a model that sees all positions, none of them from further away than in training."""
    model = deepcopy(model)
    layer: Any
    for layer in model.layers:
        attention = NoNewDistances(D_MODEL, N_HEADS, N_HEADS, D_HEAD, layer.self_attention.positions)
        attention.load_state_dict(layer.self_attention.state_dict())
        layer.self_attention = attention
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
    changed = {arm: rescaled(model, scaling) for arm, scaling in SCALINGS.items()}
    changed |= {WINDOW: windowed(model), NEAR: without_new_distances(model)}
    for arm, changed_model in changed.items():
        losses = nats_by_position(changed_model)
        parts = [part.mean().item() for part in losses.split([LENGTH - 1, *[LENGTH] * (FACTOR - 1)])]
        found[arm] = {"nats": [round(part, 3) for part in parts]}
    return found
