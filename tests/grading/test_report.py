"""The page on a class: its pictures, and that each cause, each group and each note stands where it helps, and once."""

import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.grading.support import OWN_WAY
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.marking.similarity import alike
from transformer_lab.grading.reports.reports import write_reports

HW = Assignment("hw1", {"softmax": 4, "causal_mask": 2, "padding_mask": 2}, seed="s")
POINTS = {  # who is good in softmax is good in the padding mask, and fails in the causal one
    **{f"a{i}": (4, 0, 2) for i in range(4)},
    **{f"b{i}": (0, 2, 0) for i in range(3)},
    "b3": (0, 2, 2),
}
MISTAKES = {"softmax": "overflow", "causal_mask": "future_is_true", "padding_mask": "padding_is_true"}


def graded(student: str, points: tuple[int, ...]) -> Graded:
    marks = (
        Mark(name, "ok" if got == most else "wrong", got, most, None if got == most else MISTAKES[name])
        for got, (name, most) in zip(points, HW.points.items(), strict=True)
    )
    return Graded(student, tuple(marks), ())


def report(folder: Path, *class_: Graded, assignment: Assignment = HW) -> str:
    write_reports([*class_], assignment, folder)
    return (folder / "report.html").read_text(encoding="utf-8")


def pictures(page: str) -> list[str]:
    """What each says to who can't see it."""
    return [unescape(alt) for alt in re.findall(r'role=img aria-label="([^"]*)"', page)]


def test_it_opens_with_points_exercises_and_mistakes_as_pictures(tmp_path):
    page = report(tmp_path, *(graded(*one) for one in POINTS.items()))
    points, exercises, mistakes = pictures(page)
    assert page.rindex("role=img") < page.index("Teach next")
    assert points == "Points: from 2 points 3 students, from 4 points 1 student, from 6 points 4 students."
    order = re.findall(r"(\w+) ([+-]\d\.\d\d), mean (\d+) %", exercises)
    assert [(name, mean) for name, _, mean in order] == [
        ("padding_mask", "62"),
        ("softmax", "50"),
        ("causal_mask", "50"),
    ]
    assert float(order[0][1]) > 0.5 > 0 > float(order[-1][1])
    assert "overflow in softmax 4 students" in mistakes
    assert "padding_is_true in padding_mask 3 students" in mistakes
    for drawn in re.findall(r"<svg.*?</svg>", page):
        ElementTree.fromstring(drawn)  # whatever a browser would make of it otherwise
        width = float(re.search(r'viewBox="0 0 (\d+)', drawn)[1])
        boxes = re.findall(r'<rect x="([\d.-]+)" y="[\d.-]+" width="([\d.-]+)"', drawn)
        assert all(float(x) >= 0 and float(x) + float(wide) <= width for x, wide in boxes)


@pytest.mark.parametrize("size", [1, 300])
@pytest.mark.parametrize("most", [1, 7, 55, 1234])
def test_pictures_are_there_for_classes_and_assignments_of_any_size(tmp_path, size, most):
    hw = Assignment("hw1", {"softmax": most}, seed="s")
    class_ = [
        Graded(f"<i>{i}", (Mark("softmax", "wrong", most * i / size, most, "overflow"),), ()) for i in range(size)
    ]
    page = report(tmp_path, *class_, assignment=hw)
    told = re.findall(r"from [\d.]+ points (\d+) student", pictures(page)[0])
    assert sum(map(int, told)) == size
    assert "can't be told" in page, "one exercise has no others with which it could go along"
    assert "<i>" not in page


def test_nobody_and_no_mistake_draw_nothing(tmp_path):
    assert pictures(report(tmp_path)) == []
    assert len(pictures(report(tmp_path, graded("ann", (4, 2, 2))))) == 1


