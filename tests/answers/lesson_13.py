"""Right answers to the exercises of lesson 13, and the mutants of their references that compute the same."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import COMMUTATIVE, SUM, SYMMETRIC, commuted


def online_from_the_first(chunks):
    """The first chunk is there until the end, which is one."""
    first = next(chunks)
    maximum = first.max(dim=-1).values
    total = (first - maximum.unsqueeze(-1)).exp().sum(dim=-1)
    for chunk in chunks:
        both = torch.stack([maximum, chunk.max(dim=-1).values]).max(dim=0).values
        total = total * (maximum - both).exp() + (chunk - both.unsqueeze(-1)).exp().sum(dim=-1)
        maximum = both
    return maximum, total


def online_from_minus_infinity(chunks):
    maximum, total = None, None
    for chunk in chunks:
        if maximum is None:
            maximum = torch.full_like(chunk[..., 0], -math.inf)
            total = torch.zeros_like(maximum)
        new = torch.maximum(maximum, chunk.amax(-1))
        total = (maximum - new).exp() * total + (chunk - new[..., None]).exp().sum(-1)
        maximum = new
    return maximum, total


def online_by_scores(chunks):
    """One score after the other."""
    maximum = total = None
    for chunk in chunks:
        for score in chunk.unbind(-1):
            if maximum is None:
                maximum, total = score, torch.ones_like(score)
            else:
                new = torch.where(score > maximum, score, maximum)
                total = total * torch.exp(maximum - new) + torch.exp(score - new)
                maximum = new
    return maximum, total


def online_by_logarithms(chunks):
    maximum, lse = None, None
    for chunk in chunks:
        here, log = chunk.amax(-1), chunk.double().logsumexp(-1)
        maximum = here if maximum is None else torch.maximum(maximum, here)
        lse = log if lse is None else torch.logaddexp(lse, log)
    return maximum, torch.exp(lse - maximum.double()).to(maximum.dtype)


def merge_by_maximum(output_a, lse_a, output_b, lse_b):
    largest = torch.maximum(lse_a, lse_b)
    a, b = torch.exp(lse_a - largest), torch.exp(lse_b - largest)
    output = (a.unsqueeze(-1) * output_a + b.unsqueeze(-1) * output_b) / (a + b).unsqueeze(-1)
    return output, largest + torch.log(a + b)


def merge_by_softmax(output_a, lse_a, output_b, lse_b):
    both = torch.stack([lse_a, lse_b], dim=-1)  # (…, 2)
    shares = F.softmax(both, dim=-1)
    outputs = torch.stack([output_a, output_b], dim=-2)  # (…, 2, d)
    return (shares.unsqueeze(-1) * outputs).sum(dim=-2), torch.logaddexp(*both.unbind(-1))


def merge_by_einsum(output_a, lse_a, output_b, lse_b):
    shares = torch.softmax(torch.stack([lse_a, lse_b]), 0)
    output = torch.einsum("k...,k...d->...d", shares, torch.stack([output_a, output_b]))
    return output, torch.logsumexp(torch.stack([lse_a, lse_b]), 0)


def merge_by_step(output_a, lse_a, output_b, lse_b):
    share = 1 / (1 + torch.exp((lse_a - lse_b).clamp(-80, 80)))
    return output_a + share[..., None] * (output_b - output_a), lse_a + F.softplus(lse_b - lse_a)


def tiles_at_once(query, key, value, tile):
    return torch.softmax(query @ key.T / math.sqrt(query.size(1)), dim=1) @ value


def tiles_by_split(query, key, value, tile):
    maximum = torch.full((len(query), 1), -math.inf, dtype=query.dtype)
    total, output = torch.zeros_like(maximum), 0
    for some, those in zip(key.split(tile), value.split(tile), strict=True):
        scores = query @ some.mT / query.shape[1] ** 0.5
        larger = torch.max(maximum, scores.max(1, keepdim=True).values)
        factor, weights = (maximum - larger).exp(), (scores - larger).exp()
        total, output = factor * total + weights.sum(1, keepdim=True), factor * output + weights @ those
        maximum = larger
    return output / total


def tiles_merged(query, key, value, tile):
    """Divided in each tile, and merged by log-sum-exps."""
    output, lse = None, None
    for start in range(0, len(key), tile):
        scores = query @ key[start : start + tile].T * query.size(-1) ** -0.5
        here, log = scores.softmax(-1) @ value[start : start + tile], scores.logsumexp(-1)
        if output is None:
            output, lse = here, log
        else:
            share = torch.sigmoid(log - lse)[:, None]
            output, lse = output + share * (here - output), torch.logaddexp(lse, log)
    return output


def tiles_mended(query, key, value, tile):
    maximum = torch.full_like(query[:, 0], -1e30)
    total = torch.zeros_like(maximum)
    output = query.new_zeros(query.size(0), value.size(1))
    for start in range(0, key.size(0), tile):
        scores = query @ key[start : start + tile].T / query.size(1) ** 0.5
        larger = torch.maximum(maximum, scores.amax(1))
        weights = torch.exp(scores - larger[:, None])
        rescale = torch.exp(maximum - larger)
        total = total * rescale + weights.sum(1)
        output = output * rescale[:, None] + weights @ value[start : start + tile]
        maximum = larger
    return output / total[:, None]


def backward_by_einsum(query, key, value, grad_output):
    scale = query.shape[-1] ** -0.5
    p = torch.einsum("...td,...sd->...ts", query, key).mul(scale).softmax(-1)
    dp = torch.einsum("...tv,...sv->...ts", grad_output, value)
    ds = (p * dp - p * torch.einsum("...ts,...ts->...t", p, dp)[..., None]) * scale
    grads = torch.einsum("...ts,...sd->...td", ds, key), torch.einsum("...ts,...td->...sd", ds, query)
    return (*grads, torch.einsum("...ts,...tv->...sv", p, grad_output))


def backward_by_jacobian(query, key, value, grad_output):
    scale = 1 / math.sqrt(query.size(-1))
    p = F.softmax(query @ key.mT * scale, dim=-1)
    jacobian = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)  # (…, T, S, S)
    ds = (jacobian @ (grad_output @ value.mT).unsqueeze(-1)).squeeze(-1) * scale
    return ds @ key, ds.mT @ query, p.mT @ grad_output


def backward_by_output(query, key, value, grad_output):
    """As FlashAttention has it: the row's sum is that of dO ⊙ O."""
    root = query.size(-1) ** 0.5
    p = (query @ key.transpose(-1, -2) / root).softmax(-1)
    mean = (grad_output * (p @ value)).sum(-1, keepdim=True)
    ds = p * (grad_output @ value.transpose(-1, -2) - mean)
    return ds @ key / root, ds.transpose(-1, -2) @ query / root, p.transpose(-1, -2) @ grad_output


