"""Analytics over the assignments of a term: which mistakes persist, which exercises separate, who falls behind."""

import csv
import io
from collections import defaultdict
from dataclasses import replace
from statistics import StatisticsError, correlation, fmean

from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.grading.handout.roster import folded
from transformer_lab.grading.reports.grade_tables import defused
from transformer_lab.grading.reports.summaries import Summary

FEWEST = 5  # students, below which a correlation says nothing
BETTER_FAIL = "look at it: the better fail"
FALLEN = 0.5  # of the points: who had more before and has less now falls behind
LEFT_OUT = "a step of the computation left out"
FAMILIES = {  # mistakes of one kind in several exercises, by a part of their names
    "true means hidden (a mask turned round)": ("is_true", "hidden", "forbidden", "future_only", "allowed_ones"),
    "the wrong axis": (
        *("axis", "over_queries", "over_the_queries", "over_the_batch", "over_the_features", "over_the_heads"),
        *("over_the_sentence", "over_time", "over_all_rows", "all_rows_together", "columns_sum"),
    ),
    "scaled or divided in a wrong way": ("scale", "divided_by", "multiplied_by_root", "multiplied_by_the_root"),
    "one position too early or too late": (
        "one_step",
        "strict",
        "one_too",
        "shifted",
        "ahead",
        "from_one",
        "at_itself",
    ),
    "transposed or exchanged": ("transposed", "exchanged", "swapped", "turned_round", "interleaved", "straight_view"),
    "an exponential that overflows": ("overflow", "without_the_maximum", "without_a_maximum"),
    "a low number where minus infinity belongs": ("minus_1", "tiny_number"),
    LEFT_OUT: ("no_", "not_divided", "without", "forgotten", "ignored"),
}
FUNCTIONS = (
    Exercise.kind,
    FindTheBug.kind,
)  # elsewhere a name tells what was not thought of, and no step of a function


def family(exercise: str, mistake: str) -> str:
    """The kind of a mistake: one of FAMILIES, or the mistake itself."""
    kinds = [kind for kind, parts in FAMILIES.items() if any(part in mistake for part in parts)]
    if exercise in catalogue and catalogue[exercise].kind not in FUNCTIONS:
        kinds = [kind for kind in kinds if kind != LEFT_OUT]
    return kinds[0] if kinds else f"{exercise}: {mistake}"


