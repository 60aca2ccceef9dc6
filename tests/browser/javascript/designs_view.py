"""The words of the view of five designs need no numbers of Python's."""


def numbers() -> dict[str, list]:
    return {}
