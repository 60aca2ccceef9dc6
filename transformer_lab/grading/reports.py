"""What comes out of grading: a table of points, a page for each student, a page on the class."""

import csv
import io
from collections import Counter
from html import escape
from pathlib import Path
from statistics import fmean, median

from transformer_lab import plots
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.cards import html_text, inline
from transformer_lab.grading.assignment import Assignment
from transformer_lab.grading.records import Graded, file_name
from transformer_lab.grading.scoring import VERDICTS, Mark

USUAL = ("ok", "wrong", "missing")
MARKS = {"ok": "✓", "missing": "○"}  # the others: ✗
STYLE = """<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { padding: 2px 10px; text-align: left; border-bottom: 1px solid #8885; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
section { border-left: 4px solid #8885; padding: 2px 14px; margin: 1rem 0; }
pre { white-space: pre-wrap; background: #8882; padding: 4px 8px; } img { max-width: 100%; background: #fff; }
</style>"""


def write_reports(graded: list[Graded], assignment: Assignment, out: Path) -> None:
    """Write grades.csv, feedback/<student>.html and report.html into the folder `out`."""
    write(out / "grades.csv", table(graded, assignment))
    pages = out / "feedback"
    pages.mkdir(exist_ok=True)
    for one in graded:
        write(pages / f"{file_name(one.student)}.html", feedback(one, assignment))
    write(out / "report.html", class_report(graded, assignment))


def write(path: Path, text: str) -> None:
    """As UTF-8. What can't be written so, half of a pair in an answer's own text for one, stays readable."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


# ── the table ──


def table(graded: list[Graded], assignment: Assignment) -> str:
    """One line a student: the total, the points of each exercise, verdicts that need a look, notes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", "points", "of", *assignment.points, "unusual", "notes"])
    for one in graded:
        points = [f"{mark.points:g}" for mark in one.marks]
        odd = "; ".join(f"{mark.exercise}: {mark.verdict}" for mark in one.marks if mark.verdict not in USUAL)
        row = [
            one.student,
            f"{one.points:g}",
            f"{sum(assignment.points.values()):g}",
            *points,
            odd,
            "; ".join(notes_of(one)),
        ]
        writer.writerow([defused(cell) for cell in row])
    return text.getvalue()


def notes_of(one: Graded) -> list[str]:
    return list(dict.fromkeys([*one.notes, *(note for mark in one.marks for note in mark.notes)]))


def defused(cell: str) -> str:
    """A spreadsheet must not take a student's text for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t")) else cell


# ── a student's page ──


def feedback(one: Graded, assignment: Assignment) -> str:
    """What a student reads: the points, and for each exercise what is wrong; no hidden input, no reference."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in one.notes)
    parts = [f"<h1>{escape(assignment.name)}: {escape(one.student)}</h1>"]
    parts.append(f"<p><strong>{one.points:g} of {sum(assignment.points.values()):g} points.</strong></p>")
    parts.append(f"<ul>{notes}</ul>" if notes else "")
    parts += [section(mark) for mark in one.marks]
    return page(f"{assignment.name}: {one.student}", "\n".join(parts))


def section(mark: Mark) -> str:
    recognised = f" ({mark.mistake})" if mark.mistake else ""
    title = f"{MARKS.get(mark.verdict, '✗')} {mark.exercise}: {mark.points:g} of {mark.most:g}{recognised}"
    notes = "".join(f"<p><em>{escape(note)}</em></p>" for note in mark.notes)
    return f"<section><h2>{escape(title)}</h2>{html_text(mark.message)}{notes}</section>"


# ── the class ──


def class_report(graded: list[Graded], assignment: Assignment) -> str:
    """What an instructor reads: points, the commonest mistakes of each exercise, who needs a look."""
    middle = median(one.points for one in graded) if graded else 0
    parts = [f"<h1>{escape(assignment.name)}: {len(graded)} students</h1>"]
    parts.append(f"<p>Median {middle:g} of {sum(assignment.points.values()):g} points.</p>")
    parts += [
        "<h2>Exercises</h2>",
        exercises_table(graded, assignment),
        "<h2>Commonest mistakes</h2>",
        mistakes_plot(graded, assignment),
    ]
    parts += [mistakes_list(name, graded) for name in assignment.points]
    parts += ["<h2>To look at</h2>", unusual_table(graded)]
    return page(f"{assignment.name}: the class", "\n".join(parts))


def exercises_table(graded: list[Graded], assignment: Assignment) -> str:
    """How many answers to each exercise got which verdict, and the points of the class."""
    rows = ""
    for name in assignment.points:
        marks = [mark for one in graded for mark in one.marks if mark.exercise == name]
        counts, points = Counter(mark.verdict for mark in marks), fmean(mark.points for mark in marks) if marks else 0
        cells = "".join(f"<td class=number>{counts[kind] or ''}</td>" for kind in VERDICTS)
        rows += f"<tr><th>{name}</th>{cells}<td class=number>{points:.2f} / {assignment.points[name]:g}</td></tr>"
    head = "".join(f"<th>{kind}</th>" for kind in (*VERDICTS, "mean"))
    return f"<table><tr><th></th>{head}</tr>{rows}</table>"


def mistakes_of(name: str, graded: list[Graded]) -> Counter:
    return Counter(m.mistake for one in graded for m in one.marks if m.exercise == name and m.mistake)


def mistakes_plot(graded: list[Graded], assignment: Assignment, most: int = 3) -> str:
    """The commonest mistakes of each exercise as bars, or a sentence where there are none."""
    counted = [(f"{n}: {m}", c) for n in assignment.points for m, c in mistakes_of(n, graded).most_common(most)]
    if not counted:
        return "<p>No known mistake was recognised.</p>"
    _, axes = plots.figure(width=7, height=0.6 + 0.32 * len(counted))
    names, counts = zip(*reversed(counted), strict=True)
    places = {name: place for place, name in enumerate(assignment.points)}
    shades = [("#0072b2", "#56b4e9")[places[name.partition(":")[0]] % 2] for name in names]  # neighbours differ
    axes.barh(names, counts, color=shades)
    axes.margins(y=0.3 / len(counted))
    axes.set_xlabel("students")
    axes.xaxis.get_major_locator().set_params(integer=True)
    return plots.show(axes, alt="; ".join(f"{name} ({count})" for name, count in counted) + ".").html()


def mistakes_list(name: str, graded: list[Graded]) -> str:
    counted = mistakes_of(name, graded).most_common()
    known = catalogue[name].mistakes
    rows = "".join(f"<li>{count} × <strong>{m}</strong>: {inline(known[m].explanation)}</li>" for m, count in counted)
    return f"<h3>{name}</h3><ul>{rows}</ul>" if rows else ""


def unusual_table(graded: list[Graded]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.student)}</td><td>{escape(mark.exercise)}</td><td>{mark.verdict}</td><td>{escape(mark.message)}</td></tr>"
        for one in graded
        for mark in one.marks
        if mark.verdict not in USUAL
    )
    notes = "".join(
        f"<tr><td>{escape(o.student)}</td><td colspan=3>{escape(n)}</td></tr>" for o in graded for n in notes_of(o)
    )
    return f"<table>{rows}{notes}</table>" if rows or notes else "<p>Nothing unusual.</p>"


def page(title: str, body: str) -> str:
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>{STYLE}'
    return f'<!doctype html><html lang="en">{head}<body>{body}</body></html>\n'
