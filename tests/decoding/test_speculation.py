"""Speculative decoding: the model's distribution exactly, whatever the draft, in fewer passes of the model."""

from collections import Counter
from itertools import product

import pytest
import torch
from torch import nn

from tests.support import DEVICE, assert_close, no_float64, refuses, tensor, without_signature_checks
from transformer_lab import (
    KVCache,
    LanguageModel,
    LanguageModelConfig,
    complete,
    residual_distribution,
    speculative,
)
from transformer_lab.data.ngrams import NGrams
from transformer_lab.decoding.speculation import judged

P, Q = [0.5, 0.3, 0.2], [0.8, 0.1, 0.1]


def on_cpu(seed: int = 0) -> torch.Generator:
    return torch.Generator("cpu").manual_seed(seed)


def language_model(seed: int, **changes) -> LanguageModel:
    """With large random weights, so that its distributions are far from even."""
    torch.manual_seed(seed)
    sizes = {"vocab_size": 3, "d_model": 12, "n_heads": 3, "d_ff": 20, "n_layers": 2, "max_len": 40} | changes
    model = LanguageModel(LanguageModelConfig(**sizes, positions="rotary", dropout=0.5))
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model.to(DEVICE)


class Even:
    """A draft that knows nothing."""

    def next_probabilities(self, tokens):
        return torch.full((3,), 1 / 3)


class Stubborn:
    """A draft that always says the same."""

    def next_probabilities(self, tokens):
        return torch.tensor([0.0, 1.0, 0.0])


def statistic(counts: torch.Tensor, expected: torch.Tensor) -> float:
    """χ²; with n cells it is n - 1 on average, where the counts were drawn from what is expected."""
    return ((counts - expected) ** 2 / expected).sum().item()


# ── after a rejection ──


def test_the_residual_by_hand():
    assert_close(residual_distribution(tensor(P), tensor(Q)), [0.0, 2 / 3, 1 / 3])
    assert_close(residual_distribution(tensor(Q), tensor(P)), [1.0, 0.0, 0.0])
    assert_close(residual_distribution(tensor(P), tensor(P)), P)


def test_accepted_and_residual_add_up_to_the_model_s_distribution():
    torch.manual_seed(0)
    p, q = torch.randn(2, 50, 9, device=DEVICE).softmax(-1)
    kept = torch.minimum(p, q)  # drawn from q, and accepted with min(1, p / q)
    total = kept + (1 - kept.sum(-1, keepdim=True)) * residual_distribution(p, q)
    assert_close(total, p)


def test_the_first_token_has_the_model_s_distribution():
    """20 000 draws: χ² of two degrees of freedom is above 13.8 once in a thousand."""
    p, q, generator = torch.tensor([P, P]), torch.tensor([Q]), on_cpu()
    counts, accepted, n = torch.zeros(3), 0, 20_000
    for token in q[0].multinomial(n, replacement=True, generator=generator).tolist():
        stands, written = judged(p, q, [token], generator)
        counts[token if stands else written] += 1
        accepted += stands
    assert statistic(counts, n * torch.tensor(P)) < 13.8
    assert statistic(counts, n * torch.tensor([0.65, 0.19, 0.16])) > 1000  # of the variant that draws from p anew
    assert accepted / n == pytest.approx(0.7, abs=0.02)  # sum of min(p, q)


# ── whole texts ──


