"""From logits to sentences: greedy choice, sampling and beam search (§6.1), for a batch of sources at once.

Each function returns target ids (B, T): `bos_id` first, then at most `max_length - 1` tokens up to and with `eos_id`,
then padding. They end as soon as every sentence has ended. The decoder remembers what it has read (`cache`); while it
works the model drops nothing out and tracks no gradients.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from transformer_lab.cache import CachedDecoder
from transformer_lab.masks import padding_mask
from transformer_lab.model import Transformer

NEVER = float("-inf")  # the logarithm of probability 0


def greedy(
    model: Transformer, src: Int[Tensor, "B S"], *, bos_id: int, eos_id: int, max_length: int
) -> Int[Tensor, "B T"]:
    """At each step the most probable token.

    Raises:
        ValueError: max_length is below 1 or above the model's max_len.
    """
    return generate(model, src, bos_id, eos_id, max_length, choose=lambda logits: logits.argmax(-1))


def sample(
    model: Transformer,
    src: Int[Tensor, "B S"],
    *,
    bos_id: int,
    eos_id: int,
    max_length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "B T"]:
    """At each step a random token, drawn from softmax(logits / temperature), cut to `top_k` and then to `top_p`.

    A generator on the CPU draws there, and so gives the same sentences on every device (up to rounding of the logits).

    Raises:
        ValueError: temperature is not above 0; top_k is below 1; top_p is not above 0 and at most 1; max_length is
            below 1 or above the model's max_len.
    """
    if not temperature > 0:
        raise ValueError(f"temperature ({temperature}) must be above 0; for the most probable token use `greedy`")

    def draw(logits: Tensor) -> Tensor:
        logits = logits.float() / temperature
        logits = logits if top_k is None else top_k_filter(logits, top_k)
        logits = logits if top_p is None else top_p_filter(logits, top_p)
        probabilities = logits.softmax(-1).to(generator.device if generator else logits.device)
        return probabilities.multinomial(1, generator=generator).squeeze(1).to(logits.device)

    return generate(model, src, bos_id, eos_id, max_length, choose=draw)


def top_k_filter(logits: Float[Tensor, "*axes vocab"], k: int) -> Float[Tensor, "*axes vocab"]:
    """-inf for all but the k largest logits (Fan, Lewis & Dauphin, 2018, arXiv:1805.04833).

    Raises:
        ValueError: k is below 1.
    """
    if k < 1:
        raise ValueError(f"top_k ({k}) must be at least 1")
    kept = logits.topk(min(k, logits.size(-1))).indices
    return logits.masked_fill(torch.ones_like(logits, dtype=torch.bool).scatter(-1, kept, False), NEVER)


def top_p_filter(logits: Float[Tensor, "*axes vocab"], p: float) -> Float[Tensor, "*axes vocab"]:
    """-inf outside the nucleus: the smallest set of tokens whose probabilities sum to p or more.

    Holtzman et al., 2020, arXiv:1904.09751, section 3.1, equations 2 and 3.

    Raises:
        ValueError: p is not above 0 and at most 1.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p ({p}) must be above 0 and at most 1")
    probabilities, order = logits.float().softmax(-1).sort(-1, descending=True)
    before = probabilities.cumsum(-1) - probabilities  # what the more probable tokens reach without this one
    rank = order.argsort(-1)  # the place of each token in that order
    return logits.masked_fill((before >= p).gather(-1, rank), NEVER)


