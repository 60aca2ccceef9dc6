"""What torch computes, for the tests of the encoding explorer."""

import torch

from transformer_lab import sinusoidal_encoding
from transformer_lab.widgets.views.encoding.encoding_view import wavelengths


def numbers() -> dict[str, list]:
    return {
        "tables": [table_case(length, d_model) for length, d_model in ((3, 2), (5, 6), (256, 128))],
        "products": [product_case(table, row) for table, row in ((torch.randn(4, 6), 0), (torch.randn(7, 2), 5))],
    }


def table_case(length: int, d_model: int) -> dict:
    table = sinusoidal_encoding(length, d_model, "cpu", torch.float64)
    return {"shape": [length, d_model], "table": table.flatten().tolist(), "waves": wavelengths(d_model).tolist()}


def product_case(table: torch.Tensor, row: int) -> dict:
    products = table.double() @ table[row].double()
    return {"table": table.flatten().tolist(), "shape": list(table.shape), "row": row, "products": products.tolist()}
