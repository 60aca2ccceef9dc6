"""What Gradescope exports is graded as a class: its file tells names, times and groups, and students can't write it.

The form is the one that programs which read such exports agree on: a zip file with one folder, in it
submission_metadata.yml and a folder for each submission.
"""

import csv
from pathlib import Path

import pytest

from tests.grading.hostile_notebooks import RIGHT, WRONG, notebook
from tests.grading.support import needs_bwrap
from tests.grading.test_handed_in import zipped
from transformer_lab import cli
from transformer_lab.grading.gradebook.final_grades import gradebook
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.roster import read_roster
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.submissions.submissions import find_submissions

TOP = "assignment_4711_export"
METADATA = """---
submission_11:
  :submitters:
  - :name: Ann Doe
    :sid: '12345'
    :email: ann@uni.org
  :created_at: 2026-10-01 21:03:12.345678000 Z
  :score: 0.0
  :status: processed
  :history:
  - :id: 9
    :created_at: 2026-09-30 08:00:00.000000000 Z
submission_12:
  :submitters:
  - :name: Ben_Roth
    :sid: ''
    :email: ben_roth@uni.org
  - :name: Cem Kaya
    :sid: '777'
    :email: cem@uni.org
  :created_at: 2026-10-02 01:00:00.000000000 +02:00
submission_13:
  :submitters: []
  :created_at: 2026-10-01 12:00:00.000000000 Z
submission_14:
  :submitters:
  - :name: Dai Ito
    :sid: '4'
    :email:
"""
FILES = {
    f"{TOP}/submission_metadata.yml": METADATA,
    f"{TOP}/submission_11/01_attention.ipynb": notebook(RIGHT),
    f"{TOP}/submission_11/submission_metadata.yml": "submission_11: {}",  # a student's own says nothing
    f"{TOP}/submission_12/work/01_attention.ipynb": notebook(WRONG),
    f"{TOP}/submission_13/01_attention.ipynb": notebook(RIGHT),
    f"{TOP}/submission_14/report.pdf": "%PDF",
}


@pytest.fixture(params=["zip", "folder"])
def export(request, tmp_path) -> Path:
    """As it is downloaded, and unpacked by hand."""
    if request.param == "zip":
        return zipped(tmp_path / "export.zip", FILES)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / TOP


def test_names_times_and_groups_are_those_of_its_file(export, tmp_path):
    found = {one.student: one for one in find_submissions(export, "hw1", tmp_path / "unpacked")}
    assert {name: (one.submitted, one.came_by) for name, one in found.items()} == {
        "Ann Doe_12345": ("2026-10-01T21:03:12+00:00", "Gradescope"),
        "Ben Roth_ben-roth@uni.org": ("2026-10-01T23:00:00+00:00", "Gradescope"),
        "submission_13": ("2026-10-01T12:00:00+00:00", "Gradescope"),
        "Dai Ito_4": ("", "files"),
    }
    assert found["Ben Roth_ben-roth@uni.org"].together == ("Cem Kaya_777",)
    assert found["submission_13"].notes == ("nobody is named in Gradescope's submission_metadata.yml",)
    assert "no notebook was handed in" in found["Dai Ito_4"].notes[0]


