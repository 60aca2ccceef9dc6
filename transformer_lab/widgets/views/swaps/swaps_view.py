"""The block of 2017 beside one with any of six later parts: its changes, its costs, and its measured loss."""

from collections.abc import Collection, Mapping, Sequence

from matplotlib.figure import Figure
from torch import Tensor

from transformer_lab.training.experiments.swaps import SWAPS, combinations, config
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.swaps.swaps_picture import draw_swaps

NAMES = tuple(SWAPS)
PARTS = {  # of each swap: what stood there in 2017, and what stands there now
    "pre-norm": ("norm after the sum", "norm in front of the sub-layer"),
    "RMSNorm": ("LayerNorm", "RMSNorm"),
    "SwiGLU": ("ReLU, two matrices", "SwiGLU, three matrices"),
    "RoPE": ("sine added to the input", "queries and keys turned"),
    "grouped queries": ("keys and values for each head", "keys and values for two heads each"),
    "no biases": ("biases", "no biases"),
}
SIZES = {"the models that were trained": (48, 2), "d_model 4608, 32 layers": (4608, 32)}
LENGTHS = [2**i for i in range(18)]
Losses = Mapping[Collection[str], Sequence[float] | Tensor]


def swaps(losses: Losses, chosen: Collection[str] = NAMES, length: int = 64) -> View:
    """Explore six swaps: choose some, and compare their block with that of 2017 in size, FLOPs, cache and loss.

    `losses` has those of each combination, one for each seed, as `python -m transformer_lab.training.experiments.swaps`
    finds them; other keys are left out. It begins with the `chosen` swaps, at the power of 2 next to `length`. All is
    counted for the models that were trained, or for a large one of the same shape.

    Raises:
        ValueError: a combination has no loss; a chosen swap is none; length is below 1 or above 131072.
    """
    config(chosen)  # which refuses what it does not know
    if not 1 <= length <= LENGTHS[-1]:
        raise ValueError(f"length ({length}) must be at least 1 and at most {LENGTHS[-1]}")
    table = {frozenset(names): [float(loss) for loss in found] for names, found in losses.items()}
    for names in combinations():
        if not table.get(frozenset(names)):
            raise ValueError(f"there must be a loss for each combination of swaps (there is none for {list(names)})")
    state = {
        "swaps": [{"name": name, "parts": PARTS[name]} for name in NAMES],
        "losses": [table[frozenset(names)] for names in in_binary()],
        "chosen": [name in chosen for name in NAMES],
        "sizes": [{"name": name, "d_model": d, "n_layers": n} for name, (d, n) in SIZES.items()],
        "vocab_size": config(()).vocab_size,
        "at": min(range(len(LENGTHS)), key=lambda i: abs(LENGTHS[i] - length)),
        "lengths": LENGTHS,
    }
    return View("swaps", state, summary(chosen), lambda: fallback(table, chosen))


def in_binary() -> list[tuple[str, ...]]:
    """All combinations: number n has the swaps whose bits are 1 in n, with the first swap as the lowest bit."""
    return [tuple(name for i, name in enumerate(NAMES) if n >> i & 1) for n in range(2 ** len(NAMES))]


def summary(chosen: Collection[str]) -> str:
    """A one-line summary of what is compared."""
    names = ", ".join(name for name in NAMES if name in chosen) or "no swap"
    return f"The block of 2017 beside one with {names}: parts, parameters, FLOPs, cache, and the measured loss."


def fallback(table: Mapping[frozenset[str], list[float]], chosen: Collection[str]) -> Figure:
    """The picture of what is seen at first: the block, where its parts come from, and the measured losses."""
    every = [sum(found) / len(found) for names, found in table.items() if names <= {*NAMES}]
    losses = (table[frozenset()], table[frozenset(chosen)], every)
    cards = [(PARTS[name][0], name) for name in NAMES]
    made = config(chosen)
    return draw_swaps(cards, [name in chosen for name in NAMES], made.d_ff, losses)
