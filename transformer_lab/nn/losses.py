"""Measures of how well a language model predicts a text: loss in nats, perplexity, and bits per byte."""

from math import log

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.checks import check_floats, check_least, check_targets


def next_token_loss(logits: Float[Tensor, "B T vocab"], tokens: Int[Tensor, "B T"], pad_id: int) -> Float[Tensor, ""]:
    """Cross-entropy of each position's logits with the token that comes next, in nats.

    loss = -mean ln p(token_t+1 | token_0 … token_t), over the positions whose next token is not padding

    The last position has no next token, and its logits do not count. NaN if no next token is left.
    """
    check_targets(logits, "tokens", tokens, pad_id)
    truth = F.pad(tokens[:, 1:], (0, 1), value=pad_id)  # (B, T); logits[:, :-1] instead would copy nearly all of them
    at_least_float32 = torch.promote_types(logits.dtype, torch.float32)  # a sum of losses may be too large for less
    return F.cross_entropy(logits.flatten(0, 1).to(at_least_float32), truth.flatten().long(), ignore_index=pad_id)


def perplexity(token_log_probs: Float[Tensor, "*axes"]) -> Float[Tensor, ""]:
    """The number of equally probable tokens among which a model seems to choose: exp(-mean ln p).

    `token_log_probs` are the natural logarithms of the probabilities that it gave to the tokens of a text.

    Raises:
        ValueError: there is no token.
    """
    check_floats("token_log_probs", token_log_probs)
    if not token_log_probs.numel():
        raise ValueError("perplexity must be that of at least one token (got none)")
    at_least_float32 = torch.promote_types(token_log_probs.dtype, torch.float32)
    nats = -token_log_probs.mean(dtype=at_least_float32)  # the mean loss of a token
    return torch.exp(nats)


def bits_per_byte(nats: float, n_tokens: int, n_bytes: int) -> float:
    """The size in bits to which the model would compress a text, per byte of the text: nats / ln 2 / n_bytes.

    `nats` is the loss of the whole text: -ln p, added up over its `n_tokens` tokens. How many these are does not
    matter, and that is the point: models with other tokens can be compared.

    Raises:
        ValueError: n_tokens or n_bytes is below 1.
    """
    check_least(1, n_tokens=n_tokens, n_bytes=n_bytes)
    return nats / log(2) / n_bytes
