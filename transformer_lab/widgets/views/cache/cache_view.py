"""The costs and savings of a key-value cache: its bytes, and the work per new token with and without it.

What is counted, and how: `transformer_lab.analysis`. A kB is 1000 bytes.
"""

from dataclasses import asdict

from transformer_lab.analysis import PRESETS, cache_bytes, flops_with_cache, flops_without_cache
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.cache.cache_picture import draw_cache, in_units

NUMBERS = {"float32": 4, "float16": 2, "int8": 1}  # bytes of a number; bfloat16 has 2 as well
LENGTHS = [round(2 ** (step / 2)) for step in range(35) if step != 1]  # 1 to 131072


def cache_cost(preset: str = "GPT-2 small", length: int = 512) -> View:
    """Explore what a key-value cache costs in bytes, and what it saves in FLOPs, as the text gets longer.

    It starts at one of the PRESETS, at the length of the view that is nearest, batch 1 and float16; everything can be
    moved, the number of KV heads too.

    Raises:
        ValueError: there is no such preset; length is below 1 or above 131072.
    """
    if preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)} (got {preset})")
    if not 1 <= length <= LENGTHS[-1]:
        raise ValueError(f"length ({length}) must be at least 1 and at most {LENGTHS[-1]}")
    at = min(range(len(LENGTHS)), key=lambda i: abs(LENGTHS[i] - length))
    sizes = [{"name": name} | asdict(size) for name, size in PRESETS.items()]
    state = {"presets": sizes, "preset": list(PRESETS).index(preset), "lengths": LENGTHS, "at": at, "numbers": NUMBERS}
    return View("cache", state, summary(preset, LENGTHS[at]), lambda: draw_cache(PRESETS[preset], LENGTHS, at))


def summary(preset: str, length: int) -> str:
    """A one-line summary of what a cache takes and saves."""
    size = PRESETS[preset]
    times = flops_without_cache(size, length) / flops_with_cache(size, length)
    return (
        f"{preset} at {length} tokens: its key-value cache takes {in_units(cache_bytes(size, length))} in float16, "
        f"and without it token {length} costs {times:.0f} times the FLOPs."
    )
