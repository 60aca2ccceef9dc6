"""LanguageModel: by hand, properties, parity with Hugging Face's GPT-2 by copying weights, error texts."""

import math
from dataclasses import asdict, replace

import pytest
import torch
import torch.nn.functional as F

from tests.support import (
    DEVICE,
    assert_close,
    each_direction,
    each_half,
    gradients,
    hugging_face,
    randn,
    refuses,
    scramble,
    tensor,
)
from transformer_lab import KVCache, LanguageModel, LanguageModelConfig, embed, record_attention, sinusoidal_encoding
from transformer_lab.nn.losses import bits_per_byte, next_token_loss, perplexity
from transformer_lab.training import label_smoothing_loss
from transformer_lab.weights.modules import copy_from_huggingface, copy_to_huggingface

VOCAB, D, H, D_FF, LAYERS, LENGTH = 13, 12, 3, 20, 2, 11
CONFIG = LanguageModelConfig(
    vocab_size=VOCAB, d_model=D, n_heads=H, d_ff=D_FF, n_layers=LAYERS, max_len=LENGTH, dropout=0.0
)
each_kind = pytest.mark.parametrize("positions", ["learned", "rotary", "sinusoidal"])


def small(positions: str = "learned", **changes) -> LanguageModel:
    torch.manual_seed(0)
    model = LanguageModel(replace(CONFIG, positions=positions, **changes)).to(DEVICE)
    scramble(model)
    return model.eval()


def some_tokens(batch: int = 3, length: int = 7, seed: int = 0) -> torch.Tensor:
    return torch.randint(VOCAB, (batch, length), generator=torch.Generator().manual_seed(seed)).to(DEVICE)


# Numbers worked by hand


def test_next_token_loss_worked_by_hand():
    """The token after "0" has probability 1/2, the one after that 1/8; what follows the last is nobody's."""
    logits = tensor([[[1 / 4, 1 / 2, 1 / 4], [3 / 8, 1 / 2, 1 / 8], [0.9, 0.05, 0.05]]]).log()
    loss = next_token_loss(logits, tensor([[0, 1, 2]]), pad_id=9)
    assert loss.item() == pytest.approx((1 + 3) / 2 * math.log(2))


def test_padding_is_not_predicted_but_what_precedes_it_is_read():
    logits = tensor([[[1 / 2, 1 / 2]] * 3, [[1 / 8, 7 / 8]] * 3]).log()
    loss = next_token_loss(logits, tensor([[0, 0, 1], [1, 0, 9]]), pad_id=9)
    assert loss.item() == pytest.approx((1 + 1 + 3) / 3 * math.log(2))  # a mean over tokens, not over rows


def test_perplexity_is_the_number_of_equally_probable_tokens():
    assert perplexity(tensor([1 / 8] * 5).log()).item() == pytest.approx(8)
    assert perplexity(tensor([1 / 2, 1 / 8]).log()).item() == pytest.approx(4)  # the geometric mean


def test_bits_per_byte_worked_by_hand():
    """Ten tokens of one bit each for 20 bytes."""
    assert bits_per_byte(10 * math.log(2), n_tokens=10, n_bytes=20) == pytest.approx(0.5)
    assert bits_per_byte(10 * math.log(2), n_tokens=3, n_bytes=20) == pytest.approx(0.5)


def test_the_default_config_is_gpt2_small():
    with torch.device("meta"):
        model = LanguageModel(LanguageModelConfig())
    assert sum(parameter.numel() for parameter in model.parameters()) == 124_439_808


# Properties


@each_kind
def test_no_position_sees_a_later_one(positions):
    model, tokens = small(positions), some_tokens()
    changed = tokens.clone()
    changed[:, 4] = (changed[:, 4] + 1) % VOCAB
    before, after = model(tokens), model(changed)
    assert_close(after[:, :4], before[:, :4], within=0)
    assert ((after - before)[:, 4:].abs().amax(-1) > 1e-4).all()


@each_kind
@pytest.mark.parametrize("chunks", [[1] * 7, [3, 4], [7], [5, 1, 1]])
def test_cached_logits_are_the_uncached_ones(positions, chunks):
    model, tokens, cache = small(positions), some_tokens(), KVCache()
    parts = [model(part, cache) for part in tokens.split(chunks, dim=1)]
    assert_close(torch.cat(parts, dim=1), model(tokens), within=1e-5)