def backward_row_by_row(query, key, value, grad_output):
    if query.ndim > 2:
        rows = [backward_row_by_row(*one) for one in zip(query, key, value, grad_output, strict=True)]
        return tuple(torch.stack(parts) for parts in zip(*rows, strict=True))
    grads = [torch.zeros_like(x) for x in (query, key, value)]
    for t in range(query.size(0)):
        p = torch.softmax(key @ query[t] / math.sqrt(query.size(1)), 0)
        dp = value @ grad_output[t]
        ds = p * (dp - p @ dp) / math.sqrt(query.size(1))
        grads[0][t] = ds @ key
        grads[1] += torch.outer(ds, query[t])
        grads[2] += torch.outer(p, grad_output[t])
    return tuple(grads)


def residual_by_loop(p, q):
    rows = []
    for one, other in zip(p.reshape(-1, p.size(-1)), q.reshape(-1, q.size(-1)), strict=True):
        missing = torch.relu(one - other)
        rows.append(missing / missing.sum() if missing.sum() > 0 else one)
    return torch.stack(rows).reshape(p.shape)


def residual_by_minimum(p, q):
    missing = p - torch.minimum(p, q)
    rejected = missing.sum(dim=-1, keepdim=True)
    safe = torch.where(rejected == 0, torch.ones_like(rejected), rejected)
    return torch.where(rejected == 0, p, missing / safe)


def residual_by_index(p, q):
    missing = F.relu(p - q)
    equal = missing.sum(-1) == 0
    missing[equal] = p[equal]
    return missing / missing.sum(-1, keepdim=True)


def residual_by_normalize(p, q):
    missing = (p - q).clamp_min(0)
    return torch.where((missing == 0).all(-1, keepdim=True), p, F.normalize(missing, p=1, dim=-1))


def pass_by_formula(acceptance, n_draft):
    if acceptance == 1:
        return float(n_draft + 1)
    return (1 - acceptance ** (n_draft + 1)) / (1 - acceptance)


