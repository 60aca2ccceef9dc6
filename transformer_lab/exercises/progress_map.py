"""The map of all exercises: what is solved, tried and open, by lesson, with kind, time and difficulty."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from transformer_lab.exercises.cards import COLOURS, INFO, PASSED, WRONG, Card, frame
from transformer_lab.exercises.cards import OPEN as NOT_YET
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.progress_store import OPEN, SOLVED, TRIED, progress_file, read_progress

MARKS = {SOLVED: PASSED, TRIED: WRONG, OPEN: NOT_YET}
COLUMNS = ("lesson", "exercise", "kind", "minutes", "difficulty", "state")


@dataclass(frozen=True, repr=False)
class ProgressMap(Card):
    """A card with a line for each exercise, as a table in HTML and in columns as text."""

    rows: tuple[tuple[str, ...], ...] = ()

    def __repr__(self) -> str:
        table = [COLUMNS, *self.rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(COLUMNS))]
        lines = ["  ".join(x.ljust(width) for x, width in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join([super().__repr__(), "", *lines])

    def _repr_html_(self) -> str:
        cell = 'style="padding:2px 10px 2px 0;text-align:left"'
        head = "".join(f'<th scope="col" {cell}>{column}</th>' for column in COLUMNS)
        lines = "".join(f"<tr>{''.join(f'<td {cell}>{coloured(x)}</td>' for x in row)}</tr>" for row in self.rows)
        table = f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'
        return frame(self.mark, self.title, f'<p style="margin:4px 0">{escape(self.text)}</p>{table}')


def coloured(text: str) -> str:
    """The mark of a state in its colour; anything else as it is."""
    mark, _, state = text.partition(" ")
    if mark not in MARKS.values():
        return escape(text)
    return f'<span style="color:{COLOURS[mark]};font-weight:bold" aria-hidden="true">{mark}</span> {escape(state)}'


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
