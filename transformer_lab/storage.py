"""Weights on disk: safetensors, which is a header of JSON and then plain numbers. Nothing in such a file can run.

What belongs to the weights (a config, a tokenizer, a score) lies in the header, as JSON by name. A checksum over all of
it tells a damaged file from a whole one.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors by name and, by name, what JSON can hold about them. A crash midway leaves the old file whole."""
    path = Path(path)
    unfinished = path.with_name(path.name + ".part")
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    header = {name: json.dumps(value, ensure_ascii=False) for name, value in about.items()}
    unfinished.write_bytes(save(tensors, header | {"sha256": checksum(tensors, header)}))
    os.replace(unfinished, path)


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a file, on the CPU, and what was written about them.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not safetensors, is cut short, was written by another program or has been damaged.
    """
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dictionary)
    except SafetensorError as error:
        raise ValueError(f"a checkpoint must be a whole safetensors file ({path}: {error})") from error
    expected = header.pop("sha256", None)
    if expected is None:
        raise ValueError(f"a checkpoint must be written by transformer_lab ({path} has no checksum in its header)")
    if checksum(tensors, header) != expected:
        raise ValueError(f"a checkpoint must be as it was written ({path} differs from its checksum: it is damaged)")
    return tensors, {name: json.loads(value) for name, value in header.items()}


def checksum(tensors: Mapping[str, Tensor], header: Mapping[str, str]) -> str:
    """SHA-256 over everything that a file says: header, names, shapes, types and numbers."""
    digest = hashlib.sha256(json.dumps(sorted(header.items())).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


@torch.no_grad()
def load_parameters(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give each parameter of the module the tensor of its name, converted to its type and device.

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
