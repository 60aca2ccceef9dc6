"""Context parallelism: each rank has a part of every text, and the keys and values travel round the ring of ranks.

Liu, Zaharia & Abbeel, 2023, "Ring Attention", arXiv:2310.01889. What a query makes of the keys of one rank and of the
next is put together by `merge_partial`, for attention over disjoint keys can be merged.
"""

from math import sqrt
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_lab.distributed.collectives import send_round
from transformer_lab.distributed.parallel import (
    NO_PADDING,
    Parallel,
    broadcast_model,
    layers_of,
    loss_sum,
    sum_gradients,
    targets_of,
)
from transformer_lab.kernels.tiled_attention import merge_partial
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.nn.attention import MultiHeadAttention, merge_heads, split_heads


def attend(
    query: Float[Tensor, "*axes T d"],
    key: Float[Tensor, "*axes S d"],
    value: Float[Tensor, "*axes S d_v"],
    mask: Bool[Tensor, "T S"] | None = None,
) -> tuple[Float[Tensor, "*axes T d_v"], Float[Tensor, "*axes T"]]:
    """Attend to some of the keys, ready to be merged: `(output, lse)`, which are 0 and -inf where a query sees none."""
    scores = query @ key.transpose(-2, -1) / sqrt(query.size(-1))  # (…, T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    lse = scores.logsumexp(-1)  # (…, T)
    weights = torch.exp(scores - lse.clamp(min=torch.finfo(lse.dtype).min)[..., None])
    return weights @ value, lse


def ring_attention(
    queries: Float[Tensor, "n T d"], keys: Float[Tensor, "n S d"], values: Float[Tensor, "n S d_v"]
) -> Float[Tensor, "n n T d_v"]:
    """Attention of a text in n parts, as a ring of n ranks computes it: what each of them has after each step.

    `queries[r]`, `keys[r]` and `values[r]` are those of rank r. In step s rank r has the keys and values of rank
    (r - s) mod n, and merges what its queries make of them with what it has. So `[s, r]` is attention to the keys of
    ranks r, r - 1, … r - s, and `[-1]` attention to all.
    """
    n = len(queries)
    output, lse = attend(queries, keys, values)  # (n, T, d_v), (n, T): all ranks at once, each with keys of its own
    steps = [output]
    for _ in range(n - 1):
        keys, values = keys.roll(1, dims=0), values.roll(1, dims=0)  # each goes to the next rank
        output, lse = merge_partial(output, lse, *attend(queries, keys, values))
        steps.append(output)
    return torch.stack(steps)


def balanced_parts(length: int, n: int) -> list[list[range]]:
    """The positions of a text for each of n ranks, chosen so that a causal mask gives all about the same work.

    A late position sees many others, and an early one few. So the text is cut into 2 n pieces, and rank r takes the
    r-th from the front and the r-th from the back.

    Raises:
        ValueError: there are fewer than 2 n positions.
    """
    if length < 2 * n:
        raise ValueError(f"a text must have 2 positions for each rank (got {length} positions, {n} ranks)")
    pieces = [range(int(piece[0]), int(piece[-1]) + 1) for piece in torch.arange(length).tensor_split(2 * n)]
    return [[pieces[rank], pieces[-1 - rank]] for rank in range(n)]


