"""The base of the HTML-first views: a picture that everybody sees, and a script that makes it live where scripts run.

The computation is in JavaScript, so a view answers while the kernel is busy, or gone, and in an exported page. Each
output is whole in itself: no id, no address, nothing to load.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from transformer_lab.plots import Picture, show
from transformer_lab.widgets.bundle import bundle
from transformer_lab.widgets.hosted import host_class

MANY_BYTES = 16_000  # from there on numbers are deflated
# What only some outputs need of the kit: as what `define` takes it, its name, and what in the state calls for it.
PARTS = (("read", "unpacked", '"deflated":'), ("ask", "predictFirst", '"predict":'))


class View:
    """A live view in one output: the element, the picture inside it, its state, and the module that takes over.

    `state` holds JSON values and tensors, which are copied as float32; `summary` is one line that says what is seen;
    `still` draws the picture for where no script runs, of so many `colours`, when an output is made: a widget has none.
    """

    def __init__(
        self, module: str, state: dict, summary: str, still: Callable[[], Figure | Axes], colours: int = 256
    ):
        self.module, self.summary, self.still, self.colours = module, summary, still, colours
        self.state = with_tensors({"summary": summary} | state, copied)

    def __repr__(self) -> str:
        return self.summary

    @property
    def picture(self) -> Picture:
        """What is seen where no script runs."""
        return show(self.still(), self.summary, sharpness=1.0, colours=self.colours)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.html()}

    def predict(self, question: str, choices: Sequence[str], answer: str, because: str) -> "View":
        """Cover the view by a question, until the reader has chosen one of a few answers or asks to see.

        `because` gives the number that shows it, for instance "its weight is 0.98".

        Raises:
            ValueError: the answer is not among the choices.
        """
        if answer not in choices:
            raise ValueError(f"the answer must be one of the choices {list(choices)} (it is {answer!r})")
        choices = list(choices)
        asked = {"question": question, "choices": choices, "answer": choices.index(answer), "because": because}
        self.state = self.state | {"predict": asked}
        return self

    def as_widget(self):
        """The view as an ipywidget, whose `show(another)` puts the numbers of another view of its kind in its place.

        It goes with other ipywidgets: `slider.observe(lambda _: widget.show(widgets.heads(…)), "value")`.
        """
        return host_class(self.module)(state=self.sent)

    @property
    def sent(self) -> dict:
        """The state as a widget takes it, with the numbers as bytes."""
        return with_tensors(self.state, lambda x: {"f32": to_bytes(x), "shape": list(x.shape)})

    def html(self) -> str:
        """The output as HTML; `<` is escaped within the state, so that no token can end the script."""
        state = json.dumps(self.state, separators=(",", ":"), ensure_ascii=False, default=packed)
        state = state.replace("<", "\\u003c")
        parts = {role: name for role, name, sign in PARTS if sign in state}
        script = bundle(self.module, *parts.values())
        roles = ",".join(f"{role}:{name}" for role, name in parts.items())
        tag = f"tl-{self.module}-{hashlib.sha256(script.encode()).hexdigest()[:8]}"
        return (
            f'<{tag}>{self.picture.html()}<script type="application/json">{state}</script></{tag}>'
            f'<script type="module">{script}define("{tag}",view,{{{roles}}});</script>'
        )


def with_tensors(value: object, change: Callable[[Tensor], object]) -> object:
    """The same value, with each tensor in it changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: with_tensors(part, change) for name, part in value.items()}
    return [with_tensors(part, change) for part in value] if isinstance(value, list | tuple) else value


def copied(x: Tensor) -> Tensor:
    return x.detach().to("cpu", torch.float32, copy=True)


def to_bytes(x: Tensor) -> bytes:
    """Its numbers as float32, the least significant byte first."""
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
