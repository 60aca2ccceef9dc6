"""How a returned value is related to the right one: right except for a sign, an axis, a factor or a type.

The same relations hold between an answer and a named mistake: then two things come together.
"""

from collections.abc import Mapping
from numbers import Real
from typing import Any

from torch import Tensor

from transformer_lab.exercises.diagnosis.tensor_changes import TENSOR_CHANGES, TensorChange
from transformer_lab.exercises.engine import comparing
from transformer_lab.exercises.engine.comparing import Standard
from transformer_lab.exercises.engine.running import Case, Outcome, is_floating
from transformer_lab.exercises.engine.specification import Specification

Pairs = list[tuple[Case, Any, Any]]  # in each case what is given, and what should be


def related(
    exercise: Specification, given: Mapping[Case, Outcome], right: Mapping[Case, Outcome], of_mistake: bool = False
) -> str | None:
    """Describe how an answer's outcomes are related to another function's in every case, or return None.

    Of a mistake the same numbers in quite another shape, or an entry too many, may just take back what it does.
    """
    pairs: Pairs = [(case, given[case].value, right[case].value) for case in given]
    if any(given[case].error is not None or right[case].error is not None for case in given):
        return None
    if found := of_whole(exercise, pairs):
        return found
    for i, name in enumerate(exercise.returns):
        if all(
            isinstance(two, tuple) and isinstance(one, (tuple, list)) and len(one) == len(two) for _, one, two in pairs
        ):
            parts = [(case, one[i], two[i]) for case, one, two in pairs]
            others = [j for j in range(len(exercise.returns)) if j != i]
            if not all(alike(case, one[j], two[j]) for case, one, two in pairs for j in others):
                continue
        elif len(exercise.returns) == 1:
            parts = pairs
        else:
            return None
        if found := of_parts(parts, of_mistake):
            return f"`{name}`: {found}"
    return None


def alike(case: Case, one: object, other: object) -> bool:
    return comparing.agree(one, other, Standard.of(case))


def of_whole(exercise: Specification, pairs: Pairs) -> str | None:
    """Describe how a returned tuple is related to the right one."""
    if not all(isinstance(two, tuple) for _, _, two in pairs):
        return None
    if all(isinstance(one, (tuple, list)) and len(one) == len(two) for _, one, two in pairs):
        if all(alike(case, a, b) for case, one, two in pairs for a, b in zip(one, two[::-1], strict=True)):
            return "what is returned is in the wrong order"
        return None
    for i, name in enumerate(exercise.returns):
        if all(alike(case, one, two[i]) for case, one, two in pairs):
            return f"`{name}` alone is returned"
    return None


def of_parts(parts: Pairs, of_mistake: bool) -> str | None:
    """Describe how one returned value is related to the right one."""
    if not all(isinstance(one, Tensor) and isinstance(two, Tensor) for _, one, two in parts):
        return of_plain(parts, of_mistake)
    if all(alike(case, one, two) for case, one, two in parts):
        return None
    if all(one.shape == two.shape and alike(case, one, two.to(one.dtype)) for case, one, two in parts):
        one, two = next((one, two) for _, one, two in parts if one.dtype != two.dtype)
        return f"it is of the type {one.dtype}, and should be {two.dtype}"
    for words, change in TENSOR_CHANGES.items():
        if all(fits(case, one, change, two) for case, one, two in parts):
            return words
    return of_shape(parts, of_mistake) or of_factor(parts)


def fits(case: Case, one: Tensor, change: TensorChange, two: Tensor) -> bool:
    changed = change(two)
    return changed is not None and changed.dtype == one.dtype and alike(case, one, changed)


