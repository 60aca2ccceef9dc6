"""Nothing is needed."""


def numbers() -> dict:
    return {}
