"""The cache of five designs, filling token by token and to scale, and what each still knows of the first tokens."""

from dataclasses import asdict

from matplotlib.figure import Figure

from transformer_lab.analysis.designs import PUBLISHED, Design, alike
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.cache.cache_picture import in_units
from transformer_lab.widgets.views.designs.designs_picture import draw_designs

N_BYTES = 2  # of a number
LENGTHS = sorted({round(2 ** (step / 4)) for step in range(81)})  # 1 to 1048576
DECAYS = [1.0, 0.9999, 0.9995, 0.999, 0.998, 0.995, 0.99, 0.98, 0.95, 0.9]
SETS = {"as published": PUBLISHED, "all at one size": alike()}
DECAY, BETA = 0.9995, 0.2


def designs(sizes: str = "as published", length: int = 3000) -> View:
    """Watch five caches fill token by token, to scale, and see what each still knows of any token.

    `sizes` is "as published", for five models, or "all at one size", which changes nothing but the design. It begins
    at the length of the view that is nearest. A number takes 2 bytes. What a state forgets depends on what it reads:
    the decay and the share that is written can be moved, and keys are taken to point anywhere.

    Raises:
        ValueError: unknown sizes; length is below 1 or above 1048576.
    """
    if sizes not in SETS:
        raise ValueError(f"sizes must be one of {', '.join(SETS)} (got {sizes})")
    if not 1 <= length <= LENGTHS[-1]:
        raise ValueError(f"length ({length}) must be at least 1 and at most {LENGTHS[-1]}")
    at = min(range(len(LENGTHS)), key=lambda i: abs(LENGTHS[i] - length))
    sets = [{"name": name, "designs": [asdict(one) for one in made]} for name, made in SETS.items()]
    state = {
        "sets": sets,
        "set": list(SETS).index(sizes),
        "lengths": LENGTHS,
        "at": at,
        "decays": DECAYS,
        "decay": DECAYS.index(DECAY),
        "beta": BETA,
        "bytes": N_BYTES,
    }
    chosen = SETS[sizes]
    return View("designs", state, summary(chosen, LENGTHS[at]), lambda: fallback(chosen, LENGTHS[at]))


def summary(chosen: tuple[Design, ...], length: int) -> str:
    """A one-line summary of what each design keeps."""
    kept = ", ".join(f"{one.name} {in_units(N_BYTES * one.n_numbers(length))}" for one in chosen)
    return f"Five caches after {length:,} tokens: {kept}."


def fallback(chosen: tuple[Design, ...], length: int) -> Figure:
    """Draw the five caches to scale."""
    return draw_designs(chosen, length, DECAY, BETA)
