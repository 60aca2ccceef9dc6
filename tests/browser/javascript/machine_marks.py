"""Nothing that torch computes."""


def numbers() -> dict:
    return {}
