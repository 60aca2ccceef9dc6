"""What code prints, set as a table on the page: what a line is about, its numbers, and how large they are.

A terminal has one size of letters, and spaces to align with; a page has more. The text stays as it was printed. Where
its letters must stand below each other and no columns can be told apart, it keeps the letters of code.
"""

import re
from html import unescape
from itertools import pairwise

LABEL = re.compile(r"(\s*(?:[^\[\]{}'\"]|(?<=\w)')+?\s*:)\s+(?=\S)(.*)")
NUMBER = re.compile(r"(?<![\w.,/-])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w]|\.\d)|\b(?:True|False|nan)\b")
LIST = re.compile(r"\[([-+\d., e]*\d[-+\d., e]*)\]")
APART = re.compile(r" {2,}(?![-+\d ])")  # letters that stand below others
AMOUNT = re.compile(r"[-+]?\d(?=.).*")  # no verdict, and no digit that only counts
CROWDED = re.compile(r"\w {2,}[-+]?\d+ *$|\d +\d")  # two columns that are not told apart
TABLE = re.compile(r"\d {2,}\S")  # a number above or below others
SHARE = re.compile(r"^\s*(\d+(?:\.\d+)?)(?: to +(\d+(?:\.\d+)?))?( %)?(.*)$")
FIGURE_SPACE = "\u2007"  # as wide as a digit
LONGEST = 24  # lines of a print that is set
MARGIN, BAR = 46, 16  # letters of a print that has room in the margin, beside its code; and how many a bar takes
SLIM = "slim"  # the class of such a print
BESIDE = 20  # letters that leave room for numbers beside them on a phone
Row = list[str]


def typeset(escaped: str) -> str:
    """The lines of a print, set; nothing where it must keep the letters of code."""
    lines = unescape(escaped).rstrip("\n").split("\n")
    if len(lines) > LONGEST or any(re.match(r"\s*(\[\[|array|tensor)", line) for line in lines):
        return ""
    rows = next(filter(can_be_set, (labelled(lines), in_columns(lines), below_labels(lines))), [])
    if not rows:
        return ""
    bars = shares(rows)
    set_ = "".join(line(row, bar) for row, bar in zip(rows, bars, strict=True))
    kinds = ["printed", *(["single"] if len(rows) == 1 and AMOUNT.fullmatch(last_number(rows[0])) else [])]
    kinds += ["long"] if any(len(row) > 1 and len(row[0]) > BESIDE for row in rows) else []
    kinds += [SLIM] if max(map(len, lines)) + BAR * any(bars) <= MARGIN else []
    across = max(map(len, rows)) + any(bars)
    return f'<pre class="{" ".join(kinds)}" style="--across:{across}">{set_}</pre>'


def can_be_set(rows: list[Row]) -> bool:
    """Whether no letters of these rows must stand below others, and numbers are what most of them say."""
    apart = any(APART.search(cell.strip()) for row in rows for cell in row) or any(map(is_crowded, rows))
    return not apart and 2 * sum(map(bool, map(count, rows))) >= max(1, len(rows))


def is_crowded(row: Row) -> bool:
    return len(row) > 1 and bool(CROWDED.search(row[0]))


def labelled(lines: list[str]) -> list[Row]:
    """Lines of which most say first, before a colon, what they are about."""
    found = [LABEL.fullmatch(line) for line in lines]
    if 2 * sum(map(bool, found)) < len(lines):
        return []
    return [[re.sub(" +:$", ":", one[1]), one[2]] if one else [text] for one, text in zip(found, lines, strict=True)]


def in_columns(lines: list[str]) -> list[Row]:
    """Lines in the columns between which all of them are empty; whole lines where there are none."""
    wide = max(map(len, lines))
    padded = [line.ljust(wide) for line in lines]
    empty = "".join(" " if all(line[at] == " " for line in padded) else "x" for at in range(wide))
    begins = [0, *(found.end() for found in re.finditer(r"(?<=x) {2,}", empty))]
    if len(lines) < 2 or len(begins) < 2:  # one line has no columns
        return [[line] for line in lines]
    columns = [narrowed([line[start:end].rstrip() for line in padded]) for start, end in pairwise([*begins, wide])]
    return [list(row) for row in zip(*columns, strict=True)]


