"""What a place of a broken function does: which mistake the check recognises where this place alone is left as it was.

And the smallest case that fails, with what the broken function returns and what the repaired one does.
"""

import re
from html import escape
from math import isfinite

import torch
from drawn import Drawn, decimals_of, is_small

from faults.diffing import changes, code_lines, repaired, steps
from faults.places import examined
from transformer_lab.exercises.engine.cards import inline
from transformer_lab.exercises.engine.checking import Result, examine
from transformer_lab.exercises.engine.running import Attempt, as_tuple
from transformer_lab.exercises.kinds import FindTheBug

COUNT = re.compile(r"^(One|Two) of (two|three) (is|are) mended\. ")  # which is said of an answer, and not of a fault
CLOSE = 1e-5  # between two numbers that are the same but for rounding


def left_alone(exercise: FindTheBug, place: list[int]) -> Result:
    """The result of the repaired function in which this place alone is as it was."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    kept: dict[int, list[int]] = {}
    for change in changes(broken, fixed):
        for old, new in [change] if {*change[0]} <= {*place} else steps(broken, fixed, *change):
            if {*place} & {*old} and new:
                kept |= {m: [] for m in new} | {new[0]: old}
    return examined(exercise, kept)


def cause(exercise: FindTheBug, place: list[int]) -> str:
    """What the check says, as HTML, of a function in which this place alone is broken, or how far off it is then."""
    result = left_alone(exercise, place)
    if result.mistake and result.mistake.name != "still_broken":
        return inline(COUNT.sub("", result.mistake.explanation).replace(" still ", " "))
    return off_by(exercise, result)


def off_by(exercise: FindTheBug, result: Result) -> str:
    """How many of the numbers of the smallest case that fails are not the right ones, and by how much at most."""
    if result.case is None:
        return ""
    alone, label = "With this alone left as it is,", f"“{escape(result.case.label)}”"
    if result.outcome.error is not None:
        return f"{alone} the case {label} raises an error."
    right, given = (as_tuple(one.value) for one in (exercise.expected(result.case), result.outcome))
    pairs = [*zip(map(numbers_of, right), map(numbers_of, given), strict=True)]
    if any(one.shape != other.shape for one, other in pairs):
        return f"{alone} what comes out has another shape in the case {label}."
    far = torch.cat([(one - other).abs().flatten() for one, other in pairs])
    off, most = int((~(far < CLOSE)).sum()), float(far.max())
    what = f"{off} of {len(far)} numbers {'is' if off == 1 else 'are'} wrong" if len(far) > 1 else "the number is wrong"
    by = f"{most:,.0f}" if most >= 1000 else f"{most:.3g}"
    much = f", {'by up to' if off > 1 else 'by'} {by}" if isfinite(most) else ": not even finite"
    return f"{alone} {what} in the case {label}{much}."


def numbers_of(value: object) -> torch.Tensor:
    return torch.as_tensor(value).double()


def exact(value: object) -> Drawn:
    return Drawn.of(value, decimals=decimals_of(Drawn.of(value).numbers))


def symptom(exercise: FindTheBug) -> str:
    """The smallest case that fails, as HTML: what is given, and side by side what is returned and what is right."""
    result = examine(exercise, Attempt(exercise.broken), exercise.cases)
    assert result.case is not None
    right, returned = exercise.expected(result.case).value, result.outcome.value
    given = {name: exact(x) for name, x in result.case.arguments.items() if not callable(x) and is_small(x)}
    figure = "".join(f"<div><dt>{escape(name)}</dt><dd>{one.html()}</dd></div>" for name, one in given.items())
    ends = ""
    if all(is_small(x) for value in (right, returned) for x in as_tuple(value)):
        mended, broken = Drawn.of(right, exercise.returns), Drawn.of(returned, exercise.returns)
        ends = f"<div><dt>broken</dt><dd>{broken.html(mended)}</dd></div>"
        ends += f"<div><dt>mended</dt><dd>{mended.html()}</dd></div>"
    label = f'<p class="label">The smallest case that fails: {escape(result.case.label)}</p>'
    ends = f'<dl class="given-figure ends">{ends}</dl>' * bool(ends)
    return f'{label}<div class="which"><dl class="given-figure">{figure}</dl>{ends}</div>'
