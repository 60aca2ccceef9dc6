"""No numbers of torch: what torch says of softmax and entropy is tested through ui.js, which hands them on."""


def numbers() -> dict:
    return {}
