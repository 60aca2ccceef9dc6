"""A picture: nothing of torch's."""


def numbers() -> dict:
    return {}
