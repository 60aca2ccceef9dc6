"""The results to choose among on a card are those of the package, look different, and one of them alone is right."""

import re
import sys
from html import unescape

import pytest
import torch

from tests.built_site import ROOT
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.engine.checking import examine
from transformer_lab.exercises.engine.running import Attempt, as_tuple, run

sys.path.insert(0, str(ROOT / "web"))
from drawn import CELL, Drawn, decimals_of, written
from judged import is_judged
from results import case_and_choices, holds, lettered, which_is_right

WRITTEN = [one for one in catalogue.values() if one.kind == "implement" and not is_judged(one)]
ASKED = [one for one in WRITTEN if case_and_choices(one)]
each = pytest.mark.parametrize("exercise", ASKED, ids=lambda one: one.name)
CELLS = re.compile(r"<td[^>]*>([^<]*)</td>")


def test_most_exercises_that_ask_for_code_have_results_to_choose_among():
    assert len(ASKED) >= 0.8 * len(WRITTEN)


@each
def test_one_result_is_the_references_and_each_other_is_what_a_mistake_returns(exercise):
    case, choices = case_and_choices(exercise)
    assert [one.mistake for one in choices].count(None) == 1
    assert 3 <= len(choices) <= 4
    assert len({one.drawn for one in choices}) == len(choices), "no two look alike"
    for one in choices:
        function = one.mistake.function if one.mistake else exercise.reference
        made = run(function, case, seed=20170612).value
        for given, shown in zip(as_tuple(made), as_tuple(one.value), strict=True):
            assert torch.equal(given, shown) or given.isnan().any() if torch.is_tensor(given) else given == shown
        assert examine(exercise, Attempt(function), [case]).passed == (one.mistake is None)


@each
def test_what_is_seen_are_the_numbers_of_the_results(exercise):
    seen = [unescape(x) for x in CELLS.findall(which_is_right(exercise).partition('class="results')[2])]
    shown = []
    _, choices = case_and_choices(exercise)
    decimals = decimals_of(x for one in choices for x in one.drawn.numbers)
    for one in choices:
        several = isinstance(one.value, tuple) and len(exercise.returns) > 1
        for part in one.value if several else (one.value,):
            numbers = part.flatten().tolist() if torch.is_tensor(part) else [part]
            most = decimals if len(numbers) == 1 or not torch.is_tensor(part) else min(2, decimals)
            mask = torch.is_tensor(part) and part.dtype == torch.bool
            shown += ["✓" if x else "·" for x in numbers] if mask else [written(x, most) for x in numbers]
    assert seen == shown


@each
def test_a_sign_of_what_is_right_is_a_property_that_the_right_result_has_and_a_wrong_one_lacks(exercise):
    case, choices = case_and_choices(exercise)
    right = next(one for one in choices if one.mistake is None)
    for one in exercise.properties:
        assert one.holds(case.arguments, *as_tuple(right.value))
        for letter, choice in lettered(choices):
            if not holds(one, case, choice):
                assert not one.holds(case.arguments, *as_tuple(choice.value)), letter


@each
def test_no_code_of_an_answer_stands_on_a_card(exercise):
    text = unescape(re.sub("<[^>]+>", " ", which_is_right(exercise)))
    body = exercise.solution_source().partition(":\n")[2]
    lines = [line.strip() for line in body.splitlines() if "=" in line or line.strip().startswith("return ")]
    assert [line for line in lines if len(line) > CELL and line in text] == []


def test_what_a_function_does_that_a_call_is_given_is_said_in_words():
    given = catalogue["encoder_layer"].cases[0].arguments
    asked = unescape(which_is_right(catalogue["encoder_layer"]))
    for name in ("self_attention", "feed_forward", "norm_1", "norm_2"):
        assert f"<dt>{name}</dt><dd>{given[name].__doc__.rstrip('.')}</dd>" in asked


def test_numbers_are_written_as_exactly_as_it_takes_to_tell_them_apart():
    assert [decimals_of(x) for x in ([1.0, 8.0], [5.5, 10.0], [0.25, 1 / 3], [float("inf")])] == [0, 1, 4, 0]
    assert [written(x, 2) for x in (-0.001, -1e9, float("-inf"), 0.5)] == ["0.00", "−1e9", "−∞", "0.50"]
    halves = [Drawn.of(torch.tensor(x)) for x in ([0.5, 0.25], [0.5001, 0.2501], [0.5, 0.26])]
    assert halves[0] == halves[1] != halves[2]


def test_what_is_true_or_false_is_a_word_and_a_mask_has_ticks():
    given = (False, True, torch.tensor(False), torch.tensor([True, False]))
    drawn = [cell for one in given for part in Drawn.of(one).parts for row in part.matrices[0] for cell in row]
    assert drawn == ["False", "True", "False", "✓", "·"]
