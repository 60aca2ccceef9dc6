"""Which parts of a returned value are right, and whether a change of the answer makes more of them right."""

from torch import Tensor, isclose

from transformer_lab.exercises.engine import checking, comparing
from transformer_lab.exercises.engine.comparing import Standard
from transformer_lab.exercises.engine.running import Case, Outcome
from transformer_lab.exercises.engine.specification import Specification


def right_parts(exercise: Specification, case: Case, outcome: Outcome) -> list[bool]:
    """One boolean for each number of a tensor that has the right shape, and one for any other returned value."""
    if exercise.goal is not None:
        return [checking.fault_on(exercise, outcome, case) is None]
    if outcome.error is not None:
        return [exercise.expected(case).error is not None]
    return of_value(outcome.value, exercise.expected(case).value, Standard.of(case))


def of_value(given: object, expected: object, standard: Standard) -> list[bool]:
    if isinstance(expected, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(expected):
            return [False]
        return [part for pair in zip(given, expected, strict=True) for part in of_value(*pair, standard)]
    if not isinstance(given, Tensor) or not isinstance(expected, Tensor):
        return [comparing.agree(given, expected, standard)]
    if standard.any_float and given.is_floating_point() and expected.is_floating_point():
        given = given.to(expected.dtype)
    if (given.shape, given.dtype, given.device) != (expected.shape, expected.dtype, expected.device):
        return [False]
    if not expected.is_floating_point():
        return (given == expected).flatten().tolist()
    within = comparing.tolerance(expected.dtype, standard.loose)
    return isclose(given, expected, **within, equal_nan=True).flatten().tolist()


def is_better(after: list[bool], before: list[bool]) -> bool:
    """Whether more parts are right, and none that was right has become wrong."""
    if len(after) != len(before):  # of another shape
        return any(after) and not any(before)
    return after != before and all(now or not then for now, then in zip(after, before, strict=True))
