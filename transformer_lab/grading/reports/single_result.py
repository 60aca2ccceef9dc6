"""The result of one submission, as JSON: our own form, Gradescope's results.json, and that of GitHub Classroom."""

import base64
import json

from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.reports.grade_tables import notes_of


def plain(one: Graded) -> dict:
    """Points, and for each exercise what a student may read."""
    exercises = [
        {
            **{"name": mark.exercise, "points": mark.points, "of": mark.most, "verdict": mark.verdict},
            **{"mistake": mark.mistake, "message": words_of(mark)},
        }
        for mark in one.marks
    ]
    most = sum(mark.most for mark in one.marks)
    rest = {"exercises": exercises, "notes": notes_of(one), "not_read": list(one.left_out)}
    return {"points": round(one.points, 2), "of": most, **rest}


def words_of(mark: Mark) -> str:
    return "\n".join(filter(None, (mark.message, mark.counted)))


def for_gradescope(one: Graded) -> dict:
    """What Gradescope reads: a test for each exercise, which the student sees. Lateness is Gradescope's."""
    tests = [
        {
            **{"name": mark.exercise, "score": mark.points, "max_score": mark.most, "output": words_of(mark)},
            **{"status": "passed" if mark.verdict == "ok" else "failed", "visibility": "visible"},
        }
        for mark in one.marks
    ]
    about = {"output": "\n".join(notes_of(one)), "visibility": "visible", "stdout_visibility": "hidden"}
    return {**about, "output_format": "text", "test_output_format": "text", "tests": tests}


def for_github(one: Graded) -> str:
    """What the reporter of GitHub Classroom reads, as a line of the file that a step writes its outputs into."""
    tests = [
        {
            **{"name": mark.exercise, "status": "pass" if mark.verdict == "ok" else "fail"},
            **{"score": mark.points, "message": words_of(mark)},
        }
        for mark in one.marks
    ]
    passed = all(test["status"] == "pass" for test in tests)
    most = sum(mark.most for mark in one.marks)
    told = {"version": 1, "status": "pass" if passed else "fail", "max_score": most, "tests": tests}
    return f"result={base64.b64encode(json.dumps(told).encode()).decode()}\n"
