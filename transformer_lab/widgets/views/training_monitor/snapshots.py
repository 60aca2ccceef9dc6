"""A model's outputs on a few samples in the course of its training."""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer_lab.analysis import cross_attention, token_names
from transformer_lab.data.texts import Characters
from transformer_lab.data.tokenizer import TokenizerLike
from transformer_lab.decoding.batched import greedy
from transformer_lab.decoding.completion import complete
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.nn.transformer import Transformer
from transformer_lab.training.examples import encode_texts
from transformer_lab.training.loop import Report

MOST_SNAPSHOTS = 12  # so many of a long run are kept


class Snapshots:
    """A model's output on each of a few samples, optionally with its attention, at some steps of its training."""

    words: str  # for what it says
    depth: Sequence[int] = (1, 1)  # layers and heads of the attention that is kept

    def __init__(self, samples: list[dict]):
        self.samples = samples
        self.taken: list[tuple[int, list[str], list[Tensor]]] = []  # step, what it says, weights

    def say(self) -> list[str]:
        """The model's current output on each sample."""
        raise NotImplementedError

    def attend(self) -> list[Tensor]:
        """The attention on each sample, (layers, heads, T, S), or nothing if attention is not kept."""
        return []

    def take(self, report: Report) -> bool:
        """Take a snapshot if one is due; returns whether it was."""
        if not self.samples or (self.taken and report.score is None):
            return False
        self.taken.append((report.step, self.say(), self.attend()))
        if len(self.taken) > MOST_SNAPSHOTS:
            self.taken = [*self.taken[:-1:2], self.taken[-1]]
        return True

    @property
    def at(self) -> list[int]:
        """The steps of the snapshots."""
        return [step for step, *_ in self.taken]

    def said(self) -> list[str]:
        """The model's outputs, snapshot by snapshot."""
        return [text for _, said, _ in self.taken for text in said]

    def weights(self) -> list[Tensor]:
        """The attention on each sample over all snapshots, (snapshots, layers, heads, T, S)."""
        return [torch.stack(of_sample) for of_sample in zip(*(weights for *_, weights in self.taken), strict=True)]


class Translations(Snapshots):
    """Snapshots of a translator: its translations, and its attention to the given targets."""

    words = "sample translations"

    def __init__(self, model: Transformer, tokenizer: TokenizerLike, pairs: Sequence[tuple[str, str]]):
        self.model, self.tokenizer, self.pairs = model, tokenizer, pairs
        device, eos = next(model.parameters()).device, tokenizer.eos_id
        ids = [[[*tokenizer.encode(text), eos] for text in pair] for pair in pairs]
        self.src = [torch.tensor([source], device=device) for source, _ in ids]
        self.tgt = [torch.tensor([[tokenizer.bos_id, *target[:-1]]], device=device) for _, target in ids]
        names = [[token_names(tokenizer, of) for of in both] for both in ids]
        super().__init__(
            [
                {"source": pair[0], "target": pair[1], "columns": columns, "rows": rows}
                for pair, (columns, rows) in zip(pairs, names, strict=True)
            ]
        )
        self.depth = [model.config.n_layers, model.config.n_heads]

    def say(self) -> list[str]:
        """The translation of each source; one that does not end is cut off at twice the longest target's length."""
        src = encode_texts([source for source, _ in self.pairs], self.tokenizer).to(self.tgt[0].device)
        longest = min(2 * max(target.size(1) for target in self.tgt), self.model.config.max_len)
        special = {"bos_id": self.tokenizer.bos_id, "eos_id": self.tokenizer.eos_id}
        return [self.tokenizer.decode(row) for row in greedy(self.model, src, **special, max_length=longest).tolist()]

    def attend(self) -> list[Tensor]:
        return [cross_attention(self.model, src, tgt) for src, tgt in zip(self.src, self.tgt, strict=True)]


class Continuations(Snapshots):
    """Snapshots of a language model: its continuations of a few prompts, sampled with the same seed each time."""

    words = "sample texts"
    temperature = 0.7

    def __init__(self, model: LanguageModel, characters: Characters, prompts: Sequence[str], n_tokens: int):
        super().__init__([{"source": prompt} for prompt in prompts])
        self.model, self.characters, self.n_tokens = model, characters, n_tokens
        device = next(model.parameters()).device
        self.prompts = [characters.encode(prompt)[None].to(device) for prompt in prompts]  # (1, T)

    def say(self) -> list[str]:
        return [self.continued(prompt) for prompt in self.prompts]

    def continued(self, prompt: Tensor) -> str:
        generator = torch.Generator("cpu").manual_seed(0)
        made = complete(self.model, prompt, self.n_tokens, temperature=self.temperature, generator=generator)
        return self.characters.decode(made[0, prompt.size(1) :].tolist())