@pytest.mark.parametrize("draft", ["model", Even(), Stubborn()], ids=["a model", "even", "stubborn"])
def test_texts_have_the_model_s_distribution(draft):
    """All 27 texts of three tokens, against their exact probabilities."""
    model, prompt, n = language_model(3), torch.tensor([1, 0], device=DEVICE), 500
    draft = language_model(5, n_layers=1) if draft == "model" else draft
    texts = torch.tensor([[1, 0, *text] for text in product(range(3), repeat=3)], device=DEVICE)
    with torch.no_grad():
        log_probs = (model.eval()(texts)[:, 1:-1] / 0.8).log_softmax(-1)
    expected = log_probs.gather(-1, texts[:, 2:, None]).sum((1, 2)).exp().cpu()
    found, generator = Counter(), on_cpu(1)
    with without_signature_checks():  # they take most of the time
        for _ in range(n):
            written = speculative(model, draft, prompt, 3, n_draft=2, temperature=0.8, generator=generator)
            found[tuple(written.tokens.tolist()[2:])] += 1
    counts = torch.tensor([float(found[text]) for text in product(range(3), repeat=3)])
    likely = n * expected > 2
    rest = torch.stack([counts[~likely].sum(), n * expected[~likely].sum() + 1e-9])
    assert statistic(counts[likely], n * expected[likely]) < 54.1  # χ² of 26 degrees of freedom, once in a thousand
    assert abs(rest[0] - rest[1]) < 5 * rest[1].sqrt() + 5
    assert expected.max() < 0.6


def test_a_draft_that_is_the_model_is_always_right():
    model, prompt = language_model(3), torch.tensor([1, 0], device=DEVICE)
    written = speculative(model, model, prompt, 20, n_draft=4, generator=on_cpu())
    assert len(written.tokens) == 22
    assert len(written.rounds) == 4  # five tokens a pass
    assert all(one.n_accepted == len(one.drafted) for one in written.rounds)


def test_what_was_read_is_what_was_written():
    """The distributions of all rounds, by caches that were cut, are those of reading the whole text at once."""
    model, draft = language_model(3), language_model(5, n_layers=1)
    prompt = torch.tensor([1, 0, 2], device=DEVICE)
    written = speculative(model, draft, prompt, 36, n_draft=3, generator=on_cpu(2))
    assert {one.n_accepted for one in written.rounds} >= {0, 1, 3}
    with torch.no_grad():
        truth = model.eval()(written.tokens[None])[0].softmax(-1).cpu()
        drafts = draft.eval()(written.tokens[None])[0].softmax(-1).cpu()
    at = 2
    for one in written.rounds:
        n = one.n_accepted + 1
        assert_close(one.p[:n], truth[at : at + n], 1e-5)
        assert_close(one.q[:n], drafts[at : at + min(n, len(one.q))], 1e-5)
        assert one.written == written.tokens[at + n]
        assert one.drafted[: one.n_accepted] == written.tokens[at + 1 : at + n].tolist()
        at += n
    assert at == len(written.tokens) - 1


def test_a_table_may_draft():
    model = language_model(3)
    texts = complete(model, torch.ones(1, 1, dtype=torch.int64, device=DEVICE), 300, generator=on_cpu())
    written = speculative(model, NGrams(texts[0], 3, 2), texts[0, :3], 30, generator=on_cpu())
    assert len(written.rounds) < 30


def test_near_a_temperature_of_zero_the_text_is_the_greedy_one():
    model, prompt = language_model(3), torch.tensor([1, 0], device=DEVICE)
    greedy = complete(model, prompt[None], 20, top_k=1)[0]
    table = NGrams(greedy, 3, 2)
    for draft in (language_model(5, n_layers=1), table, Even(), Stubborn()):
        for temperature in (1e-4, 2e-38):  # the smallest that float32 can divide by is 1.2e-38
            assert torch.equal(speculative(model, draft, prompt, 20, temperature=temperature).tokens, greedy)


def test_int32_stays_int32():
    model, prompt = language_model(3), torch.tensor([1, 0], device=DEVICE)
    written, same = (speculative(model, Even(), of, 5, generator=on_cpu()).tokens for of in (prompt, prompt.int()))
    assert same.dtype == torch.int32
    assert torch.equal(same, written.int())


def test_nothing_more_to_write():
    prompt = torch.tensor([1, 0], device=DEVICE)
    written = speculative(language_model(3), Even(), prompt, 0)
    assert torch.equal(written.tokens, prompt)
    assert written.rounds == []


