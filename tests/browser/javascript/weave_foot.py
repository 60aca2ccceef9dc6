"""What is said of numbers that the test makes up."""


def numbers() -> dict:
    return {}
