"""Hidden inputs: every exercise has some, right answers of every style pass them, known mistakes keep their names."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
import torch

from tests.answers import RIGHT_ANSWERS
from tests.grading.support import answer_of, needs_bwrap
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.engine.running import Attempt, is_stream
from transformer_lab.exercises.kinds import WriteTheTest
from transformer_lab.grading.marking.hidden_cases import add_private, draw_cases, try_out
from transformer_lab.grading.marking.scoring import Mark, mark
from transformer_lab.grading.sandbox.sandbox import Sandbox

SEEDS = ("one", "two")
MORE_SEEDS = ("two", *(f"seed {i}" for i in range(int(os.environ.get("SEEDS", "2")) - 2)))  # SEEDS=15 tries more
every_exercise = pytest.mark.parametrize("exercise", catalogue.values(), ids=catalogue.keys())


@cache
def drawn(exercise, seed: str) -> list:
    """What is drawn for several tests, once: a case keeps what the reference does on it, and how that rounds."""
    return draw_cases(exercise, seed)


def marks(exercise, functions, sandbox, hidden) -> dict[str, Mark]:
    answers = {function.__name__: answer_of(function) for function in functions}
    return {name: mark(exercise, answer, sandbox, hidden, 1) for name, answer in answers.items() if answer}


@every_exercise
def test_an_exercise_has_hidden_cases_that_follow_from_the_seed(exercise):
    assert len(drawn(exercise, "one")) >= 3
    assert described(exercise, "one") == described(exercise, "one")
    assert described(exercise, "one") != described(exercise, "two")


def described(exercise, seed: str) -> str:
    arguments = [case.arguments.values() for case in draw_cases(exercise, seed)]
    plain = [x for case in arguments for x in case if not callable(x)]
    functions = [x for case in arguments for x in case if callable(x)]
    models = [x([0]) for x in functions if x.__name__ == "scattered"]
    x = torch.linspace(-1, 2, 640).reshape(2, 20, 16)
    inputs = {
        "is_attention": (x, x.flip(0), x.sin(), torch.eye(20, dtype=torch.bool)),
        "is_relative": (x[0, :, :8], x[1, :, :8]),
        "is_top_p": (x[0], 0.7),
        "loaded_right": (torch.arange(60).reshape(2, 30) * 7 % 9 + 1, torch.arange(60).reshape(2, 30) % 2),
        "head_matters": (torch.arange(60).reshape(2, 30) * 7 % 10, []),
    }
    given = inputs.get(exercise.name, (x,))
    models += [function(*given) for function in functions if function.__name__.startswith("drawn")]
    torch.set_printoptions(precision=8)
    return repr((plain, models))


@needs_bwrap
@every_exercise
def test_right_answers_of_every_style_get_their_points(exercise, sandbox):
    given = marks(exercise, RIGHT_ANSWERS[exercise.name], sandbox, drawn(exercise, "one"))
    assert len(given) >= 1
    assert {name: one for name, one in given.items() if (one.verdict, one.points) != ("ok", 1)} == {}


@every_exercise
def test_no_other_seed_makes_a_right_answer_wrong(exercise):
    """The sandbox above has tried one seed; here no answer needs a process of its own."""
    cases = [case for seed in MORE_SEEDS for case in drawn(exercise, seed)]
    for answer in RIGHT_ANSWERS[exercise.name]:
        result = exercise.examine(Attempt(answer), cases)
        assert result.passed, (answer.__name__, result)


def test_whoever_changes_the_last_token_sees_the_leak_of_every_step_that_is_drawn():
    """When a step was the sign of one sum, one right test in a hundred did not happen to turn it."""
    for seed in range(100):
        generator = torch.Generator().manual_seed(seed)
        layers = [make(generator)["layer"] for make in catalogue["leaks"].case_generators]
        (step,) = (layer for layer in layers if layer.__name__ == "drawn_step")
        x = torch.randn(1, 4, 16, generator=generator)
        changed = x.clone()
        changed[:, -1] += 300 * torch.rand(16, generator=generator)
        assert not torch.equal(step(x)[:, :-1], step(changed)[:, :-1]), seed


def looks(arguments: dict[str, object]) -> tuple:
    """All of a case but its numbers: shapes, masks, lengths, tokens, which functions are given."""
    tensors = {name: x for name, x in arguments.items() if isinstance(x, torch.Tensor)}
    shapes = tuple(tuple(x.shape) for x in tensors.values())
    exact = [x.tolist() for x in tensors.values() if not x.is_floating_point()]
    others = [
        repr([tuple(part.shape) for part in x]) if is_stream(x) else getattr(x, "__name__", repr(x))
        for name, x in arguments.items()
        if name not in tensors
    ]
    return shapes, repr(exact), repr(others)


@pytest.mark.parametrize(
    "exercise",
    [one for one in catalogue.values() if not isinstance(one, WriteTheTest)],  # whose candidates all look alike
    ids=lambda exercise: exercise.name,
)
@pytest.mark.parametrize("seed", SEEDS)
def test_right_for_what_the_visible_cases_look_like_is_not_enough(exercise, seed):
    known = {looks(case.arguments) for case in exercise.cases}

    def answer(*given):
        given = [tuple(part.clone() for part in x) if isinstance(x, Iterator) else x for x in given]
        if looks(dict(zip(exercise.parameters, given, strict=True))) not in known:
            raise ValueError("never seen")
        return exercise.reference(*given)

    assert exercise.examine(Attempt(answer), exercise.cases).passed
    assert not exercise.examine(Attempt(answer), drawn(exercise, seed)).passed


class InThisProcess(Sandbox):
    """Takes a sandbox's place for functions of our own: a process for each of six hundred takes half a minute."""

    def __init__(self, functions):
        self.functions = {function.__name__: function for function in functions}

    @contextmanager
    def attempt(self, program: str, name: str):
        yield Attempt(self.functions[name])


