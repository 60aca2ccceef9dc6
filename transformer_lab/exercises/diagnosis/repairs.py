"""The search for small changes of the answer's own source that make it right, or leave one known mistake."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from torch import Tensor

from transformer_lab.exercises.diagnosis.joint_mutations import joint_mutations
from transformer_lab.exercises.diagnosis.loop_limit import EndlessLoop
from transformer_lab.exercises.diagnosis.mutation import Mutation
from transformer_lab.exercises.diagnosis.mutations import mutations
from transformer_lab.exercises.diagnosis.right_parts import is_better, right_parts
from transformer_lab.exercises.diagnosis.source_tree import SourceTree
from transformer_lab.exercises.engine import checking
from transformer_lab.exercises.engine.comparing import Standard, agree, is_huge
from transformer_lab.exercises.engine.running import Attempt, Case, Outcome, run
from transformer_lab.exercises.engine.specification import Mistake, Specification
from transformer_lab.exercises.engine.time_limit import OutOfTime, time_limit

MOST_SINGLE, MOST_JOINT, MOST_PAIRS = 500, 100, 700  # that are tried; every machine tries as many
MOST_FIRST, MOST_TO_MISTAKES = 6, 2  # changes that make an answer better, or a mistake: to each a second one is sought
MOST_ENDLESS = 3  # changes by which a loop has no end
SECONDS = 0.6  # of computing, for all changes together, should they be slow
MOST_SECONDS = 5.0  # of computing, for one that hangs where rounds cannot be counted

Changes = tuple[Mutation, ...]


@dataclass(frozen=True)
class Repair:
    """The places of the answer to change, each with its line and source, and the mistake that remains afterwards."""

    changes: Changes
    places: tuple[tuple[str, str], ...]
    remaining: Mistake | None = None


@dataclass(frozen=True)
class FirstStep:
    """Changes to be followed by a second one: how many parts they leave wrong, or the mistake that they lead to."""

    changes: Changes
    wrong: int
    mistake: Mistake | None = None


def repair_search(exercise: Specification, answer: Callable, outcomes: Mapping[Case, Outcome]) -> "RepairSearch | None":
    """The search for repairs of an answer, or None if its source is not at hand."""
    try:
        return RepairSearch(exercise, answer, outcomes)
    except (OSError, TypeError, SyntaxError, ValueError, AttributeError, KeyError):
        return None


def hands_back(case: Case, outcome: Outcome) -> bool:
    """Whether an argument comes back as it was."""
    value, given = outcome.value, [x for x in case.arguments.values() if isinstance(x, Tensor)]
    return isinstance(value, Tensor) and any(agree(value, x, Standard.of(case)) for x in given)


class RepairSearch:
    """The search for changes that repair one answer. `outcomes` are its current ones, at least one of them wrong."""

    def __init__(self, exercise: Specification, answer: Callable, outcomes: Mapping[Case, Outcome]):
        self.exercise, self.outcomes = exercise, outcomes
        self.tree = SourceTree(answer)
        self.single = mutations(self.tree)[:MOST_SINGLE]
        self.deadline, self.endless, self.ended = time.thread_time() + SECONDS, 0, False
        self.right = {case: right_parts(exercise, case, outcome) for case, outcome in outcomes.items()}
        self.case = self.telling_case()
        self.joint = list(islice(joint_mutations(self.tree, self.single), MOST_JOINT))
        self.first: list[FirstStep] = []

    def telling_case(self) -> Case:
        """The first case in which the answer is wrong unlike any known mistake, or else the first wrong one."""
        wrong = [case for case, right in self.right.items() if not all(right)]
        ours = (case for case in wrong if not self.mistakes_in(case, self.outcomes[case]))
        return next(ours, wrong[0])

    def mistakes_in(self, case: Case, outcome: Outcome) -> list[Mistake]:
        return [
            one for one in self.exercise.mistakes.values() if checking.does_alike(self.exercise, one, case, outcome)
        ]

    def one_change(self) -> list[Repair]:
        """The changes of a single place that make the answer right, or better with only a known mistake left."""
        return list(self.tried((one,) for one in self.single))

    def joint_changes(self) -> list[Repair]:
        """The same for changes of several places that belong together."""
        return list(self.tried(self.joint))

    def two_changes(self) -> Repair | None:
        """Two changes that together make the answer right. If the first leads to a mistake, the second removes it."""
        others: list[Changes] = [*((one,) for one in self.single), *self.joint]
        to_mistakes = [step for step in self.first if step.mistake][:MOST_TO_MISTAKES]
        better = sorted((step for step in self.first if not step.mistake), key=lambda step: step.wrong)[:MOST_FIRST]
        for step in to_mistakes:
            pairs = ((*step.changes, *other) for other in others)
            if next(self.tried(pairs, last=True), None):
                return self.found(step.changes, step.mistake)
        pairs = ((*step.changes, *other) for other in others for step in better)
        return next(self.tried(islice(pairs, MOST_PAIRS), last=True), None)

    def makes_it_right(self, changes: Changes) -> bool:
        return next(self.tried([changes], last=True), None) is not None

    def tried(self, kind: Iterable[Changes], last: bool = False) -> Iterator[Repair]:
        """Try each of the changes and yield the repairs; with `last`, only those that make the answer right."""
        for changes in kind:
            if self.ended or time.thread_time() > self.deadline:
                return
            try:
                with time_limit(MOST_SECONDS):
                    repair = self.repair(changes, last)
            except EndlessLoop:
                self.endless += 1
                self.ended = self.endless == MOST_ENDLESS
                continue
            except OutOfTime:
                self.ended = True
                return
            except Exception:
                continue
            if repair:
                yield repair

    def repair(self, changes: Changes, last: bool) -> Repair | None:
        """The repair that some changes make, if the answer is then right, or better with only a known mistake left."""
        function = self.tree.function(changes)
        outcome = run(function, self.case)
        if is_huge(outcome.value):
            return None
        parts = right_parts(self.exercise, self.case, outcome)
        if all(parts) and checking.examine(self.exercise, Attempt(function), self.exercise.cases).passed:
            return self.found(changes)
        if last:
            return None
        if is_better(parts, self.right[self.case]):
            self.first.append(FirstStep(changes, len(parts) - sum(parts)))
        if len(changes) == 1 and changes[0].names_lost():
            return None
        alike = self.mistakes_in(self.case, outcome)
        mistake, gained = self.remaining(Attempt(function), alike) if alike else (None, False)
        if mistake and all(hands_back(case, Attempt(function).run(case)) for case in self.right):
            return None  # whatever the answer was, such a change throws it away
        if mistake and not gained:
            self.first.append(FirstStep(changes, 0, mistake))
        return self.found(changes, mistake) if mistake and gained else None

    def found(self, changes: Changes, remaining: Mistake | None = None) -> Repair:
        return Repair(changes, tuple(map(self.tree.place, changes)), remaining)

    def remaining(self, attempt: Attempt, candidates: list[Mistake]) -> tuple[Mistake | None, bool]:
        """The mistake that a changed answer makes in every case, and whether it is better in some and worse in none."""
        gained, lost = False, False
        for case, before in self.right.items():
            outcome = attempt.run(case)
            candidates = [one for one in candidates if checking.does_alike(self.exercise, one, case, outcome)]
            after = right_parts(self.exercise, case, outcome)
            gained |= is_better(after, before)
            lost |= not (after == before or is_better(after, before))
            if not candidates:
                return None, False
        for case in (case for case in self.exercise.cases if case.several):
            outcome = attempt.run(case)
            candidates = [one for one in candidates if checking.does_alike(self.exercise, one, case, outcome)]
        return (candidates[0], gained and not lost) if candidates else (None, False)
