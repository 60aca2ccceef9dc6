"""The colours of the static figures, which the views have, too."""

from transformer_lab.plots.picture import COLOURS, MEANINGS


def numbers() -> dict:
    return {"colours": list(COLOURS), "meanings": MEANINGS}