@no_float64
def test_a_cache_that_was_cut_goes_on_as_if_it_had_read_no_more():
    model, cache = language_model(3).double().eval(), KVCache()
    tokens = torch.randint(3, (2, 9), device=DEVICE)
    with torch.no_grad():
        model(torch.randint(3, (2, 3), device=DEVICE), KVCache())
        model(tokens[:, :4], cache)
        model(torch.zeros_like(tokens[:, :3]), cache)  # to be forgotten
        cache.keep(4)
        assert_close(model(tokens[:, 4:], cache), model(tokens)[:, 4:], 1e-12)


def test_what_makes_no_sense_is_refused():
    model, prompt = language_model(3), torch.tensor([1, 0], device=DEVICE)
    with refuses("n_draft (0) must be at least 1"):
        speculative(model, model, prompt, 3, n_draft=0)
    with refuses("n_tokens (-1) must be at least 0"):
        speculative(model, model, prompt, -1)
    with refuses("temperature (0) must be above 0"):
        speculative(model, model, prompt, 3, temperature=0)
    with refuses("a text may have at most max_len (40) positions (got 41)"):
        speculative(model, Even(), prompt, 39)
    with refuses("a text may have at most max_len (9) positions (got 10)"):
        speculative(model, language_model(5, max_len=9), prompt, 8)
    rule = "a prompt must be token ids, torch.int64 or int32, of shape (n,) with n at least 1"
    with refuses(f"{rule} (got torch.int64 of shape (1, 2))"):
        speculative(model, Even(), prompt[None], 3)
    with refuses(f"{rule} (got torch.int64 of shape (0,))"):
        speculative(model, Even(), prompt[:0], 3)
    with refuses(f"{rule} (got torch.bool of shape (2,))"):
        speculative(model, Even(), prompt.bool(), 3)
    with refuses("a draft must be a LanguageModel or have next_probabilities (got Linear)"):
        speculative(model, nn.Linear(2, 2), prompt, 3)
    with refuses("a generator must be on the CPU, where tokens are judged (got cuda:0)"):
        speculative(model, model, prompt, 3, generator=OnAGpu())


class OnAGpu(torch.Generator):
    """As the machine may have none."""

    device = torch.device("cuda:0")


class Watched(LanguageModel):
    """A model that must not be asked."""

    def forward(self, *arguments):
        raise AssertionError("it was asked")


@pytest.mark.parametrize("vocab_size", [2, 4])
def test_a_draft_of_another_vocabulary_is_refused_before_the_first_token(vocab_size):
    model = Watched(language_model(3).config)
    prompt, rule = torch.tensor([1, 0], device=DEVICE), "a draft must have the model's vocabulary of 3 tokens"
    table = NGrams(torch.arange(vocab_size), vocab_size, 2)
    for draft in (Watched(language_model(5, vocab_size=vocab_size).config), table):
        with refuses(f"{rule} (its own has {vocab_size})"):
            speculative(model, draft, prompt, 1)


class Broken:
    """A draft whose numbers are none."""

    def next_probabilities(self, tokens):
        return torch.tensor([0.5, float("nan"), 0.5])


def test_numbers_that_are_none_are_named():
    model, broken, prompt = language_model(3), language_model(3), torch.tensor([1, 0], device=DEVICE)
    nn.init.constant_(broken.to_logits.weight, float("nan"))
    rule = "logits must be numbers, not all of them -inf"
    with refuses(f"{rule}: the model's logits hold NaN"):
        speculative(broken, model, prompt, 3)
    for draft in (broken, Broken()):
        with refuses(f"{rule}: the draft's logits hold NaN"):
            speculative(model, draft, prompt, 3)


@pytest.mark.parametrize("temperature", [1e-45, 1e-40, float("nan"), float("inf")])
def test_a_temperature_that_float32_cannot_divide_by_is_refused(temperature):
    model, prompt = language_model(3), torch.tensor([1, 0], device=DEVICE)
    with refuses(f"temperature ({temperature}) must be above 0, a number from 1.2e-38 to 3.4e+38"):
        speculative(model, Even(), prompt, 3, temperature=temperature)
