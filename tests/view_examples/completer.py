"""Language models that nobody has trained, but which are sure enough of themselves to differ; torch says the same."""

import torch

from transformer_lab.widgets.shared.sent_model import as_sent

SET_UP = r"""
import torch
from transformer_lab import LanguageModel, LanguageModelConfig, widgets
from transformer_lab.data.texts import Characters

lm_characters = Characters("\n ()abcdef<$")

def lm_of(seed, **kind):
    torch.manual_seed(seed)
    made = LanguageModel(LanguageModelConfig(len(lm_characters), 16, 2, 24, 2, max_len=24, **kind))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.4 * torch.randn_like(parameter))
    return made

rotary_lm = lm_of(26, positions="rotary", activation="gelu")
learned_lm = lm_of(1)
"""
SHOW = {
    "completer": 'widgets.completer(rotary_lm, lm_characters, "fed (a")',
    "completer with learned positions": 'widgets.completer(learned_lm, lm_characters, "</b>\\n$ ")',
}
PREFIX = {"completer": "fed (a", "completer with learned positions": "</b>\n$ "}
VISIBLE = {"": "pad", "\n": "⏎", " ": "␣"}

data: dict = {}
exec(SET_UP, data)


def completed(name="completer", text=None, written="", step=0, temperature=1.0) -> dict:
    """What the view shows with a text that was typed, another that was written, and the bars at a step of that."""
    text = PREFIX[name] if text is None else text
    model = as_sent(data["rotary_lm" if name == "completer" else "learned_lm"]).double()
    with torch.no_grad():
        logits = model(data["lm_characters"].encode(text + written[:step])[None])[0, -1]
    best = (logits / temperature).softmax(-1).topk(10)
    symbols = data["lm_characters"].symbols
    return {
        "text": text + written,
        "step": step,
        "tokens": [VISIBLE.get(symbols[i], symbols[i]) for i in best.indices.tolist()],
        "probabilities": best.values.tolist(),
    }


START = {name: lambda name=name: completed(name) for name in SHOW}
