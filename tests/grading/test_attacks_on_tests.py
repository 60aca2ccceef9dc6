"""A test that does not test gets nothing: neither in grading nor, as far as Python lets anybody hide, in a notebook."""

import gc
import inspect

import pytest
import torch

from tests.grading.attacks_on_tests import ATTACKS, INPUTS, TESTS, programs
from tests.grading.support import needs_bwrap
from transformer_lab import exercises
from transformer_lab.exercises.engine.candidates import Candidate, answered
from transformer_lab.grading.marking.hidden_cases import draw_cases
from transformer_lab.grading.marking.scoring import mark
from transformer_lab.grading.submissions.answers import Answer

each_test = pytest.mark.parametrize("name", TESTS)
IN_THE_SANDBOX_ALONE = {  # here the functions and the statement are in the same process, and all is public
    *("looks at who calls it", "looks through all that is in memory"),
    *("looks for code by way of the garbage collector", "knows what the public ones return"),
    *("asks for one that is not there", "has the grader send what it knows"),
}


@needs_bwrap
@each_test
def test_no_attack_on_a_test_gets_points(name, sandbox):
    hidden = draw_cases(TESTS[name], "secret")
    given = {one: mark(TESTS[name], Answer(name, text), sandbox, hidden, 1) for one, text in programs(name)}
    assert {one: (got.points, got.message) for one, got in given.items() if got.points} == {}


@each_test
def test_nor_does_it_in_a_notebook(name):
    for attack, program in programs(name):
        if attack not in IN_THE_SANDBOX_ALONE:
            scope: dict = {}
            exec(program, scope)
            tries = 5 if "dice" in attack else 1  # dice may fall well, but not again and again
            assert min(TESTS[name].check(scope[name]).score for _ in range(tries)) < 0.5, attack


def seen(exercise) -> list:
    """The candidates of one check, in the order in which they come."""
    found = []

    def sees(*given):
        found.append(given[0])
        return ...

    exercise.check(sees)
    return found


@each_test
def test_a_candidate_shows_nothing_and_comes_in_another_order_each_time(name):
    exercise = TESTS[name]
    given = eval(f"[{INPUTS[name]}]", {"torch": torch})
    orders = []
    for _ in range(2):
        candidates = seen(exercise)
        assert {repr(one) for one in candidates} == {"<a candidate>"}
        assert all(type(one) is Candidate and not hasattr(one, "__dict__") for one in candidates)
        assert all(gc.get_referents(one) in ([], [Candidate]) for one in candidates)
        with pytest.raises(TypeError):
            inspect.getsource(candidates[0])
        orders.append([str(one(*given)) for one in candidates])
    assert orders[0] != orders[1]
    assert len(orders[0]) == len(exercise.cases) + 5


def test_an_error_in_a_candidate_leads_to_no_code_and_says_the_rule():
    def reads(layer):
        with pytest.raises(ValueError, match=r"`layer`: x must be \(B, T, 16\) \(got \(2, 3\)\)") as raised:
            layer(torch.ones(2, 3))
        files = {str(entry.path) for entry in raised.traceback}
        assert [file for file in files if "lesson_" in file or "kinds.py" in file] == []
        assert raised.value.__context__ is None
        with pytest.raises(TypeError, match=r"`layer` must be called as layer\(x\)"):
            layer()
        with pytest.raises(ValueError, match="must not have to compute more than 4194304 numbers at once"):
            layer(torch.ones(1, 9000, 16))
        return ...

    assert not exercises.leaks.check(reads).attempted


def test_where_a_result_lies_in_memory_is_a_matter_of_chance():
    candidate = Candidate(lambda *asked: answered(torch.exp, lambda x: (x,), *asked))
    x = torch.ones(2, 3)
    assert torch.equal(candidate(x), x.exp())
    assert {candidate(x).data_ptr() % 128 for _ in range(60)} == {0, 64}


def test_gradients_flow_through_a_candidate_as_through_one_operation():
    flows = []

    def pulls(layer):
        x = torch.ones(1, 3, 16, requires_grad=True)
        output = layer(x=x)
        (gradient,) = torch.autograd.grad(output.sum(), x)
        flows.append((type(output.grad_fn).__name__, gradient.shape, bool(gradient.any())))
        return ...

    exercises.leaks.check(pulls)
    assert {flow[:2] for flow in flows} == {("CallBackward", (1, 3, 16))}
    assert {flow[2] for flow in flows} == {False, True}  # "every output 0" has none


def test_what_is_said_without_a_call_and_two_things_said_of_one_count_for_nothing():
    calls = []

    def uncalled(layer):
        calls.append(0)
        return len(calls) % 3 > 0

    verdict = exercises.leaks.check(uncalled)
    assert verdict.score == 0
    assert "A test must call what it judges, but yours decides about 22 of 22 layers without a call" in verdict.message

    def forgetful(layer):
        layer(torch.ones(1, 2, 16))
        return uncalled(layer)

    messages = [exercises.leaks.check(forgetful).message for _ in range(5)]
    assert any("must say the same of a layer each time" in message for message in messages)


def test_there_are_as_many_attacks_as_ways_to_look():
    assert len(ATTACKS) >= 15