def test_rotary_attention_knows_distances_and_no_positions():
    """Ten tokens later, queries and keys of the same tokens give the same scores."""
    attention = small("rotary").get_submodule("layers.0.self_attention")
    query, key = randn(2, H, 5, 4), randn(2, H, 5, 4)
    scores = [q @ k.transpose(-2, -1) for q, k in (attention.apply_positions(query, key, start) for start in (0, 10))]
    assert_close(scores[1], scores[0], within=1e-5)
    (turned, _) = attention.apply_positions(query, key, 0)
    assert (turned - query)[:, :, 1:].abs().amax() > 0.1


@each_kind
def test_the_order_of_the_tokens_matters(positions):
    """The last position sees the same tokens, in another order."""
    model, tokens = small(positions), tensor([[1, 2, 3, 4]])
    swapped = tensor([[2, 1, 3, 4]])
    assert (model(tokens) - model(swapped))[0, -1].abs().max() > 1e-3


def test_padding_on_the_right_changes_nothing_before_it():
    model, tokens = small(), some_tokens()
    padded = F.pad(tokens, (0, 3), value=CONFIG.pad_id)
    assert_close(model(padded)[:, :7], model(tokens), within=1e-6)


def test_attention_can_be_recorded():
    model = small("rotary")
    with record_attention(model) as maps:
        model(some_tokens())
    assert [*maps] == [f"layers.{i}.self_attention" for i in range(LAYERS)]
    assert_close(maps["layers.1.self_attention"].sum(-1), torch.ones(3, H, 7, device=DEVICE))
    assert maps["layers.0.self_attention"].triu(1).abs().max() == 0


def test_a_first_guess_is_close_to_even():
    """A tied output would else begin by repeating the token that it has read."""
    torch.manual_seed(0)
    model, tokens = LanguageModel(replace(CONFIG, d_model=96)).to(DEVICE), some_tokens(8, 11)
    assert next_token_loss(model(tokens), tokens, -1).item() == pytest.approx(math.log(VOCAB), abs=0.2)


def test_weights_are_tied_unless_the_config_says_otherwise():
    assert small().to_logits.weight is small().tokens.weight or small().to_logits.weight.shape == (VOCAB, D)
    model, apart = small(), small(tie_weights=False)
    assert model.to_logits.weight is model.tokens.weight
    assert apart.to_logits.weight is not apart.tokens.weight


# Parity with Hugging Face


def huggingface(**changes) -> torch.nn.Module:
    sizes = {"vocab_size": VOCAB, "n_positions": LENGTH, "n_embd": D, "n_layer": LAYERS, "n_head": H, "n_inner": D_FF}
    off = {"bos_token_id": None, "eos_token_id": None, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    torch.manual_seed(1)
    model = hugging_face("GPT2LMHeadModel")(hugging_face("GPT2Config")(**{**sizes, **off, **changes})).to(DEVICE)
    scramble(model)
    return model.eval()


@each_direction
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "apart"])
def test_logits_and_gradients_are_those_of_huggingfaces_gpt2(to_torch, tied):
    ours, theirs, tokens = small(tie_weights=tied), huggingface(tie_word_embeddings=tied), some_tokens()
    share = (lambda: copy_to_huggingface(ours, theirs)) if to_torch else (lambda: copy_from_huggingface(theirs, ours))
    assert (ours(tokens) - theirs(tokens).logits).abs().max() > 1e-2
    share()
    logits, expected = ours(tokens), theirs(tokens).logits
    assert_close(logits, expected, within=1e-5)
    pair = (ours.tokens.weight, theirs.get_parameter("transformer.wte.weight"))
    assert_close(gradients(logits, pair[0])[0], gradients(expected, pair[1])[0], within=5e-5)
    assert next_token_loss(logits, tokens, -1).item() == pytest.approx(
        theirs(tokens, labels=tokens).loss.item(), abs=1e-5
    )


