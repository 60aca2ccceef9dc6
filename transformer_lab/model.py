"""The Transformer of 2017: sections 3.1 and 3.4 of "Attention Is All You Need"."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_lab.attention import KVCache, MultiHeadAttention
from transformer_lab.blocks import FeedForward, LayerNorm, PreNormResidual, Residual
from transformer_lab.checks import check_least, check_probability, check_tokens
from transformer_lab.masks import decoder_mask, padding_mask
from transformer_lab.positions import SinusoidalPositions
from transformer_lab.storage import StoredModel

Mask = Bool[Tensor, "..."] | None
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
        for name, kind in ((field.name, field.type) for field in fields(self)):
            value = getattr(self, name)
            if not isinstance(value, (int, float) if kind is float else kind):  # type: ignore[arg-type]
                rule = f"{name} of a {type(self).__name__} must be {kind.__name__}"  # type: ignore[union-attr]
                raise ValueError(f"{rule} (got {value!r})")
        check_least(1, vocab_size=self.vocab_size, d_model=self.d_model, n_heads=self.n_heads, d_ff=self.d_ff)
        check_least(1, n_layers=self.n_layers, max_len=self.max_len)
        check_least(0, pad_id=self.pad_id)
        check_probability(dropout=self.dropout, attention_dropout=self.attention_dropout)
        if self.pad_id >= self.vocab_size:
            raise ValueError(f"pad_id ({self.pad_id}) must be below vocab_size ({self.vocab_size})")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)} (got {self.activation!r})")


def embed(
    tokens: Int[Tensor, "B T"], table: Float[Tensor, "vocab d_model"], encoding: Float[Tensor, "max_len d_model"]
) -> Float[Tensor, "B T d_model"]:
    """Token ids to vectors: embedding · √d_model + position (§3.4, §3.5).

    The table has a row for each token, the encoding a row for each position, that of the first token first.
    """
    vectors = F.embedding(tokens, table) * table.size(1) ** 0.5  # (B, T, d_model): a row of the table for each token
    return vectors + encoding[: tokens.size(1)]  # (T, d_model): the same positions in every sentence


def encoder_layer(
    x: Float[Tensor, "B T d_model"],
    self_attention: Callable[[Tensor, Tensor, Tensor, Mask], Tensor],
    feed_forward: Callable[[Tensor], Tensor],
    norm_1: Callable[[Tensor], Tensor],
    norm_2: Callable[[Tensor], Tensor],
    mask: Mask,
) -> Float[Tensor, "B T d_model"]:
    """One layer of the encoder, post-norm: self-attention, then feed-forward, each as norm(x + sublayer(x)) (§3.1).

    `self_attention(query, key, value, mask)` returns the output alone, no weights; `norm_1` belongs to it, `norm_2` to
    the feed-forward network.
    """
    x = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(x))


def decoder_layer(
    x: Float[Tensor, "B T d_model"],
    memory: Float[Tensor, "B S d_model"],
    self_attention: Callable[[Tensor, Tensor, Tensor, Mask], Tensor],
    cross_attention: Callable[[Tensor, Tensor, Tensor, Mask], Tensor],
    feed_forward: Callable[[Tensor], Tensor],
    norm_1: Callable[[Tensor], Tensor],
    norm_2: Callable[[Tensor], Tensor],
    norm_3: Callable[[Tensor], Tensor],
    tgt_mask: Mask,
    memory_mask: Mask,
) -> Float[Tensor, "B T d_model"]:
    """One layer of the decoder, post-norm: self-attention, cross-attention, feed-forward (§3.1).

    memory is the encoder's output. Both attentions are called as `attention(query, key, value, mask)` and return the
    output alone, no weights. `norm_1`, `norm_2` and `norm_3` belong to the three sub-layers in this order.
    """
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


class EncoderLayer(nn.Module):
    """`encoder_layer` with its weights and dropout, post-norm or, if the config says norm_first, pre-norm."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.n_heads, config.attention_dropout)
        self.feed_forward: nn.Module = FeedForward(config.d_model, config.d_ff, ACTIVATIONS[config.activation])
        residual = PreNormResidual if config.norm_first else Residual
        self.residual_1 = residual(config.d_model, config.dropout)
        self.residual_2 = residual(config.d_model, config.dropout)

    def forward(
        self, x: Float[Tensor, "B T d_model"], mask: Mask = None, cache: KVCache | None = None
    ) -> Float[Tensor, "B T d_model"]:
        x = self.residual_1(x, lambda y: self.self_attention(y, y, y, mask, cache=cache)[0])
        return self.residual_2(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """`decoder_layer` with its weights and dropout, post-norm or, if the config says norm_first, pre-norm.

    A cache holds the memory from the first call on; it is not read again.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.n_heads, config.attention_dropout)
        self.cross_attention = MultiHeadAttention(config.d_model, config.n_heads, config.attention_dropout)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, ACTIVATIONS[config.activation])
        residual = PreNormResidual if config.norm_first else Residual
        self.residual_1 = residual(config.d_model, config.dropout)
        self.residual_2 = residual(config.d_model, config.dropout)
        self.residual_3 = residual(config.d_model, config.dropout)

    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        memory: Float[Tensor, "B S d_model"],
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B T d_model"]:
        unread = memory if cache is None else memory[:, cache.length(self.cross_attention) :]  # (B, S or 0, d_model)
        x = self.residual_1(x, lambda y: self.self_attention(y, y, y, tgt_mask, cache=cache)[0])
        x = self.residual_2(x, lambda y: self.cross_attention(y, unread, unread, memory_mask, cache=cache)[0])
        return self.residual_3(x, self.feed_forward)


class Encoder(nn.Module):
    """A stack of encoder layers; after pre-norm layers comes a norm, for their sum has none yet."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.norm = LayerNorm(config.d_model) if config.norm_first else nn.Identity()

    def forward(
        self, x: Float[Tensor, "B T d_model"], mask: Mask = None, cache: KVCache | None = None
    ) -> Float[Tensor, "B T d_model"]:
        for layer in self.layers:
            x = layer(x, mask, cache)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of decoder layers; each attends to the same memory, the encoder's output."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_layers))
        self.norm = LayerNorm(config.d_model) if config.norm_first else nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        memory: Float[Tensor, "B S d_model"],
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B T d_model"]:
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask, cache)
        return self.norm(x)


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
    """A block that looks tokens up: its IndexError ("index out of range in self") becomes a ValueError with numbers."""
    try:
        yield
    except IndexError:
        rule = f"token ids must be from 0 to {n_known - 1}"
        raise ValueError(f"{rule} (got {tokens.min()} to {tokens.max()})") from None


