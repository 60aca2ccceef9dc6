"""`python -m tests.collected [--all | --draw 100 [--seed 1]]`: the share of collected answers that are told a cause.

With `--all` each and what it is told; with `--draw` so many of those that are told a cause, beside their source.
"""

import argparse
import inspect
import random

import numpy as np

from tests.collected.measuring import HALVES, share, told


def main(show: bool, draw: int, seed: int) -> int:
    halves = {half: list(told(collected)) for half, collected in HALVES.items()}
    for half, all_told in halves.items():
        named = sum(one.mistake is not None for one in all_told)
        caused = sum(one.cause is not None for one in all_told)
        accepted = sum(one.passed for one in all_told)
        print(f"{half}: {len(all_told)} wrong answers, {accepted} accepted, {named} named, ", end="")
        print(f"{caused} explained otherwise, together {100 * share(all_told):.1f} %")
    everybody = [one for all_told in halves.values() for one in all_told]
    seconds = [one.seconds for one in everybody]
    median, of_95, of_99 = np.quantile(seconds, [0.5, 0.95, 0.99])
    print(f"processor time: {median:.3f} s (median), {of_95:.2f} s (95 of 100), {of_99:.2f} s (99), ", end="")
    print(f"{max(seconds):.2f} s at most")
    for one in everybody if show else ():
        print(f"\n{one.answer.__name__}: {one.wrong}\n  → {one.mistake or one.cause or '–'}")
    for one in random.Random(seed).sample([one for one in everybody if one.words], draw):
        print(f"\n{one.exercise}: {one.wrong}\n{inspect.getsource(one.answer)}  → {one.words}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    chosen = parser.parse_args()
    raise SystemExit(main(chosen.all, chosen.draw, chosen.seed))
