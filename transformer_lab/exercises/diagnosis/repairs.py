"""The answer's own source: which small changes of it make it right, or leave one known mistake?"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice

from transformer_lab.exercises.diagnosis.joint_mutations import joint_mutations
from transformer_lab.exercises.diagnosis.loop_limit import EndlessLoop
from transformer_lab.exercises.diagnosis.mutation import Mutation
from transformer_lab.exercises.diagnosis.mutations import mutations
from transformer_lab.exercises.diagnosis.right_parts import is_better, right_parts
from transformer_lab.exercises.diagnosis.source_tree import SourceTree
from transformer_lab.exercises.engine import checking
from transformer_lab.exercises.engine.comparing import is_huge
from transformer_lab.exercises.engine.running import Attempt, Case, Outcome, run
from transformer_lab.exercises.engine.specification import Mistake, Specification
from transformer_lab.exercises.engine.time_limit import OutOfTime, time_limit

MOST_SINGLE, MOST_JOINT, MOST_PAIRS = 400, 80, 160  # that are tried; every machine tries as many
MOST_FIRST = 3  # changes that make an answer better, to each of which a second one is sought
MOST_ENDLESS = 3  # changes by which a loop has no end
SECONDS = 0.6  # of computing, for all changes together, should they be slow
MOST_SECONDS = 5.0  # of computing, for one that hangs where rounds cannot be counted

Changes = tuple[Mutation, ...]


@dataclass(frozen=True)
class Repair:
    """Places of the answer, each its line and what stands there; the mistake that remains if they are changed."""

    places: tuple[tuple[str, str], ...]
    remaining: Mistake | None = None


def repair_search(exercise: Specification, answer: Callable, outcomes: Mapping[Case, Outcome]) -> "RepairSearch | None":
    """The search, or None where the source is not at hand."""
    try:
        return RepairSearch(exercise, answer, outcomes)
    except (OSError, TypeError, SyntaxError, ValueError, AttributeError, KeyError):
        return None


class RepairSearch:
    """The search for changes of one answer's source. `outcomes` are what it does now; it is wrong in a case."""

    def __init__(self, exercise: Specification, answer: Callable, outcomes: Mapping[Case, Outcome]):
        self.exercise, self.outcomes = exercise, outcomes
        self.tree = SourceTree(answer)
        self.single = mutations(self.tree)[:MOST_SINGLE]
        self.deadline, self.endless, self.ended = time.thread_time() + SECONDS, 0, False
        self.right = {case: right_parts(exercise, case, outcome) for case, outcome in outcomes.items()}
        self.case = self.telling_case()
        self.better: list[tuple[int, Mutation]] = []  # with the number of parts that each leaves wrong

    def telling_case(self) -> Case:
        """The first in which the answer is wrong as no named mistake is, or else in which it is wrong."""
        wrong = [case for case, right in self.right.items() if not all(right)]
        ours = (case for case in wrong if not self.mistakes_in(case, self.outcomes[case]))
        return next(ours, wrong[0])

    def mistakes_in(self, case: Case, outcome: Outcome) -> list[Mistake]:
        return [
            one for one in self.exercise.mistakes.values() if checking.does_alike(self.exercise, one, case, outcome)
        ]

    def one_change(self) -> list[Repair]:
        """The changes of one place that make the answer right, or better and nothing but a named mistake."""
        return list(self.tried((one,) for one in self.single))

    def several_changes(self) -> Repair | None:
        """Changes of several places that together make it right, of those that are tried the first."""
        joint = islice(joint_mutations(self.tree, self.single), MOST_JOINT)
        first = [one for _, one in sorted(self.better, key=lambda pair: pair[0])[:MOST_FIRST]]
        pairs = ((one, other) for other in self.single for one in first)
        return next(self.tried(chain(joint, islice(pairs, MOST_PAIRS))), None)

    def tried(self, kind: Iterable[Changes]) -> Iterator[Repair]:
        for changes in kind:
            if self.ended or time.thread_time() > self.deadline:
                return
            try:
                with time_limit(MOST_SECONDS):
                    repair = self.repair(changes)
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

    def repair(self, changes: Changes) -> Repair | None:
        """What comes of some changes, if that is right, or a mistake and better than before."""
        function = self.tree.function(changes)
        outcome = run(function, self.case)
        if is_huge(outcome.value):
            return None
        parts = right_parts(self.exercise, self.case, outcome)
        if all(parts) and checking.examine(self.exercise, Attempt(function), self.exercise.cases).passed:
            return self.found(changes)
        if len(changes) > 1:
            return None
        if is_better(parts, self.right[self.case]):
            self.better.append((len(parts) - sum(parts), changes[0]))
        if changes[0].names_lost() or not (alike := self.mistakes_in(self.case, outcome)):
            return None
        remaining = self.remaining(Attempt(function), alike)
        return self.found(changes, remaining) if remaining else None

    def found(self, changes: Changes, remaining: Mistake | None = None) -> Repair:
        return Repair(tuple(map(self.tree.place, changes)), remaining)

    def remaining(self, attempt: Attempt, candidates: list[Mistake]) -> Mistake | None:
        """The mistake that a changed answer makes in every case, if it is better in some and worse in none."""
        gained = False
        for case, before in self.right.items():
            outcome = attempt.run(case)
            candidates = [one for one in candidates if checking.does_alike(self.exercise, one, case, outcome)]
            after = right_parts(self.exercise, case, outcome)
            gained |= is_better(after, before)
            if not candidates or not (after == before or is_better(after, before)):
                return None
        return candidates[0] if gained else None
