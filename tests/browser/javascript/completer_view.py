"""What torch computes, for the tests of the code completer."""

import torch

from transformer_lab.data.texts import Characters


def numbers() -> dict:
    characters, text = Characters("\n abc=é𝒳"), "a =\n?é𝒳\tb"
    rows = torch.randn(5, 17).softmax(-1).double()
    return {
        "symbols": characters.symbols,
        "text": text,
        "ids": characters.encode(text).tolist(),
        "rows": rows.tolist(),
        "largest": rows.topk(4).indices.tolist(),
    }
