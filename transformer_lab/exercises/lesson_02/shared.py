"""Lesson 02, what its exercises share: heads that look at neighbours."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Domain


def attention_of(given: dict, *heads: tuple) -> Tensor:
    """The weights (h, T, T) of heads with these projections, on the position vectors."""
    positions = given["positions"]
    queries, keys = (torch.stack([positions @ head[i] for head in heads]) for i in (0, 1))  # (h, T, d_model)
    return (queries @ keys.mT / queries.size(-1) ** 0.5).softmax(-1)


def lacks_a_neighbour(offsets: tuple[int, ...]) -> Callable[[dict, Tensor], str | None]:
    """What heads lack that are to look so many positions ahead (or back, if negative), head by head."""

    def lacks(given: dict, weights: Tensor) -> str | None:
        length = weights.size(-1)
        for head, offset in enumerate(offsets):
            for t in range(max(0, -offset), min(length, length - offset)):
                if (weight := weights[head, t, t + offset].item()) < 0.9:
                    of = f" of head {head}" if len(offsets) > 1 else ""
                    rule = (
                        f"The query{of} at position {t} must attend to position {t + offset} with a weight of at least"
                    )
                    most = int(weights[head, t].argmax())
                    rest = "" if most == t + offset else f", and most, {weights[head, t, most]:.2f}, to position {most}"
                    return f"{rule} 0.9. It gives it {min(weight, 0.894):.2f}{rest}."
        return None

    return lacks


def where_they_look(offsets: tuple[int, ...]) -> Callable[[Tensor], Tensor]:
    """To which positions each query gives its largest weight, and whether that is at least 0.9: (2, h, T, S).

    A query that has no neighbour there may look anywhere, and does not count.
    """

    def looks(weights: Tensor) -> Tensor:
        largest, at = weights.amax(-1, keepdim=True), torch.arange(weights.size(-1), device=weights.device)
        counts = torch.stack([(at + offset >= 0) & (at + offset < len(at)) for offset in offsets])[..., None]
        return torch.stack([weights > 0.999 * largest, (largest >= 0.9).expand_as(weights)]) & counts

    return looks


def position_cases() -> Iterator[Case]:
    """All lengths from 2 to 8 with one-hot vectors; then the same turned, so that no vector is an axis."""
    for length in range(2, 9):
        yield Case(f"{length} positions, one-hot vectors", {"positions": torch.eye(length, device="cpu")})
    for length, d_model in ((2, 2), (3, 5), (6, 8)):
        axes = torch.linalg.qr(normal(d_model, d_model, dtype=torch.float64)).Q[:length].float()
        yield Case(f"{length} positions in {d_model} dimensions, turned vectors", {"positions": axes})


def orthonormal(rows: Tensor) -> Tensor:
    """Unit vectors at right angles to one another, near the given rows."""
    return torch.linalg.qr(rows.double().T).Q.T.to(rows.dtype)


AT_RIGHT_ANGLES = Domain(onto=orthonormal, along=lambda gradient: gradient)


POSITIONS = """
    `positions` has a row for each position, (T, d_model): unit vectors, each at right angles to all others. They are
    all that the head sees; a query is `x @ w_q`, a key `x @ w_k`, both (T, d_model), and the weights are
    softmax(Q Kᵀ / √d_model).
    """
