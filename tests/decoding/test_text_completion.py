"""A language model reads and writes: by hand, cached as uncached, windows, error texts."""

import pytest
import torch

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
    with refuses("a text must have at least 2 tokens"):
        token_log_probs(model, tensor([3]))
