"""Two ways to do the same, timed in turns."""

from collections.abc import Callable
from statistics import median
from time import perf_counter

import torch

from tests.support import DEVICE


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    if DEVICE.type != "cpu":
        getattr(torch, DEVICE.type).synchronize()  # a GPU works on after a call returns
    return perf_counter() - start


def ratio_of(names: tuple[str, str], one: Callable, other: Callable, rounds: int, capsys) -> float:
    """Time both in turns, print both medians, and return how many times as long the first takes.

    The turns are one, other, other, one, …, so that noise hits both alike. In brackets stands the ratio of the fastest
    rounds, which other programs disturb least.
    """
    times = ([], [])
    for turn in range(-1, rounds):  # turn -1 warms up
        order = (0, 1) if turn % 2 else (1, 0)
        for i in order:
            taken = seconds((one, other)[i])
            if turn >= 0:
                times[i].append(taken)
    ratio = median(times[0]) / median(times[1])
    with capsys.disabled():
        print(
            f"\n{DEVICE}, {torch.get_num_threads()} threads, {rounds} rounds: "
            + ", ".join(f"{name} {1000 * median(t):.1f} ms" for name, t in zip(names, times, strict=True))
            + f", ratio {ratio:.3f} ({min(times[0]) / min(times[1]):.3f})"
        )
    return ratio
