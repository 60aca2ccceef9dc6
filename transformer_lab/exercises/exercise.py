"""What an exercise is: a statement, a reference, cases to try an answer on, hints, and the mistakes people make.

A mistake has three uses. It diagnoses: an answer that computes what a mistake computes is told so by name. It tests
the check: every mistake must be rejected. And it stocks the lessons' "break it" cells.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import dedent

from transformer_lab.device import default_device
from transformer_lab.exercises.cards import INFO, Card, Solution, Verdict
from transformer_lab.exercises.checking import examine, rejected
from transformer_lab.exercises.running import Case, Outcome, run, run_with_gradients


@dataclass(frozen=True)
class Mistake:
    """A small wrong implementation with a name and an explanation for whoever made it."""

    name: str
    explanation: str
    function: Callable = field(repr=False)


@dataclass(frozen=True)
class Law:
    """A sentence that holds for every right answer, and its test: `holds(arguments, *returned)`."""

    sentence: str
    holds: Callable[..., bool] = field(repr=False)


@dataclass(eq=False, repr=False)
class Exercise:
    """One exercise of a lesson. The decorator `exercise` makes one of a reference implementation."""

    reference: Callable
    lesson: str
    returns: tuple[str, ...]  # names of the values to return
    cases: tuple[Case, ...]  # smallest first
    hints: tuple[str, ...]
    laws: tuple[Law, ...] = ()
    package: Callable | None = None  # the package's own function for the same thing, where there is one
    mistakes: dict[str, Mistake] = field(default_factory=dict)

    def __post_init__(self):
        self.name: str = self.reference.__name__
        self.statement: str = inspect.cleandoc(self.reference.__doc__)
        self._hints_given = 0

    def mistake(self, explanation: str) -> Callable[[Callable], Callable]:
        """Decorator that adds a wrong implementation, named after its function, to the catalogue."""

        def add(function: Callable) -> Callable:
            self.mistakes[function.__name__] = Mistake(function.__name__, explanation, function)
            return function

        return add

    def check(self, answer: object) -> Verdict:
        """Try an answer on every case. Never raises, whatever the answer does; shown as a card in a notebook."""
        try:
            return examine(self, answer)
        except Exception as error:  # an answer too strange to be examined must not stop "Run All"
            return rejected(self, f"The answer could not be checked.\n  {type(error).__name__}: {error}")

    def hint(self, number: int | None = None) -> Card:
        """The next hint, or hint `number`, counted from 1. The last is repeated; none contains the solution.

        Raises:
            ValueError: there is no hint of that number.
        """
        count = len(self.hints)
        if number is None:
            number = self._hints_given = min(self._hints_given + 1, count)
        if not 1 <= number <= count:
            raise ValueError(f"{self.name} has hints 1 to {count} (asked for {number})")
        last = f"\nThat was the last hint. `exercises.{self.name}.solution()` shows a solution."
        return Card(
            INFO, f"{self.name}: hint {number} of {count}", self.hints[number - 1] + (last if number == count else "")
        )

    def solution(self) -> Solution:
        """The source of the reference implementation, folded."""
        words = "One of many; the check accepts every function that computes the same."
        return Solution(INFO, f"{self.name}: a solution", words, self.solution_source())

    def solution_source(self) -> str:
        """Source that defines the function, as it could stand in a notebook's cell; it needs only `torch`."""
        source = dedent(inspect.getsource(self.reference))
        return source[source.index("def ") :]  # without the decorator

    def __repr__(self) -> str:
        return repr(self._card())

    def _repr_html_(self) -> str:
        return self._card()._repr_html_()

    def _card(self) -> Card:
        verbs = "".join(f"\n  exercises.{self.name}.{verb}" for verb in (f"check({self.name})", "hint()", "solution()"))
        return Card(INFO, f"{self.name}{inspect.signature(self.reference)}", self.statement + verbs)

    @cached_property
    def all_cases(self) -> tuple[Case, ...]:
        """The cases, and on a machine with an accelerator the last of them there too."""
        device = default_device()
        return self.cases if device.type == "cpu" else (*self.cases, self.cases[-1].to(device))

    @cached_property
    def expected(self) -> list[Outcome]:
        return [run(self.reference, case) for case in self.all_cases]

    @cached_property
    def expected_gradients(self) -> list[Outcome]:
        return [run_with_gradients(self.reference, case) for case in self.all_cases]

    @cached_property
    def mistaken(self) -> dict[str, list[Outcome]]:
        """What each mistake does on each case."""
        return {name: [run(m.function, case) for case in self.all_cases] for name, m in self.mistakes.items()}


def exercise(**settings) -> Callable[[Callable], Exercise]:
    """Decorator that makes a reference implementation an `Exercise`; its docstring is the statement."""
    return lambda reference: Exercise(reference, **settings)
