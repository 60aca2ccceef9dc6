"""Decoder-only language models: each token is predicted from those before it.

The model is the paper's with one half left out: no encoder, and so no cross-attention. GPT-2 (Radford et al., 2019,
"Language Models are Unsupervised Multitask Learners") is the default config: pre-norm, learned positions, one matrix
for embedding and output. What has changed since (Llama: Touvron et al., 2023, arXiv:2302.13971) are other values of the
same config: rotary positions, RMSNorm, SwiGLU, keys and values shared by groups of heads, no biases.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_lab.checks import check_groups, check_tokens
from transformer_lab.nn.attention import GroupedQueryAttention, MultiHeadAttention
from transformer_lab.nn.blocks import LayerNorm, RMSNorm, SwiGLU
from transformer_lab.nn.kv_cache import KVCache
from transformer_lab.nn.masks import causal_mask
from transformer_lab.nn.positions import LearnedPositions, RotaryPositions, SinusoidalPositions
from transformer_lab.nn.transformer import EncoderLayer, TransformerConfig, known_ids
from transformer_lab.storage import StoredModel

POSITIONS = ("learned", "rotary", "sinusoidal")
NORMS: dict[str, type[LayerNorm] | type[RMSNorm]] = {"layer_norm": LayerNorm, "rms_norm": RMSNorm}
FEED_FORWARDS = ("two_layers", "swiglu")
INIT_STD = 0.02  # of embeddings and positions, as in GPT-2: with a tied output, larger ones make the first guesses sure


@dataclass(frozen=True)
class LanguageModelConfig(TransformerConfig):
    """The sizes of a language model; the defaults are GPT-2 small, with its 124 439 808 parameters.

    `positions` says where they come in: "learned" vectors are added to the embeddings; "sinusoidal" ones, the paper's,
    to the embeddings times √d_model (§3.4, §3.5); "rotary" ones turn queries and keys in every attention (Su et al.,
    2021, "RoFormer", arXiv:2104.09864), by angles that `rotary_base` sets. `norm` is "layer_norm" or "rms_norm";
    `feed_forward` is "two_layers" with the activation between, or "swiglu", whose activation is silu. With `n_kv_heads`
    above 0, the heads share keys and values in that many groups; with 0, each head has its own.

    Raises:
        ValueError: as TransformerConfig; a name is not among these; n_heads is not a multiple of n_kv_heads; the
            activation of "swiglu" is not silu.
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
    rotary_base: float = 10000.0
    norm: str = "layer_norm"
    norm_eps: float = 1e-5
    feed_forward: str = "two_layers"
    n_kv_heads: int = 0
    bias: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("positions", POSITIONS), ("norm", [*NORMS]), ("feed_forward", FEED_FORWARDS)):
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)} (got {value!r})")
        if self.feed_forward == "swiglu" and self.activation != "silu":
            raise ValueError(f"the activation of swiglu must be silu (got {self.activation!r})")
        if self.n_kv_heads:
            check_groups(self.n_heads, self.n_kv_heads)


class RotaryAttention(GroupedQueryAttention):
    """Attention that turns its queries and keys by their positions, so that a score knows their distance.

    The attentions of a model share one `RotaryPositions`, and so one table.

    Raises:
        ValueError: as GroupedQueryAttention; the positions are for heads of another size.
    """

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, positions: RotaryPositions, dropout: float = 0.0):
        super().__init__(d_model, n_heads, n_kv_heads, dropout)
        if positions.d_head != d_model // n_heads:
            raise ValueError(f"positions must turn heads of d_head {d_model // n_heads} (got {positions.d_head})")
        self.positions = positions

    def apply_positions(
        self, queries: Float[Tensor, "B h T d_head"], keys: Float[Tensor, "B g S d_head"], start: int
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
        return self.positions(queries, keys, start)


def attention_of(config: LanguageModelConfig, rotary: RotaryPositions | None) -> MultiHeadAttention:
    """The attention that a config asks for."""
    n_kv_heads = config.n_kv_heads or config.n_heads
    if rotary is not None:
        return RotaryAttention(config.d_model, config.n_heads, n_kv_heads, rotary, config.attention_dropout)
    if n_kv_heads < config.n_heads:
        return GroupedQueryAttention(config.d_model, config.n_heads, n_kv_heads, config.attention_dropout)
    return MultiHeadAttention(config.d_model, config.n_heads, config.attention_dropout)


def positions_of(config: LanguageModelConfig) -> LearnedPositions | SinusoidalPositions | None:
    """What a config adds to the embeddings: nothing, if positions are rotary."""
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.max_len, config.d_model)
    if config.positions == "learned":
        positions = LearnedPositions(config.max_len, config.d_model)
        nn.init.normal_(positions.encoding, std=INIT_STD)
        return positions
    return None


