"""Every exercise accepts right answers of any style, rejects wrong ones, and says what is wrong with them."""

import ast
import importlib.util
import inspect
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.answers import EQUIVALENT, RIGHT_ANSWERS
from tests.answers.lesson_01 import softmax_by_powers
from tests.mutants import mutants_of
from tests.mutation_score import Row, row, table
from transformer_lab import exercises
from transformer_lab.exercises import catalogue
from transformer_lab.exercises import exercise as exercise_module
from transformer_lab.exercises.engine import checking
from transformer_lab.exercises.engine.cards import INFO, Card, folded_hints, plain_text, readable
from transformer_lab.exercises.engine.checking import Result, broken
from transformer_lab.exercises.engine.comparing import TOLERANCE, close, fault
from transformer_lab.exercises.engine.running import Attempt, Case, Outcome, as_tuple, is_floating
from transformer_lab.exercises.engine.time_limit import time_limit
from transformer_lab.exercises.engine.verdicts import report
from transformer_lab.exercises.kinds import WriteTheTest
from transformer_lab.nn import attention

every_exercise = pytest.mark.parametrize("exercise", catalogue.values(), ids=catalogue.keys())
# What the engine does with every exercise alike is tried on some of each kind. The first five take a tensor, several, a
# number, a list, and functions.
SOME = ["softmax", "scaled_dot_product_attention", "causal_mask", "merge_pair", "encoder_layer"]
SOME += ["mend_stack", "mend_training_step", "mend_loading", "clinic_01", "clinic_12"]
SOME += ["is_relative", "leaks", "is_top_p", "head_matters", "loaded_right"]
SOME += ["look_at_kind", "look_back_one", "look_both_ways", "induction_by_hand"]
SOME += ["new_weights", "first_repeat", "which_control", "visible_pairs", "kv_cache_bytes"]
some_exercises = pytest.mark.parametrize("exercise", [catalogue[name] for name in SOME], ids=SOME)
every_mistake = pytest.mark.parametrize(
    ("exercise", "mistake"),
    [pytest.param(e, m, id=f"{e.name}-{m.name}") for e in catalogue.values() for m in e.mistakes.values()],
)
every_right_answer = pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        pytest.param(catalogue[name], answer, id=f"{name}-{answer.__name__}")
        for name, answers in RIGHT_ANSWERS.items()
        for answer in (catalogue[name].reference, *answers)
    ],
)


# ── right answers ──


@every_right_answer
def test_right_answers_of_every_style_pass(exercise, answer):
    verdict = exercise.check(answer)
    assert verdict.passed, verdict
    assert verdict.mistake is None


@pytest.mark.parametrize("name", ["softmax", "scaled_dot_product_attention", "layer_norm", "masked_softmax", "swiglu"])
def test_right_answers_pass_in_float64(name):
    for case in catalogue[name].cases:
        arguments = {key: x.double() if is_floating(x) else x for key, x in case.arguments.items()}
        for answer in RIGHT_ANSWERS[name]:
            result = catalogue[name].examine(Attempt(answer), [Case(case.label, arguments, case.loose)])
            assert result.passed, (answer.__name__, case.label, result.what)


@pytest.mark.parametrize(("dtype", "share"), TOLERANCE.items(), ids=str)
def test_two_answers_may_differ_by_a_share_that_the_type_allows(dtype, share):
    right = torch.tensor([1.0, -2.0, 0.0], dtype=dtype)
    for times, passes, passes_loosely in ((0.5, True, True), (3, False, True), (30, False, False)):
        given = (right.double() * (1 + times * share)).to(dtype)
        assert (close(given, right), close(given, right, loose=True)) == (passes, passes_loosely)
    assert close(right + share / 20, right)
    assert not close(right + torch.tensor([0, 0, share]).to(dtype), right)


def test_infinities_and_nan_are_as_they_are():
    right = torch.tensor([torch.inf, torch.nan, 1.0])
    assert close(right.clone(), right)
    for place in (0, 1):
        assert not close(right.index_fill(0, torch.tensor(place), 0.5), right)


def large_only(change):
    """A softmax of which something else is made where the scores are large."""
    return lambda scores, dim: (
        change(softmax_by_powers(scores, dim)) if scores.abs().max() > 900 else softmax_by_powers(scores, dim)
    )


def test_on_large_numbers_a_right_answer_may_round_coarsely():
    assert exercises.softmax.check(large_only(lambda weights: 1.0002 * weights)).passed
    assert not exercises.softmax.check(large_only(lambda weights: 1.005 * weights)).passed
    assert not exercises.softmax.check(lambda scores, dim: 1.0002 * softmax_by_powers(scores, dim)).passed


def test_on_large_numbers_a_known_mistake_may_round_coarsely():
    mistake = exercises.softmax.mistakes["hard_maximum"].function
    answer = lambda scores, dim: (1.001 if scores.abs().max() > 900 else 1) * mistake(scores, dim)  # noqa: E731
    assert exercises.softmax.check(answer).mistake == "hard_maximum"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: 1.05 * weights, "`weights` has the right shape and wrong values"),
        (lambda weights: weights + (0 * weights).sqrt(), "`gradient of scores` contains NaN"),
        (lambda weights: weights.detach() + 1.05 * (weights - weights.detach()), "`gradient of scores` has the right"),
    ],
)
def test_on_large_numbers_a_wrong_answer_is_still_wrong(change, message):
    verdict = exercises.softmax.check(large_only(change))
    assert "Simplest case that fails: large scores." in verdict.message
    assert message in verdict.message


