"""The logit lens on a text: what a model would predict if its layers ended at each of them."""

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from transformer_lab.plots import figure
from transformer_lab.plots.checks import Tokens, Values, label, to_tensor
from transformer_lab.plots.picture import INK, PAPER
from transformer_lab.widgets.shared.view import View

BEST = 5  # tokens of each cell
MOST_NAMES = 1_000  # of a larger vocabulary, only the names that are shown travel


def lens(logits: Values, tokens: Sequence[int] | Tensor, names: Tokens, places: Tokens | None = None) -> View:
    """Explore a model's predictions at each position, read off before its first layer and after each layer.

    `logits` (places, T, vocab) are those of `analysis.logit_lens`, the model's own ones last; `tokens` are the T ids
    that it has read, `names` those of the whole vocabulary. The token that should come next at a position is the one
    that is read at the following position. `places` are called embedding, layer 0, layer 1, … if they get no names.

        hidden = torch.stack([x, *outputs_of_layers])  # (places, T, d_model)
        widgets.lens(logit_lens(hidden, model.norm, model.to_logits.weight), ids, characters.symbols)

    Raises:
        ValueError: the logits are not (places, T, vocab) of at least 2 tokens, or hold NaN; there is not one name for
            each place and each token of the vocabulary; a token is not in it.
    """
    given = to_tensor(logits).detach().cpu().double()
    ids, vocabulary = torch.as_tensor(tokens, device="cpu"), list(map(str, names))
    check(given, ids, vocabulary)
    rows = ["embedding", *(f"layer {i}" for i in range(len(given) - 1))] if places is None else list(map(str, places))
    if len(rows) != len(given):
        raise ValueError(f"there must be a name for each of the {len(given)} places (got {len(rows)})")
    probabilities = given.softmax(-1)  # (places, T, vocab)
    best = probabilities.topk(min(BEST, len(vocabulary)))
    truth = probabilities[:, range(len(ids) - 1), ids[1:]]  # (places, T - 1)
    rank = 1 + (probabilities[:, :-1] > truth[..., None]).sum(-1)  # (places, T - 1)
    kept, shown, read = shortened(vocabulary, best.indices, ids)
    state = {"places": rows, "names": kept, "read": read, "best": shown}
    state |= {"probabilities": best.values, "truth": truth, "rank": rank}
    return View(
        "lens", state, summary(rows, ids, vocabulary), lambda: fallback(rows, best, ids, vocabulary), colours=32
    )


def check(logits: Tensor, ids: Tensor, names: list[str]) -> None:
    """Raise a ValueError unless logits, tokens and names fit together."""
    if logits.ndim != 3 or tuple(logits.shape[1:]) != (len(ids), len(names)) or len(ids) < 2 or not len(logits):
        expected = f"(places, T, vocab) of at least 2 tokens, here (…, {len(ids)}, {len(names)})"
        raise ValueError(f"logits must be {expected} (their shape is {tuple(logits.shape)})")
    if logits.isnan().any():
        raise ValueError("logits must not be NaN")
    if not 0 <= int(ids.min()) <= int(ids.max()) < len(names):
        raise ValueError(f"tokens must be from 0 to {len(names) - 1} (got {int(ids.min())} to {int(ids.max())})")


def shortened(names: list[str], best: Tensor, ids: Tensor) -> tuple[list[str], Tensor, Tensor]:
    """The token names that are sent, and the best and the read tokens as indices into them."""
    if len(names) <= MOST_NAMES:
        return names, best, ids
    used, places = torch.cat([best.flatten(), ids]).unique(return_inverse=True)
    return [names[i] for i in used.tolist()], places[: best.numel()].view_as(best), places[best.numel() :]


def summary(places: list[str], ids: Tensor, names: list[str]) -> str:
    """A one-line summary of what is shown, without any number that training produced."""
    text = label("".join(names[i] for i in ids.tolist()).replace("\n", "⏎"))
    return (
        f"The logit lens over “{text}”: the most probable next token at {len(places)} places and {len(ids)} positions."
    )


def fallback(places: list[str], best: torch.return_types.topk, ids: Tensor, names: list[str]) -> Figure:
    """Draw each position's guesses as a thread that rises from the token read, as wide as the guess is probable.

    It is amber from where no later place says anything else; the true next token is bold.
    """
    n, m = len(places), len(ids)
    drawing, ax = figure(max(3.0, min(8.0, 1.2 + 0.3 * m)), 0.9 + 0.4 * n)
    shown, wide = best.indices[..., 0], 0.05 + 0.85 * best.values[..., 0].numpy()  # (places, T)
    size = 10 if m <= 30 else 5
    for t in range(m):
        lock = max((i + 1 for i in range(n) if shown[i, t] != shown[-1, t]), default=0)
        for i in range(n):
            ends = wide[max(i - 1, 0) : i + 2, t]
            half = np.array([ends[:2].mean() if i else 0.1, wide[i, t], ends[-2:].mean()]) / 2
            colour = PAPER["amber" if i >= lock else "line"]
            ax.fill_betweenx([i - 0.5, i, i + 0.5], t - half, t + half, color=colour, linewidth=0)
            token = int(shown[i, t])
            right = t + 1 < m and token == int(ids[t + 1])
            style = {"color": INK, "weight": "bold" if right else "normal", "family": ["serif", "sans-serif"]}
            ax.text(t, i, visible(names[token]), ha="center", va="center", fontsize=size, parse_math=False, **style)
    ax.set(xlim=(-0.6, m - 0.4), ylim=(-0.5, n - 0.5))
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks(range(m), [visible(names[i]) for i in ids.tolist()], fontsize=size, parse_math=False)
    ax.set_yticks(range(n), places)
    ax.set_xlabel("token read")
    return drawing


def visible(name: str) -> str:
    """A token in visible form, cut to three letters."""
    shown = {"": "pad"}.get(name, name.replace("\n", "⏎").replace(" ", "␣"))
    return shown if len(shown) <= 3 else f"{shown[:2]}…"
