"""The base of the HTML-first views: a picture that everybody sees, and a script that brings it to life.

The computation is in JavaScript, so a view answers while the kernel is busy, or gone, and in an exported page. Each
output is whole in itself: no id, no address, nothing to load.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from transformer_lab.plots import Picture, show
from transformer_lab.widgets.shared.questions import QUESTIONS

MANY_BYTES = 16_000  # from there on numbers are deflated


class View:
    """A live view in one output: the element, the picture inside it, its state, and the script that takes over.

    `state` holds JSON values and tensors, which are copied as float32; `summary` is one line that says what is seen;
    `fallback` draws the figure for where no script runs, of so many `colours`, when an output is made.
    """

    def __init__(self, kind: str, state: dict, summary: str, fallback: Callable[[], Figure | Axes], colours: int = 256):
        self.kind, self.fallback, self.colours = kind, fallback, colours
        self._state = with_tensors({"summary": summary} | state, copied)

    @property
    def state(self) -> dict[str, Any]:
        return self._state

    @property
    def summary(self) -> str:
        return self._state["summary"]

    def __repr__(self) -> str:
        return self.summary

    @property
    def picture(self) -> Picture:
        """The picture that is shown where no script runs."""
        return show(self.fallback(), self.summary, sharpness=1.0, colours=self.colours)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        asked = self.state.get("predict")
        return {"text/plain": question_in_words(asked) if asked else repr(self), "text/html": self.html()}

    def ask(self, name: str) -> "View":
        """Ask a question of the lessons, from `questions`, whose answer is computed from the data of the view.

        Raises:
            ValueError: there is no question of that name.
        """
        if name not in QUESTIONS:
            raise ValueError(f"there must be a question of that name ({name!r} is none of {', '.join(QUESTIONS)})")
        asked = QUESTIONS[name]
        return self.predict(asked.question, asked.choices, *asked.answer(self.state), shown=asked.shown)

    def predict(self, question: str, choices: Sequence[str], answer: str, because: str, shown: bool = False) -> "View":
        """Put a question before the view, until the reader has chosen one of a few answers or asks to see the view.

        `because` gives the number that shows it, for instance "its weight is 0.98". The view is covered till then,
        and its picture folded, unless it may be `shown`, because it does not give the answer away at first.

        Raises:
            ValueError: the answer is not among the choices.
        """
        if answer not in choices:
            raise ValueError(f"the answer must be one of the choices {list(choices)} (it is {answer!r})")
        choices = list(choices)
        asked = {"question": question, "choices": choices, "answer": choices.index(answer), "because": because}
        self._state = self._state | {"predict": asked | ({"shown": True} if shown else {})}
        return self

    def state_json(self) -> str:
        """The state as JSON for the script; `<` is escaped, so that no token can close the script element."""
        state = json.dumps(self.state, separators=(",", ":"), ensure_ascii=False, default=packed)
        return state.replace("<", "\\u003c")

    def pictured(self, tag: str) -> str:
        """The picture as HTML, as it stands in the element of that name until the script begins."""
        return self.picture.html()

    def html(self) -> str:
        """The complete output as HTML."""
        script, tag = script_of(self.kind), tag_of(self.kind)
        seen, asked = self.pictured(tag), self.state.get("predict")
        if asked:  # it shows the answer, and is no longer needed once the script has defined the element
            seen = f"<style>{tag}:defined>.tl-asked{{display:none}}</style>{asked_in_html(asked, seen)}"
        return (
            f'<{tag}>{seen}<script type="application/json">{self.state_json()}</script></{tag}>'
            f'<script type="module">const TAG="{tag}";{script}</script>'
        )


def asked_in_html(asked: dict, picture: str) -> str:
    """The question where no script runs, with the picture or the answer folded, whichever would give it away."""
    question, answer = escape(question_in_words(asked)), f"{asked['choices'][asked['answer']]}: {asked['because']}"
    if asked.get("shown"):
        folded = f"<details><summary>{question} Then open the answer.</summary><p>{escape(answer)}</p></details>"
        return f'<div class="tl-asked">{folded}</div>{picture}'
    summary = f"<summary>{question} Then open the picture.</summary>"
    return f'<details class="tl-asked">{summary}<p>{escape(answer)}</p>{picture}</details>'


def question_in_words(asked: dict) -> str:
    """The text in place of a view where no script runs, and where only text is shown."""
    choices = ", ".join(asked["choices"][:-1]) + f" or {asked['choices'][-1]}"
    return f"Predict first. {asked['question']} ({choices})"


@cache
def script_of(kind: str) -> str:
    """The built script of a view, which brings elements named TAG to life; build.mjs builds it from <kind>_view.js."""
    return files("transformer_lab.widgets").joinpath(f"static/{kind}_view.js").read_text("utf-8")


def tag_of(kind: str) -> str:
    """The name of a view's elements; another script has another, so that two of them can live in one page."""
    return f"tl-{kind}-{hashlib.sha256(script_of(kind).encode()).hexdigest()[:8]}"


def with_tensors(value: Any, change: Callable[[Tensor], object]) -> Any:
    """Apply a change to each tensor inside a value."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: with_tensors(part, change) for name, part in value.items()}
    return [with_tensors(part, change) for part in value] if isinstance(value, list | tuple) else value


def copied(x: Tensor) -> Tensor:
    return x.detach().to("cpu", torch.float32, copy=True)


def to_bytes(x: Tensor) -> bytes:
    """A tensor's numbers as little-endian float32 bytes."""
    return x.detach().cpu().float().numpy().astype(np.dtype("<f4")).tobytes()


def packed(x: Tensor) -> dict:
    """A tensor as base64 of its float32 numbers, with its shape.

    Many numbers are deflated, after all their first bytes come all their second ones, and so on: signs and exponents
    are much alike, so this takes a quarter less room, and loses nothing.
    """
    data, deflated = to_bytes(x), {}
    if len(data) > MANY_BYTES:
        planes = np.frombuffer(data, np.uint8).reshape(-1, 4).T.tobytes()
        data, deflated = zlib.compress(planes, level=9), {"deflated": True}
    return {"f32": base64.b64encode(data).decode(), "shape": list(x.shape)} | deflated
