"""What a finished notebook looks like: each rule takes a notebook and its path, and lists what breaks it."""

import ast
import json
import math
import re
import symtable
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

from nbformat import NotebookNode

from notebooks import drawings

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 1_200_000
MOST_LINES, MOST_LINES_OF_A_DEFINITION = 10, 25
MOST_WORDS = 150
LONGEST_LINE = 100  # as many as JupyterLab shows in a window 1100 pixels wide
ABSOLUTE_PATH = re.compile(r"(?<![\w+/.])/(?:home|root|tmp|Users)/|\b[A-Z]:\\")
PICTURE_BY_PATH = re.compile(r"""!\[[^]]*\]\((?!attachment:|https:)|<img\b[^>]*src=["'](?!https:)""")
CHECK = re.compile(r"exercises\.(\w+)\.check\(\1\)")
BASE64 = re.compile(r"[A-Za-z0-9+/=]{64,}")

NEEDS = """\
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )
"""

Rule = Callable[[NotebookNode, Path], list[str]]
RULES: list[Rule] = []


def rule(check: Callable[[NotebookNode, Path], Iterator[str]]) -> Rule:
    """Add a check that yields complaints to the list of rules."""

    def complaints(notebook: NotebookNode, path: Path) -> list[str]:
        return list(check(notebook, path))

    complaints.__name__ = check.__name__
    RULES.append(complaints)
    return complaints


def cells(notebook: NotebookNode, cell_type: str) -> Iterator[tuple[int, NotebookNode]]:
    """The cells of a type, each with its number in the notebook, from 1."""
    return ((number, cell) for number, cell in enumerate(notebook.cells, start=1) if cell.cell_type == cell_type)


def outputs(notebook: NotebookNode) -> Iterator[tuple[int, NotebookNode]]:
    """Every stored output, with the number of its cell."""
    return ((number, output) for number, cell in cells(notebook, "code") for output in cell.outputs)


def output_text(output: NotebookNode) -> str:
    """All that an output says in letters: its text and HTML, without pictures."""
    said = [value for kind, value in output.get("data", {}).items() if not kind.startswith("image/")]
    return BASE64.sub("", "\n".join([output.get("text", ""), *map(str, said)]))


@rule
def every_code_cell_was_run_once_in_order(notebook, path):
    counts = [cell.execution_count for _, cell in cells(notebook, "code")]
    if counts != list(range(1, len(counts) + 1)):
        yield f"the execution counts are {counts}"


@rule
def what_a_cell_shows_is_stored(notebook, path):
    for number, cell in cells(notebook, "code"):
        if shows_something(cell.source) and not cell.outputs:
            yield f"cell {number} ends in a value or prints, but has no output"


def shows_something(source: str) -> bool:
    """Whether a cell prints at its top level, or ends in a bare value that no `;` holds back."""
    plain = without_magics(source)
    body = ast.parse(plain).body
    calls = [line.value for line in body if isinstance(line, ast.Expr) and isinstance(line.value, ast.Call)]
    if any(isinstance(call.func, ast.Name) and call.func.id in {"print", "display"} for call in calls):
        return True
    ends_in_value = bool(body) and isinstance(body[-1], ast.Expr) and not isinstance(body[-1].value, ast.Call)
    return ends_in_value and not plain.rstrip().endswith(";")


def without_magics(source: str) -> str:
    return "\n".join("pass" if line.startswith(("%", "!")) else line for line in source.splitlines())


@rule
def no_stderr(notebook, path):
    for number, output in outputs(notebook):
        if output.get("name") == "stderr":
            yield f"cell {number} wrote to stderr: {output.text[:200]}"


@rule
def no_error(notebook, path):
    for number, output in outputs(notebook):
        if output.output_type == "error":
            yield f"cell {number} raised {output.ename}: {output.evalue[:200]}"


@rule
def no_absolute_path(notebook, path):
    for number, output in outputs(notebook):
        text = output_text(output)
        if ABSOLUTE_PATH.search(text) or str(ROOT) in text:
            yield f"cell {number} shows a path of the machine that it ran on: {text[:200]}"


@rule
def no_object_address(notebook, path):
    for number, output in outputs(notebook):
        if found := re.search(r".{0,40} at 0x[0-9a-f]+", output_text(output)):
            yield f"cell {number} shows an address that changes with each run: {found[0]}"


@rule
def every_picture_has_alt_text(notebook, path):
    for number, output in outputs(notebook):
        data = output.get("data", {})
        html = data.get("text/html", "")
        named = output.get("metadata", {}).get("image/png", {}).get("alt") or re.search(r"""\balt=["'][^"']""", html)
        if "image/png" in data and not named:
            yield f"cell {number} has a picture without alt text"
        yield from (f"cell {number}: {img[:60]} has no alt text" for img in pictures_without_alt(html))
    for number, cell in cells(notebook, "markdown"):
        if "![](" in cell.source or pictures_without_alt(cell.source):
            yield f"cell {number} has a picture without alt text"


