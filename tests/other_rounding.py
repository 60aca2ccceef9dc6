"""Another machine's rounding, imitated: what may round in another way there is off by a little, at random.

A sum or a product of matrices is off by a share of what is added up, of which little may be left; all else by a share
of the result. What is exact everywhere stays so: copies, comparisons, a single + or *, and sums of round numbers.
"""

from functools import cache

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

SHARES = {torch.float64: 2e-15, torch.float32: 1e-6}  # narrower types are too coarse to be told apart by their numbers
SUMS = {"mm", "bmm", "addmm", "baddbmm", "mv", "dot", "sum", "mean", "cumsum", "index_add", "scatter_add", "addmv"}
OTHERS = {"exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "gelu", "pow"}
OTHERS |= {"_softmax", "_log_softmax", "logsumexp", "var", "var_mean", "std", "native_layer_norm", "norm", "rsqrt"}
OTHERS |= {"prod", "cumprod", "linalg_vector_norm", "logcumsumexp", "silu", "softplus", "addcmul", "addcdiv", "lerp"}
OTHERS |= {"_scaled_dot_product_flash_attention_for_cpu", "linalg_inv_ex", "_linalg_solve_ex", "_linalg_svd"}
MANY = np.random.RandomState(20170612).uniform(-1, 1, 1 << 17)


class OtherRounding(TorchDispatchMode):
    """Within it torch rounds as on no machine at all, in a way that follows from the seed.

    A seed with a minus makes the opposite errors: where two numbers are equal, each is the larger one with one of them.
    """

    def __init__(self, seed: int):
        super().__init__()
        self.sign, self.place = (1 if seed > 0 else -1), 7919 * abs(seed)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # nothing is compiled here, and to say so of each call takes time
        return False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kind, mutable = kind_of(function)
        if kind is None:
            return function(*args, **(kwargs or {}))
        given = [one.clone() if mutable and isinstance(one, Tensor) else one for one in args]
        result = function(*args, **(kwargs or {}))
        if kind is SUMS:
            if not all(map(is_round, given)):
                self.shake(result, function(*map(magnitude, given), **(kwargs or {})))
        else:
            for one in result if isinstance(result, (tuple, list)) else [result]:
                self.shake(one, one)
        return result

    def shake(self, x: object, size: Tensor) -> None:
        """Change a tensor by a share of a size; where nothing was added up, round numbers stay as they are."""
        if not isinstance(x, Tensor) or x.dtype not in SHARES or x.device.type != "cpu" or not x.numel():
            return
        numbers, sizes = x.detach().numpy(), size.detach().numpy()
        with np.errstate(all="ignore"):
            noise = (self.sign * SHARES[x.dtype]) * self.random(numbers.size).reshape(numbers.shape) * np.abs(sizes)
            stay = ~np.isfinite(noise) | (round_ones(numbers) if size is x else False)
            numbers += np.where(stay, 0.0, noise).astype(numbers.dtype)

    def random(self, n: int) -> np.ndarray:
        self.place = (self.place + n + 1) % (len(MANY) // 2)
        return MANY[self.place : self.place + n] if n <= len(MANY) // 2 else np.resize(MANY, n)


@cache
def kind_of(function) -> tuple[set | None, bool]:
    """How an operation rounds, and whether it writes into what it is given."""
    name = function.overloadpacket.__name__.rstrip("_")
    return SUMS if name in SUMS else OTHERS if name in OTHERS else None, function._schema.is_mutable


def magnitude(x: object) -> object:
    return x.abs() if isinstance(x, Tensor) and x.is_floating_point() else x


def is_round(x: object) -> bool:
    return not isinstance(x, Tensor) or x.dtype not in SHARES or bool(round_ones(x.detach().numpy()).all())


def round_ones(x: np.ndarray) -> np.ndarray:
    """Which numbers are a few binary digits long: sums and products of some of them are exact."""
    with np.errstate(all="ignore"):
        scaled = x * x.dtype.type(4096)
        return ((scaled == np.rint(scaled)) & (np.abs(x) < 4096)) | ~np.isfinite(x)
