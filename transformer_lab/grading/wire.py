"""What crosses the wall between grader and answer: JSON and the raw bytes of tensors, both checked; never pickle.

A frame is eight bytes (the lengths of both parts), a JSON object, and the tensors' bytes one after the other. This file
is also read inside the jail, where the package is not: it needs nothing but torch.
"""

import json
import socket
import struct
import time
from collections.abc import Callable
from math import prod

import torch
from torch import Tensor

MOST_JSON, MOST_BYTES = 1 << 20, 1 << 26  # 1 MiB, 64 MiB
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    )
}


class Malformed(Exception):
    """A frame that breaks the rules: too long, no JSON, tensors that do not fit their description."""


def send(wire: socket.socket, message: dict, tensors: list[Tensor] | tuple = ()) -> None:
    """Send one frame.

    Raises:
        Malformed: it is longer than the other side would take.
    """
    parts = [raw_bytes(x) for x in tensors]
    header = json.dumps(message | {"tensors": [describe(x) for x in tensors]}).encode()
    size = sum(map(len, parts))
    if len(header) > MOST_JSON or size > MOST_BYTES:
        raise Malformed(
            f"a message may have {MOST_JSON} bytes of JSON and {MOST_BYTES} of numbers ({len(header)}, {size})"
        )
    wire.sendall(struct.pack("<II", len(header), size) + header + b"".join(parts))


def receive(wire: socket.socket, deadline: float | None = None) -> tuple[dict, list[Tensor]]:
    """The next frame; `deadline` is a time of time.monotonic().

    Raises:
        Malformed: the frame breaks a rule.
        TimeoutError: it was not there, whole, at the deadline.
        ConnectionError: the other side is gone.
    """
    lengths = struct.unpack("<II", read(wire, 8, deadline))
    if lengths[0] > MOST_JSON or lengths[1] > MOST_BYTES:
        raise Malformed(f"a message announces {lengths[0]} bytes of JSON and {lengths[1]} of numbers")
    header, payload = read(wire, lengths[0], deadline), read(wire, lengths[1], deadline)
    try:
        message = json.loads(header)
        return message, unpack(message.pop("tensors"), payload)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, RuntimeError) as error:
        raise Malformed(f"a message can't be read ({type(error).__name__})") from None


def read(wire: socket.socket, count: int, deadline: float | None) -> bytes:
    parts, missing = [], count
    while missing:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            wire.settimeout(left)
        part = wire.recv(min(missing, 1 << 20))
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
    return sorted(range(x.ndim), key=lambda axis: -x.stride(axis))


def raw_bytes(x: Tensor) -> bytes:
    x = x.detach().permute(order_in_memory(x)).contiguous()
    return x.reshape(-1).view(torch.uint8).numpy().tobytes()


def unpack(descriptions: list, payload: bytes) -> list[Tensor]:
    tensors, start = [], 0
    for name, shape, order, with_gradient in descriptions:
        dtype = DTYPES[name]
        if sorted(order) != list(range(len(shape))) or not all(type(n) is int and n >= 0 for n in shape):
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


# ── values: what a function takes and returns, as a tree in JSON ──


def encode(value: object, tensors: list[Tensor], functions: list[Callable] | None) -> object:
    """A value as JSON. Its tensors and functions are put into the lists, and their places into the JSON."""
    if isinstance(value, Tensor) and str(value.dtype).removeprefix("torch.") in DTYPES and not value.is_sparse:
        tensors.append(value.cpu())
        return {"tensor": len(tensors) - 1}
    if value is None or type(value) in (bool, int, float, str):
        return {"plain": value}
    if type(value) in (list, tuple):
        return {type(value).__name__: [encode(part, tensors, functions) for part in value]}
    if type(value) is dict:
        return {"dict": [[encode(k, tensors, functions), encode(v, tensors, functions)] for k, v in value.items()]}
    if value is ...:
        return {"ellipsis": True}
    if callable(value) and functions is not None:
        functions.append(value)
        return {"function": len(functions) - 1, "name": getattr(value, "__name__", "function")}
    return {"other": type(value).__name__[:100]}


class Other:
    """Stands for a value that may not cross: only the name of its type is known."""


def decode(tree: dict, tensors: list[Tensor], functions: Callable[[int, str], Callable] | None = None) -> object:
    """The value that `encode` made JSON of; `functions` gives what stands for a function of the other side.

    Raises:
        Malformed: it is no such JSON.
    """
    try:
        (kind, value), *more = tree.items()
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
        if kind == "function" and functions is not None:
            return functions(int(value), str(more[0][1]))
        if kind == "other":
            return type(str(value), (Other,), {})()
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        pass
    raise Malformed("a value can't be read")
