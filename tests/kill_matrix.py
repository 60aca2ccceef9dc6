"""How good are the checks? `python -m tests.kill_matrix` tries every known wrong and right answer on each exercise."""

from dataclasses import dataclass

from tests.exercise_answers import RIGHT_ANSWERS
from tests.mutants import mutants_of
from transformer_lab.exercises import Exercise, catalogue

COMMUTATIVE = "a product does not depend on the order of its factors"
SYMMETRIC = "transpose(a, b) is transpose(b, a)"
EQUIVALENT = {  # mutants that compute the same, and why
    "dot_product": {"line 3: a * b → b * a": COMMUTATIVE},
    "softmax_jacobian": {
        "line 6: weights.unsqueeze(-1) * weights.unsqueeze(-2) → "
        "weights.unsqueeze(-2) * weights.unsqueeze(-1)": COMMUTATIVE,
    },
    "scaled_dot_product_attention": {
        "line 7: key.transpose(-2, -1) → key.transpose(-1, -2)": SYMMETRIC,
        "line 7: query → key": "queries and keys have the same width",
    },
    "split_heads": {
        "line 4: x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2) → "
        "x.reshape(batch, length, n_heads, d_model // n_heads).transpose(2, 1)": SYMMETRIC,
    },
    "merge_heads": {
        "line 4: n_heads * d_head → d_head * n_heads": COMMUTATIVE,
        "line 4: x.transpose(1, 2) → x.transpose(2, 1)": SYMMETRIC,
    },
    "multi_head_attention": {
        "line 7: x.unflatten(-1, (n_heads, -1)).transpose(1, 2) → "
        "x.unflatten(-1, (n_heads, -1)).transpose(2, 1)": SYMMETRIC,
        "line 8: k.transpose(-2, -1) → k.transpose(-1, -2)": SYMMETRIC,
        "line 8: -2 → 2": "axis 2 of four is axis -2",
        "line 9: (weights @ v).transpose(1, 2) → (weights @ v).transpose(2, 1)": SYMMETRIC,
        "line 9: -2 → 2": "axis 2 of four is axis -2",
    },
}


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
    passed = [description for description, function in mutants if exercise.check(function).passed]
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


def main() -> int:
    rows = [row(exercise) for exercise in catalogue.values()]
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
    raise SystemExit(main())
