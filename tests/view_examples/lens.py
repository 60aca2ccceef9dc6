"""The logit lens over a short text, and over one so long that it is seen through an overview, from random states."""

import torch

SET_UP = r"""
import torch
from transformer_lab import widgets
from transformer_lab.analysis import logit_lens

lens_names = ["", "\n", " ", "a", "b</b>", "$x$", "then", "<d>", "unbelievable"]

def lens_of(places, length, seed):
    torch.manual_seed(seed)
    steps = torch.randn(places, length, 6).cumsum(0)  # as in a residual stream
    return logit_lens(steps, torch.nn.LayerNorm(6), torch.randn(9, 6)), torch.randint(9, (length,))

lens_logits, lens_tokens = lens_of(4, 8, 0)
long_logits, long_tokens = lens_of(3, 64, 1)
"""
SHOW = {
    "lens": "widgets.lens(lens_logits, lens_tokens, lens_names)",
    "lens of a long text": 'widgets.lens(long_logits, long_tokens, lens_names, ["in", "half", "out"])',
}
SEEN = ["pad", "⏎", "␣", "a", "b</b>", "$x$", "then", "<d>", "unbelievable"]

data: dict = {}
exec(SET_UP, data)


def seen(name="lens", position=None, place=-1, shade="top") -> dict:
    """What the view shows; without a position, where the true next token gains most."""
    short = name == "lens"
    logits, tokens = (data[f"{'lens' if short else 'long'}_{what}"] for what in ("logits", "tokens"))
    p = logits.detach().double().softmax(-1)
    truth = p[:, range(len(tokens) - 1), tokens[1:]]
    position = int((truth[-1] - truth[0]).argmax()) if position is None else position
    best = p[place, position].topk(5)
    blank = torch.full((len(p), 1), torch.nan, dtype=torch.float64)
    return {
        "shade": (p.amax(-1) if shade == "top" else torch.cat([truth, blank], 1)).tolist(),
        "tokens": [[SEEN[i] for i in row] for row in p.argmax(-1).tolist()],
        "position": position,
        "place": place % len(p),
        "best": [SEEN[i] for i in best.indices.tolist()],
        "probabilities": best.values.tolist(),
        "truth": truth[:, position].tolist() if position < len(tokens) - 1 else [],
    }


START = {name: lambda name=name: seen(name) for name in SHOW}
