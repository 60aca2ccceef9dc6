"""What a model makes of a few samples while it is trained."""

from collections.abc import Sequence

import torch

from transformer_lab.analysis import cross_attention, token_names
from transformer_lab.generation import greedy
from transformer_lab.model import Transformer
from transformer_lab.tokenizer import TokenizerLike
from transformer_lab.training.examples import encode_texts
from transformer_lab.training.loop import Report

MOST_SNAPSHOTS = 12  # so many of a long run are kept


class Snapshots:
    """What a model makes of a few samples at some steps: its translations, and its attention to the given targets."""

    def __init__(self, model: Transformer, tokenizer: TokenizerLike, pairs: Sequence[tuple[str, str]]):
        self.model, self.tokenizer, self.pairs = model, tokenizer, pairs
        device, eos = next(model.parameters()).device, tokenizer.eos_id
        ids = [[[*tokenizer.encode(text), eos] for text in pair] for pair in pairs]
        self.src = [torch.tensor([source], device=device) for source, _ in ids]
        self.tgt = [torch.tensor([[tokenizer.bos_id, *target[:-1]]], device=device) for _, target in ids]
        self.samples = [
            {"source": pair[0], "target": pair[1], "columns": names[0], "rows": names[1]}
            for pair, names in zip(pairs, ([token_names(tokenizer, of) for of in both] for both in ids), strict=True)
        ]
        self.depth = [model.config.n_layers, model.config.n_heads]
        self.taken: list[tuple[int, list[str], list[torch.Tensor]]] = []  # step, translations, weights

    def take(self, report: Report) -> bool:
        """Take a snapshot, if it is time to; whether it was."""
        if not self.pairs or (self.taken and report.exact_match is None):
            return False
        said = self.translations()
        weights = [cross_attention(self.model, src, tgt) for src, tgt in zip(self.src, self.tgt, strict=True)]
        self.taken.append((report.step, said, weights))
        if len(self.taken) > MOST_SNAPSHOTS:
            self.taken = [*self.taken[:-1:2], self.taken[-1]]
        return True

    def translations(self) -> list[str]:
        """The model's translation of each source; one that does not end is cut at twice the longest target."""
        src = encode_texts([source for source, _ in self.pairs], self.tokenizer).to(self.tgt[0].device)
        longest = min(2 * max(target.size(1) for target in self.tgt), self.model.config.max_len)
        special = {"bos_id": self.tokenizer.bos_id, "eos_id": self.tokenizer.eos_id}
        return [self.tokenizer.decode(row) for row in greedy(self.model, src, **special, max_length=longest).tolist()]

    @property
    def at(self) -> list[int]:
        """The steps of the snapshots."""
        return [step for step, *_ in self.taken]

    def said(self) -> list[str]:
        """The translations, snapshot by snapshot."""
        return [text for _, said, _ in self.taken for text in said]

    def weights(self) -> list[torch.Tensor]:
        """For each sample (snapshots, layers, heads, T, S)."""
        return [torch.stack(of_sample) for of_sample in zip(*(weights for *_, weights in self.taken), strict=True)]
