"""Questions in words: how they are asked, what is found of the answers, and what was given by hand is never lost."""

import csv
import json
from pathlib import Path

import nbformat
import pytest

from transformer_lab import cli
from transformer_lab.grading import commands
from transformer_lab.grading.gradebook import hand_marks
from transformer_lab.grading.gradebook.final_grades import gradebook
from transformer_lab.grading.handout.assign import Policy, assign
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.questions import FILE, HERE, MOST_TEXT, fingerprint, read_questions, texts_of
from transformer_lab.grading.handout.roster import Roster
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.reports import reports
from transformer_lab.grading.reports.marking_page import NAME, inert, marking_page

ASKED = """## why_scaled (2)

Why are the scores divided?

Two sentences are enough.

### For the marker

One point for the *variance*.

## before_you_run (1.5 points)

What will the loss be?
"""
HOSTILE = "</script><script>document.title = 'owned'</script><!-- <img src=x onerror=alert(1)> & \u2028 \ud800"


@pytest.fixture(scope="module")
def homework(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    (folder / "questions.md").write_text(ASKED)
    questions = read_questions(folder / "questions.md")
    assign(folder / "hw1", {"softmax": 2}, policy=Policy(questions=questions))
    return folder / "hw1"


@pytest.fixture
def assignment(homework) -> Assignment:
    return Assignment.load(homework / "assignment.json")


def handed_out(homework: Path, kind: str = "release") -> nbformat.NotebookNode:
    return nbformat.read(homework / kind / "hw1" / FILE, as_version=4)


def written(folder: Path, notebook: nbformat.NotebookNode, name: str = FILE) -> Path:
    (folder / name).write_text(json.dumps(notebook))
    return folder / name


# ── asking ──


def test_questions_are_read_with_points_and_what_the_marker_reads(assignment):
    one, other = assignment.questions["why_scaled"], assignment.questions["before_you_run"]
    assert (one.points, one.guide) == (2, "One point for the *variance*.")
    assert one.text == "Why are the scores divided?\n\nTwo sentences are enough."
    assert (other.points, other.guide) == (1.5, "")
    assert assignment.total == 5.5


def test_what_is_handed_out_is_a_notebook_without_what_the_marker_reads(homework):
    released, source = handed_out(homework), handed_out(homework, "source")
    nbformat.validate(released)
    assert "variance" not in json.dumps(released)
    assert "variance" in json.dumps(source)
    words = [cell for cell in released.cells if cell.id.endswith("-words")]
    assert [(cell.source, cell.metadata.nbgrader.points) for cell in words] == [(HERE, 2), (HERE, 1.5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a heading such as"),
        ("Hello\n## a (1)\nwhat?", "nothing before the first"),
        ("## a (1)\n\n## b (1)\nwhat?", "the question a must ask something"),
        ("## a (0)\nwhat?", "must be positive"),
        ("## a (1)\nwhat?\n## a (2)\nwhat?", "a name of its own"),
        ("## softmax (1)\nwhat?", "a name of its own"),
        ("## total (1)\nwhat?", "a name of its own"),
    ],
)
def test_what_is_no_list_of_questions_is_refused(tmp_path, text, message):
    (tmp_path / "q.md").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_questions(tmp_path / "q.md")


@pytest.mark.parametrize(
    "heading",
    [
        "# For the marker",
        "## For the marker",
        "####  for the Markers:",
        "###For the marker ###",
        "### **For the marker**",
    ],
)
def test_what_is_for_the_marker_may_stand_below_a_heading_of_any_level(tmp_path, heading):
    (tmp_path / "q.md").write_text(f"## a (1)\nwhat?\n\n{heading}\n\nSecret.\n\n## b (1)\nand what?\n")
    one, other = read_questions(tmp_path / "q.md").values()
    assert (one.text, one.guide) == ("what?", "Secret.")
    assert (other.text, other.guide) == ("and what?", "")


@pytest.mark.parametrize(
    "line",
    [
        *("For the marker", "For the marker:", "**For the marker:** one point", "<!-- For the marker: no. -->"),
        *("## For the marker (1)", "### For the maker", "### for marking", "Marking guide", "For the markers\n-----"),
    ],
)
def test_what_only_looks_like_the_marker_s_heading_is_refused(tmp_path, line):
    (tmp_path / "q.md").write_text(f"## a (1)\nwhat?\n\n{line}\n\nSecret.\n")
    message = r"must stand below a heading of its own, `### For the marker` \(the question a has the line"
    with pytest.raises(ValueError, match=message):
        read_questions(tmp_path / "q.md")
    (tmp_path / "q.md").write_text("## a (1)\nWhat is a marker for?\n\nFor the mask, too.\n")
    assert read_questions(tmp_path / "q.md")["a"].text.endswith("too.")


# ── what students wrote ──


def test_words_are_found_in_their_cell_behind_it_and_in_the_question_s_own(tmp_path, homework, assignment):
    notebook = handed_out(homework)
    _, question, answer, second, words = notebook.cells
    question.source += "\n\nI wrote into the question."
    answer.source = f"{HERE}\n\nInto its cell."
    notebook.cells.insert(3, nbformat.v4.new_markdown_cell("And into a new one."))
    notebook.cells.insert(4, nbformat.v4.new_code_cell("print('and code')"))
    words.source = "  \n"
    texts, notes = texts_of([written(tmp_path, notebook)], assignment.questions)
    assert texts == {
        "why_scaled": "I wrote into the question.\n\nInto its cell.\n\nAnd into a new one.\n\nprint('and code')"
    }
    assert notes == []
    assert second.source.startswith("## before_you_run")


def test_words_are_found_where_ids_and_marks_are_lost_and_in_format_3(tmp_path, homework, assignment):
    notebook = handed_out(homework)
    for number, cell in enumerate(notebook.cells):
        cell.metadata, cell.id = {}, str(number)
    notebook.cells[2].source, notebook.cells[4].source = "one", "two"
    old = nbformat.convert(notebook, 3)
    for path in (written(tmp_path, notebook), written(tmp_path, old, "old.ipynb")):
        assert texts_of([path], assignment.questions)[0] == {"why_scaled": "one", "before_you_run": "two"}


def test_the_newest_that_answers_counts_and_what_is_no_notebook_is_passed_over(tmp_path, homework, assignment):
    paths = []
    for number, text in enumerate(("old", "new", HERE)):
        notebook = handed_out(homework)
        notebook.cells[2].source = text
        paths.append(written(tmp_path, notebook, f"{number}.ipynb"))
    for name, text in (("broken.ipynb", "{"), ("list.ipynb", "[1]"), ("deep.ipynb", "[" * 5000), ("a.py", "x = 1")):
        (tmp_path / name).write_text(text)
        paths.append(tmp_path / name)
    texts, notes = texts_of(paths, assignment.questions)
    assert texts == {"why_scaled": "new"}
    assert notes == ["`why_scaled` is answered in several notebooks; 1.ipynb is the newest, and counts"]


def test_a_cell_that_nbgrader_handed_out_and_nobody_touched_is_no_answer(tmp_path, homework, assignment):
    notebook = handed_out(homework)
    notebook.cells[2].source, notebook.cells[4].source = "YOUR ANSWER HERE", "YOUR ANSWER HERE\n\nmine"
    assert texts_of([written(tmp_path, notebook)], assignment.questions)[0] == {"before_you_run": "mine"}


def test_a_text_without_end_is_cut(tmp_path, homework, assignment):
    notebook = handed_out(homework)
    notebook.cells[2].source = "x" * (2 * MOST_TEXT)
    texts, _ = texts_of([written(tmp_path, notebook)], assignment.questions)
    assert len(texts["why_scaled"]) < MOST_TEXT + 20


# ── by hand ──


def record(student: str, **texts: str) -> Graded:
    return Graded(student, (Mark("softmax", "ok", 2, 2),), (), "digest", texts=texts)


def decision(student: str, question: str, points: float | None, at: str, text: str = "", comment: str = "") -> dict:
    told = {"student": student, "question": question, "points": points, "comment": comment, "at": at}
    return told | {"text": fingerprint(text)}


def saved(path: Path, *marks: dict, assignment: str = "hw1") -> Path:
    path.write_text(json.dumps({"format": 1, "assignment": assignment, "marks": marks}), encoding="utf-8")
    return path


def row(folder: Path, student: str) -> dict[str, str]:
    with (folder / "grades.csv").open() as file:
        return next(row for row in csv.DictReader(file) if row["student"] == student)


def test_what_was_given_by_hand_counts_and_the_rest_waits(tmp_path, assignment):
    graded = [record("ann", why_scaled="so", before_you_run="2.3"), record("ben")]
    file = saved(tmp_path / "a.json", decision("ann", "why_scaled", 1.5, "2026-10-02T10:00:00Z", "so", "<b>good"))
    hand_marks.take_over([file], tmp_path, assignment)
    reports.write_reports(graded, assignment, tmp_path)
    ann, ben = row(tmp_path, "ann"), row(tmp_path, "ben")
    assert (ann["points"], ann["of"], ann["why_scaled"], ann["to mark"]) == ("3.5", "5.5", "1.5", "before_you_run")
    assert (ben["points"], ben["to mark"]) == ("2", "")
    assert "1 answer in words waits for you" in (tmp_path / "report.html").read_text()
    page = (tmp_path / "feedback" / "ann.html").read_text()
    assert "why_scaled: 1.5 of 2" in page
    assert "&lt;b&gt;good" in page
    assert "before_you_run: not marked yet" in page
    assert "variance" not in page, "what the marker reads"
    assert "before_you_run: not marked yet" in (tmp_path / "moodle.csv").read_text()


def test_of_two_decisions_the_later_counts_and_one_may_be_taken_back(tmp_path, assignment):
    early = decision("ann", "why_scaled", 1, "2026-10-02T10:00:00.000Z")
    late = decision("ann", "why_scaled", 2, "2026-10-02T11:00:00.000Z")
    one, other = saved(tmp_path / "a.json", late), saved(tmp_path / "b.json", early)
    for files in ([one, other], [other, one], [other], []):
        assert hand_marks.take_over(files, tmp_path, assignment)["ann", "why_scaled"].points == 2
    back = saved(tmp_path / "c.json", decision("ann", "why_scaled", None, "2026-10-03T10:00:00Z"))
    hand_marks.take_over([back], tmp_path, assignment)
    book = gradebook([record("ann", why_scaled="so")], assignment, Roster(), tmp_path)
    assert (book.finals[0].points["why_scaled"], book.finals[0].waiting) == (0, ("why_scaled",))


def test_whoever_is_not_there_now_keeps_what_was_given(tmp_path, assignment):
    hand_marks.take_over(
        [saved(tmp_path / "a.json", decision("gone", "why_scaled", 1, "2026-10-02T10:00:00Z"))], tmp_path, assignment
    )
    hand_marks.take_over(
        [saved(tmp_path / "b.json", decision("ann", "why_scaled", 2, "2026-10-02T10:00:00Z"))], tmp_path, assignment
    )
    reports.write_reports([record("ann", why_scaled="so")], assignment, tmp_path)
    assert len(json.loads((tmp_path / hand_marks.NAME).read_text())["marks"]) == 2


def test_a_text_that_changed_keeps_its_points_and_says_so(tmp_path, assignment):
    file = saved(tmp_path / "a.json", decision("ann", "why_scaled", 2, "2026-10-02T10:00:00Z", "so"))
    hand_marks.take_over([file], tmp_path, assignment)
    (one,) = gradebook([record("ann", why_scaled="otherwise")], assignment, Roster(), tmp_path).finals
    assert one.points["why_scaled"] == 2
    assert one.notes == ("wrote something else to `why_scaled` since it was marked",)


def test_overrides_come_before_what_was_marked(tmp_path, assignment):
    file = saved(tmp_path / "a.json", decision("ann", "why_scaled", 2, "2026-10-02T10:00:00Z", "so"))
    hand_marks.take_over([file], tmp_path, assignment)
    (tmp_path / "overrides.csv").write_text("student,exercise,points,comment\nann,why_scaled,0.5,copied\n")
    (one,) = gradebook([record("ann", why_scaled="so")], assignment, Roster(), tmp_path).finals
    assert (one.points["why_scaled"], one.total) == (0.5, 2.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be a file saved by the page"),
        ("[]", "must be a file saved by the page"),
        ('{"assignment": "hw1", "marks": [{"student": "a"}]}', "must be a file saved by the page"),
        ('{"assignment": "hw2", "marks": []}', r"must hold marks of hw1 \(it holds those of hw2\)"),
    ],
)
def test_a_file_that_was_not_saved_by_the_page_changes_nothing(tmp_path, assignment, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        hand_marks.take_over([tmp_path / "a.json"], tmp_path, assignment)
    assert not (tmp_path / hand_marks.NAME).exists()


@pytest.mark.parametrize(("question", "points"), [("why_scaled", 2.5), ("why_scaled", -1), ("other", 1)])
def test_points_that_there_are_not_are_refused(tmp_path, assignment, question, points):
    file = saved(tmp_path / "a.json", decision("ann", question, points, "2026-10-02T10:00:00Z"))
    with pytest.raises(ValueError, match=r"must give from 0 to 2 points|must mark questions of the assignment"):
        hand_marks.take_over([file], tmp_path, assignment)


def test_the_command_takes_over_what_was_saved_and_a_new_grading_leaves_it(homework, tmp_path, monkeypatch):
    """Without an exercise nothing needs a sandbox."""
    monkeypatch.setattr("transformer_lab.grading.sandbox.policy.find_bwrap", lambda: None)
    (tmp_path / "q.md").write_text(ASKED)
    assert cli.main(["assign", "--questions", str(tmp_path / "q.md"), "--out", str(tmp_path / "hw1")]) == 0
    notebook = handed_out(tmp_path / "hw1")
    notebook.cells[2].source = "so"
    (tmp_path / "submitted" / "ann").mkdir(parents=True)
    written(tmp_path / "submitted" / "ann", notebook)
    file = saved(tmp_path / "a.json", decision("ann", "why_scaled", 2, "2026-10-02T10:00:00Z", "so"))
    given = ["--assignment", str(tmp_path / "hw1" / "assignment.json"), "--out", str(tmp_path / "grades")]
    monkeypatch.setattr(commands, "executor", in_this_process)
    for more in (["--marked", str(file)], [], ["--regrade"]):
        assert cli.main(["grade", str(tmp_path / "submitted"), *given, *more]) == 0
        assert row(tmp_path / "grades", "ann")["points"] == "2"
    assert (tmp_path / "grades" / NAME).exists()
    (tmp_path / "a.json").write_text("{")
    assert cli.main(["grade", str(tmp_path / "submitted"), *given, "--marked", str(file)]) == 2
    assert row(tmp_path / "grades", "ann")["points"] == "2"


def in_this_process(options):
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1)


