"""Evaluating a translator: its translations, the share that is right, and the average of several models' weights."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from transformer_lab.data.tokenizer import TokenizerLike
from transformer_lab.decoding.batched import greedy
from transformer_lab.nn.transformer import Transformer
from transformer_lab.training.examples import encode_texts

AT_ONCE = 250  # texts


def translate(model: Transformer, tokenizer: TokenizerLike, texts: Sequence[str]) -> list[str]:
    """Translate each text by greedy decoding.

    Raises:
        ValueError: `texts` is a single text.
    """
    device, ids = next(model.parameters()).device, {"bos_id": tokenizer.bos_id, "eos_id": tokenizer.eos_id}
    translations = []
    for start in range(0, len(texts), AT_ONCE):
        src = encode_texts(texts[start : start + AT_ONCE], tokenizer).to(device)
        tokens = greedy(model, src, **ids, max_length=model.config.max_len)
        translations += [tokenizer.decode(row) for row in tokens.tolist()]
    return translations


def exact_match(model: Transformer, tokenizer: TokenizerLike, pairs: Sequence[tuple[str, str]]) -> float:
    """The share of pairs whose translation is exactly right, from 0 to 1."""
    sources, targets = zip(*pairs, strict=True)
    translations = translate(model, tokenizer, sources)
    return sum(given == wanted for given, wanted in zip(translations, targets, strict=True)) / len(pairs)


def average_weights(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several states of one model, weight by weight, for `load_state_dict` (§6.1).

    Raises:
        ValueError: there is no state, or they are not of one model.
    """
    if not states or any(state.keys() != states[0].keys() for state in states):
        raise ValueError("states must be one or more, of one model (`model.state_dict()`, copied)")
    return {name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]}
