"""Numbers of one's own: everybody gets others, mistakes show on them, and only one's own count."""

import json
from pathlib import Path

import nbformat
import pytest

from tests.grading.support import needs_bwrap
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.exercise import NotPassed
from transformer_lab.exercises.kinds import Predict
from transformer_lab.grading.gradebook.final_grades import gradebook
from transformer_lab.grading.handout import variants
from transformer_lab.grading.handout.assign import Policy, assign
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.roster import Person, Roster
from transformer_lab.grading.marking import course
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.marking.variant_marking import is_right, right
from transformer_lab.grading.marking.variant_owner import owner_of_numbers
from transformer_lab.grading.submissions.submissions import find_submissions

UNFIT = ("new_weights", "bytes_per_token")  # the one is about tensors, the other asks for one kind of many
FIT = [name for name, one in catalogue.items() if isinstance(one, Predict) and name not in UNFIT]
KEY = "a1b2c3d4"
STUDENTS = [f"student {i}" for i in range(20)]


@pytest.mark.parametrize("name", FIT)
def test_everybody_gets_other_numbers_and_always_the_same(name):
    drawn = {repr(dict(variants.own_case(name, student, KEY).arguments)) for student in STUDENTS}
    assert len(drawn) >= 18
    again = variants.own_case(name, " STUDENT-7 ", KEY)  # as somebody else may write it
    assert again.arguments == variants.own_case(name, "student 7", KEY).arguments
    assert again.arguments != variants.own_case(name, "student 7", "another").arguments


@pytest.mark.parametrize("name", FIT)
def test_few_mistakes_come_to_what_is_right_on_somebody_s_numbers(name):
    cases = [variants.own_case(name, student, KEY) for student in STUDENTS[:5]]
    made = [(case, mistake) for case in cases for mistake in catalogue[name].mistakes.values()]
    hidden = [one for case, one in made if not variants.is_apart(catalogue[name], one.function, case)]
    assert len(hidden) <= 0.3 * len(made)


def test_numbers_can_be_drawn_for_predictions_of_plain_values_alone():
    assert [name for name in catalogue if variants.is_fit(name)] == FIT
    with pytest.raises(ValueError, match=r"can be drawn for place_in_heads, .* \(got softmax\)"):
        variants.refuse_unfit(["kv_cache_bytes", "softmax"])


def test_a_number_may_be_rounded_and_not_by_much():
    exact = right("tokens_per_pass", "ann", KEY)
    assert is_right("tokens_per_pass", "ann", KEY, float(f"{exact:.4g}"))
    assert not is_right("tokens_per_pass", "ann", KEY, exact * 1.01)
    assert not is_right("kv_cache_bytes", "ann", KEY, right("kv_cache_bytes", "ann", KEY) + 1)
    assert is_right("kv_cache_bytes", "ann", KEY, catalogue["kv_cache_bytes"].reference)


def test_a_notebook_shows_the_numbers_to_whoever_says_who_they_are():
    assert "Write your id into `STUDENT`" in str(variants.show("kv_cache_bytes", "", KEY))
    shown = str(variants.show("kv_cache_bytes", 12345, KEY))
    for name, value in variants.own_case("kv_cache_bytes", "12345", KEY).arguments.items():
        assert f"{name} = {value}" in shown
    runs = str(variants.show("which_control", "ann", KEY))
    index = right("which_control", "ann", KEY)
    assert f"{index:>4}  {variants.own_case('which_control', 'ann', KEY).arguments['experiments'][index]}" in runs


def test_what_is_answered_is_taken_and_not_judged(monkeypatch):
    assert "not answered yet" in str(variants.taken("kv_cache_bytes", ...))
    assert "you answer `5`" in str(variants.taken("kv_cache_bytes", 5))
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    with pytest.raises(NotPassed):
        variants.taken("kv_cache_bytes", ...)


# ── whose numbers ──

ROSTER = Roster((Person("1", "Ann Doe", "ann@example.org"), Person("2", "Ben Doe"), Person("3", "Cem Doe")))


@pytest.mark.parametrize(
    ("ids", "counts_nothing", "noted"),
    [
        ({"1": "1", "2": "2"}, set(), set()),
        ({"Ann Doe_77": "ann@example.org", "2": "Ben Doe"}, set(), set()),
        ({"1": "1", "2": "ann"}, {"2"}, {"2"}),  # another's, whichever way it is written
        ({"2": "1"}, {"2"}, {"2"}),  # who handed in nothing
        ({"1": "100", "2": "200"}, set(), {"1", "2"}),  # misspelt
        ({"1": "x", "2": "X", "3": "3"}, set(), {"1", "2"}),  # made up together
        ({"work": "3"}, set(), {"work"}),  # a file without a name
        ({"work": "3", "3": "3"}, {"work"}, {"work"}),
        ({"1": ""}, set(), set()),
    ],
)
def test_another_s_numbers_count_nothing_and_nobody_s_are_noted(ids, counts_nothing, noted):
    found = owner_of_numbers(ids, ROSTER)
    assert {student for student, one in found.items() if one.counts_nothing} == counts_nothing
    assert set(found) == noted


