"""Which code of a lesson's page is folded, and what the line says that opens it.

Code that is an idea of the lesson stays open. Beside the point is the set-up, code that only draws what is seen, and
code that only tells: that lays out what earlier cells have found as a table, and gives nothing to later ones.
"""

import ast
import re
from collections.abc import Iterable

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from nbformat import NotebookNode
from sphinx.application import Sphinx

BOTH = " / "  # between what two lines of one cell say
SEEN = {  # by its kind, what is to be predicted, and what is after another of this kind
    "figure": ("the figure", "another figure"),
    "numbers": ("the numbers", "more numbers"),
    "words": ("what it says", "what else it says"),
}
PROSE = re.compile(r"\s*(?![-#>|<]|!\[|\$\$|```|\d+\. )")  # how a paragraph begins that is no list, heading or figure
FEWEST = 4  # lines of a table's code that are worth folding
# What a cell may call that only tells: whatever else it calls computes something, and so does arithmetic.
TELLS = {
    *("print", "str", "int", "float", "round", "len", "min", "max", "sum", "sorted", "list", "set", "zip", "enumerate"),
    *("range", "all", "any", "join", "items", "values", "keys", "split", "index", "tolist", "item", "mean", "median"),
    *("amin", "amax", "rounded"),
}


def fold(cell: NotebookNode, part: str, what: str) -> None:
    """Have the input or the output of a cell folded behind a line that says what it is; of both, the output first."""
    cell.metadata.tags = [*cell.metadata.get("tags", []), f"hide-{part}"]
    known = cell.metadata.get("mystnb", {}).get("code_prompt_show")
    cell.metadata.mystnb = {"code_prompt_show": f"{known}{BOTH}{what}" if known else what, "code_prompt_hide": ""}


def arrange(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Have what a cell's code makes stand before the code, where that is folded."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code" and "tag_hide-input" in cell["classes"]:
            code = cell.pop(0)
            for folded in (code, *(one for one in cell if isinstance(one, HideCodeCellNode))):
                output, _, made = folded["prompt_show"].partition(BOTH)
                folded["prompt_show"] = (made or output) if folded is code else output
            cell += code


def folded_because(cell: NotebookNode, later: Iterable[NotebookNode], is_first: bool) -> str:
    """What the line says behind which a cell's code is folded, if it is: the set-up, or the code of what is seen."""
    if is_first and not cell.outputs:
        return "The set-up of this lesson"
    lines = [line for line in cell.source.splitlines() if line.strip()]
    told = f"{len(lines)} line{'s' * (len(lines) > 1)} of Python"
    html = html_of(cell)
    if "<tl-" in html:
        return f"How this view was made · {told}"
    if "<img " in html:
        return f"How this figure was made · {told}"
    return f"Where these numbers come from · {told}" if len(lines) >= FEWEST and only_tells(cell, later) else ""


def to_predict(cell: NotebookNode, told_of: list[str]) -> str:
    """What the line says behind which an output is folded until it has been predicted: of several, each its own.

    What it shows is added to what those before it have shown.
    """
    text = "".join(output.get("text", "") for output in cell.outputs)
    kind = "figure" if "<img " in html_of(cell) else "numbers" if re.search(r"\d", text) else "words"
    line = f"{'Then' if told_of else 'Predict first, then'} see {SEEN[kind][kind in told_of]}"
    told_of.append(kind)
    return line


def opening_with(cell: NotebookNode, below: str) -> str:
    """Markdown of which what tells the answer is in sight only once the output of the cell above it is open.

    That is its first paragraph, and what stands before the last one that repeats a number of the output. A sentence
    that leads on to what follows stays in sight.
    """
    numbers = said_in("".join(output.get("text", "") for output in cell.outputs))
    paragraphs = below.split("\n\n")
    ends = next(
        (at for at, one in enumerate(paragraphs) if not PROSE.match(one) or "**Predict" in one), len(paragraphs)
    )
    telling = [at for at in range(ends) if at == 0 or said_in(paragraphs[at]) & numbers]
    if not telling:
        return below
    *told, last = paragraphs[: telling[-1] + 1]
    rest = paragraphs[telling[-1] + 1 :]
    if last.endswith(":"):
        *said, leads = re.split(r"(?<=[.!?)])\s", last)
        last, rest = " ".join(said), [leads, *rest]
    told = [*told, last] if last else told
    return "\n\n".join(['<div class="told-below">', *told, "</div>", *rest]) if told else below


def said_in(text: str) -> set[str]:
    """The numbers of a text that are more than a digit."""
    return set(re.findall(r"\d+(?:[.,]\d+)+|\d{2,}", text))


def html_of(cell: NotebookNode) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.get("outputs", []))


def only_tells(cell: NotebookNode, later: Iterable[NotebookNode]) -> bool:
    """Whether a cell lays out several numbers that it does not compute, and defines nothing that a later one uses."""
    told = "".join(output.get("text", "") for output in cell.outputs)
    nodes = list(ast.walk(ast.parse(cell.source)))
    if told.count("\n") < 2 or any(isinstance(one, ast.FunctionDef | ast.ClassDef | ast.Import) for one in nodes):
        return False
    called = {called_by(one) for one in nodes if isinstance(one, ast.Call)}
    return called <= TELLS and not any(map(computes, nodes)) and not names(nodes, ast.Store) & used_in(later)


def computes(node: ast.AST) -> bool:
    """Whether a statement works something out that it does not print at once."""
    kept = isinstance(node, ast.Assign | ast.AugAssign) and any(isinstance(one, ast.BinOp) for one in ast.walk(node))
    return kept or isinstance(node, ast.While)


def called_by(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def names(nodes: Iterable[ast.AST], how: type) -> set[str]:
    return {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, how)}


def used_in(cells: Iterable[NotebookNode]) -> set[str]:
    """The names that cells use before they define them, or at all: a loop's own name does not count."""
    found: set[str] = set()
    for cell in cells:
        nodes = list(ast.walk(ast.parse(cell.source))) if cell.cell_type == "code" else []
        found |= names(nodes, ast.Load) - names(nodes, ast.Store)
    return found