class Transformer(StoredModel):
    """Source and target tokens to logits for the next target token; no softmax, the loss contains it.

    `forward` masks padding and, in the target, the future, so that neither can be forgotten. To experiment with
    other masks call `encode` and `decode`. Feed the target shifted right: position t predicts token t + 1.

    Raises:
        ValueError: sizes that do not go together, or a sequence longer than max_len.
    """

    config_class = TransformerConfig

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.src_embedding, self.tgt_embedding = Embedding(config), Embedding(config)
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        self.to_logits = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_weights:
            self.src_embedding.tokens.weight = self.to_logits.weight = self.tgt_embedding.tokens.weight

    def forward(self, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T vocab"]:
        src_mask, tgt_mask = padding_mask(src, self.config.pad_id), decoder_mask(tgt, self.config.pad_id)
        return self.decode(tgt, self.encode(src, src_mask), tgt_mask, src_mask)

    def encode(self, src: Int[Tensor, "B S"], src_mask: Mask = None) -> Float[Tensor, "B S d_model"]:
        return self.encoder(self.src_embedding(src), src_mask)

    def decode(
        self,
        tgt: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S d_model"],
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B T vocab"]:
        """Logits after each token of the target. With a cache, tgt is what follows the tokens that it has read."""
        start = 0 if cache is None else cache.length(self.decoder.get_submodule("layers.0.self_attention"))
        x = self.tgt_embedding(tgt, start)  # (B, T, d_model)
        return self.to_logits(self.decoder(x, memory, tgt_mask, memory_mask, cache))
