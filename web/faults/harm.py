"""What a place of a broken function does: which mistake the check recognises where this place alone is left as it was.

And the simplest case that fails, with what the broken function returns and what the repaired one does.
"""

import re
from html import escape

from drawn import Drawn, decimals_of, is_small

from faults.diffing import code_lines, pieces, repaired, steps
from faults.places import examined
from transformer_lab.exercises.engine.cards import inline
from transformer_lab.exercises.engine.checking import Result, examine
from transformer_lab.exercises.engine.running import Attempt, as_tuple
from transformer_lab.exercises.kinds import FindTheBug

# What is said of an answer, and not of a fault.
OF_AN_ANSWER = re.compile(r"^((One|Two) of (two|three)|The mask) (is|are) mended\. | So check .*$")


def left_alone(exercise: FindTheBug, place: list[int]) -> Result:
    """The result of the repaired function in which this place alone is as it was."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    lines: list[str] = []
    for piece in pieces(broken, fixed):
        for old, new in [piece] if {*piece[0]} <= {*place} else steps(broken, fixed, *piece):
            lines += [broken[n] for n in old] if {*place} & {*old} else [fixed[m] for m in new]
    return examined(exercise, lines)


def cause(exercise: FindTheBug, place: list[int]) -> str:
    """What this place does wrong, as HTML, in the words of the check; nothing where it has none for it."""
    if exercise.defect:
        return inline(exercise.defect)
    mistake = left_alone(exercise, place).mistake
    return inline(OF_AN_ANSWER.sub("", mistake.explanation).replace(" still ", " ")) if mistake else ""


def elsewhere(exercise: FindTheBug, place: list[int]) -> str:
    """Where a place shows when it is left alone, as HTML, if that is not the simplest case in which all fail."""
    case = left_alone(exercise, place).case
    if case is None or case is examine(exercise, Attempt(exercise.broken), exercise.cases).case:
        return ""
    return f"The case below does not show it, but “{escape(case.label)}” does."


def exact(value: object) -> Drawn:
    return Drawn.of(value, decimals=decimals_of(Drawn.of(value).numbers))


def symptom(exercise: FindTheBug) -> str:
    """The simplest case that fails, as HTML: what is given, and side by side what is returned and what is right."""
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
    label = f'<p class="label">The simplest case that fails: {escape(result.case.label)}</p>'
    ends = f'<dl class="given-figure ends">{ends}</dl>' * bool(ends)
    return f'{label}<div class="which"><dl class="given-figure">{figure}</dl>{ends}</div>'