def rotary_of(config: LanguageModelConfig) -> RotaryPositions | None:
    """What the attentions of a model turn queries and keys by: nothing, unless positions are rotary."""
    if config.positions != "rotary":
        return None
    return RotaryPositions(config.max_len, config.d_model // config.n_heads, config.rotary_base)


def norm_of(config: LanguageModelConfig) -> LayerNorm | RMSNorm:
    """The norm that a config asks for."""
    return NORMS[config.norm](config.d_model, config.norm_eps)


def drop_biases(module: nn.Module) -> None:
    """Leave every linear layer in a module, and every norm, without a bias."""
    for part in module.modules():
        if getattr(part, "bias", None) is not None:
            part.register_parameter("bias", None)


class LanguageModelLayer(EncoderLayer):
    """A decoder layer without cross-attention: what is left is an encoder layer, which is handed a causal mask."""

    def __init__(self, config: LanguageModelConfig, rotary: RotaryPositions | None):
        super().__init__(config)
        self.self_attention = attention_of(config, rotary)
        if config.feed_forward == "swiglu":
            self.feed_forward = SwiGLU(config.d_model, config.d_ff)
        self.residual_1.norm, self.residual_2.norm = norm_of(config), norm_of(config)
        if not config.bias:
            drop_biases(self)


class LanguageModel(StoredModel):
    """Tokens to logits for the token after each of them; no softmax, the loss contains it.

    Position t sees positions 0 to t. So padding needs no mask, if it stands on the right: nothing before it can see it.
    The input is not shifted: `next_token_loss` compares position t with token t + 1.

    Raises:
        ValueError: sizes that do not go together, an unknown token, or a text longer than max_len.
    """

    config_class = LanguageModelConfig

    def __init__(self, config: LanguageModelConfig):
        super().__init__()
        self.config = config
        self.scale = config.d_model**0.5 if config.positions == "sinusoidal" else 1.0  # of embeddings
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=INIT_STD if self.scale == 1 else 1 / self.scale)
        self.positions = positions_of(config)
        self.dropout = nn.Dropout(config.dropout)
        rotary = rotary_of(config)
        self.layers = nn.ModuleList(LanguageModelLayer(config, rotary) for _ in range(config.n_layers))
        self.norm: nn.Module = norm_of(config) if config.norm_first else nn.Identity()
        self.to_logits = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_weights:
            self.to_logits.weight = self.tokens.weight

    def tied_parts(self) -> list[nn.Embedding | nn.Linear]:
        return [self.tokens, self.to_logits] if self.config.tie_weights else []

    def forward(self, tokens: Int[Tensor, "B T"], cache: KVCache | None = None) -> Float[Tensor, "B T vocab"]:
        """With a cache, the tokens are those that follow what it has read."""
        start = 0 if cache is None else cache.length
        x = self.embedded(tokens, start)  # (B, T, d_model)
        mask = None  # one token, the last, sees all that has been read
        if tokens.size(1) > 1:
            mask = causal_mask(start + tokens.size(1), tokens.device)[start:]  # (T, start + T)
        for i, layer in enumerate(self.layers):
            x = layer(x, mask, None if cache is None else cache.layer(i))
        return self.to_logits(self.norm(x))

    def embedded(self, tokens: Int[Tensor, "B T"], start: int) -> Float[Tensor, "B T d_model"]:
        """What goes into the first layer; the first token has position `start`."""
        check_tokens("tokens", tokens)
        if start + tokens.size(1) > self.config.max_len:
            longest = f"max_len ({self.config.max_len}) positions"
            raise ValueError(f"a sequence may have at most {longest} (got {start + tokens.size(1)})")
        with known_ids(tokens, self.config.vocab_size):
            x = F.embedding(tokens, self.tokens.weight) * self.scale  # (B, T, d_model)
        return self.dropout(x if self.positions is None else self.positions(x, start))
