"""How good are the checks? `python -m tests.mutation_score [NAME …]` tries all known answers, right and wrong.

Without a name it tries those of every exercise.
"""

import sys
from dataclasses import dataclass

from tests.answers import EQUIVALENT, RIGHT_ANSWERS
from tests.mutants import mutants_of
from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.engine.running import Attempt


@dataclass(frozen=True)
class Row:
    """One exercise's line of the matrix; the lists name whatever is judged wrongly."""

    exercise: str
    right_answers: int
    rejected: list[str]
    mistakes: int
    unrecognised: list[str]
    mutants: int
    survivors: list[str]
    equivalent: dict[str, str]

    @property
    def holds(self) -> bool:
        return not (self.rejected or self.unrecognised or self.survivors)


def row(exercise: Exercise) -> Row:
    """Check every right answer, every mistake and every mutant of one exercise."""
    answers = [exercise.reference, *RIGHT_ANSWERS[exercise.name]]
    mutants = list(mutants_of(exercise))
    equivalent = EQUIVALENT.get(exercise.name, {})
    passed = [what for what, function in mutants if exercise.examine(Attempt(function), exercise.cases).passed]
    return Row(
        exercise=exercise.name,
        right_answers=len(answers),
        rejected=[answer.__name__ for answer in answers if not exercise.check(answer).passed],
        mistakes=len(exercise.mistakes),
        unrecognised=[m.name for m in exercise.mistakes.values() if exercise.check(m.function).mistake != m.name],
        mutants=len(mutants),
        survivors=[description for description in passed if description not in equivalent],
        equivalent=equivalent,
    )


def table(rows: list[Row]) -> str:
    """The matrix as a Markdown table."""
    lines = [
        "| exercise | right answers accepted | mistakes named | mutants rejected | equivalent |",
        "|---|---|---|---|---|",
    ]
    for r in rows:
        counted = r.mutants - len(r.equivalent)
        lines.append(
            f"| `{r.exercise}` | {r.right_answers - len(r.rejected)} of {r.right_answers} "
            f"| {r.mistakes - len(r.unrecognised)} of {r.mistakes} "
            f"| {counted - len(r.survivors)} of {counted} | {len(r.equivalent)} |"
        )
    return "\n".join(lines)


def main(names: list[str]) -> int:
    rows = [row(catalogue[name]) for name in names or catalogue]
    print(table(rows))
    for r in rows:
        print(f"\n{r.exercise}")
        for name, mistake in catalogue[r.exercise].mistakes.items():
            print(f"  {'?' if name in r.unrecognised else '✓'} {name}: {mistake.explanation}")
        for wrong in (*r.rejected, *r.survivors):
            print(f"  ✗ judged wrongly: {wrong}")
        for mutant, reason in r.equivalent.items():
            print(f"  = {mutant} ({reason})")
    return 0 if all(r.holds for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
