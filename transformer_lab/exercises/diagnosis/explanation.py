"""Explaining what is wrong with an answer that makes no mistake of the catalogue, only where it is known for sure."""

import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from itertools import combinations, islice
from numbers import Number
from typing import Any

import torch
from torch import Tensor

from transformer_lab.exercises.diagnosis import wording
from transformer_lab.exercises.diagnosis.joint_mutations import with_a_tolerance
from transformer_lab.exercises.diagnosis.relations import related
from transformer_lab.exercises.diagnosis.repairs import Repair, RepairSearch, repair_search
from transformer_lab.exercises.diagnosis.source_tree import SourceTree
from transformer_lab.exercises.engine import checking
from transformer_lab.exercises.engine.comparing import Standard, agree, is_huge, same
from transformer_lab.exercises.engine.running import SEED, Attempt, Case, Outcome
from transformer_lab.exercises.engine.specification import Specification

PATIENCE = 2.0  # seconds of computing, for an answer on all cases: one that takes longer is not tried again
MOST_COMBINED = 40  # pairs of changes that lead to two mistakes

CHANCE = "Called twice, your answer returns two different things: chance plays a part in it, and should not."
MEMORY = "Called twice with the same arguments, your answer returns two different things. Does it keep something?"
ONLY_CHANGED = "The values are right. The one thing wrong is that the answer writes into what it is given."

Outcomes = Mapping[Case, Outcome]


def explain(exercise: Specification, answer: Callable) -> str | None:
    """The fault of a failing answer, explained in words; None where nothing is known for certain.

    Where nothing makes it right in every type, what is wrong in the wider types is told, and that float16 is left.
    """
    if found := explain_on_all(exercise, answer):
        return found
    wider = copy(exercise)
    wider.cases = tuple(case for case in exercise.cases if not is_half(case))
    if len(wider.cases) == len(exercise.cases) or checking.examine(wider, Attempt(answer), wider.cases).passed:
        return None
    found = explain_on_all(wider, answer)
    half = tuple(case for case in exercise.cases if is_half(case))
    if found is None or checking.examine(exercise, Attempt(answer), half).passed:
        return found
    return f"{found}\nIn float16 something is wrong as well; it may be the same."


def is_half(case: Case) -> bool:
    return any(isinstance(x, Tensor) and x.dtype == torch.float16 for x in case.arguments.values())


def explain_on_all(exercise: Specification, answer: Callable) -> str | None:
    """What is wrong on the cases of an exercise.

    It is looked for in what is returned, then in the answer's own source; one thing before two.
    """
    outcomes = outcomes_of(exercise, Attempt(answer))
    if outcomes is None or all(outcome.error is None and outcome.value is None for outcome in outcomes.values()):
        return None
    everywhere = {**outcomes, **{case: Attempt(answer).run(case) for case in exercise.cases if case.several}}
    right = {case: exercise.expected(case) for case in everywhere}
    if all(does_the_same(exercise, case, outcomes[case], right[case]) for case in outcomes):
        return of_changed_arguments(exercise, everywhere)
    if differs_from(exercise, Attempt(answer, SEED + 1), outcomes):
        return MEMORY if differs_from(exercise, Attempt(answer), outcomes) else CHANCE
    if exercise.goal is None and (relation := related(exercise, everywhere, right)):
        return f"What you return is right but for one thing: {relation}."
    return from_source(exercise, answer, outcomes, everywhere)


def of_changed_arguments(exercise: Specification, everywhere: Outcomes) -> str | None:
    """Explain an answer that writes into its arguments, but is right in every case that has a single right value."""
    if not any(outcome.changed for outcome in everywhere.values()):
        return None
    choices = {case: replace(one, changed=()) for case, one in everywhere.items() if case.several}
    if all(checking.has_the_properties(exercise, case, one) for case, one in choices.items()):
        return ONLY_CHANGED
    return related_to_a_mistake(exercise, everywhere)


def with_tolerance(answer: Callable) -> Callable | None:
    """The answer with a tolerance wherever it tests exact equality; None if it does not, or has no source at hand."""
    try:
        tree = SourceTree(answer)
        changes = with_a_tolerance(tree)
        return tree.function(changes) if changes else None
    except (OSError, TypeError, SyntaxError, ValueError):
        return None


def from_source(exercise: Specification, answer: Callable, outcomes: Outcomes, everywhere: Outcomes) -> str | None:
    """Explain the fault from changes of the answer's own source, or from its relation to a mistake in the catalogue.

    The outcomes are those where one value alone is right; `everywhere` has the others, too.
    """
    search = repair_search(exercise, answer, outcomes)
    found = search.one_change() if search else []
    if right := [repair for repair in found if repair.remaining is None]:
        return wording.one_change(right)
    if named := repaired_to_a_mistake(found) or related_to_a_mistake(exercise, everywhere):
        return named
    return from_two_changes(search, found) if search else None


