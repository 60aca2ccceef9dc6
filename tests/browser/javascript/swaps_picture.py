"""The swaps in their order, for the test of their picture."""

from transformer_lab.widgets.views.swaps.swaps_view import NAMES


def numbers() -> dict[str, list]:
    return {"names": list(NAMES)}
