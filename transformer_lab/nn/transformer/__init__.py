"""The Transformer of 2017: sections 3.1 and 3.4 of "Attention Is All You Need".

Read `config`, `embedding`, `layers`, then `transformer`; all of their names are here, too.
"""

from transformer_lab.nn.transformer.config import ACTIVATIONS, TransformerConfig
from transformer_lab.nn.transformer.embedding import Embedding, embed, known_ids
from transformer_lab.nn.transformer.layers import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    Mask,
    decoder_layer,
    encoder_layer,
)
from transformer_lab.nn.transformer.transformer import Transformer

__all__ = [
    "ACTIVATIONS",
    "Decoder",
    "DecoderLayer",
    "Embedding",
    "Encoder",
    "EncoderLayer",
    "Mask",
    "Transformer",
    "TransformerConfig",
    "decoder_layer",
    "embed",
    "encoder_layer",
    "known_ids",
]
