"""The sizes of a model, and the activation functions available to its feed-forward networks."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch.nn.functional as F
from torch import Tensor

from transformer_lab.checks import check_least, check_probability
from transformer_lab.storage import make_plain

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # GPT-2's
    "silu": F.silu,
}


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a model; the defaults are the paper's base model (Table 3).

    With the shared vocabulary of 37 000 tokens (§5.1) that model has 63 082 496 parameters. Table 3 says 65 million:
    each pair of layers costs the 7.36 million that its rows for 2, 4, 6 and 8 layers imply, so the 3 % lie in
    the embedding: with about 41 000 tokens all rows of parts (B) and (C) fit.

    Raises:
        ValueError: a field is of another type, too small or too large; the activation has no name in ACTIVATIONS.
    """

    vocab_size: int = 37000
    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    n_layers: int = 6
    max_len: int = 512
    dropout: float = 0.1
    attention_dropout: float = 0.0
    norm_first: bool = False  # False: post-norm, the paper's
    tie_weights: bool = True  # §3.4: one matrix for both embeddings and the output
    pad_id: int = 0
    activation: str = "relu"

    def __post_init__(self) -> None:
        make_plain(self)
        check_least(1, vocab_size=self.vocab_size, d_model=self.d_model, n_heads=self.n_heads, d_ff=self.d_ff)
        check_least(1, n_layers=self.n_layers, max_len=self.max_len)
        check_least(0, pad_id=self.pad_id)
        check_probability(dropout=self.dropout, attention_dropout=self.attention_dropout)
        if self.pad_id >= self.vocab_size:
            raise ValueError(f"pad_id ({self.pad_id}) must be below vocab_size ({self.vocab_size})")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)} (got {self.activation!r})")