def test_without_a_roster_another_s_submission_tells():
    assert set(owner_of_numbers({"ann": "ben", "ben": "ben", "cem": "c17"}, Roster())) == {"ann"}


def test_borrowed_numbers_lose_their_points_and_no_others(tmp_path):
    hw = Assignment("hw1", {"softmax": 2, "kv_cache_bytes": 3}, variants=("kv_cache_bytes",), key=KEY)
    marks = (Mark("softmax", "ok", 2, 2), Mark("kv_cache_bytes", "ok", 3, 3))
    graded = [Graded(name, marks, (), own_id="1") for name in ("1", "2")]
    ann, ben, _ = gradebook(graded, hw, ROSTER, tmp_path).finals
    assert (ann.total, ann.notes) == (5, ())
    assert ben.total == 2
    assert ben.notes == ("worked with the numbers of `1`, who is somebody else: they count nothing",)


# ── a whole way ──


@pytest.fixture(scope="module")
def homework(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("variants") / "hw1"
    names = ("kv_cache_bytes", "tokens_per_pass", "which_control")
    assign(folder, dict.fromkeys(names, 1), policy=Policy(variants=names))
    return folder


def work(homework: Path, folder: Path, id_: str, answers: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    for path in (homework / "release" / "hw1").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.id.startswith("student-"):
                cell.source = f"STUDENT = {id_!r}"
            if cell.metadata.get("exercise") in answers:
                cell.source = answers[cell.metadata.exercise]
        (folder / path.name).write_text(json.dumps(notebook))


@needs_bwrap
def test_a_number_an_expression_and_a_function_are_graded_by_one_s_own_numbers(
    homework, tmp_path, sandbox, monkeypatch
):
    monkeypatch.setattr(course, "sandbox", lambda seconds, trust: sandbox)
    hw = Assignment.load(homework / "assignment.json")
    own = {n: variants.own_case(n, "ann", hw.key).arguments for n in hw.points}
    product = " * ".join(str(x) for x in own["kv_cache_bytes"].values())
    acceptance, draft = own["tokens_per_pass"].values()
    given = {
        "kv_cache_bytes": f"kv_cache_bytes = ...\n# your work\nkv_cache_bytes = 2 * {product}",
        "tokens_per_pass": f"def tokens_per_pass(a, n):\n    return sum(a**i for i in range(n + 1))\ntokens_per_pass = "
        f"round(tokens_per_pass({acceptance}, {draft}), 3)",
        "which_control": f"which_control = {right('which_control', 'ann', hw.key)}",
    }
    work(homework, tmp_path / "in" / "ann", "ann", given)
    work(homework, tmp_path / "in" / "ben", "ben", given)  # the same answers to other numbers
    half = given | {"kv_cache_bytes": f"kv_cache_bytes = {product}", "which_control": "which_control = 1 // 0"}
    work(homework, tmp_path / "in" / "cem", "ann", half)
    work(homework, tmp_path / "in" / "dai", "", given)
    work(homework, tmp_path / "in" / "eva", "eva", {})
    graded = {one.student: course.grade_one(one, hw) for one in find_submissions(tmp_path / "in", "hw1")}
    assert {m.exercise: (m.verdict, m.points) for m in graded["ann"].marks} == dict.fromkeys(given, ("ok", 1))
    assert graded["ben"].points <= 1, "a choice of a dozen may be right by chance"
    marks = {mark.exercise: mark for mark in graded["cem"].marks}
    assert (marks["kv_cache_bytes"].mistake, marks["which_control"].verdict) == ("one_of_the_two", "raised")
    assert "line 1 of its cell" in marks["which_control"].message
    assert {mark.verdict for mark in (*graded["dai"].marks, *graded["eva"].marks)} == {"missing"}
    assert "does not say whose numbers" in graded["dai"].marks[0].message
    assert [one.own_id for one in graded.values()] == ["ann", "ben", "ann", "", "eva"]


def test_what_is_handed_out_holds_no_answer_and_runs(homework):
    for path in (homework / "release" / "hw1").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        assert not any("own_numbers" in source for source in code)
        namespace: dict = {"display": print}  # a notebook has it
        for source in code:
            exec(source, namespace)
        assert namespace["STUDENT"] == ""
