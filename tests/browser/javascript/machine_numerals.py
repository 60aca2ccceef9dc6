"""Numbers and their names in English and German, as the translator's texts have them."""

from transformer_lab.data.number_names import number_name

SOME = [*range(0, 130), *range(130, 1_000_000, 997), 1_000, 1_100, 100_000, 999_999, 34_021, 21_000]


def numbers() -> dict:
    return {"named": [[n, number_name(n, "en"), number_name(n, "de")] for n in SOME]}
