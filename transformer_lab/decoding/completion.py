"""A language model reads a text, and writes on: what it made of each token, and what it says next."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.checks import check_least, check_tokens
from transformer_lab.decoding.batched import sampler
from transformer_lab.decoding.inference import inference
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.nn.kv_cache import KVCache

AT_ONCE = 64  # windows


def complete(
    model: LanguageModel,
    prompt: Int[Tensor, "B T"],
    n_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "B T_all"]:
    """The prompt and `n_tokens` more, each drawn from softmax(logits / temperature), cut to `top_k`, then to `top_p`.

    With top_k=1 each is the most probable one. A generator on the CPU draws there. The model remembers what it has
    read. A text longer than max_len is read through a window: when it is full, the model forgets all but the second
    half of it, which it reads anew, since every position changes.

    Raises:
        ValueError: the prompt is empty, or no (B, T) of token ids; temperature is not above 0; top_k is below 1; top_p
            is not above 0 and at most 1; n_tokens is below 0.
    """
    return continued(model, prompt, n_tokens, sampler(temperature, top_k, top_p, generator))


def continued(
    model: LanguageModel, prompt: Int[Tensor, "B T"], n_tokens: int, choose: Callable[[Tensor], Tensor]
) -> Int[Tensor, "B T_all"]:
    """The prompt and `n_tokens` more, each of which is what `choose` makes of the logits (B, vocab)."""
    check_tokens("prompt", prompt)
    check_least(0, n_tokens=n_tokens)
    if not prompt.size(1):
        raise ValueError("a prompt must have at least one token: a language model goes on from what it has read")
    max_len, tokens = model.config.max_len, prompt
    unread, cache, n_read = prompt[:, -max_len:], KVCache(), 0
    with inference(model):
        for _ in range(n_tokens):
            if n_read + unread.size(1) > max_len:
                unread, cache, n_read = tokens[:, -(max_len // 2 + 1) :], KVCache(), 0
            logits = model(unread, cache)[:, -1]
            n_read += unread.size(1)
            unread = choose(logits)[:, None]
            tokens = torch.cat([tokens, unread], dim=1)
    return tokens


def token_log_probs(model: LanguageModel, tokens: Int[Tensor, " n"]) -> Float[Tensor, " n-1"]:
    """ln p of each token but the first, given those before it.

    A text longer than max_len is read through windows that overlap by half, so that each token but those of the first
    window is predicted from at least max_len / 2 others.

    Raises:
        ValueError: there are fewer than two tokens.
    """
    if len(tokens) < 2:
        raise ValueError(f"a text must have at least 2 tokens, the first of which nothing predicts (got {len(tokens)})")
    device, length = next(model.parameters()).device, min(model.config.max_len, len(tokens))
    last = len(tokens) - length
    starts = torch.tensor([*range(0, last, max(1, length // 2)), last])
    found, known = torch.empty(len(tokens) - 1, device=device), 0  # found[t] is that of token t + 1
    with inference(model):
        for some in starts.split(AT_ONCE):
            windows = tokens.to(device)[(some[:, None] + torch.arange(length)).to(device)]  # (windows, length)
            log_probs = model(windows).float().log_softmax(-1)[:, :-1]
            of_truth = log_probs.gather(-1, windows[:, 1:, None])[..., 0]  # (windows, length - 1)
            for start, row in zip(some.tolist(), of_truth, strict=True):
                found[known : start + length - 1] = row[known - start :]
                known = start + length - 1
    return found
