"""The base of the HTML-first views: a picture that everybody sees, and a script that makes it live where scripts run.

The computation is in JavaScript, so a view answers while the kernel is busy, or gone, and in an exported page. Each
output is whole in itself: no id, no address, nothing to load.
"""

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files

import numpy as np
from torch import Tensor

from transformer_lab.plots import Picture


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
        return {"text/plain": self.picture.alt, "text/html": self.html()}

    def html(self) -> str:
        """The output as HTML; `<` is escaped within the state, so that no token can end the script."""
        script = bundle(self.module)
        tag = f"tl-{self.module}-{hashlib.sha256(script.encode()).hexdigest()[:8]}"
        state = json.dumps(self.state, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
        return (
            f'<{tag}>{self.picture.html()}<script type="application/json">{state}</script></{tag}>'
            f'<script type="module">{script}define("{tag}", view);</script>'
        )


def packed(value: object) -> object:
    """A tensor as base64 of its float32 numbers, with its shape; anything else as it is."""
    if not isinstance(value, Tensor):
        return value
    array = value.detach().cpu().float().contiguous().numpy().astype(np.dtype("<f4"))
    return {"f32": base64.b64encode(array.tobytes()).decode(), "shape": list(value.shape)}


@cache
def bundle(module: str) -> str:
    """The kit and a view's module as the text of one script that imports and exports nothing."""
    kit, view = (files(__package__).joinpath(f"{name}.js").read_text("utf-8") for name in ("kit", module))
    view = re.sub(r"^import .*\n", "", view, flags=re.MULTILINE)
    view = view.replace("export default", "const view =")
    script = re.sub(r"^export ", "", kit + view, flags=re.MULTILINE)
    script = re.sub(r"^\s+", "", script, flags=re.MULTILINE)
    return re.sub(r"^//.*\n", "", script, flags=re.MULTILINE)  # without indents, empty lines and comments