def of_plain(parts: Pairs, of_mistake: bool) -> str | None:
    """Describe numbers, lists and tuples: another type, another order, an entry more or less, a factor."""
    if all(isinstance(one, Tensor) and isinstance(two, (int, float)) and one.numel() == 1 for _, one, two in parts):
        return "it is a tensor, and should be a number" if all(alike(c, a.item(), b) for c, a, b in parts) else None
    if all(isinstance(one, list) and isinstance(two, list) for _, one, two in parts):
        return of_lists(parts, of_mistake)
    if all(isinstance(one, (tuple, list)) and isinstance(two, Tensor) for _, one, two in parts):
        together = all(list(map(type, one)) == [Tensor] * len(two) for _, one, two in parts if two.ndim)
        if together and all(all(alike(case, *pair) for pair in zip(one, two, strict=True)) for case, one, two in parts):
            return f"its parts come as a {type(parts[0][1]).__name__}, and should be one tensor"
    if all(isinstance(one, float) and type(two) is int and one == two for _, one, two in parts):
        return "it is a float, and should be a whole number"
    if all(isinstance(one, Real) and isinstance(two, (int, float)) and two for _, one, two in parts):
        ratios = [float(one) / two for _, one, two in parts]
        if max(ratios) - min(ratios) <= 1e-6 * abs(ratios[0]) and ratios[0] and abs(ratios[0] - 1) > 1e-6:
            return f"it is {ratios[0]:.4g} times what it should be"
    return None


def of_lists(parts: Pairs, of_mistake: bool) -> str | None:
    """Describe lists; compared with a mistake, surplus entries don't count, because they may just undo the mistake."""
    if all(alike(case, one, two) for case, one, two in parts):
        return None
    if all(alike(case, one, two[::-1]) for case, one, two in parts):
        return "it runs backwards"
    if all(alike(case, [plain_number(x) for x in one], two) for case, one, two in parts):
        return "it holds tensors, and should hold numbers"
    changes = {
        "its first entry is missing": lambda one, two: (one, two[1:]),
        "its last entry is missing": lambda one, two: (one, two[:-1]),
        "it has an entry too many at the front": lambda one, two: (one[1:], two),
        "it has an entry too many at the end": lambda one, two: (one[:-1], two),
    }
    for words, change in list(changes.items())[: 2 if of_mistake else 4]:
        if all(len(one) != len(two) and alike(case, *change(one, two)) for case, one, two in parts):
            return words
    return None


def plain_number(x: object) -> object:
    return x.item() if isinstance(x, Tensor) and x.numel() == 1 else x


def of_shape(parts: Pairs, of_mistake: bool) -> str | None:
    """Describe a tensor with the same numbers in another shape."""
    if not all(one.numel() == two.numel() and alike(c, one.reshape(two.shape), two) for c, one, two in parts):
        return None
    one, two = next((one, two) for _, one, two in parts if one.shape != two.shape)
    if any([n for n in one.shape if n > 1] != [n for n in two.shape if n > 1] for _, one, two in parts):
        if of_mistake:
            return None
        return f"the numbers are right, but the shape is {tuple(one.shape)} where it should be {tuple(two.shape)}"
    if one.ndim == two.ndim:
        return "an axis of size 1 stands in the wrong place"
    return "an axis of size 1 is missing" if one.ndim < two.ndim else "there is an axis of size 1 too many"


def of_factor(parts: Pairs) -> str | None:
    """Describe a tensor that is off by the same factor, or by the same added number, everywhere."""
    if not all(one.shape == two.shape and is_floating(one) and is_floating(two) for _, one, two in parts):
        return None
    usable = [(one, two) for _, one, two in parts if two.numel() and one.isfinite().all() and two.isfinite().all()]
    if not usable:
        return None
    one, two = max(usable, key=lambda pair: float(pair[1].abs().max()))
    if not float(two.abs().max()):
        return None
    place = two.abs().argmax()
    factor = float(one.flatten()[place] / two.flatten()[place])
    offset = float(one.flatten()[place] - two.flatten()[place])
    for number, words, change in (
        (factor, "it is {:.4g} times what it should be", lambda x: x * factor),
        (offset, "{:.4g} is added to it everywhere", lambda x: x + offset),
    ):
        if number and all(fits(case, a, change, b) for case, a, b in parts):
            return words.format(number)
    return None
