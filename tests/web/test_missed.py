"""What gets past a test on a card does so in the package as well, and the others are caught."""

import sys

import pytest

from tests.built_site import ROOT
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.engine.running import Attempt

sys.path.insert(0, str(ROOT / "web"))
from missed import GIVEN_AWAY, rounds, what_gets_past

TESTS = [one for one in catalogue.values() if one.kind == "write the test"]
each = pytest.mark.parametrize("exercise", TESTS, ids=lambda one: one.name)


@each
def test_a_test_misses_one_of_four_and_catches_three(exercise):
    found = rounds(exercise)
    assert found
    assert len({one.missed for one in found}) == len(found), "each asks for another one"
    for one in found:
        assert len(set(one.shown)) == 4
        says = {case: exercise.examine(Attempt(one.test.function), [case]).passed for case in one.shown}
        assert [case for case, is_caught in says.items() if not is_caught] == [one.missed]
        assert all(exercise.expected(case).value is not exercise.says_of_right for case in one.shown)


@each
def test_all_that_is_right_passes_a_test_that_is_shown(exercise):
    right = [case for case in exercise.cases if exercise.expected(case).value is exercise.says_of_right]
    for one in rounds(exercise):
        assert all(exercise.mistaken(one.test, case).value is exercise.says_of_right for case in right)


@each
def test_the_sentence_about_a_test_does_not_say_what_it_misses(exercise):
    for one in rounds(exercise):
        assert one.test.explanation.startswith(one.sentence[:-1])
        assert GIVEN_AWAY not in one.sentence
        assert one.sentence != one.test.explanation, "something is left to be said"


@each
def test_one_answer_of_each_question_is_right(exercise):
    html = what_gets_past(exercise)
    assert html.count("data-right") == html.count("<fieldset") == len(rounds(exercise))
    assert html.count("data-result") == 4 * len(rounds(exercise))
