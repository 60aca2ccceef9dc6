"""What crosses between grader and answer: JSON and the raw bytes of tensors, both checked; never pickle.

A frame is eight bytes (the lengths of both parts), a JSON object, and the tensors' bytes one after the other. The
grader also sends functions, as byte code; an answer never does. This file is also read inside the sandbox, where the
package is not: it needs nothing but torch.
"""

import builtins
import dis
import inspect
import json
import marshal
import socket
import struct
import sys
import time
from base64 import b64decode, b64encode
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from math import prod
from numbers import Integral, Real
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor

MOST_JSON, MOST_BYTES = 1 << 20, 1 << 24  # of one frame: 1 MiB, 16 MiB
MOST_PARTS, MOST_AXES = 20_000, 16  # lists and values in a frame, axes of a tensor
IMPORTABLE = {"torch", *sys.stdlib_module_names}  # on both sides
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    )
}


class Malformed(Exception):
    """A frame that breaks the rules: too long, too many parts, no JSON, tensors that do not fit their description."""


def send(channel: socket.socket, message: dict, tensors: list[Tensor] | tuple = ()) -> None:
    """Send one frame.

    Raises:
        Malformed: it is longer than the other side would take.
    """
    channel.sendall(frame(message, tensors))


def frame(message: dict, tensors: list[Tensor] | tuple = ()) -> bytes:
    parts = [raw_bytes(x) for x in tensors]
    header = json.dumps(message | {"tensors": [describe(x) for x in tensors]}).encode()
    size = sum(map(len, parts))
    check_size(len(header), size)
    check_parts(header)
    return struct.pack("<II", len(header), size) + header + b"".join(parts)


def receive(channel: socket.socket, deadline: float | None = None) -> tuple[dict, list[Tensor]]:
    """The next frame; `deadline` is a time of time.monotonic().

    Raises:
        Malformed: the frame breaks a rule.
        TimeoutError: it was not there, whole, at the deadline.
        ConnectionError: the other side is gone.
    """
    lengths = struct.unpack("<II", read(channel, 8, deadline))
    check_size(*lengths)
    header, payload = read(channel, lengths[0], deadline), read(channel, lengths[1], deadline)
    check_parts(header)
    try:
        message = json.loads(header)
        return message, unpack(message.pop("tensors"), payload)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, RuntimeError) as error:
        raise Malformed(f"a message can't be read ({type(error).__name__})") from None


def check_size(json_bytes: int, tensor_bytes: int) -> None:
    if json_bytes > MOST_JSON or tensor_bytes > MOST_BYTES:
        raise Malformed(
            f"a message may have {MOST_JSON} bytes of JSON and {MOST_BYTES} of numbers ({json_bytes}, {tensor_bytes})"
        )


def check_parts(header: bytes) -> None:
    """Each value is an object, and each tensor three lists: so they can be counted before anything is made of them."""
    if (parts := header.count(b"{") + header.count(b"[")) > MOST_PARTS:
        raise Malformed(f"a message may have {MOST_PARTS} parts (it has {parts})")


def read(channel: socket.socket, count: int, deadline: float | None) -> bytes:
    parts, missing = [], count
    while missing:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            channel.settimeout(left)
        part = channel.recv(min(missing, 1 << 20))
        if not part:
            raise ConnectionError("the other side is gone")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


# ── tensors: dtype, shape, the order of the axes in memory, and whether a gradient flows ──


def describe(x: Tensor) -> list:
    return [str(x.dtype).removeprefix("torch."), list(x.shape), order_in_memory(x), x.requires_grad]


def order_in_memory(x: Tensor) -> list[int]:
    """The axes, widest stride first: a transposed tensor arrives transposed, as `view` will notice."""
    strides = x.stride()
    return sorted(range(x.ndim), key=lambda axis: -strides[axis])


def raw_bytes(x: Tensor) -> bytes:
    x = x.detach().permute(order_in_memory(x))
    x = x.clone(memory_format=torch.contiguous_format)  # a single number of a larger tensor keeps its stride otherwise
    return x.reshape(-1).view(torch.uint8).numpy().tobytes()


def unpack(descriptions: list, payload: bytes) -> list[Tensor]:
    tensors, start = [], 0
    for name, shape, order, with_gradient in descriptions:
        dtype = DTYPES[name]
        if len(shape) > MOST_AXES or sorted(order) != [*range(len(shape))] or not all(map(is_size, shape)):
            raise ValueError("a tensor's shape makes no sense")
        count = prod(shape)
        part = payload[start : start + count * dtype.itemsize]
        flat = torch.frombuffer(bytearray(part), dtype=dtype) if part else torch.empty(0, dtype=dtype)
        x = flat.reshape([shape[axis] for axis in order]).permute([order.index(axis) for axis in range(len(shape))])
        tensors.append(x.requires_grad_() if with_gradient is True and dtype.is_floating_point else x)
        start += len(part)
    if start != len(payload):
        raise ValueError("the numbers do not fit their description")
    return tensors


def is_size(n: object) -> bool:
    return type(n) is int and n >= 0


# ── values: what a function takes and returns, as a tree in JSON ──


