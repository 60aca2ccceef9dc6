"""Transformer Lab: the reference implementations behind the notebooks, and the tools that teach with them.

In reading order: `nn` has the parts of the Transformer of 2017, `models` what is made of them, `decoding` turns logits
into text, `weights` opens what others have trained, `kernels` computes the same faster; `data` and `training` make
models learn, `distributed` on many machines; `analysis` says what they do, `plots` and `widgets` show it; `exercises`
check a learner's code, `grading` a class's. All of them lean on `checks`, `device`, `files` and `storage`; `cli` is the
command `transformer-lab`, and `console` has what every command says reach the screen.

A name loads its module when it is first asked for: `transformer-lab --help` needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformer_lab.decoding.batched import beam, greedy, sample
    from transformer_lab.decoding.cached_decoder import CachedDecoder, start_decoder
    from transformer_lab.decoding.completion import complete, token_log_probs
    from transformer_lab.decoding.single import beam_search, greedy_decode, top_k_filter, top_p_filter
    from transformer_lab.decoding.speculation import Speculation, residual_distribution, speculative
    from transformer_lab.device import default_device
    from transformer_lab.kernels.tiled_attention import (
        attention_backward,
        merge_partial,
        online_softmax,
        tiled_attention,
    )
    from transformer_lab.models.attention_only import AttentionOnly
    from transformer_lab.models.experts import MixtureOfExperts, balance_loss, record_routing, route
    from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig
    from transformer_lab.models.since_llama.delta_chunks import chunked_delta_rule
    from transformer_lab.models.since_llama.delta_rule import GatedDeltaNet, delta_rule
    from transformer_lab.models.since_llama.gated_attention import GatedAttention
    from transformer_lab.models.since_llama.latent_attention import LatentAttention, latent_attention
    from transformer_lab.models.since_llama.linear_attention import linear_attention
    from transformer_lab.models.since_llama.open_model import OpenModel, OpenModelConfig
    from transformer_lab.models.since_llama.qk_norm import QKNorm, qk_norm
    from transformer_lab.models.since_llama.routing import SigmoidExperts, sigmoid_route
    from transformer_lab.models.since_llama.sinks import SinkAttention, sink_attention
    from transformer_lab.models.since_llama.sliding_window import SlidingWindowLayer, sliding_window_mask
    from transformer_lab.models.since_llama.soft_cap import soft_cap
    from transformer_lab.models.text_encoder import TextEncoder, TextEncoderConfig, mean_pool
    from transformer_lab.nn.attention import (
        AttentionHead,
        GroupedQueryAttention,
        MultiHeadAttention,
        cached_attention,
        grouped_query_attention,
        masked_softmax,
        merge_heads,
        multi_head_attention,
        scaled_dot_product_attention,
        softmax,
        split_heads,
    )
    from transformer_lab.nn.blocks import (
        FeedForward,
        LayerNorm,
        PreNormResidual,
        Residual,
        RMSNorm,
        SwiGLU,
        layer_norm,
        residual_block,
        rms_norm,
        swiglu,
    )
    from transformer_lab.nn.kv_cache import KVCache
    from transformer_lab.nn.losses import bits_per_byte, next_token_loss, perplexity
    from transformer_lab.nn.masks import causal_mask, decoder_mask, padding_mask
    from transformer_lab.nn.positions import (
        LearnedPositions,
        SinusoidalPositions,
        alibi_bias,
        rotate,
        shift_matrix,
        sinusoidal_encoding,
    )
    from transformer_lab.nn.recording import record_attention
    from transformer_lab.nn.transformer import (
        Decoder,
        DecoderLayer,
        Embedding,
        Encoder,
        EncoderLayer,
        Transformer,
        TransformerConfig,
        decoder_layer,
        embed,
        encoder_layer,
    )
    from transformer_lab.training.after_pretraining import (
        answer_loss,
        clipped_objective,
        dpo_loss,
        group_advantages,
        lora_forward,
        pass_at_k,
        verifies,
    )

__version__ = "0.2.0"

__all__ = [
    "AttentionHead",
    "AttentionOnly",
    "CachedDecoder",
    "Decoder",
    "DecoderLayer",
    "Embedding",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "GatedAttention",
    "GatedDeltaNet",
    "GroupedQueryAttention",
    "KVCache",
    "LanguageModel",
    "LanguageModelConfig",
    "LatentAttention",
    "LayerNorm",
    "LearnedPositions",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "OpenModel",
    "OpenModelConfig",
    "PreNormResidual",
    "QKNorm",
    "RMSNorm",
    "Residual",
    "SigmoidExperts",
    "SinkAttention",
    "SinusoidalPositions",
    "SlidingWindowLayer",
    "Speculation",
    "SwiGLU",
    "TextEncoder",
    "TextEncoderConfig",
    "Transformer",
    "TransformerConfig",
    "alibi_bias",
    "answer_loss",
    "attention_backward",
    "balance_loss",
    "beam",
    "beam_search",
    "bits_per_byte",
    "cached_attention",
    "causal_mask",
    "chunked_delta_rule",
    "clipped_objective",
    "complete",
    "decoder_layer",
    "decoder_mask",
    "default_device",
    "delta_rule",
    "dpo_loss",
    "embed",
    "encoder_layer",
    "greedy",
    "greedy_decode",
    "group_advantages",
    "grouped_query_attention",
    "latent_attention",
    "layer_norm",
    "linear_attention",
    "lora_forward",
    "masked_softmax",
    "mean_pool",
    "merge_heads",
    "merge_partial",
    "multi_head_attention",
    "next_token_loss",
    "online_softmax",
    "padding_mask",
    "pass_at_k",
    "perplexity",
    "qk_norm",
    "record_attention",
    "record_routing",
    "residual_block",
    "residual_distribution",
    "rms_norm",
    "rotate",
    "route",
    "sample",
    "scaled_dot_product_attention",
    "shift_matrix",
    "sigmoid_route",
    "sink_attention",
    "sinusoidal_encoding",
    "sliding_window_mask",
    "soft_cap",
    "softmax",
    "speculative",
    "split_heads",
    "start_decoder",
    "swiglu",
    "tiled_attention",
    "token_log_probs",
    "top_k_filter",
    "top_p_filter",
    "verifies",
]

MODULES = (
    "device",
    "nn.kv_cache",
    "nn.attention",
    "nn.masks",
    "nn.positions",
    "nn.blocks",
    "nn.transformer",
    "nn.losses",
    "nn.recording",
    "models.language_model",
    "models.text_encoder",
    "models.attention_only",
    "models.experts",
    "models.since_llama.qk_norm",
    "models.since_llama.soft_cap",
    "models.since_llama.sliding_window",
    "models.since_llama.sinks",
    "models.since_llama.gated_attention",
    "models.since_llama.latent_attention",
    "models.since_llama.linear_attention",
    "models.since_llama.delta_rule",
    "models.since_llama.delta_chunks",
    "models.since_llama.routing",
    "models.since_llama.open_model",
    "decoding.single",
    "decoding.cached_decoder",
    "decoding.batched",
    "decoding.completion",
    "decoding.speculation",
    "kernels.tiled_attention",
    "training.after_pretraining",
)  # which define the names above

if not TYPE_CHECKING:  # a checker reads the imports above, and knows every other name for wrong

    def __getattr__(name: str) -> object:
        if name in __all__:
            homes = (import_module(f"{__name__}.{module}") for module in MODULES)
            globals()[name] = next(getattr(home, name) for home in homes if hasattr(home, name))
            return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
