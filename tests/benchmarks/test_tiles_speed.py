"""Attention in tiles beside the plain one and torch's fused kernel: time, and memory at the peak, by length.

    pytest tests/benchmarks/test_tiles_speed.py

One head of 64 features, forward and backward, float32. The three take turns, and the fastest of some rounds counts.
Memory is what operations make and hold (`analysis.peak_bytes`), beside the inputs; what a kernel uses inside is not
seen. Nothing is asserted of the time; of the memory, that tiles need less than one matrix of weights.
"""

from functools import partial
from time import perf_counter

import pytest
import torch
import torch.nn.functional as F

from tests.support import DEVICE, assert_close, randn, without_signature_checks
from transformer_lab import scaled_dot_product_attention, tiled_attention
from transformer_lab.analysis import peak_bytes

LENGTHS, ROUNDS = (512, 1024, 2048, 4096, 8192), 3


def plain(query, key, value):
    return scaled_dot_product_attention(query, key, value)[0]


WAYS = {"plain": plain, "tiles": partial(tiled_attention, tile=256), "fused": F.scaled_dot_product_attention}


def step(attend, given) -> torch.Tensor:
    """Forward and backward; the output."""
    for x in given:
        x.grad = None
    output = attend(*given)
    output.backward(torch.ones_like(output))
    if DEVICE.type != "cpu":
        getattr(torch, DEVICE.type).synchronize()  # a GPU works on after a call returns
    return output


@pytest.mark.parametrize("length", LENGTHS)
def test_tiles_beside_the_plain_one_and_the_fused_kernel(length, capsys):
    torch.manual_seed(0)
    given = [randn(1, 1, length, 64, requires_grad=True) for _ in range(3)]
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    with without_signature_checks():
        outputs = [step(attend, given) for attend in WAYS.values()]
        for name, attend in [*WAYS.items()] * ROUNDS:
            start = perf_counter()
            step(attend, given)
            times[name].append(perf_counter() - start)
        peaks = {name: peak_bytes(partial(step, attend, given)) for name, attend in WAYS.items()}
    for output in outputs[1:]:
        assert_close(output, outputs[0], 1e-5)
    if length >= 1024:
        assert peaks["tiles"] < 4 * length * length
    line = ", ".join(f"{name} {1000 * min(times[name]):.0f} ms {peaks[name] / 1e6:.1f} MB" for name in WAYS)
    with capsys.disabled():
        print(f"\n{length:5} tokens, {DEVICE}, {torch.get_num_threads()} threads: {line}")
