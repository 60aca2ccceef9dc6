"""What comes out of grading: tables of points, a page for each student, a page on the class, and a summary."""

import json
import zipfile
from pathlib import Path

from transformer_lab.grading.gradebook.final_grades import Gradebook, gradebook
from transformer_lab.grading.gradebook.overrides import begin_overrides
from transformer_lab.grading.gradebook.regrades import keep_fingerprints
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.roster import Roster
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.reports import grade_tables, marking_page
from transformer_lab.grading.reports.class_report import class_report
from transformer_lab.grading.reports.feedback import code_page, feedback
from transformer_lab.grading.reports.summaries import SUMMARY, summary
from transformer_lab.grading.submissions.file_names import file_name, page_name

NOBODY = Roster()


def write_reports(graded: list[Graded], assignment: Assignment, out: Path, roster: Roster = NOBODY) -> Gradebook:
    """Write grades.csv, canvas.csv or moodle.csv or both, feedback/, code/, report.html and summary.json.

    They go into the folder `out`. Where there are questions, marking.html, too.

    Raises:
        ValueError: a decision in overrides.csv, or a time in the roster, can't be read.
    """
    book = gradebook(graded, assignment, roster, out)
    write(out / "grades.csv", grade_tables.table(book))
    begin_overrides(out)
    keep_fingerprints(out, [decision for one in book.finals for decision in one.decided], book.graded, roster)
    for name in ("moodle.csv", "canvas.csv"):
        (out / name).unlink(missing_ok=True)  # of another roster
    for name, made_of in grade_tables.made_for(roster).items():
        write(out / name, made_of(book))
    for folder, made, named in (("feedback", feedback, page_name), ("code", code_page, file_name)):
        (out / folder).mkdir(exist_ok=True)
        pages = {f"{named(one.student)}.html": one for one in book.finals if one.graded}
        for name, one in pages.items():
            write(out / folder / name, made(one, assignment))
        for path in (out / folder).glob("*.html"):  # of who is taken out, or is somebody else's second version
            if path.name not in pages:
                path.unlink()
    hand_back(book, out)
    write(out / "report.html", class_report(book))
    if assignment.questions:
        write(out / marking_page.NAME, marking_page.marking_page(book))
    write(out / SUMMARY, json.dumps(summary(book), indent=1) + "\n")
    return book


def hand_back(book: Gradebook, out: Path) -> None:
    """Zip the feedback under the names that Moodle ("multiple feedback files") and Canvas ("submissions") take back."""
    path = out / "feedback.zip"
    path.unlink(missing_ok=True)
    backs: dict[str, str] = {}
    for one in book.finals:  # of a group, whoever handed in comes first, and the system knows one name
        if one.graded and one.graded.hand_back:
            backs.setdefault(one.graded.hand_back, page_name(one.student))
    if backs:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for back, page in backs.items():
                archive.write(out / "feedback" / f"{page}.html", back)


def write(path: Path, text: str) -> None:
    """As UTF-8. What can't be written so, half of a pair in an answer's own text for one, stays readable."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
