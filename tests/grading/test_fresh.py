"""Fresh inputs: every exercise has some, right answers of every style pass them, known mistakes keep their names."""

import pytest
import torch

from tests.answers import RIGHT_ANSWERS
from tests.grading.support import answer_of, needs_bwrap
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.running import Attempt
from transformer_lab.grading import fresh
from transformer_lab.grading.fresh import add_private, fresh_cases, try_out
from transformer_lab.grading.jail import Jail
from transformer_lab.grading.marking import Mark, mark, right_on

SEEDS = ("one", "two", "three", "four")
every_exercise = pytest.mark.parametrize("exercise", catalogue.values(), ids=catalogue.keys())


@pytest.fixture(scope="module")
def jail():
    with Jail(seconds=30) as jail:
        yield jail


def marks(exercise, functions, jail, fresh) -> dict[str, Mark]:
    answers = {function.__name__: answer_of(function) for function in functions}
    return {name: mark(exercise, answer, jail, fresh, 1) for name, answer in answers.items() if answer}


@every_exercise
def test_an_exercise_has_fresh_cases_that_follow_from_the_seed(exercise):
    assert len(fresh_cases(exercise, "one")) >= 3
    assert described(exercise, "one") == described(exercise, "one")
    assert described(exercise, "one") != described(exercise, "two")


def described(exercise, seed: str) -> str:
    arguments = [case.arguments.values() for case in fresh_cases(exercise, seed)]
    plain = [x for case in arguments for x in case if not callable(x)]
    models = [x([0]) for case in arguments for x in case if getattr(x, "__name__", "") == "scattered"]
    torch.set_printoptions(precision=8)
    return repr((plain, models))


@needs_bwrap
@every_exercise
def test_right_answers_of_every_style_get_their_points(exercise, jail):
    fresh = [case for seed in SEEDS for case in fresh_cases(exercise, seed)]
    given = marks(exercise, RIGHT_ANSWERS[exercise.name], jail, fresh)
    assert len(given) >= 1
    assert {name: one for name, one in given.items() if (one.verdict, one.points) != ("ok", 1)} == {}


@every_exercise
def test_no_seed_makes_a_right_answer_wrong(exercise):
    for case in [case for seed in range(15) for case in fresh_cases(exercise, f"seed {seed}")]:
        wrong = [f.__name__ for f in RIGHT_ANSWERS[exercise.name] if not right_on(exercise, Attempt(f), case)]
        assert wrong == [], case


@needs_bwrap
@every_exercise
def test_known_mistakes_get_no_points_and_their_names(exercise, jail):
    functions = [mistake.function for mistake in exercise.mistakes.values()]
    given = marks(exercise, functions, jail, fresh_cases(exercise, "one"))
    assert len(given) >= 5
    for name, one in given.items():
        assert (one.verdict in ("wrong", "raised"), one.points, one.mistake) == (True, 0, name), one
        assert exercise.mistakes[name].explanation in one.message


PRIVATE = """
from transformer_lab.grading.fresh import maker, number

@maker("causal_mask")
def _(generator):
    return {"length": number(generator, 50, 99)}
"""


def test_an_instructor_adds_makers_once():
    before = len(fresh_cases(catalogue["causal_mask"], "one"))
    for _ in range(2):
        add_private(PRIVATE)
        cases = fresh_cases(catalogue["causal_mask"], "one")
        assert len(cases) == before + 3
        assert 50 <= cases[-1].arguments["length"] <= 99


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", r"the private file must run \(ZeroDivisionError: division by zero\)"),
        ("def", r"the private file must run \(SyntaxError"),
        (PRIVATE.replace("causal_mask", "casual_mask"), r"an exercise must be one of .* \(got casual_mask\)"),
    ],
)
def test_a_private_file_that_does_not_run_is_refused(source, message):
    with pytest.raises(ValueError, match=message):
        add_private(source)


@pytest.mark.parametrize(
    ("draw", "error"),
    [("1 / 0", "ZeroDivisionError: division by zero"), ("{'length': 'many'}", "TypeError"), ("{}", "TypeError")],
)
def test_a_maker_that_the_reference_does_not_take_is_refused(monkeypatch, draw, error):
    monkeypatch.setitem(fresh.MAKERS, "causal_mask", [lambda generator: eval(draw)])
    with pytest.raises(ValueError, match=rf"the reference of causal_mask must take what its makers draw \({error}"):
        try_out(["softmax", "causal_mask"], "one")
