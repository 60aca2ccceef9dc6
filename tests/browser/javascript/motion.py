"""No numbers of torch: motion is made of time alone."""


def numbers() -> dict:
    return {}
