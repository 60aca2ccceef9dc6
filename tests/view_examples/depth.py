"""Norms by layer of two kinds of chains, at three depths."""

SET_UP = r"""
import torch
from transformer_lab import widgets

def chain(factor, layers):  # of layers that multiply by a factor
    up = factor ** torch.arange(float(layers + 1))
    return up, up.flip(0)

norms = {name: {n: chain(factor, n) for n in (2, 5, 12)} for name, factor in (("alone", 0.1), ("around", 1.1))}
"""
SHOW = {"depth": "widgets.depth(norms)"}

data: dict = {}
exec(SET_UP, data)


DEPTHS = (2, 5, 12)


def flowing(at=2, kinds=("alone", "around")) -> dict:
    norms = {kind: data["norms"][kind] for kind in kinds}
    return {
        "kinds": list(kinds),
        "layers": DEPTHS[at],
        "activations": [pairs[DEPTHS[at]][0].tolist() for pairs in norms.values()],
        "gradients": [pairs[DEPTHS[at]][1].tolist() for pairs in norms.values()],
        "reach": [[down[0].item() for _, down in pairs.values()] for pairs in norms.values()],
    }


START = {"depth": flowing}
