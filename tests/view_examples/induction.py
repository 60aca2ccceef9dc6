"""Heads of a language model over a repeated text, and those of a model of attention alone, both untrained."""

import torch
import torch.nn.functional as F

from transformer_lab import record_attention
from transformer_lab.widgets.shared.sent_model import as_sent

SET_UP = r"""
import torch
from transformer_lab import AttentionOnly, LanguageModel, LanguageModelConfig, widgets

def shaken(made, seed):
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.25 * torch.randn_like(parameter))
    return made

heads_lm = shaken(LanguageModel(LanguageModelConfig(9, 12, 2, 20, 2, max_len=16)), 0)
bare_lm = shaken(AttentionOnly(9, 12, 3, 2), 1)
heads_names = ["", "\n", "<b>", "$", "cat", "sat", " ", "a", "the"]
twice, once = [4, 7, 2, 3, 1, 4, 7, 2, 3, 1], [8, 0, 6, 5, 4, 3]
"""
SHOW = {
    "induction": "widgets.induction(heads_lm, twice, heads_names)",
    "induction of attention alone": "widgets.induction(bare_lm, once, heads_names)",
}

data: dict = {}
exec(SET_UP, data)


def ran(model: torch.nn.Module, tokens: torch.Tensor, gone: set[tuple[int, int]]) -> tuple[list, torch.Tensor]:
    """The weights of each layer (h, T, T), and the losses (T - 1,), with some heads' columns of W_O set to 0."""
    with torch.no_grad():
        for layer, head in gone:
            attention = model.layers[layer].self_attention
            attention.w_o.weight.view(12, attention.n_heads, -1)[:, head] = 0.0  # (d_model, h, d_head)
        with record_attention(model) as maps:
            losses = F.cross_entropy(model(tokens[None])[0, :-1], tokens[1:], reduction="none")
    return [weights[0] for weights in maps.values()], losses


def explored(name="induction", at=(0, 0), gone=(), position=None, change=False) -> dict:
    """What the view shows of the head `at`, with other heads gone."""
    short = name == "induction"
    model, tokens = (data["heads_lm"], data["twice"]) if short else (data["bare_lm"], data["once"])
    ids = torch.tensor(tokens)
    before, intact = ran(as_sent(model).double(), ids, set())
    after, losses = ran(as_sent(model).double(), ids, set(gone))
    map_, old = after[at[0]][at[1]], before[at[0]][at[1]]
    hidden = torch.ones_like(map_, dtype=torch.bool).triu(1)
    same = [(t, s + 1) for t in range(len(tokens)) for s in range(t) if tokens[s] == tokens[t]]
    return {
        "head": f"{at[0]}.{at[1]}",
        "map": (map_ - old if change else map_).masked_fill(hidden, torch.nan).tolist(),
        "changed": torch.cat([(a - b).abs().amax((1, 2)) for a, b in zip(after, before, strict=True)]).tolist(),
        "intact": intact.tolist(),
        "losses": losses.tolist(),
        "previous": map_.diagonal(-1).mean().item(),
        "induction": sum(map_[t, s].item() for t, s in same) / len(same) if same else None,
        "position": len(tokens) - 2 if position is None else position,
    }


START = {name: lambda name=name: explored(name) for name in SHOW}
