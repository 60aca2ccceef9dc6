"""Right answers, written and handed in as honest students do: in many styles of code, and many states of notebooks.

    python -m tests.grading.honest_styles 200      grades so many students, of two styles each, and prints who loses

A style of code rewrites the cell of an answer: `style(source, name, parameters)`. A style of notebook changes a
student's notebooks, or how they lie in the folder: `style(work)`.
"""

import json
import re
import sys
import zipfile
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from tests.answers import RIGHT_ANSWERS
from tests.grading.support import renamed
from transformer_lab.exercises import catalogue
from transformer_lab.grading.handout.assign import assign
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.marking.course import close_sandbox, grade_one
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.submissions.submissions import find_submissions

EXERCISES = {"softmax": 2, "causal_mask": 1, "padding_mask": 1, "decoder_mask": 2}


def mine(source: str, name: str) -> str:
    """The source, with its function under another name."""
    return source.replace(f"def {name}(", "def mine(")


CODE: dict[str, Callable[[str, str, str], str]] = {
    "as the package's tests have it": lambda s, n, p: s,
    "with a docstring": lambda s, n, p: s.replace("):\n", '):\n    """It computes\n\n    what is asked."""\n', 1),
    "with comments": lambda s, n, p: "# my answer\n" + s.replace("):\n", "):  # üß\n    # first\n\n", 1) + "  # done",
    "with types": lambda s, n, p: s.replace("):\n", ') -> "torch.Tensor":\n', 1),
    "with tabs": lambda s, n, p: s.replace("    ", "\t"),
    "with two blanks": lambda s, n, p: s.replace("    ", "  "),
    "with Windows' ends of lines": lambda s, n, p: s.replace("\n", "\r\n"),
    "with blanks at the ends": lambda s, n, p: s.replace("\n", "   \n") + "\n\n\n   ",
    "a lambda": lambda s, n, p: f"{mine(s, n)}\n\n{n} = lambda {p}: mine({p})",
    "an alias": lambda s, n, p: f"{mine(s, n)}\n\nother = mine\n{n} = other",
    "a partial": lambda s, n, p: f"import functools\n{mine(s, n)}\n\n{n} = functools.partial(mine)",
    "a method": lambda s, n, p: (
        f"{mine(s, n)}\n\nclass Layer:\n    scale = 1\n    def forward(self, {p}):\n        return mine({p})\n"
        f"\nlayer = Layer()\n{n} = layer.forward"
    ),
    "an object that is called": lambda s, n, p: (
        f"{mine(s, n)}\n\nclass Layer:\n    def __call__(self, {p}):\n        return mine({p})\n\n{n} = Layer()"
    ),
    "a module of torch": lambda s, n, p: (
        f"from torch import nn\n{mine(s, n)}\n\nclass Layer(nn.Module):\n    def forward(self, {p}):\n"
        f"        return mine({p})\n\n{n} = Layer()"
    ),
    "a function in a function": lambda s, n, p: "def {n}({p}):\n    {s}\n    return mine({p})".format(
        n=n, p=p, s=mine(s, n).replace("\n", "\n    ")
    ),
    "with defaults": lambda s, n, p: f"{mine(s, n)}\n\ndef {n}({p}, verbose=False):\n    return mine({p})",
    "with any arguments": lambda s, n, p: (
        f"{mine(s, n)}\n\ndef {n}(*args, **kwargs):\n    return mine(*args, **kwargs)"
    ),
    "decorated": lambda s, n, p: (
        "import functools\n\ndef logged(f):\n    @functools.wraps(f)\n    def inner(*a):\n        return f(*a)\n"
        f"    return inner\n\n{mine(s, n)}\n\n@logged\ndef {n}({p}):\n    return mine({p})"
    ),
    "counted by a global": lambda s, n, p: (
        f"CALLS = 0\n{mine(s, n)}\n\ndef {n}({p}):\n    global CALLS\n    CALLS += 1\n    return mine({p})"
    ),
    "that prints": lambda s, n, p: s.replace("):\n", "):\n    print('called', 3 * '-')\n", 1),
    "that warns": lambda s, n, p: s.replace("):\n", "):\n    import warnings\n    warnings.warn('careful')\n", 1),
    "that writes to stderr": lambda s, n, p: s.replace(
        "):\n", "):\n    import sys\n    print(1, file=sys.stderr)\n", 1
    ),
    "that draws random numbers": lambda s, n, p: s.replace("):\n", "):\n    torch.rand(3)\n", 1),
    "that asserts": lambda s, n, p: s.replace("):\n", f"):\n    assert {p.split(',')[0]} is not None\n", 1),
    "with imports inside": lambda s, n, p: s.replace("):\n", "):\n    import torch\n", 1),
    "with all of torch": lambda s, n, p: f"from torch import *\nfrom builtins import *\n{s}",
    "with another name for torch": lambda s, n, p: (
        "import torch as t\n"
        + s.replace("import torch\n", "").replace("torch.", "t.").replace("import t.", "import torch.")
    ),
    "with constants": lambda s, n, p: (
        f"ONE, TWO = 1, 2\nBIG = TWO ** 3\n{s.replace('):', '):' + chr(10) + '    BIG', 1)}"
    ),
    "with a constant of a loop": lambda s, n, p: (
        "TOTAL = 0\nfor i in range(3):\n    TOTAL = TOTAL + i\n" + s.replace("):\n", "):\n    assert TOTAL == 3\n", 1)
    ),
    "in an if": lambda s, n, p: "if True:\n    " + s.replace("\n", "\n    "),
    "with an attempt to import": lambda s, n, p: (
        "try:\n    import nowhere as np\nexcept ImportError:\n    np = None\n" + s.replace("):\n", "):\n    np\n", 1)
    ),
    "with Greek names": lambda s, n, p: f"{mine(s, n)}\n\ndef {n}({p}):\n    α = mine({p})\n    return α",
    "with := and match": lambda s, n, p: (
        f"{mine(s, n)}\n\ndef {n}({p}):\n    match (result := mine({p})):\n        case _:\n            return result"
    ),
    "with an older try above": lambda s, n, p: f"def {n}({p}):\n    return 0\n\n{s}",
    "with calls below": lambda s, n, p: f"{s}\n\ntry:\n    {n}(1, 2, 3, 4)\nexcept TypeError as e:\n    print(e)",
    "timed": lambda s, n, p: f"%%time\n{s}",
    "with magics": lambda s, n, p: f"%matplotlib inline\n!pip list\n{s}\ntorch.ones?\n%timeit 1",
    "compiled": lambda s, n, p: f"{s}\n\n{n} = torch.compile({n})",
    "with recursion": lambda s, n, p: (
        f"{mine(s, n)}\n\ndef {n}({p}, depth=2):\n    return mine({p}) if depth == 0 else {n}({p}, depth - 1)"
    ),
    "misspelt in its own cell": lambda s, n, p: s.replace(f"def {n}(", f"def {n}s("),
    "with a data class": lambda s, n, p: (
        "from dataclasses import dataclass\n\n@dataclass\nclass Config:\n    eps: float = 1e-9\n\nconfig = Config()\n"
        + s.replace("):\n", "):\n    assert config.eps < 1\n", 1)
    ),
}


