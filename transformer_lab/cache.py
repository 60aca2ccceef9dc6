"""A decoder that remembers: keys and values of what it has read are kept, not computed anew at every step.

One more token then costs one token's work instead of a whole sentence's. Layers and weights are the model's own.
"""

from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_lab.attention import MultiHeadAttention
from transformer_lab.masks import causal_mask, padding_mask
from transformer_lab.model import Mask, Transformer


class CachedSelfAttention:
    """A self-attention that remembers: it takes the new positions only, and they attend to all earlier ones as well."""

    def __init__(self, attention: MultiHeadAttention):
        self.attention = attention
        self.keys: Tensor | None = None  # (B, h, positions so far, d_head), like the values
        self.values: Tensor | None = None

    def __call__(self, x: Float[Tensor, "B T d_model"], mask: Mask = None) -> Float[Tensor, "B T d_model"]:
        keys, values = self.attention.project(x, x)
        if self.keys is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return self.attention.attend(x, keys, values, mask)[0]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Go on with these rows of the batch, in this order."""
        self.keys, self.values = self.keys[rows], self.values[rows]


class CachedCrossAttention:
    """A cross-attention whose keys and values are computed once: the memory stays, however far the target grows."""

    def __init__(self, attention: MultiHeadAttention, memory: Float[Tensor, "B S d_model"], mask: Mask = None):
        self.attention, self.mask = attention, mask
        self.keys, self.values = attention.project(memory, memory)

    def __call__(self, x: Float[Tensor, "B T d_model"]) -> Float[Tensor, "B T d_model"]:
        return self.attention.attend(x, self.keys, self.values, self.mask)[0]


class CachedDecoder:
    """`decoder(tokens)` takes the next tokens of each target and gives the logits after each of them.

    Token by token, in chunks or all at once, the logits are those of `model.decode(tgt, memory, decoder_mask(…), …)` up
    to rounding. `record_attention` sees nothing of it: for the weights, run the finished target through the model.

    Raises:
        ValueError: a target becomes longer than max_len.
    """

    def __init__(self, model: Transformer, memory: Float[Tensor, "B S d_model"], memory_mask: Mask = None):
        self.model = model
        self.tokens = torch.empty(len(memory), 0, dtype=torch.int64, device=memory.device)  # those read so far
        self.layers = [
            (
                layer,
                CachedSelfAttention(layer.self_attention),
                CachedCrossAttention(layer.cross_attention, memory, memory_mask),
            )
            for layer in model.decoder.layers
        ]

    def __call__(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T vocab"]:
        start = self.tokens.size(1)
        x = self.model.tgt_embedding(tokens, start)
        self.tokens = torch.cat([self.tokens, tokens], dim=1)
        mask = self.mask_from(start)
        for layer, to_itself, to_memory in self.layers:
            x = layer.sublayers(x, partial(to_itself, mask=mask), to_memory)
        return self.model.to_logits(self.model.decoder.norm(x))

    def mask_from(self, start: int) -> Bool[Tensor, "B 1 T S"]:
        """The rows of `decoder_mask` for the positions from `start` on."""
        causal = causal_mask(self.tokens.size(1), self.tokens.device)
        return causal[start:] & padding_mask(self.tokens, self.model.config.pad_id)

    def select(self, rows: Int[Tensor, " B"]) -> None:
        """Go on with these rows of the targets, in this order; a row may replace only one with the same memory."""
        self.tokens = self.tokens[rows]
        for _, to_itself, _ in self.layers:
            to_itself.select(rows)
