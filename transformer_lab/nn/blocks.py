"""The other parts of a layer: feed-forward (§3.3), layer normalisation and residual connection (§3.1, §5.4)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.checks import check_least
from transformer_lab.nn.attention import xavier_linear


class FeedForward(nn.Module):
    """Two linear layers with a non-linearity in between, applied to each position separately.

    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2        (§3.3, equation 2)

    `activation` may be any function of a tensor: F.relu (the paper's), F.gelu (BERT's, GPT's).

    Raises:
        ValueError: d_model or d_ff is below 1; the activation is no function.
    """

    def __init__(self, d_model: int, d_ff: int, activation: Callable[[Tensor], Tensor] = F.relu):
        super().__init__()
        check_least(1, d_model=d_model, d_ff=d_ff)
        if not callable(activation):
            raise ValueError(f"activation must be a function of a tensor, such as F.relu (got {activation!r})")
        self.activation = activation
        self.w_1 = xavier_linear(d_model, d_ff)
        self.w_2 = xavier_linear(d_ff, d_model)

    def forward(self, x: Float[Tensor, "*axes d_model"]) -> Float[Tensor, "*axes d_model"]:
        return self.w_2(self.activation(self.w_1(x)))


def swiglu(
    x: Float[Tensor, "*axes d_model"],
    w_gate: Float[Tensor, "d_model d_ff"],
    w_up: Float[Tensor, "d_model d_ff"],
    w_down: Float[Tensor, "d_ff d_model"],
) -> Float[Tensor, "*axes d_model"]:
    """A feed-forward network in which one projection of x gates another one.

    (silu(x W_gate) ⊙ x W_up) W_down, silu(z) = z · sigmoid(z)        (Shazeer, 2020, arXiv:2002.05202, equation 6)
    """
    return (F.silu(x @ w_gate) * (x @ w_up)) @ w_down  # (…, d_ff) ⊙ (…, d_ff), then → (…, d_model)


class SwiGLU(nn.Module):
    """`swiglu` with its weights. Three matrices: with d_ff at 2/3 it has as many parameters as `FeedForward`.

    Raises:
        ValueError: d_model or d_ff is below 1.
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        check_least(1, d_model=d_model, d_ff=d_ff)
        self.w_gate, self.w_up, self.w_down = (
            xavier_linear(*sizes) for sizes in ((d_model, d_ff), (d_model, d_ff), (d_ff, d_model))
        )

    def forward(self, x: Float[Tensor, "*axes d_model"]) -> Float[Tensor, "*axes d_model"]:
        return self.w_down(F.silu(self.w_gate(x)) * self.w_up(x))


def layer_norm(
    x: Float[Tensor, "*axes d_model"], weight: Float[Tensor, " d_model"], bias: Float[Tensor, " d_model"], eps: float
) -> Float[Tensor, "*axes d_model"]:
    """Give each vector mean 0 and variance 1, then a learned scale and shift.

    LN(x) = (x - mean) / √(variance + eps) · weight + bias        (Ba, Kiros & Hinton, 2016, arXiv:1607.06450)

    Mean and variance are over the features of one position; the variance divides by d_model, not d_model - 1.
    """
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x  # rounded once, at the end
    centred = wide - wide.mean(dim=-1, keepdim=True)  # (…, d_model) - (…, 1)
    variance = centred.square().mean(dim=-1, keepdim=True)  # (…, 1)
    return (centred / torch.sqrt(variance + eps) * weight + bias).to(x.dtype)


class LayerNorm(nn.Module):
    """`layer_norm` with its learned weight (starts at 1) and bias (starts at 0), in torch's fused kernel."""

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Float[Tensor, "*axes d_model"]) -> Float[Tensor, "*axes d_model"]:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


def rms_norm(
    x: Float[Tensor, "*axes d_model"], weight: Float[Tensor, " d_model"], eps: float
) -> Float[Tensor, "*axes d_model"]:
    """Give each vector a root mean square of 1, then a learned scale: `layer_norm` without the mean and the shift.

    RMSNorm(x) = x / √(mean(x²) + eps) · weight        (Zhang & Sennrich, 2019, arXiv:1910.07467)
    """
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x  # as Llama does
    mean_square = wide.square().mean(dim=-1, keepdim=True)  # (…, 1)
    return (wide * torch.rsqrt(mean_square + eps)).to(x.dtype) * weight


class RMSNorm(nn.Module):
    """`rms_norm` with its learned weight, which starts at 1."""

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "*axes d_model"]) -> Float[Tensor, "*axes d_model"]:
        return rms_norm(x, self.weight, self.eps)


def residual_block(
    x: Float[Tensor, "B T d_model"],
    sublayer: Callable[[Tensor], Tensor],
    norm: Callable[[Tensor], Tensor],
    norm_first: bool,
) -> Float[Tensor, "B T d_model"]:
    """A sub-layer with a residual connection, and a norm after the sum (post-norm) or before the sub-layer (pre-norm).

    post-norm, if not norm_first:  LayerNorm(x + Sublayer(x))        (§3.1)
    pre-norm, if norm_first:       x + Sublayer(LayerNorm(x))        (GPT-2; Xiong et al., 2020, arXiv:2002.04745)
    """
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))


class Residual(nn.Module):
    """A sub-layer with dropout, a residual connection, and the norm *after* the sum: post-norm, as in the paper.

    LayerNorm(x + Dropout(Sublayer(x)))        (§3.1, §5.4)
    """

    def __init__(self, d_model: int, dropout: float = 0.0):
        super().__init__()
        self.norm: nn.Module = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "B T d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B T d_model"]:
        return residual_block(x, lambda y: self.dropout(sublayer(y)), self.norm, norm_first=False)


class PreNormResidual(Residual):
    """A residual connection with the norm *before* the sub-layer, so that x itself passes through unchanged.

    x + Dropout(Sublayer(LayerNorm(x)))        (GPT-2; Xiong et al., 2020, arXiv:2002.04745)
    """

    def forward(
        self, x: Float[Tensor, "B T d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B T d_model"]:
        return residual_block(x, lambda y: self.dropout(sublayer(y)), self.norm, norm_first=True)
