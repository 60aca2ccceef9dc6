"""The embedding of tokens, with their positions (§3.4, §3.5)."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_lab.checks import check_tokens
from transformer_lab.nn.positions import SinusoidalPositions
from transformer_lab.nn.transformer.config import TransformerConfig


def embed(
    tokens: Int[Tensor, "B T"], table: Float[Tensor, "vocab d_model"], encoding: Float[Tensor, "max_len d_model"]
) -> Float[Tensor, "B T d_model"]:
    """Token ids to vectors: embedding · √d_model + position (§3.4, §3.5).

    The table has a row for each token, the encoding a row for each position, that of the first token first.
    """
    vectors = F.embedding(tokens, table) * table.size(1) ** 0.5  # (B, T, d_model): a row of the table for each token
    return vectors + encoding[: tokens.size(1)]  # (T, d_model): the same positions in every sentence


class Embedding(nn.Module):
    """`embed` with its table and encoding, then dropout on the sum (§5.4).

    The first token has position `start`. The table starts at N(0, 1/d_model), so that the product has variance 1 in
    each feature, like the encoding's order.

    Raises:
        ValueError: tokens is no (B, T) of token ids, or longer than max_len; on a CPU also where an id is no row of the
            table (a GPU then fails with an assertion of its own).
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)
        self.positions = SinusoidalPositions(config.max_len, config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, tokens: Int[Tensor, "B T"], start: int = 0) -> Float[Tensor, "B T d_model"]:
        check_tokens("tokens", tokens)
        encoding = self.positions.rows(start, tokens.size(1), like=self.tokens.weight)  # (T, d_model)
        with known_ids(tokens, self.tokens.num_embeddings):
            return self.dropout(embed(tokens, self.tokens.weight, encoding))


@contextmanager
def known_ids(tokens: Int[Tensor, "B T"], n_known: int) -> Iterator[None]:
    """Within the block, a token look-up's IndexError ("index out of range in self") becomes a precise ValueError."""
    try:
        yield
    except IndexError:
        rule = f"token ids must be from 0 to {n_known - 1}"
        raise ValueError(f"{rule} (got {tokens.min()} to {tokens.max()})") from None
