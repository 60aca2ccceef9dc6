"""A mixture of experts: several feed-forward networks, of which each position uses a few.

Shazeer et al., 2017, arXiv:1701.06538. A model then has many weights, and computes with a part of them.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.checks import check_least, check_whole
from transformer_lab.nn.blocks import SwiGLU
from transformer_lab.nn.recording import check_not_compiled


def route(router_logits: Float[Tensor, "*axes n_experts"], top_k: int) -> Float[Tensor, "*axes n_experts"]:
    """How much each position takes of each expert: a softmax over its `top_k` largest logits, 0 for the others.

    weights = softmax(TopK(x W_router))        (Mixtral: Jiang et al., 2024, arXiv:2401.04088, section 2.2)

    Raises:
        ValueError: top_k is below 1, or above the number of experts.
    """
    check_top_k(top_k, router_logits.size(-1))
    kept, experts = router_logits.topk(top_k, dim=-1)  # (…, top_k) each
    return torch.zeros_like(router_logits).scatter(-1, experts, kept.softmax(dim=-1))


def balance_loss(router_logits: Float[Tensor, "*axes n_experts"], top_k: int) -> Float[Tensor, ""]:
    """How unevenly a router spreads positions over its experts: 1 if each gets the same, up to n_experts / top_k.

    n_experts · Σ_i f_i P_i        (Switch: Fedus et al., 2021, arXiv:2101.03961, equations 4 to 6)

    f_i is the share of all choices that fall on expert i, P_i the mean of its probability. Choices have no gradient,
    but probabilities do: so the loss takes probability away from the expert that is chosen most.

    Raises:
        ValueError: top_k is below 1, or above the number of experts.
    """
    n_experts = router_logits.size(-1)
    chosen = (route(router_logits, top_k) > 0).to(router_logits.dtype)  # (…, n_experts)
    share = chosen.reshape(-1, n_experts).mean(dim=0) / top_k  # (n_experts,): sums to 1
    probability = router_logits.softmax(dim=-1).reshape(-1, n_experts).mean(dim=0)  # (n_experts,): sums to 1
    return n_experts * (share * probability).sum()


class MixtureOfExperts(nn.Module):
    """`n_experts` networks as `SwiGLU`, and a router that picks `top_k` of them for each position.

    y = Σ_i weight_i · SwiGLU_i(x), over the experts that were picked; the others do not compute.

    Raises:
        ValueError: a size is below 1; top_k is above n_experts.
    """

    def __init__(self, d_model: int, d_ff: int, n_experts: int, top_k: int = 2):
        super().__init__()
        check_least(1, n_experts=n_experts)
        check_top_k(top_k, n_experts)
        self.top_k = top_k
        self.experts = nn.ModuleList(SwiGLU(d_model, d_ff) for _ in range(n_experts))
        self.router = nn.Linear(d_model, n_experts, bias=False)

    def forward(self, x: Float[Tensor, "*axes d_model"]) -> Float[Tensor, "*axes d_model"]:
        rows = x.reshape(-1, x.size(-1))  # (N, d_model), N positions
        weights = self.shares(rows)  # (N, n_experts)
        out = torch.zeros_like(rows)
        for expert, weight in zip(self.experts, weights.unbind(-1), strict=True):
            mine = weight.nonzero()[:, 0]  # the positions that picked this expert
            out = out.index_add(0, mine, weight[mine, None] * expert(rows[mine]))
        return out.view_as(x)

    def shares(self, rows: Float[Tensor, "N d_model"]) -> Float[Tensor, "N n_experts"]:
        """How much each position takes of each expert; 0 of all but top_k."""
        return route(self.router(rows), self.top_k)


@contextmanager
def record_routing(model: nn.Module) -> Iterator[list[Float[Tensor, "*axes n_experts"]]]:
    """Within the block, collect what each router of the model says, with gradients: `balance_loss` wants it.

    Raises:
        ValueError: the model is compiled; or at the end of the block, no router of the model was called in it.
    """
    check_not_compiled("record_routing", model)
    said: list[Tensor] = []
    with ExitStack() as hooks:
        for module in model.modules():
            if isinstance(module, MixtureOfExperts):
                keep = module.router.register_forward_hook(lambda router, args, out: said.append(out))
                hooks.enter_context(keep)
        yield said
    if not said:
        raise ValueError(f"a router of the {type(model).__name__} must be called in the block (none was recorded)")


def check_top_k(top_k: int, n_experts: int) -> None:
    """Raise a ValueError unless so many experts can be picked."""
    check_whole(top_k=top_k)
    if not 1 <= top_k <= n_experts:
        raise ValueError(f"top_k must be from 1 to the number of experts, {n_experts} (got {top_k})")
