"""Mixtures of experts after Mixtral's: other routers, other experts, and experts that every position uses."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.checks import check_least
from transformer_lab.models.experts import MixtureOfExperts, check_top_k
from transformer_lab.models.since_llama.feed_forwards import ClampedSwiGLU


class ClampedExperts(MixtureOfExperts):
    """`MixtureOfExperts` of gpt-oss: each expert is a `ClampedSwiGLU`, and the router has a bias.

    Raises:
        ValueError: as MixtureOfExperts.
    """

    def __init__(self, d_model: int, d_ff: int, n_experts: int, top_k: int, alpha: float = 1.702, limit: float = 7.0):
        super().__init__(d_model, d_ff, n_experts, top_k)
        self.experts = nn.ModuleList(ClampedSwiGLU(d_model, d_ff, alpha, limit) for _ in range(n_experts))
        self.router = nn.Linear(d_model, n_experts)


def sigmoid_route(
    router_logits: Float[Tensor, "*axes n_experts"],
    bias: Float[Tensor, " n_experts"],
    top_k: int,
    n_groups: int = 1,
    top_groups: int = 1,
) -> Float[Tensor, "*axes n_experts"]:
    """How much each position takes of each expert, where a bias balances the load and has no say in how much.

    s = sigmoid(x W_router); the `top_k` experts with the largest s + bias are picked, and share out 1 in proportion to
    s alone        (DeepSeek-V3, 2024, arXiv:2412.19437, equations 12 to 16)

    The bias of an expert is lowered by a rule after a step in which it was picked too often, and raised otherwise, so
    that no loss has to pull on the router. With groups, experts are picked in the `top_groups` groups whose best two
    have the largest sum of s + bias: a position is then sent to few machines.

    Raises:
        ValueError: top_k is below 1, or there are fewer experts to pick from; the experts can't be shared out equally
            among the groups, in two or more; top_groups is below 1, or above n_groups.
    """
    n_experts = router_logits.size(-1)
    check_groups_of_experts(n_experts, top_k, n_groups, top_groups)
    scores = router_logits.sigmoid()  # (…, n_experts)
    wanted = scores + bias
    if n_groups > 1:
        by_group = wanted.unflatten(-1, (n_groups, -1))  # (…, n_groups, n_experts / n_groups)
        best = by_group.topk(2, dim=-1).values.sum(-1).topk(top_groups, dim=-1).indices  # (…, top_groups)
        open_groups = torch.zeros_like(by_group[..., 0], dtype=torch.bool).scatter(-1, best, True)
        wanted = by_group.masked_fill(~open_groups[..., None], float("-inf")).flatten(-2)
    picked = wanted.topk(top_k, dim=-1).indices  # (…, top_k)
    kept = torch.zeros_like(scores).scatter(-1, picked, scores.gather(-1, picked))
    return kept / kept.sum(-1, keepdim=True)


def check_groups_of_experts(n_experts: int, top_k: int, n_groups: int, top_groups: int) -> None:
    """Raise a ValueError unless so many experts can be picked from so many groups."""
    check_least(1, n_groups=n_groups, top_groups=top_groups)
    if n_groups > 1 and (n_experts % n_groups or n_experts < 2 * n_groups):
        raise ValueError(f"each of n_groups ({n_groups}) must have equally many experts, 2 or more (of {n_experts})")
    if top_groups > n_groups:
        raise ValueError(f"top_groups ({top_groups}) must be at most n_groups ({n_groups})")
    check_top_k(top_k, n_experts // n_groups * top_groups)


class SharedExperts(MixtureOfExperts):
    """`MixtureOfExperts` beside a network that every position uses: y = Shared(x) + Σ_i weight_i · SwiGLU_i(x).

    What all positions need is then learned once (Dai et al., 2024, "DeepSeekMoE", arXiv:2401.06066, section 3.2).

    Raises:
        ValueError: as MixtureOfExperts.
    """

    def __init__(self, d_model: int, d_ff: int, n_experts: int, top_k: int, shared: nn.Module):
        super().__init__(d_model, d_ff, n_experts, top_k)
        self.shared = shared

    def forward(self, x: Float[Tensor, "*axes d_model"]) -> Float[Tensor, "*axes d_model"]:
        return self.shared(x) + super().forward(x)


class SigmoidExperts(SharedExperts):
    """`SharedExperts` of DeepSeek-V3, whose weights are those of `sigmoid_route` times `scale`.

    `balance`, the bias of the routing, has no gradient: a rule moves it.

    Raises:
        ValueError: as MixtureOfExperts and `sigmoid_route`.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        n_experts: int,
        top_k: int,
        shared: nn.Module,
        scale: float = 1.0,
        n_groups: int = 1,
        top_groups: int = 1,
    ):
        super().__init__(d_model, d_ff, n_experts, top_k, shared)
        check_groups_of_experts(n_experts, top_k, n_groups, top_groups)
        self.scale, self.n_groups, self.top_groups = scale, n_groups, top_groups
        self.balance = nn.Parameter(torch.zeros(n_experts), requires_grad=False)

    def shares(self, rows: Float[Tensor, "N d_model"]) -> Float[Tensor, "N n_experts"]:
        logits = self.router(rows)  # (N, n_experts)
        return self.scale * sigmoid_route(logits, self.balance, self.top_k, self.n_groups, self.top_groups)


class GatedNetwork(nn.Module):
    """A network of which each position decides how much it takes: sigmoid(x w) · Network(x), with w one column."""

    def __init__(self, d_model: int, network: nn.Module):
        super().__init__()
        self.network, self.gate = network, nn.Linear(d_model, 1, bias=False)

    def forward(self, x: Float[Tensor, "*axes d_model"]) -> Float[Tensor, "*axes d_model"]:
        return torch.sigmoid(self.gate(x)) * self.network(x)
