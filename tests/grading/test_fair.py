"""An honest answer loses no point, however it is written and handed in, and what follows from another is said to."""

import json
from dataclasses import replace

import pytest

from tests.grading.honest_styles import CODE, NOTEBOOKS, hand_in, losses
from tests.grading.hostile_notebooks import notebook
from tests.grading.support import needs_bwrap
from transformer_lab.exercises import catalogue
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.marking import course, scoring
from transformer_lab.grading.marking.course import grade_one
from transformer_lab.grading.submissions.submissions import find_submissions

pytestmark = needs_bwrap


@pytest.fixture
def one_sandbox(sandbox, monkeypatch):
    """The one of this worker, and each program is judged once: the judgement of a program is always the same."""
    judged, judge = {}, scoring.judge

    def remembered(exercise, answer, box, hidden, partial):
        key = exercise.name, answer.program, partial, answer.notes if answer.program is None else ()
        if key not in judged:
            judged[key] = judge(exercise, answer, box, hidden, partial)
        return judged[key]

    monkeypatch.setattr(course, "SANDBOX", [sandbox])
    monkeypatch.setattr(scoring, "judge", remembered)
    return sandbox


def test_honest_notebooks_of_sixty_styles_lose_no_point(tmp_path, one_sandbox):
    assert len(CODE) + len(NOTEBOOKS) >= 60
    plain = next(iter(CODE))
    students = {f"c{i}": (style, "as handed out") for i, style in enumerate(CODE)}
    students |= {f"n{i}": (plain, style) for i, style in enumerate(NOTEBOOKS)}
    assignment, place = hand_in(tmp_path, students, quick=True)
    assignment = replace(assignment, seconds=one_sandbox.seconds)
    submissions = find_submissions(place, "hw1", tmp_path / "unpacked")
    assert {one.student for one in submissions} == set(students)
    graded = [grade_one(submission, assignment) for submission in submissions]
    lost = {" / ".join(students[one.student]): losses(one) for one in graded if losses(one)}
    assert not lost, "\n".join(f"{style}: {why}" for style, why in lost.items())


CAUSAL = "import torch\ndef causal_mask(length):\n    return torch.ones(length, length).{}().bool()"
PADDING = "def padding_mask(tokens, pad_id):\n    return (tokens != pad_id)[:, None, None, :]"
DECODER = "def decoder_mask(tokens, pad_id):\n    return causal_mask(tokens.size(1)) & padding_mask(tokens, pad_id)"
MASKS = Assignment("hw1", {"causal_mask": 1, "padding_mask": 1, "decoder_mask": 2}, seed="fixed")


def graded(tmp_path, assignment, *sources):
    (tmp_path / "ann.ipynb").write_text(notebook(*sources))
    (submission,) = find_submissions(tmp_path, "hw1")
    return {mark.exercise: mark for mark in grade_one(submission, assignment).marks}


@pytest.mark.parametrize("excuse", [False, True])
def test_a_failure_that_follows_from_another_is_said_so_and_may_be_excused(tmp_path, one_sandbox, excuse):
    assignment = replace(MASKS, seconds=one_sandbox.seconds, excuse=excuse)
    marks = graded(tmp_path, assignment, CAUSAL.format("triu"), PADDING, DECODER)
    assert marks["causal_mask"].mistake == "upper_triangle"
    follower = marks["decoder_mask"]
    assert (follower.verdict, follower.follows, follower.mistake) == ("wrong", "causal_mask", None)
    assert follower.points == (2 if excuse else 0)
    assert follower.message.startswith("It is right but for your `causal_mask`, which it calls.")


BROKEN = {
    "raises": "def causal_mask(length):\n    raise KeyError(length)",
    "raises as it is defined": "def causal_mask(length, one=1 / 0):\n    return one",
    "uses what is not there": "import torch\ndef causal_mask(length):\n    return lower(length)",
    "can't be parsed": "def causal_mask(length):\n    return (",
    "is left out": "x = 1",
    "is no function": "causal_mask = 3",
}


@pytest.mark.parametrize("excuse", [False, True])
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_what_calls_an_answer_that_does_not_run_follows_from_it(tmp_path, one_sandbox, broken, excuse):
    assignment = replace(MASKS, seconds=one_sandbox.seconds, excuse=excuse)
    marks = graded(tmp_path, assignment, "import torch", broken, PADDING, DECODER)
    assert (marks["causal_mask"].points, marks["padding_mask"].points) == (0, 1)
    follower = marks["decoder_mask"]
    assert (follower.verdict, follower.follows) == ("raised", "causal_mask")
    assert follower.points == (2 if excuse else 0)
    assert follower.message.startswith("It is right but for your `causal_mask`, which it calls.")


def test_what_names_no_answer_of_its_own_notebook_is_excused_by_none(tmp_path, one_sandbox):
    """A misspelt call, a name of one's own, and a function of the same name that is found."""
    assignment = replace(MASKS, seconds=one_sandbox.seconds, excuse=True)
    misspelt = DECODER.replace("causal_mask", "casual_mask")
    for sources in ([CAUSAL.format("tril"), PADDING, misspelt], [PADDING, DECODER.replace("&", "|")]):
        mark = graded(tmp_path, assignment, "import torch", *sources)["decoder_mask"]
        assert (mark.follows, mark.points) == ("", 0)


