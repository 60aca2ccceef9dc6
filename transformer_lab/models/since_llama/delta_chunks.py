"""The delta rule a chunk at a time: the same outputs by a few matrix products, where the rule itself takes T steps.

Yang et al., 2024, "Parallelizing Linear Transformers with the Delta Rule over Sequence Length", arXiv:2406.06484; with
a decay: Yang, Kautz & Hatamizadeh, 2024, "Gated Delta Networks", arXiv:2412.06464, section 3.3.

Axes, beside the usual: n chunks of C positions, the last of which is filled up.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_lab.checks import check_least
from transformer_lab.nn.positions import wide_enough


def chunked_delta_rule(
    query: Float[Tensor, "B T d_k"],
    key: Float[Tensor, "B T d_k"],
    value: Float[Tensor, "B T d_v"],
    beta: Float[Tensor, "B T"],
    decay: Float[Tensor, "B T"],
    size: int = 64,
) -> Float[Tensor, "B T d_v"]:
    """Fast twin of `delta_rule`, which reads `size` positions at once.

    Let γ_t be the product of the decays of a chunk up to position t, S the state before the chunk, and w_t the row that
    position t writes, S_t = decay_t S_(t-1) + k_t w_t. Written out, each row depends on those before it alone:

    w_t = beta_t (v_t - γ_t k_tᵀ S - Σ_(s<t) γ_t/γ_s (k_t · k_s) w_s)

    which is a triangular system, (I + tril(beta K Kᵀ ⊙ Γ, -1)) W = beta (V - γ K S) with Γ_ts = γ_t/γ_s. Then

    O = γ Q S + tril(Q Kᵀ ⊙ Γ) W;  S ← γ_C S + (γ_C/γ K)ᵀ W        (arXiv:2406.06484, section 3.2; 2412.06464, 3.3)

    The systems of all chunks are solved at once, and only the states wait for one another: T / size steps in the place
    of T, of products that a GPU is good at. A decay of 0 forgets as in `delta_rule`, but gets no gradient.

    Raises:
        ValueError: the size is below 1.
    """
    check_least(1, size=size)
    state = query.new_zeros(query.size(0), key.size(-1), value.size(-1))  # (B, d_k, d_v)
    return delta_chunks(state, query, key, value, beta, decay, size)[0]


def delta_chunks(
    state: Float[Tensor, "B d_k d_v"],
    query: Float[Tensor, "B T d_k"],
    key: Float[Tensor, "B T d_k"],
    value: Float[Tensor, "B T d_v"],
    beta: Float[Tensor, "B T"],
    decay: Float[Tensor, "B T"],
    size: int,
) -> tuple[Float[Tensor, "B T d_v"], Float[Tensor, "B d_k d_v"]]:
    """`chunked_delta_rule` from a state on, and the state at the end, as `delta_steps` returns them."""
    dtype, state = query.dtype, state.to(wide_enough(query.dtype))
    q, k, v = (in_chunks(x, size) for x in (query, key, value))  # (B, n, C, d)
    b, d = in_chunks(beta[..., None], size), in_chunks(decay[..., None], size, fill=1.0)  # (B, n, C, 1)
    kept = what_is_left(d[..., 0])  # (B, n, C, C)
    since = d[..., :1, :] * kept[..., :1]  # (B, n, C, 1): γ, what is left of the state before the chunk
    system = b * (k @ k.mT) * kept  # (B, n, C, C), of which the part below the diagonal counts
    alone, answered = solved(system, b * v), solved(system, b * since * k)  # (B, n, C, d_v), (B, n, C, d_k)
    seen = (q @ k.mT) * kept  # (B, n, C, C)
    outputs = []
    for i in range(q.size(1)):
        written = alone[:, i] - answered[:, i] @ state  # (B, C, d_v)
        outputs.append(since[:, i] * (q[:, i] @ state) + seen[:, i] @ written)  # (B, C, d_v)
        last = kept[:, i, -1, :, None] * k[:, i]  # (B, C, d_k): the keys, as faded as they are at the chunk's end
        state = since[:, i, -1:] * state + last.mT @ written  # (B, d_k, d_v)
    out = torch.cat(outputs, dim=1)[:, : query.size(1)].to(dtype) if outputs else value
    return out, state.to(dtype)


def in_chunks(x: Float[Tensor, "B T d"], size: int, fill: float = 0.0) -> Float[Tensor, "B n C d"]:
    """The positions in chunks; those that the last one lacks write nothing, and let nothing fade."""
    missing = -x.size(1) % size
    return F.pad(x.to(wide_enough(x.dtype)), (0, 0, 0, missing), value=fill).unflatten(1, (-1, size))


def what_is_left(decay: Float[Tensor, "B n C"]) -> Float[Tensor, "B n C C"]:
    """Γ: what is left at position t (row) of what position s (column) wrote; 0 where s lies after t.

    The logarithms of the decays between s and t are added up, and never one sum taken from another, which would round.
    """
    log = decay.clamp(min=torch.finfo(decay.dtype).tiny).log()
    rows = log[..., None].expand(*log.shape, log.size(-1)).tril(-1)  # (B, n, C, C): row t has the decay of t, if s < t
    return rows.cumsum(-2).exp().tril()


def solved(system: Float[Tensor, "B n C C"], right: Float[Tensor, "B n C d"]) -> Float[Tensor, "B n C d"]:
    """The solution of (I + tril(system, -1)) X = right, row by row from the first."""
    return torch.linalg.solve_triangular(system, right, upper=False, unitriangular=True)
