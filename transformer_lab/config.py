"""The sizes of a Transformer: Table 3 of "Attention Is All You Need"."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from transformer_lab.attention import MultiHeadAttention
from transformer_lab.blocks import FeedForward, LayerNorm, PreNormResidual, Residual

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}  # those that a checkpoint can name


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a model; the defaults are the paper's base model (Table 3).

    With the shared vocabulary of 37 000 tokens (§5.1) that model has 63 082 496 parameters. Table 3 says 65 million:
    each pair of layers costs the 7.36 million that its rows for 2, 4, 6 and 8 layers imply, so the 3 % lie in
    the embedding, which fits all rows of part (C) at about 41 000 tokens.
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
    activation: Callable[[Tensor], Tensor] = F.relu

    def attention(self) -> MultiHeadAttention:
        return MultiHeadAttention(self.d_model, self.n_heads, self.attention_dropout)

    def feed_forward(self) -> FeedForward:
        return FeedForward(self.d_model, self.d_ff, self.activation)

    def residual(self) -> Residual:
        return (PreNormResidual if self.norm_first else Residual)(self.d_model, self.dropout)

    def final_norm(self) -> nn.Module:
        """What ends a stack: a norm if its layers are pre-norm (their sum has none yet), else nothing."""
        return LayerNorm(self.d_model) if self.norm_first else nn.Identity()

    def to_dict(self) -> dict[str, Any]:
        """The sizes as JSON can hold them, the activation by its name.

        Raises:
            ValueError: the activation has no name in ACTIVATIONS.
        """
        names = [name for name, function in ACTIVATIONS.items() if function is self.activation]
        if not names:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)} to be stored (got {self.activation})")
        return asdict(self) | {"activation": names[0]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TransformerConfig":
        """The config that `to_dict` wrote.

        Raises:
            ValueError: a field is missing or unknown, or the activation is.
        """
        wanted = {field.name for field in fields(cls)}
        if values.keys() != wanted:
            missing, unknown = sorted(wanted - values.keys()), sorted(values.keys() - wanted)
            raise ValueError(f"a config must have the fields of TransformerConfig ({missing=}, {unknown=})")
        if values["activation"] not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)} (got {values['activation']!r})")
        return cls(**values | {"activation": ACTIVATIONS[values["activation"]]})