@every_exercise
def test_there_are_enough_right_answers_mistakes_and_hints(exercise):
    assert len(RIGHT_ANSWERS[exercise.name]) >= 3
    assert len(exercise.mistakes) >= 6
    assert len(exercise.hints) >= 2


@every_exercise
def test_the_published_solution_stands_on_its_own_and_passes(exercise):
    scope, source = {}, exercise.solution_source()
    exec(source, scope)
    assert "check_" not in source  # of arguments: no part of the solution
    assert exercise.check(scope[exercise.name]).passed
    assert "def " in str(exercise.solution())
    assert "<details " in exercise.solution()._repr_html_()


def test_the_package_s_own_function_is_told_from_an_answer():
    verdict = exercises.scaled_dot_product_attention.check(attention.scaled_dot_product_attention)
    assert verdict.passed
    assert "the package's own function" in verdict.message
    assert "own function" not in exercises.softmax.check(lambda scores, dim: softmax_by_powers(scores, dim)).message


# ── mistakes and mutants ──


@every_mistake
def test_each_mistake_is_rejected_and_recognised_by_its_name(exercise, mistake):
    verdict = exercise.check(mistake.function)
    assert not verdict.passed
    assert verdict.attempted
    assert verdict.mistake == mistake.name
    assert verdict.message.startswith(mistake.explanation)
    assert (
        "Your test accepts" if isinstance(exercise, WriteTheTest) else "Simplest case that fails"
    ) in verdict.message


@every_exercise
def test_every_mutant_of_the_reference_is_rejected_but_the_listed_equivalents(exercise, monkeypatch):
    mutants = dict(mutants_of(exercise))
    assert len(mutants) >= 5
    monkeypatch.setattr(checking, "recognised", lambda *_: None)  # none is named: that takes longer than to judge
    judged = {what: exercise.examine(Attempt(mutant), exercise.cases) for what, mutant in mutants.items()}
    survivors = {what for what, result in judged.items() if result.passed}
    assert survivors == set(EQUIVALENT.get(exercise.name, {}))


def test_the_mutation_score_counts_what_is_judged_wrongly():
    assert row(exercises.merge_heads).holds
    bad = Row("e", 4, ["right"], 6, [], 12, ["survivor"], {"same": "why"})
    assert not bad.holds
    assert "| `e` | 3 of 4 | 6 of 6 | 10 of 11 | 1 |" in table([bad])


@every_exercise
def test_properties_hold_for_the_reference(exercise):
    for case in exercise.all_cases:
        assert broken(exercise, case, exercise.expected(case)) == ()


def test_an_unknown_mistake_is_told_which_property_it_breaks():
    verdict = exercises.softmax.check(lambda scores, dim: softmax_by_powers(scores, dim) * 1.5)
    assert verdict.mistake is None
    assert "It should hold that the weights along `dim` sum to 1." in verdict.message
    assert "expected [0.0900, 0.2447, 0.6652]" in verdict.message
    assert "given    [0.1350, 0.3671, 0.9979]" in verdict.message


def keep(rank):
    """A `top_k_filter` that keeps the first k in an order of its own."""

    def top_k_filter(logits, k):
        dropped = torch.ones_like(logits, dtype=torch.bool).scatter(-1, rank(logits)[..., :k], False)
        return logits.masked_fill(dropped, -torch.inf)

    return top_k_filter


def test_where_several_answers_are_right_the_properties_are_the_judge():
    last_first = keep(
        lambda logits: logits.size(-1) - 1 - logits.flip(-1).argsort(dim=-1, descending=True, stable=True)
    )
    assert exercises.top_k_filter.check(last_first).passed
    largest_last = keep(
        lambda logits: logits.argsort(dim=-1, descending=bool(logits.unique().numel() == logits.numel()))
    )
    verdict = exercises.top_k_filter.check(largest_last)
    assert "nothing that is dropped is larger than what is kept" in verdict.message
    assert not exercises.top_k_filter.check(lambda logits, k: last_first(logits, k).double()).passed


def test_large_cases_name_the_place_of_the_largest_difference():
    def only_wrong_for_batches(query, key, value):
        output, weights = attention.scaled_dot_product_attention(query, key, value)
        if query.ndim == 3 and query.size(-2) != key.size(-2):
            output = output.clone()
            output[1, 4, 3] += 9
        return output, weights

    message = exercises.scaled_dot_product_attention.check(only_wrong_for_batches).message
    assert "Simplest case that fails: a batch." in message
    assert "at output[1, 4, 3]" in message


# ── stubs ──


def only_a_docstring(*arguments):
    """Your work."""


def ellipsis_as_body(*arguments): ...


def returns_ellipsis(*arguments):
    return ...


def passes(*arguments):
    pass


def returns_none(*arguments):
    return None


def returns_two_none(*arguments):
    return None, None


def not_implemented(*arguments):
    raise NotImplementedError


def half_filled(*arguments):
    first = arguments[0]
    return first, ...


STUBS = [
    only_a_docstring,
    ellipsis_as_body,
    returns_ellipsis,
    passes,
    returns_none,
    returns_two_none,
    not_implemented,
    half_filled,
]


def test_some_exercises_are_of_every_kind():
    assert {catalogue[name].kind for name in SOME} == {exercise.kind for exercise in catalogue.values()}


@some_exercises
@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.__name__)
def test_a_stub_is_not_attempted_yet(exercise, stub):
    verdict = exercise.check(stub)
    assert (verdict.passed, verdict.attempted, verdict.mistake) == (False, False, None)
    assert repr(verdict).startswith(f"○ {exercise.name}: not attempted yet")