class Ring(torch.autograd.Function):
    """Causal attention of this rank's queries (B, g, h / g, T, d) to the keys and values (B, g, 1, S, d) of all ranks.

    Forward, keys and values go n - 1 times to the next rank. Backward they do so again, because to keep those of all
    ranks would need the memory that the cut has saved. Their gradients go with them, n times, to be at home at last.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, places: list[Tensor]) -> Tensor:
        rank, n = dist.get_rank(), dist.get_world_size()
        pair, mine = torch.stack([key, value]), places[rank][:, None]  # (2, B, g, 1, t, d)
        output, lse = attend(query, key, value, places[rank] <= mine)
        for step in range(1, n):
            sender = (rank - step) % n
            pair = send_round(pair, pair.new_empty(*pair.shape[:4], len(places[sender]), pair.size(-1)))
            output, lse = merge_partial(output, lse, *attend(query, pair[0], pair[1], places[sender] <= mine))
        ctx.places = places
        ctx.save_for_backward(query, key, value, output, lse)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, key, value, output, lse = ctx.saved_tensors
        rank, n, places = dist.get_rank(), dist.get_world_size(), ctx.places
        pair, mine = torch.stack([key, value]), places[rank][:, None]
        grad_query, grad_pair = torch.zeros_like(query), torch.zeros_like(pair)
        mean = (gradient * output).sum(-1, keepdim=True)  # (B, g, h / g, T, 1)
        for step in range(n):
            visible = places[(rank - step) % n] <= mine
            add_gradients(grad_query, grad_pair, (query, pair, gradient), lse, mean, visible)
            sender = (rank - step - 1) % n
            shape = (*pair.shape[:4], len(places[sender]), pair.size(-1))
            if step < n - 1:
                pair = send_round(pair, pair.new_empty(shape))
            grad_pair = send_round(grad_pair, pair.new_empty(shape)) if n > 1 else grad_pair
        return grad_query, *grad_pair, None


def add_gradients(
    grad_query: Tensor, grad_pair: Tensor, given: tuple[Tensor, ...], lse: Tensor, mean: Tensor, visible: Tensor
) -> None:
    """Add the contribution of one rank's keys and values to the gradients, by the backward formulas of lesson 13."""
    query, (key, value), gradient = given
    scale = 1 / sqrt(query.size(-1))
    scores = (scale * query @ key.transpose(-2, -1)).masked_fill(~visible, float("-inf"))  # (B, g, h / g, T, S)
    weights = torch.exp(scores - lse[..., None])
    grad_scores = scale * weights * (gradient @ value.transpose(-2, -1) - mean)
    grad_query += grad_scores @ key
    grad_pair[0] += (grad_scores.transpose(-2, -1) @ query).sum(2, keepdim=True)  # over the heads that share a key
    grad_pair[1] += (weights.transpose(-2, -1) @ gradient).sum(2, keepdim=True)


Place = tuple[list[range], list[Tensor]]  # this rank's pieces of a text, and the positions of every rank


class RingAttention(nn.Module):
    """An attention that has this rank's positions, and receives keys and values from the other ranks."""

    def __init__(self, attention: MultiHeadAttention, place: list[Place]):
        super().__init__()
        if attention.dropout:
            raise ValueError(f"attention_dropout must be 0, as no rank has all weights (got {attention.dropout})")
        self.part = attention
        self.place = place

    def forward(self, query: Tensor, *rest: Any, **options: Any) -> tuple[Tensor, None]:
        attention, (pieces, places) = self.part, self.place[-1]
        queries = split_heads(attention.w_q(query), attention.n_heads)  # (B, h, t, d_head)
        keys = split_heads(attention.w_k(query), attention.n_kv_heads)  # (B, g, t, d_head)
        values = split_heads(attention.w_v(query), attention.n_kv_heads)
        sizes, parts = [len(piece) for piece in pieces], []
        for q, k, piece in zip(queries.split(sizes, 2), keys.split(sizes, 2), pieces, strict=True):
            parts.append(attention.apply_positions(q, k, piece.start))
        queries, keys = (torch.cat(x, dim=2) for x in zip(*parts, strict=True))
        queries = queries.unflatten(1, (attention.n_kv_heads, -1))  # (B, g, h / g, t, d_head)
        heads = Ring.apply(queries, keys.unsqueeze(2), values.unsqueeze(2), places).flatten(1, 2)  # (B, h, t, d_head)
        return attention.w_o(merge_heads(heads)), None


class ContextParallel(Parallel):
    """Each rank has all the weights and two pieces of every text; the gradients are summed once per step.

    Raises:
        ValueError: attention_dropout is not 0; a text has fewer than 2 positions for each rank.
    """

    alike = False  # each rank drops other activations, as its positions are other ones

    def __init__(self, model: LanguageModel, pad_id: int = NO_PADDING):
        super().__init__(model, pad_id)
        broadcast_model(model)
        self.place: list[Place] = []  # of the batch
        for layer in layers_of(model):
            layer.add_module("self_attention", RingAttention(layer.self_attention, self.place))

    def backward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
        targets = targets_of(tokens, self.pad_id)
        parts = balanced_parts(tokens.size(1), self.n)
        places = [torch.cat([torch.arange(p.start, p.stop, device=tokens.device) for p in part]) for part in parts]
        self.place[:] = [(parts[self.rank], places)]
        share = loss_sum(self.logits(tokens), targets[:, places[self.rank]], self.pad_id)
        share = share / (targets != self.pad_id).sum()
        share.backward()
        sum_gradients(self.model)
        return share.detach()

    def logits(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B t vocab"]:
        """The logits of this rank's positions."""
        model, (pieces, _) = self.model, self.place[-1]
        x = torch.cat([model.embedded(tokens[:, p.start : p.stop], p.start) for p in pieces], dim=1)  # (B, t, d_model)
        for layer in model.layers:
            x = layer(x, None)
        return model.to_logits(model.norm(x))

    def whole(self, gradients: bool = False) -> dict[str, Tensor]:
        return {name.replace(".part.", "."): x for name, x in super().whole(gradients).items()}
