"""The base of the HTML-first views: a picture that everybody sees, and a script that makes it live where scripts run.

The computation is in JavaScript, so a view answers while the kernel is busy, or gone, and in an exported page. Each
output is whole in itself: no id, no address, nothing to load.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence

import numpy as np
from torch import Tensor

from transformer_lab.plots import Picture
from transformer_lab.widgets.bundle import bundle
from transformer_lab.widgets.hosted import host_class

MANY_BYTES = 16_000  # from there on numbers are deflated
# What only some outputs need of the kit: as what `define` takes it, its name, and what in the state calls for it.
PARTS = (("read", "unpacked", '"deflated":'), ("ask", "predictFirst", '"predict":'))


class View:
    """A live view in one output: the element, the picture inside it, its state, and the module that takes over.

    `state` holds JSON values and tensors; `picture` is what is seen where no script runs, its alt text the summary.
    """

    def __init__(self, module: str, state: dict, picture: Picture):
        self.module, self.picture = module, picture
        self.state = {"summary": picture.alt} | {name: packed(value) for name, value in state.items()}

    def __repr__(self) -> str:
        return self.picture.alt

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
        return host_class(self.module)(state=self.state)

    def html(self) -> str:
        """The output as HTML; `<` is escaped within the state, so that no token can end the script."""
        state = json.dumps(self.state, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
        parts = {role: name for role, name, sign in PARTS if sign in state}
        script = bundle(self.module, *parts.values())
        roles = ",".join(f"{role}:{name}" for role, name in parts.items())
        tag = f"tl-{self.module}-{hashlib.sha256(script.encode()).hexdigest()[:8]}"
        return (
            f'<{tag}>{self.picture.html()}<script type="application/json">{state}</script></{tag}>'
            f'<script type="module">{script}define("{tag}",view,{{{roles}}});</script>'
        )


def packed(value: object) -> object:
    """A tensor as base64 of its float32 numbers, with its shape; anything else as it is.

    Many numbers are deflated, after all their first bytes come all their second ones, and so on: signs and exponents
    are much alike, so this takes a quarter less room, and loses nothing.
    """
    if not isinstance(value, Tensor):
        return value
    array = value.detach().cpu().float().contiguous().numpy().astype(np.dtype("<f4"))
    data, deflated = array.tobytes(), {}
    if len(data) > MANY_BYTES:
        planes = array.view(np.uint8).reshape(-1, 4).T.tobytes()
        data, deflated = zlib.compress(planes, level=9), {"deflated": True}
    return {"f32": base64.b64encode(data).decode(), "shape": list(value.shape)} | deflated
