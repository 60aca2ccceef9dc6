"""One submission is graded as Gradescope and GitHub ask for it: zip file, workflow, and forms of the results."""

import base64
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.grading.hostile_notebooks import notebook
from tests.grading.support import needs_bwrap
from transformer_lab import cli
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.marking import course

RIGHT = "def causal_mask(length):\n    import torch\n    return torch.ones(length, length).tril().bool()"
WRONG = "def padding_mask(tokens, pad_id):\n    return tokens == pad_id"
PADDING = "def padding_mask(tokens, pad_id):\n    return (tokens != pad_id)[:, None, None, :]"

# What https://gradescope-autograders.readthedocs.io/en/latest/specs/ lets results.json say, and of each test
VISIBILITY = {"hidden", "after_due_date", "after_published", "visible"}
FORMAT = {"text", "html", "simple_format", "md", "ansi"}
OF_ALL = {
    "score": float,
    "execution_time": float,
    "output": str,
    "extra_data": dict,
    "tests": list,
    "leaderboard": list,
}
OF_ALL |= {"visibility": VISIBILITY, "stdout_visibility": VISIBILITY}
OF_ALL |= {"output_format": FORMAT, "test_output_format": FORMAT, "test_name_format": FORMAT}
OF_A_TEST = {"score": float, "max_score": float, "status": {"passed", "failed"}, "name": str, "name_format": FORMAT}
OF_A_TEST |= {"number": str, "output": str, "output_format": FORMAT, "tags": list, "visibility": VISIBILITY}
OF_A_TEST |= {"extra_data": dict}


def assert_has_the_published_form(told: dict, form: dict) -> None:
    for name, value in told.items():
        allowed = form[name]
        is_fine = value in allowed if isinstance(allowed, set) else isinstance(value, (int, allowed))
        assert is_fine, (name, value)


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory) -> Path:
    """A folder with an assignment of two exercises, Gradescope's zip file, and GitHub's workflow."""
    folder = tmp_path_factory.mktemp("course")
    words = ["--exercise", "causal_mask=2", "padding_mask", "--install", "lab @ git+https://host.org/lab"]
    words += ["--gradescope", f"{folder}/gradescope", "--github", f"{folder}/github", "--out", f"{folder}/hw1"]
    assert cli.main(["assign", *words]) == 0
    return folder


@needs_bwrap
def test_gradescope_s_own_steps_end_in_results_that_it_reads(handed_out, tmp_path):
    with zipfile.ZipFile(handed_out / "gradescope" / "autograder.zip") as archive:
        archive.extractall(tmp_path / "source")
        modes = {one.filename: one.external_attr >> 16 & 0o777 for one in archive.infolist()}
    assert (modes["setup.sh"], modes["run_autograder"]) == (0o755, 0o755)
    assert (tmp_path / "source" / "package" / "transformer_lab" / "cli.py").is_file()
    subprocess.run(["bash", "-n", tmp_path / "source" / "setup.sh"], check=True)
    for name in ("submission", "results", "venv/bin"):
        (tmp_path / name).mkdir(parents=True)
    command = tmp_path / "venv" / "bin" / "transformer-lab"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m transformer_lab.cli "$@"\n')
    command.chmod(0o755)
    (tmp_path / "submission" / "05.ipynb").write_text(notebook(RIGHT, WRONG))
    environment = os.environ | {"AUTOGRADER": str(tmp_path), "PYTHONPATH": str(tmp_path / "source" / "package")}
    subprocess.run(["bash", tmp_path / "source" / "run_autograder"], env=environment, check=True)
    told = json.loads((tmp_path / "results" / "results.json").read_text())
    assert [(one["name"], one["score"], one["max_score"], one["status"]) for one in told["tests"]] == [
        ("causal_mask", 2, 2, "passed"),
        ("padding_mask", 0, 1, "failed"),
    ]
    assert "Simplest case that fails" in told["tests"][1]["output"]
    assert_has_the_published_form(told, OF_ALL)
    for one in told["tests"]:
        assert_has_the_published_form(one, OF_A_TEST)
    assert {one["visibility"] for one in told["tests"]} == {told["visibility"]} == {"visible"}
    (tmp_path / "source" / "assignment.json").write_text("{}")
    assert subprocess.run(["bash", tmp_path / "source" / "run_autograder"], env=environment).returncode != 0


