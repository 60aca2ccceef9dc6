"""Sizes of encodings, for the test of the shift's picture."""


def numbers() -> dict[str, list]:
    return {"pairs": [1, 4, 8]}
