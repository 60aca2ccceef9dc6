"""What Python computes, for the tests of the cost of a cache."""

from dataclasses import asdict

from transformer_lab import analysis

SIZES = [*analysis.PRESETS.values(), analysis.DecoderSize(n_layers=3, n_heads=12, n_kv_heads=4, d_head=5, d_ff=7)]


def numbers() -> dict[str, list]:
    return {"costs": [cost(size, length) for size in SIZES for length in (1, 7, 512)]}


def cost(size: analysis.DecoderSize, length: int) -> dict:
    lengths = range(1, length + 1)
    return {
        "size": asdict(size),
        "length": length,
        "bytes": analysis.cache_bytes(size, length, batch=3, bytes_per_number=4),
        "work": {
            "withCache": analysis.flops_with_cache(size, length),
            "without": analysis.flops_without_cache(size, length),
            "totalWith": sum(analysis.flops_with_cache(size, n) for n in lengths),
            "totalWithout": sum(analysis.flops_without_cache(size, n) for n in lengths),
        },
    }
