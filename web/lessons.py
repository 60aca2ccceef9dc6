"""From a stored notebook to what its page shows: code folded where it is beside the point, exercises that can be read.

Nothing is executed. On a page no cell runs, so in place of a check stands a card: what the lesson says of the exercise,
its hints, and room for an answer that the page itself can judge, or the way to have one checked.
"""

import copy
import re
from collections import Counter
from itertools import chain, cycle, pairwise

from cards import panel
from docutils.utils.smartquotes import educate_tokens
from folds import fold, folded_because, html_of, opening_with, to_predict
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output

from notebooks.drawings import with_paths_named
from transformer_lab.exercises import catalogue

CHECK = re.compile(r"exercises\.(\w+)\.check\(\1\)")
NEXT = re.compile(r"\s*^\*\*Next:\*\* (.*\]\(\d\d_\w+\.ipynb\).*)$", re.MULTILINE)
QUIZ = re.compile(r"<details>.*?</details>", re.DOTALL)
LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
ASKED = re.compile(r"\*\*(?:Exercise \d+|\d\d\.|Your turn\.)\*\*\s*(?:\([^)]*\)\.?\s*)?")
SAID = re.compile(r"\s*\*\(\d+ minutes\)\*$|\s*Print the statement, `[\w.]+`, for the details\.")  # by the card itself


def as_page(notebook: NotebookNode, name: str, colab: str = "") -> NotebookNode:
    """A copy of the notebook for its page, `name`.html; `colab` is where Colab opens lessons, if that is known."""
    page = copy.deepcopy(notebook)
    if name == "gallery":
        join_code(page)
    seen: Counter[str] = Counter()
    page.metadata = NotebookNode(kernelspec=notebook.metadata.kernelspec, language_info={"name": "python"})
    first = next(cell for cell in page.cells if cell.cell_type == "code")
    is_asked = False  # whether the reader is to predict what the next cells say
    told_of: list[str] = []  # what they have said already, each behind a line
    stub, told, number = "", "", 0  # of the exercise that comes next
    for at, cell in enumerate(page.cells):
        if cell.cell_type == "code":
            cell.source = re.sub(r"\n{3,}", "\n\n", cell.source)  # two empty lines are a module's, not a page's
        if cell.cell_type == "markdown":
            is_asked, told_of = "**Predict" in cell.source, []
            cell.source = with_paths_named(NEXT.sub("", cell.source))  # an SVG follows the theme of the page
            cell.source = QUIZ.sub(lambda found: curly(found[0]), cell.source)
            cell.pop("attachments", None)
        elif found := CHECK.fullmatch(cell.source.strip()):
            number += 1
            card = panel(catalogue[found[1]], name, colab, number, stub, told)
            page.cells[at] = new_markdown_cell(card, id=cell.id)
        elif "exercise" in cell.metadata:
            stub, told = cell.source, taken_out(page.cells[:at])  # which its card shows
        else:
            folded_there = cell.metadata.pop("jupyter", {}).get("outputs_hidden", False)
            what = folded_because(cell, page.cells[at + 1 :], is_first=cell is first)
            # a view covers itself, or is moved to answer
            if folded_there or (is_asked and cell.outputs and not has_view(cell)):
                fold(cell, "output", to_predict(cell, told_of))
                what = what if "<img " in html_of(cell) else ""
            if what:
                fold(cell, "input", what)
            if has_view(cell):
                cell.outputs = [*chain(*(addressed(output, seen) for output in cell.outputs))]
    page.cells = [cell for cell in page.cells if "exercise" not in cell.metadata and cell.source.strip()]
    for cell, below in pairwise(page.cells):
        if "hide-output" in cell.metadata.get("tags", []) and below.cell_type == "markdown":
            below.source = opening_with(cell, below.source)
    return page


def curly(html: str) -> str:
    """HTML with the quotation marks of a printed page, as Sphinx sets them in Markdown, outside code and tags."""
    parts = re.split(r"(<code>.*?</code>|<[^>]*>)", html, flags=re.DOTALL)
    return "".join(educate_tokens(zip(cycle(("plain", "literal")), parts, strict=False), "q"))


def taken_out(cells: list[NotebookNode]) -> str:
    """Take out of the last Markdown cells what they say of an exercise, from its number on, and return it."""
    last = max(at for at, cell in enumerate(cells) if cell.cell_type == "markdown" and ASKED.search(cell.source))
    assert all(cell.cell_type == "markdown" for cell in cells[last:])
    *_, mark = ASKED.finditer(cells[last].source)
    parts = [cells[last].source[mark.end() :], *(cell.source for cell in cells[last + 1 :])]
    cells[last].source = cells[last].source[: mark.start()]
    for cell in cells[last + 1 :]:
        cell.source = ""
    return SAID.sub("", "\n\n".join(parts))


def join_code(page: NotebookNode) -> None:
    """Make one cell of the code of a view and of the cell before it that makes its data, so that both fold at once."""
    kept: list[NotebookNode] = []
    for cell in page.cells:
        if has_view(cell) and kept[-1].cell_type == "code" and not kept[-1].outputs:
            cell.source = f"{kept.pop().source}\n\n{cell.source}"
        kept.append(cell)
    page.cells = kept


def addressed(output: NotebookNode, seen: Counter[str]) -> list[NotebookNode]:
    """An output, and before it, if it is a view, a place with an address of its own."""
    found = re.match(r"<tl-([a-z_]+)-", output.get("data", {}).get("text/html", ""))
    if not found:
        return [output]
    kind = found[1].replace("_", "-")
    seen[kind] += 1
    number = f" {seen[kind]}" if seen[kind] > 1 else ""
    id_, title = f"view-{kind}{number.replace(' ', '-')}", kind.replace("-", " ")
    place = (
        f'<div class="place" id="{id_}" data-place="view" data-title="{title}">'
        f'<a class="headerlink" href="#{id_}" aria-label="Address of the view {title}{number}">#</a></div>'
    )
    return [new_output("display_data", {"text/html": place}), output]


def has_view(cell: NotebookNode) -> bool:
    return "<tl-" in html_of(cell)


def minutes_of(notebook: NotebookNode) -> str:
    """The time that a lesson and its exercises take, "60 + 45", as its first cell says it."""
    said = notebook.cells[0].source
    found = re.search(r"\*\*Time:\*\* (\d+) minutes(?:.*?exercises (\d+) more)?", said)
    if found:
        return " + ".join(number for number in found.groups() if number)
    return "30" if "half an hour" in said else ""


def title_and_promise(notebook: NotebookNode) -> tuple[str, str]:
    """The heading of a lesson, and the sentence below it."""
    heading, _, rest = notebook.cells[0].source.partition("\n")
    return heading.removeprefix("# "), rest.strip().partition("\n\n")[0]


def bridge_of(notebook: NotebookNode) -> str:
    """The sentence by which a lesson leads to the next, without its link: a page has it on the card of that lesson."""
    found = next(filter(None, (NEXT.search(cell.source) for cell in notebook.cells)), None)
    said = LINK.sub(r"\1", found[1]) if found else ""
    return said[:1].upper() + said[1:]
