"""Language models of attention alone, small enough to be read weight by weight.

The models of Elhage et al., 2021, "A Mathematical Framework for Transformer Circuits": no feed-forward networks and no
norms. So what a position holds is a sum, of its embedding and of what each head of each layer has added to it.
"""

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_lab.checks import check_least, check_tokens
from transformer_lab.models.language_model import RotaryAttention
from transformer_lab.nn.attention import MultiHeadAttention
from transformer_lab.nn.masks import causal_mask
from transformer_lab.nn.positions import LearnedPositions, RotaryPositions
from transformer_lab.nn.transformer import known_ids

POSITIONS = ("learned", "rotary")


class AttentionOnlyLayer(nn.Module):
    """Attention and the way around it, x + Attention(x, x, x): each head adds to what a position holds."""

    def __init__(self, d_model: int, n_heads: int, rotary: RotaryPositions | None):
        super().__init__()
        self.self_attention = (
            RotaryAttention(d_model, n_heads, n_heads, rotary) if rotary else MultiHeadAttention(d_model, n_heads)
        )

    def forward(self, x: Float[Tensor, "B T d_model"], mask: Bool[Tensor, "T T"]) -> Float[Tensor, "B T d_model"]:
        return x + self.self_attention(x, x, x, mask)[0]


class AttentionOnly(nn.Module):
    """Tokens to logits for the token after each of them, through layers of attention and nothing else.

    `positions` are two of those of LanguageModelConfig: "rotary" ones turn queries and keys, "learned" ones are added
    to the embeddings, for at most max_len positions. The output has a matrix of its own.

    Raises:
        ValueError: sizes that do not go together, an unknown token, a text longer than max_len with learned positions.
    """

    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int, n_layers: int, positions: str = "rotary", max_len: int = 64
    ):
        super().__init__()
        check_least(1, vocab_size=vocab_size, d_model=d_model, n_heads=n_heads, n_layers=n_layers)
        if positions not in POSITIONS:
            raise ValueError(f"positions must be one of {', '.join(POSITIONS)} (got {positions!r})")
        self.tokens = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.tokens.weight, std=d_model**-0.5)
        self.positions = LearnedPositions(max_len, d_model) if positions == "learned" else None
        rotary = RotaryPositions(max_len, d_model // n_heads) if positions == "rotary" else None
        self.layers = nn.ModuleList(AttentionOnlyLayer(d_model, n_heads, rotary) for _ in range(n_layers))
        self.norm = nn.Identity()  # a LanguageModel has one here, and the logit lens asks for it
        self.to_logits = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T vocab"]:
        check_tokens("tokens", tokens)
        with known_ids(tokens, self.tokens.num_embeddings):
            x = F.embedding(tokens, self.tokens.weight)  # (B, T, d_model)
        x = x if self.positions is None else self.positions(x)
        mask = causal_mask(tokens.size(1), tokens.device)  # (T, T)
        for layer in self.layers:
            x = layer(x, mask)
        return self.to_logits(self.norm(x))