def pictures_without_alt(html: str) -> list[str]:
    return [img for img in re.findall(r"<img\b[^>]*>", html) if not re.search(r"""\balt=["'][^"']""", img)]


@rule
def no_output_needs_a_kernel(notebook, path):
    if "widgets" in notebook.metadata:
        yield "metadata.widgets holds the state of widgets"
    for number, output in outputs(notebook):
        if "application/vnd.jupyter.widget-view+json" in output.get("data", {}):
            yield f"cell {number} shows a widget that is gone with its kernel"


@rule
def small_enough_to_open_fast(notebook, path):
    most = 2 * MOST_BYTES if path.stem == "gallery" else MOST_BYTES  # it has every view in it
    if (size := len(json.dumps(notebook))) > most:
        yield f"{size} bytes are more than {most}"


@rule
def one_idea_per_code_cell(notebook, path):
    for number, cell in cells(notebook, "code"):
        lines = [line for line in cell.source.removeprefix(NEEDS).splitlines() if line.strip()]
        defines = any(line.lstrip().startswith(("class ", "def ")) for line in lines)
        most = MOST_LINES_OF_A_DEFINITION if defines else MOST_LINES
        if len(lines) > most:
            yield f"cell {number} has {len(lines)} lines of code (at most {most})"


@rule
def no_line_runs_out_of_its_cell(notebook, path):
    for number, cell in cells(notebook, "code"):
        if long := [line for line in cell.source.splitlines() if len(line) > LONGEST_LINE]:
            yield f"cell {number} has a line of {len(long[0])} characters (at most {LONGEST_LINE}): {long[0]}"


@rule
def what_is_added_to_a_figure_looks_like_the_rest(notebook, path):
    """matplotlib's own choices are a frame, white in the light, and for a band the colour of some other curve."""
    needs = {".legend(": "frameon=False", ".fill_between(": "color="}
    for number, cell in cells(notebook, "code"):
        for call, needed in needs.items():
            if any(call in line and needed not in line for line in cell.source.splitlines()):
                yield f"cell {number} calls {call}…) without {needed}"


@rule
def no_cell_leans_on_an_answer(notebook, path):
    """Solved, half solved or wrong, an answer must change nothing that the lesson shows before it or behind it.

    So no cell may use the name of a stub, except its own check and the cells marked `own=true`, which are there to use
    what the learner has passed.
    """
    stubs = {cell.metadata.exercise for _, cell in cells(notebook, "code") if "exercise" in cell.metadata}
    for number, cell in cells(notebook, "code"):
        if is_of_an_exercise(cell) or cell.metadata.get("own"):
            continue
        for name in sorted(stubs & names_from_elsewhere(cell.source)):
            yield f"cell {number} uses {name}, which is the name of a stub"


def is_of_an_exercise(cell: NotebookNode) -> bool:
    """Whether a cell is the stub of an exercise, or its check."""
    return "exercise" in cell.metadata or bool(CHECK.fullmatch(cell.source))


def names_from_elsewhere(source: str) -> set[str]:
    """The global names that a cell uses and does not bind itself; in functions, which run later, all that they use."""
    table = symtable.symtable(without_magics(source), "cell", "exec")
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    names = {s.get_name() for s in table.get_symbols() if s.is_referenced()} - bound
    for scope in table.get_children():
        at_once = scope.get_name() in {"listcomp", "setcomp", "dictcomp", "genexpr"}
        names |= global_names(scope) - (bound if at_once else set())
    return names


def global_names(scope: symtable.SymbolTable) -> set[str]:
    own = {s.get_name() for s in scope.get_symbols() if s.is_global()}
    return own.union(*map(global_names, scope.get_children()))


@rule
def a_question_keeps_its_answer(notebook, path):
    """What is to be predicted stands neither in the code of its view nor in the prose around it, unless it is folded.

    A text that names all choices gives nothing away.
    """
    for number, cell in cells(notebook, "code"):
        if re.search(r"\.predict\(", cell.source) and "because" in cell.source:
            yield f"cell {number} asks with `predict`, and so names the answer: use `ask`"
        around = notebook.cells[max(number - 2, 0) : number + 1]
        visible = "\n".join(unfolded(one.source) for one in around if one is cell or one.cell_type == "markdown")
        for choices, answer, because in questions(cell):
            named = [bool(re.search(rf"(?<!\w){re.escape(choice)}(?!\w)", visible)) for choice in choices]
            if (named[answer] and not all(named)) or because in visible:
                yield f"the answer to the question of cell {number} can be read beside it: {choices[answer]}"


def unfolded(markdown: str) -> str:
    return re.sub(r"<details>.*?</details>", "", markdown, flags=re.DOTALL)