class Work:
    """What a student hands in: notebooks by their paths within the student's folder, and other files."""

    def __init__(self, releases: list[Path], answers: dict[str, str]):
        self.notebooks = {path.name: nbformat.read(path, as_version=4) for path in releases}
        self.files: dict[str, str] = {}
        for cell in self.answer_cells():
            cell.source = answers[cell.metadata.exercise]

    def answer_cells(self) -> list[NotebookNode]:
        return [c for notebook in self.notebooks.values() for c in notebook.cells if "exercise" in c.metadata]

    def rename(self, old: str, new: str) -> None:
        self.notebooks[new] = self.notebooks.pop(old)

    def write(self, folder: Path) -> None:
        texts = {name: json.dumps(notebook) for name, notebook in self.notebooks.items()}
        for name, text in (texts | self.files).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def each(change: Callable[[NotebookNode], None]) -> Callable[[Work], None]:
    """The style that changes each notebook so."""
    return lambda work: [change(notebook) for notebook in work.notebooks.values()] and None


def without_metadata(notebook: NotebookNode) -> None:
    for number, cell in enumerate(notebook.cells):
        cell.metadata, cell.id = {}, f"c{number}"


def of_format_4_4(notebook: NotebookNode) -> None:
    notebook.nbformat_minor = 4
    for cell in notebook.cells:
        del cell["id"]


