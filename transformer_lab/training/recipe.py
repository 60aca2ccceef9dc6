"""How the paper trains: the shifted targets, loss, learning rate and optimiser of sections 3.1 and 5."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_lab.checks import check_least, check_targets
from transformer_lab.storage import make_plain


@dataclass(frozen=True)
class Recipe:
    """All settings, beside the data and the model's sizes, that decide what a model learns.

    Raises:
        ValueError: a number that no training can have.
    """

    batch_size: int = 128
    warmup_steps: int = 100
    rate_factor: float = 0.3  # times equation 3, which after so short a warm-up peaks at 0.0088
    smoothing: float = 0.1  # §5.4
    max_norm: float = 1.0  # gradients longer than this are cut back; the paper does not say
    seed: int = 0
    bf16: bool = False  # multiply matrices in bfloat16: for GPUs

    def __post_init__(self) -> None:
        make_plain(self)
        check_least(1, batch_size=self.batch_size, warmup_steps=self.warmup_steps)
        for name in ("rate_factor", "max_norm"):
            if not getattr(self, name) > 0:  # so NaN is refused, too
                raise ValueError(f"{name} ({getattr(self, name)}) must be above 0")
        if not 0 <= self.smoothing <= 1:
            raise ValueError(f"smoothing ({self.smoothing}) must be from 0 to 1")


def shift_right(tokens: Int[Tensor, "B T"], bos_id: int) -> Int[Tensor, "B T"]:
    """The decoder's input for these targets, which are shifted one position to the right, after bos (§3.1).

    Position t then reads the target of t - 1 and before, and predicts that of t. All positions learn at once, from
    the right prefix rather than from their own guesses: that is teacher forcing.
    """
    return torch.cat([torch.full_like(tokens[:, :1], bos_id), tokens[:, :-1]], dim=1)


def label_smoothing_loss(
    logits: Float[Tensor, "B T vocab"], targets: Int[Tensor, "B T"], smoothing: float, pad_id: int
) -> Float[Tensor, ""]:
    """Cross-entropy with smoothed targets, averaged over the targets that are not padding (§5.4).

    The target's probability is 1 - smoothing + smoothing / vocab, that of every other token smoothing / vocab
    (Szegedy et al., 2016, arXiv:1512.00567, section 7). NaN if all targets are padding.
    """
    check_targets(logits, "targets", targets, pad_id)
    at_least_float32 = torch.promote_types(logits.dtype, torch.float32)  # a sum of losses may be too large for less
    logits, targets = logits.flatten(0, 1).to(at_least_float32), targets.flatten().long()
    return F.cross_entropy(logits, targets, ignore_index=pad_id, label_smoothing=smoothing)


def warmup_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """The learning rate of a step, counted from 1: a linear warm-up, then a decay with 1/√step.

    rate = d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5)        (§5.3, equation 3)

    Raises:
        ValueError: step or warmup_steps is below 1.
    """
    if step < 1 or warmup_steps < 1:
        raise ValueError(f"step ({step}) and warmup_steps ({warmup_steps}) must be at least 1")
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def paper_adam(model: nn.Module) -> torch.optim.Adam:
    """Adam with β₁ = 0.9, β₂ = 0.98 and ε = 10⁻⁹ (§5.3); its learning rate is set anew at each step."""
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
