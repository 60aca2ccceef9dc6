"""Comparing a given value with the expected one, in words. The first line of a fault shows no numbers."""

from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real

import torch
from torch import Tensor, allclose, equal, finfo

from transformer_lab.exercises.engine.running import Case, Outcome, is_floating, is_stream

# By which share of a number two right answers may differ; a number near 0, by a tenth of that. In a loose case large
# numbers cancel, so that one near 0 may be off by the whole share.
TOLERANCE = {torch.bfloat16: 8e-2, torch.float16: 1e-2, torch.float32: 1e-4, torch.float64: 2e-13}
LOOSE = 10  # times as much in a loose case
PLAIN = 8 * finfo(torch.float32).eps  # of a plain number, which an answer may have computed with torch's usual type
SMALL = 16  # tensors with at most so many numbers are shown whole
LETTERS = 400  # of a value that is no tensor, shown at most
HUGE = 100_000  # parts of a value: none that is nearly right has so many, and to look at each takes seconds


@dataclass(frozen=True)
class Standard:
    """The demands on values: how closely they must agree, and whether tensors may have any floating-point type.

    An answer must agree as closely with a mistake, to be named, as with the reference, to pass.
    """

    loose: bool = False
    any_float: bool = False

    @classmethod
    def of(cls, case: Case) -> "Standard":
        """The standard of a case: a result's type follows from the inputs, and is free if none of them is floating."""
        return cls(case.loose, not any(map(is_floating, case.arguments.values())))


