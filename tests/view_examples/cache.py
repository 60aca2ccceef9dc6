"""The cost of GPT-2 small's key-value cache, and of the translator's."""

SET_UP = r"""
from transformer_lab import widgets
"""
SHOW = {
    "cache": "widgets.cache_cost()",
    "translator's cache": 'widgets.cache_cost("this project\'s translator", length=64)',
}
SMALL = {"layers": 12, "heads": 12, "kv": 12, "d_head": 64, "ratio": 4}


def cost(length: int, *, layers: int, heads: int, kv: int, d_head: int, ratio: float, batch=1, each=2) -> dict:
    """What the view shows, added up token by token."""
    width = heads * d_head
    matrices = 2 * width * width + 2 * width * kv * d_head + 2 * width * int(ratio * width)  # numbers in a layer
    position, pair = 2 * layers * matrices, 4 * layers * width
    new = [position + n * pair for n in range(1, length + 1)]
    anew = [n * position + n * n * pair for n in range(1, length + 1)]
    return {
        "length": length,
        "bytes": 2 * layers * kv * d_head * length * batch * each,
        "withCache": new[-1],
        "without": anew[-1],
        "totalWith": sum(new),
        "totalWithout": sum(anew),
    }


START = {
    "cache": lambda: cost(512, **SMALL),
    "translator's cache": lambda: cost(64, layers=2, heads=4, kv=4, d_head=32, ratio=2),
}
