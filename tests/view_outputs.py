"""What the tests of the views share: reading what an output carries."""

import base64
import json

import numpy as np
import torch

from transformer_lab.widgets.shared.view import View


def html_of(view: View) -> str:
    return view._repr_mimebundle_()["text/html"]


def state_of(view: View) -> dict:
    """The state that an output carries to its script."""
    return json.loads(view.state_json())


def numbers(packed: dict) -> torch.Tensor:
    array = np.frombuffer(base64.b64decode(packed["f32"]), dtype="<f4")
    return torch.from_numpy(array.copy()).reshape(packed["shape"])
