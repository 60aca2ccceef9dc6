"""What plays: nothing of torch's."""


def numbers() -> dict:
    return {}
