"""One exercise of each kind, handed out, answered and graded, with part of the points for part of a test."""

import csv
import re
import runpy
from pathlib import Path

import nbformat
import pytest

from tests.grading import term
from tests.grading.support import needs_bwrap, renamed
from transformer_lab import cli
from transformer_lab.exercises import catalogue
from transformer_lab.grading.handout.assign import WORK, assign

KINDS = {
    "embed": "implement",
    "mend_training_step": "find the bug",
    "leaks": "write the test",
    "count_parameters": "predict",
    "look_back_one": "set the weights",
}
IMPORTS = "import torch\nimport torch.nn.functional as F\n\nfrom transformer_lab import exercises"


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    assign(folder / "hw", dict.fromkeys(KINDS, 2), seconds=20)
    return folder


def test_they_are_one_of_each_kind():
    assert {name: catalogue[name].kind for name in KINDS} == KINDS
    assert {exercise.kind for exercise in catalogue.values()} == set(KINDS.values())


def answer_cells(course: Path, kind: str) -> dict[str, str]:
    cells = [c for path in (course / "hw" / kind / "hw").glob("*.ipynb") for c in nbformat.read(path, 4).cells]
    return {cell.metadata.exercise: cell.source for cell in cells if "exercise" in cell.metadata}


def test_the_broken_function_is_handed_out_and_nbgrader_s_source_has_it_mended(course):
    released, source = (answer_cells(course, kind)["mend_training_step"] for kind in ("release", "source"))
    assert released == f"{catalogue['mend_training_step'].handed_out().rstrip()}\n\n\n{WORK}"
    for number, (text, passed, attempted) in enumerate(((released, False, False), (source, True, True))):
        (course / f"cell_{number}.py").write_text(f"{IMPORTS}\n\n\n{text}")
        scope = runpy.run_path(str(course / f"cell_{number}.py"))
        verdict = catalogue["mend_training_step"].check(scope["mend_training_step"])
        assert (verdict.passed, verdict.attempted) == (passed, attempted), verdict


MISTAKES = {
    "embed": "not_scaled",
    "mend_training_step": "all_but_the_padding",
    "count_parameters": "three_tables",
    "look_back_one": "looks_at_itself",
    "leaks": "first_sentence_only",
}


def hand_in(course: Path, student: str, answers: dict[str, str]) -> None:
    folder = course / "submitted" / student / "hw"
    folder.mkdir(parents=True)
    for path in (course / "hw" / "release" / "hw").glob("*.ipynb"):
        nbformat.write(term.solved(path, answers), folder / path.name)


@needs_bwrap
def test_each_kind_gets_its_points(course):
    right = {name: catalogue[name].solution_source() for name in KINDS}
    wrong = {name: renamed(catalogue[name].mistakes[one].function, name) for name, one in MISTAKES.items()}
    hand_in(course, "ann", right)
    hand_in(course, "ben", wrong)
    hand_in(course, "cem", {})
    paths = ["--assignment", str(course / "hw" / "assignment.json"), "--out", str(course / "grades")]
    assert cli.main(["grade", str(course / "submitted"), *paths, "--jobs", "1"]) == 0
    with (course / "grades" / "grades.csv").open() as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert [float(rows["ann"][name]) for name in KINDS] == [2] * 5
    given = {name: float(rows["ben"][name]) for name in KINDS}
    assert 1 < (given_for_leaks := given.pop("leaks")) < 2
    assert set(given.values()) == {0}
    assert float(rows["cem"]["points"]) == 0
    assert "exercises are left as they were handed out: " in rows["cem"]["notes"]
    assert "mend_training_step" in rows["cem"]["notes"]
    feedback = (course / "grades" / "feedback" / "ben.html").read_text()
    assert "It misses a wrong layer: " in feedback
    assert "layer = " not in feedback
    said = re.search(r"lower of two scores: (\d+) % on the candidates of the check, (\d+) % on others", feedback)
    assert given_for_leaks == pytest.approx(2 * min(map(int, said.groups())) / 100, abs=0.011)
    assert int(said[1]) != int(said[2]), "or the test can't tell"
    for name in wrong:
        assert f"({MISTAKES[name]})".replace("_", " ") in feedback.replace("_", " ")