def answers_in_new_cells(notebook: NotebookNode) -> None:
    for cell in [c for c in notebook.cells if "exercise" in c.metadata]:
        notebook.cells.append(new_code_cell(cell.source))
        cell.source = "# see below"


def copied_above(notebook: NotebookNode) -> None:
    for cell in [c for c in notebook.cells if "exercise" in c.metadata]:
        stub = deepcopy(cell)
        stub.source, stub.id = f"def {cell.metadata.exercise}(*given):\n    ...", f"{cell.id}-0"
        notebook.cells.insert(notebook.cells.index(cell), stub)


def with_noise(notebook: NotebookNode) -> None:
    notebook.cells.insert(1, new_code_cell("this is no Python"))
    notebook.cells.append(new_code_cell("for i in range(3):\n    print(i)\nx = input('?')\nexercises.softmax.hint()"))


def with_outputs(notebook: NotebookNode) -> None:
    for number, cell in enumerate(c for c in notebook.cells if c.cell_type == "code"):
        cell.execution_count = number
        cell.outputs = [{"output_type": "stream", "name": "stdout", "text": "x" * 10_000}]


def without_checks(notebook: NotebookNode) -> None:
    notebook.cells = [c for c in notebook.cells if c.cell_type == "code" and ".check(" not in c.source]


def in_one_notebook(work: Work) -> None:
    cells = [cell for notebook in work.notebooks.values() for cell in notebook.cells]
    work.notebooks = {"everything.ipynb": new_notebook(cells=cells)}


def in_a_folder(work: Work) -> None:
    for name in [*work.notebooks]:
        work.rename(name, f"my homework/week 1/{name}")


def downloaded_twice(work: Work) -> None:
    for name in [*work.notebooks]:
        stem, old = name.removesuffix(".ipynb"), deepcopy(work.notebooks[name])
        for cell in old.cells:
            cell.source = cell.source if "exercise" not in cell.metadata else cell.source.replace("return ", "return -")
        work.rename(name, f"{stem} (1).ipynb")
        work.notebooks[name] = old


def in_capitals(work: Work) -> None:
    for name in [*work.notebooks]:
        work.rename(name, name.upper())


def turned_into(type_: str) -> Callable[[NotebookNode], None]:
    """The style in which the student has turned the cells of all answers into Markdown or raw text."""

    def turn(notebook: NotebookNode) -> None:
        for cell in [c for c in notebook.cells if "exercise" in c.metadata]:
            cell.cell_type = type_
            del cell["outputs"], cell["execution_count"]

    return turn


def turned_into_headings(notebook: NotebookNode) -> None:
    """As JupyterLab's keys 1 to 6 do."""
    turned_into("markdown")(notebook)
    for cell in [c for c in notebook.cells if "exercise" in c.metadata]:
        cell.source = re.sub(r"^(#+\s*)|^(\s*)", "## ", cell.source, count=1)


