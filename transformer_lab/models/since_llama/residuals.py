"""Other places for the norms around a sub-layer: behind it, or on both sides."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.nn.blocks import LayerNorm, Residual


class SublayerNormResidual(Residual):
    """The norm behind the sub-layer and before the sum, so that x itself is still never touched.

    x + Dropout(Norm(Sublayer(x)))        (OLMo 2: OLMo et al., 2024, arXiv:2501.00656)

    The length of what a sub-layer adds is then set by the norm's weight, whatever the sub-layer was handed.
    """

    def forward(
        self, x: Float[Tensor, "B T d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B T d_model"]:
        return x + self.dropout(self.norm(sublayer(x)))


class SandwichResidual(Residual):
    """A norm in front of the sub-layer, and another one behind it.

    x + Dropout(Norm_2(Sublayer(Norm(x))))        (Ding et al., 2021, "CogView", arXiv:2105.13290, section 2.4;
    Gemma 3, arXiv:2503.19786)
    """

    def __init__(self, d_model: int, dropout: float = 0.0):
        super().__init__(d_model, dropout)
        self.norm_2: nn.Module = LayerNorm(d_model)

    def forward(
        self, x: Float[Tensor, "B T d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B T d_model"]:
        return x + self.dropout(self.norm_2(sublayer(self.norm(x))))
