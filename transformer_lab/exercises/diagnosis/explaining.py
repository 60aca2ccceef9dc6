"""From an answer to the slips by which one gets what it computes, and to words for its author."""

import time
from collections.abc import Callable, Mapping

from transformer_lab.exercises.diagnosis.mending import Mend, mends
from transformer_lab.exercises.diagnosis.relations import related
from transformer_lab.exercises.diagnosis.search import Search
from transformer_lab.exercises.diagnosis.sketch import comparable
from transformer_lab.exercises.diagnosis.telling import as_text, places
from transformer_lab.exercises.engine import checking
from transformer_lab.exercises.engine.comparing import Standard, is_huge, same
from transformer_lab.exercises.engine.running import SEED, Attempt, Case, Outcome
from transformer_lab.exercises.engine.specification import Specification

PATIENCE = 2.0  # seconds of computing, for an answer on all cases: one that takes longer is not tried again

Outcomes = Mapping[Case, Outcome]


def explain(exercise: Specification, name: str, answer: Callable, failed: Case) -> str | None:
    """By which slips one gets what an answer computes, in words, or None. It is known that it fails in a case.

    One slip is looked for before two: in right answers, then in what is returned, then in the answer's own source.
    """
    attempt, start = Attempt(answer), time.thread_time()
    outcomes: dict[Case, Outcome] = {}
    for case in comparable(exercise.cases):
        if time.thread_time() - start > PATIENCE:
            return None
        outcomes[case] = attempt.run(case)
        if is_huge(outcomes[case].value):
            return None
    if all(outcome.error is None and outcome.value is None for outcome in outcomes.values()):
        return None
    right = {case: exercise.expected(case) for case in outcomes}
    if all(does_the_same(exercise, case, outcomes[case], right[case]) for case in outcomes):
        return ONLY_CHANGED if any(outcome.changed for outcome in outcomes.values()) else None
    if chance_plays_a_part(exercise, Attempt(answer, SEED + 1), outcomes):
        return CHANCE
    search = Search(exercise, name, outcomes, answer)
    if one := as_text(search.causes(slips=1)):
        return one
    if exercise.goal is None and (relation := related(exercise, outcomes, right)):
        return f"What you return is right but for one thing: {relation}."
    found = mends(exercise, answer, failed)
    if one_place := [mend.place for mend in found if mend.remaining is None]:
        return places(one_place)
    if two := as_text(search.causes(slips=2)):
        return two
    return (
        as_text(related_to_a_mistake(exercise, outcomes))
        or as_text(mended_to_a_mistake(found))
        or nearly_a_mistake(exercise, outcomes, right, failed)
    )


CHANCE = "Called twice, your answer returns two different things: chance plays a part in it, and should not."
ONLY_CHANGED = "The values are right. The one thing wrong is that the answer writes into what it is given."


def does_the_same(exercise: Specification, case: Case, one: Outcome, other: Outcome) -> bool:
    one, other = checking.effect(exercise, case, one), checking.effect(exercise, case, other)
    return same(one, other, Standard.of(case))


def chance_plays_a_part(exercise: Specification, other: Attempt, outcomes: Outcomes) -> bool:
    """Whether the answer returns something else in an attempt that draws other random numbers."""
    return not all(does_the_same(exercise, case, one, other.run(case)) for case, one in outcomes.items())


def mended_to_a_mistake(found: list[Mend]) -> list[tuple[str, ...]]:
    """The named mistake that remains after one change, and where that is made.

    If changes lead to several mistakes, they may have made them: then none is named.
    """
    remaining = list(dict.fromkeys(mend.remaining for mend in found if mend.remaining))
    if len(remaining) != 1:
        return []
    rest = places([mend.place for mend in found], "One change does away with the rest")
    return [(remaining[0].explanation, rest)]


def nearly_a_mistake(exercise: Specification, outcomes: Outcomes, right: Outcomes, failed: Case) -> str | None:
    """The named mistake that does the same in nearly all cases, in two or more where it is wrong."""
    best: dict[str, list[Case]] = {}
    for mistake in exercise.mistakes.values():
        mistaken = {case: exercise.mistaken(mistake, case) for case in outcomes}
        other = [case for case in outcomes if not does_the_same(exercise, case, outcomes[case], mistaken[case])]
        wrong = [case for case in outcomes if not does_the_same(exercise, case, mistaken[case], right[case])]
        alike = [case for case in wrong if case not in other and outcomes[case].error is None]
        if failed in alike and len(alike) >= 2 and len(other) <= max(1, len(outcomes) // 4):
            best[mistake.explanation] = other
    fewest = min(map(len, best.values()), default=0)
    closest = [name for name, other in best.items() if len(other) == fewest]
    if len(closest) != 1:
        return None
    labels = "; ".join(case.label for case in best[closest[0]])
    return f"{closest[0]} That is what your answer computes in all cases but: {labels}. There is more to mend there."


def related_to_a_mistake(exercise: Specification, outcomes: Outcomes) -> list[tuple[str, ...]]:
    """A named mistake, and how what is returned differs from what it returns."""
    found: list[tuple[str, ...]] = []
    for mistake in exercise.mistakes.values() if exercise.goal is None else ():
        mistaken = {case: exercise.mistaken(mistake, case) for case in outcomes}
        if relation := related(exercise, outcomes, mistaken, reshaped=False):
            found.append((mistake.explanation, f"Besides, {relation}."))
    return found
