"""Completing a text with a language model, and reading off the probability that it gave each token."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_lab.checks import check_least, check_text, check_tokens, described
from transformer_lab.decoding.batched import sampler
from transformer_lab.decoding.inference import inference
from transformer_lab.decoding.single import check_logits
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.nn.kv_cache import KVCache

AT_ONCE = 64  # windows


def complete(
    model: LanguageModel,
    prompt: Int[Tensor, "B T"],
    n_tokens: int,
    *,
    mask: Bool[Tensor, "B T"] | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "B T_all"]:
    """The prompt and `n_tokens` more, each sampled from softmax(logits / temperature), cut to `top_k`, then to `top_p`.

    With top_k=1 each is the most probable one. The model remembers what it has read. A text longer than max_len is read
    through a window: when it is full, the model forgets all but the second half of it, which it reads anew, since every
    position changes.

    Prompts of different lengths are filled up, on the left or on the right, and `mask` is True where a token stands:
    without one every id is read, pad_id too. Each text is then what it is alone; what is new stands behind all columns
    of the prompt. A generator on the CPU draws there. All texts draw at each step, also where the next token of a
    longer prompt is known already. So a seed draws other numbers for a text alone, with the same probabilities.

    Raises:
        ValueError: a prompt is empty, or no (B, T) of token ids; the mask is no boolean (B, T); n_tokens is below 0;
            temperature is not above 0, or float32 cannot divide by it; top_k is below 1; top_p is not above 0 and at
            most 1; the model's logits are no numbers.
    """
    return continued(model, prompt, n_tokens, sampler(temperature, top_k, top_p, generator), mask)


def continued(
    model: LanguageModel,
    prompt: Int[Tensor, "B T"],
    n_tokens: int,
    choose: Callable[[Tensor], Tensor],
    mask: Bool[Tensor, "B T"] | None = None,
) -> Int[Tensor, "B T_all"]:
    """The prompt and `n_tokens` more, each of which `choose` picks from the logits (B, vocab)."""
    check_tokens("prompt", prompt)
    check_least(0, n_tokens=n_tokens)
    prompts, lengths = aligned(prompt, mask, model.config.max_len)
    counts = lengths.tolist() or [prompts.size(1)]  # of a batch of none, any number
    if not min(counts):
        raise ValueError("a prompt must have at least one token: a language model goes on from what it has read")
    if not n_tokens:
        return prompt
    tokens, window = prompts[:, : min(counts)], Window(model)
    with inference(model):
        for t in range(min(counts), max(counts) + n_tokens):
            following = choose(window.next_logits(tokens)).to(prompt.dtype)
            if t < max(counts):  # what the longer prompts have there is read, whatever was chosen
                following = torch.where(t < lengths, prompts[:, t], following)
            tokens = torch.cat([tokens, following[:, None]], dim=1)
    new = lengths[:, None] + torch.arange(n_tokens, device=prompt.device)  # (B, n_tokens)
    return torch.cat([prompt, tokens.gather(1, new)], dim=1)


class Window:
    """The window through which a model reads texts longer than its max_len; a cache remembers what it has read.

    All texts stand at the same position, so that no position and no cache knows of any padding.
    """

    def __init__(self, model: LanguageModel):
        self.model, self.cache, self.start, self.end = model, KVCache(), 0, 0  # the positions that it has read

    def next_logits(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B vocab"]:
        """The logits after texts that are longer than at the last call. Raises a ValueError if they are not numbers."""
        length, max_len = tokens.size(1), self.model.config.max_len
        if length - self.start > max_len:
            self.start = self.end = length - (max_len // 2 + 1)
            self.cache = KVCache()
        logits = self.model(tokens[:, self.end :], self.cache)[:, -1]
        self.end = length
        check_logits(logits)
        return logits


def aligned(
    prompt: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None, max_len: int
) -> tuple[Int[Tensor, "B longest"], Int[Tensor, " B"]]:
    """The last `max_len` tokens of each row at most, moved to its left end, and how many they are."""
    if mask is None:
        last = prompt[:, -max_len:]
        return last, torch.full((len(last),), last.size(1), device=prompt.device)
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != prompt.shape:
        rule = f"mask must be torch.bool of the prompt's shape {tuple(prompt.shape)}, True = a token"
        raise ValueError(f"{rule} (got {described(mask)})")
    mask = mask & (mask.flip(1).cumsum(1).flip(1) <= max_len)  # what counts from the end
    left = (~mask).int().argsort(dim=1, stable=True)
    return prompt.gather(1, left), mask.sum(1)


def token_log_probs(model: LanguageModel, tokens: Int[Tensor, " n"]) -> Float[Tensor, " n-1"]:
    """ln p of each token but the first, given those before it.

    A text longer than max_len is read through windows that overlap by half, so that each token but those of the first
    window is predicted from at least max_len / 2 others.

    Raises:
        ValueError: the text is no (n,) of token ids; there are fewer than two, the first of which nothing predicts.
    """
    check_text("a text", tokens, least=2)
    device, length = next(model.parameters()).device, min(max(model.config.max_len, 2), len(tokens))
    last = len(tokens) - length
    starts = torch.tensor([*range(0, last, max(1, length // 2)), last])
    found, known = torch.empty(len(tokens) - 1, device=device), 0  # found[t] is that of token t + 1
    with inference(model):
        for some in starts.split(AT_ONCE):
            windows = tokens.to(device)[(some[:, None] + torch.arange(length)).to(device)]  # (windows, length)
            log_probs = model(windows[:, :-1]).float().log_softmax(-1)
            of_truth = log_probs.gather(-1, windows[:, 1:, None].long())[..., 0]  # (windows, length - 1)
            for start, row in zip(some.tolist(), of_truth, strict=True):
                found[known : start + length - 1] = row[known - start :]
                known = start + length - 1
    return found
