"""The one judge of answers: an attempt is right on the given cases, or the first failing case shows what is wrong.

An attempt runs an answer on a case, here in this process or wherever else. So an exercise's check judges a function in
a notebook, and the grader a process in a sandbox, on cases that nobody has seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real

import torch
from torch import Tensor

from transformer_lab.exercises.engine import comparing
from transformer_lab.exercises.engine.comparing import Standard
from transformer_lab.exercises.engine.running import (
    NO_INPUT,
    NO_SOFTMAX,
    Attempt,
    Case,
    Outcome,
    as_tuple,
    is_floating,
    where,
)
from transformer_lab.exercises.engine.specification import Mistake, Property, Specification

OVERFLOW = "What these matrices bring about must be finite, but NaN or infinity is among it: take smaller numbers."


@dataclass(frozen=True)
class Result:
    """The result of an examination: passed, or else the case that fails and what is wrong there.

    The first line of `what` shows neither inputs nor expected values; the lines after it may, and so may an error.
    """

    outcome: Outcome  # on the case that fails; else on the first
    case: Case | None = None
    what: str = ""
    mistake: Mistake | None = None
    broken: tuple[Property, ...] = ()
    share: float = 0.0  # of an answer that does not pass: how much of it is right, where that can be said

    @property
    def passed(self) -> bool:
        return self.case is None

    @property
    def score(self) -> float:
        """The score, from 0 to 1."""
        return 1.0 if self.passed else self.share

    @property
    def headline(self) -> str:
        return self.what.partition("\n")[0]


def examine(exercise: Specification, attempt: Attempt, cases: Sequence[Case]) -> Result:
    """Try an attempt on the cases: first values only, then values and gradients where gradients are tracked.

    What fails is named if it is a known mistake: one that does the same on every case. Whatever an attempt raises, that
    is not an outcome, comes out of here.
    """
    result = examine_values(exercise, attempt, cases)
    for case in cases if result.passed else ():
        if exercise.asks_for_gradients(case) and not case.several:
            outcome = attempt.run_with_gradients(case)
            if what := fault_with_gradients(exercise, outcome, case):
                return Result(outcome, case, what)
    return result


def examine_values(exercise: Specification, attempt: Attempt, cases: Sequence[Case]) -> Result:
    """Try an attempt on the cases, without tracking gradients."""
    outcomes: list[Outcome] = []
    for case in cases:
        outcomes.append(attempt.run(case))
        what = fault_on(exercise, outcomes[-1], case)
        if what and not (case.several and has_the_properties(exercise, case, outcomes[-1])):
            mistake = recognised(exercise, attempt, cases, outcomes)
            return Result(outcomes[-1], case, what, mistake, broken(exercise, case, outcomes[-1]))
    return Result(outcomes[0])


def fault_on(exercise: Specification, outcome: Outcome, case: Case) -> str | None:
    """Describe what is wrong with the outcome of a case, or return None."""
    outcome = with_tensor(exercise, case, outcome)
    if exercise.goal is None:
        return fault(outcome, exercise.expected(case), exercise.returns, case)
    if what := fault_in_running(outcome, case):
        return what
    if what := comparing.fault_of_form(outcome.value, exercise.expected(case).value, ", ".join(exercise.returns)):
        return what
    brought_about = exercise.goal.effect(case.arguments, *as_tuple(outcome.value))
    return exercise.goal.lacks(case.arguments, brought_about) if brought_about.isfinite().all() else OVERFLOW


def with_tensor(exercise: Specification, case: Case, outcome: Outcome) -> Outcome:
    """The outcome with its plain number as a tensor, where a number is asked for."""
    given, right = outcome.value, exercise.expected(case).value
    if not exercise.number or not isinstance(right, Tensor) or isinstance(given, bool):
        return outcome
    if isinstance(given, Real):
        return replace(outcome, value=torch.tensor(given, dtype=right.dtype, device=right.device))
    return replace(outcome, value=given.to(right.dtype)) if is_floating(given) else outcome


def fault(outcome: Outcome, right: Outcome, names: tuple[str, ...], case: Case) -> str | None:
    """Describe what is wrong with one outcome, compared with the right one, or return None."""
    return fault_in_running(outcome, case) or comparing.fault(outcome.value, right.value, names, Standard.of(case))


def fault_in_running(outcome: Outcome, case: Case) -> str | None:
    """Describe what is wrong with a run, whatever the value should be, or return None."""
    if outcome.error is not None:
        place, text = where(outcome.error), f"{type(outcome.error).__name__}: {outcome.error}".rstrip(": ")
        here = f", in {place}" if place else ""
        if isinstance(outcome.error, MemoryError) or "can't allocate memory" in text:
            return f"It takes more memory than it may{here}: is something far larger than the arguments?"
        if str(outcome.error) == NO_INPUT:
            return f"It asks for input{here}, but {NO_INPUT}."
        return f"It raises an error{here}.\n  {text.splitlines()[0]}"
    if outcome.value is None:
        return "It returns None: is a `return` missing?"
    if outcome.changed:
        ways = [
            "`append`, `pop` and `x[…] =`" if isinstance(case.arguments[name], list) else "`+=`, `x[…] =` and `mul_`"
            for name in outcome.changed
        ]
        changed = ", ".join(f"`{name}`" for name in outcome.changed)
        return f"It changes its input {changed}. Make a new one: {ways[0]} write into the old."
    return None


def fault_with_gradients(exercise: Specification, outcome: Outcome, case: Case) -> str | None:
    """Describe what is wrong with an outcome whose values are right without gradients, or return None."""
    if str(outcome.error) == NO_SOFTMAX:
        return f"The values are right, but {NO_SOFTMAX}."
    right = exercise.expected_with_gradients(case)
    if what := fault(outcome, right, exercise.returns, case):
        what = f" {what[0].lower()}{what[1:]}" if what.startswith("It ") else f": {what}"
        return f"The values are right, but with inputs that track gradients{what}"
    for name, given, wanted in zip(exercise.returns, as_tuple(outcome.value), as_tuple(right.value), strict=True):
        if wanted.requires_grad and not given.requires_grad:
            return (
                f"The values are right, but `{name}` is cut off from the inputs: no gradient flows back, and nothing "
                "could be learned. `.detach()`, `.item()`, `.numpy()`, `torch.tensor(…)` and `torch.no_grad()` do that."
            )
    for name, wanted in right.gradients.items():
        if what := fault_of_gradient(exercise, outcome.gradients.get(name), wanted, name, case):
            return f"The values are right, the gradients are not: {what}"
    return None


def fault_of_gradient(
    exercise: Specification, given: Tensor | None, wanted: Tensor, name: str, case: Case
) -> str | None:
    """Describe what is wrong with one gradient; on a domain, only its part along the domain counts."""
    if given is not None and name in exercise.domains:
        given, wanted = map(exercise.domains[name].along, (given, wanted))
    return comparing.fault_of_one(given, wanted, f"gradient of {name}", Standard(case.loose))


def recognised(
    exercise: Specification, attempt: Attempt, cases: Sequence[Case], outcomes: list[Outcome]
) -> Mistake | None:
    """The mistake that agrees with the attempt on every case. If both only raise errors, their messages must agree.

    The attempt has run on the first cases already, and failed on the last of these; it goes on as long as need be.
    Where several answers are right, two that make the same mistake may differ: such a case counts only if it failed.
    """
    tried, failed = dict(zip(cases, outcomes, strict=False)), cases[len(outcomes) - 1]
    candidates = [m for m in exercise.mistakes.values() if fault_on(exercise, exercise.mistaken(m, failed), failed)]
    for case in (failed, *(case for case in cases if not case.several)):
        if not candidates:
            return None
        if case not in tried:
            tried[case] = attempt.run(case)
        candidates = [m for m in candidates if does_alike(exercise, m, case, tried[case])]
    works_somewhere = any(outcome.error is None for outcome in tried.values())
    for mistake in candidates:
        texts = ((str(outcome.error), str(exercise.mistaken(mistake, case).error)) for case, outcome in tried.items())
        if works_somewhere or all(one == other for one, other in texts):
            return mistake
    return None


def does_alike(exercise: Specification, mistake: Mistake, case: Case, outcome: Outcome) -> bool:
    one, other = gist(exercise, case, outcome), gist(exercise, case, exercise.mistaken(mistake, case))
    return comparing.same(one, other, Standard.of(case))


def gist(exercise: Specification, case: Case, outcome: Outcome) -> Outcome:
    """The outcome in the form in which it is compared with that of a mistake."""
    found = effect(exercise, case, outcome)
    if exercise.goal is None or found is outcome or not isinstance(found.value, Tensor):
        return found
    return replace(found, value=exercise.goal.gist(found.value))


def effect(exercise: Specification, case: Case, outcome: Outcome) -> Outcome:
    """The outcome in the form in which it is compared with others: the returned value, or the effect of that."""
    outcome = with_tensor(exercise, case, outcome)
    form = exercise.expected(case).value
    if exercise.goal is None or outcome.error is not None or comparing.fault_of_form(outcome.value, form, ""):
        return outcome
    return replace(outcome, value=exercise.goal.effect(case.arguments, *as_tuple(outcome.value)))


def broken(exercise: Specification, case: Case, outcome: Outcome) -> tuple[Property, ...]:
    """The properties that an outcome violates. Only tensors of the right shape are tested; all others pass."""
    values, right = as_tuple(outcome.value), as_tuple(exercise.expected(case).value)
    if len(values) != len(right) or not all(map(of_one_shape, values, right)):
        return ()
    return tuple(one for one in exercise.properties if violates(one, case, values))


def has_the_properties(exercise: Specification, case: Case, outcome: Outcome) -> bool:
    """Whether an outcome is one of several right ones: right in shape and type, and with every property."""
    values, right = as_tuple(outcome.value), as_tuple(exercise.expected(case).value)
    if outcome.error is not None or outcome.changed or len(values) != len(right):
        return False
    alike = all(of_one_shape(a, b) and a.dtype == b.dtype for a, b in zip(values, right, strict=True))
    return alike and not broken(exercise, case, outcome)


def of_one_shape(given: object, wanted: object) -> bool:
    return isinstance(given, Tensor) and isinstance(wanted, Tensor) and given.shape == wanted.shape


def violates(one: Property, case: Case, values: tuple) -> bool:
    """Whether values violate a property; those on which it can't be tested (of another type, say) do not."""
    try:
        return not one.holds(case.arguments, *values)
    except Exception:
        return False
