"""The map of all exercises: what is solved, tried and open, by lesson, with kind, time and difficulty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from transformer_lab.exercises.engine.card_look import dots, frame
from transformer_lab.exercises.engine.cards import INFO, PASSED, WRONG, Card, folded
from transformer_lab.exercises.engine.cards import OPEN as NOT_YET
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.progress.progress_store import OPEN, SOLVED, TRIED, progress_file, read_progress

MARKS = {SOLVED: PASSED, TRIED: WRONG, OPEN: NOT_YET}
COLUMNS = ("lesson", "exercise", "kind", "minutes", "difficulty", "state")
CELL = "padding:2px 14px 2px 0;text-align:left"


@dataclass(frozen=True, repr=False)
class ProgressMap(Card):
    """A card with all exercises: in HTML a row of dots for each lesson, and a table folded; as text that table."""

    rows: tuple[tuple[str, ...], ...] = ()

    def __repr__(self) -> str:
        table = [COLUMNS, *self.rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(COLUMNS))]
        lines = ["  ".join(x.ljust(width) for x, width in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join([super().__repr__(), "", *lines])

    def _repr_html_(self) -> str:
        lessons = "".join(line_of(lesson, [*rows]) for lesson, rows in groupby(self.rows, lambda row: row[0]))
        grid = "display:grid;grid-template-columns:repeat(auto-fill,minmax(15em,1fr));gap:4px 20px;margin:0;padding:0"
        above = f'<p style="margin:4px 0 10px">{escape(self.text)}</p><ul style="{grid};list-style:none">{lessons}</ul>'
        return frame(self.mark, escape(self.title), above + folded("all exercises by name", table_of(self.rows)))


def line_of(lesson: str, rows: Sequence[tuple[str, ...]]) -> str:
    """The row of a lesson: its number, and a dot for each exercise."""
    marks = [row[-1].partition(" ")[0] for row in rows]
    told = f"lesson {lesson}: {marks.count(PASSED)} of {len(rows)} solved, {marks.count(WRONG)} tried"
    number = f'<strong style="display:inline-block;width:2em">{lesson}</strong>'
    return f'<li style="margin:0;white-space:nowrap">{number}{dots(marks, told)}</li>'


def table_of(rows: Sequence[tuple[str, ...]]) -> str:
    """All that is known of each exercise, in columns."""
    head = "".join(f'<th scope="col" style="{CELL}">{name}</th>' for name in COLUMNS)
    cells = ("".join(f'<td style="{CELL}">{cell(row, i)}</td>' for i in range(len(row))) for row in rows)
    lines = "".join(f"<tr>{of_row}</tr>" for of_row in cells)
    return f'<table style="border-collapse:collapse;margin:6px 0"><tr>{head}</tr>{lines}</table>'


def cell(row: Sequence[str], i: int) -> str:
    return f"<code>{escape(row[i])}</code>" if COLUMNS[i] == "exercise" else escape(row[i])


def progress_map(catalogue: Mapping[str, Exercise]) -> ProgressMap:
    kept = read_progress()
    state = {name: kept.get(name, OPEN) for name in catalogue}
    rows = tuple(
        (one.lesson, one.name, one.kind, str(one.minutes), f"{one.difficulty} of 3", f"{MARKS[how]} {how}")
        for one, how in ((one, state[name]) for name, one in catalogue.items())
    )
    n = {how: sum(one == how for one in state.values()) for how in MARKS}
    left = sum(one.minutes for name, one in catalogue.items() if state[name] != SOLVED)
    title = f"{n[SOLVED]} of {len(state)} exercises solved, {n[TRIED]} tried, {n[OPEN]} open"
    where = progress_file()
    text = f"About {left} minutes are left. " + (f"Kept in {where}." if where else "Progress is not kept.")
    return ProgressMap(INFO, title, text, rows=rows)
