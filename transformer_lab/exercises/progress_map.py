"""The map of all exercises: what is solved, tried and open, by lesson, with kind, time and difficulty."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import groupby

from transformer_lab.exercises.engine.cards import COLOURS, INFO, PASSED, WRONG, Card, frame
from transformer_lab.exercises.engine.cards import OPEN as NOT_YET
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.progress.progress_store import OPEN, SOLVED, TRIED, progress_file, read_progress

MARKS = {SOLVED: PASSED, TRIED: WRONG, OPEN: NOT_YET}
TILES = "display:flex;flex-wrap:wrap;gap:6px;margin:0;padding:0;list-style:none;flex:1"
TILE = (
    "border:1px solid rgba(127,127,127,.35);border-left:4px solid;padding:3px 8px;margin:0;font-size:85%;flex:0 0 auto"
)
COLUMNS = ("lesson", "exercise", "kind", "minutes", "difficulty", "state")


@dataclass(frozen=True, repr=False)
class ProgressMap(Card):
    """A card with all exercises: in HTML a map with a line of tiles for each lesson, as text a table in columns."""

    rows: tuple[tuple[str, ...], ...] = ()

    def __repr__(self) -> str:
        table = [COLUMNS, *self.rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(COLUMNS))]
        lines = ["  ".join(x.ljust(width) for x, width in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join([super().__repr__(), "", *lines])

    def _repr_html_(self) -> str:
        lessons = "".join(line_of(lesson, [*rows]) for lesson, rows in groupby(self.rows, lambda row: row[0]))
        return frame(self.mark, self.title, f'<p style="margin:4px 0">{escape(self.text)}</p>{lessons}')


def line_of(lesson: str, rows: list[tuple[str, ...]]) -> str:
    """The line of a lesson: how much of it is solved, and a tile for each of its exercises."""
    solved = sum(row[-1].endswith(SOLVED) for row in rows)
    head = f'<div style="flex:0 0 5.5em"><strong>lesson {lesson}</strong><br>{solved} of {len(rows)} solved</div>'
    tiles = f'<ul style="{TILES}">{"".join(map(tile, rows))}</ul>'
    return f'<div style="display:flex;gap:8px;margin:10px 0">{head}{tiles}</div>'


def tile(row: tuple[str, ...]) -> str:
    """The tile of an exercise: its mark in the colour of its state, its name, and all details in words below."""
    _, name, kind, minutes, difficulty, state = row
    mark, _, how = state.partition(" ")
    shade = {SOLVED: ";background:rgba(0,158,115,.14)", TRIED: ";background:rgba(213,94,0,.12)"}.get(how, "")
    colour = f'style="color:{COLOURS[mark]};font-weight:bold" aria-hidden="true"'
    return (
        f'<li style="{TILE};border-left-color:{COLOURS[mark]}{shade}"><span {colour}>{mark}</span> '
        f"<code>{escape(name)}</code><br>{how} · {kind}<br>{minutes} minutes · difficulty {difficulty}</li>"
    )


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
