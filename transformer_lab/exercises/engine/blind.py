"""Trying a learner's test on anonymous candidates, in a random order that nobody knows."""

import inspect
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from transformer_lab.exercises.engine.candidates import Candidate, answered
from transformer_lab.exercises.engine.running import Attempt, Case, Outcome

TWICE = 5  # candidates that a test is asked about again: what follows a list, or the count of its calls, then shows
CHANCE = random.SystemRandom()


class Blind(Attempt):
    """An attempt that is given candidates in place of functions, in an order that nobody knows, some of them twice.

    `uncalled` are the cases decided without a call, `inconstant` those of which two things were said. A truth that is
    returned may be numpy's, or a tensor: they are as good as True and False.
    """

    def __init__(self, attempt: Attempt, takes: Callable[..., tuple]):
        self.attempt, self.takes = attempt, takes
        self.uncalled: set[Case] = set()
        self.inconstant: set[Case] = set()

    def outcomes(self, cases: Sequence[Case]) -> dict[Case, Outcome]:
        again = CHANCE.sample([*cases], min(TWICE, len(cases)))
        outcomes: dict[Case, Outcome] = {}
        for case in CHANCE.sample([*cases, *again], len(cases) + len(again)):
            outcome = self.run(case)
            before = outcomes.setdefault(case, outcome)
            if truth(before) != truth(outcome):
                self.inconstant.add(case)
        return {case: outcomes[case] for case in cases}

    def run(self, case: Case) -> Outcome:
        calls: list[str] = []
        arguments = {
            name: Candidate(partial(self.asked, value, name, calls)) if callable(value) else value
            for name, value in case.arguments.items()
        }
        outcome = with_plain_truth(self.attempt.run(Case("", arguments)))
        if not calls and isinstance(outcome.value, bool):
            self.uncalled.add(case)
        return outcome

    def asked(self, function: Callable, name: str, calls: list[str], given: Sequence, named: dict, *back: Any) -> Any:
        calls.append(name)
        try:
            return answered(function, self.takes, given, named, *back)
        except TypeError:
            wanted = f"`{name}` must be called as {name}({', '.join(inspect.signature(self.takes).parameters)})"
            raise TypeError(wanted) from None
        except (ValueError, RuntimeError) as error:
            raise type(error)(f"`{name}`: {error}") from None


class Known(Attempt):
    """An attempt whose outcomes on all cases are known already."""

    def __init__(self, outcomes: dict[Case, Outcome]):
        self.outcomes = outcomes

    def run(self, case: Case) -> Outcome:
        return self.outcomes[case]


def truth(outcome: Outcome) -> bool | None:
    return outcome.value if isinstance(outcome.value, bool) else None


def with_plain_truth(outcome: Outcome) -> Outcome:
    value = outcome.value
    if isinstance(value, Tensor | np.ndarray | np.generic) and value.shape == () and str(value.dtype).endswith("bool"):
        return replace(outcome, value=bool(value))
    return outcome
