"""The machine: a whole Transformer at work in the page, each matrix in place, with parts that can be switched off."""

import base64
import zlib
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.decoding.batched import greedy
from transformer_lab.nn.transformer import Transformer
from transformer_lab.widgets.machine.machine_picture import drawn
from transformer_lab.widgets.shared.sent_model import as_sent, matrix_sent
from transformer_lab.widgets.shared.view import View

MOST_TEXT = 430_000  # letters that the matrices may take
LARGEST = (127, 95, 63, 47, 31, 23, 19, 17, 15, 13, 11, 9, 7, 5)  # whole numbers to both sides of 0, finest first
LONGEST = 32  # tokens that are read or written
HEIGHTS = {0: 950, 620: 1090, 1000: 850}  # of the live machine, from so many pixels of width on


class MachineView(View):
    """The machine, whose picture has the live one's room where scripts run: nothing moves when that begins."""

    def pictured(self, tag: str) -> str:
        whole = f"{tag} :is(.tl-room:not(:has([hidden])),.tl-machine)"
        rooms = [
            f"@container (min-width:{width}px){{{whole}{{min-height:{high}px}}}}" for width, high in HEIGHTS.items()
        ]
        style = f"{tag}{{display:block;container-type:inline-size}}@media (scripting:enabled){{{''.join(rooms)}}}"
        return f'<style>{style}{tag} img{{max-width:100%}}</style><div class="tl-room">{super().pictured(tag)}</div>'


def machine(model: Transformer, tokenizer: Tokenizer, text: str = "thirty-four thousand and twenty-one") -> View:
    """Watch a translator at work, from text to translation, and change it, entirely in the page and without a kernel.

    The weights travel with the view: whole numbers of at most 8 bits with a scale for each row, as fine as MOST_TEXT
    letters allow, so that its numbers are those of `sent_translator(model, tokenizer)`. Rows of tokens that are single
    bytes are left out: no text that the tokenizer was trained on holds one.

    Raises:
        ValueError: the model is pre-norm, has weights that are not tied, or another vocabulary than the tokenizer; even
            the coarsest weights take more than MOST_TEXT letters; the text has more than 31 tokens or the model's
            max_len, or characters that are not in the tokenizer's alphabet.
    """
    check_model(model, tokenizer)
    check_text(tokenizer, text, min(LONGEST, model.config.max_len))
    largest = finest(model, tokenizer)
    state = {"model": carried(model, tokenizer, largest), "tokenizer": tokenizer_sent(tokenizer), "text": text}
    rounded = as_sent(model, largest)
    return MachineView("machine", state, summary(model, text), lambda: fallback(rounded, tokenizer, text), colours=64)


def check_model(model: Transformer, tokenizer: Tokenizer) -> None:
    config = model.config
    if config.norm_first or not config.tie_weights:
        kind = f"norm_first is {config.norm_first}, tie_weights {config.tie_weights}"
        raise ValueError(f"a machine's model must be the paper's, post-norm and with tied weights ({kind})")
    if len(tokenizer) != config.vocab_size:
        rule = f"the tokenizer must have the model's vocabulary of {config.vocab_size} tokens"
        raise ValueError(f"{rule} (it has {len(tokenizer)})")


def check_text(tokenizer: Tokenizer, text: str, longest: int) -> None:
    if strange := sorted(set(text) - set(tokenizer.alphabet)):
        raise ValueError(f"the text's characters must be in the tokenizer's alphabet (got {''.join(strange)!r})")
    if (n := len(tokenizer.encode(text)) + 1) > longest:
        raise ValueError(f"the text may have at most {longest} tokens, its end counted (it has {n})")


def kept_tokens(tokenizer: Tokenizer) -> list[int]:
    """The token ids that are sent to the page: all but single bytes."""
    return [i for i, symbol in enumerate(tokenizer.symbols) if isinstance(symbol, str)]


