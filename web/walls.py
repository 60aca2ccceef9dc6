"""Code that is long on a phone: it is folded there to its first lines, and a line says what the whole does."""

import ast
from collections.abc import Iterator
from html import escape
from math import ceil

ACROSS = 46  # letters of a line of code on a phone, where it goes on below itself
ROWS = 16  # of code that is folded there, at least, one more
NAMED = 3  # of what is defined or made


def way_to_all(code: list[str]) -> str:
    """What stands below code that is long on a phone: a way to all of its lines, as HTML; else nothing."""
    if sum(ceil(max(1, len(line)) / ACROSS) for line in code) <= ROWS:
        return ""
    count = sum(bool(line.strip()) for line in code)
    said = escape(": ".join(filter(None, (f"All {count} lines", ", ".join(does("\n".join(code)))))))
    return f'<label class="all-lines" data-more="{said}"><input type="checkbox" aria-label="{said}"></label>'


def does(source: str) -> Iterator[str]:
    """What a program defines and makes, by names, and whether it prints."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return
    defined = [one.name for one in body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    stored = [n for one in body if not isinstance(one, ast.FunctionDef | ast.ClassDef) for n in ast.walk(one)]
    made = [n.id for n in stored if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and len(n.id) > 1]
    for what, names in (("defines", defined), ("makes", made)):
        if names:
            yield f"{what} {in_words([*dict.fromkeys(names)])}"
    if any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "print" for n in stored):
        yield "prints"


def in_words(names: list[str]) -> str:
    few = names[:NAMED] if len(names) <= NAMED else [*names[: NAMED - 1], "more"]
    return " and ".join(filter(None, (", ".join(few[:-1]), few[-1])))
