"""A Transformer's decoder that remembers what it has read, for a batch of targets."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_lab.checks import check_least
from transformer_lab.decoding.single import check_logits
from transformer_lab.nn.kv_cache import KVCache
from transformer_lab.nn.masks import causal_mask, padding_mask
from transformer_lab.nn.transformer import Mask, Transformer


class CachedDecoder:
    """A decoder with a cache: `decoder(tokens)` reads the next tokens of each target and returns the logits after each.

    Token by token, in chunks or all at once, the logits are those of `model.decode(tgt, memory, decoder_mask(…), …)` up
    to rounding.

    Raises:
        ValueError: a target becomes longer than max_len.
    """

    def __init__(self, model: Transformer, memory: Float[Tensor, "B S d_model"], memory_mask: Mask = None):
        self.model, self.memory, self.memory_mask = model, memory, memory_mask
        self.tokens = torch.empty(len(memory), 0, dtype=torch.int64, device=memory.device)  # (B, those read so far)
        self.cache = KVCache()

    def __call__(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T vocab"]:
        start, self.tokens = self.tokens.size(1), torch.cat([self.tokens, tokens], dim=1)
        return self.model.decode(tokens, self.memory, self.mask_from(start), self.memory_mask, self.cache)

    def mask_from(self, start: int) -> Bool[Tensor, "B 1 T S"]:
        """The rows of `decoder_mask` for the positions from `start` on."""
        causal = causal_mask(self.tokens.size(1), self.tokens.device)
        return causal[start:] & padding_mask(self.tokens, self.model.config.pad_id)

    def select(self, rows: Int[Tensor, " B"]) -> None:
        """Continue with these rows of the targets, in this order; a row may only replace one with the same memory."""
        self.tokens = self.tokens[rows]
        self.cache.select(rows)


def start_decoder(model: Transformer, src: Int[Tensor, "B S"], copies: int = 1) -> CachedDecoder:
    """A decoder at the start of `copies` targets for each source, with those of one source next to one another.

    Raises:
        ValueError: copies is below 1.
    """
    check_least(1, copies=copies)
    src_mask = padding_mask(src, model.config.pad_id)
    memory = model.encode(src, src_mask)
    return CachedDecoder(model, memory.repeat_interleave(copies, 0), src_mask.repeat_interleave(copies, 0))


def next_logits(decoder: CachedDecoder, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B vocab"]:
    """The logits after the last of these tokens. Raises a ValueError if they are not numbers."""
    logits = decoder(tokens)[:, -1]
    check_logits(logits)
    return logits
