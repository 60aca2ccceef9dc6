"""An interactive attention map: of given weights, or of the steps that lead to them from queries and keys."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from transformer_lab.nn.attention import masked_softmax
from transformer_lab.nn.masks import causal_mask
from transformer_lab.plots import plot_attention
from transformer_lab.plots.checks import Tokens, Values, check_attention, label, to_tensor
from transformer_lab.widgets.shared.view import View

NAMED = 8  # queries that the summary names
MOST_FEATURES = 6  # of values, which stand beside the map


def attention(weights: Values, query_tokens: Tokens, key_tokens: Tokens) -> View:
    """Explore attention weights: (T, S), (heads, T, S) or (layers, heads, T, S); one row for each query.

    A temperature other than 1 shows softmax(log(weights) / temperature).

    Raises:
        ValueError: the axes do not fit the tokens, or the rows are not what softmax returns.
    """
    stack = with_layers_and_heads(weights, "weights")
    logits = stack.detach().cpu().double().log()  # -inf for a weight of 0, which stays 0 at every temperature
    return view(stack, logits, query_tokens, key_tokens, {"d_k": None, "causal": False, "value": None, "features": []})


def attention_steps(
    query: Values,
    key: Values,
    query_tokens: Tokens,
    key_tokens: Tokens,
    causal: bool = False,
    value: Values | None = None,
    features: Sequence[str] = (),
) -> View:
    """Explore how scores become weights, from query (…, T, d_k) and key (…, S, d_k), optionally with heads and layers.

    With `value` (…, S, d_v) and names for its few `features`, the last step shows the output beside the weights.

    Raises:
        ValueError: the axes do not fit the tokens, or those of query, key and value each other; there are not as many
            names as features, or more than 6; a causal mask is asked for where T and S differ.
    """
    query, key = with_layers_and_heads(query, "query"), with_layers_and_heads(key, "key")
    check_pair(query, key)
    scores = query.detach() @ key.detach().transpose(-2, -1)
    if causal and query.size(-2) != key.size(-2):
        raise ValueError(f"a causal mask needs as many queries as keys ({query.size(-2)}, {key.size(-2)})")
    d_k = query.size(-1)
    allowed = causal_mask(key.size(-2), key.device) if causal else torch.ones_like(scores, dtype=torch.bool)
    weights = masked_softmax(scores / sqrt(d_k), allowed)
    names = list(map(str, features))
    carried = None if value is None else values_of(value, scores, names)
    state = {"d_k": d_k, "causal": causal, "value": carried, "features": names}
    return view(weights, scores, query_tokens, key_tokens, state)


def values_of(value: Values, scores: Tensor, features: list[str]) -> Tensor:
    """The values of each layer and head, (layers, heads, S, d_v); raises a ValueError if they do not fit."""
    x, (layers, heads, _, keys) = with_layers_and_heads(value, "value"), scores.shape
    if x.size(-2) != keys or x.size(0) not in (1, layers) or x.size(1) not in (1, heads):
        raise ValueError(f"value must have a row for each of the {keys} keys (its shape is {tuple(x.shape)})")
    if not len(features) == x.size(-1) <= MOST_FEATURES:
        wanted = f"a name for each feature of value, {MOST_FEATURES} at most"
        raise ValueError(f"there must be {wanted} (got {len(features)} for {x.size(-1)})")
    return x.detach().expand(layers, heads, -1, -1)


def check_pair(query: Tensor, key: Tensor) -> None:
    """Refuse a query and a key without dot products; one head of keys may serve several heads of queries."""
    if query.size(-1) != key.size(-1):
        raise ValueError(f"query and key must have the same width d_k ({query.size(-1)}, {key.size(-1)})")
    of_query, of_key = tuple(query.shape[:2]), tuple(key.shape[:2])
    if any(a != b and 1 not in (a, b) for a, b in zip(of_query, of_key, strict=True)):
        raise ValueError(f"query and key must have as many layers and heads as each other, or 1 ({of_query}, {of_key})")


def view(weights: Tensor, logits: Tensor, queries: Tokens, keys: Tokens, more: dict[str, Any]) -> View:
    """A view of weights as the softmax of logits: of scores or, if only weights are given, of their logarithms."""
    for head in weights.flatten(0, 1):
        check_attention(head, queries, keys)  # refuses what would make the view lie
    queries, keys = list(map(str, queries)), list(map(str, keys))
    first, said = weights[0, 0].detach().clone(), summary(weights, queries, keys)
    mask = causal_mask(len(keys), "cpu") if more["causal"] else None
    state = {"logits": logits, "queries": queries, "keys": keys} | more
    return View("attention", state, said, lambda: plot_attention(first, queries, keys, mask=mask), colours=40)


def summary(weights: Tensor, queries: Tokens, keys: Tokens) -> str:
    """A one-line summary of the first head's map."""
    layers, heads, *_ = weights.shape
    rows = [[round(weight, 4) for weight in row] for row in weights[0, 0, :NAMED].tolist()]
    looks = [
        f"{query} evenly" if max(row) == min(row) else f"{query} at {label(keys[row.index(max(row))])}"
        for query, row in zip(map(label, queries), rows, strict=False)
    ]
    stack = f"{layers} × {heads} heads; in the first " if layers * heads > 1 else ""
    more = f" and {len(queries) - NAMED} more" if len(queries) > NAMED else ""
    return f"Attention of {len(queries)} queries to {len(keys)} keys: {stack}{', '.join(looks)}{more}."


def with_layers_and_heads(values: Values, name: str) -> Tensor:
    """Reshape to (layers, heads, rows, columns); refuse other numbers of axes, and empty tensors."""
    x = to_tensor(values)
    if not 2 <= x.ndim <= 4:
        raise ValueError(f"{name} must have 2 to 4 axes: layers, heads, rows, columns (its shape is {tuple(x.shape)})")
    if not x.numel():
        raise ValueError(f"{name} must have at least one row and one column (its shape is {tuple(x.shape)})")
    return x[(None,) * (4 - x.ndim)]
