"""Checks of the figures' inputs, which become arrays; what would make a figure misleading is refused."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

Values = Tensor | np.ndarray | Sequence
Tokens = Sequence[str | int]
LONGEST_LABEL, CUT = 40, 20  # a longer one is cut: beside a small map there is no more room


def to_array(values: Values) -> np.ndarray:
    """Turn a tensor, array or list into a float64 array."""
    if isinstance(values, Tensor):
        return values.detach().cpu().double().numpy()
    return np.array(values, dtype=np.float64)


def to_tensor(values: Values) -> Tensor:
    """Turn an array or list into a float64 tensor; a tensor is returned as it is."""
    return values if isinstance(values, Tensor) else torch.from_numpy(to_array(values))


def label(token: object) -> str:
    """A token as a figure labels it; of a very long one, only the beginning."""
    text = str(token)
    return text if len(text) <= LONGEST_LABEL else f"{text[: CUT - 1]}…"


def check_attention(weights: Values, query_tokens: Tokens, key_tokens: Tokens) -> np.ndarray:
    """Return attention weights as an array; refuse weights that softmax can't have returned for these tokens."""
    array = to_array(weights)
    check_shape("weights", array, ("query_tokens", query_tokens), ("key_tokens", key_tokens))
    check_distributions(array, tolerance(weights))
    return array


def tolerance(weights: Values) -> float:
    """The tolerance for the sum of a row: 0.001, because hand-written weights are rounded; more in half precision."""
    if isinstance(weights, Tensor) and weights.dtype in (torch.float16, torch.bfloat16):
        return max(1e-3, 4 * torch.finfo(weights.dtype).eps)
    return 1e-3


def check_shape(name: str, array: np.ndarray, rows: tuple[str, Sequence], columns: tuple[str, Sequence]) -> None:
    """Refuse anything but a matrix with a row for each row label and a column for each column label."""
    if array.ndim != 2:
        hint = f"; choose one matrix, as in {name}[{', '.join('0' * (array.ndim - 2))}]" if array.ndim > 2 else ""
        raise ValueError(f"{name} must be 2-D: rows, columns (its shape is {array.shape}{hint})")
    if not array.size:
        raise ValueError(f"{name} must have at least one row and one column (its shape is {array.shape})")
    expected = len(rows[1]), len(columns[1])
    if array.shape != expected:
        hint = ": that is the transpose" if array.shape == expected[::-1] else ""
        raise ValueError(
            f"{name} must have shape (len({rows[0]}), len({columns[0]})) = {expected} (it has {array.shape}{hint})"
        )


def check_distributions(weights: np.ndarray, tolerance: float) -> None:
    """Refuse rows that softmax can't have returned; a row of zeros is a query that may attend to nothing."""
    bad = np.argwhere(~(weights >= 0) | np.isinf(weights))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"weights must be at least 0 and finite (row {row}, column {column} is {weights[row, column]:g})"
        )
    sums = weights.sum(axis=1)
    wrong = np.flatnonzero((abs(sums - 1) > tolerance) & (sums != 0))
    if not len(wrong):
        return
    hint = "dropout changes the sums, so draw weights of a model in eval()"
    if np.all(abs(weights.sum(axis=0) - 1) <= tolerance):
        hint = "every column does: is it the transpose, or softmax over the queries?"
    raise ValueError(f"each row of weights must sum to 1 (row {wrong[0]} sums to {sums[wrong[0]]:.4g}; {hint})")


def same_length(
    kind: str, series: Mapping[str, Values], name: str, base: Sequence | np.ndarray
) -> dict[str, np.ndarray]:
    """Return named series as arrays; refuse an empty set, and a series whose length differs from that of the base."""
    if not series:
        raise ValueError(f"there must be at least one {kind} (there is none)")
    arrays = {key: to_array(values) for key, values in series.items()}
    for key, array in arrays.items():
        if array.shape != (len(base),):
            raise ValueError(
                f"each {kind} must have len({name}) = {len(base)} values ({key!r} has shape {array.shape})"
            )
    return arrays


def check_positive(logarithmic: bool, option: str, series: Mapping[str, np.ndarray]) -> None:
    """Refuse values that a logarithmic axis would silently drop."""
    for name, array in series.items():
        if logarithmic and not (array > 0).all():
            raise ValueError(f"{option} needs values above 0 ({name!r} has {array[~(array > 0)][0]:g})")
