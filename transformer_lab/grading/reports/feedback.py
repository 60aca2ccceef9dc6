"""A student's page: the points, and for each exercise what is wrong and where to read on; nothing hidden."""

from html import escape

from transformer_lab.exercises import catalogue
from transformer_lab.exercises.engine.cards import html_text, inline
from transformer_lab.grading.gradebook.final_grades import FinalGrade
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.lesson_notebooks import where_to_look
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.reports.grade_tables import GONE
from transformer_lab.grading.reports.pages import page, words

MARKS = {"ok": "✓", "missing": "○"}  # the others: ✗


def feedback(one: FinalGrade, assignment: Assignment) -> str:
    """What a student reads: no hidden input, no reference."""
    parts = [f"<h1>{escape(assignment.name)}: {escape(one.name or one.student)}</h1>"]
    parts.append(f"<p><strong>{one.total:g} of {assignment.total:g} points.</strong></p>")
    parts += [f"<p>{line}</p>" for line in reckoning(one)]
    late = one.late_in_words if one.penalty else ""  # which the reckoning says
    told = [note for note in (*one.notes, *(one.graded.notes if one.graded else ())) if note != late]
    notes = "".join(f"<li>{inline(note)}</li>" for note in told)
    parts.append(f"<ul>{notes}</ul>" if notes else "")
    parts += [section(mark, one) for mark in one.marks]
    parts += [in_words(name, one, assignment) for name in assignment.questions]
    return page(f"{assignment.name}: {one.name or one.student}", "\n".join(parts))


def in_words(name: str, one: FinalGrade, assignment: Assignment, is_for_student: bool = True) -> str:
    """A question: what was asked and written, the points, and what was said of it."""
    question, given = assignment.questions[name], one.by_hand.get(name)
    text = one.graded.texts.get(name, "") if one.graded else ""
    told = "not marked yet" if name in one.waiting else f"{one.points[name]:g} of {question.points:g}"
    kind = "open" if name in one.waiting else "missing" if not text else "ok" if one.points[name] else "wrong"
    mark = {"open": "…", "missing": "○", "ok": "✓", "wrong": "✗"}[kind]
    written = f"<blockquote>{escape(text)}</blockquote>" if text else "<p>There is no answer.</p>"
    said = f"<p><strong>{escape(given.comment)}</strong></p>" if given and given.comment else ""
    asked = f"<p class=asked>{escape(question.text)}</p>" if is_for_student else ""
    head = f'<section class={kind} id="{escape(name)}"><h2>{mark} {escape(name)}: {told}</h2>'
    return f"{head}{asked}{written}{said}</section>"


def reckoning(one: FinalGrade) -> list[str]:
    """How the total came about, where it isn't the sum of what was computed."""
    lines = []
    if one.penalty:
        lines.append(f"{one.late_in_words}: {words(one.penalty, 'point', 'points')} less.")
    lines += [
        f"Your instructor set {escape(d.exercise)} to {d.points:g}{f': {escape(d.comment)}' if d.comment else ''}."
        for d in one.decided
    ]
    return lines


def section(mark: Mark, one: FinalGrade) -> str:
    recognised = f" ({mark.mistake})" if mark.mistake else ""
    points = one.points.get(mark.exercise, mark.points)
    title = f"{MARKS.get(mark.verdict, '✗')} {mark.exercise}: {points:g} of {mark.most:g}{recognised}"
    said = mark.message.casefold()
    needless = GONE.format(mark.exercise) if mark.verdict == "ok" else ""
    told = [note for note in mark.notes if note.casefold() not in said and note != needless]
    notes = "".join(f"<p><em>{inline(note)}</em></p>" for note in told)
    counted = f"<p>{escape(mark.counted)}</p>" if mark.counted and points == mark.points else ""
    look = ""
    if mark.verdict != "ok" and mark.exercise in catalogue:
        look = f'<p class="look">Read on in {inline(where_to_look(mark.exercise))}.</p>'
    kind = "ok" if mark.verdict == "ok" else "missing" if mark.verdict == "missing" else "wrong"
    return f"<section class={kind}><h2>{escape(title)}</h2>{html_text(mark.message)}{counted}{notes}{look}</section>"


def code_page(one: FinalGrade, assignment: Assignment) -> str:
    """For the instructor: what was graded of a student, and how."""
    parts = [f"<h1>{escape(assignment.name)}: the code of {escape(one.student)}</h1>"]
    parts.append('<p><a href="../report.html">The class</a></p>')
    for mark in one.marks:
        told = ", ".join(filter(None, (mark.verdict, mark.mistake)))
        title = f"{mark.exercise}: {told}, {mark.points:g} of {mark.most:g}"
        code = f"<pre>{escape(mark.program)}</pre>" if mark.program else "<p>There is no answer.</p>"
        notes = "".join(f"<p><em>{inline(note)}</em></p>" for note in mark.notes)
        kind = "ok" if mark.verdict == "ok" else "wrong"
        head = f'<section class={kind} id="{escape(mark.exercise)}"><h2>{escape(title)}</h2>'
        counted = f"<p>{escape(mark.counted)}</p>" if mark.counted else ""
        parts.append(f"{head}{code}{notes}{html_text(mark.message)}{counted}</section>")
    parts += [in_words(name, one, assignment, is_for_student=False) for name in assignment.questions]
    return page(f"{assignment.name}: {one.student}", "\n".join(parts))
