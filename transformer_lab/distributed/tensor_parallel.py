"""Tensor parallelism: each rank has some heads and features of every layer, whose output is a sum over the ranks.

Shoeybi et al., 2019, "Megatron-LM", arXiv:1909.08053, section 3. The first matrices of a sub-layer are cut by columns,
so that each rank has whole features; the last is cut by rows, and the ranks' products are terms of one sum.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_lab.checks import check_least
from transformer_lab.distributed.collectives import Spread, Summed
from transformer_lab.distributed.parallel import (
    NO_PADDING,
    Parallel,
    broadcast_model,
    layers_of,
    loss_sum,
    of_all_ranks,
    own_tensors,
    targets_of,
)
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.nn.attention import MultiHeadAttention
from transformer_lab.training.examples import derive_seed

COLUMNS = ("w_q", "w_k", "w_v", "w_1", "w_gate", "w_up")  # cut by the features they make
ROWS = ("w_o", "w_2", "w_down")  # cut by the features they read


def split_columns_rows(
    w_up: Float[Tensor, "d_model d_ff"], w_down: Float[Tensor, "d_ff d_model"], n: int
) -> tuple[Float[Tensor, "{n} d_model part"], Float[Tensor, "{n} part d_model"]]:
    """Split a feed-forward network among `n` ranks: `(ups, downs)`, with one of each per rank.

    act(x w_up) w_down = Σ_r act(x ups[r]) downs[r], for every activation that treats features one by one. Rank r makes
    the r-th block of features, and multiplies it by the rows that read them.

    Raises:
        ValueError: n does not divide d_ff.
    """
    check_least(1, n=n)
    if w_up.size(1) % n:
        raise ValueError(f"d_ff ({w_up.size(1)}) must be divisible by n ({n})")
    ups = w_up.unflatten(1, (n, -1)).transpose(0, 1)  # (d_model, n, d_ff / n) → (n, d_model, d_ff / n)
    return ups, w_down.unflatten(0, (n, -1))  # (n, d_ff / n, d_model)


class TensorParallel(Parallel):
    """Every rank reads all texts, with its own heads and features; embeddings and norms are replicated on all ranks.

    Raises:
        ValueError: there are more ranks than heads, or than groups of heads that share keys and values.
    """

    alike = True  # the activations between the layers are the same on all ranks, and so must be what is dropped

    def __init__(self, model: LanguageModel, pad_id: int = NO_PADDING):
        super().__init__(model, pad_id)
        broadcast_model(model)
        for layer in layers_of(model):
            layer.add_module("self_attention", CutAttention(layer.self_attention, self.rank, self.n))
            layer.add_module("feed_forward", CutFeedForward(layer.feed_forward, self.rank, self.n))

    def backward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
        targets = targets_of(tokens, self.pad_id)
        loss = loss_sum(self.model(tokens), targets, self.pad_id) / (targets != self.pad_id).sum()
        loss.backward()
        return loss.detach() / self.n  # each rank has the whole loss

    def whole(self, gradients: bool = False) -> dict[str, Tensor]:
        ranks = of_all_ranks(own_tensors(self.model, gradients))
        return {name.replace(".part.", "."): joined(name, [of[name] for of in ranks]) for name in ranks[0]}


def axis_of(name: str) -> int | None:
    """The axis of (out, in) along which a parameter is split; None if each rank has all of it."""
    *_, layer, kind = ["", *name.split(".")]
    if layer in COLUMNS:
        return 0
    return 1 if layer in ROWS and kind == "weight" else None


def joined(name: str, parts: list[Tensor]) -> Tensor:
    axis = axis_of(name)
    return parts[0] if axis is None else torch.cat(parts, dim=axis)


class CutAttention(nn.Module):
    """The heads of one rank; summed over the ranks, they give the attention's output. Returns no weights."""

    def __init__(self, attention: MultiHeadAttention, rank: int, n: int):
        super().__init__()
        groups = attention.n_kv_heads
        if groups < n:
            raise ValueError(f"each rank must have a head with keys of its own (got {n} ranks, {groups} such heads)")
        mine = len(torch.arange(groups).tensor_split(n)[rank])
        d_head = attention.w_k.out_features // groups
        heads_a_group = attention.n_heads // groups
        attention.n_heads, attention.n_kv_heads = mine * heads_a_group, mine
        for name, width in (("w_q", heads_a_group * d_head), ("w_k", d_head), ("w_v", d_head)):
            setattr(attention, name, columns(getattr(attention, name), rank, n, width))
        attention.w_o = SummedLinear(attention.w_o, rank, n, heads_a_group * d_head)
        self.part = attention

    def forward(self, query: Tensor, key: Tensor, value: Tensor, *rest: Any, **options: Any) -> Any:
        x = Spread.apply(query)  # self-attention: query, key and value are the same
        with own_random_numbers() if self.training and self.part.dropout else nullcontext():
            return self.part(x, x, x, *rest, **options)


class CutFeedForward(nn.Module):
    """The hidden features of one rank; summed over the ranks, they give the network's output."""

    def __init__(self, network: nn.Module, rank: int, n: int):
        super().__init__()
        for name, layer in [*network.named_children()]:
            cut = columns(layer, rank, n) if name in COLUMNS else SummedLinear(layer, rank, n)
            setattr(network, name, cut)
        self.part = network

    def forward(self, x: Float[Tensor, "B T d_model"]) -> Float[Tensor, "B T d_model"]:
        return self.part(Spread.apply(x))


def block(x: Tensor, axis: int, rank: int, n: int, width: int = 1) -> nn.Parameter:
    """A rank's block of a tensor, split along an axis into pieces of `width` that stay whole."""
    pieces = torch.arange(x.size(axis), device=x.device).split(width)
    mine = torch.cat([pieces[i] for i in torch.arange(len(pieces)).tensor_split(n)[rank]])
    return nn.Parameter(x.detach().index_select(axis, mine))


def columns(linear: Any, rank: int, n: int, width: int = 1) -> nn.Linear:
    """The linear layer that computes only a rank's features. (torch stores a matrix as (out, in).)"""
    cut = nn.utils.skip_init(nn.Linear, 1, 1, bias=linear.bias is not None)
    cut.weight = block(linear.weight, 0, rank, n, width)
    if linear.bias is not None:
        cut.bias = block(linear.bias, 0, rank, n, width)
    cut.out_features, cut.in_features = cut.weight.shape
    return cut


class SummedLinear(nn.Linear):
    """The linear layer that reads a rank's features and sums the results of all ranks; the bias is added once."""

    def __init__(self, linear: Any, rank: int, n: int, width: int = 1):
        nn.Module.__init__(self)
        self.weight, self.bias = block(linear.weight, 1, rank, n, width), linear.bias
        self.out_features, self.in_features = self.weight.shape

    def forward(self, x: Float[Tensor, "B T mine"]) -> Float[Tensor, "B T d_model"]:
        total = Summed.apply(x @ self.weight.T)  # (B, T, d_model)
        return total if self.bias is None else total + self.bias


@contextmanager
def own_random_numbers() -> Iterator[None]:
    """Within the block each rank draws different random numbers, for its own heads; after it all draw alike again."""
    drawn = int(torch.randint(2**62, (), device="cpu"))  # the same on every rank, and another one at each call
    device = torch.get_default_device()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(derive_seed(drawn, dist.get_rank()))
        yield