def test_an_answer_that_looks_for_something_and_finds_nothing_is_attempted():
    def first_of_loss(experiments):
        return next((i for i, one in enumerate(experiments) if one["settings"] == "nowhere"), None)

    assert catalogue["which_control"].check(first_of_loss).attempted


# ── answers that misbehave ──


def like(value, change):
    """`change` applied to every tensor of a returned value."""
    return tuple(map(change, value)) if isinstance(value, tuple) else change(value)


def forgets_to_return(reference):
    def answer(*arguments):
        result = reference(*arguments)
        result = result

    return answer


def raising(reference):
    def answer(*arguments):
        return arguments[0] @ torch.ones(97, 97)

    return answer


def leaving(reference):
    def answer(*arguments):
        raise SystemExit(1)

    return answer


def changing_its_input(reference):
    def answer(*arguments):
        result = reference(*arguments)
        arguments[0].append(1) if isinstance(arguments[0], list) else arguments[0].add_(1)
        return result

    return answer


def returning(change):
    return lambda reference: lambda *arguments: like(reference(*arguments), change)


MISBEHAVIOUR = {
    "forgets return": (forgets_to_return, r"It returns None: is a `return` missing\?"),
    "raises": (raising, r"It raises an error, in line \d+: `return arguments\[0\] @ torch.ones\(97, 97\)`."),
    "leaves": (leaving, r"It raises an error, in line \d+: `raise SystemExit\(1\)`.\n  SystemExit: 1"),
    "numpy": (returning(lambda x: x.numpy()), r"must be a torch.Tensor, but is an ndarray"),
    "a number": (lambda reference: lambda *arguments: 3, r"must (be|return).* but (is|returned) an int|is wrong"),
    "shape": (returning(lambda x: x.unsqueeze(0)), r"wrong shape.\n  expected \(.*\)\n  given    \(1,.*\)"),
    "dtype": (
        returning(lambda x: x.double() if x.is_floating_point() else x.to(torch.int16)),
        r"wrong dtype.\n  expected torch.\w+\n  given    torch.(float64|int16)",
    ),
    "device": (returning(lambda x: x.to("meta")), r"wrong device.\n  expected cpu\n  given    meta"),
    "nan": (returning(lambda x: x * float("nan")), r"contains NaN"),
    "changes its input": (changing_its_input, r"It changes its input `\w+`"),
    "detaches": (returning(lambda x: x.detach()), r"is cut off from the inputs: no gradient flows back"),
    "gradient": (
        returning(lambda x: torch.where(x.isfinite(), x.detach() + 2 * (x - x.detach()), x)),
        r"The values are right, the gradients are not: `gradient of \w+` has",
    ),
    "numpy inside": (
        returning(lambda x: torch.from_numpy(x.cpu().numpy().copy()).to(x.device)),
        r"but with inputs that track gradients it raises an error.*\n  RuntimeError: Can't call numpy",
    ),
}


def can_misbehave(exercise, name):
    """Integers and masks know neither NaN nor gradients; a number cannot be changed in place, a list has no dtype."""
    arguments = list(exercise.cases[0].arguments.values())
    returned = as_tuple(exercise.expected(exercise.cases[0]).value)
    if exercise.number and name in ("a number", "dtype"):
        return False
    if name == "dtype" and any(value.is_floating_point() for value in returned if isinstance(value, torch.Tensor)):
        return any(isinstance(x, torch.Tensor) and x.is_floating_point() for x in arguments)  # else nothing names one
    if name in ("numpy", "shape", "dtype", "device"):
        return all(isinstance(value, torch.Tensor) for value in returned)
    if name == "changes its input":
        return isinstance(arguments[0], (torch.Tensor, list))
    if name == "nan":
        return all(isinstance(value, torch.Tensor) and value.is_floating_point() for value in returned)
    if name in ("detaches", "gradient", "numpy inside"):
        return exercise.asks_for_gradients(exercise.cases[0])
    return True


@pytest.mark.parametrize(
    ("exercise", "make", "message"),
    [
        pytest.param(exercise, *how, id=f"{exercise.name}-{name}")
        for exercise in (catalogue[one] for one in SOME)
        if exercise.kind == "implement"
        for name, how in MISBEHAVIOUR.items()
        if can_misbehave(exercise, name)
    ],
)
def test_an_answer_that_misbehaves_is_told_how(exercise, make, message, monkeypatch):
    monkeypatch.setattr(exercise_module, "explain", lambda *arguments: None)  # test_diagnosis tests that
    verdict = exercise.check(make(inspect.unwrap(exercise.reference)))
    assert not verdict.passed
    assert verdict.attempted
    assert re.search(message, verdict.message), verdict.message
    assert verdict.mistake is None


def imported_from(folder, name, source):
    """A module that lies in a folder of its own: no path that Python itself would look in."""
    (folder / f"{name}.py").write_text(source)
    module_spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("decorate", [lambda answer: answer, torch.no_grad()], ids=["plain", "decorated by torch"])
def test_of_an_error_in_a_library_the_learner_s_own_line_is_shown_wherever_the_library_lies(tmp_path, decorate):
    library = imported_from(tmp_path, "library", "def fail(x):\n    raise ValueError('no good')\n")

    @decorate
    def answer(scores, dim):
        return library.fail(scores)

    message = exercises.softmax.check(answer).message
    assert re.search(r"in line \d+: `return library.fail\(scores\)`.\n  ValueError: no good", message), message