@needs_bwrap
@pytest.mark.parametrize(("second", "points", "code"), [(WRONG, 2, 1), (None, 3, 0)])
def test_the_result_for_github_adds_to_the_points(handed_out, tmp_path, monkeypatch, capsys, second, points, code):
    monkeypatch.setattr(course, "SANDBOX", [])
    (tmp_path / "ann.ipynb").write_text(notebook(RIGHT, second or PADDING))
    own = handed_out / "github" / ".github" / "grade" / "assignment.json"
    words = [str(tmp_path), "--assignment", str(own), "--github", str(tmp_path / "outputs")]
    assert cli.main(["grade-one", *words]) == code
    assert json.loads(capsys.readouterr().out)["points"] == points
    name, _, text = (tmp_path / "outputs").read_text().strip().partition("=")
    result = json.loads(base64.b64decode(text))
    assert (name, result["max_score"], result["status"]) == ("result", 3, "pass" if points == 3 else "fail")
    assert sum(one["score"] for one in result["tests"]) == points


def test_the_workflow_hands_the_result_to_the_reporter(handed_out):
    text = (handed_out / "github" / ".github" / "workflows" / "grade.yml").read_text()
    steps = yaml.safe_load(text)["jobs"]["grade"]["steps"]
    (reporter,) = [step for step in steps if "autograding-grading-reporter" in step.get("uses", "")]
    assert reporter["with"]["runners"] == "grade"
    assert reporter["env"] == {"GRADE_RESULTS": "${{ steps.grade.outputs.result }}"}
    assert any(step.get("run") == 'pip install "lab @ git+https://host.org/lab"' for step in steps)


STAND_INS = {  # what a test does not do to this machine: each writes down what it was asked for
    "sudo": 'echo "sudo $*" >> "$ASKED"',
    "pip": 'echo "pip $*" >> "$ASKED"',
    "transformer-lab": f'exec "{sys.executable}" -m transformer_lab.cli "$@"',
}


@needs_bwrap
@pytest.mark.parametrize(("second", "points", "status"), [(WRONG, 2, "fail"), (PADDING, 3, "pass"), (None, 0, "fail")])
def test_the_workflow_s_own_lines_grade_what_was_pushed(handed_out, tmp_path, second, points, status):
    """In their order, as GitHub runs them, by `bash -e` in the checkout; without `second` nothing that can be read."""
    checkout, programs = tmp_path / "checkout", tmp_path / "bin"
    shutil.copytree(handed_out / "github", checkout)
    text = notebook(RIGHT, second) if second else "{broken"
    (checkout / "05_masking.ipynb").write_text(text)
    programs.mkdir()
    for name, line in STAND_INS.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    outputs, asked = tmp_path / "outputs", tmp_path / "asked"
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(outputs)}
    environment |= {"ASKED": str(asked), "PYTHONPATH": str(Path(course.__file__).parents[3])}
    job = yaml.safe_load((checkout / ".github" / "workflows" / "grade.yml").read_text())["jobs"]["grade"]
    for step in job["steps"]:
        if "run" in step:
            subprocess.run(["bash", "-e", "-c", step["run"]], cwd=checkout, env=environment, check=True)
    assert asked.read_text().splitlines() == [
        "sudo apt-get update",
        "sudo apt-get install -y bubblewrap libseccomp2",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        "pip install lab @ git+https://host.org/lab",
    ]
    (line,) = outputs.read_text().splitlines()
    told = json.loads(base64.b64decode(line.removeprefix("result=")))
    assert (told["status"], sum(one["score"] for one in told["tests"]), told["max_score"]) == (status, points, 3)
    (checkout / ".github" / "grade" / "assignment.json").write_text("{}")  # what can't be graded fails the step
    last = [step["run"] for step in job["steps"] if "run" in step][-1]
    assert subprocess.run(["bash", "-e", "-c", last], cwd=checkout, env=environment).returncode != 0


def test_no_seed_of_the_class_lies_where_students_may_get_at_it(handed_out):
    own = Assignment.load(handed_out / "hw1" / "assignment.json")
    with zipfile.ZipFile(handed_out / "gradescope" / "autograder.zip") as archive:
        other = json.loads(archive.read("assignment.json"))
    third = Assignment.load(handed_out / "github" / ".github" / "grade" / "assignment.json")
    assert len({own.seed, other["seed"], third.seed}) == 3
    assert own.points == other["points"] == third.points


def test_what_cannot_be_graded_is_told_from_a_wrong_answer(handed_out, tmp_path, capsys):
    words = [str(tmp_path / "none.ipynb"), "--assignment", str(handed_out / "hw1" / "assignment.json"), "--trust"]
    assert cli.main(["grade-one", *words]) == 2
    assert "a submission must be files or folders that are there" in capsys.readouterr().err


def test_a_workflow_that_could_install_nothing_is_refused_before_anything_is_written(tmp_path, capsys):
    words = ["--exercise", "causal_mask", "--install", "", "--github", f"{tmp_path}/github", "--out", f"{tmp_path}/hw1"]
    assert cli.main(["assign", *words]) == 2
    assert "--github needs --install" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []
