"""What `grade` says in the end: who is there, what to look at, and what to do before the grades go elsewhere."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from transformer_lab.grading.gradebook.final_grades import FinalGrade, Gradebook
from transformer_lab.grading.gradebook.slip_days import kept_folders, kept_used
from transformer_lab.grading.handout.lateness import handed_in_at
from transformer_lab.grading.marking.variant_marking import WHOSE
from transformer_lab.grading.reports.grade_tables import defused, made_for, other_maximum
from transformer_lab.grading.reports.pages import words

MOST_NAMED = 5
TIMES = {  # who tells when work came
    "roster": "the roster's time",
    "nbgrader": "nbgrader's timestamp.txt",
    "Gradescope": "Gradescope's submission_metadata.yml",
    "Moodle": "the time of the file in Moodle's zip file",
    "Canvas": "whether Canvas calls it LATE, which is one day",
    "files": "the times of files",
}


def after_grading(book: Gradebook, out: Path, before: Mapping[str, tuple[str, float | int]] = {}) -> Iterator[str]:
    """The lines; `before` has the names and points that an earlier run gave, by id."""
    there = [one for one in book.finals if one.graded]
    absent = len(book.finals) - len(there)
    counted = words(len(there), "student", "students") + (f", and {absent} who handed in nothing" if absent else "")
    files = ", ".join(["report.html", "grades.csv", *made_for(book.roster)])
    yield f"{counted}: see {files} and feedback/ in {out}"
    yield from left_out(book)
    yield from strangers(book)
    yield from nameless(book)
    yield from late(book)
    yield from slips(book, out)
    yield from unsteady(book)
    yield from changed(book, before)
    if told := other_maximum(book):
        system = "Moodle" if book.roster.is_moodle else "Canvas"
        most = f"{book.assignment.total:g}"
        yield f"{system} has a maximum of {told} for what has {most} here: set {system}'s to {most} before you import"
    if in_words := sum(len(one.waiting) for one in book.finals):
        waiting = words(in_words, "answer in words waits", "answers in words wait")
        yield f"{waiting} to be marked: open marking.html there, then give --marked"


def left_out(book: Gradebook) -> Iterator[str]:
    """Whose work could not be read as a whole, and what of it; all else is graded."""
    if found := book.not_read:
        students = words(len({one.student for one, _ in found}), "student", "students")
        yield f"Not read, of {students}, so look at it yourself; all else is graded:"
        yield from (f"  {defused(one.student)}: {why}" for one, why in found)


def strangers(book: Gradebook) -> Iterator[str]:
    """Who handed in and is not on the roster."""
    there = [one for one in book.finals if one.graded]
    missing = [one.student for one in there if one.person is None] if book.roster.people else []
    if missing:
        named = ", ".join(missing[:MOST_NAMED]) + (" …" if len(missing) > MOST_NAMED else "")
        doubt = " Is it this class's?" if 2 * len(missing) > len(there) else ""
        yield f"{len(missing)} of {len(there)} are not on the roster ({named}).{doubt}"


def nameless(book: Gradebook) -> Iterator[str]:
    """Who answered for numbers of their own without saying whose: it may be a whole class that was not told."""
    who = [one.student for one in book.finals if any(mark.message == WHOSE for mark in one.marks)]
    if who:
        named = ", ".join(map(defused, who[:MOST_NAMED])) + (" …" if len(who) > MOST_NAMED else "")
        yield (
            f"{words(len(who), 'student', 'students')} answered for numbers of their own with `STUDENT` empty, which "
            f"counts as missing ({named}). They may hand in again, or you decide in overrides.csv."
        )


def late(book: Gradebook) -> Iterator[str]:
    """How many were late, by which times, and for whom no time can be trusted."""
    there = [one for one in book.finals if one.graded and not one.no_time]
    if not book.assignment.due or not there:
        return
    by = Counter(told_by(one, book) for one in there)
    named = "; ".join(f"{count} by {TIMES[kind]}" for kind, count in by.items() if kind) or "nobody can tell"
    yield f"{words(sum(one.days > 0 for one in there), 'student is', 'students are')} late (of all, {named})"
    if by[""]:
        whose = words(by[""], "student", "students")
        yield (
            f"Of {whose} only their files tell when they came, which a student or a copy may change: they count as in "
            "time. A column `submitted` of the roster tells, or `file_times` in assignment.json."
        )


def slips(book: Gradebook, out: Path) -> Iterator[str]:
    """Who used slip days, and by what it is known what was used before."""
    if not book.assignment.slip_days:
        return
    used, here = kept_used(out), [one.slip_days for one in book.finals if one.slip_days]
    folders = ", ".join(one.name for one in kept_folders(out)) or ("earlier assignments" if used else "")
    spent = sum(used.get(one.id, 0) >= book.assignment.slip_days for one in book.finals)
    before = f"{spent} had none left after {folders}" if folders else "no earlier assignment was named by --after"
    yield f"{words(len(here), 'student', 'students')} used {words(sum(here), 'slip day', 'slip days')} ({before})"
    if any(used.values()) and not {one.id for one in book.finals} & {id_ for id_, count in used.items() if count}:
        yield f"Nobody here used slip days in {folders}, by their ids: was everybody's id another one there?"


def unsteady(book: Gradebook) -> Iterator[str]:
    """Whether ids are numbers that Moodle gives anew in each assignment."""
    if book.roster.is_moodle and any(one.id == one.row.get("Identifier") for one in book.roster.people):
        yield (
            "Moodle's worksheet has no e-mail address, ID number or user name, so a student's id is their number in "
            "this assignment: `term` and slip days can't know them in another. Have Moodle show one of these columns."
        )


def changed(book: Gradebook, before: Mapping[str, tuple[str, float | int]]) -> Iterator[str]:
    """Whose points are others than an earlier run gave."""
    now = {one.id: (one.name or one.id, one.total) for one in book.finals}
    was = {id_: total for id_, (_, total) in before.items()}
    told = [f"{defused(name)} {was[i]:g} → {total:g}" for i, (name, total) in now.items() if was.get(i, total) != total]
    told += [f"{defused(name)} {total:g} → not there" for id_, (name, total) in before.items() if id_ not in now]
    if told:
        named = ", ".join(told[:MOST_NAMED]) + (" …" if len(told) > MOST_NAMED else "")
        yield f"Since the last run, {words(len(told), 'student has', 'students have')} other points: {named}"


def told_by(one: FinalGrade, book: Gradebook) -> str:
    assert one.graded
    return handed_in_at(book.assignment, one.person, one.graded.submitted, one.graded.came_by)[1].removesuffix(" LATE")
