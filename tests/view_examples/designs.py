"""Five published caches, and five of one size after a long text."""

from transformer_lab.analysis.designs import PUBLISHED, alike

SET_UP = r"""
from transformer_lab import widgets
"""
SHOW = {
    "designs": "widgets.designs()",
    "designs of one size": "widgets.designs('all at one size', 100_000)",
}
SETS = {"as published": PUBLISHED, "all at one size": alike()}
DECAY, BETA = 0.9995, 0.2


def shown(
    sizes: str = "as published", length: int = 2896, place: int = 0, decay: float = DECAY, beta: float = BETA
) -> dict:
    """What the view shows after so many tokens, of the token at a place from 0 to 40 along them."""
    token = round(place / 40 * (length - 1))
    return {
        "set": sizes,
        "length": length,
        "bytes": [2 * design.n_numbers(length) for design in SETS[sizes]],
        "token": token,
        "known": [part.known(length - 1 - token, decay, beta) for one in SETS[sizes] for part in one.parts],
    }


START = {"designs": shown, "designs of one size": lambda: shown("all at one size", 92_682)}
