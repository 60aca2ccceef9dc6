"""Generating with a Transformer: greedy choice, sampling and beam search (§6.1), for a batch of sources at once.

Each function returns target ids (B, T): `bos_id` first, then at most `max_length - 1` tokens up to and with `eos_id`,
then padding. They end as soon as every sentence has ended. The decoder remembers what it has read; while it works the
model drops nothing out and tracks no gradients. `decoding` says the same for one sentence and any model.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from transformer_lab.checks import check_least, check_temperature
from transformer_lab.decoding.cached_decoder import next_logits, start_decoder
from transformer_lab.decoding.inference import inference
from transformer_lab.decoding.single import NEG_INF, tempered, top_k_filter, top_p_filter
from transformer_lab.nn.transformer import Transformer


def greedy(
    model: Transformer, src: Int[Tensor, "B S"], *, bos_id: int, eos_id: int, max_length: int
) -> Int[Tensor, "B T"]:
    """Decode greedily: choose the most probable token at each step.

    Raises:
        ValueError: bos_id or eos_id is no token of the model's, or bos_id is padding; max_length is below 1 or above
            the model's max_len; the model's logits are no numbers.
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
    """Sample a random token at each step from softmax(logits / temperature), cut to `top_k` and then to `top_p`.

    A generator on the CPU draws there, and so gives the same sentences on every device (up to rounding of the logits).

    Raises:
        ValueError: temperature is not above 0, or float32 cannot divide by it; top_k is below 1; top_p is not above 0
            and at most 1; and as `greedy`.
    """
    choose = sampler(temperature, top_k, top_p, generator)
    return generate(model, src, bos_id, eos_id, max_length, choose)


def sampler(
    temperature: float, top_k: int | None, top_p: float | None, generator: torch.Generator | None
) -> Callable[[Float[Tensor, "B vocab"]], Int[Tensor, " B"]]:
    """A function that draws tokens from logits, as `sample` describes."""
    check_temperature(temperature)

    def draw(logits: Tensor) -> Tensor:
        if top_k == 1:
            return logits.topk(1).indices.squeeze(1)  # nothing is left to chance
        logits = tempered(logits, temperature)
        logits = logits if top_k is None else top_k_filter(logits, top_k)
        logits = logits if top_p is None else top_p_filter(logits, top_p)
        probabilities = logits.softmax(-1).to(generator.device if generator else logits.device)
        return probabilities.multinomial(1, generator=generator).squeeze(1).to(logits.device)

    return draw


def beam(
    model: Transformer,
    src: Int[Tensor, "B S"],
    *,
    bos_id: int,
    eos_id: int,
    max_length: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
) -> Int[Tensor, "B T"]:
    """Beam search: keep the `beam_size` most probable extensions at each step; the best finished sentence wins.

    score(Y) = log P(Y) / lp(Y),  lp(Y) = ((5 + |Y|) / 6)^α        (Wu et al., 2016, arXiv:1609.08144, equation 14)

    α is `length_penalty` (the defaults are those of §6.1), |Y| counts the tokens after bos, eos included. An extension
    that ends is set aside and leaves the beam. What reaches max_length counts as ended. A source is done when none of
    its unfinished sentences can overtake its best one any more: each further token can only lower log P(Y).

    Raises:
        ValueError: beam_size is below 1; length_penalty is below 0; and as `greedy`.
    """
    check_least(1, beam_size=beam_size)
    if not length_penalty >= 0:
        raise ValueError(f"length_penalty ({length_penalty}) must be at least 0")
    check_ids(model, bos_id, eos_id, max_length)
    batch, beams = len(src), (len(src), beam_size)

    def score(totals: Tensor, length: int) -> Tensor:
        return totals / ((5 + length) / 6) ** length_penalty

    with inference(model):
        decoder = start_decoder(model, src, copies=beam_size)
        ids = torch.full((*beams, 1), bos_id, device=src.device)
        totals = torch.full(beams, NEG_INF, device=src.device)  # log P of each sentence in the beam, -inf for none
        totals[:, 0] = 0.0
        best, best_scores = [*ids[:, 0]], totals.new_full((batch,), NEG_INF)
        first_rows = beam_size * torch.arange(batch, device=src.device)[:, None]
        for length in range(1, max_length):
            logits = next_logits(decoder, ids[:, :, -1].reshape(-1, 1))  # (B · beams, vocab)
            log_probs = logits.float().log_softmax(-1).unflatten(0, beams)
            totals, picked = (totals[..., None] + log_probs).flatten(1).topk(beam_size)
            parents, tokens = picked // log_probs.size(-1), picked % log_probs.size(-1)
            rows = (first_rows + parents).flatten()
            decoder.select(rows)
            ids = torch.cat([ids.flatten(0, 1)[rows].unflatten(0, beams), tokens[..., None]], dim=-1)
            ended = (tokens == eos_id) | (length + 1 == max_length)
            scores, which = score(totals, length).masked_fill(~ended, NEG_INF).max(1)
            for b in (scores > best_scores).nonzero().flatten().tolist():
                best_scores[b], best[b] = scores[b], ids[b, which[b]]
            totals = totals.masked_fill(ended, NEG_INF)
            if (best_scores >= score(totals.amax(1), max_length - 1)).all():  # the best that can still come
                break
    if not batch:  # `pad_sequence` refuses an empty list
        return ids[:, 0]
    return pad_sequence(best, batch_first=True, padding_value=model.config.pad_id)


def generate(
    model: Transformer,
    src: Int[Tensor, "B S"],
    bos_id: int,
    eos_id: int,
    max_length: int,
    choose: Callable[[Float[Tensor, "B vocab"]], Int[Tensor, " B"]],
) -> Int[Tensor, "B T"]:
    """Generate token by token whatever `choose` picks from the logits."""
    check_ids(model, bos_id, eos_id, max_length)
    with inference(model):
        decoder = start_decoder(model, src)
        tokens = torch.full((len(src), 1), bos_id, device=src.device)
        ended = torch.zeros(len(src), dtype=torch.bool, device=src.device)
        while tokens.size(1) < max_length and not ended.all():
            chosen = choose(next_logits(decoder, tokens[:, -1:])).masked_fill(ended, model.config.pad_id)
            tokens = torch.cat([tokens, chosen[:, None]], dim=1)
            ended |= chosen == eos_id
    return tokens


def check_ids(model: Transformer, bos_id: int, eos_id: int, max_length: int) -> None:
    """Raise a ValueError unless bos and eos are tokens of the model, and max_length is within its positions."""
    config = model.config
    for name, token in (("bos_id", bos_id), ("eos_id", eos_id)):
        if token not in range(config.vocab_size):
            raise ValueError(f"{name} ({token!r}) must be one of the model's tokens, from 0 to {config.vocab_size - 1}")
    if bos_id == config.pad_id:
        raise ValueError(f"bos_id ({bos_id}) must differ from pad_id: nothing attends to padding")
    check_least(1, max_length=max_length)
    if max_length > config.max_len:
        raise ValueError(f"max_length ({max_length}) must be at most max_len ({config.max_len})")
