"""Small values as they are drawn on a card: matrices as cells, numbers, lists and words as boxes."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from math import inf, isfinite, prod

import torch
from torch import Tensor

from transformer_lab.exercises.engine.comparing import show

ROWS, COLUMNS = 6, 8  # that a matrix may have at most
LETTERS = 90  # of a list or a dictionary
DECIMALS, FINE = 2, 4  # at most in a cell, and of a number that stands alone
CELL = 4  # letters for which each cell has room
LARGE = 1e6  # from which on a number is written with its exponent
SIGNS = {inf: "∞", -inf: "−∞"}
Row = tuple[str, ...]


def is_small(value: object) -> bool:
    """Whether a value can be taken in at a glance."""
    if isinstance(value, Tensor):
        *above, rows, columns = (1, 1, *value.shape)
        return value.numel() > 0 and rows <= ROWS and columns <= COLUMNS and prod(above) <= ROWS
    if isinstance(value, (list, dict, str, tuple)):
        return not any(isinstance(one, Tensor) for one in value) and 0 < len(show(value)) <= LETTERS
    return isinstance(value, (int, float))


@dataclass(frozen=True)
class Part:
    """One value: the cells of its matrices, as they are written; the numbers in them; and its shape, if it has one."""

    name: str
    shape: tuple[int, ...]
    matrices: tuple[tuple[Row, ...], ...]
    numbers: tuple[float, ...]

    @classmethod
    def of(cls, value: object, name: str, decimals: int = FINE) -> "Part":
        if not isinstance(value, Tensor):
            return cls(name, (), (((written(value, decimals),),),), tuple(map(float, alone(value))))
        decimals = min(decimals, FINE if value.numel() == 1 else DECIMALS)
        cells = value.detach().reshape(-1, *(1, 1, *value.shape)[-2:])
        write = ticked if value.dtype == torch.bool and value.dim() else written
        matrices = tuple(tuple(tuple(write(x, decimals) for x in row) for row in one) for one in cells.tolist())
        return cls(name, tuple(value.shape), matrices, tuple(cells.double().flatten().tolist()))

    @property
    def look(self) -> tuple:
        return self.shape, self.matrices


def alone(value: object) -> list[float]:
    return [value] if isinstance(value, float) else []


def ticked(x: bool, _: int) -> str:
    """A cell of a mask; what is true or false by itself is written as a word."""
    return "✓" if x else "·"


def written(x: object, decimals: int) -> str:
    if not isinstance(x, float):
        return show(x)
    if not isfinite(x):
        return SIGNS.get(x, "nan")
    text = f"{x:.0e}".replace("e+0", "e") if abs(x) >= LARGE else f"{round(x, decimals) + 0.0:.{decimals}f}"
    return text.replace("-", "−")


def decimals_of(numbers: Iterable[float]) -> int:
    """How many decimals are enough to write all of these numbers as exactly as the finest way does."""
    fine = [round(x, FINE) for x in numbers if isfinite(x)]
    return next((n for n in range(FINE) if all(round(x, n) == x for x in fine)), FINE)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A result: its parts, by their names. Two are equal if they look alike."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, value: object, names: tuple[str, ...] = ("",), decimals: int = FINE) -> "Drawn":
        values = value if isinstance(value, tuple) and len(names) > 1 else (value,)
        labels = names if len(values) == len(names) > 1 else ("",) * len(values)
        return cls(tuple(Part.of(one, name, decimals) for one, name in zip(values, labels, strict=True)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Drawn) and [one.look for one in self.parts] == [one.look for one in other.parts]

    def __hash__(self) -> int:
        return hash(tuple(one.look for one in self.parts))

    @property
    def form(self) -> tuple:
        return tuple(one.shape for one in self.parts)

    @property
    def is_finite(self) -> bool:
        return all(map(isfinite, self.numbers))

    @property
    def numbers(self) -> list[float]:
        return [x for one in self.parts for x in one.numbers]

    @property
    def largest(self) -> float:
        return max((abs(x) for x in self.numbers if isfinite(x)), default=0)

    @property
    def letters(self) -> int:
        """How many letters the longest row has, where each cell has room for a few."""
        rows = [row for one in self.parts for matrix in one.matrices for row in matrix]
        return max(sum(max(len(x), CELL) for x in row) for row in rows)

    def html(self, right: "Drawn | None" = None, scale: float = 0, with_shape: bool = False) -> str:
        """The drawing. Where it differs from what is `right`, in the same form, a cell is marked as off."""
        other = right.parts if right and right.form == self.form else (None,) * len(self.parts)
        scale = scale or self.largest
        parts = "".join(part_html(*both, scale, with_shape) for both in zip(self.parts, other, strict=True))
        return f'<span class="parts">{parts}</span>'


def part_html(part: Part, right: Part | None, scale: float, with_shape: bool) -> str:
    shape = f"({', '.join(map(str, part.shape))}{',' * (len(part.shape) == 1)})" if with_shape and part.shape else ""
    label = escape(" ".join(filter(None, (part.name, shape))))
    numbers = iter(part.numbers)
    tables = []
    for i, matrix in enumerate(part.matrices):
        rows = ""
        for t, row in enumerate(matrix):
            wanted = right.matrices[i][t] if right else (None,) * len(row)
            rows += (
                f"<tr>{''.join(cell(*both, next(numbers, 0), scale) for both in zip(row, wanted, strict=True))}</tr>"
            )
        tables.append(f'<table class="weights"><tbody>{rows}</tbody></table>')
    name = f'<span class="label">{label}</span>' if label else ""
    return f'<span class="part">{name}<span class="boards">{"".join(tables)}</span></span>'


def cell(text: str, wanted: str | None, number: float, scale: float) -> str:
    """A cell, as full of colour as its number is large; a negative one has a colour of its own."""
    share = min(1, abs(number) / scale) if scale and isfinite(number) else 0
    kind = " ".join(["minus"] * (number < 0) + ["off"] * (wanted is not None and wanted != text))
    attribute = f' class="{kind}"' if kind else ""
    return f'<td{attribute} style="--share:{share:.2g}">{escape(text)}</td>'
