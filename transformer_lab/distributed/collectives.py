"""Collectives that gradients flow back through, and how a ring of ranks adds up tensors, on lists and on the wire."""

from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor


class Spread(torch.autograd.Function):
    """Gives each rank the same tensor, which each uses in its own way; so the backward pass sums the gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


class Summed(torch.autograd.Function):
    """Gives every rank the sum of the ranks' tensors; the gradient of the sum is the gradient of every term."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        total = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


def send_round(x: Tensor, received: Tensor) -> Tensor:
    """Send a tensor to the next rank of the ring, and receive another from the previous rank."""
    rank, n = dist.get_rank(), dist.get_world_size()
    pair = [dist.P2POp(dist.isend, x, (rank + 1) % n), dist.P2POp(dist.irecv, received, (rank - 1) % n)]
    for request in dist.batch_isend_irecv(pair):
        request.wait()
    return received


def ring_all_reduce(x: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """The result of `dist.all_reduce`, by the messages of a ring: `all_reduce_ring` on the wire.

    Each rank sends 2 (n - 1) parts of an n-th: 2 (n - 1) / n of the tensor, however many ranks there are.
    """
    rank, n = dist.get_rank(), dist.get_world_size()
    parts = [part.clone() for part in x.flatten().tensor_split(n)]
    for step in range(n - 1):
        mine, next_one = (rank - step) % n, (rank - step - 1) % n
        parts[next_one] += send_round(parts[mine], torch.empty_like(parts[next_one]))
    for step in range(n - 1):
        mine, next_one = (rank - step + 1) % n, (rank - step) % n
        parts[next_one] = send_round(parts[mine], torch.empty_like(parts[next_one]))
    return torch.cat(parts).view_as(x)


def all_reduce_ring(chunks: list[list[int]]) -> list[list[list[int]]]:
    """What each rank of a ring holds after each of 2 (n - 1) steps; after the last, all of them have the sum.

    `chunks[r][c]` is chunk c of rank r, of n ranks and as many chunks. In step s of the first n - 1, rank r sends its
    chunk (r - s) mod n to rank r + 1, which adds it to its own: then rank r has the whole sum of chunk r + 1. In step s
    of the last n - 1, rank r sends chunk (r - s + 1) mod n, and the next rank puts it in the place of its own. What a
    rank sends is never what it receives in the same step, so the order of the ranks does not matter.
    """
    n, held, steps = len(chunks), [list(row) for row in chunks], []
    for step in range(2 * (n - 1)):
        adds, turn = step < n - 1, step % (n - 1)
        for rank in range(n):
            sender = (rank - 1) % n
            chunk = (sender - turn + (not adds)) % n
            held[rank][chunk] = held[sender][chunk] + (held[rank][chunk] if adds else 0)
        steps.append([list(row) for row in held])
    return steps