def test_there_and_back_gives_the_same_weights():
    ours, theirs, other = small(), huggingface(), small()
    scramble(other)
    copy_to_huggingface(ours, theirs)
    copy_from_huggingface(theirs, other)
    assert_close(tuple(other.parameters()), tuple(ours.parameters()), within=0)


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ({"n_layers": 3}, {}, "both modules must have the same n_layers to be copied (3, 2)"),
        ({"n_heads": 2}, {}, "both modules must have the same n_heads to be copied (2, 3)"),
        ({"activation": "gelu"}, {}, "both modules must have the same activation to be copied (gelu, gelu_tanh)"),
        ({"tie_weights": False}, {}, "both modules must have the same tie_weights to be copied (False, True)"),
        ({"positions": "rotary"}, {}, "both modules must have the same positions to be copied (rotary, learned)"),
        (
            {"positions": "sinusoidal"},
            {},
            "the same positions to be copied (sinusoidal, learned)",
        ),
        ({"norm_first": False}, {}, "both modules must have the same norm_first to be copied (False, True)"),
        ({}, {"n_positions": 12}, "weights must have equal shapes to be copied"),
        ({}, {"n_inner": 24}, "both modules must have the same d_ff to be copied (20, 24)"),
        ({}, {"layer_norm_epsilon": 1e-6}, "both modules must have the same norm_eps to be copied (1e-05, 1e-06)"),
    ],
)
def test_a_gpt2_that_would_compute_something_else_is_refused(ours, theirs, message):
    with refuses(message):
        copy_from_huggingface(huggingface(**theirs), small(**ours))


def test_only_a_gpt2_is_a_counterpart():
    with refuses("the counterpart of a LanguageModel must be GPT2LMHeadModel or LlamaForCausalLM (got Linear)"):
        copy_to_huggingface(small(), torch.nn.Linear(2, 2))


def test_sinusoidal_positions_are_added_to_scaled_embeddings():
    """The paper's input, as `embed` has it (§3.4, §3.5); its table is no parameter."""
    model, tokens = small("sinusoidal", d_model=12), some_tokens()
    expected = embed(tokens, model.tokens.weight, sinusoidal_encoding(LENGTH, 12, device=DEVICE))
    assert_close(model.embedded(tokens, 0), expected, within=1e-6)
    assert "positions.encoding" not in model.state_dict()


# Errors


def test_the_config_says_what_is_wrong():
    with refuses("positions must be one of learned, rotary, sinusoidal (got 'absolute')"):
        replace(CONFIG, positions="absolute")
    with refuses("n_layers of a LanguageModelConfig must be int (got 2.0)"):
        replace(CONFIG, n_layers=2.0)


@each_kind
def test_a_text_may_not_be_longer_than_max_len(positions):
    model, cache = small(positions), KVCache()
    model(some_tokens(1, LENGTH), cache)
    for call in (lambda: model(some_tokens(1, LENGTH + 1)), lambda: model(some_tokens(1, 1), cache)):
        with refuses("a sequence may have at most max_len (11) positions (got 12)"):
            call()


@pytest.mark.skipif(DEVICE.type != "cpu", reason="a GPU has an assertion of its own")
def test_an_unknown_token_is_named():
    with refuses("token ids must be from 0 to 12 (got 1 to 13)"):
        small()(tensor([[1, 13]]))


def test_tokens_are_a_batch_of_ids():
    with refuses("tokens must be token ids, torch.int64 or int32, of shape (B, T)"):
        small()(tensor([1, 2]))


def test_measures_of_nothing_are_refused():
    with refuses("perplexity must be that of at least one token (got none)"):
        perplexity(tensor([]))
    with refuses("n_bytes (0) must be at least 1"):
        bits_per_byte(1.0, 1, 0)


@each_half
def test_the_losses_of_many_tokens_do_not_overflow(dtype):
    """20 000 losses of about 8 nats are 160 000 together, above float16's 65 504; a perplexity may be above it, too."""
    logits, tokens = torch.zeros(1, 20_000, 3, dtype=dtype, device=DEVICE), torch.ones(1, 20_000, dtype=torch.int64)
    logits[..., 0] = 8
    tokens = tokens.to(DEVICE)
    expected = math.log(math.exp(8) + 2)
    assert next_token_loss(logits, tokens, pad_id=9).item() == pytest.approx(expected, abs=1e-3)
    assert label_smoothing_loss(logits, tokens, 0.0, pad_id=9).item() == pytest.approx(expected, abs=1e-3)
    assert perplexity(tensor([-1.0], dtype=dtype).expand(100_000)).item() == pytest.approx(math.e)
    assert perplexity(tensor([-12.0], dtype=dtype)).item() == pytest.approx(math.exp(12))


def test_tokens_may_be_int32():
    model, tokens = small(), some_tokens()
    logits = model(tokens.int())
    assert torch.equal(next_token_loss(logits, tokens.int(), 0), next_token_loss(logits, tokens, 0))
    smoothed = [label_smoothing_loss(logits, of, 0.1, 0) for of in (tokens, tokens.int())]
    assert torch.equal(*smoothed)


def test_a_config_has_all_its_fields():
    assert {"positions", "norm_first", "pad_id"} < asdict(CONFIG).keys()
