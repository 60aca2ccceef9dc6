"""Right answers to the exercises of lesson 01, and the mutants of their references that compute the same."""

import math

import torch
import torch.nn.functional as F

from tests.answers.reasons import ATTENTION, COMMUTATIVE


def softmax_by_powers(scores, dim):
    powers = (scores - scores.amax(dim, True)).exp()
    return powers / powers.sum(dim, True)


def softmax_by_logarithm(scores, dim):
    scores = scores - scores.max(dim, keepdim=True).values
    return (scores - scores.exp().sum(dim, keepdim=True).log()).exp()


def softmax_by_loop(scores, dim):
    rows = scores.movedim(dim, -1)
    flat = rows.reshape(-1, rows.size(-1))
    done = []
    for row in flat:
        powers = [torch.exp(score - row.max()) for score in row]
        done.append(torch.stack(powers) / sum(powers))
    return torch.stack(done).reshape(rows.shape).movedim(-1, dim)


def softmax_in_float64(scores, dim):
    powers = torch.exp(scores.double() - scores.double().max(dim=dim, keepdim=True).values)
    return (powers / powers.sum(dim=dim, keepdim=True)).to(scores.dtype)


def attention_of_torch(query, key, value):
    weights = F.softmax(query / math.sqrt(key.size(-1)) @ key.mT, dim=-1)
    return F.scaled_dot_product_attention(query, key, value), weights


def attention_by_einsum(query, key, value):
    share = key.shape[-1] ** -0.25  # of queries and of keys
    scores = torch.einsum("...td,...sd->...ts", query * share, key * share)
    weights = scores.softmax(-1)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def attention_by_loop(query, key, value):
    if query.ndim > 2:
        parts = [attention_by_loop(*one) for one in zip(query, key, value, strict=True)]
        return torch.stack([output for output, _ in parts]), torch.stack([weights for _, weights in parts])
    weights = []
    for q in query:
        scores = torch.stack([torch.dot(q / math.sqrt(len(q)), k) for k in key])
        weights.append(torch.softmax(scores, 0))
    output = [sum(w * v for w, v in zip(row, value, strict=True)) for row in weights]
    return torch.stack(output), torch.stack(weights)


def attention_in_float64(query, key, value):
    q, k, v = query.double(), key.double(), value.double()
    weights = (q.matmul(k.transpose(-1, -2)) / k.size(-1) ** 0.5).softmax(-1)
    return weights.matmul(v).to(value.dtype), weights.to(value.dtype)


def attention_as_a_list(query, key, value):
    weights = ((query / query.size(-1) ** 0.25) @ (key / key.size(-1) ** 0.25).mT).softmax(-1)
    return [weights @ value, weights]


def jacobian_by_einsum(weights):
    same = torch.eye(weights.size(-1), dtype=weights.dtype)
    return torch.einsum("...i,ij->...ij", weights, same) - torch.einsum("...i,...j->...ij", weights, weights)


def jacobian_by_loop(weights):
    if weights.ndim > 1:
        return torch.stack([jacobian_by_loop(row) for row in weights])
    rows = [[(p if i == j else 0) - p * q for j, q in enumerate(weights)] for i, p in enumerate(weights)]
    return torch.stack([torch.stack(row) for row in rows])


def jacobian_by_factors(weights):
    same = torch.eye(weights.size(-1), dtype=torch.float64)
    return (weights.double()[..., :, None] * (same - weights.double()[..., None, :])).to(weights.dtype)


def jacobian_by_sums_of_rows(weights):
    """A row sums to 0, so the diagonal is what the others lose. Off the set of weights this is another function."""
    others = -weights[..., :, None] * weights[..., None, :] * (1 - torch.eye(weights.size(-1), dtype=weights.dtype))
    return others - torch.diag_embed(others.sum(-1))


def jacobian_with_a_sum_that_is_1(weights):
    total = weights.sum(-1, keepdim=True)
    return torch.diag_embed(weights * total) - weights[..., :, None] * weights[..., None, :]


def weights_by_logarithms(weights, shift, factor):
    return (factor * (weights.log() + shift)).softmax(-1)


def weights_by_loop(weights, shift, factor):
    rows = []
    for row in weights.reshape(-1, weights.size(-1)):
        powers = [weight**factor for weight in row]
        rows.append(torch.stack([power / sum(powers) for power in powers]))
    return torch.stack(rows).reshape(weights.shape)


def weights_beside_the_largest(weights, shift, factor):
    powers = (weights / weights.amax(-1, keepdim=True)).pow(factor)
    return torch.nn.functional.normalize(powers, p=1.0, dim=-1)


def weights_by_exponentials(weights, shift, factor):
    scores = torch.log(weights) * factor
    return (scores - scores.logsumexp(-1, keepdim=True)).exp()


def kind_by_zeros(words):
    w_q, w_k = torch.zeros(2, words.size(1), 3)
    for i in range(3):
        w_q[i, i], w_k[i, i] = 5.0, 5.0
    return w_q, w_k


def kind_turned(words):
    turned = torch.linalg.qr(torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [2.0, 0.0, 1.0]])).Q
    w = torch.cat([turned, torch.zeros(words.size(1) - 3, 3)])
    return [w, 30 * w]


def kind_with_penalties(words):
    one = torch.eye(words.size(1), 3)
    other = one.clone()
    other[:3] -= 1 / 2
    return 15 * one, other


def kind_in_float64(words):
    one = torch.eye(words.size(1), dtype=torch.float64)[:, [0, 1, 2]].to(words.dtype)
    return one * 25, one * 2


RIGHT_ANSWERS = {
    "softmax": [softmax_by_powers, softmax_by_logarithm, softmax_by_loop, softmax_in_float64],
    "scaled_dot_product_attention": [
        attention_of_torch,
        attention_by_einsum,
        attention_by_loop,
        attention_in_float64,
        attention_as_a_list,
    ],
    "softmax_jacobian": [
        jacobian_by_einsum,
        jacobian_by_loop,
        jacobian_by_factors,
        jacobian_by_sums_of_rows,
        jacobian_with_a_sum_that_is_1,
    ],
    "new_weights": [weights_by_logarithms, weights_by_loop, weights_beside_the_largest, weights_by_exponentials],
    "look_at_kind": [kind_by_zeros, kind_turned, kind_with_penalties, kind_in_float64],
}

IN_FLOAT16 = {"weights.to(value.dtype) → weights", "query → key (3)", "value → query", "value → key"}  # they are wrong

EQUIVALENT = {
    "scaled_dot_product_attention": {
        what: reason
        for what, reason in ATTENTION.items()
        if what.removeprefix("scaled_dot_product_attention: ") not in IN_FLOAT16
    }
    | {"scaled_dot_product_attention: query → key (4)": "queries and keys have the same width"},
    "softmax_jacobian": {
        "softmax_jacobian: weights.unsqueeze(-1) * weights.unsqueeze(-2) → "
        "weights.unsqueeze(-2) * weights.unsqueeze(-1)": COMMUTATIVE,
    },
    "look_at_kind": {
        f"look_at_kind: {change}": "the queries may be of any length that is enough, or the keys in their place"
        for change in ("(20 * kind, kind) → (kind, 20 * kind)", "20 * kind → kind * 20", "20 → 21", "20 → 19")
    },
}
