"""The page on the class: pictures of it, what to teach next, points, the commonest mistakes, and whom to look at."""

from collections import Counter
from html import escape
from statistics import fmean, median

from transformer_lab.exercises import catalogue
from transformer_lab.exercises.engine.cards import inline
from transformer_lab.grading.gradebook.final_grades import Gradebook
from transformer_lab.grading.handout.lesson_notebooks import where_to_look
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import VERDICTS, Mark
from transformer_lab.grading.reports.class_pictures import class_pictures
from transformer_lab.grading.reports.grade_tables import USUAL
from transformer_lab.grading.reports.marking_page import NAME as MARKING
from transformer_lab.grading.reports.pages import code_link, page, words
from transformer_lab.grading.reports.to_look_at import to_look_at

MOST_TO_TEACH, MOST_EXAMPLES, MANY = 3, 3, 12


def class_report(book: Gradebook) -> str:
    """What an instructor reads."""
    graded, assignment = book.graded, book.assignment
    there = [one.total for one in book.finals if one.graded is not None]
    absent = [one for one in book.finals if one.graded is None]
    parts = [f"<h1>{escape(assignment.name)}: {words(len(book.finals), 'student', 'students')}</h1>"]
    gone = f" {len(absent)} handed in nothing: {', '.join(escape(o.name or o.id) for o in absent)}." if absent else ""
    middle = f"Median {median(there):g} of {assignment.total:g} points" if there else "Nobody handed in anything"
    middle += f", of the {len(there)} who handed something in" if there and absent else ""
    parts.append(f"<p>{middle}.{gone}</p>")
    parts += [to_mark(book), class_pictures(book)]
    parts += ["<h2>Teach next</h2>", teach_next(graded, assignment.points)]
    parts += ["<h2>Exercises</h2>", exercises_table(book)]
    lists = "".join(mistakes_list(name, graded) for name in assignment.points)
    parts += ["<h2>Commonest mistakes</h2>", lists or "<p>No known mistake was recognised.</p>"]
    parts += [questions_table(book), "<h2>To look at</h2>", to_look_at(book)]
    return page(f"{assignment.name}: the class", "\n".join(parts))


def to_mark(book: Gradebook) -> str:
    """How many answers in words wait for somebody, with the way there."""
    waiting = sum(len(one.waiting) for one in book.finals)
    if not waiting:
        return ""
    verb = "waits" if waiting == 1 else "wait"
    link = f'<a href="{MARKING}">mark them</a>'
    counted = f"{words(waiting, 'answer', 'answers')} in words {verb} for you"
    return f"<p><strong>{counted}:</strong> {link}. Until then they count 0.</p>"


def questions_table(book: Gradebook) -> str:
    """How far marking has come, and the mean of what was marked."""
    rows = ""
    for name, question in book.assignment.questions.items():
        wrote = [one for one in book.finals if one.graded and name in one.graded.texts]
        done = [one.points[name] for one in wrote if name not in one.waiting]
        mean = f"{fmean(done):.2f} / {question.points:g}" if done else ""
        counts = "".join(f"<td class=number>{count}</td>" for count in (len(wrote), len(done)))
        rows += f"<tr><th>{escape(name)}</th>{counts}<td class=number>{mean}</td></tr>"
    if not rows:
        return ""
    head = "".join(f"<th class=number>{kind}</th>" for kind in ("answered", "marked", "mean"))
    link = f'<p><a href="{MARKING}">The page for marking</a></p>'
    return f"<h2>Questions</h2><div class=wide><table><tr><th></th>{head}</tr>{rows}</table></div>{link}"


def marks_of(name: str, graded: list[Graded]) -> list[tuple[str, Mark]]:
    return [(one.student, mark) for one in graded for mark in one.marks if mark.exercise == name]


def explanation(exercise: str, mistake: str) -> str:
    """Its words; a mistake may have left the catalogue since."""
    known = catalogue[exercise].mistakes.get(mistake) if exercise in catalogue else None
    return inline(known.explanation) if known else "(this mistake is no longer in the catalogue)"


