"""What a model is for: texts in, texts out, and how many of them are right."""

from collections.abc import Sequence

from transformer_lab.decoding import greedy
from transformer_lab.model import Transformer
from transformer_lab.training.examples import Tokenizes, encode_texts

AT_ONCE = 250  # texts


def translate(model: Transformer, tokenizer: Tokenizes, texts: Sequence[str]) -> list[str]:
    """The model's translation of each text, by greedy decoding."""
    device, ids = next(model.parameters()).device, {"bos_id": tokenizer.bos_id, "eos_id": tokenizer.eos_id}
    translations = []
    for start in range(0, len(texts), AT_ONCE):
        src = encode_texts(texts[start : start + AT_ONCE], tokenizer).to(device)
        tokens = greedy(model, src, **ids, max_length=model.config.max_len)
        translations += [tokenizer.decode(row) for row in tokens.tolist()]
    return translations


def exact_match(model: Transformer, tokenizer: Tokenizes, pairs: Sequence[tuple[str, str]]) -> float:
    """The share of pairs whose translation is right to the letter, from 0 to 1."""
    sources, targets = zip(*pairs, strict=True)
    translations = translate(model, tokenizer, sources)
    return sum(given == wanted for given, wanted in zip(translations, targets, strict=True)) / len(pairs)