def beam_search(
    model: Transformer,
    src: Int[Tensor, "B S"],
    *,
    bos_id: int,
    eos_id: int,
    max_length: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
) -> Int[Tensor, "B T"]:
    """At each step the `beam_size` most probable of all extensions of the sentences kept; the best ended one wins.

    score(Y) = log P(Y) / lp(Y),  lp(Y) = ((5 + |Y|) / 6)^α        (Wu et al., 2016, arXiv:1609.08144, equation 14)

    α is `length_penalty` (the defaults are those of §6.1), |Y| counts the tokens after bos, eos included. An extension
    that ends is set aside and leaves the beam. What reaches max_length counts as ended. A source is done when none of
    its unfinished sentences can overtake its best one any more: each further token can only lower log P(Y).

    Raises:
        ValueError: beam_size is below 1; length_penalty is below 0; max_length is below 1 or above the model's max_len.
    """
    if beam_size < 1:
        raise ValueError(f"beam_size ({beam_size}) must be at least 1")
    if not length_penalty >= 0:
        raise ValueError(f"length_penalty ({length_penalty}) must be at least 0")
    check_max_length(model, max_length)
    batch, beams = len(src), (len(src), beam_size)

    def score(totals: Tensor, length: int) -> Tensor:
        return totals / ((5 + length) / 6) ** length_penalty

    with inference(model):
        decoder = reader(model, src, copies=beam_size)
        ids = torch.full((*beams, 1), bos_id, device=src.device)
        totals = torch.full(beams, NEVER, device=src.device)  # log P of each sentence in the beam, -inf for none
        totals[:, 0] = 0.0
        best, best_scores = [*ids[:, 0]], totals.new_full((batch,), NEVER)
        first_rows = beam_size * torch.arange(batch, device=src.device)[:, None]
        for length in range(1, max_length):
            log_probs = decoder(ids[:, :, -1].reshape(-1, 1))[:, -1].float().log_softmax(-1).unflatten(0, beams)
            totals, picked = (totals[..., None] + log_probs).flatten(1).topk(beam_size)
            parents, tokens = picked // log_probs.size(-1), picked % log_probs.size(-1)
            rows = (first_rows + parents).flatten()
            decoder.select(rows)
            ids = torch.cat([ids.flatten(0, 1)[rows].unflatten(0, beams), tokens[..., None]], dim=-1)
            ended = (tokens == eos_id) | (length + 1 == max_length)
            scores, which = score(totals, length).masked_fill(~ended, NEVER).max(1)
            for b in (scores > best_scores).nonzero().flatten().tolist():
                best_scores[b], best[b] = scores[b], ids[b, which[b]]
            totals = totals.masked_fill(ended, NEVER)
            if (best_scores >= score(totals.amax(1), max_length - 1)).all():  # the best that can still come
                break
    return pad_sequence(best, batch_first=True, padding_value=model.config.pad_id)


def generate(
    model: Transformer,
    src: Int[Tensor, "B S"],
    bos_id: int,
    eos_id: int,
    max_length: int,
    choose: Callable[[Float[Tensor, "B vocab"]], Int[Tensor, " B"]],
) -> Int[Tensor, "B T"]:
    """Token by token, whatever `choose` makes of the logits."""
    check_max_length(model, max_length)
    with inference(model):
        decoder = reader(model, src)
        tokens = torch.full((len(src), 1), bos_id, device=src.device)
        ended = torch.zeros(len(src), dtype=torch.bool, device=src.device)
        while tokens.size(1) < max_length and not ended.all():
            chosen = choose(decoder(tokens[:, -1:])[:, -1]).masked_fill(ended, model.config.pad_id)
            tokens = torch.cat([tokens, chosen[:, None]], dim=1)
            ended |= chosen == eos_id
    return tokens


def reader(model: Transformer, src: Int[Tensor, "B S"], copies: int = 1) -> CachedDecoder:
    """A decoder at the start of `copies` targets for each source, those of one source next to one another."""
    src_mask = padding_mask(src, model.config.pad_id)
    memory = model.encode(src, src_mask)
    return CachedDecoder(model, memory.repeat_interleave(copies, 0), src_mask.repeat_interleave(copies, 0))


@contextmanager
def inference(model: nn.Module) -> Iterator[None]:
    """Within the `with` block the model drops nothing out and tracks no gradients; then each module is as it was."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


def check_max_length(model: Transformer, max_length: int) -> None:
    """Before any work is done: max_length must be 1 or more, and within the model's positions."""
    if not 1 <= max_length <= model.config.max_len:
        raise ValueError(f"max_length ({max_length}) must be at least 1 and at most max_len ({model.config.max_len})")
