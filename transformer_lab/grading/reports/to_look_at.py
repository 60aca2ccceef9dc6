"""Whom an instructor may want to look at: what could not be read, what is unusual, what looks alike, what was odd."""

import re
from collections.abc import Iterable
from dataclasses import replace
from html import escape

from transformer_lab.exercises.engine.cards import inline
from transformer_lab.grading.gradebook.final_grades import NOTHING, FinalGrade, Gradebook
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import BY_HEART, Mark
from transformer_lab.grading.marking.similarity import Group, alike, by_rarity, pasted
from transformer_lab.grading.marking.variant_marking import WHOSE
from transformer_lab.grading.reports.grade_tables import UNTOUCHED, USUAL, notes_of
from transformer_lab.grading.reports.pages import code_link, words

MOST_GROUPS = 30
ERROR = re.compile(
    r"raises an error(?:.*\n  |.*?: )([A-Za-z_]\w*: .*)"
)  # as a message quotes it, with its place or without


def to_look_at(book: Gradebook) -> str:
    """All of it."""
    looked = suspected(book.graded, [*book.assignment.points])
    return "\n".join([left_out_list(book), unusual_list(book.finals), looked, notes_table(book.finals)])


def left_out_list(book: Gradebook) -> str:
    """What could not be read, of whom."""
    rows = "".join(f"<li>{code_link(one.student)}: {inline(why)}</li>" for one, why in book.not_read)
    return f"<p>Not read:</p><ul>{rows}</ul>" if rows else ""


def unusual_list(finals: tuple[FinalGrade, ...]) -> str:
    """Verdicts that are neither right nor wrong nor missing; answers that are right on the visible cases alone, or for
    numbers that are nobody's.

    An error that a known mistake explains stands among the mistakes.
    """
    rows = ""
    for one in {one.graded.student: one for one in finals if one.graded}.values():  # of a group, one
        for marks in by_cause(one.marks):
            first = marks[0]
            names = ", ".join(code_link(one.student, mark.exercise, mark.exercise) for mark in marks)
            told = f"<strong>{first.verdict}</strong> in {names}: {inline(said(first)[:300])}"
            rows += f"<li>{code_link(one.student)}: {told}</li>"
    return f"<p>Unusual:</p><ul>{rows}</ul>" if rows else "<p>No unusual verdict.</p>"


def by_cause(marks: Iterable[Mark]) -> list[list[Mark]]:
    """A student's unusual marks, those with one cause together: one error, or a failure from which others follow."""
    known = {mark.exercise: mark for mark in marks}
    causes: dict[tuple[str, str], list[Mark]] = {}
    for mark in known.values():
        if (mark.verdict not in USUAL and not mark.mistake) or mark.message in (BY_HEART, WHOSE):
            root = known.get(mark.follows, mark)
            root = root if root.verdict not in USUAL else mark
            causes.setdefault((root.verdict, said(root)), []).append(mark)
    return [*causes.values()]


def said(mark: Mark) -> str:
    """The error that it raises, without place and case, which are others in each exercise; else the message."""
    found = ERROR.search(mark.message)
    return found[1] if found else mark.message


def suspected(graded: list[Graded], exercises: list[str]) -> str:
    """Pasted solutions and answers that look alike; both are reasons to talk to somebody, not proofs."""
    own: dict[str, list[str]] = {}
    for student, name in pasted(graded):
        own.setdefault(student, []).append(name)
    rows = "".join(
        f"<li>{code_link(student)}: {', '.join(code_link(student, name, name) for name in names)} "
        f"{'is' if len(names) == 1 else 'are'} the package's own solution</li>"
        for student, names in own.items()
    )
    groups = [group for name in exercises for group in alike(graded, name)]
    groups.sort(key=by_rarity)
    rows += "".join(f"<li>{in_common(group)}</li>" for group in groups[:MOST_GROUPS])
    more = f"<p>… and {words(len(groups) - MOST_GROUPS, 'group', 'groups')} more.</p>" if groups[MOST_GROUPS:] else ""
    first = "<p>The rarer what they share, the higher they stand; a piece is twelve steps of code in a row.</p>"
    return f"<h3>Answers that look alike</h3>{first if groups else ''}<ul>{rows}</ul>{more}" if rows else ""


def in_common(group: Group) -> str:
    """Who they are, how much of their code is the same, and how much of that nobody else has."""
    links = [code_link(student, group.exercise) for student in group.students]
    who = f"{', '.join(links[:-1])} and {links[-1]}"
    shares = f"{100 * group.share:.0f} % of what is their own in common"
    alone = f"; {words(group.alone, 'piece', 'pieces')} of it nobody else has"
    if len(links) == 2:
        return f"{who}: in <code>{escape(group.exercise)}</code> they have {shares}{alone}"
    many = f"<strong>{len(links)} students</strong>, {who}: in <code>{escape(group.exercise)}</code>"
    return f"{many} each has {shares} with another of them, or more{alone}"


def notes_table(finals: tuple[FinalGrade, ...]) -> str:
    """What was odd in what was handed in, and matters to somebody, folded."""
    notes = [(one, note) for one in finals for note in concerning(one)]
    rows = "".join(f"<tr><td>{escape(o.student)}</td><td class=text>{inline(n)}</td></tr>" for o, n in notes)
    if not rows:
        return ""
    head = f"<summary>{words(len(notes), 'note', 'notes')} on what was handed in</summary>"
    return f"<details>{head}<div class=wide><table>{rows}</table></div></details>"


def concerning(one: FinalGrade) -> list[str]:
    """The notes that somebody may act on, each once on the page.

    No right answer needs one, nor does an exercise that was left alone, unless all were: then it may be the wrong file.
    """
    graded = one.graded
    if graded is None:
        return [note for note in one.notes if note != NOTHING]
    short = [mark for mark in graded.marks if mark.verdict != "ok"]
    if not all(UNTOUCHED.format(mark.exercise) in mark.notes for mark in graded.marks):
        alone = {UNTOUCHED.format(mark.exercise) for mark in short}
        short = [replace(mark, notes=tuple(note for note in mark.notes if note not in alone)) for mark in short]
    lost = replace(graded, marks=tuple(short), notes=graded.notes if short else ())
    told = {*graded.left_out, one.no_time}
    return [note for note in (*one.notes, *notes_of(lost)) if note not in told]
