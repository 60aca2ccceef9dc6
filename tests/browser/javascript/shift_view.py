"""What torch computes, for the tests of shifts and of rotary positions."""

import torch

from tests.view_examples.shift import broken
from transformer_lab import rotate, shift_matrix, sinusoidal_encoding


def numbers() -> dict[str, list]:
    return {
        "encodings": [encoding_case(position, d_model) for position, d_model in ((0, 2), (7, 6), (60, 16))],
        "broken": [{"position": 7, "table": broken(7, 0)["before"]}],
        "shifts": [shift_case(offset, d_model) for offset, d_model in ((0, 4), (5, 6), (-20, 16))],
        "rotary": [rotary_case(query, key, d_head) for query, key, d_head in ((0, 0, 2), (12, 5, 6), (3, 160, 16))],
    }


def encoding_case(position: int, d_model: int) -> dict:
    table = sinusoidal_encoding(position + 1, d_model, "cpu", torch.float64)
    return {"position": position, "d": d_model, "row": table[position].tolist()}


def shift_case(offset: int, d_model: int) -> dict:
    x = torch.randn(d_model, dtype=torch.float64)
    return {"x": x.tolist(), "offset": offset, "moved": (shift_matrix(offset, d_model, dtype=x.dtype) @ x).tolist()}


def rotary_case(query_at: int, key_at: int, d_head: int) -> dict:
    query, key = torch.randn(2, d_head, dtype=torch.float64)
    q, k = rotate(query[None], query_at)[0], rotate(key[None], key_at)[0]
    given = {"query": query.tolist(), "key": key.tolist(), "at": {"query": query_at, "key": key_at}}
    return {"given": given, "query": q.tolist(), "key": k.tolist(), "score": [torch.dot(q, k).item()]}
