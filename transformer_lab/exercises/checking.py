"""The check of an answer: is it attempted, is it right, and if not, what is wrong on which smallest case?"""

import ast
import inspect
from collections.abc import Callable
from textwrap import dedent
from typing import TYPE_CHECKING

from torch import Tensor

from transformer_lab.exercises import comparing
from transformer_lab.exercises.cards import Verdict
from transformer_lab.exercises.running import Attempt, Case, Outcome, as_tuple, where

if TYPE_CHECKING:
    from transformer_lab.exercises.exercise import Exercise, Law, Mistake

Failure = tuple[Case, Outcome, str]  # on which case, what came out, what is wrong with it


def examine(exercise: "Exercise", answer: object) -> Verdict:
    """The verdict on an answer. Values first, then gradients; then a name for the mistake, if it is a known one."""
    if problem := cannot_be_called(exercise, answer):
        return rejected(exercise, problem)
    attempt = Attempt(answer)
    outcomes = [attempt.run(case) for case in exercise.all_cases]
    if is_stub(answer, outcomes[0]):
        advice = f"Fill in the function and run its cell again; `exercises.{exercise.name}.hint()` helps."
        return Verdict(exercise.name, passed=False, attempted=False, mistake=None, message=advice)
    failed = rejection(exercise, attempt, outcomes)
    return failed or Verdict(exercise.name, True, True, None, praise(exercise, answer, outcomes))


def rejection(exercise: "Exercise", attempt: Attempt, outcomes: list[Outcome]) -> Verdict | None:
    """The verdict on an attempt that fails, given what it did on the exercise's cases; None if all is right."""
    failure = wrong_value(exercise, outcomes) or wrong_gradient(exercise, attempt)
    if failure is None:
        return None
    mistake = recognised(exercise, outcomes)
    lines = [mistake.explanation] if mistake else []
    return rejected(exercise, "\n".join([*lines, *report(exercise, *failure)]), mistake)


def rejected(exercise: "Exercise", message: str, mistake: "Mistake | None" = None) -> Verdict:
    return Verdict(exercise.name, False, True, mistake.name if mistake else None, message)


def cannot_be_called(exercise: "Exercise", answer: object) -> str | None:
    """Why an answer is no function of the exercise's parameters, or None."""
    if not callable(answer):
        return f"Hand over the function itself: `check({exercise.name})` (got {comparing.kind(answer)})."
    wanted = list(inspect.signature(exercise.reference).parameters)
    try:
        given = inspect.signature(answer)
        given.bind(*wanted)
    except TypeError:
        return f"The function must take ({', '.join(wanted)}), but takes ({', '.join(given.parameters)})."
    except ValueError:  # a built-in function may hide its parameters: the cases will tell
        return None
    return None


def is_stub(answer: Callable, outcome: Outcome) -> bool:
    """Whether a function was left as it was handed out: it says `...`, or nothing but `pass`, `return` or `raise`."""
    values = as_tuple(outcome.value)
    if any(value is ... for value in values):
        return True
    returned = outcome.error is None or isinstance(outcome.error, NotImplementedError)
    return returned and all(value is None for value in values) and does_nothing(answer)


def does_nothing(answer: Callable) -> bool:
    """Whether no statement of a function does anything; True if its source cannot be read."""
    try:
        body = ast.parse(dedent(inspect.getsource(answer))).body[0].body
    except (OSError, TypeError, SyntaxError, AttributeError):
        return True
    idle = (ast.Pass, ast.Return, ast.Raise)
    return all(isinstance(s, idle) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)) for s in body)


def wrong_value(exercise: "Exercise", outcomes: list[Outcome]) -> Failure | None:
    """The first case with a wrong outcome."""
    for case, outcome, right in zip(exercise.all_cases, outcomes, exercise.expected, strict=True):
        if what := fault(outcome, right, exercise.returns, case.coarse):
            return case, outcome, what
    return None


