"""Grading a prediction for which everybody has numbers of their own: whose they are, and is the answer right?"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isclose

from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.engine import checking
from transformer_lab.exercises.engine.checking import Result
from transformer_lab.exercises.engine.running import Attempt, Case, Outcome
from transformer_lab.exercises.kinds import Predict
from transformer_lab.grading.handout.roster import folded
from transformer_lab.grading.handout.variants import own_case
from transformer_lab.grading.submissions.answers import Answer
from transformer_lab.grading.submissions.notebooks import Notebook

AS_FUNCTION = "\n\n_said = {name}\ndef {name}(*given):\n    return _said(*given) if callable(_said) else _said"
CLOSE = 1e-3  # the share by which a number may be rounded
WHOSE = "Your notebook does not say whose numbers you answer for: `STUDENT` at its top is empty."


@dataclass(eq=False, repr=False, kw_only=True)
class Own(Predict):
    """A prediction with one case, a student's own. A number may be rounded to three digits or so."""

    def examine(self, attempt: Attempt, cases: Sequence[Case]) -> Result:
        return checking.examine(self, Rounded(attempt, self), cases)


class Rounded(Attempt):
    """An attempt whose answers count as what is right if they are nearly that."""

    def __init__(self, attempt: Attempt, exercise: Exercise):
        self.attempt, self.exercise = attempt, exercise

    def run(self, case: Case) -> Outcome:
        outcome, right = self.attempt.run(case), self.exercise.expected(case).value
        given = outcome.value
        if isinstance(right, float) and isinstance(given, int | float) and isclose(given, right, rel_tol=CLOSE):
            return replace(outcome, value=right)
        return outcome

    def run_with_gradients(self, case: Case) -> Outcome:
        return self.run(case)


def own_exercise(name: str, student: str, key: str) -> Own:
    """The exercise as one student was asked it."""
    whole = catalogue[name]
    own = Own(
        whole.reference, lesson=whole.lesson, statement=whole.statement, hints=whole.hints, minutes=whole.minutes,
        difficulty=whole.difficulty, returns=whole.returns, cases=(own_case(name, student, key),),
        properties=whole.properties, mistakes=whole.mistakes,
    )  # fmt: skip
    own.name = whole.name
    return own


def as_function(answer: Answer) -> Answer:
    """An answer that is a value, as the function that returns it."""
    end = AS_FUNCTION.format(name=answer.name)
    programs = {
        field: program + end
        for field in ("program", "at_the_end", "leant")
        if (program := getattr(answer, field)) is not None
    }
    return replace(answer, **programs)


def student_in(notebook: Notebook, name: str) -> str:
    """The id that stands in the notebook in which an exercise is answered, of several the last; empty if none does."""
    homes = {cell.home for cell in notebook.cells if cell.exercise == name}
    told = [
        statement.value.value
        for cell in notebook.cells
        if cell.home in homes or not homes
        for statement in cell.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and any(isinstance(target, ast.Name) and target.id == "STUDENT" for target in statement.targets)
    ]
    ids = [str(one).strip() for one in told if isinstance(one, str | int) and folded(str(one))]
    return ids[-1] if ids else ""


# ── for nbgrader, whose source holds solutions and tests ──


def right(name: str, student: str | int, key: str) -> object:
    """What is right for a student."""
    return catalogue[name].expected(own_case(name, str(student), key)).value


def is_right(name: str, student: str | int, key: str, given: object) -> bool:
    """Whether a student's answer is right."""
    exercise = own_exercise(name, str(student), key)
    said = Attempt(given if callable(given) else lambda *numbers: given)
    return exercise.examine(said, exercise.cases).passed