def fault(given: object, expected: object, names: tuple[str, ...], standard: Standard = Standard()) -> str | None:
    """Describe what is wrong with a returned value, or return None. `names` are the names of the values to return."""
    if isinstance(expected, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(expected):
            return f"It must return ({', '.join(names)}), but returned {kind(given)}."
        faults = (fault_of_one(*three, standard) for three in zip(given, expected, names, strict=True))
        return next((found for found in faults if found), None)
    return fault_of_one(given, expected, names[0], standard)


def fault_of_one(given: object, expected: object, name: str, standard: Standard = Standard()) -> str | None:
    if isinstance(expected, Tensor):
        return fault_of_tensor(given, expected, name, standard)
    if isinstance(expected, list):
        return fault_of_list(given, expected, name)
    if isinstance(expected, float) and isinstance(given, Real):  # numpy's numbers are Real and Integral, too
        same = bool(abs(float(given) - expected) <= PLAIN * abs(expected))
    elif not isinstance(given, Integral if isinstance(expected, int) else type(expected)):
        return f"`{name}` must be {kind(expected)}, but is {kind(given)}."
    else:
        same = given == expected
    return None if same else f"`{name}` is wrong.\n  expected {expected}\n  given    {shortened(given)}"


def fault_of_form(given: object, expected: object, name: str) -> str | None:
    """Describe what is wrong with the form of a returned value, whatever its numbers: how many tensors, what shapes."""
    if isinstance(expected, (tuple, list)):
        if not isinstance(given, (tuple, list)) or len(given) != len(expected):
            return f"It must return {name}: in place of {len(expected)} values there is {kind(given)}."
        faults = (fault_of_form(one, other, name) for one, other in zip(given, expected, strict=True))
        return next((found for found in faults if found), None)
    if not isinstance(expected, Tensor):
        return None if isinstance(given, type(expected)) else f"`{name}` must be {kind(expected)}, not {kind(given)}."
    if not isinstance(given, Tensor):
        return f"It must return tensors ({name}), but returned {kind(given)}."
    if given.shape != expected.shape or not given.is_floating_point():
        wanted, found = (f"{tuple(x.shape)}, {plain(x.dtype)}" for x in (expected, given))
        return f"A matrix has the wrong shape or type.\n  expected {wanted}\n  given    {found}"
    return None if given.isfinite().all() else "A matrix contains NaN or infinity: no weights can be made of it."


def fault_of_tensor(given: object, expected: Tensor, name: str, standard: Standard) -> str | None:
    """The first fault among type, shape, dtype, device and values."""
    if not isinstance(given, Tensor):
        return f"`{name}` must be a torch.Tensor, but is {kind(given)}."
    if standard.any_float and given.is_floating_point() and expected.is_floating_point():
        given = given.to(expected.dtype)
    for what in ("shape", "dtype", "device"):
        is_, must = getattr(given, what), getattr(expected, what)
        if is_ != must:
            return f"`{name}` has the wrong {what}.\n  expected {plain(must)}\n  given    {plain(is_)}"
    return None if close(given, expected, standard.loose) else different_values(given, expected, name)


def fault_of_list(given: object, expected: list, name: str) -> str | None:
    if not isinstance(given, list):
        return f"`{name}` must be a list, but is {kind(given)}."
    kinds = {type(part) for part in expected}
    strange = [x for x in given if not isinstance(x, tuple(Integral if one is int else one for one in kinds))]
    if strange and kinds:
        wanted = " and ".join(sorted(one.__name__ for one in kinds))
        return f"`{name}` must be a list of {wanted}, but holds {with_article(type(strange[0]).__name__)}."
    return None if given == expected else f"`{name}` is wrong.\n  expected {expected}\n  given    {shortened(given)}"


def close(given: Tensor, expected: Tensor, loose: bool = False) -> bool:
    """Whether two tensors agree as closely as two functions that do the same, right or wrong; two NaN are equal."""
    if not expected.is_floating_point():
        return equal(given, expected)
    return allclose(given, expected, **tolerance(expected.dtype, loose), equal_nan=True)


def tolerance(dtype: torch.dtype, loose: bool = False) -> dict[str, float]:
    """How far two numbers of a type that are computed in the same way may differ, relatively and absolutely."""
    share = TOLERANCE[dtype] * (LOOSE if loose else 1)
    return {"rtol": share, "atol": share if loose else share / 10}


def different_values(given: Tensor, expected: Tensor, name: str) -> str:
    """Show both tensors if they are small, else the place where they differ most."""
    if given.isnan().any() and not expected.isnan().any():
        headline = f"`{name}` contains NaN (not a number)."
    else:
        headline = f"`{name}` has the right shape and wrong values."
    if expected.numel() <= SMALL:
        return f"{headline}\n  expected {show(expected, 11)}\n  given    {show(given, 11)}"
    gap = (given.double() - expected.double()).abs().nan_to_num(nan=float("inf"))
    gap[given == expected] = 0  # equal infinities too, whose difference is NaN
    place = tuple(int(i) for i in (gap == gap.max()).nonzero()[0])
    wanted, found = number(expected[place].item()), number(given[place].item())
    return f"{headline}\n  at {name}[{', '.join(map(str, place))}]\n  expected {wanted}\n  given    {found}"


def same(one: Outcome, other: Outcome, standard: Standard) -> bool:
    """Whether two calls did the same: returned the same value, or raised an error of the same type."""
    if one.error is not None or other.error is not None:
        return type(one.error) is type(other.error)
    return agree(one.value, other.value, standard)


def agree(given: object, expected: object, standard: Standard) -> bool:
    """Whether `fault` would find nothing; it is quicker, because no words are composed."""
    if isinstance(expected, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(expected):
            return False
        return all(agree(one, other, standard) for one, other in zip(given, expected, strict=True))
    if not isinstance(given, Tensor) or not isinstance(expected, Tensor):
        return fault_of_one(given, expected, "", standard) is None
    if standard.any_float and given.is_floating_point() and expected.is_floating_point():
        given = given.to(expected.dtype)
    alike = (given.shape, given.dtype, given.device) == (expected.shape, expected.dtype, expected.device)
    return alike and close(given, expected, standard.loose)


def is_huge(value: object) -> bool:
    """Whether a value has more than HUGE parts; lists that contain one another may have infinitely many."""
    count, waiting = 0, [value]
    while waiting and count <= HUGE:
        part = waiting.pop()
        if isinstance(part, Tensor):
            count += part.numel()
        elif isinstance(part, (tuple, list)):
            count += len(part)
            waiting.extend(part[:HUGE])
    return count > HUGE


def show(value: object, indent: int = 0) -> str:
    """A value as a learner would write it, rounded to four decimals; a large tensor as its shape and type."""
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        separator = ",\n" + " " * (indent + 1)  # a line for each
        return f"[{separator.join(map(repr, value))}]"
    if is_stream(value):
        separator = ",\n" + " " * (indent + 6)
        return f"iter([{separator.join(show(part, indent + 6) for part in value)}])"
    if not isinstance(value, Tensor):
        return getattr(value, "__name__", f"<{type(value).__name__}>") if callable(value) else repr(value)
    if value.numel() > SMALL:
        return f"a tensor of shape {tuple(value.shape)}, {plain(value.dtype)}"
    if value.ndim == 0:
        return number(value.item())
    if value.ndim == 1:
        decimals = 1 if all(x == round(x) for x in value.tolist() if isfinite(x)) else 4
        return f"[{', '.join(number(x, decimals) for x in value.tolist())}]"
    separator = ",\n" + " " * (indent + 1)
    return f"[{separator.join(show(row, indent + 1) for row in value)}]"


def number(x: float | int | bool, decimals: int = 4) -> str:
    """Format a rounded number, without the sign of a zero, so that it looks the same on every machine."""
    return f"{round(x, decimals) + 0.0:.{decimals}f}" if isinstance(x, float) else str(x)


def plain(value: object) -> str:
    return str(tuple(value)) if isinstance(value, tuple) else str(value)


def shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= LETTERS else f"{text[:LETTERS]} …"


def kind(value: object) -> str:
    """The type of a value; for a tuple, also those of its first parts."""
    if isinstance(value, (tuple, list)):
        parts = ", ".join(type(part).__name__ for part in value[:8])
        return f"{with_article(type(value).__name__)} of {len(value)} ({parts}{', …' if len(value) > 8 else ''})"
    return with_article(type(value).__name__)


def with_article(name: str) -> str:
    """The name of a type with its article: a list, an int, an ndarray."""
    return f"{'an' if name.startswith(('a', 'e', 'i', 'o', 'A', 'E', 'I', 'O', 'nd')) else 'a'} {name}"
