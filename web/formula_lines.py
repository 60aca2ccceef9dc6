"""Where a formula may go on below itself: browsers do not break one, and a telephone is narrower than some."""

import re
from itertools import chain, pairwise

SHORT, LEAST = 24, 8  # letters of a formula that is never cut, and of its parts
RELATIONS, SUMS = {"=", r"\propto", r"\leftarrow", r"\quad"}, {"+", r"\cdot"}
LONG = 60  # letters of a line of a formula that is cut again
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^\s\\]")
OPENING, CLOSING = {*"([{", r"\begin", r"\left"}, {*")]}", r"\end", r"\right"}


def parts(tex: str, signs: set[str], short: int) -> list[str]:
    """A formula, cut where its line may break: before each of these signs outside of brackets, unless it is short."""
    if len(tex) <= short:
        return [tex]
    depth, starts = 0, [0]
    for found in TOKEN.finditer(tex):
        depth += (found[0] in OPENING) - (found[0] in CLOSING)
        if found[0] in signs and depth == 0 and found.start() > starts[-1] + LEAST:
            starts.append(found.start())
    return [part for start, end in pairwise([*starts, len(tex)]) if (part := tex[start:end].strip())]


def lines(tex: str) -> list[str]:
    """A formula that stands alone, cut before its relations, and what is still long before its sums and products."""
    return list(chain.from_iterable(parts(one, SUMS, LONG) for one in parts(tex, RELATIONS, SHORT)))
