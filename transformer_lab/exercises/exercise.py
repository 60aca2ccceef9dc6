"""An exercise as a learner sees it: a statement, a check, hints and a solution."""

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from transformer_lab.device import default_device
from transformer_lab.exercises.diagnosis import explain
from transformer_lab.exercises.engine import checking
from transformer_lab.exercises.engine.card_look import dots
from transformer_lab.exercises.engine.cards import (
    INFO,
    OPEN,
    PASSED,
    WRONG,
    Card,
    Solution,
    Verdict,
    code,
    folded,
    folded_hints,
)
from transformer_lab.exercises.engine.case_drawing import CaseGenerator
from transformer_lab.exercises.engine.checking import Result
from transformer_lab.exercises.engine.memory_limit import memory_limit
from transformer_lab.exercises.engine.running import Attempt, Case, on_one_thread
from transformer_lab.exercises.engine.source import Standalone
from transformer_lab.exercises.engine.specification import Mistake, Specification
from transformer_lab.exercises.engine.time_limit import OutOfTime, time_limit
from transformer_lab.exercises.engine.verdicts import NOTHING, is_stub, praise, rejected, report, stopped, unfit
from transformer_lab.exercises.progress.own_source import own_source
from transformer_lab.exercises.progress.progress_store import SOLVED, TRIED, progress_file, read_progress, record


class NotPassed(AssertionError):
    """Raised for `nbgrader validate`, which counts nothing but errors; nobody else sees it."""


