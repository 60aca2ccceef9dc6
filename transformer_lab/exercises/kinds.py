"""The other kinds of exercises: find the bug, write the test, predict, set the weights.

Each is an exercise with its own way of judging. All have hints, mistakes with names, and a solution.
"""

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import dedent
from types import CodeType
from typing import ClassVar

from torch import Tensor

from transformer_lab.exercises.diagnosis import with_tolerance
from transformer_lab.exercises.engine import checking
from transformer_lab.exercises.engine.blind import Blind, Known
from transformer_lab.exercises.engine.cards import Picture, Verdict
from transformer_lab.exercises.engine.checking import Result
from transformer_lab.exercises.engine.running import Attempt, Case, Outcome
from transformer_lab.exercises.engine.specification import Mistake
from transformer_lab.exercises.exercise import Exercise

MUCH = 0.3  # of a score: by chance no test that is turned round has so much
MOST_NAMED = 3  # symptoms of what a test does not catch
STILL_BROKEN = (
    "The function still computes what the broken one computes, in every case. Either the defect lies elsewhere, or "
    "what you changed has no effect on what is returned."
)


@dataclass(eq=False, repr=False, kw_only=True)
class FindTheBug(Exercise):
    """A broken function and a symptom; the learner fixes the function. It is judged by the reference, the fixed one.

    A mend that hides the symptom and leaves the cause is a named mistake. Of several defects, what each does is told by
    the mistake that has it alone; of one, by `defect`.
    """

    kind: ClassVar[str] = "find the bug"
    first_step: ClassVar[str] = "Mend the function"

    broken: Callable
    defect: str = ""  # what the broken lines do wrong, and what follows: told to whoever has mended or found them

    def handed_out(self) -> str:
        """The source of the broken function, under the name of the exercise: the cell that a learner starts from."""
        return renamed(self.broken, self.name)

    def what_follows(self) -> str:
        """What was wrong, in words, where there was one defect, and which exercise comes next."""
        return "\n".join(filter(None, (self.defect and f"What was wrong: {self.defect}", super().what_follows())))

    def examine(self, attempt: Attempt, cases: Sequence[Case]) -> Result:
        """Try a fix; a learner whose fix changes the text but not what is computed is told so."""
        result = super().examine(attempt, cases)
        if result.case is None or result.mistake:
            return result
        still = Mistake("still_broken", STILL_BROKEN, self.broken)
        alike = all(checking.does_alike(self, still, case, attempt.run(case)) for case in cases)
        return replace(result, mistake=still) if alike else result

    def is_untouched(self, answer: Callable, result: Result) -> bool:
        if inspect.unwrap(answer) is self.broken or super().is_untouched(answer, result):
            return True
        try:
            return without_text(dedent(inspect.getsource(answer))) == without_text(self.handed_out())
        except (OSError, TypeError, SyntaxError, ValueError):  # its source is not at hand, or is no `def`
            cell = compile(self.handed_out(), "<cell>", "exec").co_consts
            ours = next(one for one in cell if isinstance(one, CodeType))
            theirs = getattr(inspect.unwrap(answer), "__code__", None)
            return theirs is not None and instructions(theirs) == instructions(ours)


