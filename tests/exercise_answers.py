"""Right answers to each exercise, written in different ways: loops, einsum, torch's own functions, float64 inside."""

import math

import torch
import torch.nn.functional as F


def dot_of_torch(a, b):
    return torch.dot(a, b)


def dot_by_matmul(a, b):
    return a @ b


def dot_by_loop(a, b):
    total = torch.zeros((), dtype=a.dtype)
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def dot_by_einsum(a, b):
    return torch.einsum("i,i->", a.double(), b.double()).to(a.dtype)


def softmax_of_torch(scores, dim):
    return F.softmax(scores, dim=dim)


def softmax_by_logsumexp(scores, dim):
    return (scores - scores.logsumexp(dim, keepdim=True)).exp()


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
    weights = F.softmax(query @ key.mT / math.sqrt(key.size(-1)), dim=-1)
    return F.scaled_dot_product_attention(query, key, value), weights


def attention_by_einsum(query, key, value):
    scores = torch.einsum("...td,...sd->...ts", query, key) * key.shape[-1] ** -0.5
    weights = scores.softmax(-1)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def attention_by_loop(query, key, value):
    if query.ndim > 2:
        parts = [attention_by_loop(*one) for one in zip(query, key, value, strict=True)]
        return torch.stack([output for output, _ in parts]), torch.stack([weights for _, weights in parts])
    weights = []
    for q in query:
        scores = torch.stack([torch.dot(q, k) for k in key]) / math.sqrt(len(q))
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


def split_by_chunks(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def split_by_unflatten(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).permute(0, 2, 1, 3).contiguous()


def split_by_slices(x, n_heads):
    width = x.size(-1) // n_heads
    return torch.stack([x[:, :, i * width : (i + 1) * width] for i in range(n_heads)], 1)


def split_by_einsum(x, n_heads):
    width = x.size(-1) // n_heads
    blocks = torch.eye(x.size(-1), dtype=x.dtype).reshape(x.size(-1), n_heads, width)
    return torch.einsum("btm,mhd->bhtd", x, blocks)


def merge_by_cat(x):
    return torch.cat([x[:, i] for i in range(x.size(1))], dim=-1)


def merge_by_permute(x):
    return x.permute(0, 2, 1, 3).contiguous().view(x.size(0), x.size(2), -1)


def merge_by_flatten(x):
    return x.movedim(1, 2).flatten(start_dim=2)


def merge_by_loop(x):
    batch, n_heads, length, d_head = x.shape
    out = x.new_zeros(batch, length, n_heads * d_head)
    for head in range(n_heads):
        out[:, :, head * d_head : (head + 1) * d_head] = x[:, head]
    return out


def multi_head_by_loop(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    projected = [(x @ w).chunk(n_heads, dim=-1) for x, w in ((query, w_q), (key, w_k), (value, w_v))]
    heads = [attention_by_einsum(q, k, v)[0] for q, k, v in zip(*projected, strict=True)]
    return torch.cat(heads, dim=-1) @ w_o


def multi_head_by_einsum(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    width = query.size(-1) // n_heads
    q, k, v = (
        torch.einsum("btm,mhd->bhtd", x, w.reshape(-1, n_heads, width))
        for x, w in ((query, w_q), (key, w_k), (value, w_v))
    )
    weights = torch.softmax(torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(width), -1)
    return torch.einsum("bhts,bhsd,hdm->btm", weights, v, w_o.reshape(n_heads, width, -1))


def multi_head_of_torch(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    output, _ = F.multi_head_attention_forward(
        *(x.transpose(0, 1) for x in (query, key, value)),
        embed_dim_to_check=query.size(-1),
        num_heads=n_heads,
        in_proj_weight=torch.cat([w_q.T, w_k.T, w_v.T]),
        in_proj_bias=None,
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=w_o.T,
        out_proj_bias=None,
    )
    return output.transpose(0, 1)


def multi_head_by_the_fused_kernel(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_by_chunks(x @ w, n_heads) for x, w in ((query, w_q), (key, w_k), (value, w_v)))
    return merge_by_cat(F.scaled_dot_product_attention(q, k, v)) @ w_o


def multi_head_in_float64(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    tensors = (x.double() for x in (query, key, value, w_q, w_k, w_v, w_o))
    return multi_head_by_loop(*tensors, n_heads).to(query.dtype)


RIGHT_ANSWERS = {
    "dot_product": [dot_of_torch, dot_by_matmul, dot_by_loop, dot_by_einsum],
    "softmax": [softmax_of_torch, softmax_by_logsumexp, softmax_by_loop, softmax_in_float64],
    "scaled_dot_product_attention": [
        attention_of_torch,
        attention_by_einsum,
        attention_by_loop,
        attention_in_float64,
        attention_as_a_list,
    ],
    "softmax_jacobian": [jacobian_by_einsum, jacobian_by_loop, jacobian_by_factors],
    "split_heads": [split_by_chunks, split_by_unflatten, split_by_slices, split_by_einsum],
    "merge_heads": [merge_by_cat, merge_by_permute, merge_by_flatten, merge_by_loop],
    "multi_head_attention": [
        multi_head_by_loop,
        multi_head_by_einsum,
        multi_head_of_torch,
        multi_head_by_the_fused_kernel,
        multi_head_in_float64,
    ],
}
