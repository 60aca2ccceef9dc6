"""Part of the points for an answer that fails: the share of the cases it has right, and of the properties it keeps.

A property counts where the result has the right form on every case. Who has no case right gets nothing, whatever holds.
"""

from collections.abc import Sequence

from transformer_lab.exercises import Exercise
from transformer_lab.exercises.engine import checking
from transformer_lab.exercises.engine.running import Attempt, Case, Outcome, as_tuple


def share_right(exercise: Exercise, attempt: Attempt, visible: Sequence[Case], hidden: Sequence[Case]) -> float | int:
    """From 0 to 1: of hidden values, of gradients where they flow, and of properties, all counted alike.

    The visible cases, which may be known by heart, only show that something is right at all.
    """
    shares = [share_of(exercise, attempt, cases) for cases in (visible, hidden) if cases]
    return shares[-1][1] if any(right for right, _ in shares) else 0.0


def share_of(exercise: Exercise, attempt: Attempt, cases: Sequence[Case]) -> tuple[int, float | int]:
    """How many cases are right, and the share that is right of all that is asked."""
    asked, right, kept = 0, 0, set(exercise.properties)
    for case in cases:
        outcome = attempt.run(case)
        fine = not checking.fault_on(exercise, outcome, case) or (
            case.several and checking.has_the_properties(exercise, case, outcome)
        )
        asked, right = asked + 1, right + fine
        kept -= lost(exercise, case, outcome)
        if exercise.asks_for_gradients(case) and not case.several:
            flows = fine and not checking.fault_with_gradients(exercise, attempt.run_with_gradients(case), case)
            asked, right = asked + 1, right + flows
    return right, (right + len(kept)) / (asked + len(exercise.properties))


def lost(exercise: Exercise, case: Case, outcome: Outcome) -> set:
    """The properties that an outcome violates: all of them, where its form is wrong."""
    values, wanted = as_tuple(outcome.value), as_tuple(exercise.expected(case).value)
    formed = len(values) == len(wanted) and all(map(checking.of_one_shape, values, wanted))
    return set(checking.broken(exercise, case, outcome)) if formed else set(exercise.properties)
