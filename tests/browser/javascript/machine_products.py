"""Random products and one head's attention, in double precision."""

import torch
import torch.nn.functional as F


def numbers() -> dict:
    products = []
    for n_rows, n_out in ((1, 5), (2, 6), (3, 5), (4, 6), (5, 7), (9, 4)):
        x, weight, bias = (torch.randn(*shape, dtype=torch.float64) for shape in ((n_rows, 11), (n_out, 11), (n_out,)))
        y = F.linear(x, weight, bias)
        products.append({"x": x.tolist(), "weight": weight.tolist(), "bias": bias.tolist(), "y": y.tolist()})
    return {"products": products, "attention": attention()}


def attention() -> dict:
    """The second of three heads, for a query that sees three of five keys."""
    query, keys, values = (torch.randn(*shape, dtype=torch.float64) for shape in ((12,), (5, 12), (5, 12)))
    head, seen = slice(4, 8), 3
    scores = keys[:seen, head] @ query[head] / 2  # √4
    shares = scores.softmax(-1)
    return {
        "query": query.tolist(),
        "keys": keys.tolist(),
        "values": values.tolist(),
        **{"seen": seen, "start": 4, "d": 4},
        "scores": scores.tolist(),
        "shares": shares.tolist(),
        "mixed": (shares @ values[:seen, head]).tolist(),
    }