def from_two_changes(search: RepairSearch, found: list[Repair]) -> str | None:
    """Explain the fault from changes in several places; `found` are the single changes that leave a known mistake."""
    joint = search.joint_changes()
    if right := [repair for repair in joint if repair.remaining is None]:
        return wording.several_changes(right[0])
    for one, other in islice(combinations(found + joint, 2), MOST_COMBINED):
        if (
            one.remaining
            and other.remaining
            and one.remaining is not other.remaining
            and search.makes_it_right(one.changes + other.changes)
        ):
            return wording.both(one.remaining.explanation, other.remaining.explanation)
    if not found and (named := repaired_to_a_mistake(joint)):
        return named
    repair = search.two_changes()
    if repair and repair.remaining:
        return wording.both(repair.remaining.explanation, wording.beside_a_mistake([repair]))
    return wording.several_changes(repair) if repair else None


def outcomes_of(exercise: Specification, attempt: Attempt) -> dict[Case, Outcome] | None:
    """The outcomes of an attempt on the cases that tell answers apart; None if it takes too long or returns too much.

    Where several answers are right, two with the same mistake may differ: such a case says nothing.
    """
    outcomes: dict[Case, Outcome] = {}
    start = time.thread_time()
    for case in exercise.cases:
        if case.several:
            continue
        if time.thread_time() - start > PATIENCE:
            return None
        outcomes[case] = attempt.run(case)
        if is_huge(outcomes[case].value):
            return None
    return outcomes


def does_the_same(exercise: Specification, case: Case, one: Outcome, other: Outcome) -> bool:
    one, other = checking.effect(exercise, case, one), checking.effect(exercise, case, other)
    return same(one, other, Standard.of(case))


def differs_from(exercise: Specification, attempt: Attempt, outcomes: Outcomes) -> bool:
    """Whether an attempt now returns something else than before; objects that can't be compared do not count."""
    for case, before in outcomes.items():
        again = attempt.run(case)
        known = is_comparable(before.value) and is_comparable(again.value)
        if known and not does_the_same(exercise, case, before, again):
            return True
    return False


def is_comparable(value: object) -> bool:
    """Whether equal values can be recognised as equal: a generator, a map or an object equals only itself."""
    if isinstance(value, (tuple, list)):
        return all(map(is_comparable, value))
    return value is None or isinstance(value, (Tensor, Number, str))


def repaired_to_a_mistake(found: list[Repair]) -> str | None:
    """Explain the mistake of the catalogue that remains after a change, and where that change is made.

    If changes lead to several mistakes, they may have made them: then none is named.
    """
    remaining = list(dict.fromkeys(repair.remaining for repair in found if repair.remaining))
    if len(remaining) != 1:
        return None
    return wording.both(remaining[0].explanation, wording.beside_a_mistake(found))


def related_to_a_mistake(exercise: Specification, outcomes: Outcomes) -> str | None:
    """Explain a mistake of the catalogue, and what else is wrong with the returned values or done to the arguments."""
    for mistake in exercise.mistakes.values() if exercise.goal is None else ():
        mistaken = {case: exercise.mistaken(mistake, case) for case in outcomes}
        if relation := related(exercise, outcomes, mistaken, of_mistake=True):
            return wording.both(mistake.explanation, f"Besides, {relation}.")
        if part := part_of_a_mistake(exercise, outcomes, mistaken):
            return f"What is wrong is `{part}` alone. {mistake.explanation}"
        changed = any(outcome.changed for outcome in outcomes.values())
        if changed and all(does_the_same(exercise, case, outcomes[case], mistaken[case]) for case in outcomes):
            return wording.both(mistake.explanation, "Besides, the answer writes into what it is given.")
    return None


def part_of_a_mistake(exercise: Specification, outcomes: Outcomes, mistaken: Outcomes) -> str | None:
    """The name of the one wrong value, if it is wrong as the mistake makes it and all others are right.

    A case may be right all the same, such as the first step of a loop: not most of them, or the mistake is another.
    """
    as_right: list[list[bool]] = []
    as_mistaken: list[list[bool]] = []
    for case, outcome in outcomes.items():
        given: Any = outcome.value
        theirs: Any = mistaken[case].value
        right: Any = exercise.expected(case).value
        if not all(isinstance(one, tuple) and len(one) == len(exercise.returns) for one in (given, theirs, right)):
            return None
        for fits, other in ((as_right, right), (as_mistaken, theirs)):
            fits.append([agree(one, them, Standard.of(case)) for one, them in zip(given, other, strict=True)])
    wrong = [i for i, fits in enumerate(zip(*as_right, strict=True)) if not all(fits)]
    if len(wrong) != 1:
        return None
    both = [(right[wrong[0]], theirs[wrong[0]]) for right, theirs in zip(as_right, as_mistaken, strict=True)]
    excepted = both.count((True, False))
    return exercise.returns[wrong[0]] if all(map(any, both)) and excepted < both.count((False, True)) else None
