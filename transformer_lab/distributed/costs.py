"""What each form of parallelism sends in a training step, from sizes alone, and how long that takes on real links."""

from dataclasses import dataclass

from transformer_lab.checks import check_least

FLOAT = 4  # bytes of a number in float32
WAYS = ("data", "sharded", "tensor", "context", "pipeline")


def check_way(scheme: str) -> None:
    """Raise a ValueError unless this is the name of a form of parallelism."""
    if scheme not in WAYS:
        raise ValueError(f"scheme must be one of {', '.join(WAYS)} (got {scheme!r})")


def bytes_sent(
    scheme: str, n_ranks: int, n_parameters: int, n_layers: int, n_tokens: int, d_model: int, n_bytes: int = FLOAT
) -> int:
    """The bytes that all ranks together send in one training step; a sum over ranks is computed in a ring.

    `n_tokens` are those of the whole batch, B · T. A ring adds up x numbers on each of n ranks in 2 (n - 1) x messages
    of one number; to gather, or to add up and keep a part each, takes half of it.

    data: the gradients are summed once. sharded: the weights are gathered forward and backward, the gradients summed
    for one owner each. tensor: four sums of a batch's activations a layer, two each way. context: keys and values
    go n - 1 times to the next rank, forward and backward, and their gradients n times; then the gradients of the
    weights are summed as in data. pipeline: activations cross each of n - 1 borders, and so do their gradients.

    Raises:
        ValueError: an unknown scheme, or a number below 1.
    """
    check_way(scheme)
    check_least(1, n_ranks=n_ranks, n_parameters=n_parameters, n_layers=n_layers, n_tokens=n_tokens, d_model=d_model)
    others, activations = n_ranks - 1, n_tokens * d_model
    numbers = {
        "data": 2 * others * n_parameters,
        "sharded": 3 * others * n_parameters,
        "tensor": n_layers * 4 * 2 * others * activations,
        "context": 2 * others * n_parameters,
        "pipeline": 2 * others * activations,
    }[scheme]
    if scheme == "context" and n_ranks > 1:
        numbers += n_layers * (3 * n_ranks - 2) * 2 * activations
    return n_bytes * numbers


def calls_made(scheme: str, n_ranks: int, n_layers: int, n_micro: int = 1) -> int:
    """The number of messages and collectives that all ranks together start in one step.

    Raises:
        ValueError: an unknown scheme, or a number below 1.
    """
    check_way(scheme)
    check_least(1, n_ranks=n_ranks, n_layers=n_layers, n_micro=n_micro)
    hops = 3 * n_ranks - 2 if n_ranks > 1 else 0
    return {
        "data": n_ranks,
        "sharded": n_ranks * (3 * n_layers + 2),  # each layer three times; what is in no layer is gathered once
        "tensor": n_ranks * 4 * n_layers,
        "context": n_ranks * (hops * n_layers + 1),
        "pipeline": 2 * (n_ranks - 1) * n_micro,
    }[scheme]


@dataclass(frozen=True)
class Cluster:
    """What the machines of a cluster can do: the numbers of a data sheet, and the fraction of them that is reached."""

    flops: float  # a second, of one GPU
    link: float  # bytes a second that one GPU can send
    reached: float = 0.4  # of the flops, in matrix products of a real training

    def seconds_computing(self, n_parameters: float, n_tokens: float, n_ranks: int) -> float:
        """The time for computing: 6 FLOPs per parameter and token, forward and backward, shared by all ranks."""
        return 6 * n_parameters * n_tokens / (n_ranks * self.reached * self.flops)

    def seconds_sending(self, n_bytes: float, n_ranks: int) -> float:
        """The time for sending, if all ranks send at the same time and equally much."""
        return n_bytes / (n_ranks * self.link)
