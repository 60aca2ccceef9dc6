"""Attention without softmax: a state of fixed size, to which every position adds what it has to say."""

from jaxtyping import Float
from torch import Tensor

from transformer_lab.nn.masks import causal_mask


def linear_attention(
    query: Float[Tensor, "B T d_k"],
    key: Float[Tensor, "B T d_k"],
    value: Float[Tensor, "B T d_v"],
    decay: Float[Tensor, "B T"],
) -> Float[Tensor, "B T d_v"]:
    """What a state, zeros at first, gives for each query, after each key and its value have been added to it.

    S ← decay_t S + k_t v_tᵀ;  o_t = q_tᵀ S        (Katharopoulos et al., 2020, arXiv:2006.16236, section 3.3, without
    their feature map and their normaliser; with a decay: Sun et al., 2023, "RetNet", arXiv:2307.08621)

    A state is a sum, so that o_t = Σ_{s≤t} (decay_{s+1} ⋯ decay_t) (q_t · k_s) v_s, which is computed here, for all
    positions at once: masked attention whose scores are weights as they are. Decays must be above 0.
    """
    return left_of(decay) * (query @ key.mT) @ value  # (B, T, T) @ (B, T, d_v)


def left_of(decay: Float[Tensor, "B T"]) -> Float[Tensor, "B T T"]:
    """At [t, s], the share of what position s has written that is left at t; 0 where s comes later."""
    passed = decay.log().cumsum(dim=1)  # (B, T)
    later = ~causal_mask(decay.size(1), decay.device)
    return (passed[:, :, None] - passed[:, None]).masked_fill(later, float("-inf")).exp()
