"""Which result is right? A call of an exercise, and what comes out: once of the reference, else of named mistakes.

The results are computed from the catalogue when the site is built. What tells them apart is said in the words of the
exercise: its properties, and the explanations that its check gives. No code of an answer stands on a page.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from random import Random
from typing import TypeVar

from drawn import Drawn, decimals_of, is_small
from torch import Tensor

from transformer_lab.exercises import Exercise
from transformer_lab.exercises.engine.cards import inline, readable
from transformer_lab.exercises.engine.comparing import show
from transformer_lab.exercises.engine.running import Case, as_tuple
from transformer_lab.exercises.engine.specification import Mistake, Property

FEWEST, MOST = 2, 3  # wrong results beside the right one
SHORT = 40  # letters of a value that stands in the call
NARROW, SMALL = 8, 16  # letters in a row of results that stand side by side, on a phone, too
GIVEN, CELLS = 60, 20  # numbers that are given, and that a result has, at most
QUOTED = "A known mistake makes this. To whoever makes it, the check in a notebook says:"
One = TypeVar("One")
TOLD = {"greedy_decode", "beam_search"}  # whose cases say in words what the function does that they are given


@dataclass(frozen=True)
class Choice:
    """A result to choose, and the mistake that it comes from; None if it is right."""

    drawn: Drawn
    value: object
    mistake: Mistake | None


def case_and_choices(exercise: Exercise) -> tuple[Case, list[Choice]] | None:
    """The first case in which enough mistakes show, and its results in an order that tells nothing; None if none is."""
    if exercise.kind != "implement":
        return None
    shown = [(case, choices(exercise, case)) for case in exercise.cases if can_be_shown(exercise, case)]
    case, found = max(shown, key=lambda one: len(one[1]), default=(None, []))
    if len(found) <= FEWEST:
        return None
    Random(exercise.name).shuffle(found)
    return case, found


def can_be_shown(exercise: Exercise, case: Case) -> bool:
    given = [x for x in case.arguments.values() if not (callable(x) and (x.__doc__ or exercise.name in TOLD))]
    right = as_tuple(exercise.expected(case).value)
    return not case.several and all(map(is_small, (*given, *right))) and size(given) <= GIVEN and size(right) <= CELLS


def size(values: Iterable[object]) -> int:
    return sum(x.numel() for x in values if isinstance(x, Tensor))


def choices(exercise: Exercise, case: Case) -> list[Choice]:
    """The right result, and wrong ones that look otherwise, each made by one mistake alone; those of its form first."""
    right, names = exercise.expected(case).value, exercise.returns
    made = [(one, exercise.mistaken(one, case)) for one in exercise.mistakes.values()]
    values = [(one, out.value) for one, out in made if out.error is None and all(map(is_small, as_tuple(out.value)))]
    drawn = [(Drawn.of(value, names), value, one) for one, value in values]
    looks, rightly = [one for one, _, _ in drawn], Drawn.of(right, names)
    wrong = [Choice(*one) for one in drawn if one[0] != rightly and looks.count(one[0]) == 1]
    wrong.sort(key=lambda one: (one.drawn.form != rightly.form, not one.drawn.is_finite))
    chosen = [Choice(rightly, right, None), *wrong[:MOST]]
    decimals = decimals_of(x for one in chosen for x in one.drawn.numbers)
    return [replace(one, drawn=Drawn.of(one.value, names, decimals)) for one in chosen]


def which_is_right(exercise: Exercise) -> str:
    """The warm-up of a card as HTML, with the answers folded, or nothing where too few mistakes show."""
    if not (found := case_and_choices(exercise)):
        return ""
    case, results = found
    boxes = "".join(box(exercise, letter, choice, results) for letter, choice in lettered(results))
    count = ("two", "three")[len(results) - 3]
    asks = (
        f"{exercise.name}: one of {len(results)} results is right, {count} come from mistakes. Which one do you take?"
    )
    return (
        f'<fieldset class="which" data-which="{exercise.name}"><legend>First: which result is right?</legend>'
        f'{question(exercise, case)}<div class="results {room_for(results)}">{boxes}</div>'
        f'<p class="label which-note"><span>One comes from a right answer, {count} from mistakes that the check knows.'
        f'</span><button type="button" data-send="exercise-{exercise.name}" data-asks="{escape(asks)}">Ask a friend'
        f"</button></p><details><summary>which one, and why</summary>{answers(exercise, case, results)}</details>"
        "</fieldset>"
    )


def question(exercise: Exercise, case: Case) -> str:
    """The call of a case, and what it is given: what is short stands in the call, the rest below it, drawn or said."""
    short = {name: show(x) for name, x in case.arguments.items() if not isinstance(x, Tensor) and not callable(x)}
    short = {name: x for name, x in short.items() if len(x) <= SHORT}
    words = ", ".join(f"{name}={short[name]}" if name in short else name for name in case.arguments)
    rest = {name: x for name, x in case.arguments.items() if name not in short and not callable(x)}
    drawn = {name: Drawn.of(x, decimals=decimals_of(Drawn.of(x).numbers)).html() for name, x in rest.items()}
    figure = "".join(f"<div><dt>{escape(name)}</dt><dd>{one}</dd></div>" for name, one in drawn.items())
    figure += "".join(described(name, x) for name, x in case.arguments.items() if callable(x) and x.__doc__)
    return (
        f'<p class="label">{escape(case.label[:1].upper() + case.label[1:])}</p>'
        f'<p class="which-call"><code>{escape(f"{exercise.name}({words})")}</code></p>'
        + f'<dl class="given-figure">{figure}</dl>'
        * bool(figure)
    )


def described(name: str, function: Callable) -> str:
    """A function that a call is given, in the words of its docstring."""
    return f'<div class="role"><dt>{escape(name)}</dt><dd>{escape((function.__doc__ or "").rstrip("."))}</dd></div>'


def room_for(results: list[Choice]) -> str:
    """How much room the widest row of the results takes, as the class of their grid."""
    longest = max(one.drawn.letters for one in results)
    return "narrow" if longest <= NARROW else "small" if longest <= SMALL else "wide"


def lettered(results: Iterable[One]) -> Iterator[tuple[str, One]]:
    return zip("ABCD", results, strict=False)


def box(exercise: Exercise, letter: str, choice: Choice, results: list[Choice]) -> str:
    right = next(one for one in results if one.mistake is None)
    scale = max(one.drawn.largest for one in results)
    is_told = len({one.drawn.form for one in results}) > 1
    return (
        f'<label class="result"><span class="result-name"><input type="radio" name="which-{exercise.name}" '
        f'value="{letter}">{letter}</span>{choice.drawn.html(right.drawn, scale, is_told)}</label>'
    )


def answers(exercise: Exercise, case: Case, results: list[Choice]) -> str:
    """What is said of each result: what holds of the right one alone, and what the check says of each mistake."""
    rows = []
    for letter, choice in lettered(results):
        name, said = "right", signs(exercise, case, results)
        if choice.mistake:
            name = escape(readable(choice.mistake.name))
            said = f"<p>{QUOTED}</p><blockquote>{inline(choice.mistake.explanation)}</blockquote>"
        right = " data-right" * (choice.mistake is None)
        rows.append(f'<li data-result="{letter}"{right}><p><b>{letter}: {name}</b></p>{said}</li>')
    return f'<ul class="said-of">{"".join(rows)}</ul>'


def signs(exercise: Exercise, case: Case, results: list[Choice]) -> str:
    """What to look for: each property of a right answer that a wrong result here lacks; and all mistakes."""
    rows = []
    for one in exercise.properties:
        lacking = [x for x, choice in lettered(results) if not holds(one, case, choice)]
        if lacking:
            rows.append(
                f"<li>{inline(one.sentence[:1].upper() + one.sentence[1:])}. Not so in {in_words(lacking)}.</li>"
            )
    wrong = [(letter, one.mistake) for letter, one in lettered(results) if one.mistake]
    names = "".join(f"<li>{x}: <em>{escape(readable(one.name))}</em></li>" for x, one in wrong)
    look = f"<p>What to look for:</p><ul>{''.join(rows)}</ul>" if rows else ""
    return f"{look}<p>The others come from known mistakes:</p><ul>{names}</ul>"


def in_words(letters: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(letters[:-1]), letters[-1]]))


def holds(one: Property, case: Case, choice: Choice) -> bool:
    """Whether a property holds of a result, as far as can be told: its test may not be able to read another form."""
    if choice.mistake is None:
        return True
    try:
        return bool(one.holds(case.arguments, *as_tuple(choice.value)))
    except Exception:
        return True  # so that nothing is said of it
