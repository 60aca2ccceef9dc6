"""Tables that people keep: with commas, or, as Excel writes them in much of Europe, with semicolons; with tabs, too."""

import csv
from pathlib import Path

SEPARATORS = (",", ";", "\t")
Rows = list[tuple[int, dict[str, str]]]  # the line at which each ends, and its cells by column, without spaces around


def read_table(path: Path, what: str) -> tuple[tuple[str, ...], Rows]:
    """The columns of a table and its rows, but for empty ones.

    Raises:
        ValueError: it is no table in UTF-8; says what it should be.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            head = file.readline()
            file.seek(0)
            reader = csv.DictReader(file, delimiter=max(SEPARATORS, key=head.count))
            rows = [(reader.line_num, {k: (v or "").strip() for k, v in row.items() if k}) for row in reader]
            columns = tuple(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{what} {path} must be a table in UTF-8, such as CSV ({error})") from None
    return columns, [(line, row) for line, row in rows if any(row.values())]
