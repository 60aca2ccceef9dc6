"""Norms, and the powers of ten that an axis for them goes from and to."""


def numbers() -> dict[str, list]:
    cases = [([0.2, 3.0], 0.1, 10.0), ([1.0, 0.1], 0.1, 1.0), ([3e-14, 7.0], 1e-15, 10.0), ([2e-5, 0.9], 1e-5, 1.0)]
    return {"ranges": [{"values": values, "low": low, "high": high} for values, low, high in cases]}
