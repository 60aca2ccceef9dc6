"""What an answer did, rebuilt from a message of its process."""

import builtins

from torch import Tensor

from transformer_lab.exercises.engine.running import Case, Outcome
from transformer_lab.grading.sandbox import protocol

MOST_PRINTED = 2000


def outcome_of(message: dict, tensors: list[Tensor], case: Case) -> Outcome:
    """The outcome that a message describes. What it says is believed as far as an answer may say it of itself.

    Raises:
        protocol.Malformed, ValueError, TypeError, KeyError: it is no description of an outcome.
    """
    gradients = {name: protocol.decode(tree, tensors) for name, tree in message["gradients"].items()}
    for name, x in gradients.items():
        if not isinstance(x, Tensor) or x.shape != getattr(case.arguments[name], "shape", None):
            raise ValueError("a gradient has the wrong shape")
    return Outcome(
        value=protocol.decode(message["value"], tensors),
        error=deserialize_error(message["error"]) if message["error"] is not None else None,
        printed=str(message["printed"])[:MOST_PRINTED],
        changed=tuple(name for name in message["changed"] if name in case.arguments),
        gradients=gradients,
    )


def deserialize_error(described: dict) -> Exception:
    """The error that was described: of the nearest type that Python itself has, with its text and place."""
    kinds = [getattr(builtins, str(name), None) for name in described["kinds"]]
    known = (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception))
    kind = next(known, RuntimeError)
    try:
        error = kind(str(described["text"]))
    except TypeError:  # a UnicodeDecodeError, say, takes more than a text
        error = RuntimeError(str(described["text"]))
    vars(error)["place"] = str(described["place"])
    if described["name"] is not None and isinstance(error, ImportError | NameError):
        error.name = str(described["name"])
    return error
