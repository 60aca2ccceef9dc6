"""Weights on disk as safetensors: a header of JSON, then plain numbers. Nothing in such a file can be executed.

What belongs to the weights (a config, a tokenizer, a score) lies in the header, as JSON by name. Safetensors notices a
file that is cut short, but no wrong bit among the numbers; so the header holds the SHA-256 of the file, too.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from transformer_lab.files import replace_file

Model = TypeVar("Model", bound="StoredModel")
BLANK = "SHA-256 of this file, with these 64 characters where it stands. "  # as long as the digest that replaces it


@dataclass(frozen=True)
class Stored:
    """The contents of a file: tensors by name, on the CPU, and metadata by name."""

    path: Path
    tensors: dict[str, Tensor]
    about: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        """The metadata stored under this name.

        Raises:
            ValueError: nothing was.
        """
        if name not in self.about:
            raise ValueError(f"{self.path} must contain {name} (it contains {', '.join(sorted(self.about))})")
        return self.about[name]


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors and JSON metadata by name. A crash midway leaves the old file intact."""
    header = {name: json.dumps(value, ensure_ascii=False) for name, value in about.items()} | {"sha256": BLANK}
    data = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, header)
    replace_file(Path(path), data.replace(BLANK.encode(), hashlib.sha256(data).hexdigest().encode(), 1))


def read_tensors(path: str | Path) -> Stored:
    """Read what `write_tensors` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not safetensors, is cut short, was written by another program or has been damaged.
    """
    data = Path(path).read_bytes()  # once: another program may replace the file in the meantime
    try:
        tensors = load(data)
    except SafetensorError as error:
        raise ValueError(f"a checkpoint must be a whole safetensors file ({path}: {error})") from error
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")]).get("__metadata__", {})
    digest = header.pop("sha256", None)
    if digest is None:
        raise ValueError(f"a checkpoint must be written by transformer_lab ({path} has no checksum in its header)")
    if hashlib.sha256(data.replace(digest.encode(), BLANK.encode(), 1)).hexdigest() != digest:
        raise ValueError(f"a checkpoint must be as it was written ({path} differs from its checksum: it is damaged)")
    return Stored(Path(path), tensors, {name: json.loads(value) for name, value in header.items()})


@torch.no_grad()
def load_parameters(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Set each parameter of the module to the tensor of its name, converted to its type and device.

    Raises:
        ValueError: a name is missing or unknown, or a shape is another; the module is then as before.
    """
    parameters = dict(module.named_parameters())  # what is shared, like tied embeddings, is in it once
    wrong = [f"{name} is missing" for name in parameters.keys() - tensors.keys()]
    wrong += [f"{name} is unknown" for name in tensors.keys() - parameters.keys()]
    for name in parameters.keys() & tensors.keys():
        stored, wanted = tuple(tensors[name].shape), tuple(parameters[name].shape)
        wrong += [f"{name} is {stored}, not {wanted}"] if stored != wanted else []
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise ValueError(f"stored weights must fit the model ({'; '.join(sorted(wrong)[:3])}{more})")
    for name, parameter in parameters.items():
        parameter.copy_(tensors[name])


class StoredModel(nn.Module):
    """A model that a checkpoint can store: its config, a dataclass, and its parameters.

    Weights that the config ties stay one parameter wherever the model goes, and whatever is loaded into it.
    """

    config_class: ClassVar[type]

    def __init__(self) -> None:
        super().__init__()
        self.register_load_state_dict_post_hook(tie_what_was_loaded)

    def tied_parts(self) -> list[nn.Embedding | nn.Linear]:
        """The parts whose weights are a single parameter; none by default."""
        return []

    def tie_weights(self) -> None:
        """Make one parameter of the weights that the config ties, which must be equal. No load or move requires it.

        Raises:
            ValueError: their numbers differ.
        """
        weights = [part.weight for part in self.tied_parts()]
        known = [weight for weight in weights if not weight.is_meta] or weights  # on "meta" there are no numbers
        if any(not (weight is known[0] or weight.equal(known[0])) for weight in known):
            raise ValueError("weights that the config ties must be equal (got others: set tie_weights=False for these)")
        for part in self.tied_parts():
            part.weight = known[0]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "StoredModel":
        """Keep tied weights tied, because torch recreates a parameter once per name when it moves to or from "meta"."""
        parts = self.tied_parts()
        tied = all(part.weight is parts[0].weight for part in parts)
        super()._apply(fn, recurse)
        for part in parts if tied else ():
            part.weight = parts[0].weight
        return self

    @classmethod
    def from_checkpoint(cls: type[Model], path: str | Path) -> Model:
        """Load a model from a file that `transformer_lab.training` wrote, on the CPU and in eval mode.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is damaged, or what is in it is no model of this class and its config.
        """
        return cls.from_stored(read_tensors(path))

    @classmethod
    def from_stored(cls: type[Model], stored: Stored) -> Model:
        """The model from a file that has already been read, as in `from_checkpoint`."""
        model = cls(stored_config(stored["config"], cls.config_class))  # type: ignore[call-arg]  # each takes a config
        weights = {name: tensor for name, tensor in stored.tensors.items() if name.startswith("model.")}
        load_parameters(model, {name.removeprefix("model."): tensor for name, tensor in weights.items()})
        return model.eval()


PLAIN: dict[Any, tuple[type, ...]] = {bool: (bool, np.bool_), int: (Integral,), float: (Real,), str: (str,)}


def make_plain(config: Any) -> None:
    """Convert each field of a frozen dataclass to its plain Python type, as JSON needs: numpy's 3 becomes Python's.

    Raises:
        ValueError: a field is of another type; True is no number here.
    """
    kinds: dict[str, Any] = {field.name: field.type for field in fields(config)}
    for name, kind in kinds.items():
        value = getattr(config, name)
        if not isinstance(value, PLAIN[kind]) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{name} of a {type(config).__name__} must be {kind.__name__} (got {value!r})")
        object.__setattr__(config, name, kind(value))


def tie_what_was_loaded(model: StoredModel, incompatible_keys: object) -> None:
    """Tie the weights again, because `load_state_dict(assign=True)` gives each name a parameter of its own."""
    model.tie_weights()


def stored_config(values: dict[str, Any], kind: type) -> Any:
    """The config of a checkpoint, which must have every field, because no default may replace what was stored."""
    wanted = {field.name for field in fields(kind)}
    if values.keys() != wanted:
        missing, unknown = sorted(wanted - values.keys()), sorted(values.keys() - wanted)
        raise ValueError(f"a config must have the fields of {kind.__name__} ({missing=}, {unknown=})")
    return kind(**values)
