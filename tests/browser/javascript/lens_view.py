"""What torch computes, for the tests of the logit lens."""

import torch


def numbers() -> dict:
    cells, truth = torch.randn(3, 5, 4), torch.rand(4, 7)
    return {
        "cells": cells.flatten().tolist(),
        "shape": list(cells.shape),
        "third": cells[..., 2].tolist(),
        "truth": truth.tolist(),
        "gained": int((truth[-1] - truth[0]).argmax()),
    }
