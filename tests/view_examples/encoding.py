"""The encoding explorer over the encoding of the paper, and over a table of one's own."""

import math
from functools import partial

import torch

from transformer_lab import sinusoidal_encoding

SET_UP = r"""
import torch
from transformer_lab import widgets

torch.manual_seed(2)
own_table = torch.randn(20, 6)
"""
SHOW = {"encoding": "widgets.encoding((40, 12))", "own encoding": "widgets.encoding(own_table)"}

data: dict = {}
exec(SET_UP, data)


def explored(name="encoding", position=None, pair=0) -> dict:
    sinusoids = name == "encoding"
    table = sinusoidal_encoding(40, 12, "cpu", torch.float64) if sinusoids else data["own_table"].double()
    position = len(table) // 2 if position is None else position
    return {
        "position": position,
        "features": [2 * pair, 2 * pair + 1],
        "curves": table[:, 2 * pair : 2 * pair + 2].T.tolist(),
        "products": (table @ table[position]).tolist(),
        "wavelength": 2 * math.pi * 10000 ** (2 * pair / 12) if sinusoids else None,
    }


START = {name: partial(explored, name) for name in SHOW}
