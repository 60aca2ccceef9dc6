"""A mask to paint: which query may attend to which key, how the weights change, and what is wrong with the mask."""

import torch
from jaxtyping import Bool
from matplotlib.axes import Axes
from torch import Tensor

from transformer_lab.nn.attention import masked_softmax
from transformer_lab.nn.masks import causal_mask
from transformer_lab.plots import plot_attention
from transformer_lab.plots.checks import Tokens, Values, check_shape, to_array, to_tensor
from transformer_lab.plots.picture import PAPER
from transformer_lab.widgets.shared.view import View

PATTERNS = ("everything", "causal", "sliding window", "prefix")
MOST_TOKENS = 16
SLATS = 6  # of a shutter in the picture


def mask_playground(scores: Values, tokens: Tokens, pattern: str = "causal", pad_token: str = "pad") -> View:
    """Paint the mask of a self-attention and see its weights: the masked softmax of fixed scores.

    scores (T, T), already divided by √d_k; `pattern` is the mask at first: everything, causal, sliding window or
    prefix. Tokens equal to `pad_token` are padding at first, hidden as keys.

    Raises:
        ValueError: the scores are not finite or do not fit the tokens; there are more than 16 tokens or fewer than 2;
            there is no such pattern.
    """
    scores, words = to_tensor(scores).detach().cpu(), [str(token) for token in tokens]
    check_shape("scores", to_array(scores), ("tokens", tokens), ("tokens", tokens))
    if not 2 <= len(tokens) <= MOST_TOKENS:
        raise ValueError(f"there must be 2 to {MOST_TOKENS} tokens (got {len(tokens)})")
    if not scores.isfinite().all():
        raise ValueError("scores must be finite: the mask is painted here")
    if pattern not in PATTERNS:
        raise ValueError(f"pattern must be one of {', '.join(PATTERNS)} (got {pattern})")
    padding = [word == pad_token for word in words]
    mask = mask_of(pattern, len(tokens)) & ~torch.tensor(padding, device="cpu")
    weights = masked_softmax(scores.double(), mask)
    state = {"scores": scores, "tokens": words, "pattern": pattern, "padding": padding}
    said = summary(mask, pattern, padding)
    known = 2 if pattern == "prefix" else 0  # keys that are known from the start
    return View("masks", state, said, lambda: fallback(weights, words, mask, known))


def mask_of(pattern: str, length: int, window: int = 2, prefix: int = 2) -> Bool[Tensor, "{length} {length}"]:
    """The mask of a pattern, such as a window of positions that ends with the query, or a prefix that all may see."""
    past = causal_mask(length, "cpu")
    return {
        "everything": torch.ones_like(past),
        "causal": past,
        "sliding window": past.triu(1 - window),
        "prefix": past | (torch.arange(length, device="cpu") < prefix),
    }[pattern]


def fallback(weights: Tensor, tokens: list[str], mask: Tensor, known: int) -> Axes:
    """The weights as light in windows; shutters are down where the mask forbids, and a leak is a spark."""
    ax = plot_attention(weights, tokens, tokens, mask=mask)
    for shutter in ax.patches:
        shutter.set(hatch=None, facecolor=PAPER["slab"])
        box = shutter.get_path().transformed(shutter.get_patch_transform()).get_extents()
        slats = [box.y0 + (i + 0.5) / SLATS for i in range(SLATS)]
        ax.hlines(slats, box.x0, box.x1, color=PAPER["thread"], linewidth=2, zorder=1.6)
    later = (mask & ~causal_mask(len(mask), "cpu")).nonzero().tolist()
    leaks = [(s + 0.3, t - 0.28) for t, s in later if s >= known]
    if leaks:
        x, y = zip(*leaks, strict=True)
        ax.plot(
            x, y, linestyle="", marker=(8, 1, 0), markersize=9, color=PAPER["change"], markeredgecolor=PAPER["paper"]
        )
    return ax


def summary(mask: Tensor, pattern: str, padding: list[bool]) -> str:
    """A one-line summary of what the mask lets through."""
    hidden = f", {sum(padding)} of padding hidden" if any(padding) else ""
    blind = int((~mask.any(dim=-1)).sum())
    nothing = f"; {blind} of the queries may see nothing" if blind else ""
    seen = f"{int(mask.sum())} of {mask.numel()} pairs of query and key may attend"
    return f"Mask playground over {len(mask)} tokens ({pattern}{hidden}): {seen}{nothing}."
