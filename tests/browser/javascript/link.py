"""The link to the kernel computes nothing."""


def numbers() -> dict[str, list]:
    return {}
