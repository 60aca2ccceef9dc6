"""How long decoding takes with and without a cache, a training step beside torch's, and decoding beside Hugging Face's.

    pytest tests/benchmarks/test_decoding_speed.py

Two ways take turns (one, other, other, one, …), so that noise hits both alike. Both medians and their ratio are shown,
and in brackets the ratio of the fastest rounds, which other programs disturb least. That the two compute the same is
asserted first; of the times only the cache's gain is.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from statistics import median
from time import perf_counter

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.support import DEVICE, assert_close
from transformer_lab import (
    Encoder,
    KVCache,
    LearnedPositions,
    Transformer,
    TransformerConfig,
    causal_mask,
    decoder_mask,
    greedy,
)
from transformer_lab.interop import copy_to_torch
from transformer_lab.masks import padding_mask

PAD, BOS = 0, 1
TRANSLATOR = TransformerConfig(vocab_size=300, d_model=128, n_heads=4, d_ff=512, n_layers=2, max_len=256, dropout=0.0)
BASE = TransformerConfig(vocab_size=8000, max_len=256, dropout=0.0)


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    if DEVICE.type != "cpu":
        getattr(torch, DEVICE.type).synchronize()  # a GPU works on after a call returns
    return perf_counter() - start


def ratio_of(names: tuple[str, str], one: Callable, other: Callable, rounds: int, capsys) -> float:
    """Time both in turns, print both medians, and return how many times as long the first takes."""
    times = ([], [])
    for turn in range(-1, rounds):  # turn -1 warms up
        order = (0, 1) if turn % 2 else (1, 0)
        for i in order:
            taken = seconds((one, other)[i])
            if turn >= 0:
                times[i].append(taken)
    ratio = median(times[0]) / median(times[1])
    with capsys.disabled():
        print(
            f"\n{DEVICE}, {torch.get_num_threads()} threads, {rounds} rounds: "
            + ", ".join(f"{name} {1000 * median(t):.1f} ms" for name, t in zip(names, times, strict=True))
            + f", ratio {ratio:.3f} ({min(times[0]) / min(times[1]):.3f})"
        )
    return ratio


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
    assert ratio_of(("without a cache", "with"), plain, cached, rounds, capsys) >= 5


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


# A decoder of GPT-2's size beside Hugging Face's


class GPT(nn.Module):
    """GPT-2 of this package's blocks: pre-norm layers with a causal mask, and nothing to translate from."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = LearnedPositions(config.max_len, config.d_model)
        self.stack = Encoder(config)

    @torch.no_grad()
    def continued(self, tokens: Tensor, count: int) -> Tensor:
        """The prompt and the `count` tokens that follow it, by greedy choice."""
        cache, start = KVCache(), 0
        for _ in range(count):
            x = self.positions(self.tokens(tokens[:, start:]), start)
            x = self.stack(x, causal_mask(tokens.size(1), DEVICE)[start:], cache)
            logits = F.linear(x[:, -1], self.tokens.weight)
            start, tokens = tokens.size(1), torch.cat([tokens, logits.argmax(-1, keepdim=True)], dim=1)
        return tokens

    @torch.no_grad()
    def copy_from(self, theirs: nn.Module) -> None:
        """The weights of a GPT2LMHeadModel, which keeps its matrices transposed and Q, K and V side by side."""
        self.tokens.weight.copy_(theirs.transformer.wte.weight)
        self.positions.encoding.copy_(theirs.transformer.wpe.weight)
        self.stack.norm.load_state_dict(theirs.transformer.ln_f.state_dict())
        for mine, other in zip(self.stack.layers, theirs.transformer.h, strict=True):
            attention, feed_forward = mine.self_attention, mine.feed_forward
            stacked = zip(other.attn.c_attn.weight.chunk(3, dim=1), other.attn.c_attn.bias.chunk(3), strict=True)
            pairs = [(each.weight.T, each.bias) for each in (other.attn.c_proj, other.mlp.c_fc, other.mlp.c_proj)]
            pairs += [(weight.T, bias) for weight, bias in stacked]
            linears = (attention.w_o, feed_forward.w_1, feed_forward.w_2, attention.w_q, attention.w_k, attention.w_v)
            for linear, (weight, bias) in zip(linears, pairs, strict=True):
                linear.weight.copy_(weight)
                linear.bias.copy_(bias)
            mine.residual_1.norm.load_state_dict(other.ln_1.state_dict())
            mine.residual_2.norm.load_state_dict(other.ln_2.state_dict())


@pytest.mark.parametrize("batch", [1, 4])
def test_a_decoder_of_the_size_of_gpt_2_small_beside_hugging_face(batch, capsys):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config()).to(DEVICE).eval()
    ours = GPT(TransformerConfig(50257, 768, 12, 3072, 12, 1024, dropout=0.0, norm_first=True))
    for layer in ours.stack.layers:
        layer.feed_forward.activation = partial(F.gelu, approximate="tanh")
    ours.to(DEVICE).eval().copy_from(theirs)
    prompt, count = torch.randint(0, 50257, (batch, 16), device=DEVICE), 100
    settings = {
        "attention_mask": torch.ones_like(prompt),
        "do_sample": False,
        "eos_token_id": None,
        "pad_token_id": PAD,
    }
    generate = partial(theirs.generate, prompt, max_new_tokens=count, **settings)
    continued = partial(ours.continued, prompt, count)
    assert torch.equal(continued(), generate())
    ratio_of((f"our GPT-2 small, batch {batch}", "Hugging Face's"), continued, generate, 5, capsys)
