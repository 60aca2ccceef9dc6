"""How a weight is told needs no numbers of torch's."""


def numbers() -> dict[str, list]:
    return {}
