"""What the package's tokenizer makes of texts, with the shipped merges and with others that make one symbol twice."""

from random import Random

from tests.browser.javascript.machine_model import of_page, shipped
from transformer_lab.data.tasks import number_names
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.widgets.machine.machine_view import tokenizer_sent


def numbers() -> dict:
    draw = Random(0)
    _, trained = shipped()
    texts = [text for pair in number_names("en", "de").test[:300] for text in pair]
    texts += ["", " ", "  two  ", "--,,", *("".join(draw.choices(trained.alphabet, k=12)) for _ in range(100))]
    twice = Tokenizer(" \t\nabcd", [("b", "c"), ("a", "bc"), ("a", "b"), ("abc", "d"), ("ab", "c"), (" ", "a")])
    odd = ["".join(draw.choices(twice.alphabet, k=draw.randrange(1, 14))) for _ in range(300)]
    return {"cases": [case(trained, texts), case(twice, odd)]}


def case(tokenizer: Tokenizer, texts: list[str]) -> dict:
    ids = [of_page(tokenizer, tokenizer.encode(text)) for text in texts]
    return {"sent": tokenizer_sent(tokenizer), "texts": texts, "ids": ids}