def test_one_cause_is_one_row(tmp_path):
    """A helper that is missing, once for each exercise; a failure, with the answer that only follows from it."""
    names = [*HW.points]
    missing = "Simplest case that fails: one.\n  x = {0}\nIt raises an error, in line {0} of its cell: `helper(x)`.\n"
    missing += "  NameError: name 'helper' is not defined"
    kim = Graded("kim", tuple(Mark(n, "raised", 0, 2, message=missing.format(i)) for i, n in enumerate(names)), ())
    lea = Graded(
        "lea",
        (
            Mark("softmax", "crashed", 0, 4, message="Its process ended."),
            Mark("causal_mask", "crashed", 0, 2, message="It is right but for your `softmax`.", follows="softmax"),
            Mark("padding_mask", "timeout", 0, 2, message="It did not end in time."),
        ),
        (),
    )
    known = Mark("softmax", "raised", 0, 4, "axis_lost", "It raises an error: RuntimeError: sizes differ")
    page = report(tmp_path, kim, lea, Graded("mia", (known,), ()))
    told = page[page.index("To look at") :]
    assert told.count("<li>") == 3
    assert told.count("NameError") == 1
    assert all(f'code/kim.html#{name}">{name}</a>' in told for name in names)


THREE = """import torch
def softmax(scores, dim):
    shifted = torch.sub(scores, torch.amax(scores, dim, keepdim=True))
    raised = torch.pow(torch.full_like(shifted, 2.718281828), shifted)
    total = torch.sum(raised, dim=dim, keepdim=True)
    return torch.true_divide(raised, total)
"""


def test_those_stand_first_who_share_what_is_rare(tmp_path):
    """Two with code of their own come before nine whose longer code most of the class has."""
    many = OWN_WAY + "\n" + "\n".join(f"    x{i} = torch.mul(scores, {i}).sum(dim).neg()" for i in range(9))
    many = many.replace("    return torch.mul(lifted, torch.reciprocal(whole).mul(1.0))\n", "")
    many += "\n    return torch.mul(lifted, torch.reciprocal(whole).mul(1.0))\n"
    programs = {f"m{i}": many for i in range(9)} | {"ann": THREE, "ben": THREE.replace("total", "t")}
    programs |= {f"s{i:02}": f"def softmax(scores, dim):\n    return scores.softmax(dim) * {i}" for i in range(3)}
    class_ = [Graded(s, (Mark("softmax", "ok", 4, 4, program=p),), ()) for s, p in programs.items()]
    pair, nine = alike(class_, "softmax")
    assert (pair.students, len(nine.students)) == (("ann", "ben"), 9)
    assert pair.alone > 0
    page = report(tmp_path, *class_)
    assert page.index(f"{pair.alone} pieces of it nobody else has") < page.index("<strong>9 students</strong>")


def test_notes_that_concern_nobody_are_not_shown(tmp_path):
    gone = "the cell of `softmax` is gone; found the function elsewhere"
    right = Mark("softmax", "ok", 4, 4, notes=(gone, "utils.py, from beside the notebook, was taken along"))
    ann = Graded("ann", (right,), ("ann.py was handed in beside the notebook",))
    wrong = Mark(
        "softmax", "wrong", 0, 4, notes=("`softmax` is defined in 2 cells; the last that is filled in counts",)
    )
    alone = Mark("causal_mask", "missing", 0, 2, notes=("`causal_mask` is left as it was handed out",))
    ben = Graded(
        "ben",
        (wrong, alone),
        ("x.ipynb is no notebook that can be read",),
        left_out=("x.ipynb is no notebook that can be read",),
    )
    page = report(tmp_path, ann, ben)
    assert "1 note on what was handed in" in page
    assert "is defined in 2 cells" in page
    assert "left as it was" not in page
    assert "taken along" not in page
    assert "beside the notebook" not in page
    assert page.count("no notebook that can be read") == 1, "what is not read stands above"
    assert "taken along" in (tmp_path / "grades.csv").read_text(), "the table keeps all"
