"""`python -m tests.collected [--all]`: the share of collected answers that are told a cause, and those that are not."""

import sys

from tests.collected.measuring import HALVES, share, told


def main(show: bool) -> int:
    for half, collected in HALVES.items():
        all_told = list(told(collected))
        named = sum(one.mistake is not None for one in all_told)
        caused = sum(one.cause is not None for one in all_told)
        print(
            f"{half}: {len(all_told)} wrong answers, {sum(one.passed for one in all_told)} accepted, {named} named, ",
            end="",
        )
        print(f"{caused} explained otherwise, together {100 * share(all_told):.1f} %")
        for one in all_told if show else ():
            print(f"\n{one.answer.__name__}: {one.wrong}\n  → {one.mistake or one.cause or '–'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main("--all" in sys.argv[1:]))
