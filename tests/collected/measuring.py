"""How many of the collected answers are told a cause: a named mistake, or what else is wrong."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.collected import blind, clinic, put_aside, since_llama, working
from transformer_lab.exercises import catalogue

HALVES = {"worked with": working.COLLECTED, "put aside": put_aside.COLLECTED, "clinic": clinic.COLLECTED}
HALVES |= {"since Llama": since_llama.COLLECTED, "blind": blind.COLLECTED}


@dataclass(frozen=True)
class Told:
    """One answer, what is wrong with it, and what it was told."""

    exercise: str
    answer: Callable
    wrong: str
    mistake: str | None
    cause: str | None
    passed: bool
    seconds: float  # of processor time that the check took

    @property
    def words(self) -> str | None:
        """The cause, or the explanation of the mistake; None where neither was told."""
        mistakes = catalogue[self.exercise].mistakes
        return self.cause or (mistakes[self.mistake].explanation if self.mistake in mistakes else self.mistake)


def told(collected: dict) -> Iterator[Told]:
    """What the answers of one half are told."""
    answers = [(name, wrong, answer) for name, entries in collected.items() for wrong, answer in entries]
    for name, wrong, answer in answers:
        start = time.process_time()
        verdict = catalogue[name].check(answer)
        seconds = time.process_time() - start
        yield Told(name, answer, wrong, verdict.mistake, verdict.cause, verdict.passed, seconds)


def share(all_told: list[Told]) -> float:
    """Of the wrong ones, how many were told a cause."""
    return sum(one.mistake is not None or one.cause is not None for one in all_told) / len(all_told)
