"""A short training of a small model that copies its source."""

from functools import cache

import torch
from torch import Tensor

SET_UP = r"""
import torch
from transformer_lab import Transformer, TransformerConfig, widgets
from transformer_lab.tasks import Vocabulary
from transformer_lab.training.evaluation import exact_match
from transformer_lab.training.examples import Examples
from transformer_lab.training.loop import Training
from transformer_lab.training.recipe import Recipe

letters = Vocabulary(["k", "l", "m", "n"])
copied = [(text, text) for text in ("k l", "l m n", "n k", "m", "m l k")]


def toy_training():
    torch.manual_seed(0)
    size = dict(vocab_size=7, d_model=16, n_heads=2, d_ff=16, n_layers=2, max_len=8)
    model = Transformer(TransformerConfig(**size, dropout=0.0))
    training = Training(model, Examples.from_pairs(copied, letters), Recipe(batch_size=5, warmup_steps=20))
    reports = training.run(30, lambda: exact_match(model, letters, copied), every=10)
    return reports, 30, model, letters, copied[:2]
"""
SHOW = {"training": "widgets.training_monitor(*toy_training())"}

data: dict = {}
exec(SET_UP, data)


@cache
def recorded() -> tuple[list, list[tuple[int, list[str], list[Tensor]]]]:
    """The reports of such a training; and of each snapshot its step, the translations, and the weights."""
    from transformer_lab.recording import record_attention
    from transformer_lab.training.evaluation import translate

    reports, _, model, letters, samples = data["toy_training"]()
    seen, snapshots = [], []
    for report in reports:
        seen.append(report)
        if report.step == 1 or report.exact_match is not None:
            said = translate(model, letters, [source for source, _ in samples])
            snapshots.append((report.step, said, [weights_of(model, *pair, record_attention) for pair in samples]))
    return seen, snapshots


def weights_of(model, source: str, target: str, record) -> Tensor:
    """(layers, heads, T, S), given the target."""
    src, tgt = ([*data["letters"].encode(text), 2] for text in (source, target))
    model.eval()
    with torch.no_grad(), record(model) as maps:
        model(torch.tensor([src]), torch.tensor([[1, *tgt[:-1]]]))
    model.train()
    return torch.stack([maps[f"decoder.layers.{i}.cross_attention"][0] for i in (0, 1)])


def seen_at(step: int, sample: int = 0, layer: int = 1, head: int | None = None) -> dict:
    """What the view shows at a step."""
    reports, snapshots = recorded()
    report = reports[step - 1]
    exact = [r.exact_match for r in reports[:step] if r.exact_match is not None]
    snapshot, said, weights = [snapshot for snapshot in snapshots if snapshot[0] <= step][-1]
    heads = weights[sample][layer].double()
    shown = (heads.mean(0) if head is None else heads[head]).tolist()
    numbers = {"step": step, "loss": report.loss, "rate": report.rate, "exact": exact[-1] if exact else None}
    return numbers | {"snapshot": snapshot, "said": said, "map": shown}


START = {"training": lambda: seen_at(30)}
