"""From an answer to the slips by which one gets what it computes, and to words for its author."""

import time
from collections.abc import Mapping

from transformer_lab.exercises import checking, comparing
from transformer_lab.exercises.comparing import Standard
from transformer_lab.exercises.diagnosis.sketch import comparable, mark, sketch
from transformer_lab.exercises.diagnosis.table import MISTAKE, REFERENCE, Bases, Row, Table, table_of
from transformer_lab.exercises.diagnosis.wordings import as_text
from transformer_lab.exercises.running import Attempt, Case, Outcome, run
from transformer_lab.exercises.specification import Specification

SECONDS = 0.5  # that the search may take
MOST = 3  # explanations that are told

Cause = tuple[str, ...]  # the slips that come together, in words


def explain(exercise: Specification, name: str, attempt: Attempt) -> str | None:
    """By which slips one gets what an attempt computes, in words, or None."""
    table = table_of(name)
    if table is None:
        return None
    outcomes = {case: attempt.run(case) for case in comparable(exercise.cases)}
    return as_text(Search(exercise, table).causes(outcomes))


class Search:
    """The search in one table."""

    def __init__(self, exercise: Specification, table: Table):
        self.exercise, self.table, self.bases = exercise, table, Bases(exercise, table.bases)

    def effect(self, case: Case, outcome: Outcome) -> Outcome:
        return checking.effect(self.exercise, case, outcome)

    def causes(self, outcomes: Mapping[Case, Outcome]) -> list[Cause]:
        """All that do the same in every case, with as few slips as possible; the reference's come first."""
        deadline = time.monotonic() + SECONDS
        rows = sorted(self.table.near(sketch(outcomes, self.effect)), key=self.table.slips_of)
        found: dict[Cause, int] = {}
        fewest = 99
        for row in rows:
            n = self.table.slips_of(row)
            if n > fewest or time.monotonic() > deadline:
                break
            if row.edits and self.does_the_same(row, outcomes):
                found.setdefault(self.in_words(row), n)
                fewest = n
        return list(found)

    def does_the_same(self, row: Row, outcomes: Mapping[Case, Outcome]) -> bool:
        base, edits = self.bases[row.base]
        if max(row.edits) >= len(edits):  # another version of Python or of the package made the table
            return False
        try:
            function = base.function([edits[i] for i in row.edits])
        except (SyntaxError, ValueError):
            return False
        return all(self.agree(case, outcome, run(function, case)) for case, outcome in outcomes.items())

    def agree(self, case: Case, given: Outcome, made: Outcome) -> bool:
        one, other = self.effect(case, given), self.effect(case, made)
        if one.error is not None and other.error is not None:
            return mark(case, one) == mark(case, other)
        return comparing.same(one, other, self.exercise.returns, Standard.of(case))

    def in_words(self, row: Row) -> Cause:
        kind, name, _ = self.table.bases[row.base]
        named = (self.exercise.mistakes[name].explanation,) if kind == MISTAKE else ()
        return (*named, *(self.slip(row.base, i) for i in row.edits))

    def slip(self, base: int, edit: int) -> str:
        """One slip in words: those of a named mistake, if it does the same."""
        if self.table.bases[base][0] == REFERENCE and (mistake := self.table.named(base, edit)):
            return self.exercise.mistakes[mistake].explanation
        return self.bases[base][1][edit].words()
