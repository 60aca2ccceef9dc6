"""Comparing what was given with what was expected, in words."""

from math import isfinite

from torch import Tensor, allclose, equal, finfo

from transformer_lab.exercises.running import Outcome

COARSE = 100  # times the usual rounding
SMALL = 16  # tensors with at most so many numbers are shown whole


def fault(given: object, expected: object, names: tuple[str, ...], coarse: bool = False) -> str | None:
    """What is wrong with a returned value, or None. `names` are the names of the values to return."""
    if isinstance(expected, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(expected):
            return f"It must return ({', '.join(names)}), but returned {kind(given)}."
        faults = (fault_of_one(*three, coarse) for three in zip(given, expected, names, strict=True))
        return next((found for found in faults if found), None)
    return fault_of_one(given, expected, names[0], coarse)


def fault_of_one(given: object, expected: object, name: str, coarse: bool = False) -> str | None:
    """The first that fails of type, shape, dtype, device, values."""
    if isinstance(expected, Tensor):
        if not isinstance(given, Tensor):
            return f"`{name}` must be a torch.Tensor, but is {kind(given)}."
        for what in ("shape", "dtype", "device"):
            is_, must = getattr(given, what), getattr(expected, what)
            if is_ != must:
                return f"`{name}` has the wrong {what}.\n  expected {plain(must)}\n  given    {plain(is_)}"
        return None if close(given, expected, coarse) else different_values(given, expected, name)
    if type(given) is not type(expected):
        return f"`{name}` must be {kind(expected)}, but is {kind(given)}."
    same = abs(given - expected) <= 1e-6 * abs(expected) if isinstance(expected, float) else given == expected
    return None if same else f"`{name}` is wrong.\n  expected {expected}\n  given    {given}"


def fault_of_gradient(given: Tensor, expected: Tensor, name: str, coarse: bool) -> str | None:
    """The same for a gradient. In a coarse case it may be rounding alone, so there it need only be finite."""
    if coarse and given.isfinite().all():
        return None
    return fault_of_one(given, expected, f"gradient of {name}")


def close(given: Tensor, expected: Tensor, coarse: bool = False) -> bool:
    """Equal up to the rounding of the type; two NaN are equal."""
    if not expected.is_floating_point():
        return equal(given, expected)
    rounding = finfo(expected.dtype).eps * (COARSE if coarse else 1)
    return allclose(given, expected, rtol=1000 * rounding, atol=100 * rounding, equal_nan=True)


def different_values(given: Tensor, expected: Tensor, name: str) -> str:
    """Both tensors if they are small, else the place where they differ most."""
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


def same(one: Outcome, other: Outcome, names: tuple[str, ...], coarse: bool) -> bool:
    """Whether two calls did the same: the same value, or an error of the same type."""
    if one.error is not None or other.error is not None:
        return type(one.error) is type(other.error)
    if isinstance(other.value, tuple) and len(other.value) != len(names):
        names = tuple(map(str, range(len(other.value))))
    return fault(one.value, other.value, names, coarse) is None


def show(value: object, indent: int = 0) -> str:
    """A value as a learner would write it, rounded to four decimals; a large tensor by its shape and type."""
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
    """Rounded, without the sign of a zero: what is shown is the same on every machine."""
    return f"{round(x, decimals) + 0.0:.{decimals}f}" if isinstance(x, float) else str(x)


def plain(value: object) -> str:
    return str(tuple(value)) if isinstance(value, tuple) else str(value)


def kind(value: object) -> str:
    """The type of a value, and of the parts of a tuple."""
    if isinstance(value, (tuple, list)):
        parts = ", ".join(type(part).__name__ for part in value)
        return f"a {type(value).__name__} of {len(value)} ({parts})"
    return f"a {type(value).__name__}"
