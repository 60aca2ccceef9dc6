"""The specification of an answer: a reference, cases to try it on, properties that hold, and common mistakes.

A mistake has three uses. It diagnoses: an answer that computes what a mistake computes is told so by name. It tests
the check: every mistake must be rejected. And it stocks the lessons' "break it" cells.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from weakref import WeakKeyDictionary

from torch import Tensor

from transformer_lab.exercises.engine.running import SEED, Case, Outcome, run, run_with_gradients


@dataclass(frozen=True)
class Mistake:
    """A small wrong implementation with a name and an explanation for whoever made the mistake."""

    name: str
    explanation: str
    function: Callable = field(repr=False)


@dataclass(frozen=True)
class Property:
    """A sentence that holds for every right answer, and its test, `holds(arguments, *returned)`."""

    sentence: str
    holds: Callable[..., bool] = field(repr=False)


@dataclass(frozen=True)
class Domain:
    """The set outside which a function of a tensor is not defined.

    Off the set a right answer may compute anything. So only the part of a gradient `along` the set is compared, and
    whoever makes new inputs brings them `onto` it.
    """

    onto: Callable[[Tensor], Tensor]
    along: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Goal:
    """The goal where many answers are right: not the returned value is judged, but its effect.

    `effect(arguments, *returned)` is that: the attention weights that returned matrices make, say. `lacks(arguments,
    effect)` says in words what it lacks, or nothing. Two answers make the same mistake if the `gist` of their effects
    is the same: of heads, say, where they look, and not how strongly.
    """

    effect: Callable[..., Tensor]
    lacks: Callable[..., str | None]
    gist: Callable[[Tensor], Tensor] = lambda effect: effect


@dataclass(eq=False, repr=False)
class Specification:
    """The specification that an answer is judged by. Outcomes of the reference and the mistakes are computed only once.

    With a `goal` the reference is one answer of many, and shows the form that all must have.
    """

    reference: Callable
    _: KW_ONLY
    returns: tuple[str, ...]  # names of the values to return
    cases: tuple[Case, ...]  # simplest first
    properties: tuple[Property, ...] = ()
    domains: dict[str, Domain] = field(default_factory=dict)  # of arguments that not every tensor may be
    mistakes: dict[str, Mistake] = field(default_factory=dict)
    goal: Goal | None = None
    number: bool = False  # what is returned: a plain one is as good as a tensor, of any type, and no gradient is asked

    def __post_init__(self) -> None:
        self._kept: WeakKeyDictionary[Case, dict] = WeakKeyDictionary()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of an answer's parameters. The reference may have more, with defaults."""
        return tuple(self.cases[0].arguments)

    def expected(self, case: Case) -> Outcome:
        """The outcome of the reference on a case."""
        return self._outcome(run, self.reference, case)

    def expected_with_gradients(self, case: Case) -> Outcome:
        """The outcome of the reference where gradients are tracked, and the gradients that flow back."""
        return self._outcome(run_with_gradients, self.reference, case)

    def asks_for_gradients(self, case: Case) -> bool:
        """Whether gradients flow back from the right result of a case."""
        return self.goal is None and not self.number and bool(self.expected_with_gradients(case).gradients)

    def mistaken(self, mistake: Mistake, case: Case) -> Outcome:
        """The outcome of a mistake on a case."""
        return self._outcome(run, mistake.function, case)

    def _outcome(self, how: Callable, function: Callable, case: Case) -> Outcome:
        kept = self._kept.setdefault(case, {})
        if (how, function) not in kept:
            kept[how, function] = how(function, case, SEED)  # as an answer that makes the mistake
        return kept[how, function]
