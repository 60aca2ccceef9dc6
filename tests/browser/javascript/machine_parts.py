"""A small translator, which the page runs by itself."""

from tests.browser.javascript.machine_model import machine_of, of_page
from tests.view_examples.machine import data, sent, source_of


def numbers() -> dict:
    tokenizer = sent()[1]
    src = of_page(tokenizer, source_of("one two ten")[0].tolist())
    return machine_of(data()["machine_model"], tokenizer) | {"src": src}
