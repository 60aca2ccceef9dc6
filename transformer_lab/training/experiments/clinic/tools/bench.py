"""Where a program is tried: chats, packed rows, a model with random weights, and models that take notes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from transformer_lab.training.experiments.clinic.patients import Program


def some_chats(program: Program, count: int, seed: int) -> list[Any]:
    """Chats about all numbers."""
    return program.data.draw_chats(range(1000), count, seed)


def encoded(program: Program, chats: list[Any]) -> list[list[int]]:
    """The tokens of whole chats."""
    tokenizer = program.data.all_names()
    return [tokenizer.encode(program.data.chat_text(chat)) for chat in chats]


def prompts_of(program: Program, chats: list[Any]) -> list[list[int]]:
    """The tokens of chats up to their last answer, cut from the template of the training."""
    ids = encoded(program, chats)
    return [chat[: len(chat) - chat[::-1].index(program.data.ASSISTANT)] for chat in ids]


def packed(program: Program, count: int, seed: int) -> Any:
    """Packed rows of chats."""
    return program.data.pack(encoded(program, some_chats(program, count, seed)), 64)


def new_model(program: Program, seed: int, **sizes: Any) -> Any:
    """A model as the program makes it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return program.model.Decoder(program.model.Sizes(len(program.data.all_names().pieces), **sizes))


def loud_model(program: Program, seed: int, dropout: float = 0.0) -> Any:
    """A small model whose weights are all random and large, so that whatever has an influence shows it."""
    model = new_model(program, seed, d_model=32, n_heads=2, dropout=dropout)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            drawn = torch.randn(weight.shape, generator=generator)
            weight.copy_(0.4 * drawn if weight.ndim > 1 else 1 + 0.3 * drawn)
    return model


class Recorder:
    """A model that writes down what it is given, and the logits that it returns."""

    def __init__(self, logits_of: Callable[..., Tensor], model: nn.Module | None = None):
        self.logits_of, self.model, self.table = logits_of, model, nn.Embedding(1, 1)
        self.prompts: list[list[int]] = []
        self.logits: list[Tensor] = []

    def eval(self) -> None:
        """Pass the call on to the model."""
        self.train(False)

    def train(self, mode: bool = True) -> None:
        """Pass the call on to the model."""
        if self.model is not None:
            self.model.train(mode)

    def __call__(self, tokens: Tensor, documents: Tensor, positions: Tensor, cache: Any) -> Tensor:
        if cache.documents is None:  # the first call for these prompts
            self.prompts += [row[there > 0].tolist() for row, there in zip(tokens, documents, strict=True)]
        logits = self.logits_of(tokens, documents, positions, cache)
        self.logits.append(logits[:, -1])
        return logits


def silent(program: Program, vocab_size: int) -> Recorder:
    """A model that ends every answer at once."""

    def logits_of(tokens: Tensor, documents: Tensor, positions: Tensor, cache: Any) -> Tensor:
        cache.extend_documents(documents)
        return torch.eye(vocab_size)[torch.full((len(tokens), 1), program.data.END)]

    return Recorder(logits_of)
