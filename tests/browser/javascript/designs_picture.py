"""What Python computes, for the tests of the picture of five designs."""

from dataclasses import asdict

from tests.view_examples.designs import SETS

LENGTHS = (1, 7, 1000, 1024, 1025, 40_000, 1_000_000)
AGES = (0, 1, 1023, 1024, 5000)


def numbers() -> dict:
    return {
        "lengths": LENGTHS,
        "ages": AGES,
        "designs": [
            {
                "parts": [asdict(part) for part in design.parts],
                "numbers": [[part.n_numbers(length) for length in LENGTHS] for part in design.parts],
                "reaches": [part.reach for part in design.parts],
                "known": [[part.known(age, 0.999, 0.3) for age in AGES] for part in design.parts],
            }
            for designs in SETS.values()
            for design in designs
        ],
    }
