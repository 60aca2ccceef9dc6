"""A language model that is handed its layers, which may all differ: what the open models since Llama are built on."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from transformer_lab.models.language_model import INIT_STD, LanguageModel, LanguageModelConfig
from transformer_lab.storage import Stored, StoredModel


@dataclass(frozen=True)
class OpenModelConfig(LanguageModelConfig):
    """The sizes of a model that is handed its layers; `family` says whose design they follow, such as "mistral".

    What each layer does is said by the layer itself.
    """

    family: str = ""


class OpenModel(LanguageModel):
    """A `LanguageModel` of any layers that are called as `layer(x, mask, cache)`, and a norm behind the last of them.

    Embeddings are multiplied by `scale`; `to_logits` may be another linear layer, such as a `CappedLinear`. Whatever
    takes a LanguageModel takes this one, too; but a checkpoint can't hold it, because its config does not say what its
    layers are.

    Raises:
        ValueError: there are not as many layers as the config says; and as LanguageModel.
    """

    config_class = OpenModelConfig

    def __init__(
        self,
        config: OpenModelConfig,
        layers: Sequence[nn.Module],
        norm: nn.Module,
        scale: float = 1.0,
        to_logits: nn.Linear | None = None,
    ):
        StoredModel.__init__(self)
        if len(layers) != config.n_layers:
            raise ValueError(f"a model must be handed its n_layers ({config.n_layers}) layers (got {len(layers)})")
        self.config, self.scale = config, scale
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=INIT_STD / scale)
        self.positions, self.dropout = None, nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(layers)
        self.norm = norm
        self.to_logits = to_logits or nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_weights:
            self.to_logits.weight = self.tokens.weight

    @classmethod
    def from_stored(cls, stored: Stored) -> "OpenModel":
        """No checkpoint holds such a model: always a ValueError."""
        raise ValueError(f"an OpenModel must be opened by published.load, from its family's folder (got {stored.path})")