@dataclass(eq=False, repr=False, kw_only=True)
class Exercise(Specification):
    """One exercise of a lesson, named after its reference: the package's function of that name.

    The reference may take more than the exercise asks for, all of it optional: a mask, a device. This kind asks for a
    function, and judges it by what it computes; `kinds` has the others.
    """

    kind: ClassVar[str] = "implement"

    lesson: str
    statement: str
    hints: tuple[str, ...]
    minutes: int  # that a student takes, about
    difficulty: int  # from 1 to 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.name: str = self.reference.__name__
        self.statement = inspect.cleandoc(self.statement)
        self.case_generators: list[CaseGenerator] = []
        self._hints_given = 0
        self.following: Exercise | None = self  # in the catalogue: None after the last, itself where it has no place
        self.fellows: tuple[str, ...] = ()  # the names of all exercises of its lesson, in the catalogue
        self.withheld = False  # no solution is shown: it is an assignment

    def mistake(self, explanation: str) -> Callable[[Callable], Callable]:
        """Decorator that adds a wrong implementation to the catalogue, under the name of its function."""

        def add(function: Callable) -> Callable:
            self.mistakes[function.__name__] = Mistake(function.__name__, explanation, function)
            return function

        return add

    def hidden_case(self, function: CaseGenerator) -> CaseGenerator:
        """Decorator for a function that draws the arguments of one more hidden case, of any shape the statement allows.

        Only grading tries hidden cases, each drawn anew from the assignment's seed.
        """
        self.case_generators.append(function)
        return function

    def check(self, answer: object = NOTHING) -> Verdict:
        """Try an answer on every case. Never raises, whatever the answer does; shown as a card in a notebook.

        But under `nbgrader validate`, which counts nothing but errors, an answer that does not pass raises NotPassed.

        An interrupt ends the check alone, and so does the time limit: each is a verdict that says where it struck.
        """
        try:
            with time_limit(), memory_limit(), on_one_thread():
                verdict = self.verdict(answer)
            if verdict.attempted and not self.is_reference(answer):
                record(
                    self.name,
                    verdict.passed,
                    own_source(self.name, answer) if verdict.passed and callable(answer) else None,
                )
            if not verdict.passed and os.environ.get("NBGRADER_EXECUTION") == "validate":  # it counts errors alone
                raise NotPassed(f"{self.name} does not pass.\n{verdict.message}")
            if verdict.passed:
                return verdict if self.is_reference(answer) else replace(verdict, help=self.dots)
            return replace(verdict, help=lambda: self.help(verdict.attempted))
        except NotPassed:
            raise
        except (KeyboardInterrupt, OutOfTime) as error:
            return rejected(self.name, stopped(error))
        except Exception as error:  # an answer too strange to be examined must not stop "Run All"
            return rejected(self.name, f"The answer could not be checked.\n  {type(error).__name__}: {error}")

    def help(self, attempted: bool) -> str:
        """The text folded below a verdict: the hints, and a solution for those who have tried."""
        hints = folded_hints(self.hints)
        if not attempted or self.withheld:
            return hints
        return hints + folded("a solution", code(self.solution_source()))

    def dots(self) -> str:
        """A dot for each exercise of the lesson, below what passed; nothing where no progress is kept."""
        if progress_file() is None or not self.fellows:
            return ""
        kept = read_progress()
        marks = [{SOLVED: PASSED, TRIED: WRONG}.get(kept.get(name, ""), OPEN) for name in self.fellows]
        told = f"{marks.count(PASSED)} of {len(marks)} solved in lesson {self.lesson}"
        return f'<p style="margin:8px 0 0">{dots(marks, told)} {told}</p>'

    def is_reference(self, answer: object) -> bool:
        """Whether the answer is the package's own function."""
        return callable(answer) and inspect.unwrap(answer) is inspect.unwrap(self.reference)

    def verdict(self, answer: object) -> Verdict:
        """The verdict on an answer, whose code may raise an error or never end."""
        if problem := unfit(self, self.name, answer):
            return rejected(self.name, problem)
        assert callable(answer)
        result = self.examine(Attempt(answer), self.all_cases)
        if result.passed:
            praised = praise(self, answer, self.all_cases, result)
            following = "" if self.is_reference(answer) else f"\n{self.what_follows()}".rstrip()
            return Verdict(self.name, True, True, None, praised + following, 1.0)
        if self.is_untouched(answer, result):
            advice = f"{self.first_step} and run its cell again; `exercises.{self.name}.hint()` helps."
            return Verdict(self.name, passed=False, attempted=False, mistake=None, message=advice)
        verdict = self.rejection(result)
        if result.mistake or not (cause := self.cause(answer, result)):
            return verdict
        return replace(verdict, cause=cause, message=f"{cause}\n{verdict.message}")

    def what_follows(self) -> str:
        """A sentence that says which exercise comes next; empty for an exercise that is in no catalogue."""
        after = self.following
        if after is self:
            return ""
        if after is None or after.lesson != self.lesson:
            return f"That was the last exercise of lesson {self.lesson}."
        return f"Next comes `{after.name}` ({after.kind}, about {after.minutes} minutes)."

    def cause(self, answer: Callable, result: Result) -> str | None:
        """The cause of failure, in words, of an answer that makes no mistake of the catalogue; None if it is not found.

        It is looked for unless TRANSFORMER_LAB_DIAGNOSIS is `off`.
        """
        if os.environ.get("TRANSFORMER_LAB_DIAGNOSIS") == "off":
            return None
        try:
            return explain(self, answer)
        except (Exception, OutOfTime):  # the verdict stands without it
            return None

    first_step: ClassVar[str] = "Fill in the function"

    def examine(self, attempt: Attempt, cases: Sequence[Case]) -> Result:
        """Try an attempt on the cases: the visible ones here, the hidden ones in grading."""
        return checking.examine(self, attempt, cases)

    def is_untouched(self, answer: Callable, result: Result) -> bool:
        """Whether a failing answer is still as it was handed out."""
        return result.case is self.all_cases[0] and is_stub(answer, result.outcome)

    def rejection(self, result: Result) -> Verdict:
        """The verdict on a failing answer."""
        assert result.case is not None
        mistake = result.mistake.name if result.mistake else None
        return Verdict(self.name, False, True, mistake, "\n".join(report(result, result.case)), result.score)

    def hint(self, number: int | None = None) -> Card:
        """The next hint, or hint `number`, counted from 1. The last one is repeated; none contains the solution.

        Raises:
            ValueError: there is no hint of that number.
        """
        count = len(self.hints)
        if number is None:
            number = self._hints_given = min(self._hints_given + 1, count)
        if not 1 <= number <= count:
            raise ValueError(f"{self.name} has hints 1 to {count} (asked for {number})")
        last = "\nThat was the last hint."
        last += "" if self.withheld else f" `exercises.{self.name}.solution()` shows a solution."
        return Card(
            INFO, f"{self.name}: hint {number} of {count}", self.hints[number - 1] + (last if number == count else "")
        )

    def solution(self) -> Card:
        """The source of the reference, folded; if it is withheld, a card that says so."""
        if self.withheld:
            words = "You hand in your own. `hint()` helps; your instructor shows solutions when all have handed in."
            return Card(INFO, f"{self.name}: no solution is shown, as this is an assignment", words)
        words = "One of many; the check accepts every function that computes the same."
        return Solution(INFO, f"{self.name}: a solution", words, source=self.solution_source())

    def solution_source(self) -> str:
        """Source that defines the function in a notebook cell of its own, where nothing has been imported."""
        return str(Standalone(inspect.unwrap(self.reference)))

    def __repr__(self) -> str:
        return repr(self._card())

    def _repr_html_(self) -> str:
        return self._card()._repr_html_()

    def _card(self) -> Card:
        verbs = "".join(f"\n  exercises.{self.name}.{verb}" for verb in (f"check({self.name})", "hint()", "solution()"))
        effort = f"{self.kind} · about {self.minutes} minutes · difficulty {self.difficulty} of 3"
        return Card(INFO, f"{self.name}({', '.join(self.parameters)})", f"{self.statement}\n\n{effort}{verbs}")

    @cached_property
    def all_cases(self) -> tuple[Case, ...]:
        """The cases and, on a machine with an accelerator, the last of them on that device as well."""
        device = default_device()
        return self.cases if device.type == "cpu" else (*self.cases, self.cases[-1].to(device))
