"""`delta_rule` without its loop: what all positions write is found at once, from a triangular system of equations."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_lab.models.since_llama.linear_attention import left_of, linear_attention


def parallel_delta_rule(
    query: Float[Tensor, "B T d_k"],
    key: Float[Tensor, "B T d_k"],
    value: Float[Tensor, "B T d_v"],
    beta: Float[Tensor, "B T"],
    decay: Float[Tensor, "B T"],
) -> Float[Tensor, "B T d_v"]:
    """What `delta_rule` gives, by a few products of matrices. Decays must be above 0.

    Position t writes k_t u_tᵀ, where u_t is what it corrects; D_ts = decay_{s+1} ⋯ decay_t of what s wrote is left.

    u_t = beta_t (v_t - Σ_{s<t} D_ts (k_t · k_s) u_s)        (Yang et al., 2024, arXiv:2406.06484, section 3.2; with
    decays: arXiv:2412.06464, section 3.3)

    These are T equations with a triangular matrix. Once they are solved, u takes the place of v in `linear_attention`.
    The cost grows with T², as that of attention does. So libraries do it in chunks of 64 positions or so, and hand the
    state on from one chunk to the next.
    """
    among_keys = beta[..., None] * left_of(decay) * (key @ key.mT)  # (B, T, T)
    written = torch.linalg.solve_triangular(among_keys, beta[..., None] * value, upper=False, unitriangular=True)
    return linear_attention(query, key, written, decay)
