"""The search for slips that do what an answer does, in the table of an exercise."""

import inspect
import time
from collections.abc import Callable, Mapping
from functools import cached_property

from transformer_lab.exercises.diagnosis.base import names_of
from transformer_lab.exercises.diagnosis.rounds import Endless
from transformer_lab.exercises.diagnosis.sketch import mark, marks_of
from transformer_lab.exercises.diagnosis.table import BROKEN, EMPTY, MISTAKE, REFERENCE, Bases, Row, table_of
from transformer_lab.exercises.diagnosis.telling import without_place
from transformer_lab.exercises.engine import checking, comparing
from transformer_lab.exercises.engine.comparing import Standard
from transformer_lab.exercises.engine.running import Case, Outcome, run
from transformer_lab.exercises.engine.specification import Specification

MOST_TRIED = 100  # functions that are run in one search; every machine runs as many
SECONDS = 2.0  # of computing, for one search, should it be slow

STILL_THERE = "The defect that the function was handed out with is still in it."

Cause = tuple[str, ...]  # the slips that come together, in words


class Search:
    """What is known of one answer, and the rows of the table that may do the same."""

    def __init__(self, exercise: Specification, name: str, outcomes: Mapping[Case, Outcome], answer: Callable):
        self.exercise, self.name, self.outcomes = exercise, name, outcomes
        self.table = table_of(name) or EMPTY
        self.bases = Bases(exercise, self.table.bases)
        self.named = {mistake.explanation for mistake in exercise.mistakes.values()}
        self.works_somewhere = any(outcome.error is None for outcome in outcomes.values())
        self.words = names_of(getattr(inspect.unwrap(answer), "__code__", None))

    @cached_property
    def rows(self) -> list[Row]:
        """What has nearly the same sketch; what was made of a right answer that is most like this one comes first."""
        near = self.table.near(marks_of(self.outcomes, self.effect))
        return sorted((row for row in near if row.edits), key=lambda row: (-self.likeness(row.base), row.base))

    def likeness(self, base: int) -> float:
        """How many names a base shares with the answer."""
        words = self.bases.words(base)
        return len(words & self.words) / max(1, len(words | self.words))

    def causes(self, slips: int) -> list[Cause]:
        """All that do the same in every case that counts, with so many slips."""
        deadline = time.thread_time() + SECONDS
        found: dict[Cause, tuple[Cause, int, tuple[int, int]]] = {}  # by the words alone: in full, base, rank
        for row in [row for row in self.rows if self.table.slips_of(row) == slips][:MOST_TRIED]:
            if time.thread_time() > deadline:
                break
            if self.does_the_same(row):
                cause = self.in_words(row)
                unnamed = sum(slip not in self.named for slip in cause)
                words = tuple(map(without_place, cause))
                first, base, rank = found.setdefault(words, (cause, row.base, (unnamed, self.rank(row))))
                if first != cause and base == row.base:  # two places of one solution: what they share
                    found[words] = words, base, rank
        in_order = sorted(found.values(), key=lambda one: one[2])
        by_name = [cause for cause, _, (unnamed, _) in in_order if not unnamed]
        return by_name or [cause for cause, _, _ in in_order]

    def rank(self, row: Row) -> int:
        """0 for the commonest slips."""
        return sum(self.bases[row.base][1][i].rank for i in row.edits)

    def effect(self, case: Case, outcome: Outcome) -> Outcome:
        return checking.effect(self.exercise, case, outcome)

    def does_the_same(self, row: Row) -> bool:
        base, edits = self.bases[row.base]
        if max(row.edits) >= len(edits):  # another version of Python or of the package made the table
            return False
        try:
            function = base.function([edits[i] for i in row.edits])
        except (SyntaxError, ValueError, TypeError, RecursionError):
            return False
        try:
            return all(self.agree(case, run(function, case)) for case in row.steady(self.outcomes))
        except Endless:
            return False

    def agree(self, case: Case, made: Outcome) -> bool:
        """Where the answer does nothing but raise errors, their texts must agree as well."""
        one, other = self.effect(case, self.outcomes[case]), self.effect(case, made)
        if one.error is not None and other.error is not None:
            return mark(case, one) == mark(case, other) and (self.works_somewhere or text(one) == text(other))
        return comparing.same(one, other, Standard.of(case))

    def in_words(self, row: Row) -> Cause:
        kind, name, _ = self.table.bases[row.base]
        named: Cause = (self.exercise.mistakes[name].explanation,) if kind == MISTAKE else ()
        named = (STILL_THERE,) if kind == BROKEN else named
        return (*named, *(self.slip(row.base, i) for i in row.edits))

    def slip(self, base: int, edit: int) -> str:
        """One slip in words: those of a named mistake, if it does the same."""
        if self.table.bases[base][0] == REFERENCE and (mistake := self.table.named(base, edit)):
            return self.exercise.mistakes[mistake].explanation
        return self.bases[base][1][edit].words().replace(self.table.bases[base][1], self.name)


def text(outcome: Outcome) -> str:
    """The first line of an error's text."""
    return str(outcome.error).partition("\n")[0]
