"""How long MultiHeadAttention takes, forward and backward, beside torch's own module with the same weights.

    pytest tests/benchmarks

The two take turns (ours, torch, torch, ours, …), so that noise hits both alike. Both medians and their ratio are
printed, and in brackets the ratio of the fastest rounds, which other programs disturb least. The aim is a ratio of
at most 1.0; none is asserted, since time is the machine's as much as the code's. The table at the end is ours alone.
"""

from statistics import median
from time import perf_counter

import pytest
import torch
from torch import nn

from tests.support import DEVICE, assert_close, gradients, randn, without_signature_checks
from transformer_lab import MultiHeadAttention
from transformer_lab.weights.torch_nn import copy_to_torch

BATCH, LENGTH, D_MODEL, HEADS = 8, 256, 512, 8
ROUNDS, WARM_UP = 40, 4


@pytest.mark.parametrize("need_weights", [False, True], ids=["without weights", "with weights"])
def test_forward_and_backward_beside_torch(need_weights, benchmark, capsys):
    torch.manual_seed(0)
    ours = MultiHeadAttention(D_MODEL, HEADS).to(DEVICE)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True, device=DEVICE)
    copy_to_torch(ours, theirs)
    x, upstream = randn(BATCH, LENGTH, D_MODEL, requires_grad=True), randn(BATCH, LENGTH, D_MODEL)

    def step(attention, **per_head):
        attention(x, x, x, need_weights=need_weights, **per_head)[0].backward(upstream)
        if DEVICE.type != "cpu":
            getattr(torch, DEVICE.type).synchronize()  # a GPU works on after a call returns

    def forget_gradients():
        for each in (x, *ours.parameters(), *theirs.parameters()):
            each.grad = None

    torchs_times, torch_first = [], False

    def torchs_turn():
        forget_gradients()
        start = perf_counter()
        step(theirs, average_attn_weights=False)
        torchs_times.append(perf_counter() - start)

    def before_ours():
        nonlocal torch_first
        torch_first = not torch_first
        if torch_first:
            torchs_turn()
        forget_gradients()

    def after_ours(*_):
        if not torch_first:
            torchs_turn()

    with without_signature_checks():
        output, expected = (attention(x, x, x)[0] for attention in (ours, theirs))
        assert_close(output, expected)
        assert_close(gradients(output, x), gradients(expected, x))
        turns = {"setup": before_ours, "teardown": after_ours}
        benchmark.pedantic(step, args=(ours,), **turns, rounds=ROUNDS, warmup_rounds=WARM_UP)

    if benchmark.stats:  # none under --benchmark-disable
        mine, torchs = benchmark.stats.stats, torchs_times[WARM_UP:]
        ratio = mine.median / median(torchs)
        benchmark.extra_info |= {"torch, median (s)": median(torchs), "ratio": ratio}
        with capsys.disabled():
            print(
                f"\n{'with' if need_weights else 'without'} weights, {DEVICE}, {torch.get_num_threads()} threads: "
                f"ours {1000 * mine.median:.1f} ms, torch {1000 * median(torchs):.1f} ms, "
                f"ratio {ratio:.3f} ({mine.min / min(torchs):.3f})"
            )
