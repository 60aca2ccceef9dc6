"""Which of these gets past the test? A weak test in a sentence, and wrong candidates, one of which it does not catch.

What each test catches is computed from the catalogue when the site is built: the tests are the mistakes that an
exercise knows, the candidates are its cases, and the sentences are those of its check.
"""

import re
from dataclasses import dataclass
from html import escape
from random import Random

from results import lettered

from transformer_lab.exercises.engine.cards import inline
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.specification import Mistake
from transformer_lab.exercises.kinds import WriteTheTest

ROUNDS = 3  # at most
CAUGHT, MISSED = 3, 2  # wrong candidates to choose that are caught; that a test may miss, lest two be right
GIVEN_AWAY = "unseen"  # a sentence with this word says what is missed
CLAUSE = re.compile(r"[^.:]*(?:\.\d[^.:]*)*")  # up to a colon or the end of the sentence; the point in 0.9 is neither


@dataclass(frozen=True)
class Round:
    """A weak test, and the wrong candidates to choose among: one that it misses, and some that it catches."""

    test: Mistake
    missed: Case
    shown: tuple[Case, ...]

    @property
    def sentence(self) -> str:
        return f"{clause(self.test)}."


def rounds(exercise: WriteTheTest) -> list[Round]:
    """The first tests that accept all that is right and miss little, each with another candidate that it misses."""
    found: dict[Case, Mistake] = {}
    for test in exercise.mistakes.values():
        missed, is_told = misses(exercise, test), GIVEN_AWAY in clause(test)
        if 0 < len(missed) <= MISSED and not is_told and all(is_wrong(exercise, case) for case in missed):
            found.setdefault(missed[0], test)
    return [one_round(exercise, *one) for one in [*found.items()][:ROUNDS]]


def clause(test: Mistake) -> str:
    """What a test does, without what it therefore does not see."""
    return found[0] if (found := CLAUSE.match(test.explanation)) else ""


def is_wrong(exercise: WriteTheTest, case: Case) -> bool:
    return exercise.expected(case).value is not exercise.says_of_right


def misses(exercise: WriteTheTest, test: Mistake) -> list[Case]:
    """The cases about which a test is wrong."""
    outcomes = [(case, exercise.mistaken(test, case)) for case in exercise.cases]
    return [case for case, out in outcomes if out.error is not None or out.value is not exercise.expected(case).value]


def one_round(exercise: WriteTheTest, missed: Case, test: Mistake) -> Round:
    unseen, order = misses(exercise, test), Random(f"{exercise.name} {test.name}")
    caught = [case for case in exercise.cases if is_wrong(exercise, case) and case not in unseen]
    shown = [missed, *order.sample(caught, CAUGHT)]
    order.shuffle(shown)
    return Round(test, missed, tuple(shown))


def what_gets_past(exercise: WriteTheTest) -> str:
    """The warm-up of a card as HTML: one test after another, with the answers folded."""
    return "".join(question(exercise, one, i) for i, one in enumerate(rounds(exercise)))


def question(exercise: WriteTheTest, one: Round, number: int) -> str:
    legend = "Another test" if number else "First: what gets past a test?"
    boxes = "".join(box(exercise, letter, case, number) for letter, case in lettered(one.shown))
    asks = f"{exercise.name}: one of 4 wrong {exercise.candidate}s gets past a test. Which one do you take?"
    return (
        f'<fieldset class="which" data-which="{exercise.name}"><legend>{legend}</legend>'
        f"<p>To somebody who wrote a test our check says: <q>{inline(one.sentence)}</q> "
        f"Three of these wrong {exercise.candidate}s are caught by that test. Which one gets past it?</p>"
        f'<div class="results wide">{boxes}</div>'
        f'<p class="label which-note"><span>Each of them was tried.</span><button type="button" '
        f'data-send="exercise-{exercise.name}" data-asks="{escape(asks)}">Ask a friend</button></p>'
        f'<details><summary>which one, and why</summary><ul class="said-of">{answers(one)}</ul></details></fieldset>'
    )


def box(exercise: WriteTheTest, letter: str, case: Case, number: int) -> str:
    return (
        f'<label class="result"><span class="result-name"><input type="radio" name="which-{exercise.name}-{number}" '
        f'value="{letter}">{letter}</span><span class="symptom">{inline(sentence(case))}</span></label>'
    )


def sentence(case: Case) -> str:
    return case.label[:1].upper() + case.label[1:] + "."


def answers(one: Round) -> str:
    rows = []
    for letter, case in lettered(one.shown):
        name, said = "This one is caught", "<p>The test says that it is wrong, and so it is.</p>"
        if case == one.missed:
            name = "right"
            said = f"<p>The check says in full:</p><blockquote>{inline(one.test.explanation)}</blockquote>"
        right = " data-right" * (case == one.missed)
        rows.append(f'<li data-result="{letter}"{right}><p><b>{letter}: {name}</b></p>{said}</li>')
    return "".join(rows)
