"""The weights of a small translator as they are sent, and as torch has them then."""

from tests.browser.javascript.machine_model import machine_of
from tests.view_examples.machine import data, sent
from transformer_lab.widgets.machine.machine_view import kept_tokens


def numbers() -> dict:
    model, tokenizer = sent()
    arrived = dict(model.named_parameters())
    arrived["to_logits"] = arrived.pop("src_embedding.tokens.weight")[kept_tokens(tokenizer)]
    return machine_of(data()["machine_model"], tokenizer) | {
        "arrived": {name: x.flatten().tolist() for name, x in arrived.items()}
    }