def test_another_partner_is_a_change(tmp_path):
    digests = set()
    for text in (METADATA, METADATA.replace("Cem Kaya", "Eve Novak")):
        place = zipped(tmp_path / "export.zip", FILES | {f"{TOP}/submission_metadata.yml": text})
        found = find_submissions(place, "hw1", tmp_path / "unpacked")
        digests |= {one.digest() for one in found if one.together}
    assert len(digests) == 2


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [b\n", "a: 2026-13-45 00:00:00\n", ""])
def test_a_file_that_is_not_as_exported_stops_the_run_with_a_sentence(tmp_path, text):
    place = zipped(tmp_path / "export.zip", FILES | {f"{TOP}/submission_metadata.yml": text})
    with pytest.raises(ValueError, match=r"submission_metadata.yml must be as Gradescope exports it"):
        find_submissions(place, "hw1", tmp_path / "unpacked")


ROSTER = "id,name,email\n12345,Ann Doe,\nb,Ben Roth,ben_roth@uni.org\nc,Cem Kaya,\n9,Eve Novak,\n"


@needs_bwrap
@pytest.mark.parametrize(
    ("roster", "ids"),
    [(ROSTER, ["12345", "b", "c", "9"]), ("", ["Ann Doe_12345", "Ben Roth_ben-roth@uni.org", "Cem Kaya_777"])],
    ids=["with a roster", "without"],
)
def test_an_export_is_graded_as_a_class(tmp_path, capsys, roster, ids):
    """It is due at 21:00: Ann comes three minutes late, Ben and Cem together two hours; Eve hands in nothing."""
    assignment = Assignment("hw1", {"softmax": 2}, 30, "seed", due="2026-10-01T21:00+00:00", late=10)
    assignment.save(tmp_path / "assignment.json")
    known = {name: text for name, text in FILES.items() if "_13/" not in name and "_14/" not in name}
    known[f"{TOP}/submission_metadata.yml"] = METADATA.partition("submission_13")[0]
    known[f"{TOP}/submission_12/work/01_attention.ipynb"] = notebook(RIGHT)
    place, out = zipped(tmp_path / "export.zip", known), tmp_path / "grades"
    words = ["grade", str(place), "--assignment", str(tmp_path / "assignment.json"), "--out", str(out)]
    if roster:
        (tmp_path / "roster.csv").write_text(roster)
        words += ["--roster", str(tmp_path / "roster.csv")]
    assert cli.main(words) == 0
    told = "3 students are late (of all, 3 by Gradescope's submission_metadata.yml)"
    assert told in capsys.readouterr().out.splitlines()
    with (out / "grades.csv").open() as file:
        rows = {row["id"]: (row["points"], row["days late"]) for row in csv.DictReader(file)}
    assert rows == {id_: ("0", "") if id_ == "9" else ("1.8", "1") for id_ in ids}
    (out / "overrides.csv").write_text("student,exercise,points,comment\nCem Kaya,late,0,was ill\n")
    assert cli.main(words) == 0  # what is decided for one of a group is for that one alone
    with (out / "grades.csv").open() as file:
        totals = {row["id"]: row["points"] for row in csv.DictReader(file)}
    assert [totals[id_] for id_ in ids[:3]] == ["1.8", "1.8", "2"]


@pytest.mark.parametrize(
    ("roster", "ids"),
    [
        ("id,name\n12345,A. Doe\n777,C. K.\n", ("12345", "777")),  # the ids that Gradescope has
        ("email address,name\nann@uni.org,A. Doe\ncem@uni.org,C. K.\n", ("ann@uni.org", "cem@uni.org")),
        ("id,email\na,ANN@uni.org\nc,cem@uni.org\n", ("a", "c")),
        (  # Moodle counts others with these numbers
            "Identifier,Full name,Email address\nParticipant 777,Zoe,z@uni.org\nParticipant 1,C. K.,cem@uni.org\n"
            "Participant 12345,Vic,v@uni.org\nParticipant 2,A. Doe,ann@uni.org\n",
            ("ann@uni.org", "cem@uni.org"),
        ),
        ("Identifier,Full name,Email address\nParticipant 12345,Vic,v@uni.org\n", ()),
        ("Student,ID,SIS User ID,SIS Login ID\nVic,12345,9,v\nZoe,777,8,z\n", ()),
    ],
)
def test_somebody_is_found_by_id_or_by_address_and_by_no_other_system_s_number(tmp_path, roster, ids):
    (tmp_path / "roster.csv").write_text(roster)
    found = find_submissions(zipped(tmp_path / "export.zip", FILES), "hw1", tmp_path / "unpacked")
    graded = [Graded(one.student, (), (), addresses=one.addresses, together=one.together) for one in found]
    for one in graded:
        one.save(tmp_path)
    read = [Graded.load(path) for path in sorted(tmp_path.glob("*.json"))]
    assert sorted(read, key=lambda one: one.student) == sorted(graded, key=lambda one: one.student)
    book = gradebook(read, Assignment("hw1", {"softmax": 2}), read_roster(tmp_path / "roster.csv"), tmp_path)
    assert {one.person.id for one in book.finals if one.graded and one.person} == {*ids}
