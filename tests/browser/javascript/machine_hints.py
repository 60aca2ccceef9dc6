"""The shipped translator, which has learned English numbers, one that has not, and numbers that others have named."""

from tests.browser.javascript.machine_model import machine_of, shipped
from tests.browser.javascript.machine_overview import numbers as of_translator
from transformer_lab.data.number_names import number_name

EXAMPLES = [2, 14, 35, 62, 381, 519, 4256, 71028, 34021, 9473, 615238, 842596]


def numbers() -> dict:
    named = [number_name(n, "en") for n in range(1200)]
    examples = [number_name(n, "en") for n in EXAMPLES]
    return {"shipped": machine_of(*shipped()), "small": of_translator(), "named": named, "examples": examples}
