"""The tables by which a page judges answers: what is right in each case, and what each named mistake makes of it.

They are computed from the catalogue when the site is built, so that a page says what a check in a notebook says. A
learner answers with values (*predict*), with a painted mask, or with matrices (*set the weights*).
"""

import json
from collections.abc import Iterable
from html import escape
from math import isfinite
from typing import Any

import torch
from torch import Tensor

from transformer_lab.exercises import Exercise
from transformer_lab.exercises.engine.cards import html_text, inline, readable
from transformer_lab.exercises.engine.comparing import show
from transformer_lab.exercises.engine.running import Case, Outcome

PAINTED = {  # masks, and the cases that are painted: one for each thing that can go wrong
    "causal_mask": ("3 tokens", "1 token", "4 tokens"),
    "padding_mask": ("three words and a pad", "padding on the left", "another pad_id; 0 is a word"),
    "decoder_mask": ("three words and a pad", "padding on the left", "two sentences, the second is shorter"),
}
SET = {  # what judges matrices in weights.js, and the cases that they are set for: those that a hand can fill
    "look_at_kind": ("kind", lambda case: case.arguments["words"].size(1) == 5, 1),
    "look_back_one": ("neighbour", lambda case: case.label in BY_HAND, 2),
    "look_both_ways": ("neighbour", lambda case: case.label in BY_HAND, 2),
    "induction_by_hand": ("induction", lambda case: case.arguments["n_tokens"] == 2, 1),
}
BY_HAND = ("3 positions, one-hot vectors", "2 positions in 2 dimensions, turned vectors")
OFFSETS = {"look_back_one": [-1], "look_both_ways": [-1, 1]}
CHOSEN = {"which_control": "experiments"}  # an answer is the index of one of these
NOTHING = {"none": True}  # an outcome that nobody can give: an error, or numbers where a mask is painted


def is_judged(exercise: Exercise) -> bool:
    """Whether a page can judge answers to an exercise."""
    return exercise.kind in ("predict", "set the weights") or exercise.name in PAINTED


def judged_cases(exercise: Exercise) -> tuple[Case, ...]:
    """The cases that a page asks for, in the order of the exercise."""
    if exercise.name in PAINTED:
        return tuple(case for case in exercise.cases if case.label in PAINTED[exercise.name])
    if exercise.name in SET:
        return tuple(filter(SET[exercise.name][1], exercise.cases))
    return exercise.cases


def table(exercise: Exercise) -> dict[str, Any]:
    """What a page needs to judge answers to an exercise, as JSON values."""
    mistakes = [*exercise.mistakes.values()]
    cases = [
        {
            "label": case.label,
            "given": {name: plain(x) for name, x in case.arguments.items()},
            "said": {name: show(x) for name, x in case.arguments.items()},
            "right": of_outcome(exercise, exercise.expected(case)),
            "wrong": [of_outcome(exercise, exercise.mistaken(one, case)) for one in mistakes],
        }
        for case in judged_cases(exercise)
    ]
    named = [{"name": one.name, "words": readable(one.name), "said": inline(one.explanation)} for one in mistakes]
    how: dict[str, Any] = {"how": "paint"} if exercise.name in PAINTED else {"how": "values"}
    if exercise.name in CHOSEN:
        how = {"how": "choice", "among": CHOSEN[exercise.name]}
    if exercise.name in SET:
        how = {"how": "matrices", "family": SET[exercise.name][0], "offsets": OFFSETS.get(exercise.name, [])}
        how["matrices"] = matrices(exercise, judged_cases(exercise))
    whole = "." not in json.dumps([case["right"] for case in cases])  # JavaScript cannot tell 4.0 from 4
    how |= {"name": exercise.name, "returns": exercise.returns, "whole": whole}
    return how | {"mistakes": named, "cases": cases}


def matrices(exercise: Exercise, cases: Iterable[Case]) -> list[dict[str, Any]]:
    """The sets of matrices to fill in: one for each width that the cases have, with the cases that it serves."""
    sets: dict[str, dict[str, Any]] = {}
    for i, case in enumerate(cases):
        shapes = [[*x.shape] for x in flat(exercise.expected(case).value)]
        sets.setdefault(str(shapes), {"shapes": shapes, "cases": []})["cases"].append(i)
    return [*sets.values()]


def flat(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    assert isinstance(value, (tuple, list))
    return [part for one in value for part in flat(one)]


def of_outcome(exercise: Exercise, outcome: Outcome) -> Any:
    is_mask = isinstance(outcome.value, Tensor) and outcome.value.dtype == torch.bool
    if outcome.error is not None or (exercise.name in PAINTED and not is_mask):
        return NOTHING
    return plain(outcome.value)


def plain(value: Any) -> Any:
    """A value as JSON has it: a tensor as nested lists, what is not finite as a word."""
    if isinstance(value, Tensor):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def panel_of(exercise: Exercise) -> str:
    """What stands below an exercise's hints where a page judges it: room for the answer, and the table."""
    after = exercise.following
    then = {"name": after.name, "lesson": after.lesson} if after and after is not exercise else None
    data = table(exercise) | {"then": then, "able": able(exercise), "n": len(exercise.cases)}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str).replace("<", "\\u003c")
    return (
        f'<div class="judged" data-judged="{escape(exercise.name)}"></div>'
        f'<script type="application/json">{text}</script>'
    )


def able(exercise: Exercise) -> str:
    """What a learner has found out who has solved it: the first line of the reference's docstring."""
    return html_text((exercise.reference.__doc__ or "").strip().partition("\n")[0])
