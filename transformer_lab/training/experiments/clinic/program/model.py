"""A decoder as it is built today: rotary positions, RMSNorm before each part, one table for input and output."""

import math
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


@dataclass(frozen=True)
class Sizes:
    """All sizes of the model."""

    vocab_size: int
    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 2
    dropout: float = 0.05


@dataclass
class Cache:
    """Keys and values of all tokens so far, by the number of the layer, and the chat that each token belongs to."""

    documents: Int[Tensor, "B S"] | None = None
    entries: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def extend_documents(self, new: Int[Tensor, "B T"]) -> Int[Tensor, "B S"]:
        """Remember which chats the new tokens belong to; returns those of all tokens."""
        self.documents = new if self.documents is None else torch.cat([self.documents, new], dim=1)
        return self.documents

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add new keys and values `(B, h, T, d_head)` to those of a layer; returns all of them."""
        if layer in self.entries:
            past_key, past_value = self.entries[layer]
            key, value = torch.cat([past_key, key], dim=2), torch.cat([past_value, value], dim=2)
        self.entries[layer] = key, value
        return key, value


def angles(positions: Int[Tensor, "B T"], d_head: int) -> Float[Tensor, "B 1 T d_head"]:
    """By how much each feature turns: feature i is turned together with feature i + d_head / 2."""
    rates = 100 ** -(torch.arange(d_head // 2, device=positions.device) * 2 / d_head)
    half = positions[:, None, :, None] * rates
    return torch.cat([half, half], dim=-1)


def rotate(x: Float[Tensor, "B h T d_head"], angles: Float[Tensor, "B 1 T d_head"]) -> Float[Tensor, "B h T d_head"]:
    """Rotary positions: turn each pair of features by its angle."""
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()


def may_attend(documents: Int[Tensor, "B S"], n_new: int) -> Bool[Tensor, "B 1 T S"]:
    """Each of the last `n_new` tokens sees the tokens of its own chat that do not come later, itself included."""
    length = documents.size(1)
    earlier = torch.ones(length, length, dtype=torch.bool, device=documents.device).tril()
    same = documents[:, :, None] == documents[:, None, :]
    return (same & earlier)[:, None, length - n_new :]


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Attention of lesson 01: `(B, h, T, d_head)`, twice `(B, h, S, d_head)` and a mask to `(B, h, T, d_head)`."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights @ value


class Block(nn.Module):
    """Attention and a feed-forward network, each added to what it has read."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.n_heads = sizes.n_heads
        self.norm_1, self.norm_2 = nn.RMSNorm(sizes.d_model), nn.RMSNorm(sizes.d_model)
        self.w_qkv = nn.Linear(sizes.d_model, 3 * sizes.d_model, bias=False)
        self.w_o = nn.Linear(sizes.d_model, sizes.d_model, bias=False)
        self.up = nn.Linear(sizes.d_model, 4 * sizes.d_model, bias=False)
        self.down = nn.Linear(4 * sizes.d_model, sizes.d_model, bias=False)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x: Tensor, angles: Tensor, mask: Tensor, layer: int, cache: Cache | None) -> Tensor:
        """`(B, T, d_model)` to the same shape."""
        x = x + self.dropout(self.attend(self.norm_1(x), angles, mask, layer, cache))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm_2(x)))))

    def attend(self, x: Tensor, angles: Tensor, mask: Tensor, layer: int, cache: Cache | None) -> Tensor:
        """Self-attention with all heads, to the tokens of the cache as well where there is one."""
        heads = self.w_qkv(x).unflatten(-1, (3, self.n_heads, -1))  # (B, T, 3, h, d_head)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # (B, h, T, d_head) each
        query, key = rotate(query, angles), rotate(key, angles)
        if cache is not None:
            key, value = cache.extend(layer, key, value)
        return self.w_o(attention(query, key, value, mask).transpose(1, 2).flatten(2))


class Decoder(nn.Module):
    """A language model: tokens and their chats to logits."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.d_head = sizes.d_model // sizes.n_heads
        self.table = nn.Embedding(sizes.vocab_size, sizes.d_model)
        nn.init.normal_(self.table.weight, std=0.02)  # small, since the table is the output layer, too
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes.n_layers))
        self.norm = nn.RMSNorm(sizes.d_model)

    def forward(
        self, tokens: Tensor, documents: Tensor, positions: Tensor | None = None, cache: Cache | None = None
    ) -> Tensor:
        """Ids `(B, T)` to logits `(B, T, vocab)`; without `positions`, each token has its place in its row."""
        if positions is None:
            positions = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
        seen = documents if cache is None else cache.extend_documents(documents)
        mask, turned = may_attend(seen, tokens.size(1)), angles(positions, self.d_head)
        x = self.table(tokens)
        for layer, block in enumerate(self.blocks):
            x = block(x, turned, mask, layer, cache)
        return self.norm(x) @ self.table.weight.T
