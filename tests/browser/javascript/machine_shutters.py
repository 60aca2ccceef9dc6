"""The mask as a picture: nothing of torch's."""


def numbers() -> dict:
    return {}