def instructions(code: CodeType) -> tuple:
    """The instructions of compiled code, wherever it stands in a file; docstrings do not count."""
    within = [instructions(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    if within and isinstance(code.co_consts[0], str):  # a docstring
        within[0] = ""
    return code.co_code, code.co_names, code.co_varnames, within


def renamed(function: Callable, name: str) -> str:
    """A function's source under another name, without decorators."""
    source = dedent(inspect.getsource(function))
    start = source.index("def ")
    return source[start:].replace(function.__name__, name, 1)


def without_text(source: str) -> str:
    """The syntax tree of a function's body, regardless of its name, its layout and its docstring."""
    (function,) = (s for s in ast.parse(source).body if isinstance(s, ast.FunctionDef))
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return "\n".join(map(ast.dump, body))


@dataclass(eq=False, repr=False, kw_only=True)
class Predict(Exercise):
    """A number or a choice that the learner predicts before running anything; each distractor is a named mistake."""

    kind: ClassVar[str] = "predict"


@dataclass(eq=False, repr=False, kw_only=True)
class WriteTheTest(Exercise):
    """A test for one sort of functions: each case passes it a candidate, and the reference says whether that is right.

    A case's label is the symptom of a wrong candidate, or the style of a right one. The score of a test is the share of
    wrong candidates that it catches, less the share of right ones that it refuses. So one that always says the same has
    a score of 0, and so has one that decides without a call, or says two things of one candidate.
    """

    kind: ClassVar[str] = "write the test"
    first_step: ClassVar[str] = "Write the test"

    says_of_right: bool  # what the test returns for a right candidate
    candidate: str  # in words, such as "layer"
    takes: Callable[..., tuple]  # the arguments of a candidate, as they are; raises a ValueError if they can't be

    def examine(self, attempt: Attempt, cases: Sequence[Case]) -> Result:
        """Pass every candidate to a test, because a test that is wrong about one may still be right about most."""
        blind = Blind(attempt, self.takes)
        outcomes = blind.outcomes(cases)
        faults = {case: checking.fault_on(self, outcomes[case], case) for case in cases}
        failed = [case for case in cases if faults[case]]
        foul = self.foul(blind, len(cases))
        if not failed and not foul:
            return Result(outcomes[cases[0]])
        worst = (failed or cases)[0]
        tried = [*outcomes.values()][: cases.index(worst) + 1]
        mistake = checking.recognised(self, Known(outcomes), cases, tried) if failed else None
        if all(self.is_no_answer(outcome) for outcome in outcomes.values()):
            return Result(outcomes[worst], worst, faults[worst] or "", mistake)
        right = [case for case in cases if self.expected(case).value is self.says_of_right]
        wrong = [case for case in cases if case not in right]
        refused, missed = ([case for case in failed if case in group] for group in (right, wrong))
        share = max(0.0, 1 - len(refused) / max(1, len(right)) - len(missed) / max(1, len(wrong)))
        what = self.in_words(outcomes, refused, missed, len(right), len(wrong))
        return Result(outcomes[worst], worst, f"{what}{foul}", mistake, share=0.0 if foul else share)

    def foul(self, blind: Blind, count: int) -> str:
        """The reason, in a line, why a test scores 0 whatever it says; empty if there is none."""
        if blind.uncalled:
            of = f"{len(blind.uncalled)} of {count} {self.candidate}s"
            return f"\nA test must call what it judges, but yours decides about {of} without a call: it scores 0."
        if blind.inconstant:
            return (
                f"\nA test must say the same of a {self.candidate} each time, but yours says two different things of "
                "one: it scores 0. Does it keep something between its calls?"
            )
        return ""

    def cause(self, answer: Callable, result: Result) -> str | None:
        """Say that the test asks for exact equality, if a tolerance would help; for the rest, the symptoms say more."""
        tolerant = with_tolerance(answer)
        better = self.examine(Attempt(tolerant), self.all_cases).score if tolerant else 0.0
        if better <= result.score:
            return None
        words = "You ask for numbers that are *exactly* equal, but what is right may round differently"
        return f"{words}. With a tolerance your test would score {100 * better:.0f} %."

    @staticmethod
    def is_no_answer(outcome: Outcome) -> bool:
        return outcome.error is not None or not isinstance(outcome.value, bool)

    def in_words(
        self, outcomes: dict[Case, Outcome], refused: list[Case], missed: list[Case], n_right: int, n_wrong: int
    ) -> str:
        """Say what a test does well, and the symptoms of what it misses; a candidate's source is never shown."""
        one = self.candidate
        lines = [f"Your test accepts {n_right - len(refused)} of {n_right} right {one}s and catches "]
        lines[0] += f"{n_wrong - len(missed)} of {n_wrong} wrong ones."
        turned = [sum(outcomes[case].error is None for case in cases) for cases in (refused, missed)]
        if (score := turned[0] / max(1, n_right) + turned[1] / max(1, n_wrong) - 1) >= MUCH:
            lines.insert(0, f"Your test says the opposite: turned round, it would score {100 * score:.0f} %.")
        for what, cases in ((f"It refuses a right {one}", refused), (f"It misses a wrong {one}", missed)):
            for case in cases[:MOST_NAMED]:
                error = outcomes[case].error
                how = f" (it raises {type(error).__name__}: {error})" if error is not None else ""
                lines.append(f"{what}: {case.label}{how}.")
            if len(cases) > MOST_NAMED:
                lines.append(f"… and {len(cases) - MOST_NAMED} more.")
        return "\n".join(lines)

    def rejection(self, result: Result) -> Verdict:
        """The verdict on a failing test, with its score instead of a case."""
        explained = [result.mistake.explanation] if result.mistake else []
        scored = f"It scores {100 * result.score:.0f} %."
        name = result.mistake.name if result.mistake else None
        return Verdict(self.name, False, True, name, "\n".join([*explained, result.what, scored]), result.score)


@dataclass(eq=False, repr=False, kw_only=True)
class SetTheWeights(Exercise):
    """Matrices that the learner sets by hand, without training. The `goal` says what effect they must have.

    The cases are all short inputs, the simplest first, so that what fails first is the easiest counter-example.
    """

    kind: ClassVar[str] = "set the weights"

    pictures: Callable[[Mapping, Tensor], list[Picture]] | None = None  # of what they bring about, if not attention

    def rejection(self, result: Result) -> Verdict:
        """The verdict on failing matrices, with a picture of their attention on the counter-example."""
        assert result.case is not None
        verdict = super().rejection(result)
        effect = checking.effect(self, result.case, result.outcome).value
        if effect is result.outcome.value or not isinstance(effect, Tensor):  # its form is wrong: it makes none
            return verdict
        pictures = (self.pictures or attention_pictures)(result.case.arguments, effect)
        return replace(verdict, figure="".join(picture.html for picture in pictures))


def attention_pictures(given: Mapping, attention: Tensor) -> list[Picture]:
    """One picture for each head of (…, T, S)."""
    weights = attention.reshape(-1, *attention.shape[-2:]).tolist()  # (heads, T, S)
    pictures = []
    for i, head in enumerate(weights):
        caption = f"{f'head {i}' if len(weights) > 1 else 'weights'}: rows are queries, columns are keys"
        rows, columns = ([str(n) for n in range(count)] for count in (len(head), len(head[0])))
        pictures.append(Picture(caption, "q╲k", rows, columns, head))
    return pictures