def test_of_an_error_in_a_helper_the_helper_s_line_is_shown(tmp_path, monkeypatch):
    helper = "def helper(scores, dim):\n    return scores @ scores.T @ 1\n"
    answer = "import library_helper\n\n\ndef softmax(scores, dim):\n    return library_helper.helper(scores, dim)\n"
    monkeypatch.setitem(sys.modules, "library_helper", imported_from(tmp_path, "library_helper", helper))
    message = exercises.softmax.check(imported_from(tmp_path, "answer", answer).softmax).message
    assert "in line 2: `return scores @ scores.T @ 1`" in message


WRITTEN = """def softmax(scores, dim):
    powers = (scores - scores.amax(dim, True)).exp()
    return powers / powers.sum(dim, True)
"""


@pytest.mark.parametrize(
    ("last_cell", "expected"),
    [
        ("def softmax(scores, dim):\n    return scores.softmax(dim", "The last cell that defines `softmax` ended in"),
        ("exercises.softmax.check(softmax)", "Right in all"),
        ("get_ipython().run_cell_magic('time', '', 'def softmax(scores, dim):')", "Right in all"),
        ("def softmax_of(x):\n    return", "Right in all"),
        (f"import torch\n\n{WRITTEN}", "Right in all"),
    ],
    ids=["failed", "check", "magic", "another name", "the same again"],
)
def test_a_function_that_was_to_be_replaced_by_a_cell_that_failed_is_not_judged(
    tmp_path, monkeypatch, last_cell, expected
):
    shell = SimpleNamespace(user_ns={"In": ["", WRITTEN, last_cell]})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert exercises.softmax.check(imported_from(tmp_path, "cell", WRITTEN).softmax).message.startswith(expected)


@pytest.mark.parametrize("printing", ["print('shape', 7)", "import sys; print('shape', 7, file=sys.stderr)"])
def test_printed_text_is_shown_on_the_card_and_nowhere_else(printing, capsys):
    def answer(scores, dim):
        exec(printing)
        return softmax_by_powers(scores, dim)

    verdict = exercises.softmax.check(answer)
    assert verdict.passed
    assert "It printed (fine while you work; remove it when you are done):\n  shape 7" in verdict.message
    assert capsys.readouterr() == ("", "")


def test_much_printed_text_is_cut():
    def answer(scores, dim):
        print("\n".join(f"line {i}" for i in range(100)))

    message = exercises.softmax.check(answer).message
    assert "  line 4\n  … and 95 more lines" in message
    assert "line 5" not in message


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (torch.ones(3), r"Hand over the function itself: `check\(softmax\)` \(got a Tensor\)"),
        (None, r"Hand over the function itself"),
        (lambda scores: scores, r"must take \(scores, dim\), but takes \(scores\)"),
        (lambda *, scores, dim: scores, r"must take \(scores, dim\), but takes \(scores, dim\)"),
    ],
)
def test_what_cannot_be_called_is_told_why(answer, message):
    verdict = exercises.softmax.check(answer)
    assert not verdict.passed
    assert re.search(message, verdict.message)


def test_values_are_compared_while_gradients_are_tracked_as_well():
    def answer(scores, dim):
        weights = softmax_by_powers(scores, dim)
        return weights + 100 if scores.requires_grad else weights.detach()

    message = exercises.softmax.check(answer).message
    assert "with inputs that track gradients: `weights` has the right shape and wrong values." in message
    assert "given    [100.0900, 100.2447, 100.6652]" in message


@pytest.mark.parametrize("error", [0.03, 0.45])
def test_in_float16_a_small_error_is_no_rounding(error):
    def answer(scores, mask):
        weights = attention.masked_softmax(scores, mask)
        return weights * (1 + error) if scores.dtype == torch.float16 else weights

    message = exercises.masked_softmax.check(answer).message
    assert "Simplest case that fails: float16." in message


def greedy_ids(change):
    return lambda *arguments: change(catalogue["greedy_decode"].reference(*arguments))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ids: [torch.tensor(i) for i in ids], "`ids` must be a list of int, but holds a Tensor."),
        (lambda ids: [str(i) for i in ids], "`ids` must be a list of int, but holds a str."),
        (lambda ids: tuple(ids), "`ids` must be a list, but is a tuple of 4 (int, int, int, int)."),
    ],
    ids=["tensors", "texts", "a tuple"],
)
def test_a_list_must_hold_numbers(change, message):
    assert message in exercises.greedy_decode.check(greedy_ids(change)).message


def test_numpy_s_whole_numbers_are_numbers():
    assert exercises.greedy_decode.check(greedy_ids(lambda ids: [np.int64(i) for i in ids])).passed


def test_a_head_taken_away_in_place_is_told_so():
    def answer(output_by_head, w_o, head):
        d_head = output_by_head.size(-1)
        w_o[head * d_head : (head + 1) * d_head] = 0
        return output_by_head.transpose(1, 2).flatten(2) @ w_o

    verdict = exercises.ablate_head.check(answer)
    assert "It changes its input `w_o`." in verdict.message
    assert verdict.mistake is None


def test_whoever_changes_a_list_is_told_of_lists():
    message = exercises.merge_pair.check(lambda symbols, pair: symbols.pop() and symbols).message
    assert "It changes its input `symbols`. Make a new one: `append`, `pop` and `x[…] =` write into the old." in message


def test_given_functions_have_names_to_be_told_apart_by():
    exercise = exercises.encoder_layer
    message = exercise.check(exercise.mistakes["norms_exchanged"].function).message
    shown = [line for case in exercise.cases for line in report(Result(Outcome(), case), case)]
    assert "  norm_1 = plus_one" in message
    assert "  norm_1 = layer_norm_1" in shown
    assert "  norm_2 = layer_norm_2" in shown


