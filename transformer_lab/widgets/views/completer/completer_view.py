"""A language model that runs in the page: type the beginning of a text, and see its predictions."""

from matplotlib.axes import Axes

from transformer_lab.data.texts import Characters
from transformer_lab.decoding.inference import inference
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.plots import plot_bars
from transformer_lab.widgets.shared.sent_model import as_sent, count, sent
from transformer_lab.widgets.shared.view import View

BARS = 10


def completer(model: LanguageModel, characters: Characters, prefix: str = "def ") -> View:
    """Type a text and let a language model continue it, token by token, in the page and without a kernel.

    The weights travel with the view, in 8 bits each with a scale for each row of a matrix, so that its probabilities
    are those of `sent_model.as_sent(model)`.

    Raises:
        ValueError: the model has too many weights, or another vocabulary than `characters`; the prefix is empty, or
            longer than the model's max_len.
    """
    vocab, longest = model.config.vocab_size, model.config.max_len
    if len(characters) != vocab:
        raise ValueError(
            f"the characters must be the model's vocabulary of {vocab} tokens (there are {len(characters)})"
        )
    if not 1 <= len(prefix) <= longest:
        raise ValueError(f"the prefix must have 1 to max_len ({longest}) characters (it has {len(prefix)})")
    state = {"model": sent(model), "symbols": list(characters.symbols), "prefix": prefix}
    rounded = as_sent(model)
    return View("completer", state, summary(model, prefix), lambda: fallback(rounded, characters, prefix))


def summary(model: LanguageModel, prefix: str) -> str:
    """A one-line summary of the model and the prefix, without any number that training produced."""
    size, layers = f"{count(model):,}", model.config.n_layers
    return (
        f"A language model of {layers} {'layer' if layers == 1 else 'layers'} and {size} weights "
        f"goes on from “{seen(prefix)}”."
    )


def seen(text: str) -> str:
    """A text on one line, with the spaces at its end made visible."""
    shown = text.replace("\n", "⏎")
    bare = shown.rstrip(" ")
    return bare + "␣" * (len(shown) - len(bare))


def fallback(model: LanguageModel, characters: Characters, prefix: str) -> Axes:
    """A plot of the most probable tokens after the prefix."""
    with inference(model):
        logits = model(characters.encode(prefix)[None])[0, -1]
    best = logits.softmax(-1).topk(min(BARS, len(characters)))
    names = [token_name(characters.symbols[i]) for i in best.indices.tolist()]
    after = f"after “{seen(prefix)}”".replace("$", r"\$")
    return plot_bars({after: best.values.tolist()}, names)


def token_name(symbol: str) -> str:
    """A token in visible form."""
    return {"": "pad", "\n": "⏎", " ": "␣"}.get(symbol, symbol)