def pass_by_cases(acceptance, n_draft):
    """Each possible length, times its probability."""
    stopped = sum((i + 1) * acceptance**i * (1 - acceptance) for i in range(n_draft))
    return stopped + (n_draft + 1) * acceptance**n_draft


def pass_by_recursion(acceptance, n_draft):
    return 1.0 if n_draft == 0 else 1 + acceptance * pass_by_recursion(acceptance, n_draft - 1)


def pass_by_numpy(acceptance, n_draft):
    return np.power(acceptance, np.arange(n_draft + 1)).sum()


RIGHT_ANSWERS = {
    "online_softmax": [
        online_from_the_first,
        online_from_minus_infinity,
        online_by_scores,
        online_by_logarithms,
    ],
    "merge_partial": [merge_by_maximum, merge_by_softmax, merge_by_einsum, merge_by_step],
    "mend_tiles": [tiles_at_once, tiles_by_split, tiles_merged, tiles_mended],
    "attention_backward": [backward_by_einsum, backward_by_jacobian, backward_by_output, backward_row_by_row],
    "residual_distribution": [residual_by_loop, residual_by_minimum, residual_by_index, residual_by_normalize],
    "tokens_per_pass": [pass_by_formula, pass_by_cases, pass_by_recursion, pass_by_numpy],
}

SAME_WIDTH = "queries and keys have the same width"
FREE_START = "new tensors have the type of any of the inputs"

EQUIVALENT = {
    "online_softmax": commuted("online_softmax", "total * rescale")
    | {
        "online_softmax: iter(chunks) → chunks": "an iterator is its own iterator",
        "online_softmax: torch.maximum(maximum, scores.amax(-1)) → torch.maximum(scores.amax(-1), maximum)": (
            COMMUTATIVE
        ),
        "online_softmax: total * rescale + torch.exp(scores - larger[..., None]).sum(-1) → "
        "torch.exp(scores - larger[..., None]).sum(-1) + total * rescale": SUM,
    },
    "merge_partial": commuted(
        "merge_partial", "share * output_a + (1 - share) * output_b", "share * output_a", "(1 - share) * output_b"
    )
    | {"merge_partial: torch.logaddexp(lse_a, lse_b) → torch.logaddexp(lse_b, lse_a)": SUM},
    "mend_tiles": commuted("mend_tiles", "total * rescale + weights.sum(1)", "total * rescale")
    | commuted("mend_tiles", "output * rescale[:, None]", "start + tile", "start + tile")
    | {
        "mend_tiles: torch.maximum(maximum, scores.amax(1)) → torch.maximum(scores.amax(1), maximum)": COMMUTATIVE,
        "mend_tiles: output * rescale[:, None] + weights @ value[start:start + tile] → "
        "weights @ value[start:start + tile] + output * rescale[:, None]": SUM,
        **dict.fromkeys(
            (
                *("mend_tiles: query → key", "mend_tiles: query → value"),
                *("mend_tiles: query → key (3)", "mend_tiles: query → value (3)"),
            ),
            FREE_START,
        ),
        **dict.fromkeys(
            (
                "mend_tiles: 1 → 0",
                "mend_tiles: query.new_zeros(query.size(0), value.size(1)) → query.size(0)",
                "mend_tiles: value.size(1) → 1",
            ),
            "what is added up broadcasts to its shape",
        ),
        "mend_tiles: key → value": "there are as many values as keys",
        "mend_tiles: query → key (6)": SAME_WIDTH,
    },
    "attention_backward": commuted(
        "attention_backward", "scale * query", "weights * grad_weights", "scale * weights * (grad_weights - mean)"
    )
    | commuted("attention_backward", "scale * weights")
    | {
        "attention_backward: x.detach() → x": "gradients of what is returned are not asked for",
        "attention_backward: query → key (2)": SAME_WIDTH,
        **{
            f"attention_backward: {name}.transpose(-2, -1) → {name}.transpose(-1, -2)": SYMMETRIC
            for name in ("key", "weights", "value", "grad_scores")
        },
    },
    "residual_distribution": {
        **{f"residual_distribution: {x}.detach() → {x}": "no gradient is asked for" for x in "pq"},
        "residual_distribution: p → q (3)": "there p is q",
    },
    "tokens_per_pass": commuted("tokens_per_pass", "n_draft + 1"),
}
