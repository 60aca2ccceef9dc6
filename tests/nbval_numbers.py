"""A pytest plugin for nbval: in a cell marked `# %% tolerance=0.1`, numbers need only be near the stored ones.

What such a cell prints, and the text of its result, is compared line by line and number by number. Two numbers agree
if they are at most the tolerance apart, or that share of the stored one, whichever is more. What stands between the
numbers must be equal, but for the spaces that pad a number. A sign must be equal too, except at 0, which has none.
Without the mark nbval compares exactly, as it does with all else that a cell shows.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator

from nbformat import NotebookNode
from nbval.plugin import IPyNbCell

NUMBER = re.compile(
    r"""(?<![\w.])                                                    # the 3 of d_3 or v1.3 belongs to a name
    (?:(?<![)\]])[-+−])?                                              # a sign, unless it subtracts
    (?:inf(?!\w) | nan(?!\w)
    | (?: [0-9]{1,3}(?:[,_][0-9]{3})+(?![0-9]) | [0-9]+ | (?=\.[0-9]) )  # 16,640; 16640; nothing before .5
      (?:\.(?!\.)[0-9]*)? (?:e[-+]?[0-9]+)? )""",
    re.VERBOSE | re.IGNORECASE,
)
Texts = dict[str, list[tuple[NotebookNode, str]]]
compare_exactly = IPyNbCell.compare_outputs


def value(number: str) -> float:
    """What a written number says: `-1,024`, `−0.5` with a typographic minus, `2.3e+08`."""
    return float(re.sub("[,_]", "", number).replace("−", "-"))


def near(stored: float, found: float, tolerance: float) -> bool:
    """Whether two numbers agree."""
    if stored == found or math.isnan(stored) or math.isinf(stored):
        return stored == found or (math.isnan(stored) and math.isnan(found))
    rounding = 1 + 1e-9  # 1.1 - 1.0 is more than 0.1
    return stored * found >= 0 and abs(stored - found) <= tolerance * max(1, abs(stored)) * rounding


def words_between(line: str) -> list[str]:
    """What stands before, between and after the numbers of a line, without the spaces that pad them."""
    return [words.strip(" ") for words in NUMBER.split(line)]


def differences(stored: str, found: str, tolerance: float) -> Iterator[str]:
    """Where two texts disagree, and what each of them says there."""
    lines, found_lines = stored.splitlines(), found.splitlines()
    if len(lines) != len(found_lines):
        yield f"lines stored: {len(lines)}, found: {len(found_lines)}"
        return
    for number, (line, found_line) in enumerate(zip(lines, found_lines, strict=True), start=1):
        for problem in differences_in_a_line(line, found_line, tolerance):
            yield f"line {number}: {problem}\n  stored: {line}\n  found:  {found_line}"


def differences_in_a_line(stored: str, found: str, tolerance: float) -> Iterator[str]:
    numbers, found_numbers = NUMBER.findall(stored), NUMBER.findall(found)
    if len(numbers) != len(found_numbers):
        yield f"numbers stored: {len(numbers)}, found: {len(found_numbers)}"
        return
    for words, found_words in zip(words_between(stored), words_between(found), strict=True):
        if words != found_words:
            yield f"the text {words!r} is stored, {found_words!r} found"
    for place, (number, found_number) in enumerate(zip(numbers, found_numbers, strict=True), start=1):
        if not near(value(number), value(found_number), tolerance):
            yield f"number {place} of {len(numbers)}: {number} stored, {found_number} found (tolerance {tolerance:g})"


def texts(outputs: list[NotebookNode]) -> Texts:
    """The outputs that are text alone: each as the node and the key that hold it, by the name of its stream or type."""
    found = defaultdict(list)
    for output in outputs:
        if output.output_type == "stream":
            found[output.name].append((output, "text"))
        elif "text/plain" in output.get("data", {}):
            found["text/plain"].append((output.data, "text/plain"))
    return found


def compare_outputs(cell: IPyNbCell, test: list[NotebookNode], ref: list[NotebookNode], skip_compare=None) -> bool:
    """Compare as nbval does, after each text whose numbers are near has been taken for the stored one."""
    tolerance = cell.cell.metadata.get("tolerance")
    if tolerance is None:
        return compare_exactly(cell, test, ref, skip_compare)
    problems, stored = [], texts(ref)
    for name, nodes in texts(test).items():
        for (node, key), (stored_node, _) in zip(nodes, stored[name], strict=False):  # nbval counts the outputs
            here = list(differences(cell.sanitize(stored_node[key]), cell.sanitize(node[key]), tolerance))
            problems += [f"{name}, {problem}" for problem in here]
            if not here:
                node[key] = stored_node[key]
    agree = compare_exactly(cell, test, ref, skip_compare)
    cell.comparison_traceback[:0] = problems
    return agree


def pytest_configure() -> None:
    IPyNbCell.compare_outputs = compare_outputs