def imports_turned_into_markdown(notebook: NotebookNode) -> None:
    (imports,) = [c for c in notebook.cells if c.id.startswith("set-up-")]
    for cell in [c for c in notebook.cells if "exercise" in c.metadata]:
        cell.source = re.sub(r"^import torch\r?\n", "", cell.source, flags=re.MULTILINE)
    imports.cell_type = "markdown"
    del imports["outputs"], imports["execution_count"]


def answers_split(notebook: NotebookNode) -> None:
    """Before their last line that is indented."""
    for cell in [c for c in notebook.cells if "exercise" in c.metadata]:
        lines = cell.source.split("\n")
        last = max((number for number, line in enumerate(lines) if line[:1].isspace() and line.strip()), default=0)
        if last:
            rest = deepcopy(cell)
            cell.source, rest.source, rest.id = "\n".join(lines[:last]), "\n".join(lines[last:]), f"{cell.id[:20]}-rest"
            notebook.cells.insert(notebook.cells.index(cell) + 1, rest)


def of_colab(notebook: NotebookNode) -> None:
    """It keeps the ids of cells among their metadata."""
    ids = [cell.id for cell in notebook.cells]
    of_format_4_4(notebook)
    for cell, id_ in zip(notebook.cells, ids, strict=True):
        cell.metadata = {"id": id_}


def of_format_3(work: Work) -> None:
    for name, notebook in [*work.notebooks.items()]:
        cells = [
            {"cell_type": "code", "input": c.source, "outputs": []} for c in notebook.cells if c.cell_type == "code"
        ]
        work.files[name] = json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]})
    work.notebooks = {}


def with_helpers_beside(work: Work) -> None:
    work.files["my_helpers.py"] = "def unchanged(x):\n    return x\n"
    for cell in work.answer_cells():
        used = re.sub(r"(def \w+\(.*:[ \t\r]*\n)(\s+)", r"\1\2unchanged\n\2", cell.source, count=1)
        cell.source = used if used.startswith("%%") else f"from my_helpers import unchanged\n{used}"


def with_scratch(work: Work) -> None:
    """A notebook beside the others in which the same names mean other things."""
    other = "\n\n".join(f"def {name}(x):\n    return x" for name in (*EXERCISES, "mine"))
    work.notebooks["Untitled.ipynb"] = new_notebook(cells=[new_code_cell(other)])


def exported(work: Work) -> None:
    """As Python files, too."""
    for name, notebook in work.notebooks.items():
        cells = "\n\n# %%\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
        work.files[name.replace(".ipynb", ".py")] = cells


def with_names_of_the_other_lesson(work: Work) -> None:
    work.notebooks[sorted(work.notebooks)[-1]].cells.insert(
        1, new_code_cell("def softmax(x):\n    return x.softmax(-1)")
    )
    work.notebooks[sorted(work.notebooks)[0]].cells.insert(1, new_code_cell("def causal_mask(x):\n    return x"))


def built_on_each_other(work: Work) -> None:
    for cell in work.answer_cells():
        if cell.metadata.exercise == "decoder_mask":
            both = "causal_mask(tokens.size(1)) & padding_mask(tokens, pad_id)"
            cell.source = f"def decoder_mask(tokens, pad_id):\n    return {both}"


def with_a_byte_order_mark(work: Work) -> None:
    work.files |= {name: "\ufeff" + json.dumps(notebook, indent=1) for name, notebook in work.notebooks.items()}
    work.notebooks = {}


