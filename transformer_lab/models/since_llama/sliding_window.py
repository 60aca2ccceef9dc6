"""Layers that look back a fixed number of positions, so that their cache stops growing."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_lab.checks import check_least
from transformer_lab.models.since_llama.layers import OpenLayer
from transformer_lab.nn.blocks import Residual
from transformer_lab.nn.kv_cache import LayerCache
from transformer_lab.nn.masks import causal_mask


def sliding_window_mask(
    length: int, window: int, device: torch.device | str | None = None
) -> Bool[Tensor, "{length} {length}"]:
    """Each position may attend to the `window` last positions, its own counted: a band below the diagonal.

    mask[t, s] = t - window < s ≤ t        (Beltagy et al., 2020, "Longformer", arXiv:2004.05150, section 3.1;
    Jiang et al., 2023, "Mistral 7B", arXiv:2310.06825, section 2)

    Through L layers, what stands up to L · (window - 1) positions back can still make itself felt.

    Raises:
        ValueError: the length is below 0, or the window below 1.
    """
    check_least(1, window=window)
    return causal_mask(length, device).triu(1 - window)


class SlidingWindowLayer(OpenLayer):
    """A layer whose attention sees the last `window` positions; its cache holds no more than the next one may see.

    Raises:
        ValueError: the window is below 1.
    """

    def __init__(
        self,
        self_attention: nn.Module,
        feed_forward: nn.Module,
        residual_1: Residual,
        residual_2: Residual,
        window: int,
    ):
        super().__init__(self_attention, feed_forward, residual_1, residual_2)
        check_least(1, window=window)
        self.window = window

    def forward(
        self, x: Float[Tensor, "B T d_model"], mask: Bool[Tensor, "T S"] | None, cache: LayerCache | None = None
    ) -> Float[Tensor, "B T d_model"]:
        if mask is not None:  # else there is one new token, and a cache holds only what it may see
            n_new, n_all = mask.shape
            n_seen = n_all if cache is None else cache.held + n_new  # the last ones: all others have been let go
            mask = mask[:, n_all - n_seen :] & sliding_window_mask(n_seen, self.window, x.device)[n_seen - n_new :]
        x = super().forward(x, mask, cache)
        if cache is not None:
            cache.let_go(keep=self.window - 1)
        return x