def encode(value: Any, tensors: list[Tensor], functions: bool = False) -> object:
    """A value as JSON. Its tensors go into the list, and their places into the JSON.

    Raises:
        TypeError: with `functions`, a value can't cross; without, the name of its type does.
    """
    if isinstance(value, Tensor) and str(value.dtype).removeprefix("torch.") in DTYPES and not value.is_sparse:
        tensors.append(value.cpu())
        return {"tensor": len(tensors) - 1}
    if value is None or type(value) in (bool, int, float, str):
        return {"plain": value}
    if isinstance(value, Integral | Real):  # a number of numpy's
        return {"plain": int(value) if isinstance(value, Integral) else float(value)}
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):  # it is neither of the two
        return {"plain": bool(value)}
    if type(value) in (list, tuple):
        return {type(value).__name__: [encode(part, tensors, functions) for part in value]}
    if type(value) is dict:
        return {"dict": [[encode(k, tensors, functions), encode(v, tensors, functions)] for k, v in value.items()]}
    if value is ...:
        return {"ellipsis": True}
    if not functions:
        return {"other": type(value).__name__[:100]}
    if (path := import_path(value)) is not None:
        return {"import": path}
    if isinstance(value, SimpleNamespace):
        return {"namespace": encode(vars(value), tensors, functions)}
    if isinstance(function := inspect.unwrap(value), FunctionType):
        return {"function": encode_function(function, tensors)}
    raise TypeError(f"an answer can be given plain values, tensors and functions (got a {type(value).__name__})")


def decode(tree: dict, tensors: list[Tensor], functions: bool = False) -> Any:
    """The value that `encode` made JSON of.

    Raises:
        Malformed: it is no such JSON.
    """
    try:
        ((kind, value),) = tree.items()
        if kind == "tensor" and 0 <= value < len(tensors):
            return tensors[value]
        if kind == "plain" and (value is None or type(value) in (bool, int, float, str)):
            return value
        if kind in ("list", "tuple"):
            parts = [decode(part, tensors, functions) for part in value]
            return tuple(parts) if kind == "tuple" else parts
        if kind == "dict":
            return {decode(k, tensors, functions): decode(v, tensors, functions) for k, v in value}
        if kind == "ellipsis":
            return ...
        if kind == "import" and functions:
            return found(value[0], value[1:])
        if kind == "namespace" and functions:
            return SimpleNamespace(**decode(value, tensors, functions))
        if kind == "function" and functions:
            return decode_function(value, tensors)
        if kind == "other":
            return other(str(value)[:100])()
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        pass
    raise Malformed("a value can't be read")


class Other:
    """Stands for a value that may not cross: only the name of its type is known."""


@lru_cache(maxsize=64)
def other(name: str) -> type:
    return type(name, (Other,), {})


# ── functions: what a case hands to an answer ──


def import_path(value: object) -> list[str] | None:
    """A module and the names that lead from it to what both sides can import; None for anything else."""
    module = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    if module.partition(".")[0] not in IMPORTABLE:
        return None
    names = getattr(value, "__qualname__", ""), getattr(value, "__name__", "")  # one of them may be a private class's
    paths = [[]] if isinstance(value, ModuleType) else [name.split(".") for name in names]
    return next(([module, *path] for path in paths if found(module, path) is value), None)


def found(module: str, path: list[str]) -> object:
    one: object = import_module(module)
    for name in path:
        one = getattr(one, name, None)
    return one


def encode_function(function: FunctionType, tensors: list[Tensor]) -> dict:
    """A function by its byte code and the variables that it uses, of those around it and of its module."""
    used = {}
    for name, parts in globals_used(function.__code__).items():
        if name in function.__globals__:
            value = used[name] = function.__globals__[name]
            if isinstance(value, ModuleType) and import_path(value) is None:  # one of ours: what is used of it
                used[name] = SimpleNamespace(**{part: getattr(value, part) for part in parts})
    around = [cell.cell_contents for cell in function.__closure__ or ()]
    return {
        "code": b64encode(marshal.dumps(function.__code__)).decode(),
        "name": function.__name__,
        "variables": encode([used, around, function.__defaults__], tensors, functions=True),
    }


def globals_used(code: CodeType) -> dict[str, set[str]]:
    """The names that a function, and those within it, look up in their module, and what they take of each."""
    used: dict[str, set[str]] = {}
    for one, following in pairwise(dis.get_instructions(code)):
        if one.opname == "LOAD_GLOBAL":
            taken = {following.argval} if following.opname in ("LOAD_ATTR", "LOAD_METHOD") else set()
            used[one.argval] = used.get(one.argval, set()) | taken
    for within in code.co_consts:
        for name, taken in globals_used(within).items() if isinstance(within, CodeType) else ():
            used[name] = used.get(name, set()) | taken
    return used


def decode_function(described: dict, tensors: list[Tensor]) -> FunctionType:
    used, around, defaults = decode(described["variables"], tensors, functions=True)
    code = marshal.loads(b64decode(described["code"]))
    used["__builtins__"] = builtins  # torch imports by them, as it calls some functions for the first time
    return FunctionType(code, used, described["name"], defaults, tuple(map(CellType, around)))
