"""What the parts that came after Llama buy at a small size, and what they cost: the table of lesson 15.

    python -m transformer_lab.training.experiments.since_llama --out since_llama.json

trains a small model for each arm of each experiment, with five seeds, and writes a row for each of them. Arms on which
the lesson leans most are also trained ten times as long, with the first seed.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import torch

from transformer_lab.files import replace_file
from transformer_lab.training.commands.options import whole, writable
from transformer_lab.training.experiments.since_llama import (
    balance,
    bounded_scores,
    caches,
    distance,
    kept_sizes,
    memory,
    reading_on,
)

Row = dict[str, Any]
BY_ARM: dict[str, Any] = {
    "bounded scores": bounded_scores,
    "kept sizes": kept_sizes,
    "distance": distance,
    "caches": caches,
    "memory": memory,
    "balance": balance,
}
LONGER = {  # arms that are trained ten times as long
    "memory": (
        *(f"{rule}, 8 pairs, written 3 times" for rule in ("linear", "delta", "gated linear")),
        *("linear, 32 pairs", "delta, 32 pairs", "two delta, 32 pairs"),
    ),
    "bounded scores": ("plain, rate 0.3", "norm only, rate 0.3", "soft cap, rate 0.3"),
    "reading on": reading_on.ARMS,
}
EXPERIMENTS = (*BY_ARM, "reading on", *(f"{name}, ten times as long" for name in LONGER))


def rows(experiment: str, seed: int) -> Iterator[Row]:
    """The rows of one experiment with one seed."""
    name, longer, _ = experiment.partition(", ten")
    about: Row = {"experiment": experiment, "seed": seed}
    module = BY_ARM.get(name, reading_on)
    n_steps, arms = module.STEPS * (10 if longer else 1), LONGER[name] if longer else module.ARMS
    if module is reading_on:
        found = reading_on.measure_all(seed, n_steps)
        yield from ({**about, "arm": arm, **found[arm]} for arm in arms)
        return
    for arm in arms:
        yield {**about, "arm": arm, **module.measure(arm, seed, n_steps)}


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    assert __doc__
    name = "python -m transformer_lab.training.experiments.since_llama"
    parser = argparse.ArgumentParser(name, description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=writable, default="since_llama.json", help="(default: %(default)s)")
    parser.add_argument("--seeds", type=whole(0), nargs="+", default=(0, 1, 2, 3, 4), help="(default: %(default)s)")
    parser.add_argument("--only", choices=EXPERIMENTS, nargs="+", default=EXPERIMENTS, help="(default: all)")
    options, found = parser.parse_args(arguments), []
    torch.set_num_threads(1)  # sums are then rounded alike whatever the machine
    for experiment in options.only:
        for seed in options.seeds[:1] if experiment.endswith("as long") else options.seeds:
            for row in rows(experiment, seed):
                found.append(row)
                print(row, flush=True)
                replace_file(options.out, ("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
