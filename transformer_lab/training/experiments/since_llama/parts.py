"""What several of these experiments have in common: a small open model, a short training, and Python's own source."""

from collections.abc import Callable, Sequence
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from transformer_lab.data.texts import PRINTABLE, Characters, python_source
from transformer_lab.models.since_llama.layers import OpenAttention, OpenLayer
from transformer_lab.models.since_llama.open_model import OpenModel, OpenModelConfig
from transformer_lab.models.since_llama.sliding_window import SlidingWindowLayer
from transformer_lab.nn.blocks import PreNormResidual, Residual, RMSNorm, SwiGLU
from transformer_lab.nn.positions import RotaryPositions
from transformer_lab.training.text_examples import TextExamples
from transformer_lab.training.text_training import TextRecipe, TextTraining

D_MODEL, N_HEADS, D_HEAD = 48, 4, 12  # of the models that learn Python
LENGTH = 64  # characters of a window
NOT_ASKED = -1  # in place of a class, where a task asks for none
Batch = Callable[[int, torch.Generator], tuple[Tensor, Tensor]]  # so many rows of inputs, and the right classes


def residual(d_model: int) -> Residual:
    """Pre-norm, with the norm of today."""
    around = PreNormResidual(d_model)
    around.norm = RMSNorm(d_model)
    return around


def open_layer(mixer: nn.Module, network: nn.Module, d_model: int, window: int | None = None) -> OpenLayer:
    """A layer of an attention, or of what stands in its place, and a network; with a window, one that sees no more."""
    parts = mixer, network, residual(d_model), residual(d_model)
    return OpenLayer(*parts) if window is None else SlidingWindowLayer(*parts, window)


def open_model(
    layers: Sequence[nn.Module], d_model: int, vocab_size: int, max_len: int, tied: bool = True
) -> OpenModel:
    """A language model of these layers; its output has the matrix of its embeddings, or one of its own."""
    config = OpenModelConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        n_layers=len(layers),
        max_len=max_len,
        dropout=0.0,
        attention_dropout=0.0,
        positions="rotary",
        norm="rms_norm",
        bias=False,
        tie_weights=tied,
    )
    return OpenModel(config, layers, RMSNorm(d_model))


def python_model(
    seed: int,
    attention: Callable[[RotaryPositions], nn.Module] | None = None,
    network: Callable[[], nn.Module] | None = None,
    max_len: int = LENGTH,
) -> OpenModel:
    """Two layers for characters of Python's source, with an attention and a network of one's choice."""
    torch.manual_seed(seed)
    rotary = RotaryPositions(max_len, D_HEAD)
    layers = []
    for _ in range(2):
        mixer = attention(rotary) if attention else OpenAttention(D_MODEL, N_HEADS, N_HEADS, D_HEAD, rotary)
        layers.append(open_layer(mixer, network() if network else SwiGLU(D_MODEL, 8 * D_MODEL // 3), D_MODEL))
    return open_model(layers, D_MODEL, len(Characters(PRINTABLE)), max_len)


@cache
def python_ids(part: str) -> Int[Tensor, " n"]:
    """A part of Python's source as ids."""
    return Characters(PRINTABLE).encode(python_source().text(part))


class PythonTraining(TextTraining):
    """A model in training on Python's source, in windows of LENGTH characters."""

    def __init__(self, model: OpenModel, recipe: TextRecipe):
        super().__init__(model, TextExamples(python_ids("train"), LENGTH), recipe)


def train_on_python(model: OpenModel, seed: int, n_steps: int, rate: float) -> OpenModel:
    """The model after so many steps on Python's source."""
    training = PythonTraining(model, TextRecipe(n_steps, peak_rate=rate, seed=seed))
    for _ in training.run(n_steps):
        pass
    return model.eval()


def train_on_task(model: nn.Module, batch: Batch, seed: int, n_steps: int, rate: float, size: int = 32) -> nn.Module:
    """The model after so many steps on a task, whose batches `batch(size, generator)` draws.

    The rate climbs for 20 steps, then falls in a straight line to 0.
    """
    generator = torch.Generator("cpu").manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    for step in range(n_steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min((step + 1) / 20, 1 - step / n_steps)
        inputs, classes = batch(size, generator)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), classes.flatten(), ignore_index=NOT_ASKED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()