def matrices_of(model: Transformer, tokenizer: Tokenizer) -> dict[str, Float[Tensor, "rows columns"]]:
    """All matrices by the names of torch's modules; that of the tokens as `to_logits`, with only the rows sent."""
    names = {name: p for name, p in model.named_parameters() if p.ndim == 2 and "embedding" not in name}
    return names | {"to_logits": model.to_logits.weight[kept_tokens(tokenizer)]}


def deflated(model: Transformer, tokenizer: Tokenizer, largest: int) -> str:
    """All matrices as integers, compressed together. Only their frequencies are uneven: no search for repeats helps."""
    whole = [matrix_sent(matrix, largest)[0] for matrix in matrices_of(model, tokenizer).values()]
    pack = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_HUFFMAN_ONLY)
    data = b"".join(pack.compress(matrix.numpy().tobytes()) for matrix in whole) + pack.flush()
    return base64.b64encode(data).decode()


def finest(model: Transformer, tokenizer: Tokenizer) -> int:
    """The largest integer scale at which the matrices still fit."""
    for largest in LARGEST:
        if len(deflated(model, tokenizer, largest)) <= MOST_TEXT:
            return largest
    n_weights = sum(matrix.numel() for matrix in matrices_of(model, tokenizer).values())
    raise ValueError(f"a machine's matrices must have room in {MOST_TEXT:,} letters (these are {n_weights:,} weights)")


def carried(model: Transformer, tokenizer: Tokenizer, largest: int) -> dict[str, Any]:
    """Everything that the page needs to compute: matrices, vectors and sizes."""
    matrices = matrices_of(model, tokenizer)
    vectors = {name: p for name, p in model.named_parameters() if p.ndim == 1}
    config, kept = model.config, kept_tokens(tokenizer)
    return {
        "i8": deflated(model, tokenizer, largest),
        "matrices": [[name, *matrix.shape] for name, matrix in matrices.items()],
        "scales": torch.cat([matrix_sent(matrix, largest)[1] for matrix in matrices.values()]),
        "vectors": [[name, len(vector)] for name, vector in vectors.items()],
        "numbers": torch.cat([*vectors.values()]),
        "d_model": config.d_model,
        "n_heads": config.n_heads,
        "n_layers": config.n_layers,
        "activation": config.activation,
        "eps": model.decoder.get_submodule("layers.0.residual_1.norm").eps,
        "longest": min(LONGEST, config.max_len),
        "bos": kept.index(tokenizer.bos_id),
        "eos": kept.index(tokenizer.eos_id),
    }


def tokenizer_sent(tokenizer: Tokenizer) -> dict[str, Any]:
    """The tokenizer's alphabet and merges, and the symbols of the ids that are sent, the special ones first."""
    symbols = [str(tokenizer.symbols[i]) for i in kept_tokens(tokenizer)]
    special = {tokenizer.pad_id: "pad", tokenizer.bos_id: "begin", tokenizer.eos_id: "end"}
    shown = [special.get(i, symbol) for i, symbol in enumerate(symbols)]
    return {"alphabet": tokenizer.alphabet, "merges": tokenizer.merges, "symbols": shown, "special": len(special)}


def sent_translator(model: Transformer, tokenizer: Tokenizer) -> Transformer:
    """The model with the weights that the page receives, on the CPU and in eval mode."""
    return as_sent(model, finest(model, tokenizer))


def summary(model: Transformer, text: str) -> str:
    """A one-line summary of what is shown, without any number or text that training produced."""
    config = model.config
    size = f"{config.n_layers} + {config.n_layers} layers of {config.n_heads} heads"
    return f"A Transformer of {size} translates “{text}”: for each word it writes, ribbons show where it looks."


def fallback(model: Transformer, tokenizer: Tokenizer, text: str) -> Any:
    """The weave of this translation."""
    source = torch.tensor([[*tokenizer.encode(text), tokenizer.eos_id]], device="cpu")
    longest = min(LONGEST, model.config.max_len)
    target = greedy(model, source, bos_id=tokenizer.bos_id, eos_id=tokenizer.eos_id, max_length=longest)
    return drawn(model, tokenizer, source, target)
