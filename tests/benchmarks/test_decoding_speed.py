"""How long decoding takes with and without a cache, and a training step beside torch's.

    pytest tests/benchmarks/test_decoding_speed.py

That the two compute the same is asserted first; of the times only the cache's gain is.
"""

from copy import deepcopy
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.benchmarks.timing import ratio_of
from tests.support import DEVICE, assert_close
from transformer_lab import (
    Transformer,
    TransformerConfig,
    causal_mask,
    decoder_mask,
    greedy,
)
from transformer_lab.nn.masks import padding_mask
from transformer_lab.weights.torch_nn import copy_to_torch

PAD, BOS = 0, 1
TRANSLATOR = TransformerConfig(vocab_size=300, d_model=128, n_heads=4, d_ff=512, n_layers=2, max_len=256, dropout=0.0)
BASE = TransformerConfig(vocab_size=8000, max_len=256, dropout=0.0)


# Greedy decoding with and without a cache


@torch.no_grad()
def greedy_without_cache(model: Transformer, src: Tensor, max_length: int) -> Tensor:
    """Every step decodes the whole target anew; the memory is computed once."""
    src_mask = padding_mask(src, PAD)
    memory, ids = model.encode(src, src_mask), torch.full((len(src), 1), BOS, device=DEVICE)
    for _ in range(max_length - 1):
        logits = model.decode(ids, memory, decoder_mask(ids, PAD), src_mask)[:, -1]
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
    return ids


@pytest.mark.parametrize(
    ("config", "batch", "rounds"), [(TRANSLATOR, 16, 5), (BASE, 1, 3)], ids=["translator, batch 16", "base, batch 1"]
)
def test_200_tokens_with_a_cache_and_without(config, batch, rounds, capsys):
    torch.manual_seed(0)
    model = Transformer(config).to(DEVICE).eval()
    src = torch.randint(3, 300, (batch, 20), device=DEVICE)
    plain = partial(greedy_without_cache, model, src, 201)
    tokens = plain()
    never = next(i for i in range(config.vocab_size) if not (tokens == i).any())
    cached = partial(greedy, model, src, bos_id=BOS, eos_id=never, max_length=201)
    assert torch.equal(tokens, cached())
    assert ratio_of(("without a cache", "with"), plain, cached, rounds, capsys) >= 3  # memory sets the limit


# A training step beside nn.Transformer


class Torchs(nn.Module):
    """torch's own layers between the embedding and the logits of ours, with the same weights."""

    def __init__(self, ours: Transformer):
        super().__init__()
        config, ours = ours.config, deepcopy(ours)
        self.src_embedding, self.tgt_embedding, self.to_logits = ours.src_embedding, ours.tgt_embedding, ours.to_logits
        sizes = {"d_model": config.d_model, "nhead": config.n_heads, "dim_feedforward": config.d_ff}
        sizes |= {"dropout": config.dropout, "batch_first": True}
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**sizes), config.n_layers)
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), config.n_layers)
        self.transformer = nn.Transformer(**sizes, custom_encoder=encoder, custom_decoder=decoder)
        copy_to_torch(ours.encoder, encoder)  # after nn.Transformer, which fills even these with new numbers
        copy_to_torch(ours.decoder, decoder)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        x = self.transformer(
            self.src_embedding(src),
            self.tgt_embedding(tgt),
            tgt_mask=~causal_mask(tgt.size(1), DEVICE),
            src_key_padding_mask=src == PAD,
            tgt_key_padding_mask=tgt == PAD,
            memory_key_padding_mask=src == PAD,
        )
        return self.to_logits(x)


def padded(batch: int, length: int) -> Tensor:
    """Sentences of random tokens that end in different places."""
    tokens = torch.randint(3, 300, (batch, length), device=DEVICE)
    lengths = torch.randint(length // 2, length + 1, (batch, 1), device=DEVICE)
    return tokens.masked_fill(torch.arange(length, device=DEVICE) >= lengths, PAD)


@pytest.mark.parametrize(
    ("config", "batch", "lengths", "rounds"),
    [(TRANSLATOR, 128, (20, 26), 30), (BASE, 8, (32, 32), 7)],
    ids=["translator, batch 128", "base, batch 8"],
)
def test_a_training_step_beside_torch(config, batch, lengths, rounds, capsys):
    torch.manual_seed(0)
    ours = Transformer(config).to(DEVICE)
    theirs = Torchs(ours).to(DEVICE)
    src, tgt = (padded(batch, length) for length in lengths)

    def step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        logits = model(src, tgt[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD, label_smoothing=0.1)
        loss.backward()
        optimizer.step()

    steps = [partial(step, model, torch.optim.Adam(model.parameters(), lr=1e-4)) for model in (ours, theirs)]
    words = (tgt != PAD)[:, :-1]
    assert_close(ours(src, tgt[:, :-1])[words], theirs(src, tgt[:, :-1])[words], within=1e-5)
    for work in steps:
        work()
    assert_close(ours(src, tgt[:, :-1])[words], theirs(src, tgt[:, :-1])[words], within=1e-3)
    ratio_of(("our training step", "torch's"), *steps, rounds, capsys)
