"""Encoder-only models: each token gets a vector that knows the whole text, to both sides.

The model is the paper's encoder, as BERT made it (Devlin et al., 2018, arXiv:1810.04805): post-norm, GELU, learned
positions, and a vector that says to which of two texts a token belongs. The default config is all-MiniLM-L6-v2, which
was trained further so that the mean of these vectors says what a sentence is about (Reimers & Gurevych, 2019,
"Sentence-BERT", arXiv:1908.10084).
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_lab.checks import check_least, check_tokens
from transformer_lab.nn.blocks import LayerNorm
from transformer_lab.nn.masks import padding_mask
from transformer_lab.nn.positions import LearnedPositions
from transformer_lab.nn.transformer import EncoderLayer, TransformerConfig, known_ids
from transformer_lab.storage import StoredModel


@dataclass(frozen=True)
class TextEncoderConfig(TransformerConfig):
    """The sizes of a text encoder; the defaults are those of all-MiniLM-L6-v2, with its 22 565 376 parameters.

    Raises:
        ValueError: as TransformerConfig; n_types is below 1; norm_first is True, which no BERT is.
    """

    vocab_size: int = 30522
    d_model: int = 384
    n_heads: int = 12
    d_ff: int = 1536
    n_layers: int = 6
    max_len: int = 512
    attention_dropout: float = 0.1
    activation: str = "gelu"
    n_types: int = 2
    norm_eps: float = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(1, n_types=self.n_types)
        if self.norm_first:
            raise ValueError("a TextEncoder must have its norms behind the sums (got norm_first=True)")


class TextEncoderLayer(EncoderLayer):
    """A layer of the paper's encoder, with another eps in its norms."""

    def __init__(self, config: TextEncoderConfig):
        super().__init__(config)
        for residual in (self.residual_1, self.residual_2):
            residual.norm = LayerNorm(config.d_model, config.norm_eps)


class TextEncoder(StoredModel):
    """Tokens to one vector for each of them; padding is masked, and what stands there means nothing.

    Every text is of type 0 unless `types` says otherwise: BERT reads pairs, and the second text of a pair is of type 1.

    Raises:
        ValueError: sizes that do not go together, an unknown token, or a text longer than max_len.
    """

    config_class = TextEncoderConfig

    def __init__(self, config: TextEncoderConfig):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = LearnedPositions(config.max_len, config.d_model)
        self.types = nn.Embedding(config.n_types, config.d_model)
        self.norm = LayerNorm(config.d_model, config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(TextEncoderLayer(config) for _ in range(config.n_layers))

    def forward(
        self, tokens: Int[Tensor, "B T"], types: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T d_model"]:
        mask = padding_mask(tokens, self.config.pad_id)  # (B, 1, 1, T)
        x = self.dropout(self.norm(self.embedded(tokens, types)))  # (B, T, d_model)
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def embedded(self, tokens: Int[Tensor, "B T"], types: Int[Tensor, "B T"] | None) -> Float[Tensor, "B T d_model"]:
        """Token, position and type, added up; unlike in the paper, nothing is multiplied by √d_model."""
        check_tokens("tokens", tokens)
        with known_ids(tokens, self.config.vocab_size):
            x = self.positions(F.embedding(tokens, self.tokens.weight))  # (B, T, d_model)
        return x + self.types(torch.zeros_like(tokens) if types is None else types)


def mean_pool(hidden: Float[Tensor, "B T d"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B d"]:
    """One vector for a text: the mean of its tokens' vectors, over the positions where the mask is True.

    A row without any gives zeros.
    """
    kept = mask[..., None]  # (B, T, 1): True counts as 1, False as 0
    at_least_float32 = torch.promote_types(hidden.dtype, torch.float32)
    means = (hidden * kept).sum(1, dtype=at_least_float32) / kept.sum(1).clamp(min=1)  # (B, d) / (B, 1)
    return means.to(hidden.dtype)
