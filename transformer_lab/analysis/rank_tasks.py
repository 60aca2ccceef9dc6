"""What the ranks compute and send in a training step, and in which order, in the five ways of `distributed`.

What is counted: the matrices of the layers, 24 d² FLOPs forward for each token and layer, and the scores and weighted
sums under a causal mask, 2 d T; backward, twice as much. Numbers are counted as in `distributed.costs`. Left out are
embeddings, logits, norms, the optimizer, and the time that a message takes however small it is.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch

from transformer_lab.checks import check_least
from transformer_lab.distributed.costs import Cluster

FORWARD, BACKWARD = "forward", "backward"


@dataclass(frozen=True)
class Stack:
    """A stack of Transformer layers (d_ff = 4 d_model), and the batch of one training step.

    Raises:
        ValueError: a size is below 1, or a text has more tokens than the batch.
    """

    d_model: int = 4096
    n_layers: int = 4
    n_tokens: int = 65_536  # of the whole batch, B · T
    length: int = 8192  # T
    n_bytes: int = 2  # of a number that is sent

    def __post_init__(self) -> None:
        check_least(1, **vars(self))
        if self.length > self.n_tokens:
            raise ValueError(f"length ({self.length}) must be at most n_tokens ({self.n_tokens})")

    @property
    def n_parameters(self) -> int:
        return 12 * self.n_layers * self.d_model**2

    @property
    def activation(self) -> int:
        return self.n_tokens * self.d_model

    @property
    def flops(self) -> dict[str, float]:
        """FLOPs of each part of a layer, forward, for the whole batch."""
        square = 2 * self.n_tokens * self.d_model**2
        return {
            "qkv": 3 * square,
            "scores": 2 * self.n_tokens * self.length * self.d_model,
            "out": square,
            "network": 8 * square,
        }


@dataclass(frozen=True)
class Task:
    """Something that takes time: a rank computes, or ranks send to each other."""

    name: str
    kind: str  # forward, backward, sum, gather, scatter, hop, send
    ranks: tuple[int, ...]  # of a send: from, to
    seconds: float
    after: tuple[str, ...] = ()
    n_bytes: float = 0  # that all ranks together send
    n_calls: int = 0  # that all ranks together start
    rounds: int = 1  # in each of which a message goes to the next rank
    start: float = 0

    @property
    def end(self) -> float:
        return self.start + self.seconds

    @property
    def computes(self) -> bool:
        return self.kind in (FORWARD, BACKWARD)


@dataclass(frozen=True)
class Step:
    """A training step on n ranks; the last rank takes `slow` times as long to compute as the others."""

    stack: Stack
    n: int
    cluster: Cluster
    overlap: bool = False
    slow: float = 1
    n_micro: int = 4

    def compute(self, name: str, kind: str, share: float, flops: float, after: Iterable[str] = ()) -> Iterator[Task]:
        """All ranks compute a share of that many FLOPs."""
        return (self.on(r, f"{name}@{r}", kind, share * flops, after) for r in range(self.n))

    def on(self, rank: int, name: str, kind: str, flops: float, after: Iterable[str] = ()) -> Task:
        each = flops / (self.cluster.reached * self.cluster.flops) * (2 if kind == BACKWARD else 1)
        return Task(name, kind, (rank,), each * (self.slow if rank == self.n - 1 else 1), tuple(after))

    def ring(self, name: str, kind: str, numbers: float, after: Iterable[str] = ()) -> Iterator[Task]:
        """All ranks send to the next one: to sum `numbers`, to gather or scatter their sum, or each its part once."""
        rounds = {"sum": 2 * (self.n - 1), "hop": 1}.get(kind, self.n - 1)
        message = numbers / self.n * self.stack.n_bytes
        seconds, ranks = rounds * message / self.cluster.link, tuple(range(self.n))
        if self.n > 1:
            yield Task(name, kind, ranks, seconds, tuple(after), rounds * message * self.n, self.n, rounds)

    def of(self, *names: str) -> list[str]:
        """The names of these tasks on all ranks."""
        return [f"{name}@{r}" for name in names for r in range(self.n)]


def data(step: Step) -> Iterator[Task]:
    stack, layer = step.stack, sum(step.stack.flops.values())
    for i in range(stack.n_layers):
        yield from step.compute(f"F{i}", FORWARD, 1 / step.n, layer)
    for i in reversed(range(stack.n_layers)):
        yield from step.compute(f"B{i}", BACKWARD, 1 / step.n, layer)
        if step.overlap:  # a sum for each layer, as soon as its gradients are there
            yield from step.ring(f"sum {i}", "sum", stack.n_parameters / stack.n_layers, step.of(f"B{i}"))
    if not step.overlap:
        yield from step.ring("sum", "sum", stack.n_parameters, step.of("B0"))


def sharded(step: Step) -> Iterator[Task]:
    """A layer's weights are gathered while the layer before it computes, where that is possible."""
    layers, layer = range(step.stack.n_layers), sum(step.stack.flops.values())
    weights = step.stack.n_parameters / len(layers)
    order = [*((FORWARD, f"F{i}") for i in layers), *((BACKWARD, f"B{i}") for i in reversed(layers))]
    for k, (kind, name) in enumerate(order):
        yield from step.ring(f"gather {name}", "gather", weights, step.of(order[k - 2][1]) if k > 1 else ())
        if kind == BACKWARD and order[k - 1][0] == BACKWARD:
            yield from step.ring(f"scatter {order[k - 1][1]}", "scatter", weights, step.of(order[k - 1][1]))
        yield from step.compute(name, kind, 1 / step.n, layer, [f"gather {name}"])
    yield from step.ring("scatter B0", "scatter", weights, step.of("B0"))