def below_labels(lines: list[str]) -> list[Row]:
    """Lines that begin with labels of one width, which only spaces fill up; nothing where they do not."""
    widths = range(2, min(map(len, lines)))
    edge = next((at for at in widths if all(one[at - 1] == " " != one[at] for one in lines)), 0)
    if not any(one[:edge].endswith("  ") for one in lines) or any(TABLE.search(one[edge:]) for one in lines):
        return []
    return [[one[:edge].rstrip(), one[edge:]] for one in lines]


def narrowed(column: list[str]) -> list[str]:
    """A column without the spaces that only put it below its heading."""
    head, *rest = column
    spare = min(len(one) - len(one.lstrip()) for one in rest)
    return [head.lstrip(), *(one[spare:] for one in rest)] if len(rest) > 1 else [one.lstrip() for one in column]


def shares(rows: list[Row]) -> list[tuple[float, float] | None]:
    """From where to where each row's share reaches, if each of them has one and says the same of it."""
    found = [SHARE.match(row[1]) if len(row) == 2 else None for row in rows]
    kinds = {(one[3], bool(one[2]), one[4].strip()) for one in found if one}
    if len(rows) < 2 or None in found or len(kinds) != 1 or NUMBER.search(next(iter(kinds))[2]):
        return [None] * len(rows)
    whole = 100 if found[0][3] else 1
    ends = [[float(one[1]) / whole, float(one[2] or one[1]) / whole] for one in found if one]
    is_share = all(high <= 1 for _, high in ends) and (whole == 100 or all("." in one[1] for one in found if one))
    if not is_share or max(high for _, high in ends) == 0:
        return [None] * len(rows)
    return [(low if one[2] else 0, high) for one, (low, high) in zip(found, ends, strict=True) if one]


def line(row: Row, bar: tuple[float, float] | None) -> str:
    about, *rest = row if len(row) > 1 else ["", *row]
    rest = [re.sub("^ +", lambda found: FIGURE_SPACE * len(found[0]), cell) for cell in rest]  # and no line ends there
    label = f'<span class="about">{escaped_text(re.sub(" +", " ", about))}</span>'
    cells = label if len(row) > 1 else ""
    cells += "".join(f'<span class="says">{numbered(cell)}</span>' for cell in rest)
    if bar:
        cells += f'<span class="bar" style="--from:{bar[0]:.3f};--to:{bar[1]:.3f}"></span>'
    return f'<span class="line{" whole" * (not about and len(row) < 2)}">{cells}\n</span>'


def numbered(text: str) -> str:
    """A text with its numbers marked, and its lists of amounts as cells that are as dark as these are large."""
    parts, at = [], 0
    for found in LIST.finditer(text):
        parts += [with_numbers(text[at : found.start()]), listed(found)]
        at = found.end()
    return "".join(parts) + with_numbers(text[at:])


def listed(found: re.Match[str]) -> str:
    items = [item.strip() for item in found[1].split(",")]
    try:
        amounts = [float(item) for item in items]
    except ValueError:
        return with_numbers(found[0])
    if not all(0 <= one <= 1 for one in amounts) or all("." not in item for item in items):
        return with_numbers(found[0])
    cells = "<i>, </i>".join(f'<b style="--a:{x:g}">{item}</b>' for x, item in zip(amounts, items, strict=True))
    return f'<span class="amounts"><i>[</i>{cells}<i>]</i></span>'


def with_numbers(text: str) -> str:
    return "".join(
        f"<b>{part}</b>" if NUMBER.fullmatch(part) else escaped_text(part)
        for part in re.split(f"({NUMBER.pattern})", text)
    )


def escaped_text(text: str) -> str:
    """A text whose spaces before a number are as wide as the digits that they stand for."""
    kept = re.sub(" {2,}", lambda found: FIGURE_SPACE * (len(found[0]) - 1) + " ", text)
    return kept.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def count(row: Row) -> int:
    return sum(len(NUMBER.findall(cell)) for cell in row)


def last_number(row: Row) -> str:
    """The number of a row, if it has one or two that are no list."""
    found = NUMBER.findall(row[-1])
    return found[-1] if len(found) in (1, 2) and "[" not in row[-1] else ""
