"""Six swaps with made-up losses, and what Python counts for them."""

from transformer_lab import analysis
from transformer_lab.training.experiments.swaps import SWAPS, combinations, config

SET_UP = r"""
from transformer_lab import widgets
from transformer_lab.training.experiments.swaps import combinations
made_up = {names: [2 - 0.1 * len(names) + 0.01 * seed for seed in range(3)] for names in combinations()}
"""
SHOW = {
    "swaps": "widgets.swaps(made_up)",
    "two swaps": 'widgets.swaps(made_up, ["RoPE", "no biases"], length=1000)',
}


def shown(names: tuple[str, ...], length: int, d_model: int = 48, n_layers: int = 2) -> dict:
    """What the view shows of a combination."""
    cost = analysis.cost_of_a_token(config(names, d_model, n_layers), length)
    losses = [2 - 0.1 * len(names) + 0.01 * seed for seed in range(3)]
    chosen = [int(name in names) for name in SWAPS]
    return {"chosen": chosen, "length": length, **cost._asdict(), "losses": losses}


START = {
    "swaps": lambda: shown(combinations()[-1], 64),
    "two swaps": lambda: shown(("RoPE", "no biases"), 1024),
}
