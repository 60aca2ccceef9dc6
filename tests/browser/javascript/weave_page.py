"""An address is text: nothing of torch's."""


def numbers() -> dict:
    return {}
