"""Do the claims of a lesson hold at other seeds, and after longer training?

    python -m tests.claims 07 --seeds 5     lesson 07 five times: every seed shifted by 1000, by 2000, … by 5000
    python -m tests.claims --seeds 1        every lesson once
    python -m tests.claims 02 --longer 10   lesson 02 with ten times as many training steps, and every seed shifted
    python -m tests.claims --count          how many claims each lesson makes; nothing is executed

A claim is an `assert` of a cell, or a printed line with a verdict (`above 90 %: True`), which is compared with the
stored notebook. Shifted are the seeds that torch, numpy and `random` are given, by the lesson or by what it calls; not
that of the split of the numbers into training and test, which the committed checkpoint knows, and not those of the
inputs of the exercises' checks. What else the lesson prints may change: the cells whose words do are named.

With `--longer N`, each number of training steps is N times as large. A cell that trains names the numbers in its first
line, `# %% steps=150`. A claim that holds only of so short a training must say so, and then belongs in a cell that does
not name its steps.

The exit code is 1 if a claim falls. Then weaken the sentence that claims it, not the test.
"""

import argparse
import ast
import json
import os
import re
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field

import nbformat
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from notebooks.build import NOTEBOOKS, SOURCES, execute, text_to_notebook
from tests.nbval_numbers import words_between
from tests.notebook_rules import multiplied, numbers_of_steps, without_magics
from tests.shifted_seeds import NoteAsserts

STEP = 1000  # more than a lesson has seeds of its own, so that a shifted seed is none of them
BEGIN = f"import sys; sys.path.insert(0, {str(NOTEBOOKS.parent)!r})\nfrom tests import shifted_seeds"
END = "import json; print(json.dumps(shifted_seeds.asserts))"
VERDICT = re.compile(r"\b(?:True|False)\b")

Claim = tuple[int, str]  # the number of its cell, counted as `notebooks/build.py` does, and what is claimed there


@dataclass
class Outcome:
    """What became of a lesson's claims in one run."""

    held: set[Claim] = field(default_factory=set)
    fell: dict[Claim, str] = field(default_factory=dict)  # and what was printed instead
    reworded: set[int] = field(default_factory=set)  # cells that print other words, verdicts apart


def begin(offset: int) -> NotebookNode:
    """The cell before the first: it shifts every seed, and has the asserts noted instead of raised."""
    return new_code_cell(f"{BEGIN}\nshifted_seeds.begin({offset})")


def try_claims(text: NotebookNode, stored: NotebookNode, offset: int, longer: int = 1) -> Outcome:
    """Execute a lesson's text with shifted seeds and longer training, and compare it with the stored notebook."""
    lesson, outcome = deepcopy(text), Outcome()
    cells = lesson.cells
    for cell in cells:
        if steps := numbers_of_steps(cell):
            cell.source = multiplied(cell.source, steps, longer)
    lesson.cells = [begin(offset), *cells, new_code_cell(END)]
    try:
        execute(lesson, seconds_per_cell=3000 * longer)
    except (CellControlSignal, DeadKernelError) as error:
        outcome.fell[0, "the lesson runs to its end"] = str(error).strip().splitlines()[-1]
        return outcome
    code = [number for number, cell in enumerate(cells, start=1) if cell.cell_type == "code"]
    for ran, condition, held in json.loads(lesson.cells[-1].outputs[0].text):
        note(outcome, (code[ran], f"assert {condition}"), held, printed(cells[code[ran] - 1]))
    known = {cell.id: cell for cell in stored.cells}
    for number in code:
        cell = cells[number - 1]
        if cell.id in known:
            compare(outcome, number, printed(known[cell.id]), printed(cell))
    return outcome


def note(outcome: Outcome, claim: Claim, held: bool, instead: list[str]) -> None:
    """Note that a claim held or fell; one that is made several times falls if it falls once."""
    if not held:
        outcome.fell[claim] = " / ".join(instead)
        outcome.held.discard(claim)
    elif claim not in outcome.fell:
        outcome.held.add(claim)


def claims_of(text: NotebookNode, stored: NotebookNode) -> set[Claim]:
    """The asserts of a lesson's text, and the lines with a verdict that its stored notebook holds."""
    outputs, claims = {cell.id: cell for cell in stored.cells}, set()
    for number, cell in enumerate(text.cells, start=1):
        if cell.cell_type == "code":
            noted = ast.walk(NoteAsserts().visit(ast.parse(without_magics(cell.source))))
            claims |= {(number, f"assert {call.args[1].value}") for call in noted if is_noted(call)}
            lines = printed(outputs[cell.id]) if cell.id in outputs else []
            claims |= {(number, line.strip()) for line in lines if VERDICT.search(line)}
    return claims


