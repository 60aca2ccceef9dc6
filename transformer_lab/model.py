"""The Transformer of 2017: sections 3.1 and 3.4 of "Attention Is All You Need"."""

from collections.abc import Callable
from math import sqrt
from pathlib import Path

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_lab.config import TransformerConfig
from transformer_lab.masks import decoder_mask, padding_mask
from transformer_lab.positions import SinusoidalPositions
from transformer_lab.storage import load_parameters, read_tensors

Mask = Bool[Tensor, "..."] | None


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each in a residual connection (Figure 1, left)."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.self_attention, self.feed_forward = config.attention(), config.feed_forward()
        self.residual_1, self.residual_2 = config.residual(), config.residual()

    def forward(self, x: Float[Tensor, "B S d_model"], mask: Mask = None) -> Float[Tensor, "B S d_model"]:
        x = self.residual_1(x, lambda y: self.self_attention(y, y, y, mask)[0])
        return self.residual_2(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention to the encoder's output, feed-forward (Figure 1, right)."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.self_attention, self.cross_attention = config.attention(), config.attention()
        self.feed_forward = config.feed_forward()
        self.residual_1, self.residual_2, self.residual_3 = config.residual(), config.residual(), config.residual()

    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        memory: Float[Tensor, "B S d_model"],
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
    ) -> Float[Tensor, "B T d_model"]:
        return self.sublayers(
            x,
            lambda y: self.self_attention(y, y, y, tgt_mask)[0],
            lambda y: self.cross_attention(y, memory, memory, memory_mask)[0],
        )

    def sublayers(
        self,
        x: Float[Tensor, "B T d_model"],
        to_itself: Callable[[Tensor], Tensor],
        to_memory: Callable[[Tensor], Tensor],
    ) -> Float[Tensor, "B T d_model"]:
        """The three residual connections, around any two attentions: a cache brings its own."""
        x = self.residual_1(x, to_itself)
        x = self.residual_2(x, to_memory)
        return self.residual_3(x, self.feed_forward)


class Encoder(nn.Module):
    """A stack of encoder layers."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.norm = config.final_norm()

    def forward(self, x: Float[Tensor, "B S d_model"], mask: Mask = None) -> Float[Tensor, "B S d_model"]:
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of decoder layers; each attends to the same memory, the encoder's output."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_layers))
        self.norm = config.final_norm()

    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        memory: Float[Tensor, "B S d_model"],
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
    ) -> Float[Tensor, "B T d_model"]:
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask)
        return self.norm(x)


class Embedding(nn.Module):
    """Token ids to vectors: embedding · √d_model + position, then dropout on the sum (§3.4, §3.5, §5.4).

    The first token has position `start`. The table starts at N(0, 1/d_model), so that the product has variance 1 in
    each feature, like the encoding's order.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)
        self.positions = SinusoidalPositions(config.max_len, config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, tokens: Int[Tensor, "B T"], start: int = 0) -> Float[Tensor, "B T d_model"]:
        return self.dropout(self.positions(self.tokens(tokens) * sqrt(self.tokens.embedding_dim), start))


class Transformer(nn.Module):
    """Source and target tokens to logits for the next target token; no softmax, the loss contains it.

    `forward` masks padding and, in the target, the future, so that neither can be forgotten. To experiment with
    other masks call `encode` and `decode`. Feed the target shifted right: position t predicts token t + 1.

    Raises:
        ValueError: sizes that do not go together, or a sequence longer than max_len.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.src_embedding, self.tgt_embedding = Embedding(config), Embedding(config)
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        self.to_logits = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_weights:
            self.src_embedding.tokens.weight = self.to_logits.weight = self.tgt_embedding.tokens.weight

    @classmethod
    def from_checkpoint(cls, path: str | Path) -> "Transformer":
        """The model in a file that `transformer_lab.training` wrote: on the CPU, in eval mode.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is damaged, or what is in it is no Transformer of its config.
        """
        tensors, about = read_tensors(path)
        if "config" not in about:
            raise ValueError(f"a checkpoint must contain the config of its model ({path} contains {sorted(about)})")
        model = cls(TransformerConfig.from_dict(about["config"]))
        weights = {name.removeprefix("model."): tensors[name] for name in tensors if name.startswith("model.")}
        load_parameters(model, weights)
        return model.eval()

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
    ) -> Float[Tensor, "B T vocab"]:
        return self.to_logits(self.decoder(self.tgt_embedding(tgt), memory, tgt_mask, memory_mask))