@needs_bwrap
@every_exercise
def test_known_mistakes_get_no_points_and_their_names(exercise, sandbox):
    functions = [mistake.function for mistake in exercise.mistakes.values()]
    hidden = drawn(exercise, "one")
    given = marks(exercise, functions, InThisProcess(functions), hidden)
    assert len(given) >= 5
    for name, one in marks(exercise, functions[:2], sandbox, hidden).items():
        assert one == given[name]
    for name, one in given.items():
        most = 1 if isinstance(exercise, WriteTheTest) else 0  # a test has points for what it catches
        assert (one.verdict in ("wrong", "raised"), one.mistake) == (True, name), one
        assert one.points == 0 or one.points < most, one
        assert exercise.mistakes[name].explanation in one.message


PRIVATE = """
from transformer_lab import exercises
from transformer_lab.exercises.engine.case_drawing import number

@exercises.causal_mask.hidden_case
def beyond_fifty(generator):
    return {"length": number(generator, 50, 99)}
"""


def test_an_instructor_adds_generators_once(monkeypatch):
    monkeypatch.setattr(catalogue["causal_mask"], "case_generators", [*catalogue["causal_mask"].case_generators])
    before = len(draw_cases(catalogue["causal_mask"], "one"))
    for _ in range(2):
        add_private(PRIVATE)
        cases = draw_cases(catalogue["causal_mask"], "one")
        assert len(cases) == before + 3
        assert 50 <= cases[-1].arguments["length"] <= 99


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", r"the private file must run \(ZeroDivisionError: division by zero\)"),
        ("def", r"the private file must run \(SyntaxError"),
        (
            PRIVATE.replace("causal_mask", "casual_mask"),
            r"must run \(AttributeError: there is no exercise 'casual_mask'",
        ),
    ],
)
def test_a_private_file_that_does_not_run_is_refused(source, message):
    with pytest.raises(ValueError, match=message):
        add_private(source)


@pytest.mark.parametrize(
    ("draw", "error"),
    [("1 / 0", "ZeroDivisionError: division by zero"), ("{'length': 'many'}", "Type"), ("{}", "TypeError")],
)
def test_a_maker_that_the_reference_does_not_take_is_refused(monkeypatch, draw, error):
    monkeypatch.setattr(catalogue["causal_mask"], "case_generators", [lambda generator: eval(draw)])
    with pytest.raises(
        ValueError, match=rf"the reference of causal_mask must take what its case generators draw \({error}"
    ):
        try_out(["softmax", "causal_mask"], "one")
