"""Decoder-only language models: each token is predicted from those before it.

The model is the paper's with one half left out: no encoder, and so no cross-attention. GPT-2 (Radford et al., 2019,
"Language Models are Unsupervised Multitask Learners") is the default config: pre-norm, learned positions, one matrix
for embedding and output.
"""

from dataclasses import dataclass
from math import log
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_lab.attention import KVCache, MultiHeadAttention
from transformer_lab.blocks import LayerNorm
from transformer_lab.checks import check_tokens
from transformer_lab.masks import causal_mask
from transformer_lab.model import EncoderLayer, TransformerConfig, known_ids, stored_config
from transformer_lab.positions import LearnedPositions, rotate
from transformer_lab.storage import Stored, load_parameters, read_tensors

INIT_STD = 0.02  # of embeddings and positions, as in GPT-2: with a tied output, larger ones make the first guesses sure


@dataclass(frozen=True)
class LanguageModelConfig(TransformerConfig):
    """The sizes of a language model; the defaults are GPT-2 small, with its 124 439 808 parameters.

    `positions` says where they come in: "learned" vectors are added to the embeddings; "rotary" ones turn queries and
    keys in every attention (Su et al., 2021, "RoFormer", arXiv:2104.09864).

    Raises:
        ValueError: as TransformerConfig; `positions` is neither of the two.
    """

    vocab_size: int = 50257
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    n_layers: int = 12
    max_len: int = 1024
    attention_dropout: float = 0.1
    norm_first: bool = True
    activation: str = "gelu_tanh"
    positions: str = "learned"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.positions not in ATTENTIONS:
            raise ValueError(f"positions must be one of {', '.join(ATTENTIONS)} (got {self.positions!r})")


class RotaryAttention(MultiHeadAttention):
    """Attention that turns its queries and keys by their positions, so that a score knows their distance."""

    def placed(
        self, queries: Float[Tensor, "B h T d_head"], keys: Float[Tensor, "B h S d_head"], start: int
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B h S d_head"]]:
        return rotate(queries, start), rotate(keys, start)


ATTENTIONS: dict[str, type[MultiHeadAttention]] = {"learned": MultiHeadAttention, "rotary": RotaryAttention}


class LanguageModelLayer(EncoderLayer):
    """A decoder layer without cross-attention: what is left is an encoder layer, which is handed a causal mask."""

    def __init__(self, config: LanguageModelConfig):
        super().__init__(config)
        attention = ATTENTIONS[config.positions]
        self.self_attention = attention(config.d_model, config.n_heads, config.attention_dropout)


class LanguageModel(nn.Module):
    """Tokens to logits for the token after each of them; no softmax, the loss contains it.

    Position t sees positions 0 to t. So padding needs no mask, if it stands on the right: nothing before it can see it.
    The input is not shifted: `next_token_loss` compares position t with token t + 1.

    Raises:
        ValueError: sizes that do not go together, an unknown token, or a text longer than max_len.
    """

    def __init__(self, config: LanguageModelConfig):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=INIT_STD)
        self.positions = LearnedPositions(config.max_len, config.d_model) if config.positions == "learned" else None
        if self.positions is not None:
            nn.init.normal_(self.positions.encoding, std=INIT_STD)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(LanguageModelLayer(config) for _ in range(config.n_layers))
        self.norm = LayerNorm(config.d_model) if config.norm_first else nn.Identity()
        self.to_logits = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_weights:
            self.to_logits.weight = self.tokens.weight

    @classmethod
    def from_checkpoint(cls, path: str | Path) -> "LanguageModel":
        """The model in a file that `transformer_lab.training` wrote: on the CPU, in eval mode.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is damaged, or what is in it is no LanguageModel of its config.
        """
        return cls.from_stored(read_tensors(path))

    @classmethod
    def from_stored(cls, stored: Stored) -> "LanguageModel":
        """The model in a file that has been read; as `from_checkpoint`."""
        model = cls(stored_config(stored["config"], LanguageModelConfig))
        weights = {name: tensor for name, tensor in stored.tensors.items() if name.startswith("model.")}
        load_parameters(model, {name.removeprefix("model."): tensor for name, tensor in weights.items()})
        return model.eval()

    def forward(self, tokens: Int[Tensor, "B T"], cache: KVCache | None = None) -> Float[Tensor, "B T vocab"]:
        """With a cache, the tokens are those that follow what it has read."""
        start = 0 if cache is None else cache.length(self.get_submodule("layers.0.self_attention"))
        x = self.embedded(tokens, start)  # (B, T, d_model)
        mask = causal_mask(start + tokens.size(1), tokens.device)[start:]  # (T, start + T)
        for layer in self.layers:
            x = layer(x, mask, cache)
        return self.to_logits(self.norm(x))

    def embedded(self, tokens: Int[Tensor, "B T"], start: int) -> Float[Tensor, "B T d_model"]:
        """What goes into the first layer; the first token has position `start`. Without GPT-2's peers' √d_model."""
        check_tokens("tokens", tokens)
        if start + tokens.size(1) > self.config.max_len:
            longest = f"max_len ({self.config.max_len}) positions"
            raise ValueError(f"a sequence may have at most {longest} (got {start + tokens.size(1)})")
        with known_ids(tokens, self.config.vocab_size):
            x = F.embedding(tokens, self.tokens.weight)  # (B, T, d_model)
        return self.dropout(x if self.positions is None else self.positions(x, start))


def next_token_loss(logits: Float[Tensor, "B T vocab"], tokens: Int[Tensor, "B T"], pad_id: int) -> Float[Tensor, ""]:
    """Cross-entropy of each position's logits with the token that comes next, in nats.

    loss = -mean ln p(token_t+1 | token_0 … token_t), over the positions whose next token is not padding

    The last position has no next token, and its logits do not count. NaN if no next token is left.
    """
    guesses, truth = logits[:, :-1], tokens[:, 1:]  # (B, T - 1, vocab), (B, T - 1)
    return F.cross_entropy(guesses.flatten(0, 1), truth.flatten(), ignore_index=pad_id)


def perplexity(token_log_probs: Float[Tensor, "*axes"]) -> Float[Tensor, ""]:
    """Among how many equally probable tokens a model seems to choose: exp(-mean ln p).

    `token_log_probs` are the natural logarithms of the probabilities that it gave to the tokens of a text.

    Raises:
        ValueError: there is no token.
    """
    if not token_log_probs.numel():
        raise ValueError("perplexity must be that of at least one token (got none)")
    nats = -token_log_probs.sum() / token_log_probs.numel()  # the mean loss of a token
    return torch.exp(nats)


def bits_per_byte(nats: float, n_tokens: int, n_bytes: int) -> float:
    """The size of a text in bits, as the model would compress it, for each byte of the text: nats / ln 2 / n_bytes.

    `nats` is the loss of the whole text: -ln p, added up over its `n_tokens` tokens. How many these are does not
    matter, and that is the point: models with other tokens can be compared.

    Raises:
        ValueError: n_tokens or n_bytes is below 1.
    """
    if n_tokens < 1 or n_bytes < 1:
        raise ValueError(f"n_tokens ({n_tokens}) and n_bytes ({n_bytes}) must be at least 1")
    return nats / log(2) / n_bytes
