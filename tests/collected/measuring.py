"""How many of the collected answers are told a cause: a named mistake, or what else is wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.collected import clinic, put_aside, working
from transformer_lab.exercises import catalogue

HALVES = {"worked with": working.COLLECTED, "put aside": put_aside.COLLECTED, "clinic": clinic.COLLECTED}


@dataclass(frozen=True)
class Told:
    """One answer, what is wrong with it, and what it was told."""

    exercise: str
    answer: Callable
    wrong: str
    mistake: str | None
    cause: str | None
    passed: bool


def told(collected: dict, every: int = 1) -> Iterator[Told]:
    """What the answers of one half are told, or every so many of them."""
    answers = [(name, wrong, answer) for name, entries in collected.items() for wrong, answer in entries]
    for name, wrong, answer in answers[::every]:
        verdict = catalogue[name].check(answer)
        yield Told(name, answer, wrong, verdict.mistake, verdict.cause, verdict.passed)


def share(all_told: list[Told]) -> float:
    """Of the wrong ones, how many were told a cause."""
    return sum(one.mistake is not None or one.cause is not None for one in all_told) / len(all_told)
