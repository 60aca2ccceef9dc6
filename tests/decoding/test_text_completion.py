"""A language model reads and writes: by hand, cached as uncached, windows, error texts."""

import pytest
import torch
from torch import nn

from tests.models.test_language_model import LENGTH, VOCAB, each_kind, small, some_tokens
from tests.support import DEVICE, assert_close, refuses, tensor
from transformer_lab import complete, token_log_probs
from transformer_lab.decoding.single import greedy_decode


@each_kind
def test_with_one_token_to_choose_from_it_is_greedy_decoding(positions):
    model = small(positions)
    written = complete(model, tensor([[5]]), LENGTH - 1, top_k=1)

    def next_logits(ids: list[int]) -> torch.Tensor:
        return model(tensor([ids]))[0, -1]

    assert written[0].tolist() == greedy_decode(next_logits, bos_id=5, eos_id=-1, max_length=LENGTH)


@each_kind
def test_samples_have_the_probabilities_of_the_model(positions):
    model, generator = small(positions), torch.Generator().manual_seed(0)
    prompt = tensor([[3, 1, 4]])
    drawn = complete(model, prompt.expand(4000, -1), 1, temperature=0.5, generator=generator)[:, -1]
    expected = (model(prompt)[0, -1] / 0.5).softmax(-1)
    assert_close(drawn.bincount(minlength=VOCAB) / 4000, expected, within=0.04)


@each_kind
def test_a_text_longer_than_the_window_goes_on_from_its_second_half(positions):
    """11 positions: the first 12 tokens are read as they are; the 13th is written from the last six."""
    model = small(positions)
    written = complete(model, some_tokens(2, 4), 14, top_k=1)
    assert written.shape == (2, 18)
    assert torch.equal(written[:, :4], some_tokens(2, 4))
    for t, seen in ((10, 10), (11, 11), (12, 6), (13, 7), (16, 10), (17, 11)):
        assert torch.equal(model(written[:, t - seen : t])[:, -1].argmax(-1), written[:, t]), t


def test_a_prompt_longer_than_the_window_is_read_from_its_end():
    model, prompt = small(), some_tokens(2, 30)
    written = complete(model, prompt, 1, top_k=1)
    assert torch.equal(written[:, 30], model(prompt[:, -LENGTH:])[:, -1].argmax(-1))
    assert torch.equal(written[:, :30], prompt)


def test_the_log_probs_of_a_short_text_are_those_of_one_pass():
    model, tokens = small(), some_tokens(1, 9)
    expected = model(tokens).log_softmax(-1)[0, :-1].gather(-1, tokens[0, 1:, None])[:, 0]
    assert_close(token_log_probs(model, tokens[0]), expected)


