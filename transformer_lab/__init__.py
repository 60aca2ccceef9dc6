"""Transformer Lab: the reference implementations behind the notebooks.

Read the modules in this order: attention, masks, positions, blocks, config, model, cache, decoding, tokenizer, tasks,
training.
"""

from transformer_lab.attention import (
    AttentionHead,
    MultiHeadAttention,
    masked_softmax,
    record_attention,
    scaled_dot_product_attention,
)
from transformer_lab.blocks import FeedForward, LayerNorm, PreNormResidual, Residual, layer_norm
from transformer_lab.cache import CachedCrossAttention, CachedDecoder, CachedSelfAttention
from transformer_lab.config import TransformerConfig
from transformer_lab.decoding import beam_search, greedy, sample, top_k_filter, top_p_filter
from transformer_lab.device import default_device
from transformer_lab.masks import causal_mask, decoder_mask, padding_mask
from transformer_lab.model import (
    Decoder,
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderLayer,
    Transformer,
)
from transformer_lab.positions import (
    LearnedPositions,
    SinusoidalPositions,
    alibi_bias,
    rotate,
    shift_matrix,
    sinusoidal_encoding,
)

__all__ = [
    "AttentionHead",
    "CachedCrossAttention",
    "CachedDecoder",
    "CachedSelfAttention",
    "Decoder",
    "DecoderLayer",
    "Embedding",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "LayerNorm",
    "LearnedPositions",
    "MultiHeadAttention",
    "PreNormResidual",
    "Residual",
    "SinusoidalPositions",
    "Transformer",
    "TransformerConfig",
    "alibi_bias",
    "beam_search",
    "causal_mask",
    "decoder_mask",
    "default_device",
    "greedy",
    "layer_norm",
    "masked_softmax",
    "padding_mask",
    "record_attention",
    "rotate",
    "sample",
    "scaled_dot_product_attention",
    "shift_matrix",
    "sinusoidal_encoding",
    "top_k_filter",
    "top_p_filter",
]
