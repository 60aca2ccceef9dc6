"""What individual parts of a model do to its output: scores of heads, the logit lens, the ablation of a head.

The terms are those of Elhage et al., 2021, "A Mathematical Framework for Transformer Circuits", and of Olsson et al.,
2022, "In-context Learning and Induction Heads", arXiv:2209.11895.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_lab.nn.attention import merge_heads


def induction_score(weights: Float[Tensor, "h S S"], period: int) -> Float[Tensor, " h"]:
    """How much each head attends to the token that followed the same token before, in a random sequence repeated once.

    The mean of weights[:, t, t - period + 1] over t in the second half: at position t stands what stood at t - period,
    and the token after that is the one to come.

    Raises:
        ValueError: the weights are not those of 2 · period positions.
    """
    length = weights.size(-1)
    if period < 1 or length != 2 * period:
        raise ValueError(f"the weights must be those of 2 · period = {2 * period} positions (got {length})")
    looked = weights.diagonal(1 - period, dim1=-2, dim2=-1)  # (h, period + 1): of t = period - 1 to 2 · period - 1
    return looked[:, 1:].mean(-1)


def logit_lens(
    hidden: Float[Tensor, "*axes d_model"],
    norm: Callable[[Tensor], Tensor],
    unembedding: Float[Tensor, "vocab d_model"],
) -> Float[Tensor, "*axes vocab"]:
    """What a model would predict if its layers ended here: an intermediate state, read out as the last one is.

    logits = norm(hidden) unembeddingᵀ, with the model's own last norm and output matrix (nostalgebraist, 2020,
    "interpreting GPT: the logit lens").
    """
    return norm(hidden) @ unembedding.T  # (…, d_model) @ (d_model, vocab) → (…, vocab)


def ablate_head(
    output_by_head: Float[Tensor, "B h T d_head"], w_o: Float[Tensor, "d_model d_model"], head: int
) -> Float[Tensor, "B T d_model"]:
    """The output of an attention with the contribution of one head removed: Concat(head_0, …, 0, …) W_O (§3.2.2).

    Raises:
        ValueError: there is no such head; heads are counted from 0.
    """
    n_heads = output_by_head.size(1)
    if not 0 <= head < n_heads:
        raise ValueError(f"head must be one of 0 to {n_heads - 1} (got {head})")
    others = torch.arange(n_heads, device=output_by_head.device) != head
    kept = output_by_head * others[:, None, None]  # (B, h, T, d_head), zeros in one head
    return merge_heads(kept) @ w_o  # (B, T, d_model)
