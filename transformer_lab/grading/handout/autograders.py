"""Autograders for where courses run: the zip file that Gradescope takes, and a workflow for GitHub's Classroom.

Both call `transformer-lab grade-one`. Students may get at what lies there, so the hidden cases come from a seed of
their own, and not from that of assignment.json.
"""

import secrets
import zipfile
from dataclasses import replace
from pathlib import Path

from transformer_lab.grading.handout.assignment import Assignment

PACKAGE = Path(__file__).resolve().parents[2]
OF_THE_REPOSITORY = ("pyproject.toml", "README.md", "LICENSE")  # what pip needs beside the package
SETUP = """#!/usr/bin/env bash
set -euo pipefail
apt-get update
apt-get install -y python3 python3-venv bubblewrap libseccomp2
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "The autograder needs Python 3.11: choose Ubuntu 24.04 or newer for it." >&2
  exit 1
fi
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install /autograder/source/package
"""
RUN = """#!/usr/bin/env bash
place=${{AUTOGRADER:-/autograder}}
"$place/venv/bin/transformer-lab" grade-one "$place/submission" --assignment "$place/source/assignment.json" \\
  --gradescope "$place/results/results.json"{trust} > /dev/null
[ $? -le 1 ]  # 1: not all points; 2: it could not be graded, and no results are written
"""
WORKFLOW = """name: Grade
on: [push, workflow_dispatch]
permissions:
  contents: read
jobs:
  grade:
    runs-on: ubuntu-24.04
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: |
          sudo apt-get update
          sudo apt-get install -y bubblewrap libseccomp2
          sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0
      - run: pip install "{install}"
      - id: grade
        run: |
          own=.github/grade/assignment.json
          transformer-lab grade-one . --assignment "$own" --github "$GITHUB_OUTPUT" || [ $? -eq 1 ]
      - uses: classroom-resources/autograding-grading-reporter@v1
        env:
          GRADE_RESULTS: "${{{{ steps.grade.outputs.result }}}}"
        with:
          runners: grade
"""


def with_a_seed_of_its_own(assignment: Assignment) -> Assignment:
    return replace(assignment, seed=secrets.token_hex(16))


def refuse_impossible(gradescope: Path | None, github: Path | None, install: str) -> None:
    """See that what is asked for can be written, before anything is.

    Raises:
        ValueError: this is not installed from the repository, or nobody knows whence a workflow could install it.
    """
    if gradescope and not all((PACKAGE.parent / name).is_file() for name in OF_THE_REPOSITORY):
        raise ValueError(f"--gradescope needs the repository that the package belongs to ({PACKAGE.parent} is none)")
    if github and not install:
        raise ValueError("--github needs --install, what pip is to install in the workflow (there is no address)")


def write_gradescope(assignment: Assignment, folder: Path, trust: bool = False) -> Path:
    """Write autograder.zip, with the package in it, for Gradescope; with `trust` it runs answers without a sandbox."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "autograder.zip"
    path.touch(mode=0o600)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (("setup.sh", SETUP), ("run_autograder", RUN.format(trust=" --trust" if trust else ""))):
            member = zipfile.ZipInfo(name)
            member.external_attr = 0o755 << 16
            archive.writestr(member, text)
        archive.writestr("assignment.json", with_a_seed_of_its_own(assignment).as_text())
        for name in OF_THE_REPOSITORY:
            archive.write(PACKAGE.parent / name, f"package/{name}")
        for file in sorted(PACKAGE.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, f"package/{file.relative_to(PACKAGE.parent).as_posix()}")
    return path


def write_github(assignment: Assignment, folder: Path, install: str) -> Path:
    """Write the workflow, and an assignment to grade with, into the folder of a repository."""
    workflow, own = folder / ".github" / "workflows" / "grade.yml", folder / ".github" / "grade" / "assignment.json"
    for path in (workflow, own):
        path.parent.mkdir(parents=True, exist_ok=True)
    workflow.write_text(WORKFLOW.format(install=install), encoding="utf-8")
    own.write_text(with_a_seed_of_its_own(assignment).as_text(), encoding="utf-8")
    return workflow
