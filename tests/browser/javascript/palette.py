"""The colours of the static figures, which the views have, too."""

import numpy as np

from transformer_lab.plots.picture import AMOUNTS, COLOURS, MEANINGS, PAPER


def numbers() -> dict:
    shades = (255 * AMOUNTS(np.linspace(0, 1, 101))[:, :3]).round()
    return {"paper": PAPER, "colours": list(COLOURS), "meanings": MEANINGS, "amounts": shades.tolist()}
