"""How far does a symbol reach through layers that see a few positions each? With windows alone, and with other layers.

In a row of random symbols one is marked, and from there on every position has to say which. So the further a position
is away from the mark, the more layers the symbol must have passed through, unless one layer sees everything.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from transformer_lab.models.since_llama.layers import OpenAttention
from transformer_lab.models.since_llama.open_model import OpenModel
from transformer_lab.nn.blocks import SwiGLU
from transformer_lab.nn.positions import RotaryPositions
from transformer_lab.training.experiments.since_llama.parts import NOT_ASKED, open_layer, open_model, train_on_task

N_SYMBOLS, LENGTH, WINDOW, D_MODEL, N_HEADS = 8, 64, 8, 32, 2  # a marked symbol has an id of its own
STEPS, RATE = 300, 1e-2
ARMS: dict[str, tuple[int | None, ...]] = {  # the window of each layer
    "three windows": (WINDOW,) * 3,
    "two windows": (WINDOW,) * 2,
    "the last layer sees all": (WINDOW, WINDOW, None),
}


def windowed_model(windows: tuple[int | None, ...], seed: int) -> OpenModel:
    """A model of layers with these windows."""
    torch.manual_seed(seed)
    d_head = D_MODEL // N_HEADS
    rotary = RotaryPositions(LENGTH, d_head)
    layers: list[nn.Module] = []
    for window in windows:
        attention = OpenAttention(D_MODEL, N_HEADS, N_HEADS, d_head, rotary)
        layers.append(open_layer(attention, SwiGLU(D_MODEL, 2 * D_MODEL), D_MODEL, window))
    return open_model(layers, D_MODEL, 2 * N_SYMBOLS, LENGTH, tied=False)


def draw(size: int, generator: torch.Generator) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Rows with one marked symbol each, in the first half, and what each position has to say."""
    rows = torch.randint(N_SYMBOLS, (size, LENGTH), generator=generator)
    place = torch.randint(LENGTH // 2, (size, 1), generator=generator)
    symbol = torch.randint(N_SYMBOLS, (size, 1), generator=generator)
    asked = torch.arange(LENGTH) >= place  # (B, T)
    return rows.scatter(1, place, symbol + N_SYMBOLS), torch.where(asked, symbol, NOT_ASKED)


def measure(arm: str, seed: int, n_steps: int = STEPS) -> dict[str, list[float]]:
    """The share of right answers by their distance from the mark, from 0 to LENGTH / 2."""
    model = train_on_task(windowed_model(ARMS[arm], seed), draw, seed, n_steps, RATE)
    rows, classes = draw(1_000, torch.Generator("cpu").manual_seed(10_000 + seed))
    with torch.no_grad():
        right = model(rows).argmax(-1) == classes  # (B, T)
    return {"right": [round(share, 3) for share in by_distance(right, classes != NOT_ASKED)]}


def by_distance(right: Bool[Tensor, "B T"], asked: Bool[Tensor, "B T"]) -> list[float]:
    """The mean at each distance from the first position that was asked."""
    distances = asked.long().cumsum(1) - 1  # (B, T), -1 before the mark
    return [right[distances == d].float().mean().item() for d in range(LENGTH // 2 + 1)]
