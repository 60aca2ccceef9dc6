"""Names of numbers as num2words has them."""

import random

from transformer_lab.data.number_names import number_name


def numbers() -> dict:
    drawn = [*range(1200), *random.Random(0).sample(range(1200, 1_000_000), 500), 999_999]
    return {"named": [[n, number_name(n, "en")] for n in drawn]}