def test_a_helper_s_name_may_be_used_again_in_a_later_cell(tmp_path, one_sandbox):
    helper = "import torch\ndef helped(length):\n    return torch.ones(length, length).tril().bool()"
    other = "def helped(tokens, pad_id):\n    return (tokens != pad_id)[:, None, None, :]"
    assignment = replace(MASKS, points={"causal_mask": 1, "padding_mask": 1}, seconds=one_sandbox.seconds)
    causal = f"{helper}\n\ndef causal_mask(length):\n    return helped(length)"
    padding = f"{other}\n\ndef padding_mask(tokens, pad_id):\n    return helped(tokens, pad_id)"
    assert [mark.points for mark in graded(tmp_path, assignment, causal, padding).values()] == [1, 1]


@pytest.mark.parametrize(("spends", "points"), [("sleep(1.5)", 1), ("compute(5)", 0)])
def test_an_answer_may_wait_ten_times_as_long_as_it_may_compute(tmp_path, one_sandbox, monkeypatch, spends, points):
    """As on a busy machine it has to."""
    compute = "from time import process_time, sleep\ndef compute(seconds):\n    while process_time() < seconds: pass"
    slow = f"{compute}\nSPENT = {spends}\n{CAUSAL.format('tril')} | bool(SPENT)"
    monkeypatch.setattr(one_sandbox, "seconds", 1)
    assignment = replace(MASKS, points={"causal_mask": 1}, seconds=1)
    made = graded(tmp_path, assignment, slow)["causal_mask"]
    assert (made.verdict, made.points) == ("ok" if points else "timeout", points)


def test_what_fails_by_itself_follows_from_nothing(tmp_path, one_sandbox):
    assignment = replace(MASKS, seconds=one_sandbox.seconds, excuse=True)
    marks = graded(tmp_path, assignment, CAUSAL.format("triu"), PADDING, DECODER.replace("&", "|"))
    assert (marks["decoder_mask"].follows, marks["decoder_mask"].points) == ("", 0)


def test_an_answer_cannot_be_excused_by_one_that_is_asked_for_after_it(tmp_path, one_sandbox):
    """Nobody gets points for calling what they were to write."""
    assignment = replace(MASKS, seconds=one_sandbox.seconds, excuse=True)
    sly = "def causal_mask(length):\n    import torch\n    return decoder_mask(torch.ones(1, length), 0)[0, 0]"
    marks = graded(tmp_path, assignment, sly, PADDING, "def decoder_mask(tokens, pad_id):\n    return 0")
    assert {name: mark.points for name, mark in marks.items()} == {
        "causal_mask": 0,
        "padding_mask": 1,
        "decoder_mask": 0,
    }


def test_an_error_names_the_line_that_the_student_counts(tmp_path, one_sandbox):
    assignment = replace(MASKS, points={"causal_mask": 1}, seconds=one_sandbox.seconds)
    helper = "# mine\n\ndef helped(length):\n    return 1 / 0"
    marks = graded(tmp_path, assignment, helper, "def causal_mask(length):\n    return helped(length)")
    assert "It raises an error, in line 4 of code cell 1: `return 1 / 0`." in marks["causal_mask"].message


def test_a_cell_that_cannot_be_parsed_is_the_message(tmp_path, one_sandbox):
    cell = {
        "cell_type": "code",
        "source": "def causal_mask(length):\n    return (",
        "metadata": {"exercise": "causal_mask"},
    }
    (tmp_path / "ann.ipynb").write_text(json.dumps({"cells": [cell]}))
    (submission,) = find_submissions(tmp_path, "hw1")
    (mark,) = grade_one(submission, replace(MASKS, points={"causal_mask": 1}, seconds=one_sandbox.seconds)).marks
    assert mark.message == "The cell of `causal_mask` can't be parsed: '(' was never closed (line 2)."


HALF = "import torch\ndef causal_mask(length):\n    return torch.ones(length, length).tril().bool() & (length < 4)"


@pytest.mark.parametrize(
    ("source", "least", "most"),
    [
        (HALF, 0.1, 0.7),
        (CAUSAL.format("triu"), 0.1, 0.4),  # each token may attend to itself
        ("def causal_mask(length):\n    return length", 0, 0),
        (CAUSAL.format("tril"), 1, 1),
        ("def causal_mask(length):\n    while True: pass", 0, 0),
    ],
    ids=["right for short ones", "a mistake", "nothing", "right", "without end"],
)
def test_part_of_an_answer_gets_part_of_the_points_if_the_instructor_wants_so(
    tmp_path, one_sandbox, monkeypatch, source, least, most
):
    monkeypatch.setattr(one_sandbox, "seconds", 1)
    assignment = replace(MASKS, points={"causal_mask": 1}, seconds=1)
    assert graded(tmp_path, assignment, source)["causal_mask"].points == (1 if least == 1 else 0)
    mark = graded(tmp_path, replace(assignment, partial=True), source)["causal_mask"]
    assert least <= mark.points <= most
    said = f"{100 * mark.points:.0f} % of what is asked is right" if 0 < mark.points < 1 else ""
    assert said in mark.counted
    assert bool(said) == bool(mark.counted)


def test_every_exercise_that_is_given_partly_gives_nothing_for_nothing():
    from transformer_lab.exercises.engine.running import Attempt
    from transformer_lab.grading.marking.partial_credit import share_right

    for name in ("softmax", "causal_mask", "layer_norm", "count_parameters"):
        exercise = catalogue[name]
        assert share_right(exercise, Attempt(lambda *_: 0), exercise.cases, ()) == 0
        assert share_right(exercise, Attempt(exercise.reference), exercise.cases, exercise.cases) == 1