def is_noted(node: ast.AST) -> bool:
    """Whether a call notes an assert."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "note_assert"


def printed(cell: NotebookNode) -> list[str]:
    """The lines of plain text that a cell has put out."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "\n".join(texts).splitlines()


def compare(outcome: Outcome, number: int, stored: list[str], found: list[str]) -> None:
    """Note which of the verdicts that a cell prints are those of the stored notebook."""
    if len(stored) != len(found):
        outcome.reworded.add(number)
        return
    for line, found_line in zip(stored, found, strict=True):
        verdicts = VERDICT.findall(line)
        if verdicts or VERDICT.search(found_line):
            note(outcome, (number, line.strip()), verdicts == VERDICT.findall(found_line), [found_line.strip()])
        elif words_between(line) != words_between(found_line):
            outcome.reworded.add(number)


def report(lesson: str, outcomes: dict[int, Outcome]) -> bool:
    """Print which claims fell, and at which seeds; True if none did."""
    fell = defaultdict(dict)
    for shift, outcome in outcomes.items():
        for claim, instead in outcome.fell.items():
            fell[claim][shift] = instead
    claims = set(fell).union(*(outcome.held for outcome in outcomes.values()))
    print(f"\n{lesson}: {len(fell)} of {len(claims)} claims fell, in {len(outcomes)} runs")
    if fell:
        print(
            "\n| cell | claim | fell at seeds shifted by | where it first fell, the cell printed |\n|---|---|---|---|"
        )
    for (cell, claim), shifts in sorted(fell.items()):
        print(f"| {cell} | `{claim}` | {', '.join(map(str, shifts))} | {next(iter(shifts.values()))[:200]} |")
    if reworded := sorted(set().union(*(outcome.reworded for outcome in outcomes.values()))):
        print("other words are printed by the cells", ", ".join(map(str, reworded)))
    sys.stdout.flush()
    return not fell


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.claims", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="beginnings of lessons' names, such as 07 (default: all)")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="runs of each lesson (default: 5)")
    parser.add_argument("--first", type=int, default=1, metavar="K", help="begin with the shift K * 1000 (default: 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="runs at a time (default: cores)")
    parser.add_argument("--longer", type=int, default=1, metavar="N", help="N times the training steps (default: 1)")
    parser.add_argument("--count", action="store_true", help="only count the claims, and execute nothing")
    parser.add_argument("--device", default="cpu", help="where the lessons compute (default: cpu)")
    chosen = parser.parse_args()
    chosen.sources = [s for s in sorted(SOURCES.glob("*.py")) if s.name.startswith(tuple(chosen.names) or "")]
    if not chosen.sources:
        parser.error(f"no lesson has a name that begins with {' or '.join(chosen.names)}")
    if min(chosen.seeds, chosen.first, chosen.jobs, chosen.longer) < 1:
        parser.error("--seeds, --first, --jobs and --longer must be 1 or more")
    return chosen


def main() -> int:
    chosen = options()
    if chosen.count:
        for source in chosen.sources:
            stored = nbformat.read(NOTEBOOKS / f"{source.stem}.ipynb", as_version=4)
            print(source.stem, len(claims_of(text_to_notebook(source), stored)))
        return 0
    os.environ |= {"TRANSFORMER_LAB_DEVICE": chosen.device, "TRANSFORMER_LAB_PROGRESS": "off"}
    if chosen.jobs > 1:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    shifts = [STEP * (chosen.first + run) for run in range(chosen.seeds)]
    with ThreadPoolExecutor(chosen.jobs) as pool:
        runs = {}
        for source in chosen.sources:
            text = text_to_notebook(source)  # read once: who edits it during the runs renumbers no cell of theirs
            stored = nbformat.read(NOTEBOOKS / f"{source.stem}.ipynb", as_version=4)
            runs[source.stem] = {shift: pool.submit(try_claims, text, stored, shift, chosen.longer) for shift in shifts}
        hold = [report(lesson, {s: run.result() for s, run in tried.items()}) for lesson, tried in runs.items()]
    return 0 if all(hold) else 1


if __name__ == "__main__":
    sys.exit(main())