def test_off_its_domain_a_function_may_compute_anything():
    """The derivative of the Jacobian along the set of weights, which sum to 1, is all that an answer can have right."""

    def scaled_off_the_set(weights):
        return exercises.softmax_jacobian.reference(weights) * weights.sum(-1)[..., None, None]

    def scaled_along_it(weights):
        jacobian = exercises.softmax_jacobian.reference(weights)
        return jacobian + (weights - weights.detach())[..., None, :]

    assert exercises.softmax_jacobian.check(scaled_off_the_set).passed
    assert "`gradient of weights` has" in exercises.softmax_jacobian.check(scaled_along_it).message


def test_an_attention_that_returns_a_tuple_of_three_is_told_what_to_return():
    verdict = exercises.scaled_dot_product_attention.check(lambda query, key, value: (query, key, value))
    expected = "It must return (output, weights), but returned a tuple of 3 (Tensor, Tensor, Tensor)."
    assert expected in verdict.message


def test_a_check_never_raises_even_if_the_answer_breaks_the_comparison():
    class Strange(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            raise RuntimeError("no")

    verdict = exercises.softmax.check(lambda scores, dim: Strange())
    assert not verdict.passed
    assert "could not be checked" in verdict.message


def draw() -> tuple:
    """One number of each generator, and numpy's normal, which keeps a second one for the next call."""
    return torch.rand(3, device="cpu").tolist(), random.random(), np.random.rand(), np.random.randn()


def seed_all(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def test_a_check_leaves_random_numbers_and_warnings_alone():
    def answer(scores, dim):
        seed_all(1)
        draw()
        np.random.set_bit_generator(np.random.PCG64(1))
        warnings.warn("a warning", stacklevel=1)
        return softmax_by_powers(scores, dim)

    seed_all(7)
    draw()
    expected = draw(), draw()
    seed_all(7)
    draw()
    assert exercises.softmax.check(answer).passed
    assert (draw(), draw()) == expected


def test_an_answer_draws_the_same_random_numbers_whatever_the_notebook_drew():
    drawn: list[list[tuple]] = []

    def answer(scores, dim):
        drawn[-1].append(draw())
        return softmax_by_powers(scores, dim)

    for seed in (1, 2):
        seed_all(seed)
        drawn.append([])
        assert exercises.softmax.check(answer).passed
    assert drawn[0] == drawn[1]
    assert all(one == drawn[0][0] for one in drawn[0])


# ── what a learner sees ──


@some_exercises
def test_hints_come_one_by_one_and_the_last_is_repeated(exercise):
    exercise._hints_given = 0
    count = len(exercise.hints)
    titles = [exercise.hint().title for _ in range(count + 1)]
    assert titles == [f"{exercise.name}: hint {i} of {count}" for i in [*range(1, count + 1), count]]
    assert "solution()" in exercise.hint().text
    assert "solution()" not in exercise.hint(1).text
    with pytest.raises(ValueError, match=rf"{exercise.name} has hints 1 to {count} \(asked for 0\)"):
        exercise.hint(0)


def leaks(hint: str, source: str) -> list[str]:
    """The expressions of a solution, longer than a name or a call of one name, that a hint contains."""
    squeeze = lambda text: re.sub(r"\s", "", text)  # noqa: E731
    nodes = (
        node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.BinOp, ast.Call, ast.Assign, ast.Return))
    )
    return [found for node in nodes if (found := ast.unparse(node)) and squeeze(found) in squeeze(hint)]


@every_exercise
def test_no_hint_contains_a_part_of_the_solution(exercise):
    for hint in exercise.hints:
        assert not leaks(hint, exercise.solution_source())


def test_a_leaking_hint_would_be_found():
    source = exercises.softmax.solution_source()
    assert leaks("Use scores.amax( dim, keepdim = True ).", source) == ["scores.amax(dim, keepdim=True)"]


def test_cards_are_plain_text_and_html_with_everything_escaped():
    def answer(scores, dim):
        raise RuntimeError("a < b & `c`")

    verdict = exercises.softmax.check(answer)
    assert repr(verdict).startswith("✗ softmax: not yet\nSimplest case that fails: three scores.")
    html = verdict._repr_html_()
    assert "RuntimeError: a &lt; b &amp; `c`" in html
    assert "<code>raise RuntimeError(&quot;a" not in html
    assert ">softmax</p>" in html
    assert "<strong>Not yet</strong>" in html
    assert "linear-gradient(90deg,currentColor 50%" in html, "a seal that is half full"


def test_a_named_slip_is_the_heading_and_yours_stands_beside_what_is_expected():
    html = exercises.softmax.check(exercises.softmax.mistakes["sum_over_everything"].function)._repr_html_()
    assert ">softmax · not yet</p>" in html
    assert "<strong>Sum over everything</strong>" in html
    yours, expected = re.findall(r">(yours|expected)</span><pre style=\"([^\"]*)\">([^<]*)</pre>", html)
    assert yours[0] == "yours"
    assert "dashed" in yours[1]
    assert yours[2] == "[[0.0418, 0.1136, 0.3087],\n [0.3087, 0.1136, 0.1136]]"
    assert "dashed" not in expected[1]
    assert expected[2] == "[[0.0900, 0.2447, 0.6652],\n [0.5761, 0.2119, 0.2119]]"


