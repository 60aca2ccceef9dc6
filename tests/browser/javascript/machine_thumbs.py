"""Nothing of torch's: colours of small matrices."""


def numbers() -> dict:
    return {}
