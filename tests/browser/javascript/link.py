"""Numbers for the tests of the link to the kernel."""


def numbers() -> dict[str, list]:
    return {"floats": [1.5, -2.25, 0.0]}