def test_what_passed_shows_a_dot_for_each_exercise_of_its_lesson(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_LAB_PROGRESS", str(tmp_path / "progress.json"))
    exercises.new_weights.check(lambda weights, shift, factor: weights)
    passed = exercises.softmax.check(lambda scores, dim: softmax_by_powers(scores, dim))
    n = sum(exercise.lesson == "01" for exercise in exercises.catalogue.values())
    assert f'aria-label="1 of {n} solved in lesson 01"' in passed._repr_html_()
    assert passed._repr_html_().count("width:.7em") == n
    assert passed._repr_html_().count("linear-gradient") == 1
    monkeypatch.setenv("TRANSFORMER_LAB_PROGRESS", "off")
    assert "solved in lesson" not in passed._repr_html_()


def opened(verdict) -> list[str]:
    """What a card has to open, from the outermost inwards."""
    return re.findall(r"<summary [^>]*>([^<]+)</summary>", verdict._repr_html_())


def test_hints_are_folded_into_a_card_and_the_solution_for_who_has_tried():
    def stub(scores, dim): ...

    hints = [f"hint {i} of 3" for i in (1, 2, 3)]
    wrong = exercises.softmax.check(exercises.softmax.mistakes["sum_over_everything"].function)
    assert opened(wrong) == [*hints, "a solution"]
    assert "def softmax" in wrong._repr_html_()
    untouched = exercises.softmax.check(stub)
    assert opened(untouched) == hints
    assert "def softmax" not in untouched._repr_html_()
    assert opened(exercises.softmax.check(lambda scores, dim: softmax_by_powers(scores, dim))) == []
    assert "hint 1" not in repr(wrong) + repr(untouched)


def test_a_hint_holds_the_next_one():
    html = folded_hints(["Look at `dim`.", "Then *add*."])
    first, second = (html.index(word) for word in ("Look at <code>dim", "Then <em>add"))
    assert first < html.index("hint 2 of 2") < second
    assert "</details>" not in html[:second]


def test_no_solution_is_folded_into_the_card_of_an_assignment(monkeypatch):
    monkeypatch.setattr(exercises.softmax, "withheld", True)
    assert "a solution" not in opened(exercises.softmax.check(lambda scores, dim: scores))


def test_lines_that_start_with_a_dash_are_a_list():
    card = Card(INFO, "Two", "Two things:\n- `a` is *left* out.\n- b\n  - code\n-1 is no item\n- c")
    assert card._repr_html_().count("<ul") == 2
    assert "<li><code>a</code> is <em>left</em> out.</li><li>b</li></ul><pre" in card._repr_html_()
    assert '<p style="margin:4px 0">-1 is no item</p>' in card._repr_html_()
    assert "\n- `a` is left out.\n- b\n  - code\n" in repr(card)


def test_emphasis_is_set_in_html_and_its_marks_are_dropped_in_plain_text():
    text = "*All* of `a * b * c`, and *not one*: 2 * 3 * 4, exp(*args).\n  code *is* code"
    card = Card(INFO, "a card", text)
    assert "<em>All</em> of <code>a * b * c</code>, and <em>not one</em>: 2 * 3 * 4, exp(*args)." in card._repr_html_()
    assert "code *is* code</pre>" in card._repr_html_()
    assert repr(card) == "→ a card\nAll of `a * b * c`, and not one: 2 * 3 * 4, exp(*args).\n  code *is* code"


@every_exercise
def test_no_card_shows_the_marks_of_emphasis(exercise):
    for text in (exercise.statement, *exercise.hints, *(m.explanation for m in exercise.mistakes.values())):
        assert not re.search(r"(?<!\w)\*\w+\*|\*\*", re.sub("`[^`]+`", "", plain_text(text))), text


def test_the_name_of_a_mistake_is_shown_as_words():
    names = ("sum_over_everything", "scaled_by_d_model", "divided_by_d_k", "filled_with_minus_1e9")
    words = ["sum over everything", "scaled by d_model", "divided by d_k", "filled with minus 1e9"]
    assert [readable(name) for name in names] == words


# ── answers that do not end ──


@pytest.fixture
def short_limit(monkeypatch):
    exercises.softmax.check(attention.softmax)  # what torch loads with its first gradient must not be cut in two
    monkeypatch.setattr(exercise_module, "time_limit", lambda: time_limit(0.2))


def for_ever(scores, dim):
    while True:
        pass


def for_ever_whatever_comes(scores, dim):
    while True:
        try:
            while True:
                pass
        except Exception:
            pass


def for_ever_and_catches_all(scores, dim):
    while True:
        try:  # noqa: SIM105
            scores.sum()
        except:  # noqa: E722
            pass


@pytest.mark.parametrize("answer", [for_ever, for_ever_whatever_comes, for_ever_and_catches_all])
def test_an_answer_that_does_not_end_is_stopped_at_the_time_limit(answer, short_limit):
    verdict = exercises.softmax.check(answer)
    assert not verdict.passed
    where = r"in line \d+: `(pass|while True:|try:|scores.sum\(\))`"
    assert re.search(rf"^It did not end within 0\.2 seconds of computing, {where}: is there", verdict.message)


def test_an_answer_that_waits_has_ten_times_as_long(short_limit, monkeypatch):
    """As one does on a busy machine, where others compute meanwhile."""
    slept = []

    def waits(scores, dim):
        slept.append(time.sleep(0 if slept else 0.5))
        return softmax_by_powers(scores, dim)

    def waits_for_ever(scores, dim):
        time.sleep(600)

    message = exercises.softmax.check(waits_for_ever).message
    assert message.startswith("It did not end within 2 seconds, in line ")
    assert message.endswith("`time.sleep(600)`: does it sleep, or wait for something?")
    monkeypatch.setattr(exercise_module, "time_limit", lambda: time_limit(0.4))
    assert exercises.softmax.check(waits).passed


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timer")
def test_the_time_limit_leaves_nothing_behind(short_limit):
    rings = []
    handler = signal.signal(signal.SIGALRM, lambda *_: rings.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 6000)
        for answer in (for_ever, lambda scores, dim: softmax_by_powers(scores, dim)):
            exercises.softmax.check(answer)
            left, interval = signal.getitimer(signal.ITIMER_REAL)
            assert 5000 < left < 6000
            assert interval == 0
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(0.1)
        assert rings == [1]
        exercises.softmax.check(for_ever)
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        assert signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


# ── answers that take all the memory ──


def hungry_tensor(scores, dim):
    torch.empty(2 * 10**9)  # 8 GB that nobody writes to: without a limit they are given
    return softmax_by_powers(scores, dim)


def hungry_list(scores, dim):
    return [0.0] * 10**11


with_a_memory_limit = pytest.mark.skipif(
    sys.platform != "linux" or torch.cuda.is_available(), reason="memory is limited on Linux, without a GPU"
)


@with_a_memory_limit
@pytest.mark.parametrize("answer", [hungry_tensor, hungry_list])
def test_an_answer_that_takes_too_much_memory_fails_and_the_session_goes_on(answer):
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    verdict = exercises.softmax.check(answer)
    what = r"^It takes more memory than it may, in line \d+: `.*10\*\*.*`: is something far larger"
    assert re.search(what, verdict.message, flags=re.MULTILINE)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


FOLDED: list = [0.0]  # a list that holds one twice, which holds another twice, and so on
for _ in range(40):
    FOLDED = [FOLDED, FOLDED]
HUGE = {
    "is a list of 1000000 (float, ": [0.0] * 10**6,
    "is a list of 2 (list, list)": FOLDED,
    "given    (20000000,)": torch.zeros(2 * 10**7),
}


@pytest.mark.parametrize("words", HUGE)
def test_a_huge_answer_is_told_so_at_once_and_in_few_words(words):
    """It took twenty seconds, and for the list a message of a million words."""
    start = time.thread_time()
    message = exercises.softmax.check(lambda scores, dim: HUGE[words]).message
    assert time.thread_time() - start < 3
    assert words in message
    assert len(message) < 400


def test_of_a_long_list_only_the_beginning_is_shown():
    message = fault([*range(10**5)], [1, 2], ("found",))
    assert message.startswith("`found` is wrong.\n  expected [1, 2]\n  given    [0, 1, 2")
    assert message.endswith(" …")
    assert len(message) < 500


MANY_SMALL = """
import torch
from transformer_lab.exercises.engine.memory_limit import memory_limit

kept = []
try:
    with memory_limit(0.5):
        for _ in range(100):
            kept.append(torch.ones(2_500_000))
except RuntimeError as error:
    print(len(kept), "can't allocate memory" in str(error))
"""


@with_a_memory_limit
def test_memory_that_many_small_tensors_take_is_limited_too():
    """In a process of its own: here other tests may have left gigabytes, which would be taken before new ones."""
    run = subprocess.run(
        [sys.executable, "-c", MANY_SMALL], capture_output=True, text=True, cwd=Path(__file__).parents[1]
    )
    count, refused = run.stdout.split()
    assert 20 < int(count) < 60
    assert refused == "True"


def test_an_interrupt_ends_the_check_with_a_card():
    def interrupted(scores, dim):
        signal.raise_signal(signal.SIGINT)
        return scores

    verdict = exercises.softmax.check(interrupted)
    assert not verdict.passed
    assert re.search(r"^Stopped: you interrupted the check, in line \d+: `signal.raise_signal", verdict.message)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # where it strikes a destructor
def test_one_interrupt_ends_an_answer_that_catches_everything():
    handler, killer = signal.getsignal(signal.SIGINT), threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    killer.start()
    message = exercises.softmax.check(for_ever_and_catches_all).message
    assert message.startswith("Stopped: you interrupted the check, in line ")
    assert signal.getsignal(signal.SIGINT) is handler
    assert sys.gettrace() is None or "coverage" in sys.modules


def set_another_device() -> None:
    if torch.get_default_device().type != "cuda":  # where a case lies there, torch refuses
        torch.set_default_device("meta")


SETTINGS = {
    "dtype": (torch.get_default_dtype, lambda: torch.set_default_dtype(torch.float64)),
    "gradients": (torch.is_grad_enabled, lambda: torch.set_grad_enabled(False)),
    "device": (torch.get_default_device, set_another_device),
    "threads": (torch.get_num_threads, lambda: torch.set_num_threads(torch.get_num_threads() + 1)),
    "deterministic": (
        torch.are_deterministic_algorithms_enabled,
        lambda: torch.use_deterministic_algorithms(not torch.are_deterministic_algorithms_enabled()),
    ),
    "precision": (torch.get_float32_matmul_precision, lambda: torch.set_float32_matmul_precision("medium")),
    "random": (lambda: torch.get_rng_state().tolist(), lambda: torch.manual_seed(7)),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_an_answer_changes_is_as_before_and_misleads_nobody(name):
    read, change = SETTINGS[name]

    def changes(scores, dim):
        weights = softmax_by_powers(scores, dim)
        change()
        return weights

    before = read()
    assert exercises.softmax.check(changes).passed
    assert read() == before


def test_a_check_computes_on_one_thread_and_leaves_as_many_as_there_were():
    seen, before = set(), torch.get_num_threads()

    def watched(scores, dim):
        seen.add(torch.get_num_threads())
        return softmax_by_powers(scores, dim)

    torch.set_num_threads(2)
    try:
        assert exercises.softmax.check(watched).passed
        assert (seen, torch.get_num_threads()) == ({1}, 2)
    finally:
        torch.set_num_threads(before)


def backward_by_torch(how):
    def backward(query, key, value, grad_output):
        with torch.enable_grad():
            given = [x.detach().clone().requires_grad_() for x in (query, key, value)]
            scores = given[0] @ given[1].mT / query.size(-1) ** 0.5
            output = scores.softmax(-1) @ given[2]
        return tuple(how(output, given, grad_output))

    return backward


def by_backward(output, given, grad_output):
    output.backward(grad_output)
    return [x.grad for x in given]


def keeps_all(chunks):
    row = torch.cat(list(chunks), -1)
    maximum = row.amax(-1)
    return maximum, (row - maximum[..., None]).exp().sum(-1)


def makes_keys(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    keys, values = latent[:, None] @ w_uk, latent[:, None] @ w_uv
    scores = query_nope @ keys.mT + query_rope @ key_rope[:, None].mT
    return (scores / (query_nope.size(-1) + query_rope.size(-1)) ** 0.5).softmax(-1) @ values


def makes_keys_of_a_head(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    heads = []
    for i in range(w_uk.size(0)):
        scores = query_nope[:, i] @ (latent @ w_uk[i]).mT + query_rope[:, i] @ key_rope.mT
        weights = (scores / (query_nope.size(-1) + query_rope.size(-1)) ** 0.5).softmax(-1)
        heads.append(weights @ latent @ w_uv[i])
    return torch.stack(heads, 1)


@pytest.mark.parametrize(
    ("exercise", "answer", "message"),
    [
        ("latent_attention", makes_keys, r"`keys, values = .*`\.\n.* must not be made here .* \(1, 4, 64, 32\)"),
        ("latent_attention", makes_keys_of_a_head, r"must not be made here \(got a tensor of shape \(1, 64, 32\)\)"),
        ("attention_backward", backward_by_torch(torch.autograd.grad), "gradients must be computed by hand here"),
        ("attention_backward", backward_by_torch(by_backward), "gradients must be computed by hand here"),
        ("softmax", lambda scores, dim: torch.nn.Softmax(dim)(scores), "must be made from `torch.exp` here"),
        (
            "softmax",
            lambda scores, dim: torch.nn.functional.softmin(-scores, dim),
            "must be made from `torch.exp` here",
        ),
        ("softmax", lambda scores, dim: (scores - scores.logsumexp(dim, True)).exp(), "must be made from `torch.exp`"),
        ("online_softmax", keeps_all, r"what the iterator gives must not be kept \(3 of 3 are still there\)"),
    ],
)
def test_what_a_statement_forbids_is_refused(exercise, answer, message):
    verdict = exercises.catalogue[exercise].check(answer)
    assert not verdict.passed
    assert re.search(message, verdict.message)


class Weights:
    def __init__(self, scores, dim):
        pass


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((Weights,), r"Hand over a function, .*: `check\(softmax\)` \(got the class Weights\)\.$"),
        ((), r"^Hand over your function: `exercises.softmax.check\(softmax\)`\.$"),
        (
            (lambda scores, dim: input("?"),),
            r"It asks for input, in line \d+: .*, but an answer must work with",
        ),
        ((lambda scores, dim: 1,), r"`weights` must be a torch.Tensor, but is an int\."),
        ((lambda scores, dim: scores.numpy(),), r"must be a torch.Tensor, but is an ndarray\."),
    ],
)
def test_what_is_no_answer_is_told_so_in_a_sentence(answer, message):
    assert re.search(message, exercises.softmax.check(*answer).message)


def test_a_slip_in_the_name_of_an_exercise_is_told_which_is_meant():
    with pytest.raises(AttributeError, match=r"no exercise 'softmaxx': did you mean `exercises.softmax`\?"):
        exercises.softmaxx  # noqa: B018
    with pytest.raises(AttributeError, match=r"no exercise 'fast' \(`exercises.progress\(\)` lists all\)"):
        exercises.fast  # noqa: B018


def test_a_card_after_a_right_answer_says_what_comes_next():
    right = exercises.softmax.check(lambda scores, dim: softmax_by_powers(scores, dim))
    assert right.message.endswith("\nNext comes `scaled_dot_product_attention` (implement, about 10 minutes).")
    last = exercises.softmax_jacobian.check(lambda p: exercises.softmax_jacobian.reference(p))
    assert last.message.endswith("\nThat was the last exercise of lesson 01.")


def test_a_check_in_another_thread_has_no_limit_and_works():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(exercises.softmax.check, lambda scores, dim: softmax_by_powers(scores, dim)).result().passed


def test_cards_are_the_same_every_time():
    mistake = exercises.softmax.mistakes["sum_over_everything"].function
    first, second = exercises.softmax.check(mistake), exercises.softmax.check(mistake)
    assert first == second
    assert first._repr_html_() == second._repr_html_()
    assert "(sum over everything)" in repr(first)


@some_exercises
def test_an_exercise_shows_its_statement_and_its_verbs(exercise):
    assert exercise.statement.splitlines()[0] in repr(exercise)
    assert f"exercises.{exercise.name}.check({exercise.name})" in exercise._repr_html_()


def test_an_exercise_has_the_name_that_a_card_tells():
    assert all(getattr(exercises, name) is exercise for name, exercise in catalogue.items())
