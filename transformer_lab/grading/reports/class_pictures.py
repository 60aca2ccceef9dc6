"""The pictures with which the report on a class opens: points, exercises, mistakes."""

from transformer_lab.grading.gradebook.final_grades import Gradebook
from transformer_lab.grading.reports import charts
from transformer_lab.grading.reports.pages import words
from transformer_lab.grading.reports.summaries import as_summary, summary
from transformer_lab.grading.reports.term import BETTER_FAIL, FEWEST, separation, verdict

MOST_MISTAKES = 12


def class_pictures(book: Gradebook) -> str:
    """All of them, of those who handed something in."""
    if not book.graded:
        return ""
    return "\n".join([charts.STYLE, points(book), exercises(book), mistakes(book)])


def points(book: Gradebook) -> str:
    """How many have how many points."""
    there = [one.total for one in book.finals if one.graded]
    bars = charts.counted(there, book.assignment.total)
    told = [f"from {start:g} points {words(count, 'student', 'students')}" for start, count in bars if count]
    each = "parts of a point are rounded down" if bars[-1][0] == len(bars) - 1 else "a bar goes up to the next number"
    caption = f"How many students have how many points; {each}."
    unit = f"points of {book.assignment.total:g}"
    return charts.figure(
        "Points", lambda width: charts.histogram(bars, unit, width), f"Points: {', '.join(told)}.", caption
    )


def exercises(book: Gradebook) -> str:
    """Which exercise tells strong from weak students."""
    found = [(name, mean, r) for _, name, mean, r in separation([as_summary(summary(book))])]
    if all(r is None for _, _, r in found):
        few = len(book.graded) < FEWEST
        why = f"fewer than {FEWEST} handed in" if few else "it takes several, with different points"
        return f"<p>Which exercise separates strong from weak students can't be told: {why}.</p>"
    found.sort(key=lambda one: -2.0 if one[2] is None else one[2], reverse=True)
    rows = [charts.Lever(n, r, f"mean {100 * mean:.0f} %", verdict(mean, r) == BETTER_FAIL) for n, mean, r in found]
    told = [f"{n} {'cannot be told' if r is None else f'{r:+.2f}'}, mean {100 * mean:.0f} %" for n, mean, r in found]
    caption = (
        "How an exercise goes along with the points of all others (their correlation). Far to the right, who is good "
        "elsewhere is good here; near 0 it separates nobody; left of 0 the better fail, so look at how it is asked."
    )
    alt = f"Which exercise separates: {'; '.join(told)}."
    ends = ("0: nobody", "1: as all others")
    return charts.figure("Which exercise separates", lambda width: charts.levers(rows, ends, width), alt, caption)


def mistakes(book: Gradebook) -> str:
    """Who made which of the commonest mistakes, if there are any."""
    order = sorted((one for one in book.finals if one.graded), key=lambda one: -one.total)
    made: dict[tuple[str, str], set[int]] = {}
    for place, one in enumerate(order):
        for mark in one.marks:
            if mark.mistake:
                made.setdefault((mark.mistake, mark.exercise), set()).add(place)
    if not made:
        return ""
    shared = {mistake: who for mistake, who in made.items() if len(who) > 1} or made
    common = sorted(shared.items(), key=lambda one: -len(one[1]))[:MOST_MISTAKES]
    rows = [charts.Row(mistake, exercise, frozenset(who)) for (mistake, exercise), who in common]
    told = [f"{row.name} in {row.below} {words(len(row.filled), 'student', 'students')}" for row in rows]
    more = f" The commonest {len(rows)} of {len(made)} are shown." if len(made) > len(rows) else ""
    caption = "Each column is a student, each row a mistake that has a name. "
    caption += f"One that is made on the left, too, is for the whole class.{more}"
    names = [one.name or one.student for one in order]
    ends = ("most points", "fewest")
    alt = f"Who made which mistake: {'; '.join(told)}."
    return charts.figure("Who made which mistake", lambda width: charts.grid(rows, names, ends, width), alt, caption)
