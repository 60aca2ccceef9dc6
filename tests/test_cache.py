"""What a cache remembers belongs to the number of a layer: copies of model and cache go on as the originals do."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.support import DEVICE, assert_close, randn, refuses, scramble, tensor
from transformer_lab import (
    KVCache,
    LanguageModel,
    LanguageModelConfig,
    MultiHeadAttention,
    Transformer,
    TransformerConfig,
    causal_mask,
)

TEXT = LanguageModelConfig(vocab_size=13, d_model=12, n_heads=3, d_ff=20, n_layers=3, max_len=11, dropout=0.0)
PAIRS = TransformerConfig(vocab_size=13, d_model=12, n_heads=3, d_ff=20, n_layers=3, max_len=11, dropout=0.0)
TOKENS = torch.randint(13, (2, 7), generator=torch.Generator().manual_seed(0)).to(DEVICE)
each_copy = pytest.mark.parametrize(
    "copied", [deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deep", "pickle"]
)
each_kind = pytest.mark.parametrize("kind", ["learned", "rotary", "sinusoidal", "encoder-decoder"])


def model_of(kind: str) -> nn.Module:
    torch.manual_seed(0)
    model = Transformer(PAIRS) if kind == "encoder-decoder" else LanguageModel(replace(TEXT, positions=kind))
    scramble(model)
    return model.to(DEVICE).eval()


def logits(model: nn.Module, cache: KVCache | None, part: slice) -> Tensor:
    if isinstance(model, LanguageModel):
        return model(TOKENS[:, part], cache)
    memory = torch.linspace(-1, 1, 2 * 5 * 12, device=DEVICE).reshape(2, 5, 12)
    mask = causal_mask(part.stop, DEVICE)[part]
    return model.decode(TOKENS[:, part], memory, mask, None, cache)


@each_kind
@each_copy
@pytest.mark.parametrize("what", ["cache", "model", "each", "together"])
def test_a_copy_of_model_or_cache_goes_on_as_the_original(kind, copied, what):
    model, cache = model_of(kind), KVCache()
    logits(model, cache, slice(0, 4))  # with gradients, whose tensors torch itself does not copy
    expected = logits(model, None, slice(0, 7))[:, 4:]
    if what == "together":
        other, same = copied((model, cache))
    else:
        other = copied(model) if what != "cache" else model
        same = copied(cache) if what != "model" else cache
    assert_close(logits(other, same, slice(4, 7)), expected, within=1e-5)


@each_copy
def test_a_copy_of_a_cache_goes_its_own_way(copied):
    model, cache = model_of("rotary"), KVCache()
    logits(model, cache, slice(0, 4))
    logits(model, copied(cache), slice(4, 7))
    assert cache.length == 4


def test_a_pickled_cache_is_no_larger_than_its_numbers():
    model, cache = model_of("rotary"), KVCache()
    with torch.no_grad():
        logits(model, cache, slice(0, 7))
    assert len(pickle.dumps(cache)) < sum(tensor.nbytes for tensor in cache.tensors.values()) + 3000


def test_gradients_pass_through_a_deep_copy():
    model, cache = model_of("learned"), KVCache()
    logits(model, cache, slice(0, 4))
    weight = model.layers[0].self_attention.w_k.weight
    after = [logits(model, each, slice(4, 7)).sum() for each in (deepcopy(cache), cache)]
    pulled = [torch.autograd.grad(total, weight, retain_graph=True)[0] for total in after]
    assert_close(*pulled)
    assert pulled[0].abs().max() > 0


@each_kind
def test_a_layer_that_is_used_twice_has_a_place_for_each_use(kind):
    model, cache = model_of(kind), KVCache()
    layers = model.decoder.layers if kind == "encoder-decoder" else model.layers
    layers[2] = layers[0]
    parts = [logits(model, cache, part) for part in (slice(0, 4), slice(4, 5), slice(5, 7))]
    assert_close(torch.cat(parts, dim=1), logits(model, None, slice(0, 7)), within=1e-5)


@each_kind
def test_what_is_kept_of_the_text_is_read_on_from_there(kind):
    """The memory is no text: nothing of it is forgotten."""
    model, cache = model_of(kind), KVCache()
    logits(model, cache, slice(0, 6))
    cache.keep(3)
    assert cache.length == 3
    if kind == "encoder-decoder":
        assert [cache.layer(i).memory.length for i in range(3)] == [5] * 3
    assert_close(logits(model, cache, slice(3, 7)), logits(model, None, slice(0, 7))[:, 3:], within=1e-5)


def test_a_part_of_a_cache_that_was_cut_stays_its_part():
    attention, cache, x = MultiHeadAttention(12, 3).to(DEVICE), KVCache(), randn(2, 5, 12)
    part = cache.layer(1)
    attention(x, x, x, cache=part)
    cache.keep(2)
    attention(x, x, x, cache=part)
    assert (part.length, cache.layer(1).length, cache.layer(0).length, cache.length) == (7, 7, 0, 0)


# Errors


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("length (-1) must be at least 0", lambda cache: cache.keep(-1)),
        ("length (2.0) must be a whole number", lambda cache: cache.keep(2.0)),
        ("number (-1) must be at least 0", lambda cache: cache.layer(-1)),
        ("number ('0') must be a whole number", lambda cache: cache.layer("0")),
        ("rows must be from -2 to 1 (got [0, 2])", lambda cache: cache.select(tensor([0, 2]))),
        ("rows must be whole numbers", lambda cache: cache.select(tensor([0.0, 1.0]))),
        ("torch.int64 or int32, of shape (n,) (got torch.int64 of shape (1, 2))", lambda c: c.select(tensor([[0, 1]]))),
        ("of shape (n,) (got list)", lambda cache: cache.select([0, 1])),
    ],
)
@pytest.mark.skipif(DEVICE.type != "cpu", reason="a GPU has an assertion of its own")
def test_what_a_cache_cannot_do_is_said(message: str, call: Callable[[KVCache], object]):
    model, cache = model_of("learned"), KVCache()
    logits(model, cache, slice(0, 4))
    with refuses(message):
        call(cache)
    assert_close(logits(model, cache, slice(4, 7)), logits(model, None, slice(0, 7))[:, 4:], within=1e-5)


def test_a_cache_goes_on_with_the_batch_it_has_read():
    model, cache = model_of("learned"), KVCache()
    logits(model, cache, slice(0, 4))
    with refuses("a cache must go on with its own (B, h, d_head), which are (2, 3, 4) (got (1, 3, 4))"):
        model(TOKENS[:1, 4:], cache)


def test_an_attention_is_handed_the_part_of_its_layer():
    x = randn(2, 5, 12)
    with refuses("an attention must be handed its layer's part of a cache: cache.layer(0) (got a KVCache)"):
        MultiHeadAttention(12, 3).to(DEVICE)(x, x, x, cache=KVCache())
