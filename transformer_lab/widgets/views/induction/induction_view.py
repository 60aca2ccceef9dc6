"""All heads of a language model on a text: where each looks, and how the loss changes when some are ablated."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor, nn

from transformer_lab.decoding.inference import inference
from transformer_lab.nn.attention import MultiHeadAttention
from transformer_lab.nn.recording import record_attention
from transformer_lab.plots.checks import Tokens, label
from transformer_lab.widgets.shared.sent_model import as_sent, sent
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.induction.induction_picture import draw_heads

MOST_TOKENS = 96


def induction(model: nn.Module, tokens: Sequence[int] | Tensor, names: Tokens | None = None) -> View:
    """Ablate heads of a language model in the page, and see the changes in the loss and in where other heads look.

    `tokens` are the ids of a text, `names` those of the whole vocabulary; without names the ids are shown. The model
    may be a LanguageModel or one of attention alone. The page computes with the weights as they are sent, in 8 bits:
    those of `sent_model.as_sent`. A head that is taken away writes zeros.

    Raises:
        ValueError: there are fewer than 2 or more than 96 tokens, or more than the model reads, or one that it does not
            know; there is not one name for each token of the vocabulary; the model is too large.
    """
    ids, carried = torch.as_tensor(tokens, device="cpu"), sent(model)
    vocabulary, longest = carried["tokens"]["shape"][0], carried["max_len"]
    check(ids, vocabulary, MOST_TOKENS if longest is None else min(longest, MOST_TOKENS))
    names = range(vocabulary) if names is None else names
    if len(names) != vocabulary:
        raise ValueError(f"there must be a name for each of the model's {vocabulary} tokens (got {len(names)})")
    read = [seen(str(names[i])) for i in ids.tolist()]
    state = {"model": carried, "ids": ids, "tokens": read}
    rounded = as_sent(model)
    return View("induction", state, summary(model, read), lambda: fallback(rounded, ids, read), colours=96)


def check(ids: Tensor, vocabulary: int, most: int) -> None:
    """Raise a ValueError unless a model can read the ids."""
    if ids.ndim != 1 or not 2 <= len(ids) <= most:
        raise ValueError(f"tokens must be 2 to {most} ids (their shape is {tuple(ids.shape)})")
    if not 0 <= int(ids.min()) <= int(ids.max()) < vocabulary:
        raise ValueError(f"tokens must be from 0 to {vocabulary - 1} (got {int(ids.min())} to {int(ids.max())})")


def seen(name: str) -> str:
    """A token in visible form."""
    return {"": "pad"}.get(name, name.replace("\n", "⏎").replace(" ", "␣"))


def summary(model: nn.Module, read: list[str]) -> str:
    """A one-line summary of what is shown, without any number that training produced."""
    n_heads = [part.n_heads for part in model.modules() if isinstance(part, MultiHeadAttention)]
    heads = f"{sum(n_heads)} heads in {len(n_heads)} {'layer' if len(n_heads) == 1 else 'layers'}"
    text = f"{len(read)} tokens “{label(' '.join(read))}”"
    return f"Where {heads} look in the {text}, and the loss of each next token without some of them."


def fallback(model: nn.Module, ids: Tensor, read: list[str]) -> Figure:
    """Draw a small map of each head, a row per layer, and the arcs of the first with the loss of each next token."""
    with inference(model), record_attention(model) as maps:
        losses = F.cross_entropy(model(ids[None])[0, :-1], ids[1:], reduction="none")  # (T - 1,)
    return draw_heads([weights[0] for weights in maps.values()], losses.tolist(), read)