def fault(outcome: Outcome, right: Outcome, names: tuple[str, ...], coarse: bool) -> str | None:
    """What is wrong with one outcome, in words, or None."""
    if outcome.error is not None:
        place, text = where(outcome.error), f"{type(outcome.error).__name__}: {outcome.error}".rstrip(": ")
        return f"It raises an error{', in ' + place if place else ''}.\n  {text.splitlines()[0]}"
    if outcome.value is None:
        return "It returns None: is a `return` missing?"
    if outcome.changed:
        changed = ", ".join(f"`{name}`" for name in outcome.changed)
        return f"It changes its input {changed}. Make a new one: `+=`, `x[…] =` and `mul_` write into the old."
    return comparing.fault(outcome.value, right.value, names, coarse)


def wrong_gradient(exercise: "Exercise", attempt: Attempt) -> Failure | None:
    """The first case whose values are right and whose gradients are not."""
    for case, right in zip(exercise.all_cases, exercise.expected_gradients, strict=True):
        if not right.gradients:
            continue
        outcome = attempt.run_with_gradients(case)
        if what := gradient_fault(outcome, right, exercise.returns, case.coarse):
            return case, outcome, what
    return None


def gradient_fault(outcome: Outcome, right: Outcome, names: tuple[str, ...], coarse: bool) -> str | None:
    """What is wrong with the gradients of an outcome, in words, or None."""
    if outcome.error is not None:
        return f"The values are right, but with inputs that track gradients: {fault(outcome, right, names, coarse)}"
    for name, given, wanted in zip(names, as_tuple(outcome.value), as_tuple(right.value), strict=True):
        if wanted.requires_grad and not given.requires_grad:
            return (
                f"The values are right, but `{name}` is cut off from the inputs: no gradient flows back, and nothing "
                "could be learned. `.detach()`, `.item()`, `.numpy()`, `torch.tensor(…)` and `torch.no_grad()` do that."
            )
    for name, wanted in right.gradients.items():
        if what := comparing.fault_of_gradient(outcome.gradients[name], wanted, name, coarse):
            return f"The values are right, the gradients are not: {what}"
    return None


def recognised(exercise: "Exercise", outcomes: list[Outcome]) -> "Mistake | None":
    """The mistake that does on every case what the answer did. Where both only raise errors, their texts must agree."""
    works_somewhere = any(outcome.error is None for outcome in outcomes)
    for name, mistaken in exercise.mistaken.items():
        tried = list(zip(outcomes, mistaken, exercise.all_cases, strict=True))
        alike = all(comparing.same(one, other, exercise.returns, case.coarse) for one, other, case in tried)
        if alike and (works_somewhere or all(str(one.error) == str(other.error) for one, other, _ in tried)):
            return exercise.mistakes[name]
    return None


def report(exercise: "Exercise", case: Case, outcome: Outcome, what: str) -> list[str]:
    """The case that fails and its arguments, what is wrong, which laws are broken, what was printed."""
    arguments = [f"  {name} = {comparing.show(x, len(name) + 3)}" for name, x in case.arguments.items()]
    broken = [f"It should hold that {law.sentence}." for law in exercise.laws if breaks(law, case, outcome)]
    return [f"Smallest case that fails: {case.label}.", *arguments, what, *broken, *printed_lines(outcome.printed)]


def breaks(law: "Law", case: Case, outcome: Outcome) -> bool:
    """Whether an outcome violates a law; one of which the law can't be asked (a wrong shape, say) does not."""
    values = as_tuple(outcome.value)
    try:
        return all(isinstance(value, Tensor) for value in values) and not law.holds(case.arguments, *values)
    except Exception:
        return False


def praise(exercise: "Exercise", answer: Callable, outcomes: list[Outcome]) -> str:
    compared = "values and gradients" if any(right.gradients for right in exercise.expected_gradients) else "values"
    lines = [f"Right in all {len(outcomes)} cases: {compared}."]
    if any(inspect.unwrap(answer) is inspect.unwrap(own) for own in (exercise.reference, exercise.package) if own):
        lines.append("This is the package's own function. Now write yours.")
    return "\n".join([*lines, *printed_lines(outcomes[0].printed)])


def printed_lines(printed: str, most: int = 5) -> list[str]:
    """What an answer printed, cut to a few lines, with a word of advice."""
    if not printed.strip():
        return []
    lines = printed.rstrip().splitlines()
    more = [f"  … and {len(lines) - most} more lines"] if len(lines) > most else []
    return ["It printed (fine while you work; remove it when you are done):", *(f"  {s}" for s in lines[:most]), *more]