def tensor(step: Step) -> Iterator[Task]:
    parts = step.stack.flops
    halves = {"attention": parts["qkv"] + parts["scores"] + parts["out"], "network": parts["network"]}
    order = [(f"{i} {half}", flops) for i in range(step.stack.n_layers) for half, flops in halves.items()]
    last: tuple[str, ...] = ()
    for letter, kind, names in (("F", FORWARD, order), ("B", BACKWARD, order[::-1])):
        for name, flops in names:
            yield from step.compute(f"{letter}{name}", kind, 1 / step.n, flops, last)
            last = (f"{letter} sum {name}",)
            yield from step.ring(f"{letter} sum {name}", "sum", step.stack.activation, step.of(f"{letter}{name}"))


def context(step: Step) -> Iterator[Task]:
    """The ranks' pieces are balanced: in each of the n steps of the ring each has as many scores to compute."""
    parts, n = step.stack.flops, step.n
    rest, pair = parts["out"] + parts["network"], 2 * step.stack.activation
    for i in range(step.stack.n_layers):
        yield from step.compute(f"F{i} qkv", FORWARD, 1 / n, parts["qkv"])
        for s in range(n):
            if s < n - 1:
                yield from step.ring(f"F hop {i} {s}", "hop", pair, step.of(f"F{i} qkv"))
            came = [f"F hop {i} {s - 1}"] if s else []
            yield from step.compute(f"F{i} scores {s}", FORWARD, 1 / n**2, parts["scores"], came)
        yield from step.compute(f"F{i} rest", FORWARD, 1 / n, rest)
    for i in reversed(range(step.stack.n_layers)):
        yield from step.compute(f"B{i} rest", BACKWARD, 1 / n, rest)
        for s in range(n):
            if s < n - 1:
                yield from step.ring(f"B hop {i} {s}", "hop", pair, step.of(f"B{i} rest"))
            came = [f"B hop {i} {s - 1}"] if s else []
            yield from step.compute(f"B{i} scores {s}", BACKWARD, 1 / n**2, parts["scores"], came)
            yield from step.ring(f"home {i} {s}", "hop", pair, step.of(f"B{i} scores {s}"))
        yield from step.compute(f"B{i} qkv", BACKWARD, 1 / n, parts["qkv"], [f"home {i} {n - 1}"])
    yield from step.ring("sum", "sum", step.stack.n_parameters, step.of("B0 qkv"))


def pipeline(step: Step) -> Iterator[Task]:
    """GPipe: all micro-batches forward, then all of them backward, the last one first."""
    n, m, layer = step.n, step.n_micro, sum(step.stack.flops.values())
    depth = [len(part) for part in torch.arange(step.stack.n_layers).tensor_split(n)]
    message = step.stack.activation / m * step.stack.n_bytes
    for letter, kind, to, ranks, order in (
        ("F", FORWARD, 1, range(n), range(m)),
        ("B", BACKWARD, -1, range(n)[::-1], range(m)[::-1]),
    ):
        for i in order:
            for r in ranks:
                came = [f"{letter} send {i} {r - to}"] if r - to in ranks else []
                yield step.on(r, f"{letter}{i}@{r}", kind, depth[r] / m * layer, came)
                if r + to in ranks:
                    needs, seconds = (f"{letter}{i}@{r}",), message / step.cluster.link
                    yield Task(f"{letter} send {i} {r}", "send", (r, r + to), seconds, needs, message, 1)


TASKS: dict[str, Callable[[Step], Iterator[Task]]] = {
    "data": data,
    "sharded": sharded,
    "tensor": tensor,
    "context": context,
    "pipeline": pipeline,
}