def questions(cell: NotebookNode) -> Iterator[tuple[list[str], int, str]]:
    """The choices, the answer and its reason of each question that a view of a cell asks."""
    for output in cell.get("outputs", []):
        for state in re.findall(r'<script type="application/json">(.*?)</script>', output_html(output), re.DOTALL):
            if asked := json.loads(state).get("predict"):
                yield asked["choices"], asked["answer"], asked["because"]


def output_html(output: NotebookNode) -> str:
    return output.get("data", {}).get("text/html", "")


@rule
def a_stub_stands_before_its_check(notebook, path):
    """The check follows at once, so that a learner finds it; cells that use all answers stand behind all stubs."""
    code, own = list(cells(notebook, "code")), None
    for (number, cell), (_, following) in zip_longest(code, code[1:], fillvalue=(0, None)):
        stub, own = cell.metadata.get("exercise"), own or (number if cell.metadata.get("own") else None)
        check = f"exercises.{stub}.check({stub})"
        if stub and (following is None or following.source != check):
            yield f"the stub in cell {number} must be followed by `{check}`"
        if stub and own:
            yield f"the stub in cell {number} stands behind cell {own}, which uses the learner's own functions"


@rule
def a_tolerance_is_a_positive_number(notebook, path):
    for number, cell in cells(notebook, "code"):
        tolerance = cell.metadata.get("tolerance", 1)
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 < tolerance < math.inf:
            yield f"cell {number} has the tolerance {tolerance!r}"


@rule
def numbers_of_steps_are_in_their_cell(notebook, path):
    """`steps` says which numbers `python -m tests.claims --longer` multiplies."""
    for number, cell in cells(notebook, "code"):
        for steps in numbers_of_steps(cell):
            if type(steps) is not int or multiplied(cell.source, [steps], 2) == cell.source:
                yield f"cell {number} names {steps!r} as a number of steps, which it does not contain"


def numbers_of_steps(cell: NotebookNode) -> list[int]:
    """The numbers of training steps that a cell names: one, or a list."""
    steps = cell.metadata.get("steps", [])
    return steps if isinstance(steps, list) else [steps]


def multiplied(source: str, numbers: list[int], factor: int) -> str:
    """Code in which each of these whole numbers is so many times as large."""

    def larger(literal: re.Match[str]) -> str:
        number = int(literal[0].replace("_", ""))
        return str(number * factor) if number in numbers else literal[0]

    return re.sub(r"(?<![\w.])\d[\d_]*(?![\w.])", larger, source)


@rule
def what_is_missing_is_said_first(notebook, path):
    code = [cell.source for _, cell in cells(notebook, "code")]
    if any("transformer_lab" in source for source in code) and not code[0].startswith(NEEDS):
        yield f"the first cell of code must begin with these lines, for those without the package:\n{NEEDS}"


@rule
def nothing_is_read_by_its_place(notebook, path):
    """A notebook may be opened in any folder: what comes with the package is loaded by its name."""
    for number, cell in cells(notebook, "code"):
        if found := re.search(r"\.\./|__file__|\bPath\(\)|\bgetcwd\(", cell.source):
            yield f"cell {number} looks for a file at a place of its own: {found[0]}"


@rule
def no_empty_cell(notebook, path):
    for number, cell in enumerate(notebook.cells, start=1):
        if not cell.source.strip():
            yield f"cell {number} is empty"


@rule
def short_prose(notebook, path):
    for number, cell in cells(notebook, "markdown"):
        if (words := len(prose(cell.source).split())) > MOST_WORDS:
            yield f"cell {number} has {words} words (at most {MOST_WORDS})"


def prose(markdown: str) -> str:
    """Markdown without blocks of code, displayed formulas, pictures, tables, HTML tags and the addresses of links."""
    for pattern in (r"```.*?```", r"\$\$.*?\$\$", r"!\[[^]]*\]\([^)]*\)", r"<[^>]*>"):
        markdown = re.sub(pattern, " ", markdown, flags=re.DOTALL)
    markdown = re.sub(r"\]\([^)]*\)", "]", markdown)
    return "\n".join(line for line in markdown.splitlines() if not line.lstrip().startswith("|"))


@rule
def drawings_are_attached_as_they_are_now(notebook, path):
    """A path leads nowhere as soon as a notebook is opened from another folder, or was downloaded alone."""
    for number, cell in cells(notebook, "markdown"):
        if not drawings.are_attached(cell):
            yield f"cell {number} does not hold the drawings that it names, made from those in img/"
        if PICTURE_BY_PATH.search(cell.source):
            yield f"cell {number} names a picture by its path"


@rule
def local_links_lead_somewhere(notebook, path):
    for number, cell in cells(notebook, "markdown"):
        targets = re.findall(r"\]\(([^)\s]+)[^)]*\)", cell.source) + re.findall(r'(?:src|href)="([^"]+)"', cell.source)
        for target in targets:
            file = target.partition("#")[0]
            if not re.match(r"[a-z]+:", target) and file and not (path.parent / file).exists():
                yield f"cell {number} links to {target}, which does not exist"
