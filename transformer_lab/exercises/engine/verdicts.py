"""The check of a learner's function: whether it was attempted, whether it is right, and what the card says if not."""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from textwrap import dedent

from transformer_lab.exercises.engine import comparing
from transformer_lab.exercises.engine.cards import Verdict
from transformer_lab.exercises.engine.checking import Result
from transformer_lab.exercises.engine.running import Case, Outcome, as_tuple, where
from transformer_lab.exercises.engine.specification import Specification
from transformer_lab.exercises.engine.time_limit import OutOfTime

NOTHING = object()  # what `check()` hands over
OUT_OF_DATE = (
    "The last cell that defines `{name}` ended in an error, so the function is still the one from before. "
    "Mend that cell, run it, and check again."
)


def unfit(exercise: Specification, name: str, answer: object) -> str | None:
    """The reason why what was passed as the function `name` can't be tried on cases, or None."""
    if answer is NOTHING:
        return f"Hand over your function: `exercises.{name}.check({name})`."
    if inspect.isclass(answer):
        return f"Hand over a function, or what else can be called: `check({name})` (got the class {answer.__name__})."
    if not callable(answer):
        return f"Hand over the function itself: `check({name})` (got {comparing.kind(answer)})."
    if problem := cannot_be_called(exercise, answer):
        return problem
    if out_of_date(answer):
        return OUT_OF_DATE.format(name=getattr(answer, "__name__", name))
    return None


def rejected(name: str, message: str, mistake: str | None = None) -> Verdict:
    return Verdict(name, False, True, mistake, message)


def stopped(error: BaseException) -> str:
    """The message for an answer that was interrupted, or ran out of time."""
    place = f", in {line}" if (line := where(error)) else ""
    if isinstance(error, OutOfTime):
        why = "is there a loop without an end" if "computing" in str(error) else "does it sleep, or wait for something"
        return f"It did not end within {error}{place}: {why}?"
    return f"Stopped: you interrupted the check{place}."


def cannot_be_called(exercise: Specification, answer: Callable) -> str | None:
    """The reason why an answer can't be called with the exercise's parameters, or None."""
    try:
        given = inspect.signature(answer)
        given.bind(*exercise.parameters)
    except TypeError:
        return f"The function must take ({', '.join(exercise.parameters)}), but takes ({', '.join(given.parameters)})."
    except ValueError:  # a built-in function may hide its parameters: the cases will tell
        return None
    return None


def out_of_date(answer: Callable) -> bool:
    """Whether a notebook cell defined this function, and a later one that was to redefine it failed."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    cells = shell.user_ns.get("In", []) if shell else []
    start = re.compile(rf"^def {re.escape(getattr(answer, '__name__', ''))}\b", flags=re.MULTILINE)
    defining = [cell for cell in cells if start.search(cell)]
    try:
        from_here = [inspect.getsource(answer).strip() in cell for cell in defining]
    except (OSError, TypeError):
        return False
    return any(from_here) and not from_here[-1]


def is_stub(answer: Callable, outcome: Outcome) -> bool:
    """Whether a function was left as handed out: its body is `...`, or only `pass`, `return` or `raise`."""
    values = as_tuple(outcome.value)
    if any(value is ... for value in values):
        return True
    returned = outcome.error is None or isinstance(outcome.error, NotImplementedError)
    return returned and bool(values) and all(value is None for value in values) and does_nothing(answer)


def does_nothing(answer: Callable) -> bool:
    """Whether no statement of a function does anything; True if its source cannot be read."""
    try:
        function = ast.parse(dedent(inspect.getsource(answer))).body[0]
    except (OSError, TypeError, SyntaxError):
        return True
    if not isinstance(function, ast.FunctionDef):
        return True
    return all(isinstance(s, (ast.Pass, ast.Raise)) or only_constants(s) for s in function.body)


def only_constants(statement: ast.stmt) -> bool:
    """Whether a statement returns constants, or is one: nothing in it has a name that is looked up."""
    return isinstance(statement, (ast.Return, ast.Expr)) and not any(
        isinstance(node, ast.Name) for node in ast.walk(statement)
    )


def report(result: Result, case: Case) -> list[str]:
    """Report the mistake, the failing case with its arguments, what is wrong, broken properties and printed text."""
    explained = [result.mistake.explanation] if result.mistake else []
    arguments = [f"  {name} = {comparing.show(x, len(name) + 5)}" for name, x in case.arguments.items()]
    simplest = f"Simplest case that fails: {case.label}."
    properties = [f"It should hold that {one.sentence}." for one in result.broken]
    return [*explained, simplest, *arguments, result.what, *properties, *printed_lines(result.outcome.printed)]


def praise(exercise: Specification, answer: Callable, cases: Sequence[Case], result: Result) -> str:
    with_gradients = any(exercise.asks_for_gradients(case) for case in cases)
    lines = [f"Right in all {len(cases)} cases: {'values and gradients' if with_gradients else 'values'}."]
    if inspect.unwrap(answer) is inspect.unwrap(exercise.reference):
        lines.append("This is the package's own function. Now write yours.")
    return "\n".join([*lines, *printed_lines(result.outcome.printed)])


def printed_lines(printed: str, most: int = 5) -> list[str]:
    """The text that an answer printed, cut to a few lines, with a word of advice."""
    if not printed.strip():
        return []
    lines = printed.rstrip().splitlines()
    more = [f"  … and {len(lines) - most} more lines"] if len(lines) > most else []
    return ["It printed (fine while you work; remove it when you are done):", *(f"  {s}" for s in lines[:most]), *more]
