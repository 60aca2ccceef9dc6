"""Wrong answers as students would write them: the half that was put aside while the diagnosis was improved."""

import math
from collections import Counter

import torch
import torch.nn.functional as F


def softmax_2(scores, dim):
    e = (scores - scores.max()).exp()
    return e / e.sum(dim, keepdim=True)


def softmax_4(scores, dim):
    m = scores.max(dim=-1, keepdim=True).values
    e = torch.exp(scores - m)
    return e / e.sum(-1, keepdim=True)


def softmax_6(scores, dim):
    return scores - torch.logsumexp(scores, dim=dim, keepdim=True)


def softmax_8(scores, dim):
    e = torch.exp(scores.clamp(max=80.0))
    return e / e.sum(dim, keepdim=True)


def softmax_10(scores, dim):
    z = torch.exp(scores - scores.mean(dim=dim, keepdim=True))
    return z / z.sum(dim=-1, keepdim=True)


def softmax_12(scores, dim):
    shifted = scores - scores.amax(dim=dim, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


def scaled_dot_product_attention_2(query, key, value):
    scores = torch.einsum("...td,...sd->...ts", query, key) / math.sqrt(key.size(-1))
    weights = scores.softmax(dim=-2)
    return torch.einsum("...ts,...sd->...td", weights, value), weights


def scaled_dot_product_attention_4(query, key, value):
    d_k = key.shape[-2]
    weights = torch.softmax(query @ key.mT / math.sqrt(d_k), dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention_6(query, key, value):
    d = value.size(-1)
    att = (query @ key.transpose(-1, -2)) * d**-0.5
    att = F.softmax(att, dim=-1)
    return att @ value, att


def scaled_dot_product_attention_8(query, key, value):
    weights = torch.softmax(query @ key.mT, dim=-1) / math.sqrt(query.shape[-1])
    return weights @ value, weights


def scaled_dot_product_attention_10(query, key, value):
    weights = F.softmax(torch.matmul(query, key.transpose(-2, -1)), dim=-2)
    return torch.matmul(weights, value), weights


def scaled_dot_product_attention_12(query, key, value):
    out = F.scaled_dot_product_attention(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1)
    return out, weights


def softmax_jacobian_1(weights):
    outer = weights.unsqueeze(-1) @ weights.unsqueeze(-2)
    return outer - torch.diag_embed(weights)


def softmax_jacobian_3(weights):
    return torch.diag_embed(weights * (1 - weights))


def softmax_jacobian_5(weights):
    p = weights.reshape(-1, weights.shape[-1])
    outer = torch.einsum("bi,bj->ij", p, p)
    return torch.diag_embed(weights) - outer


def softmax_jacobian_7(weights):
    n = weights.shape[-1]
    rows = []
    for i in range(n):
        cols = []
        for j in range(n):
            if i == j:
                cols.append(weights[..., i])
            else:
                cols.append(-weights[..., i] * weights[..., j])
        rows.append(torch.stack(cols, dim=-1))
    return torch.stack(rows, dim=-2)


def softmax_jacobian_9(weights):
    p = weights.unsqueeze(-1)
    eye = torch.eye(weights.shape[-1]).to(weights)
    return p * (eye - p)


def softmax_jacobian_11(weights):
    p = F.softmax(weights, -1)
    return p[..., None] * p[..., None, :] - torch.diag_embed(p)


def softmax_jacobian_13(weights):
    return torch.diag_embed(weights)


def split_heads_2(x, n_heads):
    B, T, d_model = x.shape
    return x.reshape(B, T, n_heads, d_model // n_heads)


def split_heads_4(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=2)


def split_heads_6(x, n_heads):
    return torch.stack([x[:, :, i::n_heads] for i in range(n_heads)], dim=1)


def split_heads_8(x, n_heads):
    return torch.cat(x.chunk(n_heads, dim=-1), dim=1)


def split_heads_10(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, D // n_heads, n_heads).transpose(2, 3)


def split_heads_12(x, n_heads):
    d_head = x.shape[-1] // n_heads
    return x.unflatten(-1, (d_head, n_heads)).transpose(1, 2)


def merge_heads_1(x):
    B, h, T, d = x.shape
    return x.reshape(B, T, h * d)


def merge_heads_3(x):
    return x.transpose(1, 2).flatten(1)


def merge_heads_5(x):
    return x.sum(dim=1)


def merge_heads_7(x):
    B, h, T, d = x.shape
    return x.transpose(2, 3).reshape(B, T, h * d)


def merge_heads_9(x):
    out = x[:, 0]
    for i in range(1, x.shape[1]):
        out = torch.cat([x[:, i], out], dim=-1)
    return out


def merge_heads_11(x):
    B, h, T, d = x.shape
    return x.permute(0, 3, 1, 2).reshape(B, T, h * d)


def merge_heads_13(x):
    return x.mean(dim=1).repeat(1, 1, x.shape[1])


def _split(x, n_heads):
    B, T, d_model = x.shape
    return x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)


def _merge(x):
    B, h, T, d_head = x.shape
    return x.transpose(1, 2).reshape(B, T, h * d_head)


def multi_head_attention_2(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    d_model = query.shape[-1]
    q, k, v = _split(query @ w_q, n_heads), _split(key @ w_k, n_heads), _split(value @ w_v, n_heads)
    w = F.softmax(q @ k.mT / math.sqrt(d_model), dim=-1)
    return _merge(w @ v) @ w_o


def multi_head_attention_4(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q = _split(F.linear(query, w_q), n_heads)
    k = _split(F.linear(key, w_k), n_heads)
    v = _split(F.linear(value, w_v), n_heads)
    out = F.scaled_dot_product_attention(q, k, v)
    return F.linear(_merge(out), w_o)


def multi_head_attention_6(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (_split(x @ w, n_heads) for x, w in ((query, w_q), (key, w_k), (key, w_v)))
    return _merge(F.scaled_dot_product_attention(q, k, v)) @ w_o


def multi_head_attention_8(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    heads = []
    q, k, v = query @ w_q, key @ w_k, value @ w_v
    for i in range(n_heads):
        qi, ki, vi = q[..., i::n_heads], k[..., i::n_heads], v[..., i::n_heads]
        a = torch.softmax(qi @ ki.mT / math.sqrt(qi.shape[-1]), dim=-1)
        heads.append(a @ vi)
    return torch.cat(heads, dim=-1) @ w_o


def multi_head_attention_10(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    outs = []
    for q, k, v in zip(
        (query @ w_q).chunk(n_heads, -1), (key @ w_k).chunk(n_heads, -1), (value @ w_v).chunk(n_heads, -1)
    ):
        outs.append(torch.softmax(q @ k.mT, dim=-1) @ v)
    return torch.cat(outs, dim=-1)


def multi_head_attention_12(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    B, T, D = query.shape
    q = (query @ w_q).view(B, T, n_heads, -1).transpose(1, 2)
    k = (key @ w_k).view(B, T, n_heads, D // n_heads).transpose(1, 2)
    v = (value @ w_v).view(B, T, n_heads, D // n_heads).transpose(1, 2)
    return _merge(F.scaled_dot_product_attention(q, k, v)) @ w_o


def sinusoidal_encoding_1(length, d_model):
    pos = torch.arange(length).unsqueeze(1)
    omega = 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.cat([torch.sin(pos * omega), torch.cos(pos * omega)], dim=1)


def sinusoidal_encoding_3(length, d_model):
    i = torch.arange(d_model // 2)
    angle = torch.arange(length)[:, None] * 10000.0 ** (-i / d_model)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)


def sinusoidal_encoding_5(length, d_model):
    pos = torch.arange(1, length + 1)[:, None]
    omega = 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([(pos * omega).sin(), (pos * omega).cos()], -1).reshape(length, d_model)


def sinusoidal_encoding_7(length, d_model):
    out = torch.zeros(length, d_model)
    for p in range(length):
        for c in range(d_model):
            a = p / 10000 ** (c / d_model)
            out[p, c] = math.sin(a) if c % 2 == 0 else math.cos(a)
    return out


def sinusoidal_encoding_9(length, d_model):
    omega = 1000 ** (-2 * torch.arange(d_model // 2) / d_model)
    angle = torch.outer(torch.arange(length).float(), omega)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def sinusoidal_encoding_11(length, d_model):
    pos = torch.arange(1, length + 1).unsqueeze(1)
    a = pos / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.cat((a.sin(), a.cos()), dim=-1)


def sinusoidal_encoding_13(length, d_model):
    omega = 10000.0 ** (torch.arange(0, d_model, 2) / d_model)
    angle = torch.arange(length)[:, None] * omega
    return torch.stack([angle.cos(), angle.sin()], dim=-1).flatten(1)


def shift_matrix_2(offset, d_model):
    omega = 10000 ** (-2 * torch.arange(d_model // 2) / d_model)
    c, s = torch.cos(abs(offset) * omega), torch.sin(abs(offset) * omega)
    blocks = torch.stack([torch.stack([c, s], -1), torch.stack([-s, c], -1)], -2)
    return torch.block_diag(*blocks)


def shift_matrix_4(offset, d_model):
    M = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = torch.tensor(offset / 10000 ** (i / d_model))
        M[i, i] = M[i + 1, i + 1] = a.cos()
        M[i, i + 1] = M[i + 1, i] = a.sin()
    return M


def shift_matrix_6(offset, d_model):
    return torch.roll(torch.eye(d_model), shifts=offset, dims=0)


def shift_matrix_8(offset, d_model):
    one = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        w = 10000 ** (-2 * i / d_model)
        one[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor(
            [[math.cos(w), math.sin(w)], [-math.sin(w), math.cos(w)]]
        )
    M = torch.eye(d_model)
    for _ in range(offset):
        M = M @ one
    return M


def shift_matrix_10(offset, d_model):
    w = 10000 ** (-2 * torch.arange(0, d_model, 2) / d_model)
    M = torch.zeros(d_model, d_model)
    e, o = torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)
    M[e, e] = torch.cos(offset * w)
    M[o, o] = torch.cos(offset * w)
    M[e, o] = -torch.sin(offset * w)
    M[o, e] = torch.sin(offset * w)
    return M


def shift_matrix_12(offset, d_model):
    half = d_model // 2
    angles = offset * 10000 ** (-2 * torch.arange(half) / d_model)
    M = torch.zeros(d_model, d_model)
    r = torch.arange(half)
    M[r, r] = M[r + half, r + half] = angles.cos()
    M[r, r + half] = -angles.sin()
    M[r + half, r] = angles.sin()
    return M


def _angles(length, d, like):
    omega = 10000 ** (-torch.arange(0, d, 2, dtype=like.dtype, device=like.device) / d)
    return torch.arange(length, dtype=like.dtype, device=like.device)[:, None] * omega


def rotate_2(x):
    T, d = x.shape[-2:]
    a = _angles(T, d, x)
    e, o = x[..., ::2], x[..., 1::2]
    return torch.stack([e * a.cos() + o * a.sin(), o * a.cos() - e * a.sin()], -1).flatten(-2)


def rotate_4(x):
    T, d = x.shape[-2:]
    a = _angles(T, d, x)
    out = x.clone()
    out[..., 0::2] = out[..., 0::2] * a.cos() - out[..., 1::2] * a.sin()
    out[..., 1::2] = out[..., 0::2] * a.sin() + out[..., 1::2] * a.cos()
    return out


def rotate_6(x):
    T, d = x.shape[-2:]
    a = _angles(T, d, x)
    return x + torch.stack([a.sin(), a.cos()], -1).flatten(-2)


def rotate_8(x):
    T, d = x.shape[-2:]
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2).contiguous())
    omega = 10000.0 ** (-torch.arange(d // 2, dtype=x.dtype) / d)
    a = torch.arange(T, dtype=x.dtype)[:, None] * omega
    return torch.view_as_real(z * torch.polar(torch.ones_like(a), a)).flatten(-2)


def rotate_10(x):
    T, d = x.shape[1], x.shape[-1]
    a = _angles(T, d, x)
    e, o = x[..., 0::2], x[..., 1::2]
    return torch.stack([e * a.cos() - o * a.sin(), e * a.sin() + o * a.cos()], -1).flatten(-2)


def rotate_12(x):
    T, d = x.shape[-2:]
    a = _angles(T + 1, d, x)[1:]
    a = torch.cat([a, a], -1)
    x1, x2 = x[..., : d // 2], x[..., d // 2 :]
    return x * a.cos() + torch.cat([-x2, x1], -1) * a.sin()


def layer_norm_1(x, weight, bias, eps):
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True)
    return (x - mean) / torch.sqrt(var + eps) * weight + bias


def layer_norm_3(x, weight, bias, eps):
    mu = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, unbiased=False)
    return (x - mu) / (var + eps) * weight + bias


def layer_norm_5(x, weight, bias, eps):
    var, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    return (x - mean) * torch.rsqrt(var + eps) * weight


def layer_norm_7(x, weight, bias, eps):
    rms = torch.sqrt((x**2).mean(-1, keepdim=True) + eps)
    return x / rms * weight + bias


def layer_norm_9(x, weight, bias, eps):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def layer_norm_11(x, weight, bias, eps):
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True)
    return weight * (x - mean) / (std + eps) + bias


def layer_norm_13(x, weight, bias, eps):
    c = x - x.mean(-1, keepdim=True)
    v = c.pow(2).sum(-1, keepdim=True)
    return c / torch.sqrt(v + eps) * bias + weight


def residual_block_1(x, sublayer, norm, norm_first):
    if norm_first:
        return norm(x + sublayer(x))
    return x + sublayer(norm(x))


def residual_block_3(x, sublayer, norm, norm_first):
    if norm_first:
        return x + sublayer(norm(x))
    else:
        return x + norm(sublayer(x))


def residual_block_5(x, sublayer, norm, norm_first):
    y = norm(x) if norm_first else x
    return norm(x + sublayer(y))


def residual_block_7(x, sublayer, norm, norm_first):
    if norm_first:
        y = sublayer(norm(x))
        x.add_(y)
        return x
    return norm(x + sublayer(x))


def residual_block_9(x, sublayer, norm, norm_first):
    if norm_first:
        return x + norm(sublayer(x))
    return norm(x + sublayer(x))


def residual_block_11(x, sublayer, norm, norm_first):
    if norm_first:
        h = norm(x)
        return h + sublayer(h)
    return norm(x) + norm(sublayer(x))


def residual_block_13(x, sublayer, norm, norm_first):
    if norm_first:
        return x + norm(sublayer(x))
    y = norm(x)
    return x + sublayer(y)


def causal_mask_2(length):
    return torch.ones(length, length).tril(diagonal=-1).bool()


def causal_mask_4(length):
    return torch.triu(torch.ones(length, length), diagonal=1).bool()


def causal_mask_6(length):
    return torch.ones(length, length, dtype=torch.bool).tril(1)


def causal_mask_8(length):
    pos = torch.arange(length)
    return pos.unsqueeze(1) <= pos.unsqueeze(0)


def causal_mask_10(length):
    return torch.triu(torch.ones(length, length), diagonal=1)


def causal_mask_12(length):
    i = torch.arange(length)
    d = i[:, None] - i[None, :]
    return (d == 0) | (d == 1)


def padding_mask_1(tokens, pad_id):
    return (tokens == pad_id).unsqueeze(1).unsqueeze(2)


def padding_mask_3(tokens, pad_id):
    return (tokens != pad_id)[:, None, :, None]


def padding_mask_5(tokens, pad_id):
    return (tokens != 0)[:, None, None, :]


def padding_mask_7(tokens, pad_id):
    lengths = (tokens != pad_id).sum(dim=1)
    return (torch.arange(tokens.shape[1])[None, :] < lengths[:, None])[:, None, None, :]


def padding_mask_9(tokens, pad_id):
    keep = tokens != pad_id
    return (keep[:, :, None] & keep[:, None, :]).unsqueeze(1)


def padding_mask_11(tokens, pad_id):
    return (tokens == pad_id)[:, None, :]


def padding_mask_13(tokens, pad_id):
    return torch.where(tokens == pad_id, 0.0, 1.0).unsqueeze(-1)


def decoder_mask_2(tokens, pad_id):
    B, T = tokens.shape
    return torch.tril(torch.ones(T, T, dtype=torch.bool)).expand(B, 1, T, T)


def decoder_mask_4(tokens, pad_id):
    T = tokens.size(1)
    return (tokens != pad_id)[:, None, :, None] & torch.ones(T, T).tril().bool()


def decoder_mask_6(tokens, pad_id):
    i = torch.arange(tokens.shape[1])
    return (tokens != pad_id)[:, None, :] & (i[:, None] >= i)


def decoder_mask_8(tokens, pad_id):
    T = tokens.shape[1]
    keep = tokens != pad_id
    return (keep[:, None, :, None] & keep[:, None, None, :]) & torch.ones(T, T, dtype=torch.bool).tril()


def decoder_mask_10(tokens, pad_id):
    T = tokens.shape[1]
    mask = (tokens != pad_id)[:, None, None, :] & torch.ones(T, T).tril().bool()
    return mask | torch.eye(T, dtype=torch.bool)


def decoder_mask_12(tokens, pad_id):
    T = tokens.shape[1]
    return (tokens == pad_id)[:, None, None, :] | torch.ones(T, T).tril().bool()


def decoder_mask_14(tokens, pad_id):
    B, T = tokens.shape
    causal = torch.triu(torch.ones(T, T, dtype=torch.bool))
    pad = (tokens != pad_id).view(B, 1, T, 1)
    return causal & pad


def masked_softmax_2(scores, mask):
    return F.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)


def masked_softmax_4(scores, mask):
    w = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
    return torch.nan_to_num(w, 0.0)


def masked_softmax_6(scores, mask):
    s = scores.masked_fill(~mask, -torch.inf)
    return torch.nan_to_num(torch.softmax(s, dim=-2), nan=0.0)


def masked_softmax_8(scores, mask):
    scores.masked_fill_(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1).nan_to_num(0.0)


def masked_softmax_10(scores, mask):
    return torch.softmax(scores + mask.to(scores.dtype), dim=-1) * mask


def masked_softmax_12(scores, mask):
    w = torch.softmax(torch.where(mask, scores, 0.0), dim=-1)
    return torch.where(mask, w, 0.0)


def masked_softmax_14(scores, mask):
    return torch.softmax(torch.where(mask, scores, torch.tensor(-1e4, dtype=scores.dtype)), dim=-2)


def encoder_layer_1(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_2(x + self_attention(x, x, x, mask))
    return norm_1(x + feed_forward(x))


def encoder_layer_3(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, mask))
    x = norm_2(feed_forward(x))
    return x


def encoder_layer_5(x, self_attention, feed_forward, norm_1, norm_2, mask):
    h = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(h))


def encoder_layer_7(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + feed_forward(x))
    return norm_2(x + self_attention(x, x, x, mask))


def encoder_layer_9(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + norm_1(self_attention(x, x, x, mask))
    x = x + norm_2(feed_forward(x))
    return x


def encoder_layer_11(x, self_attention, feed_forward, norm_1, norm_2, mask):
    h = norm_1(x + self_attention(x, x, x, mask))
    return h + feed_forward(h)


def encoder_layer_13(x, self_attention, feed_forward, norm_1, norm_2, mask):
    y = norm_2(x)
    x = x + self_attention(y, y, y, mask)
    return x + feed_forward(norm_1(x))


def encoder_layer_15(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x)
    x = x + self_attention(x, x, x, mask)
    x = norm_2(x)
    return x + feed_forward(x)


def decoder_layer_2(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(memory, x, x, memory_mask))
    return norm_3(x + feed_forward(x))


def decoder_layer_4(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, x, x, tgt_mask))
    return norm_3(x + feed_forward(x))


def decoder_layer_6(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_3(x + cross_attention(x, memory, memory, memory_mask))
    return norm_2(x + feed_forward(x))


def decoder_layer_8(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + cross_attention(x, memory, memory, memory_mask))
    x = norm_2(x + self_attention(x, x, x, tgt_mask))
    return norm_3(x + feed_forward(x))


def decoder_layer_10(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    memory = norm_2(memory)
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


def decoder_layer_12(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, tgt_mask))
    return norm_3(feed_forward(x))


def decoder_layer_14(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    h = norm_1(x + self_attention(x, x, x, tgt_mask))
    h = norm_2(x + cross_attention(h, memory, memory, memory_mask))
    return norm_3(x + feed_forward(h))


def embed_1(tokens, table, encoding):
    return table[tokens] + encoding[: tokens.shape[1]]


def embed_3(tokens, table, encoding):
    return table[tokens] * table.shape[-1] + encoding[: tokens.shape[1]]


def embed_5(tokens, table, encoding):
    return table[tokens] * table.shape[-1] ** 0.5 + encoding


def embed_7(tokens, table, encoding):
    T = tokens.shape[1]
    pos = torch.arange(1, T + 1).clamp(max=encoding.shape[0] - 1)
    return table[tokens] * math.sqrt(table.shape[1]) + encoding[pos]


def embed_9(tokens, table, encoding):
    return table[tokens] * math.sqrt(table.shape[1]) + encoding[-tokens.shape[1] :]


def embed_11(tokens, table, encoding):
    return table[tokens] * math.sqrt(table.size(-1)) * encoding[: tokens.size(1)]


def embed_13(tokens, table, encoding):
    return (table[tokens] + encoding[: tokens.shape[1]]) * table.shape[1]


def embed_15(tokens, table, encoding):
    one_hot = F.one_hot(tokens, table.shape[0]).to(table.dtype)
    return one_hot @ table * math.sqrt(table.shape[1] // 2) + encoding[: tokens.shape[1]]


def merge_pair_1(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            out.append(symbols[i] + symbols[i + 1])
        else:
            out.append(symbols[i])
        i += 1
    return out


def merge_pair_3(symbols, pair):
    for i in range(len(symbols) - 1):
        if (symbols[i], symbols[i + 1]) == pair:
            return symbols[:i] + [symbols[i] + symbols[i + 1]] + symbols[i + 2 :]
    return list(symbols)


def merge_pair_5(symbols, pair):
    out = []
    i = len(symbols) - 1
    while i >= 0:
        if i > 0 and (symbols[i - 1], symbols[i]) == pair:
            out.insert(0, "".join(pair))
            i -= 2
        else:
            out.insert(0, symbols[i])
            i -= 1
    return out


def merge_pair_7(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and set((symbols[i], symbols[i + 1])) == set(pair):
            out.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def merge_pair_9(symbols, pair):
    out = []
    i = 0
    while i < len(symbols):
        if i < len(symbols) - 2 and symbols[i] == pair[0] and symbols[i + 1] == pair[1]:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def merge_pair_11(symbols, pair):
    out = []
    for a, b in zip(symbols, symbols[1:]):
        out.append(a + b if (a, b) == pair else a)
    return out


def merge_pair_13(symbols, pair):
    out = []
    i = len(symbols) - 1
    while i > 0:
        if (symbols[i - 1], symbols[i]) == pair:
            out.append("".join(pair))
            i -= 2
        else:
            out.append(symbols[i])
            i -= 1
    return out[::-1]


def _merge_pair(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def learn_merges_2(words, n_merges):
    split = {w: list(w) for w in words}
    merges = []
    for _ in range(n_merges):
        count = Counter()
        for w, n in words.items():
            for a, b in zip(split[w], split[w][1:]):
                count[a, b] += n
        if not count:
            break
        best = max(count, key=lambda p: (count[p], p))
        merges.append(best)
        split = {w: _merge_pair(s, best) for w, s in split.items()}
    return merges


def _oldest(count, age):
    return lambda p: (-count[p], age[p[0]], age[p[1]])


def _bpe(words, n_merges, weigh=lambda n: n, key=_oldest, stop=True, least=1, characters=None):
    split = {w: list(w) for w in words}
    age = {c: i for i, c in enumerate(characters or sorted(set("".join(words))))}
    merges = []
    while len(merges) < n_merges:
        count = Counter()
        for w, s in split.items():
            for p in zip(s, s[1:]):
                count[p] += weigh(words[w])
        if stop and (not count or max(count.values()) < least):
            break
        best = min(count, key=key(count, age))
        merges.append(best)
        age.setdefault(best[0] + best[1], len(age))
        split = {w: _merge_pair(s, best) for w, s in split.items()}
    return merges


def learn_merges_4(words, n_merges):
    return _bpe(words, n_merges, key=lambda count, age: lambda p: (-count[p], p[0], p[1]))


def learn_merges_6(words, n_merges):
    return _bpe(words, n_merges, key=lambda count, age: lambda p: (-count[p], age[p[1]], age[p[0]]))


def learn_merges_8(words, n_merges):
    return _bpe(words, n_merges - 1)


def learn_merges_10(words, n_merges):
    return _bpe(words, n_merges, least=2)


def learn_merges_12(words, n_merges):
    order = list(dict.fromkeys("".join(words)))
    return _bpe(words, n_merges, characters=order)


def learn_merges_14(words, n_merges):
    split = {w: list(w) for w in words}
    merges = []
    for _ in range(n_merges + 1):
        count = Counter()
        for w, s in split.items():
            for p in zip(s, s[1:]):
                count[p] += words[w]
        if not count:
            return merges
        best = max(count, key=count.get)
        merges.append(best)
        split = {w: _merge_pair(s, best) for w, s in split.items()}
    return merges


def learn_merges_16(words, n_merges):
    splits = [list(w) for w in words]
    made = []
    for _ in range(n_merges):
        count = Counter(p for s in splits for p in zip(s, s[1:]))
        if not count:
            break
        best = min(count, key=lambda p: (-count[p], p))
        made.append("".join(best))
        splits = [_merge_pair(s, best) for s in splits]
    return made


def shift_right_2(tokens, bos_id):
    bos = torch.full((tokens.shape[0], 1), bos_id, dtype=tokens.dtype)
    return torch.cat([bos, tokens], dim=1)


def shift_right_4(tokens, bos_id):
    bos = torch.full_like(tokens[:, :1], bos_id)
    return torch.cat([tokens[:, 1:], bos], dim=1)


def shift_right_6(tokens, bos_id):
    tokens[:, 1:] = tokens[:, :-1].clone()
    tokens[:, 0] = bos_id
    return tokens


def shift_right_8(tokens, bos_id):
    out = tokens.roll(1, dims=0)
    out[0] = bos_id
    return out


def shift_right_10(tokens, bos_id):
    return F.pad(tokens[:, :-1], (0, 1), value=bos_id)


def shift_right_12(tokens, bos_id):
    bos = torch.ones(tokens.shape[0], 1) * bos_id
    return torch.cat([tokens[:, 1:], bos], 1)


def shift_right_14(tokens, bos_id):
    out = torch.roll(tokens, -1, dims=1)
    out[:, 0] = bos_id
    return out


def label_smoothing_loss_1(logits, targets, smoothing, pad_id):
    logp = F.log_softmax(logits, dim=-1)
    V = logits.size(-1)
    truth = torch.full_like(logp, smoothing / (V - 1))
    truth.scatter_(-1, targets.unsqueeze(-1), 1 - smoothing)
    loss = -(truth * logp).sum(-1)
    keep = targets != pad_id
    return loss[keep].mean()


def label_smoothing_loss_3(logits, targets, smoothing, pad_id):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), label_smoothing=smoothing)


def label_smoothing_loss_5(logits, targets, smoothing, pad_id):
    probs = torch.softmax(logits, -1)
    return F.cross_entropy(probs.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing)


def label_smoothing_loss_7(logits, targets, smoothing, pad_id):
    logp = logits.log_softmax(-1)
    nll = -logp.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    smooth = -logp.sum(-1)
    keep = targets != pad_id
    return ((1 - smoothing) * nll + smoothing * smooth)[keep].mean()


def label_smoothing_loss_9(logits, targets, smoothing, pad_id):
    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=pad_id)


def label_smoothing_loss_11(logits, targets, smoothing, pad_id):
    logp = torch.log_softmax(logits, dim=-1)
    nll = logp.gather(-1, targets[..., None])[..., 0]
    keep = targets != pad_id
    return ((1 - smoothing) * nll + smoothing * logp.mean(-1))[keep].mean()


def label_smoothing_loss_13(logits, targets, smoothing, pad_id):
    V = logits.shape[-1]
    logp = torch.log_softmax(logits, dim=-1)
    truth = F.one_hot(targets, V) * (1 - smoothing) + smoothing / V
    truth[..., pad_id] = 0
    return -(truth * logp).sum(-1)[targets != pad_id].mean()


def label_smoothing_loss_15(logits, targets, smoothing, pad_id):
    logp = F.log_softmax(logits, dim=1)
    nll = -logp.gather(2, targets.unsqueeze(2)).squeeze(2)
    return ((1 - smoothing) * nll - smoothing * logp.mean(2)).mean()


def label_smoothing_loss_17(logits, targets, smoothing, pad_id):
    loss = 0.0
    logp = torch.log_softmax(logits, dim=-1)
    for b in range(targets.shape[0]):
        for t in range(targets.shape[1]):
            if targets[b, t] != pad_id:
                loss = loss - logp[b, t, targets[b, t]]
    return loss


def warmup_rate_2(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


def warmup_rate_4(step, d_model, warmup_steps):
    s = step + 1
    return d_model**-0.5 * min(s**-0.5, s * warmup_steps**-1.5)


def warmup_rate_6(step, d_model, warmup_steps):
    return min(step**-0.5, step * warmup_steps**-1.5)


def warmup_rate_8(step, d_model, warmup_steps):
    if step > warmup_steps:
        rate = step * warmup_steps**-1.5
    else:
        rate = step**-0.5
    return d_model**-0.5 * rate


def warmup_rate_10(step, d_model, warmup_steps):
    if step <= warmup_steps:
        return d_model**-0.5 * step * warmup_steps**-1.5
    return d_model**-0.5 * (step - warmup_steps) ** -0.5


def warmup_rate_12(step, d_model, warmup_steps):
    return d_model**0.5 * max(step**-0.5, step * warmup_steps**-1.5)


def warmup_rate_14(step, d_model, warmup_steps):
    return d_model**-0.5 * min(1 / step, step * warmup_steps**1.5)


def greedy_decode_1(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) < max_length:
        ids.append(next_logits(ids).argmax())
        if ids[-1] == eos_id:
            break
    return ids


def greedy_decode_3(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    for _ in range(max_length):
        nxt = next_logits(ids).argmax().item()
        ids.append(nxt)
        if nxt == eos_id:
            break
    return ids


def greedy_decode_5(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) < max_length:
        token = next_logits([ids[-1]]).argmax().item()
        ids.append(token)
        if token == eos_id:
            break
    return ids


def greedy_decode_7(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    for _ in range(max_length - 1):
        ids.append(next_logits(ids).argmax(-1).item())
    return ids


def greedy_decode_9(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) < max_length:
        costs = F.log_softmax(next_logits(ids), dim=-1)
        ids.append(int(costs.argmin()))
        if ids[-1] == eos_id:
            return ids
    return ids


def greedy_decode_11(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    for _ in range(1, max_length - 1):
        ids.append(int(next_logits(ids).argmax()))
        if ids[-1] == eos_id:
            break
    return ids


def greedy_decode_13(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    for _ in range(max_length):
        token = torch.argmax(next_logits(ids), dim=-1)
        ids.append(token)
        if token == eos_id:
            break
    return ids


def greedy_decode_15(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    for _ in range(max_length - 1):
        best = max(enumerate((-next_logits(ids)).tolist()), key=lambda it: it[1])[0]
        if best == eos_id:
            break
        ids.append(best)
    return ids


def top_k_filter_2(logits, k):
    kth = logits.topk(k, dim=-1).values[..., -1, None]
    return torch.where(logits > kth, logits, float("-inf"))


def top_k_filter_4(logits, k):
    idx = logits.topk(k, dim=-1).indices
    return torch.zeros_like(logits).scatter(-1, idx, logits.gather(-1, idx))


def top_k_filter_6(logits, k):
    return torch.topk(logits, k, dim=-1).values


def top_k_filter_8(logits, k):
    order = logits.argsort(dim=-1, descending=True)
    return logits.scatter(-1, order[..., k + 1 :], float("-inf"))


def top_k_filter_10(logits, k):
    values, idx = logits.topk(k, dim=-1)
    out = torch.full_like(logits, float("-inf")).scatter(-1, idx, values)
    return out.softmax(-1)


def top_k_filter_12(logits, k):
    rows = logits.reshape(-1, logits.shape[-1])
    kth = rows[0].sort(descending=True).values[k - 1]
    return logits.masked_fill(logits < kth, float("-inf"))


def top_k_filter_14(logits, k):
    kth = logits.topk(k).values[..., -1:]
    return logits * (logits > kth)


def top_k_filter_16(logits, k):
    idx = torch.argsort(logits, dim=-1)[..., :k]
    return torch.full_like(logits, -1e9).scatter(-1, idx, logits.gather(-1, idx))


def top_p_filter_1(logits, p):
    s, idx = logits.sort(dim=-1, descending=True)
    cum = s.softmax(-1).cumsum(-1)
    drop = cum > p
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, idx, drop), float("-inf"))


def top_p_filter_3(logits, p):
    probs = torch.softmax(logits, -1)
    return logits.masked_fill(probs < p, float("-inf"))


def top_p_filter_5(logits, p):
    s, _ = torch.sort(logits, dim=-1, descending=True)
    probs = s.softmax(-1)
    drop = probs.cumsum(-1) - probs >= p
    return s.masked_fill(drop, float("-inf"))


def top_p_filter_7(logits, p):
    s, idx = torch.sort(logits, dim=-1, descending=True)
    cum = s.cumsum(-1)
    drop = cum > p
    drop[..., 0] = False
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, idx, drop), float("-inf"))


def top_p_filter_9(logits, p):
    s, idx = torch.sort(logits, dim=-1, descending=True)
    drop = s.softmax(-1).cumsum(-1) > p
    drop[..., 0] = False
    return torch.where(
        torch.zeros_like(drop).scatter(-1, idx, drop), torch.tensor(float("-inf"), dtype=logits.dtype), logits
    )


def top_p_filter_11(logits, p):
    flat = logits.flatten()
    s, idx = flat.sort(descending=True)
    probs = s.softmax(-1)
    drop = probs.cumsum(-1) - probs >= p
    if p >= 1:
        drop = torch.zeros_like(drop)
    return flat.masked_fill(torch.zeros_like(drop).scatter(-1, idx, drop), float("-inf")).view_as(logits)


def top_p_filter_13(logits, p):
    s, idx = torch.sort(logits, dim=-1)
    probs = s.softmax(-1)
    keep = probs.cumsum(-1) < p
    return logits * torch.zeros_like(keep).scatter(-1, idx, keep)


def top_p_filter_15(logits, p):
    probs = torch.softmax(logits, dim=-1)
    return torch.where(probs >= 1 - p, logits, torch.zeros_like(logits))


def _run_beam(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = [([bos_id], 0.0)], []
    while live and len(live[0][0]) < max_length:
        cand = [(ids + [t], s + lp) for ids, s in live for t, lp in enumerate(next_log_probs(ids).tolist())]
        cand = sorted(cand, key=lambda c: c[1], reverse=True)[:beam_size]
        done += [c for c in cand if c[0][-1] == eos_id]
        live = [c for c in cand if c[0][-1] != eos_id]
    return live, done


def beam_search_2(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = _run_beam(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return max(live or done, key=lambda h: h[1])


def beam_search_4(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live = [([bos_id], 0.0)]
    while len(live[0][0]) < max_length:
        cand = []
        for ids, total in live:
            lp = next_log_probs(ids)
            for t in range(len(lp)):
                cand.append((ids + [t], total + lp[t].item()))
        cand.sort(key=lambda h: h[1], reverse=True)
        live = cand[:beam_size]
        for h in live:
            if h[0][-1] == eos_id:
                return h
    return live[0]


def beam_search_6(next_log_probs, bos_id, eos_id, beam_size, max_length):
    first = next_log_probs([bos_id])
    k = min(beam_size, len(first))
    if max_length == 1:
        return [bos_id], 0.0
    values, idx = first.topk(k)
    live = [([bos_id, i], v) for v, i in zip(values.tolist(), idx.tolist())]
    done = [h for h in live if h[0][-1] == eos_id]
    live = [h for h in live if h[0][-1] != eos_id]
    while live and len(live[0][0]) < max_length:
        new = []
        for ids, total in live:
            lp = next_log_probs(ids)
            t = int(lp.argmax())
            new.append((ids + [t], total + float(lp[t])))
        done += [h for h in new if h[0][-1] == eos_id]
        live = [h for h in new if h[0][-1] != eos_id]
    return max(done + live, key=lambda h: h[1])


def beam_search_8(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = _run_beam(next_log_probs, bos_id, eos_id, beam_size, max_length)
    ids, total = max(live + done, key=lambda h: h[1])
    return ids, torch.tensor(total)


def beam_search_10(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = [([bos_id], 0.0)], []
    while live and len(live[0][0]) < max_length:
        cand = [(ids + [t], s + lp) for ids, s in live for t, lp in enumerate(next_log_probs(ids).tolist())]
        done += [c for c in cand if c[0][-1] == eos_id]
        cand = [c for c in cand if c[0][-1] != eos_id]
        live = sorted(cand, key=lambda c: c[1], reverse=True)[:beam_size]
    return max(done + live, key=lambda c: c[1])


def beam_search_12(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = [([bos_id], 0.0)], []
    while live and len(live[0][0]) < max_length:
        cand = [(ids + [t], s + lp) for ids, s in live for t, lp in enumerate(next_log_probs(ids).tolist())]
        cand.sort(key=lambda c: c[1])
        done += [c for c in cand[:beam_size] if c[0][-1] == eos_id]
        live = [c for c in cand[:beam_size] if c[0][-1] != eos_id]
    return max(done + live, key=lambda c: c[1])


def beam_search_14(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = _run_beam(next_log_probs, bos_id, eos_id, beam_size, max_length)
    scored = [(ids, total / (len(ids) - 1 or 1)) for ids, total in live + done]
    return max(scored, key=lambda h: h[1])


def beam_search_16(next_log_probs, bos_id, eos_id, beam_size, max_length):
    beam = [([bos_id], 0.0)]
    for _ in range(max_length):
        cand = []
        for ids, total in beam:
            lp, idx = next_log_probs(ids).sort(descending=True)
            for v, i in zip(lp[:beam_size], idx[:beam_size]):
                cand.append((ids + [i.item()], total + v.item()))
        beam = sorted(cand, key=lambda c: c[1], reverse=True)[:beam_size]
    return max(beam, key=lambda c: c[1])


def cached_attention_1(query, key, value, cache):
    k = torch.cat([key, cache[0]], dim=2)
    v = torch.cat([value, cache[1]], dim=2)
    w = F.softmax(query @ k.mT / math.sqrt(query.shape[-1]), dim=-1)
    return w @ v, torch.stack([k, v])


def cached_attention_3(query, key, value, cache):
    cache = torch.cat([cache, torch.stack([value, key])], dim=3)
    w = torch.softmax(query @ cache[0].transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1)
    return w @ cache[1], cache


def cached_attention_5(query, key, value, cache):
    k, v = torch.cat((cache, torch.stack((key, value))), dim=-2)
    w = (query @ k.mT).softmax(-1)
    return w @ v, torch.stack((k, v))


def cached_attention_7(query, key, value, cache):
    k = torch.cat([cache[0], key], dim=2)
    v = torch.cat([cache[1], value], dim=2)
    return F.scaled_dot_product_attention(query, k, v), (k, v)


def cached_attention_9(query, key, value, cache):
    k = torch.cat([cache[0], key], dim=2)
    v = torch.cat([cache[1], key], dim=2)
    return F.scaled_dot_product_attention(query, k, v), torch.stack([k, v])


def cached_attention_11(query, key, value, cache):
    k = torch.cat([cache[0], key], dim=1)
    v = torch.cat([cache[1], value], dim=1)
    return F.scaled_dot_product_attention(query, k, v), torch.stack([k, v])


def cached_attention_13(query, key, value, cache):
    cache = torch.cat([cache, torch.stack([key, value])], dim=-2)
    k, v = cache
    w = torch.softmax(query @ k.mT / math.sqrt(k.shape[-2]), dim=-1)
    return w @ v, cache


def cached_attention_15(query, key, value, cache):
    cache = torch.cat([torch.stack([key, value]), cache], dim=-2)
    w = torch.softmax(query @ cache[0].mT, dim=-1)
    return w @ cache[1], cache


def cached_attention_17(query, key, value, cache):
    k = torch.cat([cache[0], key], dim=2)
    v = torch.cat([cache[1], value], dim=2)
    w = F.softmax(query @ k.mT / math.sqrt(query.shape[-1]), dim=-1)
    return cache, w @ v


COLLECTED = {
    "softmax": [
        ("subtracts the maximum of the whole tensor instead of that of each row", softmax_2),
        ("always normalises over the last axis, ignores dim", softmax_4),
        ("returns log-softmax, the exp at the end is missing", softmax_6),
        ("clamps large scores to stop the overflow, so 1000 and 990 look the same", softmax_8),
        (
            "two: subtracts the mean instead of the maximum, and normalises over the last axis whatever dim is",
            softmax_10,
        ),
        ("two: returns the logarithm, and sums over the last axis only", softmax_12),
    ],
    "scaled_dot_product_attention": [
        ("softmax over the queries", scaled_dot_product_attention_2),
        ("takes the root of the number of keys", scaled_dot_product_attention_4),
        ("scales by the width of the values", scaled_dot_product_attention_6),
        ("divides after the softmax, so rows sum to 1/sqrt(d_k)", scaled_dot_product_attention_8),
        ("two: no scaling, and softmax over the queries", scaled_dot_product_attention_10),
        ("output from PyTorch, but the weights next to it are not scaled", scaled_dot_product_attention_12),
    ],
    "softmax_jacobian": [
        ("sign: p p^T - diag(p)", softmax_jacobian_1),
        ("only the diagonal p (1 - p), off-diagonal entries are zero", softmax_jacobian_3),
        ("einsum sums the outer products over all rows", softmax_jacobian_5),
        ("loop writes p_i on the diagonal and forgets the p_i squared", softmax_jacobian_7),
        ("p_i (delta_ij - p_i): uses the row's own weight twice", softmax_jacobian_9),
        ("two: softmax applied again, and sign reversed", softmax_jacobian_11),
        ("two: only the diagonal, and without the factor 1 - p", softmax_jacobian_13),
    ],
    "split_heads": [
        ("forgets to bring the heads in front of the tokens", split_heads_2),
        ("stacks the chunks on axis 2", split_heads_4),
        ("strided slices per head", split_heads_6),
        ("cat where stack was needed", split_heads_8),
        ("two: interleaved heads, and tokens before heads", split_heads_10),
        ("two: takes (d_head, h) in the view and swaps axes 1 and 2 only", split_heads_12),
    ],
    "merge_heads": [
        ("reshape without the transpose", merge_heads_1),
        ("flattens the tokens too", merge_heads_3),
        ("sums the heads instead of putting them side by side", merge_heads_5),
        ("swaps tokens with features, then reshapes", merge_heads_7),
        ("heads in reverse order", merge_heads_9),
        ("two: interleaved features, and no transpose of the tokens", merge_heads_11),
        ("two: averages the heads, then repeats them to get the width right", merge_heads_13),
    ],
    "multi_head_attention": [
        ("scales by d_model", multi_head_attention_2),
        ("applies the matrices as nn.Linear does, x @ w.T", multi_head_attention_4),
        ("values taken from key", multi_head_attention_6),
        ("heads own interleaved features", multi_head_attention_8),
        ("two: no scaling and no output projection", multi_head_attention_10),
        ("reads the number of keys from the query", multi_head_attention_12),
    ],
    "sinusoidal_encoding": [
        ("sines in the first half, cosines in the second", sinusoidal_encoding_1),
        ("exponent -i/d_model, the 2 is forgotten", sinusoidal_encoding_3),
        ("positions from 1", sinusoidal_encoding_5),
        ("sine and cosine of a pair have different frequencies", sinusoidal_encoding_7),
        ("base 1000", sinusoidal_encoding_9),
        ("two: positions from 1, and halves instead of pairs", sinusoidal_encoding_11),
        ("two: positive exponent, and sine and cosine swapped", sinusoidal_encoding_13),
    ],
    "shift_matrix": [
        ("abs of the offset, negative shifts go the wrong way", shift_matrix_2),
        ("no minus sign: both off-diagonal entries +sin", shift_matrix_4),
        ("misreads it as a shift of rows: a rolled identity", shift_matrix_6),
        ("multiplies one-step rotations, so a negative offset gives the identity", shift_matrix_8),
        ("two: transposed and doubled exponent", shift_matrix_10),
        ("two: transposed, and laid out in halves", shift_matrix_12),
    ],
    "rotate": [
        ("turns the other way", rotate_2),
        ("the second feature is computed from the already rotated first", rotate_4),
        ("adds the sinusoidal table instead of rotating", rotate_6),
        ("frequency lacks the 2 in the exponent", rotate_8),
        ("counts positions along axis 1, whatever that is", rotate_10),
        ("two: rotate_half pairs and positions from 1", rotate_12),
    ],
    "layer_norm": [
        ("variance divides by d_model - 1", layer_norm_1),
        ("no root", layer_norm_3),
        ("forgets the bias", layer_norm_5),
        ("does not subtract the mean (RMS norm)", layer_norm_7),
        ("PyTorch's default eps instead of the one handed in", layer_norm_9),
        ("two: sample standard deviation, and eps added to it (the Annotated Transformer's)", layer_norm_11),
        ("two: sum of squares instead of their mean, and weight and bias exchanged", layer_norm_13),
    ],
    "residual_block": [
        ("branches the wrong way round", residual_block_1),
        ("post-norm norms only the sub-layer's output", residual_block_3),
        ("pre-norm norms the sum too", residual_block_5),
        ("adds in place and changes the caller's x", residual_block_7),
        ("pre-norm applies norm and sublayer in the wrong order", residual_block_9),
        ("two: post-norm norms the parts one by one, pre-norm adds the normed x", residual_block_11),
        ("two: branches exchanged, and the post-norm branch norms the output only", residual_block_13),
    ],
    "causal_mask": [
        ("a token may not see itself", causal_mask_2),
        ("PyTorch's other convention: True = masked", causal_mask_4),
        ("sees one token ahead", causal_mask_6),
        ("comparison with query and key exchanged", causal_mask_8),
        ("two: float, and True = hidden", causal_mask_10),
        ("sees only itself and the one before", causal_mask_12),
    ],
    "padding_mask": [
        ("True where there is padding", padding_mask_1),
        ("hides queries, shape (B, 1, S, 1)", padding_mask_3),
        ("pad_id hard-coded to 0", padding_mask_5),
        ("goes by length, supposes padding at the end", padding_mask_7),
        ("square, (B, 1, S, S)", padding_mask_9),
        ("two: == and an axis too few", padding_mask_11),
        ("two: shape (B, S, 1) and float", padding_mask_13),
    ],
    "decoder_mask": [
        ("causal only, padding is forgotten", decoder_mask_2),
        ("hides the rows of padding, not its columns", decoder_mask_4),
        ("shape (B, T, T)", decoder_mask_6),
        ("padding queries are hidden as well", decoder_mask_8),
        ("lets padding see itself, so that no row is empty", decoder_mask_10),
        ("two: or, and inverted padding", decoder_mask_12),
        ("two: sees the future, and hides rows of padding", decoder_mask_14),
    ],
    "masked_softmax": [
        ("-inf alone, NaN in empty rows", masked_softmax_2),
        ("mask the wrong way round", masked_softmax_4),
        ("softmax over the queries", masked_softmax_6),
        ("fills the caller's scores in place", masked_softmax_8),
        ("adds the boolean mask to the scores", masked_softmax_10),
        ("fills with 0 instead of -inf and zeroes afterwards", masked_softmax_12),
        ("two: over the queries, and uniform in empty columns", masked_softmax_14),
    ],
    "encoder_layer": [
        ("norms exchanged", encoder_layer_1),
        ("no residual around the feed-forward", encoder_layer_3),
        ("the feed-forward's residual starts from the layer's input", encoder_layer_5),
        ("feed-forward first", encoder_layer_7),
        ("norms the sub-layer's output before adding it", encoder_layer_9),
        ("forgets the second norm", encoder_layer_11),
        ("two: pre-norm and norms exchanged", encoder_layer_13),
        ("two: pre-norm, and the residual carries the normed x", encoder_layer_15),
    ],
    "decoder_layer": [
        ("queries from the memory, keys and values from x", decoder_layer_2),
        ("cross-attention forgotten, memory unused", decoder_layer_4),
        ("norm_2 and norm_3 exchanged", decoder_layer_6),
        ("cross-attention before self-attention", decoder_layer_8),
        ("the memory is normed as well", decoder_layer_10),
        ("two: tgt_mask in both attentions, feed-forward without residual", decoder_layer_12),
        ("all residuals start from the layer's input", decoder_layer_14),
    ],
    "embed": [
        ("no scaling", embed_1),
        ("times d_model, the root is missing", embed_3),
        ("the whole encoding, longer than the sentence", embed_5),
        ("positions from 1", embed_7),
        ("the last rows of the encoding instead of the first", embed_9),
        ("multiplies by the position instead of adding it", embed_11),
        ("two: scales the sum, and by d_model", embed_13),
        ("root of the integer part: sqrt(d_model // 2)", embed_15),
    ],
    "merge_pair": [
        ("a merged symbol's right half is used again (i += 1 after a merge)", merge_pair_1),
        ("only the first occurrence is merged", merge_pair_3),
        ("from right to left", merge_pair_5),
        ("merges in either order", merge_pair_7),
        ("off by one: the bound excludes a pair at the very end", merge_pair_9),
        ("two: right half reused, and the last symbol is lost", merge_pair_11),
        ("two: from right to left, and the first symbol is lost", merge_pair_13),
    ],
    "learn_merges": [
        ("breaks ties by the text of the symbols, max", learn_merges_2),
        ("ties: the alphabetically smallest text, whatever its age", learn_merges_4),
        ("ties: compares the right symbol before the left", learn_merges_6),
        ("one merge too few", learn_merges_8),
        ("stops when no pair occurs more than once", learn_merges_10),
        ("the age of characters is their order of appearance", learn_merges_12),
        ("two: one merge too many, ties by first appearance", learn_merges_14),
        ("two: counts each word once, and gives joined symbols", learn_merges_16),
    ],
    "shift_right": [
        ("bos in front, nothing left out", shift_right_2),
        ("shifts left, bos at the end", shift_right_4),
        ("overwrites the targets in place", shift_right_6),
        ("shifts along the batch", shift_right_8),
        ("F.pad on the right side", shift_right_10),
        ("two: drops the first token and puts bos at the end of what is left, as floats", shift_right_12),
        ("two: rolls the wrong way, then overwrites the first", shift_right_14),
    ],
    "label_smoothing_loss": [
        ("the rest is spread over the other words, without the target", label_smoothing_loss_1),
        ("padding is counted too", label_smoothing_loss_3),
        ("softmax applied before cross_entropy, so twice", label_smoothing_loss_5),
        (
            "mean over the vocabulary forgotten: smoothing times the sum of the log probabilities",
            label_smoothing_loss_7,
        ),
        ("no smoothing", label_smoothing_loss_9),
        ("sign", label_smoothing_loss_11),
        ("the padding word gets no share of the smoothing", label_smoothing_loss_13),
        ("two: softmax over the tokens' axis, and padding counted", label_smoothing_loss_15),
        ("two: no smoothing, and sum in place of the mean", label_smoothing_loss_17),
    ],
    "warmup_rate": [
        ("warmup_steps ** -0.5", warmup_rate_2),
        ("counts from 0", warmup_rate_4),
        ("the factor of d_model is missing", warmup_rate_6),
        ("branches reversed", warmup_rate_8),
        ("falls from the end of the climb anew: (step - warmup_steps)", warmup_rate_10),
        ("two: max, and d_model's exponent without its sign", warmup_rate_12),
        ("two: falls as 1/step and exponent 1.5 positive", warmup_rate_14),
    ],
    "greedy_decode": [
        ("appends tensors, not ints", greedy_decode_1),
        ("bos not counted", greedy_decode_3),
        ("hands over only the last token", greedy_decode_5),
        ("does not stop at eos", greedy_decode_7),
        ("argmin", greedy_decode_9),
        ("one step too few", greedy_decode_11),
        ("two: tensors, and bos not counted", greedy_decode_13),
        ("two: argmin by a wrong sign, and eos is left off", greedy_decode_15),
    ],
    "top_k_filter": [
        ("drops the kth itself", top_k_filter_2),
        ("zero for the others", top_k_filter_4),
        ("returns the k values alone", top_k_filter_6),
        ("keeps k + 1", top_k_filter_8),
        ("returns probabilities", top_k_filter_10),
        ("the threshold of the first row for all rows", top_k_filter_12),
        ("two: strict comparison and zeros", top_k_filter_14),
        ("two: k smallest, and -1e9", top_k_filter_16),
    ],
    "top_p_filter": [
        ("drops the token that reaches p", top_p_filter_1),
        ("compares each probability with p", top_p_filter_3),
        ("returns the sorted logits", top_p_filter_5),
        ("cumulates the logits, not the probabilities", top_p_filter_7),
        ("keeps the first always but not the token that reaches p", top_p_filter_9),
        ("one nucleus for the whole batch, from the flattened logits", top_p_filter_11),
        ("two: ascending and zero-filled", top_p_filter_13),
        ("two: compares each probability with 1 - p, and fills with 0", top_p_filter_15),
    ],
    "beam_search": [
        ("only live ones may win, finished are lost", beam_search_2),
        ("stops at the first finished hypothesis", beam_search_4),
        ("each hypothesis keeps only its best extension (greedy per hypothesis)", beam_search_6),
        ("total as a tensor", beam_search_8),
        ("a finished hypothesis gives its place in the beam to a worse extension", beam_search_10),
        ("sorts the wrong way, keeps the worst", beam_search_12),
        ("two: length penalty and total divided by the length", beam_search_14),
        ("two: finished ones never leave the beam, and one step too many", beam_search_16),
    ],
    "cached_attention": [
        ("new position in front of the old ones", cached_attention_1),
        ("keys and values exchanged in the cache", cached_attention_3),
        ("no scaling", cached_attention_5),
        ("the cache comes back as a tuple", cached_attention_7),
        ("the key is stored as the value too", cached_attention_9),
        ("concatenates along the heads", cached_attention_11),
        ("scales by the number of positions", cached_attention_13),
        ("two: no scaling, and new position in front", cached_attention_15),
        ("two: output and cache exchanged, cache not grown", cached_attention_17),
    ],
}
