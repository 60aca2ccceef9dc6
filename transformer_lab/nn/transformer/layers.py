"""The layers of encoder and decoder, as functions and as modules with weights, and the stacks of them (§3.1)."""

from collections.abc import Callable

from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_lab.nn.attention import MultiHeadAttention
from transformer_lab.nn.blocks import FeedForward, LayerNorm, PreNormResidual, Residual
from transformer_lab.nn.kv_cache import KVCache, LayerCache
from transformer_lab.nn.transformer.config import ACTIVATIONS, TransformerConfig

Mask = Bool[Tensor, "..."] | None


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
        self, x: Float[Tensor, "B T d_model"], mask: Mask = None, cache: LayerCache | None = None
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
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "B T d_model"]:
        of_memory = None if cache is None else cache.memory
        unread = memory if of_memory is None else memory[:, of_memory.length :]  # (B, S or 0, d_model)
        x = self.residual_1(x, lambda y: self.self_attention(y, y, y, tgt_mask, cache=cache)[0])
        x = self.residual_2(x, lambda y: self.cross_attention(y, unread, unread, memory_mask, cache=of_memory)[0])
        return self.residual_3(x, self.feed_forward)


class Encoder(nn.Module):
    """A stack of encoder layers; pre-norm layers are followed by a final norm, because their sum is not normalised."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.norm = LayerNorm(config.d_model) if config.norm_first else nn.Identity()

    def forward(self, x: Float[Tensor, "B T d_model"], mask: Mask = None) -> Float[Tensor, "B T d_model"]:
        for layer in self.layers:
            x = layer(x, mask)
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
        for i, layer in enumerate(self.layers):
            x = layer(x, memory, tgt_mask, memory_mask, None if cache is None else cache.layer(i))
        return self.norm(x)
