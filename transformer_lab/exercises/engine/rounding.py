"""How far a right answer may be off: derived from how the type of its numbers rounds, and from how many it adds up.

A type rounds each number by a share of at most u, half its `eps`. Of n numbers added up, the errors mostly cancel: with
probability 1 - 2 exp(-l²/2) the sum is off by less than l √n u of the sum of their sizes (Higham and Mary, "A New
Approach to Probabilistic Rounding Error Analysis", 2019). What becomes of these errors on the way to the result is
measured, as in Monte Carlo arithmetic (Parker, 1997): the reference runs again, each time with errors of that size, of
random signs, in all that its operations take and return.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from math import isfinite

import torch
from torch import Tensor, finfo
from torch.utils._python_dispatch import TorchDispatchMode

from transformer_lab.exercises.engine.running import Case, Outcome, as_tuple, is_floating

SURE = 6  # l: one right number in 30 million is off by more
FEW, RUNS = 2, 8  # of the reference, each with errors of its own: where what few allow is not enough, all are made
SUMS = {"mm", "bmm", "addmm", "baddbmm", "mv", "dot", "addmv", "sum", "mean", "cumsum", "index_add", "scatter_add"}
WHOLE = {"_softmax", "_log_softmax", "logsumexp", "logcumsumexp", "var", "var_mean", "std", "norm", "prod", "cumprod"}
WHOLE |= {"_softmax_backward_data", "_log_softmax_backward_data", "native_layer_norm", "native_layer_norm_backward"}
WHOLE |= {"linalg_vector_norm", "linalg_inv_ex", "_linalg_solve_ex", "_scaled_dot_product_flash_attention_for_cpu"}
SINGLE = {"add", "sub", "rsub", "mul", "div", "reciprocal", "pow", "square", "sqrt", "rsqrt", "exp", "exp2", "expm1"}
SINGLE |= {"log", "log2", "log10", "log1p", "logaddexp", "sin", "cos", "tan", "atan2", "tanh", "sigmoid", "erf"}
SINGLE |= {"gelu", "silu", "softplus", "addcmul", "addcdiv", "lerp"}
SINGLE |= {"tanh_backward", "sigmoid_backward", "gelu_backward", "silu_backward"}
SIGNS = torch.randint(0, 2, (1 << 17,), generator=torch.Generator().manual_seed(20170612), dtype=torch.float64) * 2 - 1


class RoundedAnew(TorchDispatchMode):
    """Within it torch makes errors of the size of rounding, whose signs follow from the seed."""

    def __init__(self, seed: int, unit: float):
        super().__init__()
        self.place, self.unit = 7919 * seed, unit

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # nothing is compiled here, and to say so of each call takes time
        return False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        kind, mutable = kind_of(function)
        if kind is None:
            return function(*args, **(kwargs or {}))
        given = args if mutable else [self.off(x) if is_rounded(x) else x for x in args]
        result = function(*given, **(kwargs or {}))
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if is_rounded(one) and (mutable or kind is not SINGLE):
                size = function(*map(magnitude, args), **(kwargs or {})) if kind is SUMS and not mutable else one
                one.copy_(self.off(one, size, 1 if kind is SINGLE else terms(args, one)))
        return result

    def off(self, x: Tensor, size: Tensor | None = None, n: int = 1) -> Tensor:
        """A tensor off by what rounds in the sum of n numbers of a size: the latter's, or its own."""
        self.place = (self.place + x.numel() + 1) % (len(SIGNS) // 2)
        signs = SIGNS[self.place : self.place + x.numel()] if x.numel() <= len(SIGNS) // 2 else SIGNS[0]
        noise = signs.reshape(x.shape if signs.ndim else ()) * max(self.unit, unit(x.dtype)) * n**0.5
        noise, exact = noise.to(x.device), x.double()
        moved = exact + noise * (exact if size is None else size.double())
        return torch.where(moved.isfinite(), moved, exact).to(x.dtype)


@cache
def kind_of(function: object) -> tuple[set[str] | None, bool]:
    """How an operation rounds, and whether it writes into what it is given."""
    name = function.overloadpacket.__name__.rstrip("_")  # type: ignore[attr-defined]
    kind = next((kind for kind in (SUMS, WHOLE, SINGLE) if name in kind or name == f"_safe{name}"), None)
    return kind, function._schema.is_mutable  # type: ignore[attr-defined]


def is_rounded(x: object) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point() and x.numel() > 0


def magnitude(x: object) -> object:
    return x.abs() if isinstance(x, Tensor) and x.is_floating_point() else x


def terms(args: tuple, result: Tensor) -> int:
    """How many numbers were added up for each of a result, or at most so many."""
    given = [x for x in args if is_rounded(x)]
    if len(given) >= 2 and given[-1].ndim >= 1 and given[-2].shape[-1:] != result.shape:
        return max(given[-2].shape[-1:] or (1,))  # of a product of matrices
    return max(1, max((x.numel() for x in given), default=1) // max(1, result.numel()))


def unit(dtype: torch.dtype) -> float:
    """u: the largest share by which a number is rounded."""
    return finfo(dtype).eps / 2


def spread(run: Callable[[], Sequence[Tensor]], right: Sequence[Tensor], runs: int = RUNS) -> list[Tensor]:
    """How far results are off, as a rule, where all that computes them rounds anew.

    A run that raises an error, or takes another turn and returns other shapes, says nothing about rounding.
    """
    squares = [torch.zeros(x.shape, dtype=torch.float64) for x in right]
    coarsest = max((unit(x.dtype) for x in right), default=0.0)
    for seed in range(1, runs + 1):
        with RoundedAnew(seed, coarsest), suppress(RuntimeError, ValueError, IndexError):
            found = run()
            for total, one, other in zip(squares, found, right, strict=True):
                if one.shape == other.shape:
                    total += (one.double() - other.double()).nan_to_num(0.0, 0.0, 0.0) ** 2
    return [(total / runs).sqrt() for total in squares]


class Allowance:
    """How far the tensors that an answer returns for a case, and its gradients, may be off from the reference's.

    That is SURE times what rounding does to them there, as it is measured; and, whatever the reference does, to take
    the logarithm or the exponential of numbers as large as the arguments. More than half of a type's digits is never
    lost to rounding. What is close enough by the arguments' size alone is not measured.
    """

    def __init__(self, run: Callable[[], Outcome], right: Outcome, case: Case):
        self.run, self.right, self.measured = run, right, dict[int, list[Tensor]]()
        self.gradients = list(right.gradients.values())
        numbers = [x.abs()[x.isfinite()] for x in case.arguments.values() if is_floating(x)]
        plain = [abs(x) for x in case.arguments.values() if isinstance(x, (int, float)) and isfinite(x)]
        self.largest = max([1.0, *plain, *(x.max().item() for x in numbers if x.numel())])

    def __call__(self, given: Tensor, expected: Tensor, of: Tensor | None = None) -> bool:
        """Whether a tensor is near enough to that of the reference; or to what was made `of` that."""
        of = expected if of is None else of
        given, exact = (x.detach().cpu().double() for x in (given, expected))
        if not bool(((given == exact) | (given.isfinite() & exact.isfinite()) | (given.isnan() & exact.isnan())).all()):
            return False
        off = (given - exact).abs().nan_to_num(0.0, 0.0, 0.0)
        size = exact.abs().nan_to_num(0.0, 0.0, 0.0)
        most = max(1.0, size.max().item()) if size.numel() else 1.0
        shares = torch.full_like(size, most) if any(of is x for x in self.gradients) else size  # 1 is pulled back
        known = SURE * unit(expected.dtype) * self.largest * shares
        if bool((off <= known).all()):
            return True
        half = finfo(expected.dtype).eps ** 0.5 * most
        if not bool((off <= half).all()):
            return False
        place = next((i for i, x in enumerate(self.parts(self.right)) if x is of), None)
        if place is None:  # it is no result of the reference
            return False
        found = (self.spreads(runs)[place] for runs in (FEW, RUNS))
        return any(bool((off <= known + SURE * (one + one.square().mean().sqrt())).all()) for one in found)

    def spreads(self, runs: int) -> list[Tensor]:
        """How far each of the reference's results is off as a rule, by so many runs."""
        if runs not in self.measured:
            right = [x.detach().cpu() for x in self.parts(self.right)]
            self.measured[runs] = spread(lambda: [x.detach().cpu() for x in self.parts(self.run())], right, runs)
        return self.measured[runs]

    @staticmethod
    def parts(outcome: Outcome) -> list[Tensor]:
        return [*filter(is_floating, as_tuple(outcome.value)), *outcome.gradients.values()]
