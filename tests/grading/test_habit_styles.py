"""More habits of honest students, in what a notebook holds and in how it is handed in, cost no point."""

from pathlib import Path

import pytest

from tests.grading.habit_styles import ANSWER, FORMS, HABITS
from tests.grading.honest_styles import losses
from tests.grading.support import needs_bwrap
from tests.grading.test_session_styles import write
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.marking import course
from transformer_lab.grading.marking.course import grade_one
from transformer_lab.grading.submissions.submissions import find_submissions


def hand_in(folder: Path, style: str) -> None:
    if style in FORMS:
        folder.mkdir(parents=True)
        FORMS[style](folder)
        return
    text = HABITS[style].replace("ANSWER", ANSWER)
    write(folder / "05_masking.ipynb", text if "causal_mask" in text else f"{text}\n# %%\n{ANSWER}")


@needs_bwrap
@pytest.mark.parametrize("start", range(4))
def test_a_habit_costs_no_point(tmp_path, sandbox, monkeypatch, start):
    monkeypatch.setattr(course, "SANDBOX", [sandbox])
    styles = {f"s{number}": style for number, style in enumerate([*HABITS, *FORMS][start::4])}
    for student, style in styles.items():
        hand_in(tmp_path / "class" / student, style)
    assignment = Assignment("hw1", {"causal_mask": 1}, seconds=sandbox.seconds, seed="fixed")
    submissions = find_submissions(tmp_path / "class", "hw1", tmp_path / "unpacked")
    found = {styles[s.student]: losses(grade_one(s, assignment)) for s in submissions}
    assert len(found) == len(styles)
    lost = {style: why for style, why in found.items() if why}
    assert not lost, "\n".join(f"{style}: {why}" for style, why in lost.items())