def mistakes_of(term: list[Summary]) -> dict[str, list[str]]:
    """The mistakes that were made of each kind, each after its exercise."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for student in (student for one in term for student in one.students.values()):
        for exercise, done in student["exercises"].items():
            if done["mistake"]:
                found[family(exercise, done["mistake"])][f"{exercise}: {done['mistake']}"] = None
    return {kind: sorted(names) for kind, names in found.items()}


def persisting(term: list[Summary]) -> list[tuple[str, list[int], list[str]]]:
    """Each kind of mistake: how many made it in each assignment, and who made it in more than one; these decide."""
    made: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for number, one in enumerate(term):
        for id_, student in one.students.items():
            for exercise, done in student["exercises"].items():
                if done["mistake"]:
                    made[family(exercise, done["mistake"])][id_].add(number)
    found = [
        (
            kind,
            [sum(n in when for when in who.values()) for n in range(len(term))],
            [i for i, w in who.items() if len(w) > 1],
        )
        for kind, who in made.items()
    ]
    return sorted(found, key=lambda one: (-len(one[2]), -sum(one[1])))


def separation(term: list[Summary]) -> list[tuple[str, str, float | int, float | int | None]]:
    """Assignment, exercise, mean share of its points, and how that goes along with a student's share of all the others.

    Near 1 who is good elsewhere is good here; near 0 it separates nobody; below 0 something is wrong with it.
    """
    lines = []
    for one in term:
        for exercise in one.points:
            here, elsewhere = [], []
            for id_, student in one.students.items():
                if student["handed_in"] and not one.waits(id_, exercise):
                    there = [o for o in term if not o.lacks(id_)]
                    others = [(o, e) for o in there for e in o.points if (o, e) != (one, exercise)]
                    others = [(o, e) for o, e in others if not o.waits(id_, e)]
                    rest = [(o.share(id_, e), o.points[e]) for o, e in others]
                    here.append(one.share(id_, exercise))
                    elsewhere.append(sum(s * p for s, p in rest) / sum(p for _, p in rest) if rest else 0.0)
            if here:
                lines.append((one.name, exercise, fmean(here), along(here, elsewhere)))
    return lines


def along(here: list[float | int], elsewhere: list[float | int]) -> float | int | None:
    if len(here) < FEWEST:
        return None
    try:
        return correlation(here, elsewhere)
    except StatisticsError:  # all have the same
        return None


def verdict(mean: float | int, r: float | int | None) -> str:
    """What is said of an exercise with such a mean and such a correlation."""
    if r is None:
        return "everybody has the same" if mean in (0, 1) else ""
    return "separates nobody" if abs(r) < 0.2 else BETTER_FAIL if r < 0 else ""


def falling(term: list[Summary]) -> list[tuple[str, list[float | int | None]]]:
    """Who did well enough before the last assignment, and not in it; None for one in which they were not there yet."""
    found: list[tuple[str, list[float | int | None]]] = []
    for id_ in names_of(term):
        shares = [None if one.lacks(id_) else one.total(id_) for one in term]
        before, last = [share for share in shares[:-1] if share is not None], shares[-1]
        if before and last is not None and fmean(before) >= FALLEN > last:
            found.append((id_, shares))
    return found


def not_always_there(term: list[Summary]) -> list[tuple[str, list[str]]]:
    """Who came later or left, by their id, and the assignments at whose time they were not in the course."""
    lacking = [(id_, [one.name for one in term if one.lacks(id_)]) for id_ in names_of(term)]
    return [(id_, names) for id_, names in lacking if names]


def names_of(term: list[Summary]) -> dict[str, str]:
    """The name of everybody, by their id: the last that is known."""
    told = [(id_, student["name"]) for one in term for id_, student in one.students.items()]
    return dict.fromkeys((id_ for id_, _ in told), "") | {id_: name for id_, name in told if name}


def one_row_each(term: list[Summary]) -> list[Summary]:
    """The same, with one id for each person: who is not on a roster has that of the only person of the same name.

    A submission of Moodle's, say, is named after its student and a number, which is another in each assignment.
    """
    named: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    known: set[str] = set()
    for number, one in enumerate(term):
        for id_, student in one.students.items():
            if student["name"] or student.get("is_numbered_anew"):
                named[folded(student["name"] or id_.rpartition("_")[0])][number].add(id_)
                known |= {id_} if student["name"] else set()
    new: dict[str, str] = {}
    for where in named.values():
        ids = dict.fromkeys(id_ for many in where.values() for id_ in many)
        sure = [id_ for id_ in ids if id_ in known]
        if len(sure) <= 1 and all(len(many) == 1 for many in where.values()):
            new |= dict.fromkeys(ids, (sure or [*ids])[0])
    return [
        replace(one, students={new.get(id_, id_): student for id_, student in one.students.items()}) for one in term
    ]


def table(term: list[Summary]) -> str:
    """A row for each person. A cell is empty where they were not in the course; `of` is out of all that they were."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "name", *(one.name for one in term), "sum", "of"])
    for id_, name in names_of(term).items():
        there = [one for one in term if not one.lacks(id_)]
        totals = {one.name: one.students[id_]["total"] if id_ in one.students else 0.0 for one in there}
        cells = [f"{totals[one.name]:g}" if one.name in totals else "" for one in term]
        most = sum(sum(one.points.values()) for one in there)
        row = [id_, name, *cells, f"{round(sum(totals.values()), 2):g}", f"{most:g}"]
        writer.writerow([defused(cell) for cell in row])
    return text.getvalue()
