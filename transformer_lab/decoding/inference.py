"""Running a model for inference: without dropout, and without tracking gradients."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from weakref import WeakKeyDictionary

import torch
from torch import nn

LOCK = Lock()
IN_USE: WeakKeyDictionary[nn.Module, tuple[int, list[nn.Module]]] = WeakKeyDictionary()


@contextmanager
def inference(model: nn.Module) -> Iterator[None]:
    """Within the `with` block the model uses no dropout and tracks no gradients; afterwards its modes are restored.

    Several threads may be in such a block at once: the last one to leave it puts the modules back.
    """
    with LOCK:
        users, training = IN_USE.get(model) or (0, [module for module in model.modules() if module.training])
        IN_USE[model] = users + 1, training
        for module in training:
            module.training = False
    try:
        with torch.no_grad():
            yield
    finally:
        with LOCK:
            users, training = IN_USE.pop(model)
            if users > 1:
                IN_USE[model] = users - 1, training
            else:
                for module in training:
                    module.training = True