# ── the page ──


def test_nothing_that_a_student_writes_is_a_part_of_the_page(tmp_path, assignment):
    book = gradebook([record("<img src=x>", why_scaled=HOSTILE)], assignment, Roster(), tmp_path)
    page = marking_page(book)
    page.encode("utf-8")  # half of a pair, too
    data = page[page.index('id="data">') + len('id="data">') :]
    data = data[: data.index("</script>")]
    assert json.loads(data)["answers"][0]["text"] == HOSTILE
    assert json.loads(data)["answers"][0]["student"] == "<img src=x>"
    assert "<" not in data
    assert page.count("<script") == 2
    assert "<img" not in page
    assert "default-src 'none'" in page


def test_json_in_a_page_is_the_same_json():
    given = {"a": [HOSTILE, 1.5, None, "&amp;"]}
    assert json.loads(inert(given)) == given


def test_the_same_words_are_said_to_be_the_same(tmp_path, assignment):
    graded = [
        record("ann", why_scaled="So  it IS."),
        record("ben", why_scaled="so it is."),
        record("cem", why_scaled="no"),
    ]
    page = marking_page(gradebook(graded, assignment, Roster(), tmp_path))
    data = json.loads(page[page.index('id="data">') + len('id="data">') :].partition("</script>")[0])
    assert [one["alike"] for one in data["answers"]] == [1, 1, 0]
