"""A model with a known circuit, because it was set by hand: a test of what detectors of heads find and do not find."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_lab.checks import check_least
from transformer_lab.models.attention_only import AttentionOnly
from transformer_lab.nn.attention import MultiHeadAttention

SHARP = 50.0  # the score of a key that is meant, where all others have 0
FOOLED = 12  # the period at which the head that only counts looks like an induction head


def planted_induction(n_symbols: int = 24, length: int = 32) -> AttentionOnly:
    """A model of two layers with two heads each that continues every repeated sequence without having learned anything.

    layer 0, head 0   looks at the previous position, and writes down which token stands there
    layer 0, head 1   looks 11 positions back, whatever stands there, and writes nothing
    layer 1, head 0   looks where its own token was written down, and copies the token that stands there
    layer 1, head 1   looks where head 0 looks, and writes nothing

    The residual stream has four blocks: token, position, previous (what head 0 of layer 0 writes), next (what head 0 of
    layer 1 writes, and the output reads). The first position, which has none before it, writes down its own token; as a
    key of layer 1 it is never looked at.

    Raises:
        ValueError: a number is below 1.
    """
    check_least(1, n_symbols=n_symbols, length=length)
    d_model = 2 * max(-(-(3 * n_symbols + length) // 2), length)  # two heads, each wide enough for the positions
    parts = torch.eye(d_model).split([n_symbols, length, n_symbols, n_symbols, d_model - 3 * n_symbols - length])
    token, position, previous, following, _ = parts  # each (its size, d_model): a row for each of its features
    model = AttentionOnly(n_symbols, d_model, 2, 2, "learned", max_len=length)
    first, second = (part for part in model.modules() if isinstance(part, MultiHeadAttention))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.tokens.weight.copy_(token)
        assert model.positions is not None
        model.positions.encoding.copy_(position)
        model.to_logits.weight.copy_(10 * following)
        set_head(first, 0, position, shifted(position, 1), token, previous)
        set_head(first, 1, position, shifted(position, FOOLED - 1), token, torch.zeros_like(token))
        not_the_first = previous - position[0]
        set_head(second, 0, token, not_the_first, token, following)
        set_head(second, 1, token, not_the_first, token, torch.zeros_like(token))
    return model.eval()


def shifted(rows: Float[Tensor, "n d_model"], steps: int) -> Float[Tensor, "n d_model"]:
    """Shift the features so that feature i of a query meets feature i - steps of a key, as many positions back."""
    moved = torch.zeros_like(rows)
    moved[steps:] = rows[: max(len(rows) - steps, 0)]
    return moved


def set_head(
    attention: MultiHeadAttention,
    head: int,
    query: Float[Tensor, "n_scores d_model"],
    key: Float[Tensor, "n_scores d_model"],
    value: Float[Tensor, "n_values d_model"],
    output: Float[Tensor, "n_values d_model"],
) -> None:
    """Make a head compare `query` with `key` row by row, read along `value`, and write in the direction `output`."""
    d_head = attention.w_q.in_features // attention.n_heads
    start = head * d_head
    scores, values = slice(start, start + len(query)), slice(start, start + len(value))
    attention.w_q.weight[scores] = query * SHARP * d_head**0.5  # attention divides by √d_head
    attention.w_k.weight[scores] = key
    attention.w_v.weight[values] = value
    attention.w_o.weight[:, values] = output.T