@pytest.mark.parametrize("length", [2, 11, 12, 16, 17, 40])
def test_each_token_of_a_long_text_is_predicted_from_half_a_window_or_more(length):
    """And from what precedes it alone: a change of a token changes nothing before it."""
    model, tokens = small("rotary"), some_tokens(1, length)[0]
    found = token_log_probs(model, tokens)
    assert found.shape == (length - 1,)
    for t in range(1, length):
        contexts = [tokens[None, t - seen : t] for seen in range(min(t, LENGTH // 2), min(t, LENGTH - 1) + 1)]
        possible = torch.stack([model(context).log_softmax(-1)[0, -1, tokens[t]] for context in contexts])
        assert (possible - found[t - 1]).abs().min() < 1e-5, t


def padded(prompts: list[torch.Tensor], left: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Prompts filled up with the token 5, which also occurs in them, and the mask that says which are theirs."""
    longest = max(map(len, prompts))
    tokens = torch.full((len(prompts), longest), 5, device=DEVICE)
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    for row, prompt in enumerate(prompts):
        place = slice(longest - len(prompt), None) if left else slice(len(prompt))
        tokens[row, place], mask[row, place] = prompt, True
    return tokens, mask


@each_kind
@pytest.mark.parametrize("left", [True, False], ids=["padding left", "padding right"])
@pytest.mark.parametrize("lengths", [(1, 4, 2), (9, 3, 5), (3, 11, 10), (30, 2, 12), (12, 13, 40)], ids=str)
def test_prompts_of_unequal_length_are_continued_as_each_is_alone(positions, left, lengths):
    """Shorter and longer than the window of 11, and so far that it is full more than once."""
    model = small(positions)
    prompts = [some_tokens(1, length, seed=length)[0] for length in lengths]
    tokens, mask = padded(prompts, left)
    written = complete(model, tokens, 25, mask=mask, top_k=1)
    assert torch.equal(written[:, : max(lengths)], tokens)
    for row, prompt in zip(written, prompts, strict=True):
        alone = complete(model, prompt[None], 25, top_k=1)[0]
        assert torch.equal(row[max(lengths) :], alone[len(prompt) :])


@each_kind
def test_a_padded_prompt_is_continued_as_without_any_cache(positions):
    model, prompts = small(positions), [some_tokens(1, length, seed=length)[0] for length in (2, 5)]
    tokens, mask = padded(prompts, left=True)
    written = complete(model, tokens, 6, mask=mask, top_k=1)
    for row, text in zip(written, prompts, strict=True):
        for token in row[5:]:
            assert model(text[None])[0, -1].argmax() == token
            text = torch.cat([text, token[None]])


def test_a_text_drawn_from_a_padded_prompt_has_the_probabilities_that_it_has_alone():
    model, generator = small(), torch.Generator().manual_seed(0)
    prompts = [tensor([3, 1, 4]), tensor([1])] * 4000
    tokens, mask = padded(prompts, left=True)
    drawn = complete(model, tokens, 2, mask=mask, generator=generator)[:, 3:]
    for row, prompt in enumerate(prompts[:2]):
        first = model(prompt[None])[0, -1].softmax(-1)
        each = torch.arange(VOCAB, device=DEVICE)[:, None]
        second = model(torch.cat([prompt.expand(VOCAB, -1), each], dim=1))[:, -1].softmax(-1)
        for column, expected in ((0, first), (1, first @ second)):
            assert_close(drawn[row::2, column].bincount(minlength=VOCAB) / 4000, expected, within=0.04)


def test_a_mask_that_hides_nothing_changes_nothing():
    """Not even what is drawn."""
    model, prompt, whole = small(), some_tokens(), torch.ones(3, 7, dtype=torch.bool, device=DEVICE)
    one, other = (
        complete(model, prompt, 9, mask=mask, generator=torch.Generator().manual_seed(1)) for mask in (None, whole)
    )
    assert torch.equal(one, other)
    assert torch.equal(complete(model, prompt, 0, mask=whole), prompt)
    assert complete(model, prompt[:0], 2, mask=whole[:0]).shape == (0, 9)


def test_int32_stays_int32():
    model, prompt = small(), some_tokens()
    written = complete(model, prompt.int(), 14, top_k=1)
    assert written.dtype == torch.int32
    assert torch.equal(written, complete(model, prompt, 14, top_k=1).int())
    assert torch.equal(token_log_probs(model, prompt[0].int()), token_log_probs(model, prompt[0]))


@pytest.mark.parametrize("max_len", [1, 2])
def test_the_smallest_window_predicts_each_token_from_the_one_before(max_len):
    model, tokens = small(max_len=max_len), some_tokens(1, 6)[0]
    expected = model(tokens[:-1, None]).log_softmax(-1)[:, 0].gather(-1, tokens[1:, None])[:, 0]
    assert_close(token_log_probs(model, tokens), expected)
    assert complete(model, tokens[None], 5, top_k=1).shape == (1, 11)


@pytest.mark.parametrize("temperature", [1.2e-38, 1e-37, 1e-20])
def test_at_the_smallest_temperatures_the_most_probable_token_is_drawn(temperature):
    model = small()
    assert torch.equal(
        complete(model, some_tokens(), 9, temperature=temperature), complete(model, some_tokens(), 9, top_k=1)
    )


def test_dropout_is_off_and_the_model_stays_as_it_was():
    model = small(dropout=0.5)
    model.train()
    assert torch.equal(token_log_probs(model, some_tokens()[0]), token_log_probs(model, some_tokens()[0]))
    assert torch.equal(complete(model, some_tokens(), 3, top_k=1), complete(model, some_tokens(), 3, top_k=1))
    assert model.training


def test_what_cannot_be_continued_is_refused():
    model = small()
    with refuses("a prompt must have at least one token"):
        complete(model, torch.empty(2, 0, dtype=torch.int64, device=DEVICE), 3)
    with refuses("prompt must be token ids, torch.int64 or int32, of shape (B, T)"):
        complete(model, tensor([1, 2]), 3)
    with refuses("temperature (0) must be above 0"):
        complete(model, some_tokens(), 3, temperature=0)
    with refuses("n_tokens (-1) must be at least 0"):
        complete(model, some_tokens(), -1)
    with refuses("a text must be token ids, torch.int64 or int32, of shape (n,) with n at least 2"):
        token_log_probs(model, tensor([3]))
    rule = "mask must be torch.bool of the prompt's shape (3, 7), True = a token"
    for mask, given in (
        (torch.ones(3, 7), "torch.float32 of shape (3, 7)"),
        (torch.ones(3) > 0, "torch.bool of shape (3,)"),
    ):
        with refuses(f"{rule} (got {given})"):
            complete(model, some_tokens(), 3, mask=mask.to(DEVICE))
    with refuses("a prompt must have at least one token"):
        complete(model, some_tokens(), 3, mask=tensor([[True] * 7, [False] * 7, [True] * 7]))


@pytest.mark.parametrize("top_k", [None, 1, 3])
@pytest.mark.parametrize(("value", "held"), [("nan", "NaN"), ("inf", "inf"), ("-inf", "-inf alone")])
def test_logits_that_are_no_numbers_are_named(top_k, value, held):
    model = small(tie_weights=False)
    model.norm.register_forward_hook(lambda module, given, out: torch.ones_like(out))  # of one sign: no inf - inf
    nn.init.constant_(model.to_logits.weight, float(value))
    with refuses(f"logits must be numbers, not all of them -inf: the model's logits hold {held}"):
        complete(model, some_tokens(), 3, top_k=top_k)