def teach_next(graded: list[Graded], exercises: dict[str, float | int]) -> str:
    """The mistakes that most students made, then the exercise with most wrong answers that no mistake explains."""
    counted = [(c, name, m) for name in exercises for m, c in mistakes_of(name, graded).items()]
    lines = [
        f"{words(count, 'student', 'students')} of {len(graded)} made the mistake <strong>{m}</strong> in "
        f"<code>{name}</code>. {explanation(name, m)} It belongs to {inline(where_to_look(name))}."
        for count, name, m in sorted(counted, key=lambda one: -one[0])[:MOST_TO_TEACH]
    ]
    unnamed = [(len(unexplained(name, graded)), name) for name in exercises]
    for count, name in sorted(unnamed, reverse=True)[:1]:
        if count > 0:
            lines.append(
                f"<code>{name}</code> has {words(count, 'wrong answer', 'wrong answers')} of no kind that has a name: "
                f"{', '.join(code_link(s, name) for s in unexplained(name, graded)[:MOST_EXAMPLES])}. "
                f"It belongs to {inline(where_to_look(name))}."
            )
    if not lines:
        return "<p>Nothing: whatever was handed in is right.</p>"
    return "<ol class=teach>" + "".join(f"<li>{line}</li>" for line in lines) + "</ol>"


def unexplained(name: str, graded: list[Graded]) -> list[str]:
    """Who has a wrong answer that no mistake explains, and that doesn't follow from another answer."""
    found = marks_of(name, graded)
    return [s for s, m in found if m.verdict in ("wrong", "raised") and not m.mistake and not m.follows]


def exercises_table(book: Gradebook) -> str:
    """How many answers to each exercise got which verdict, and the points of the class."""
    rows, graded = "", book.graded
    there = {mark.verdict for one in graded for mark in one.marks}
    kinds = [kind for kind in VERDICTS if kind in there or kind in USUAL]
    some_follow = any(mark.follows for one in graded for mark in one.marks)
    for name, most in book.assignment.points.items():
        marks = [mark for _, mark in marks_of(name, graded)]
        counts, points = Counter(mark.verdict for mark in marks), fmean(mark.points for mark in marks) if marks else 0
        cells = "".join(f"<td class=number>{counts[kind] or ''}</td>" for kind in kinds)
        follow = f"<td class=number>{sum(bool(mark.follows) for mark in marks) or ''}</td>" if some_follow else ""
        mean = f"<td class=number>{points:.2f} / {most:g}</td>"
        rows += f"<tr><th>{name.replace('_', '_<wbr>')}</th>{mean}{cells}{follow}</tr>"
    columns = ("mean", *kinds, *(["follow"] if some_follow else []))
    head = "".join(f"<th class=number>{kind}</th>" for kind in columns)
    told = "follow: how many of these fail only because an earlier answer, which they call, is wrong."
    told = f"<p>{told}</p>" if some_follow else ""
    return f'<div class="wide broad"><table><tr><th></th>{head}</tr>{rows}</table></div>{told}'


def mistakes_of(name: str, graded: list[Graded]) -> Counter:
    return Counter(m.mistake for one in graded for m in one.marks if m.exercise == name and m.mistake)


def mistakes_list(name: str, graded: list[Graded]) -> str:
    counted, rows, rare = mistakes_of(name, graded).most_common(), "", ""
    for mistake, count in counted:
        who = [student for student, mark in marks_of(name, graded) if mark.mistake == mistake]
        links = ", ".join(code_link(student, name) for student in who)
        if count == 1 and len(graded) >= MANY:  # of a large class, it is for that student alone
            rare += f"<li><strong>{mistake}</strong> ({links}): {explanation(name, mistake)}</li>"
            continue
        rows += f"<li>{count} × <strong>{mistake}</strong>: {explanation(name, mistake)}<br>"
        rows += f"<details><summary>who</summary>{links}</details></li>"
    if rare:
        once = sum(count == 1 for _, count in counted)
        alone = words(once, "mistake made by one student", "mistakes made by one student each")
        rows += f"<li><details><summary>{alone}</summary><ul>{rare}</ul></details></li>"
    return f"<h3>{name}</h3><ul>{rows}</ul>" if rows else ""
