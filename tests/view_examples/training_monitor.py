"""A short training of a small model that copies its source, and one of a language model."""

from functools import cache

import torch
from torch import Tensor

SET_UP = r"""
import torch
from transformer_lab import LanguageModel, LanguageModelConfig, Transformer, TransformerConfig, token_log_probs, widgets
from transformer_lab.data.tasks import Vocabulary
from transformer_lab.training.evaluation import exact_match
from transformer_lab.training.examples import Examples
from transformer_lab.data.texts import Characters
from transformer_lab.training.loop import Training
from transformer_lab.training.recipe import Recipe
from transformer_lab.training.text_examples import TextExamples
from transformer_lab.training.text_training import TextRecipe, TextTraining

letters = Vocabulary(["k", "l", "m", "n"])
copied = [(text, text) for text in ("k l", "l m n", "n k", "m", "m l k")]


def toy_training():
    torch.manual_seed(0)
    size = dict(vocab_size=7, d_model=16, n_heads=2, d_ff=16, n_layers=2, max_len=8)
    model = Transformer(TransformerConfig(**size, dropout=0.0))
    training = Training(model, Examples.from_pairs(copied, letters), Recipe(batch_size=5, warmup_steps=20))
    reports = training.run(30, lambda: exact_match(model, letters, copied), every=10)
    return reports, 30, model, letters, copied[:2]


rhyme = "a b <b> $ab$\n" * 9
rhyme_characters = Characters.of(rhyme)


def toy_text_training():
    torch.manual_seed(0)
    config = LanguageModelConfig(len(rhyme_characters), 16, 2, 16, 1, max_len=12, dropout=0.0, positions="rotary")
    model, ids = LanguageModel(config), rhyme_characters.encode(rhyme)
    training = TextTraining(model, TextExamples(ids, 12), TextRecipe(30, batch_size=4))
    reports = training.run(30, lambda: -token_log_probs(model, ids[:40]).mean().item(), every=10)
    return reports, 30, model, rhyme_characters, ["a b", "<"]
"""
SHOW = {
    "training": "widgets.training_monitor(*toy_training())",
    "training on text": "widgets.text_training_monitor(*toy_text_training(), n_tokens=8, levels={'bigram': 1.2})",
}

data: dict = {}
exec(SET_UP, data)


@cache
def recorded() -> tuple[list, list[tuple[int, list[str], list[Tensor]]]]:
    """The reports of such a training; and of each snapshot its step, the translations, and the weights."""
    from transformer_lab.nn.recording import record_attention
    from transformer_lab.training.evaluation import translate

    reports, _, model, letters, samples = data["toy_training"]()
    seen, snapshots = [], []
    for report in reports:
        seen.append(report)
        if report.step == 1 or report.score is not None:
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
    scores = [r.score for r in reports[:step] if r.score is not None]
    snapshot, said, weights = [snapshot for snapshot in snapshots if snapshot[0] <= step][-1]
    heads = weights[sample][layer].double()
    shown = (heads.mean(0) if head is None else heads[head]).tolist()
    numbers = {"step": step, "loss": report.loss, "rate": report.rate, "score": scores[-1] if scores else None}
    return numbers | {"snapshot": snapshot, "said": said, "map": shown}


@cache
def recorded_of_text() -> tuple[list, dict[int, list[str]]]:
    """The reports of the training on text, and what the model writes at some steps."""
    reports, _, model, characters, prompts = data["toy_text_training"]()
    seen, written = [], {}
    for report in reports:
        seen.append(report)
        if report.step == 1 or report.score is not None:
            written[report.step] = [going_on(model, characters, prompt) for prompt in prompts]
    return seen, written


def going_on(model, characters, prompt: str) -> str:
    """8 more characters, each drawn at temperature 0.7, by a loop of its own."""
    generator, ids = torch.Generator("cpu").manual_seed(0), characters.encode(prompt)
    model.eval()
    for _ in range(8):
        with torch.no_grad():
            p = (model(ids[None])[0, -1] / 0.7).softmax(-1)
        ids = torch.cat([ids, p.multinomial(1, generator=generator)])
    model.train()
    return characters.decode(ids.tolist())[len(prompt) :]


def seen_of_text(step: int) -> dict:
    """What the view shows at a step of that training."""
    reports, written = recorded_of_text()
    report, snapshot = reports[step - 1], max(at for at in written if at <= step)
    scores = [r.score for r in reports[:step] if r.score is not None]
    numbers = {"step": step, "loss": report.loss, "rate": report.rate, "score": scores[-1] if scores else None}
    return numbers | {"snapshot": snapshot, "said": written[snapshot], "map": None}


# A third of the way.
START = {"training": lambda: seen_at(10), "training on text": lambda: seen_of_text(10)}
