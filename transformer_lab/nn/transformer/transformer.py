"""The whole Transformer: source and target in, logits out."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_lab.nn.kv_cache import KVCache
from transformer_lab.nn.masks import decoder_mask, padding_mask
from transformer_lab.nn.transformer.config import TransformerConfig
from transformer_lab.nn.transformer.embedding import Embedding
from transformer_lab.nn.transformer.layers import Decoder, Encoder, Mask
from transformer_lab.storage import StoredModel


class Transformer(StoredModel):
    """Source and target tokens to logits for the next target token, without softmax, which is part of the loss.

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

    def tied_parts(self) -> list[nn.Embedding | nn.Linear]:
        return [self.src_embedding.tokens, self.tgt_embedding.tokens, self.to_logits] if self.config.tie_weights else []

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
        """The logits after each token of the target. With a cache, tgt contains only the tokens not read yet."""
        start = 0 if cache is None else cache.length
        x = self.tgt_embedding(tgt, start)  # (B, T, d_model)
        return self.to_logits(self.decoder(x, memory, tgt_mask, memory_mask, cache))
