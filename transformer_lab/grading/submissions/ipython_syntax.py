"""Cells as IPython reads them: magics, shell lines and help, wherever they stand. Nothing is run.

IPython's own reader turns them into Python, `x = !ls` into `x = get_ipython().getoutput('ls')`. Lines keep their
numbers. Of a cell that can't be read even so, the statements that can be are kept.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from IPython.core.inputtransformer2 import TransformerManager

CELL_MAGIC = re.compile(r"(?:[ \t\r]*(?:#.*)?\n)*%%(\S+)[ \t]*(.*)(?:\n|\Z)")  # Colab allows comments above it
WRITES = ("writefile", "file")
TIMED = "timeit"  # runs its cell as Python, but keeps none of the names
ELSEWHERE = {  # what runs its cell in another language or another process, or shows it
    *("bash", "sh", "!", "sx", "system", "script", "cmd", "perl", "ruby", "js", "javascript", "html", "HTML", "latex"),
    *("markdown", "svg", "SVG", "css", "pypy", "python", "python2", "python3", "R", "sql", "cython", "bigquery", "ai"),
    *("shell", "julia", "octave", "mermaid", "cu", "cpp", "nvcc", "writetemplate"),
}
TIME = re.compile(r"([ \t]*)get_ipython\(\)\.run_line_magic\('time', (.+)\)[ \t\r]*")  # `%time x = f()` binds x
MARK = re.compile(r"[%!?]|^\s*[,;/]|>>> |In \[")  # what IPython's own lines have, and others may
MOST_MARKED, MOST_WORK = 60, 1 << 18  # lines with marks; these times characters: IPython reads all anew for each
JOINED = re.compile(r"[ \t\r)\]}]|(?:else|elif|except|finally)\b|\Z")  # a line that goes on with what is above it


class File(NamedTuple):
    """What a cell writes into a file, `%%writefile helpers.py`."""

    path: str
    text: str
    is_added: bool  # to what is there


class Read(NamedTuple):
    """A cell as Python, and its statements; `fault` tells what could not be read, and `file` what it writes."""

    text: str
    body: tuple[ast.stmt, ...]
    fault: SyntaxError | None = None
    file: File | None = None


def read(text: str, keep_what_can_be: bool = True) -> Read:
    """Read a cell. One that is no Python for this session, such as `%%bash`, has no statements.

    Raises:
        ValueError, RecursionError, MemoryError: it is too strange for Python's parser.
    """
    try:
        return Read(text, tuple(ast.parse(text).body))
    except SyntaxError:
        pass
    if found := CELL_MAGIC.match(text):
        name, rest = found[1], text[found.end() :]
        if name in WRITES:
            return Read("", (), file=file_of(found[2], rest))
        if name in ELSEWHERE:
            return Read("", ())
        inner = read(rest, keep_what_can_be)
        return moved(inner, found[0].count("\n"))
    plain = as_python(text)
    try:
        return Read(plain, tuple(ast.parse(plain).body))
    except SyntaxError as fault:
        kept = readable_parts(text) if keep_what_can_be else ""
        return Read(kept or plain, tuple(ast.parse(kept).body), fault)


def moved(inner: Read, lines: int) -> Read:
    """What stands below a magic, with the numbers of its lines in the whole cell."""
    text = "\n" * lines + inner.text
    if inner.fault and inner.fault.lineno:
        inner.fault.lineno += lines
    return inner._replace(text=text, body=tuple(ast.parse(text).body) if inner.body else ())


def file_of(arguments: str, text: str) -> File | None:
    words = arguments.split()
    paths = [word.strip("'\"") for word in words if not word.startswith("-")]
    return File(paths[0], text, any(word in ("-a", "--append") for word in words)) if paths else None


def as_python(text: str) -> str:
    """The text with IPython's own lines as calls, each in its place."""
    marked = sum(bool(MARK.search(line)) for line in text.split("\n"))
    if not marked or marked > MOST_MARKED or marked * len(text) > MOST_WORK:
        return text
    lines = [f"{line}\n" for line in text.split("\n")]
    for transform in reader().cleanup_transforms[2:]:  # prompts; blank lines and indents at the beginning stay
        lines = transform(lines)  # type: ignore[operator]  # its list has functions and objects that are called
    try:
        whole = "".join(reader().do_token_transforms(lines))[:-1]
    except RuntimeError:  # it gives up after 500 marks
        return text
    return "\n".join(map(timed, whole.split("\n")))


def timed(line: str) -> str:
    """`%time x = f()` as what it runs."""
    if found := TIME.fullmatch(line):
        statement = ast.literal_eval(found[2])
        try:
            ast.parse(statement)
        except SyntaxError:
            return line
        return f"{found[1]}{statement}"
    return line


@cache
def reader() -> "TransformerManager":
    """IPython's own, except that each line stays where it is, although a command may go on over several."""
    from IPython.core.inputtransformer2 import TransformerManager

    class LineForLine(TransformerManager):
        def do_one_token_transform(self, lines: list[str]) -> tuple[bool, list[str]]:
            changed, new = super().do_one_token_transform(lines)
            missing = ["\n"] * (len(lines) - len(new))
            pairs = enumerate(zip(lines, new, strict=False), start=1)
            at = next((number for number, (one, other) in pairs if one != other), len(new)) if missing else 0
            return changed, [*new[:at], *missing, *new[at:]]

    return LineForLine()


def readable_parts(text: str) -> str:
    """The text with those of its statements that can be read; blank lines stand for the others."""
    kept, marked = [], 0
    for lines in statements(text.split("\n")):
        part = "\n".join(lines)
        marked += bool(MARK.search(part))
        part = as_python(part) if marked <= MOST_MARKED else part
        try:
            ast.parse(part)
        except (SyntaxError, ValueError):
            part = "\n" * (len(lines) - 1)
        kept.append(part)
    whole = "\n".join(kept)
    try:
        ast.parse(whole)
    except SyntaxError:
        return ""
    return whole


def statements(lines: list[str]) -> Iterator[list[str]]:
    """The lines of each statement, as their indents tell."""
    part: list[str] = []
    for line in lines:
        if part and not JOINED.match(line) and not part[-1].startswith("@"):
            yield part
            part = []
        part.append(line)
    yield part
