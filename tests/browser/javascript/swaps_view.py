"""What Python counts, for the tests of the swaps."""

from transformer_lab import analysis
from transformer_lab.training.experiments.swaps import N_HEADS, config
from transformer_lab.widgets.views.swaps.swaps_view import NAMES, in_binary


def numbers() -> dict[str, list]:
    sizes = ((48, 2, 64), (48, 3, 1), (4608, 32, 8192))
    return {"costs": [cost(number, *size) for number in range(64) for size in sizes]}


def cost(number: int, d_model: int, n_layers: int, length: int) -> dict:
    names = in_binary()[number]
    made = config(names, d_model, n_layers)
    assert made.n_heads == N_HEADS
    size = {"d_model": d_model, "n_layers": n_layers, "vocab_size": made.vocab_size}
    counted = analysis.cost_of_a_token(made, length)._asdict() | {"d_ff": made.d_ff}
    return {"number": number, "on": [name in names for name in NAMES], "size": size, "length": length, "cost": counted}
