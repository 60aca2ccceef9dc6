"""How far a right answer may be off: by the rounding of the type, by what is added up, by what cancels; and no more."""

import pytest
import torch
from torch import float16, float32, float64, tensor

from transformer_lab.exercises import catalogue
from transformer_lab.exercises.engine.rounding import FEW, RUNS, SURE, Allowance, spread, unit
from transformer_lab.exercises.engine.running import Attempt, Case, is_floating, run, run_with_gradients


def allowance(function, how=run, **arguments) -> tuple[Allowance, torch.Tensor]:
    case = Case("", arguments)
    right = how(function, case)
    return Allowance(lambda: how(function, case), right, case), right.value


def test_a_type_rounds_by_half_its_eps():
    assert unit(float32) == 2**-24
    assert 1 + unit(float64) == 1
    assert 1 + 2.1 * unit(float64) > 1


@pytest.mark.parametrize("n", [100, 10_000])
def test_a_sum_is_off_by_the_root_of_its_terms(n):
    """n ones: each is off by u, and each addition; of random signs, √n u n remain at most, and more than u √n."""
    x = torch.ones(n, dtype=float64)
    (found,) = spread(lambda: [x.sum()], [x.sum()])
    assert unit(float64) * n**0.5 <= found <= 3 * unit(float64) * n**0.5 * n


@pytest.mark.parametrize("dtype", [torch.bfloat16, float16, float32, float64])
def test_what_is_allowed_follows_from_the_type(dtype):
    allows, right = allowance(lambda x: x.softmax(-1), x=torch.linspace(-1, 1, 7, dtype=dtype))
    for off in (0.5, SURE):
        assert allows((right.double() * (1 + off * unit(dtype))).to(dtype), right)
    assert not allows((right.double() * (1 + 200 * unit(dtype))).to(dtype), right)


def test_what_cancels_is_known_less_well():
    near, right = allowance(lambda x: (x + 0.0) - 0.0, x=tensor([0.25, 1.0]))
    far, wide = allowance(lambda x: (x + 1000.0) - 1000.0, x=tensor([0.25, 1.0]))
    assert not near(right + 1e-4, right)
    assert far(wide + 1e-4, wide)
    assert not far(wide + 1e-2, wide)


def test_large_arguments_are_known_less_well():
    """exp(x - log Σ exp(x)) is off by a share u |x|."""
    small, large = tensor([0.0, 1.0]), tensor([1000.0, 1001.0])
    for x, others in ((small, False), (large, True)):
        allows, right = allowance(lambda x: x.softmax(-1), x=x)
        assert allows((x - x.logsumexp(-1)).exp(), right)
        assert allows(right * (1 + 2e-4), right) == others


def test_a_turn_taken_otherwise_allows_no_more_than_half_of_the_digits():
    """Of two equal numbers rounding decides which is the larger."""
    allows, right = allowance(lambda x: (x * x).argmax() * torch.ones(2), x=tensor([1.0, -1.0]))
    assert max(map(torch.max, allows.spreads(RUNS))) > 0.1
    assert not allows(right + 0.01, right)


def test_zeros_infinities_and_nan_are_as_they_are():
    x = tensor([0.0, float("inf"), float("nan"), 1.0])
    allows, right = allowance(lambda x: x * 1.0, x=x)
    assert allows(x, right)
    for place in range(3):
        other = x.clone()
        other[place] = 0.5
        assert not allows(other, right)


def test_gradients_are_pulled_back_from_numbers_of_size_one():
    def function(x):
        return x.softmax(-1)

    allows, _ = allowance(function, run_with_gradients, x=tensor([9.0, 0.0, 1.0]))
    (gradient,) = allows.gradients
    assert allows(gradient + 1e-7, gradient)
    assert not allows(gradient + 1e-4, gradient)
    assert not allows(gradient * 1.05, gradient)


def test_a_reference_that_fails_when_it_rounds_anew_is_no_error():
    def picky(x):
        if picky.calls > 0 and (y := x * 3.0).ne(3.0).any():
            raise ValueError(y)
        picky.calls += 1
        return x * 3.0

    picky.calls = 0
    allows, right = allowance(picky, x=torch.ones(4))
    assert len(allows.spreads(RUNS)) == 1
    assert not allows(right + 1e-3, right)


def test_it_is_measured_where_it_matters_alone(monkeypatch):
    """By few runs where what these allow is enough, else by all."""

    def softmax(x):
        return x.softmax(-1)

    def far(x):
        return (x + 1000.0) - 1000.0

    def measure(run, right, runs):
        measured.append(runs)
        return spread(run, right, runs)

    monkeypatch.setattr("transformer_lab.exercises.engine.rounding.spread", measure)
    cases = ((softmax, 1e-8, []), (softmax, 0.1, []), (far, 5e-5, [FEW]), (softmax, 3e-5, [FEW, RUNS]))
    for function, off, runs in cases:
        measured = []
        allows, right = allowance(function, x=torch.linspace(-1, 1, 7))
        allows(right + off, right)
        assert measured == runs


@pytest.mark.parametrize("dtype", [float64, torch.bfloat16])
@pytest.mark.parametrize("name", ["softmax", "scaled_dot_product_attention", "layer_norm", "masked_softmax", "swiglu"])
def test_right_answers_pass_in_other_types(name, dtype):
    from tests.answers import RIGHT_ANSWERS

    for case in catalogue[name].cases:
        arguments = {key: x.to(dtype) if is_floating(x) else x for key, x in case.arguments.items()}
        other = Case(case.label, arguments)
        if case.loose or "equal" in case.label:  # where bfloat16 has no digit left
            continue
        for answer in RIGHT_ANSWERS[name]:
            result = catalogue[name].examine(Attempt(answer), [other])
            assert result.passed, (answer.__name__, case.label, result.what)
