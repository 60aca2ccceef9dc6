"""Generation: the answers to many chats at once, padded on the left, with a cache; and how many of them are right."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_lab.training.experiments.clinic.program import data
from transformer_lab.training.experiments.clinic.program.model import Cache, Decoder


def pad_left(prompts: Sequence[Sequence[int]]) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Prompts of different lengths in one batch, which all end in the last column; and where they are: 1, else 0."""
    longest = max(map(len, prompts))
    tokens = torch.tensor([[data.PAD] * (longest - len(prompt)) + [*prompt] for prompt in prompts])
    return tokens, (tokens != data.PAD).long()


@torch.no_grad()
def generate(model: Decoder, prompts: Sequence[Sequence[int]], max_new: int = 12) -> list[list[int]]:
    """The most probable continuation of each prompt, token by token, up to `<end>`."""
    model.eval()
    tokens, documents = (x.to(model.table.weight.device) for x in pad_left(prompts))
    positions = (documents.cumsum(dim=1) - 1).clamp(min=0)  # the first token of a prompt is 0, wherever it stands
    cache, written = Cache(), []
    for _ in range(max_new):
        tokens = model(tokens, documents, positions, cache)[:, -1:].argmax(dim=-1)
        written.append(tokens)
        documents, positions = documents[:, -1:], positions[:, -1:] + 1
    return [until_end(row) for row in torch.cat(written, dim=1).tolist()]


def until_end(ids: Sequence[int]) -> list[int]:
    """What stands before the first `<end>`."""
    ids = [*ids]
    return ids[: ids.index(data.END)] if data.END in ids else ids


def answers(model: Decoder, tokenizer: data.Tokenizer, chats: Sequence[Sequence[data.Turn]]) -> list[str]:
    """What the model answers to the last question of each chat."""
    prompts = [tokenizer.encode(data.prompt_text(chat[:-1], chat[-1][0])) for chat in chats]
    return [tokenizer.decode(ids) for ids in generate(model, prompts)]


def share_right(model: Decoder, tokenizer: data.Tokenizer, chats: Sequence[Sequence[data.Turn]]) -> float:
    """The share of chats whose last question the model answers as the chat does, letter by letter."""
    given = answers(model, tokenizer, chats)
    return sum(said == chat[-1][1] for said, chat in zip(given, chats, strict=True)) / len(chats)