NOTEBOOKS: dict[str, Callable[[Work], None]] = {
    "as handed out": lambda work: None,
    "turned round": each(lambda notebook: notebook.cells.reverse()),
    "without metadata": each(without_metadata),
    "without ids": each(of_format_4_4),
    "answers in new cells": each(answers_in_new_cells),
    "the stubs kept above": each(copied_above),
    "with cells that don't work": each(with_noise),
    "with outputs": each(with_outputs),
    "answers turned into Markdown": each(turned_into("markdown")),
    "answers turned into raw text": each(turned_into("raw")),
    "answers turned into headings": each(turned_into_headings),
    "imports turned into Markdown": each(imports_turned_into_markdown),
    "answers split": each(answers_split),
    "ids kept among metadata": each(of_colab),
    "without checks and text": each(without_checks),
    "in one notebook": in_one_notebook,
    "in a folder of folders": in_a_folder,
    "downloaded twice": downloaded_twice,
    "in capitals": in_capitals,
    "of format 3": of_format_3,
    "with helpers in a file": with_helpers_beside,
    "with a notebook for trying things": with_scratch,
    "exported as Python, too": exported,
    "with names of the other lesson": with_names_of_the_other_lesson,
    "answers that call each other": built_on_each_other,
    "with a byte order mark": with_a_byte_order_mark,
}


def is_honest(code: str, notebook: str) -> bool:
    """Whether two styles go together, so that the notebook passes its own checks.

    Several answers that each define `mine` can't call one another; and a misspelt one must stand in its own cell.
    """
    plain = "def mine" not in CODE[code]("def f(x):\n    return x", "f", "x")
    kept = notebook not in ("without metadata", "of format 3", "answers in new cells", "with names of the other lesson")
    return (plain or notebook != "answers that call each other") and (kept or not code.startswith("misspelt"))


def answers(code: str, random: Random, only: str = "") -> dict[str, str]:
    """A right answer to each exercise, chosen at random, in a style of code; or `only` one so, and the others plain."""
    made = {}
    for name in EXERCISES:
        sources = [source for one in RIGHT_ANSWERS[name] if (source := renamed(one, name))]
        if only and name != only:
            made[name] = f"import torch\n{sources[0]}"
            continue
        parameters = ", ".join(catalogue[name].parameters)
        made[name] = CODE[code](f"import torch\n{random.choice(sources)}", name, parameters)
    return made


def hand_in(folder: Path, students: dict[str, tuple[str, str]], quick: bool = False) -> tuple[Assignment, Path]:
    """Hand out, and write what each student hands in: their style of code, and their style of notebook.

    `quick` keeps the style of code to one exercise of each student, and zips the class.
    """
    assignment, random = assign(folder / "hw1", EXERCISES), Random(0)
    releases = sorted((folder / "hw1" / "release" / "hw1").glob("*.ipynb"))
    for number, (student, (code, notebook)) in enumerate(students.items()):
        work = Work(releases, answers(code, random, [*EXERCISES][number % 4] if quick else ""))
        NOTEBOOKS[notebook](work)
        work.write(folder / "submitted" / student)
    if not quick:
        return assignment, folder / "submitted"
    with zipfile.ZipFile(folder / "submitted.zip", "w") as archive:
        for path in sorted((folder / "submitted").rglob("*")):
            archive.write(path, path.relative_to(folder / "submitted"))
    return assignment, folder / "submitted.zip"


def losses(graded: Graded) -> list[str]:
    """What an honest student lost, and why it was taken away."""
    return [f"{m.exercise}: {m.verdict}, {m.message} {m.notes}" for m in graded.marks if m.points != m.most]


def main(count: int) -> None:
    random, lost = Random(count), 0
    pairs = [(code, notebook) for code in CODE for notebook in NOTEBOOKS if is_honest(code, notebook)]
    students = {f"s{i:04}": random.choice(pairs) for i in range(count)}
    with TemporaryDirectory() as folder:
        assignment, place = hand_in(Path(folder), students)
        for submission in find_submissions(place, "hw1", Path(folder) / "unpacked"):
            found = losses(grade_one(submission, assignment))
            lost += bool(found)
            if found:
                print(students[submission.student], *found, sep="\n  ", flush=True)
    close_sandbox()
    print(
        f"{count} honest students in {len(CODE)} styles of code and {len(NOTEBOOKS)} of notebooks: {lost} lose points"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
