"""Wrong answers as students would write them: the half that the diagnosis was improved on."""

import math
from collections import Counter

import torch
import torch.nn.functional as F


def softmax_1(scores, dim):
    e = torch.exp(scores)
    return e / e.sum(dim=dim, keepdim=True)


def softmax_3(scores, dim):
    shifted = scores - scores.amax(dim=dim, keepdim=True)
    e = torch.exp(shifted)
    return e / e.sum(dim=dim)


def softmax_5(scores, dim):
    scores -= scores.max(dim=dim, keepdim=True).values
    e = scores.exp()
    return e / e.sum(dim=dim, keepdim=True)


def softmax_7(scores, dim):
    e = torch.exp(scores - scores.amax(dim, keepdim=True))
    return e / e.amax(dim, keepdim=True)


def softmax_9(scores, dim):
    return torch.exp(scores) / torch.exp(scores).sum()


def softmax_11(scores, dim):
    scores = scores - scores.sum(dim=dim, keepdim=True)
    e = torch.exp(scores)
    return e / e.sum(dim=dim, keepdim=True)


def scaled_dot_product_attention_1(query, key, value):
    d_k = query.shape[-1]
    scores = query @ key.transpose(-2, -1) / d_k
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention_3(query, key, value):
    kt = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])
    scores = torch.matmul(query, kt) / query.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


def scaled_dot_product_attention_5(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights, weights @ value


def scaled_dot_product_attention_7(query, key, value):
    scale = query.shape[-1] ** 0.5
    weights = F.softmax(scale * (query @ key.mT), dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention_9(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    out = torch.softmax(scores, -1) @ value
    return out, scores


def scaled_dot_product_attention_11(query, key, value):
    w = F.softmax(query @ key.mT / query.shape[-1], dim=-1)
    return w, w @ value


def scaled_dot_product_attention_13(query, key, value):
    scores = torch.einsum("...qd,...kd->...qk", query, key)
    return torch.einsum("...qk,...kv->...qv", scores.softmax(-1), value), scores


def softmax_jacobian_2(weights):
    return torch.diag_embed(weights) + weights[..., :, None] * weights[..., None, :]


def softmax_jacobian_4(weights):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    return eye - torch.einsum("...i,...j->...ij", weights, weights)


def softmax_jacobian_6(weights):
    p = torch.softmax(weights, dim=-1)
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


def softmax_jacobian_8(weights):
    return weights.unsqueeze(-1) * (1 - weights.unsqueeze(-2))


def softmax_jacobian_10(weights):
    return torch.diag(weights) - torch.outer(weights, weights)


def softmax_jacobian_12(weights):
    return torch.eye(weights.shape[-1]).to(weights) + weights[..., :, None] * weights[..., None, :]


def split_heads_1(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, n_heads, T, d // n_heads)


def split_heads_3(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, D // n_heads, n_heads).permute(0, 3, 1, 2)


def split_heads_5(x, n_heads):
    b, t, d = x.size()
    return x.reshape(b, t, n_heads, d // n_heads).transpose(1, 3)


def split_heads_7(x, n_heads):
    return torch.stack(torch.split(x, n_heads, dim=-1), dim=1)


def split_heads_9(x, n_heads):
    B, T, D = x.shape
    return x.transpose(1, 2).reshape(B, n_heads, T, D // n_heads)


def split_heads_11(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).permute(2, 0, 1, 3)


def split_heads_13(x, n_heads):
    B, T, D = x.shape
    return x.transpose(1, 2).reshape(B, n_heads, D // n_heads, T).transpose(2, 3).flip(1)


def merge_heads_2(x):
    B, h, T, d = x.shape
    return x.transpose(1, 2).view(B, T, h * d)


def merge_heads_4(x):
    B, h, T, d = x.shape
    return x.permute(0, 2, 3, 1).reshape(B, T, d * h)


def merge_heads_6(x):
    return torch.cat([x[:, i] for i in range(x.shape[1])], dim=1)


def merge_heads_8(x):
    B, h, T, d = x.shape
    return x.transpose(0, 1).reshape(B, T, -1)


def merge_heads_10(x):
    B, h, T, d = x.shape
    out = torch.zeros(B, T, h * d)
    for i in range(h):
        out[..., i * d : (i + 1) * d] = x[:, i]
    return out


def merge_heads_12(x):
    B, h, T, d = x.shape
    out = torch.zeros(B, T, h * d, dtype=x.dtype, device=x.device)
    for i in range(h - 1):
        out[..., i::h] = x[:, i]
    return out


def _merge(x):
    B, h, T, d_head = x.shape
    return x.transpose(1, 2).reshape(B, T, h * d_head)


def _split(x, n_heads):
    B, T, d_model = x.shape
    return x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)


def multi_head_attention_1(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = _split(query @ w_q, n_heads), _split(key @ w_k, n_heads), _split(value @ w_v, n_heads)
    w = F.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
    return _merge(w @ v)


def multi_head_attention_3(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    B, T, d_model = query.shape
    S = key.shape[1]
    d_head = d_model // n_heads
    q = (query @ w_q).view(B, n_heads, T, d_head)
    k = (key @ w_k).view(B, n_heads, S, d_head)
    v = (value @ w_v).view(B, n_heads, S, d_head)
    scores = q @ k.transpose(-2, -1) / d_head**0.5
    out = scores.softmax(-1) @ v
    return out.transpose(1, 2).reshape(B, T, d_model) @ w_o


def multi_head_attention_5(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q = _split(query @ w_q, n_heads)
    k = _split(key @ w_k, n_heads)
    v = _split(value @ w_k, n_heads)
    return _merge(F.scaled_dot_product_attention(q, k, v)) @ w_o


def multi_head_attention_7(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = _split(query @ w_q, n_heads), _split(key @ w_k, n_heads), _split(value @ w_v, n_heads)
    out = F.scaled_dot_product_attention(q, k, v)
    return out.reshape(query.shape) @ w_o


def multi_head_attention_9(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q = (query @ w_q).unflatten(-1, (n_heads, -1))
    k = (key @ w_k).unflatten(-1, (n_heads, -1))
    v = (value @ w_v).unflatten(-1, (n_heads, -1))
    scores = torch.einsum("bthd,bshd->bhts", q, k) / q.shape[-1] ** 0.5
    weights = scores.softmax(dim=2)
    return torch.einsum("bhts,bshd->bthd", weights, v).flatten(2) @ w_o


def multi_head_attention_11(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = _split(query @ w_q, n_heads), _split(key @ w_k, n_heads), _split(value @ w_v, n_heads)
    w = torch.softmax(q @ k.mT / query.shape[-1] ** 0.5, dim=-1)
    return _merge(w @ v) @ w_o.T


def multi_head_attention_13(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    B, T, D = query.shape
    dh = D // n_heads
    q = (query @ w_q).reshape(B, n_heads, -1, dh)
    k = (key @ w_k).reshape(B, n_heads, -1, dh)
    v = (value @ w_v).reshape(B, n_heads, -1, dh)
    out = F.scaled_dot_product_attention(q, k, v)
    return out.reshape(B, T, D) @ w_o


def sinusoidal_encoding_2(length, d_model):
    pe = torch.zeros(length, d_model)
    pos = torch.arange(length).float().unsqueeze(1)
    i = torch.arange(0, d_model, 2).float()
    div = torch.pow(10000.0, -2 * i / d_model)
    pe[:, 0::2] = torch.sin(pos * div)
    pe[:, 1::2] = torch.cos(pos * div)
    return pe


def sinusoidal_encoding_4(length, d_model):
    pe = torch.zeros(length, d_model)
    pos = torch.arange(length, dtype=torch.float).unsqueeze(1)
    div = torch.exp(torch.arange(0, d_model, 2) * (math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(pos * div)
    pe[:, 1::2] = torch.cos(pos * div)
    return pe


def sinusoidal_encoding_6(length, d_model):
    out = torch.empty(length, d_model)
    for p in range(length):
        for i in range(d_model // 2):
            a = p / 10000 ** (2 * i / d_model)
            out[p, 2 * i] = math.cos(a)
            out[p, 2 * i + 1] = math.sin(a)
    return out


def sinusoidal_encoding_8(length, d_model):
    half = d_model // 2
    omega = 10000 ** (-torch.arange(half) / max(half - 1, 1))
    angle = torch.arange(length).unsqueeze(1) * omega
    return torch.stack([angle.sin(), angle.cos()], dim=2).view(length, d_model)


def sinusoidal_encoding_10(length, d_model):
    omega = 10000 ** (-2 * torch.arange(d_model // 2) / d_model)
    angle = torch.outer(torch.arange(length).float(), omega)
    return torch.stack([angle.sin(), angle.cos()], dim=0).reshape(length, d_model)


def sinusoidal_encoding_12(length, d_model):
    pe = torch.zeros(length, d_model)
    pos = torch.arange(length).unsqueeze(1)
    i = torch.arange(0, d_model, 2)
    a = pos / torch.pow(10000, 2 * i / d_model)
    pe[:, 1::2], pe[:, 0::2] = a.sin(), a.cos()
    return pe


def shift_matrix_1(offset, d_model):
    M = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        a = offset * 10000 ** (-2 * i / d_model)
        M[2 * i, 2 * i] = math.cos(a)
        M[2 * i, 2 * i + 1] = -math.sin(a)
        M[2 * i + 1, 2 * i] = math.sin(a)
        M[2 * i + 1, 2 * i + 1] = math.cos(a)
    return M


def shift_matrix_3(offset, d_model):
    omega = 10000 ** (-2 * torch.arange(d_model // 2) / d_model)
    c, s = torch.diag(torch.cos(offset * omega)), torch.diag(torch.sin(offset * omega))
    return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)], 0)


def shift_matrix_5(offset, d_model):
    M = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        w = 10000 ** (-2 * i / d_model)
        c, s = math.cos(offset * w), math.sin(offset * w)
        M[i : i + 2, i : i + 2] = torch.tensor([[c, s], [-s, c]])
    return M


def shift_matrix_7(offset, d_model):
    c, s = math.cos(offset), math.sin(offset)
    block = torch.tensor([[c, s], [-s, c]])
    return torch.block_diag(*[block for _ in range(d_model // 2)])


def shift_matrix_9(offset, d_model):
    M = torch.eye(d_model)
    for i in range(d_model // 2 - 1):
        a = offset * 10000 ** (-2 * i / d_model)
        c, s = math.cos(a), math.sin(a)
        M[2 * i, 2 * i], M[2 * i, 2 * i + 1] = c, s
        M[2 * i + 1, 2 * i], M[2 * i + 1, 2 * i + 1] = -s, c
    return M


def shift_matrix_11(offset, d_model):
    M = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        a = offset * 10000 ** (-i / d_model)
        c, s = math.cos(a), math.sin(a)
        M[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, s], [s, c]])
    return M


def rotate_1(x):
    T, d = x.shape[-2:]
    omega = 10000 ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d)
    a = torch.arange(T, dtype=x.dtype, device=x.device)[:, None] * omega
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat([x1 * a.cos() - x2 * a.sin(), x1 * a.sin() + x2 * a.cos()], dim=-1)


def rotate_3(x):
    T, d = x.shape[-2:]
    pos = torch.arange(1, T + 1, dtype=x.dtype, device=x.device)
    omega = 10000 ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d)
    a = torch.outer(pos, omega)
    e, o = x[..., 0::2], x[..., 1::2]
    return torch.stack([e * a.cos() - o * a.sin(), e * a.sin() + o * a.cos()], -1).flatten(-2)


def _angles(length, d, like):
    omega = 10000 ** (-torch.arange(0, d, 2, dtype=like.dtype, device=like.device) / d)
    return torch.arange(length, dtype=like.dtype, device=like.device)[:, None] * omega


def rotate_5(x):
    T, d = x.shape[-2:]
    a = _angles(T, d, x)
    e, o = x[..., 0::2], x[..., 1::2]
    return torch.cat([e * a.cos() - o * a.sin(), e * a.sin() + o * a.cos()], dim=-1)


def rotate_7(x):
    T, d = x.shape[-2:]
    a = _angles(T, d, x)
    e, o = x[..., 0::2].clone(), x[..., 1::2].clone()
    x[..., 0::2] = e * a.cos() - o * a.sin()
    x[..., 1::2] = e * a.sin() + o * a.cos()
    return x


def rotate_9(x):
    T, d = x.shape[-2:]
    a = _angles(T, d, x)
    e, o = x[..., 0::2], x[..., 1::2]
    return torch.stack((e * a.cos() + o * a.sin(), e * a.sin() + o * a.cos()), -1).flatten(-2)


def rotate_11(x):
    T, d = x.shape[-2:]
    a = _angles(T, d, x)
    e, o = x[..., 0::2], x[..., 1::2]
    return torch.cat([e * a.cos() + o * a.sin(), -e * a.sin() + o * a.cos()], dim=-1)


def rotate_13(x):
    T, d = x.shape[-2], x.shape[-1]
    out = []
    for i in range(d // 2):
        a = torch.arange(1, T + 1, dtype=x.dtype, device=x.device) * 10000 ** (-2 * i / d)
        even, odd = x[..., 2 * i], x[..., 2 * i + 1]
        out += [even * a.cos() + odd * a.sin(), odd * a.cos() - even * a.sin()]
    return torch.stack(out, dim=-1)


def layer_norm_2(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    std = ((x - mean) ** 2).mean(dim=-1, keepdim=True).sqrt()
    return weight * (x - mean) / (std + eps) + bias


def layer_norm_4(x, weight, bias, eps):
    mean = x.mean(dim=-2, keepdim=True)
    var = x.var(dim=-2, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(var + eps) * weight + bias


def layer_norm_6(x, weight, bias, eps):
    var, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    return ((x - mean) * torch.rsqrt(var + eps) + bias) * weight


def layer_norm_8(x, weight, bias, eps):
    x -= x.mean(-1, keepdim=True)
    var = (x * x).mean(-1, keepdim=True)
    return x / torch.sqrt(var + eps) * weight + bias


def layer_norm_10(x, weight, bias, eps):
    dims = tuple(range(1, x.dim())) or (0,)
    mean = x.mean(dims, keepdim=True)
    var = x.var(dims, keepdim=True, correction=0)
    return (x - mean) / (var + eps).sqrt() * weight + bias


def layer_norm_12(x, weight, bias, eps):
    m = x.mean(-1, keepdim=True)
    v = ((x - m) ** 2).mean(-1, keepdim=True)
    return (x - m) / (v + eps) + bias


def layer_norm_14(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    var = (centred**2).sum(-1, keepdim=True) / (x.shape[-1] - 1)
    return weight * centred / torch.sqrt(var + eps)


def residual_block_2(x, sublayer, norm, norm_first):
    if norm_first:
        x = norm(x)
        return x + sublayer(x)
    return norm(x + sublayer(x))


def residual_block_4(x, sublayer, norm, norm_first):
    return sublayer(norm(x)) if norm_first else norm(x + sublayer(x))


def residual_block_6(x, sublayer, norm, norm_first):
    if norm_first:
        return x + sublayer(norm(x))
    return norm(sublayer(x))


def residual_block_8(x, sublayer, norm, norm_first):
    residual = x
    out = sublayer(x)
    out = residual + out
    return norm(out)


def residual_block_10(x, sublayer, norm, norm_first):
    if not norm_first:
        return sublayer(norm(x))
    return norm(x + sublayer(x))


def residual_block_12(x, sublayer, norm, norm_first):
    return x + sublayer(norm(x)) if norm_first else norm(x) + sublayer(x)


def causal_mask_1(length):
    return torch.triu(torch.ones(length, length, dtype=torch.bool))


def causal_mask_3(length):
    return torch.tril(torch.ones(length, length))


def causal_mask_5(length):
    return torch.full((length, length), float("-inf")).triu(1)


def causal_mask_7(length):
    i = torch.arange(length)
    return (i[:, None] >= i[None, :])[None, None]


def causal_mask_9(length):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for q in range(length):
        for k in range(q):
            mask[q, k] = True
    return mask


def causal_mask_11(length):
    i = torch.arange(length)
    return (i[None, :] > i[:, None]).long()


def causal_mask_13(length):
    mask = torch.zeros(length, length)
    return mask.masked_fill(torch.ones(length, length).tril().bool(), float("-inf"))


def padding_mask_2(tokens, pad_id):
    return (tokens != pad_id).unsqueeze(1)


def padding_mask_4(tokens, pad_id):
    return (tokens > pad_id)[:, None, None, :]


def padding_mask_6(tokens, pad_id):
    return (tokens != pad_id).float()[:, None, None]


def padding_mask_8(tokens, pad_id):
    return (tokens != pad_id)[None, None]


def padding_mask_10(tokens, pad_id):
    seen = (tokens == pad_id).cumsum(dim=1)
    return (seen == 0)[:, None, None, :]


def padding_mask_12(tokens, pad_id):
    m = torch.zeros(tokens.shape).masked_fill(tokens == 0, float("-inf"))
    return m.view(tokens.size(0), 1, 1, tokens.size(1))


def decoder_mask_1(tokens, pad_id):
    T = tokens.shape[1]
    pad = (tokens != pad_id)[:, None, None, :]
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    return pad | causal


def decoder_mask_3(tokens, pad_id):
    B, T = tokens.shape
    return (tokens != pad_id).view(B, 1, 1, T).expand(B, 1, T, T)


def decoder_mask_5(tokens, pad_id):
    T = tokens.size(1)
    return (tokens == pad_id)[:, None, None, :] & torch.ones(T, T).tril().bool()


def decoder_mask_7(tokens, pad_id):
    T = tokens.shape[-1]
    return (tokens != pad_id)[:, None, None] & torch.triu(torch.ones(T, T, dtype=torch.bool))


def decoder_mask_9(tokens, pad_id):
    T = tokens.shape[1]
    return (tokens != pad_id)[:, None, None, :] & torch.ones(T, T).tril(-1).bool()


def decoder_mask_11(tokens, pad_id):
    T = tokens.shape[1]
    return (tokens != pad_id).int()[:, None, None, :] * torch.tril(torch.ones(T, T, dtype=torch.int))


def decoder_mask_13(tokens, pad_id):
    B, T = tokens.shape
    out = torch.zeros(B, T, T, dtype=torch.bool)
    for b in range(B):
        for q in range(T):
            for k in range(q):
                out[b, q, k] = tokens[b, k] != pad_id
    return out


def masked_softmax_1(scores, mask):
    return torch.softmax(scores, dim=-1) * mask


def masked_softmax_3(scores, mask):
    return F.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-1)


def masked_softmax_5(scores, mask):
    return torch.softmax(scores * mask, dim=-1)


def masked_softmax_7(scores, mask):
    weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)
    return weights.masked_fill(~mask, 0.0)


def masked_softmax_9(scores, mask):
    e = torch.exp(scores) * mask
    return e / e.sum(-1, keepdim=True).clamp(min=1e-6)


def masked_softmax_11(scores, mask):
    if not mask.any(dim=-1).all():
        return torch.zeros_like(scores)
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)


def masked_softmax_13(scores, mask):
    return scores.masked_fill(mask, float("-inf")).softmax(-1)


def masked_softmax_15(scores, mask):
    weights = F.softmax(scores, dim=-2)
    return weights.masked_fill(~mask, 0)


def encoder_layer_2(x, self_attention, feed_forward, norm_1, norm_2, mask):
    n = norm_1(x)
    x = x + self_attention(n, n, n, mask)
    return x + feed_forward(norm_2(x))


def encoder_layer_4(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, None))
    return norm_2(x + feed_forward(x))


def encoder_layer_6(x, self_attention, feed_forward, norm_1, norm_2, mask):
    h = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(h + feed_forward(x))


def encoder_layer_8(x, self_attention, feed_forward, norm_1, norm_2, mask):
    for sub in (lambda y: self_attention(y, y, y, mask), feed_forward):
        x = norm_1(x + sub(x))
    return x


def encoder_layer_10(x, self_attention, feed_forward, norm_1, norm_2, mask):
    a = self_attention(x, x, x, mask)
    x += a
    x = norm_1(x)
    return norm_2(x + feed_forward(x))


def encoder_layer_12(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(self_attention(x, x, x, None))
    return norm_2(x + feed_forward(x))


def encoder_layer_14(x, self_attention, feed_forward, norm_1, norm_2, mask):
    h = norm_1(x + self_attention(x, x, x, ~mask))
    return norm_2(h + feed_forward(h))


def decoder_layer_1(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, memory_mask))
    x = norm_2(x + cross_attention(x, memory, memory, tgt_mask))
    return norm_3(x + feed_forward(x))


def decoder_layer_3(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    a = norm_1(x + self_attention(x, x, x, tgt_mask))
    b = norm_2(a + cross_attention(a, memory, a, memory_mask))
    return norm_3(b + feed_forward(b))


def decoder_layer_5(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


def decoder_layer_7(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    h = norm_1(x)
    x = x + self_attention(h, h, h, tgt_mask)
    x = x + cross_attention(norm_2(x), memory, memory, memory_mask)
    return x + feed_forward(norm_3(x))


def decoder_layer_9(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    h = norm_1(x + self_attention(x, x, x, tgt_mask))
    h = norm_2(h + cross_attention(x, memory, memory, memory_mask))
    return norm_3(h + feed_forward(h))


def decoder_layer_11(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    return x + feed_forward(x)


def decoder_layer_13(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_3(x + self_attention(x, x, x, None))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    return norm_1(x + feed_forward(x))


def decoder_layer_15(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(cross_attention(x, memory, memory, memory_mask))
    return x + feed_forward(x)


def embed_2(tokens, table, encoding):
    d = table.shape[1]
    return (F.embedding(tokens, table) + encoding[: tokens.size(1)]) * math.sqrt(d)


def embed_4(tokens, table, encoding):
    return table[tokens] / math.sqrt(table.shape[-1]) + encoding[: tokens.shape[1]]


def embed_6(tokens, table, encoding):
    return table[tokens] * table.shape[-1] ** 0.5 + encoding[tokens % encoding.shape[0]]


def embed_8(tokens, table, encoding):
    d_model = table.shape[0]
    return F.embedding(tokens, table) * d_model**0.5 + encoding[: tokens.shape[1]]


def embed_10(tokens, table, encoding):
    B, T = tokens.shape
    e = encoding[torch.arange(B) % encoding.shape[0]]
    return table[tokens] * math.sqrt(table.shape[1]) + e[:, None]


def embed_12(tokens, table, encoding):
    table *= math.sqrt(table.shape[1])
    return table[tokens] + encoding[: tokens.shape[1]]


def embed_14(tokens, table, encoding):
    T = tokens.shape[1]
    return table[tokens] + encoding[:T].flip(0)


def embed_16(tokens, table, encoding):
    T, d = tokens.shape[1], table.shape[1]
    pos = torch.arange(T) + 1
    return F.embedding(tokens, table) / d**0.5 + encoding[pos.clamp(max=len(encoding) - 1)]


def merge_pair_2(symbols, pair):
    out = []
    i = 0
    while i < len(symbols) - 1:
        if symbols[i] == pair[0] and symbols[i + 1] == pair[1]:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def merge_pair_4(symbols, pair):
    text = " ".join(symbols)
    return text.replace(" ".join(pair), "".join(pair)).split(" ")


def merge_pair_6(symbols, pair):
    i = 0
    while i < len(symbols) - 1:
        if (symbols[i], symbols[i + 1]) == pair:
            symbols[i : i + 2] = [pair[0] + pair[1]]
        i += 1
    return symbols


def merge_pair_8(symbols, pair):
    out = []
    for i in range(0, len(symbols), 2):
        if tuple(symbols[i : i + 2]) == tuple(pair):
            out.append("".join(pair))
        else:
            out.extend(symbols[i : i + 2])
    return out


def merge_pair_10(symbols, pair):
    for i in range(len(symbols) - 1):
        if symbols[i] == pair[0] and symbols[i + 1] == pair[1]:
            symbols[i] = symbols[i] + symbols[i + 1]
            del symbols[i + 1]
            break
    return symbols


def merge_pair_12(symbols, pair):
    out = []
    for s in symbols:
        if out and out[-1].endswith(pair[0]) and s == pair[1]:
            out[-1] = out[-1] + s
        else:
            out.append(s)
    return out


def _oldest(count, age):
    return lambda p: (-count[p], age[p[0]], age[p[1]])


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


def learn_merges_1(words, n_merges):
    return _bpe(words, n_merges, weigh=lambda n: 1)


def learn_merges_3(words, n_merges):
    split = {w: list(w) for w in words}
    merges = []
    while len(merges) < n_merges:
        count = Counter()
        for w, n in words.items():
            for p in zip(split[w], split[w][1:]):
                count[p] += n
        if not count:
            break
        best = count.most_common(1)[0][0]
        merges.append(best)
        split = {w: _merge_pair(s, best) for w, s in split.items()}
    return merges


def learn_merges_5(words, n_merges):
    return _bpe(words, n_merges, key=lambda count, age: lambda p: (-count[p], -age[p[0]], -age[p[1]]))


def learn_merges_7(words, n_merges):
    return _bpe(words, n_merges, stop=False)


def learn_merges_9(words, n_merges):
    return [a + b for a, b in _bpe(words, n_merges)]


def learn_merges_11(words, n_merges):
    count = Counter()
    for w, n in words.items():
        for p in zip(w, w[1:]):
            count[p] += n
    return sorted(count, key=lambda p: (-count[p], p))[:n_merges]


def learn_merges_13(words, n_merges):
    return _bpe(words, n_merges, weigh=lambda n: 1, key=lambda count, age: lambda p: (-count[p], p))


def learn_merges_15(words, n_merges):
    split = {w: list(w) for w in words}
    age = {c: i for i, c in enumerate(sorted(set("".join(words))))}
    merges = []
    for _ in range(n_merges):
        count = Counter()
        for w, n in words.items():
            for p in set(zip(split[w], split[w][1:])):
                count[p] += n
        if not count:
            break
        best = min(count, key=lambda p: (-count[p], age[p[0]], age[p[1]]))
        merges.append(best)
        age.setdefault(best[0] + best[1], len(age))
        split = {w: _merge_pair(s, best) for w, s in split.items()}
    return merges


def shift_right_1(tokens, bos_id):
    return torch.roll(tokens, shifts=1, dims=1)


def shift_right_3(tokens, bos_id):
    bos = tokens.new_full((tokens.size(0), 1), bos_id)
    return torch.cat([bos, tokens[:, 1:]], dim=1)


def shift_right_5(tokens, bos_id):
    out = torch.zeros(tokens.shape)
    out[:, 0] = bos_id
    out[:, 1:] = tokens[:, :-1]
    return out


def shift_right_7(tokens, bos_id):
    out = torch.roll(tokens, 1)
    out[0, 0] = bos_id
    return out


def shift_right_9(tokens, bos_id):
    out = tokens.clone()
    out[:, 0] = bos_id
    return out


def shift_right_11(tokens, bos_id):
    return F.pad(tokens, (1, -1))


def shift_right_13(tokens, bos_id):
    tokens[:, :] = tokens.roll(1, dims=1)
    return tokens


def shift_right_15(tokens, bos_id):
    bos = tokens.new_full((tokens.shape[0], 1), bos_id)
    return torch.cat((tokens, bos), dim=1)


def label_smoothing_loss_2(logits, targets, smoothing, pad_id):
    return F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="sum"
    )


def label_smoothing_loss_4(logits, targets, smoothing, pad_id):
    loss = F.cross_entropy(logits.transpose(1, 2), targets, label_smoothing=smoothing, reduction="none")
    return (loss * (targets != pad_id)).mean()


def label_smoothing_loss_6(logits, targets, smoothing, pad_id):
    logp = logits.log_softmax(-1)
    truth = torch.full_like(logp, smoothing / logits.size(-1))
    truth.scatter_(-1, targets[..., None], 1 - smoothing)
    loss = -(truth * logp).sum(-1)
    keep = targets.ne(pad_id)
    return (loss * keep).sum() / keep.sum()


def label_smoothing_loss_8(logits, targets, smoothing, pad_id):
    loss = F.cross_entropy(logits.transpose(1, 2), targets, label_smoothing=smoothing, reduction="none")
    keep = (targets != pad_id).float()
    per_sentence = (loss * keep).sum(1) / keep.sum(1).clamp(min=1)
    return per_sentence.mean()


def label_smoothing_loss_10(logits, targets, smoothing, pad_id):
    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=0, label_smoothing=smoothing)


def label_smoothing_loss_12(logits, targets, smoothing, pad_id):
    logp = torch.log_softmax(logits, dim=-1)
    nll = -logp.gather(-1, targets[..., None])[..., 0]
    keep = targets != pad_id
    return (smoothing * nll - (1 - smoothing) * logp.mean(-1))[keep].mean()


def label_smoothing_loss_14(logits, targets, smoothing, pad_id):
    V = logits.size(-1)
    logp = F.log_softmax(logits, -1)
    truth = torch.full_like(logp, smoothing / (V - 1)).scatter(-1, targets[..., None], 1 - smoothing)
    loss = -(truth * logp).sum(-1)
    loss = loss.masked_fill(targets == pad_id, 0)
    return loss.mean()


def label_smoothing_loss_16(logits, targets, smoothing, pad_id):
    return F.cross_entropy(logits, targets, ignore_index=pad_id, label_smoothing=smoothing)


def warmup_rate_1(step, d_model, warmup_steps):
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


def warmup_rate_3(step, d_model, warmup_steps):
    return math.sqrt(d_model) * min(step**-0.5, step * warmup_steps**-1.5)


def warmup_rate_5(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-1, step * warmup_steps**-1.5)


def warmup_rate_7(step, d_model, warmup_steps):
    peak = (d_model * warmup_steps) ** -0.5
    if step < warmup_steps:
        return peak * step / warmup_steps
    return peak


def warmup_rate_9(step, d_model, warmup_steps):
    if step <= warmup_steps:
        return d_model**-0.5 * step / warmup_steps
    return d_model**-0.5 * step**-0.5


def warmup_rate_11(step, d_model, warmup_steps):
    return 1 / d_model * min(1 / math.sqrt(step), step / warmup_steps**1.5)


def warmup_rate_13(step, d_model, warmup_steps):
    step = step - 1
    if step < warmup_steps:
        return step * warmup_steps**-1.5
    return step**-0.5


def warmup_rate_15(step, d_model, warmup_steps):
    return min(1 / step**0.5, step / warmup_steps**0.5)


def greedy_decode_2(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) < max_length:
        token = int(next_logits(ids).argmax())
        if token == eos_id:
            break
        ids.append(token)
    return ids


def greedy_decode_4(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while ids[-1] != eos_id and len(ids) < max_length:
        ids.append(int(torch.argmax(next_logits(ids))))
    return ids


def greedy_decode_6(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) < max_length:
        ids.append(next_logits(ids).argmax().item())
        if ids[-1] == eos_id:
            break
    return ids[1:]


def greedy_decode_8(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) < max_length:
        probs = torch.softmax(next_logits(ids).float(), -1)
        token = torch.multinomial(probs, 1).item()
        ids.append(token)
        if token == eos_id:
            break
    return ids


def greedy_decode_10(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) < max_length - 1:
        token = next_logits(ids).argmax().item()
        if token == eos_id:
            break
        ids.append(token)
    return ids + [eos_id]


def greedy_decode_12(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) < max_length:
        token = next_logits(ids).argmax().item()
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]


def greedy_decode_14(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) <= max_length:
        ids.append(int(next_logits(ids).argmax()))
    return ids


def top_k_filter_1(logits, k):
    kth = torch.topk(logits, k, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < kth, float("-inf"))


def top_k_filter_3(logits, k):
    idx = logits.topk(k, dim=-1, largest=False).indices
    out = torch.full_like(logits, float("-inf"))
    return out.scatter(-1, idx, logits.gather(-1, idx))


def top_k_filter_5(logits, k):
    flat = logits.flatten()
    idx = flat.topk(k).indices
    out = torch.full_like(flat, float("-inf"))
    out[idx] = flat[idx]
    return out.view_as(logits)


def top_k_filter_7(logits, k):
    order = logits.argsort(dim=-1)
    drop = order[..., k:]
    return logits.scatter(-1, drop, float("-inf"))


def top_k_filter_9(logits, k):
    drop = logits.argsort(dim=-1, descending=True)[..., k:]
    logits.scatter_(-1, drop, float("-inf"))
    return logits


def top_k_filter_11(logits, k):
    s = logits.sort(dim=-1, descending=True).values
    keep = torch.arange(logits.shape[-1]) < k
    return s.masked_fill(~keep, float("-inf"))


def top_k_filter_13(logits, k):
    values, idx = logits.topk(k, dim=-1)
    return torch.full_like(logits, -1e9).scatter(-1, idx, values)


def top_k_filter_15(logits, k):
    kth = logits.sort(dim=-1).values[..., -k].unsqueeze(-1)
    logits[logits < kth] = float("-inf")
    return logits


def top_k_filter_17(logits, k):
    top = logits.reshape(-1).topk(k).values
    return torch.where(logits >= top.min(), logits, torch.zeros_like(logits))


def top_p_filter_2(logits, p):
    s, idx = logits.sort(dim=-1, descending=True)
    probs = s.softmax(-1)
    drop = probs.cumsum(-1) - probs >= p
    return logits.masked_fill(drop, float("-inf"))


def top_p_filter_4(logits, p):
    s, idx = torch.sort(logits, dim=-1)
    probs = s.softmax(-1)
    drop = probs.cumsum(-1) - probs >= p
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, idx, drop), float("-inf"))


def top_p_filter_6(logits, p):
    s, idx = torch.sort(logits, dim=-1, descending=True)
    probs = s.softmax(-1)
    keep = probs.cumsum(-1) - probs < p
    if p >= 1:
        return logits.clone()
    return logits * torch.zeros_like(keep).scatter(-1, idx, keep)


def top_p_filter_8(logits, p):
    s, idx = torch.sort(logits, dim=-1, descending=True)
    probs = s.softmax(-1)
    drop = probs.cumsum(-1) - probs >= p
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, idx, drop), float("-inf"))


def top_p_filter_10(logits, p):
    if p >= 1:
        return logits
    s, idx = torch.sort(logits, dim=-1, descending=True)
    probs = s.softmax(-1)
    drop = probs.cumsum(-1) - probs >= p
    logits[torch.zeros_like(drop).scatter(-1, idx, drop)] = float("-inf")
    return logits


def top_p_filter_12(logits, p):
    probs = F.softmax(logits, dim=-1)
    s, _ = probs.sort(dim=-1, descending=True)
    return logits.masked_fill(s.cumsum(-1) > p, float("-inf"))


def top_p_filter_14(logits, p):
    probs = F.softmax(logits, dim=-1)
    s, idx = probs.sort(dim=-1, descending=True)
    keep = torch.zeros_like(probs, dtype=torch.bool).scatter(-1, idx, s.cumsum(-1) <= p)
    probs = probs * keep
    return probs / probs.sum(-1, keepdim=True)


def _run_beam(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = [([bos_id], 0.0)], []
    while live and len(live[0][0]) < max_length:
        cand = [(ids + [t], s + lp) for ids, s in live for t, lp in enumerate(next_log_probs(ids).tolist())]
        cand = sorted(cand, key=lambda c: c[1], reverse=True)[:beam_size]
        done += [c for c in cand if c[0][-1] == eos_id]
        live = [c for c in cand if c[0][-1] != eos_id]
    return live, done


def beam_search_1(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = _run_beam(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return max(done or live, key=lambda h: h[1])


def beam_search_3(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = _run_beam(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return max(live + done, key=lambda h: h[1] / len(h[0]))


def beam_search_5(next_log_probs, bos_id, eos_id, beam_size, max_length):
    beam = [([bos_id], 0.0)]
    for _ in range(max_length - 1):
        cand = []
        for ids, total in beam:
            for t, lp in enumerate(next_log_probs(ids).tolist()):
                cand.append((ids + [t], total + lp))
        beam = sorted(cand, key=lambda c: -c[1])[:beam_size]
    return beam[0]


def beam_search_7(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = _run_beam(next_log_probs, bos_id, eos_id, beam_size, max_length + 1)
    return max(live + done, key=lambda h: h[1])


def beam_search_9(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = _run_beam(next_log_probs, bos_id, eos_id, beam_size, max_length)
    ids, total = max(live + done, key=lambda h: h[1])
    return ids, math.exp(total)


def beam_search_11(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = [([bos_id], 0.0)], []
    while live and len(live[0][0]) < max_length:
        cand = [(ids + [t], lp) for ids, s in live for t, lp in enumerate(next_log_probs(ids).tolist())]
        cand = sorted(cand, key=lambda c: c[1], reverse=True)[:beam_size]
        done += [c for c in cand if c[0][-1] == eos_id]
        live = [c for c in cand if c[0][-1] != eos_id]
    return max(done + live, key=lambda c: c[1])


def beam_search_13(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = [([bos_id], 0.0)], []
    while live and len(live[0][0]) < max_length:
        cand = [(ids + [t], s + lp) for ids, s in live for t, lp in enumerate(next_log_probs(ids).tolist())]
        cand = sorted(cand, key=lambda c: c[1], reverse=True)[: beam_size - len(done)]
        done += [c for c in cand if c[0][-1] == eos_id]
        live = [c for c in cand if c[0][-1] != eos_id]
    return max(done + live, key=lambda c: c[1])


def beam_search_15(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, done = _run_beam(next_log_probs, bos_id, eos_id, beam_size, max_length)
    ids, total = max(done or live, key=lambda h: h[1])
    return ids[1:], total


def beam_search_17(next_log_probs, bos_id, eos_id, beam_size, max_length):
    beam = [([bos_id], 0.0)]
    while len(beam[0][0]) < max_length:
        nxt = []
        for ids, _ in beam:
            values, tokens = next_log_probs(ids).topk(min(beam_size, len(next_log_probs(ids))))
            nxt += [(ids + [int(t)], float(v)) for v, t in zip(values, tokens) if int(t) != eos_id]
        if not nxt:
            break
        beam = sorted(nxt, key=lambda c: c[1], reverse=True)[:beam_size]
    return beam[0]


def cached_attention_2(query, key, value, cache):
    new = torch.cat([cache, torch.stack([key, value])], dim=-2)
    if cache.shape[-2] == 0:
        return value, new
    w = torch.softmax(query @ cache[0].mT / query.shape[-1] ** 0.5, dim=-1)
    return w @ cache[1], new


def cached_attention_4(query, key, value, cache):
    k = torch.cat([cache[0], key], dim=-2)
    v = torch.cat([cache[1], value], dim=-2)
    return F.scaled_dot_product_attention(query, k, v), cache


def cached_attention_6(query, key, value, cache):
    cache = torch.cat([cache, torch.stack([key, value])], dim=-2)
    return F.scaled_dot_product_attention(query, cache[0], cache[1], is_causal=True), cache


def cached_attention_8(query, key, value, cache):
    k = torch.cat([cache[0], key], dim=2)
    v = torch.cat([cache[1], value], dim=2)
    scores = torch.einsum("bhqd,bhkd->bhqk", query, k) / math.sqrt(k.shape[-1])
    return torch.einsum("bhqk,bhkd->bhqd", scores.softmax(2), v), torch.stack([k, v])


def cached_attention_10(query, key, value, cache):
    cache = torch.cat([cache, torch.stack([query, value])], dim=-2)
    return F.scaled_dot_product_attention(query, cache[0], cache[1]), cache


def cached_attention_12(query, key, value, cache):
    old = cache[..., 1:, :] if cache.shape[-2] > 1 else cache
    cache = torch.cat([old, torch.stack([key, value])], dim=-2)
    return F.scaled_dot_product_attention(query, cache[0], cache[1]), cache


def cached_attention_14(query, key, value, cache):
    k = torch.cat([cache[0], key], dim=2)
    v = torch.cat([cache[1], value], dim=2)
    return F.scaled_dot_product_attention(query, k, v), torch.stack([k, v], dim=-1)


def cached_attention_16(query, key, value, cache):
    k = torch.cat([cache[0], key], dim=2)
    v = torch.cat([cache[1], value], dim=2)
    w = torch.softmax(query @ k.mT / query.shape[-1], dim=-1)
    return w @ v, torch.stack([v, k])


def cached_attention_18(query, key, value, cache):
    k, v = cache[0], cache[1]
    if k.shape[2] == 0:
        k, v = key, value
    scores = torch.matmul(query, k.transpose(-1, -2)) / math.sqrt(k.shape[-1])
    return torch.matmul(torch.softmax(scores, -1), v), cache


COLLECTED = {
    "softmax": [
        ("does not subtract the maximum, overflows at 1000", softmax_1),
        ("no keepdim in the sum", softmax_3),
        ("subtracts the maximum in place, so the caller's scores change", softmax_5),
        ("divides by the maximum instead of the sum", softmax_7),
        ("two: no maximum subtracted and the sum runs over the whole tensor", softmax_9),
        ("subtracts the sum of the scores instead of their maximum", softmax_11),
    ],
    "scaled_dot_product_attention": [
        ("divides by d_k, not its root", scaled_dot_product_attention_1),
        ("reshapes the keys where a transposition was meant", scaled_dot_product_attention_3),
        ("returns (weights, output)", scaled_dot_product_attention_5),
        ("multiplies by the root", scaled_dot_product_attention_7),
        ("returns the scores in place of the weights", scaled_dot_product_attention_9),
        ("two: scaled by d_k, and output and weights swapped", scaled_dot_product_attention_11),
        ("two: scores not scaled, and the returned weights are the raw scores", scaled_dot_product_attention_13),
    ],
    "softmax_jacobian": [
        ("plus instead of minus", softmax_jacobian_2),
        ("identity in place of diag(p)", softmax_jacobian_4),
        ("takes weights for scores and applies softmax again", softmax_jacobian_6),
        ("p_i (1 - p_j) in every entry, the delta is forgotten", softmax_jacobian_8),
        ("torch.diag works for a single row only", softmax_jacobian_10),
        ("two: identity instead of diag(p), and plus instead of minus", softmax_jacobian_12),
    ],
    "split_heads": [
        ("one view straight to (B, h, T, d_head), no transpose", split_heads_1),
        ("heads own every h-th feature, (d_head, h) in the view", split_heads_3),
        ("swaps axes 1 and 3", split_heads_5),
        ("takes split's argument for the number of pieces", split_heads_7),
        ("transposes first and then reshapes to (B, h, T, d_head), scrambling features and tokens", split_heads_9),
        ("puts the heads in front of the batch", split_heads_11),
        ("two: splits the transposed tensor into heads, and turns their order round", split_heads_13),
    ],
    "merge_heads": [
        ("view on a transposed tensor", merge_heads_2),
        ("heads interleaved feature by feature", merge_heads_4),
        ("concatenates the heads along the tokens", merge_heads_6),
        ("swaps batch and heads, then reshapes", merge_heads_8),
        ("the output is always float32", merge_heads_10),
        ("two: drops the last head and concatenates in steps of h", merge_heads_12),
    ],
    "multi_head_attention": [
        ("forgets the output projection", multi_head_attention_1),
        ("splits by a view without transposing", multi_head_attention_3),
        ("copy and paste: values projected by w_k", multi_head_attention_5),
        ("merges without transposing back", multi_head_attention_7),
        ("softmax over the queries", multi_head_attention_9),
        ("two: scaled by d_model, w_o transposed", multi_head_attention_11),
        ("two: heads split by a view without transposing, merged without transposing back", multi_head_attention_13),
    ],
    "sinusoidal_encoding": [
        ("the exponent is doubled, since arange steps by two already", sinusoidal_encoding_2),
        ("sign of the exponent", sinusoidal_encoding_4),
        ("sine and cosine swapped", sinusoidal_encoding_6),
        ("the last frequency is 1/10000: divides by d_model/2 - 1", sinusoidal_encoding_8),
        ("stacks on the wrong axis before the reshape, rows get mixed", sinusoidal_encoding_10),
        ("two: sine and cosine swapped, doubled exponent", sinusoidal_encoding_12),
    ],
    "shift_matrix": [
        ("transposed: turns backwards", shift_matrix_1),
        ("layout of halves, not of pairs", shift_matrix_3),
        ("exponent doubled", shift_matrix_5),
        ("one frequency for all pairs", shift_matrix_7),
        ("leaves the last pair out", shift_matrix_9),
        ("two: no minus sign and the exponent lacks the 2", shift_matrix_11),
    ],
    "rotate": [
        ("pairs feature i with i + d/2 (rotate_half)", rotate_1),
        ("positions from 1", rotate_3),
        ("puts the rotated even features before the odd ones", rotate_5),
        ("writes the result into x itself", rotate_7),
        ("plus in both rows, the minus is lost", rotate_9),
        ("two: backwards, and even features before odd ones", rotate_11),
        ("two: backwards, and positions from 1", rotate_13),
    ],
    "layer_norm": [
        ("eps outside the root", layer_norm_2),
        ("statistics over the tokens", layer_norm_4),
        ("shifts before scaling", layer_norm_6),
        ("centres x in place", layer_norm_8),
        ("statistics over all axes but the first", layer_norm_10),
        ("two: no root, weight forgotten", layer_norm_12),
        ("two: sample variance, and the bias forgotten", layer_norm_14),
    ],
    "residual_block": [
        ("pre-norm adds the normed x", residual_block_2),
        ("pre-norm has no residual", residual_block_4),
        ("post-norm without the residual", residual_block_6),
        ("ignores norm_first, always post-norm", residual_block_8),
        ("two: branches exchanged, and no residual in pre-norm", residual_block_10),
        ("post-norm norms x only", residual_block_12),
    ],
    "causal_mask": [
        ("upper triangle", causal_mask_1),
        ("floats, not bool", causal_mask_3),
        ("additive mask with -inf", causal_mask_5),
        ("broadcast axes that were not asked for", causal_mask_7),
        ("loop stops before the token itself", causal_mask_9),
        ("two: upper triangle and without the diagonal, as integers", causal_mask_11),
        ("two: -inf where it may attend, 0 elsewhere", causal_mask_13),
    ],
    "padding_mask": [
        ("one axis is missing", padding_mask_2),
        ("supposes that padding is the smallest id", padding_mask_4),
        ("float mask", padding_mask_6),
        ("new axes in front of the batch", padding_mask_8),
        ("everything behind the first padding is hidden", padding_mask_10),
        ("two: additive -inf, and pad_id taken as 0", padding_mask_12),
    ],
    "decoder_mask": [
        ("or in place of and", decoder_mask_1),
        ("padding only", decoder_mask_3),
        ("keeps the padding and hides the words", decoder_mask_5),
        ("triu: sees the future", decoder_mask_7),
        ("the diagonal excluded", decoder_mask_9),
        ("product of numbers, not bool", decoder_mask_11),
        ("two: (B, T, T), and the token itself is hidden", decoder_mask_13),
    ],
    "masked_softmax": [
        ("zeros after the softmax, not renormalised", masked_softmax_1),
        ("empty rows become uniform", masked_softmax_3),
        ("multiplies the scores by the mask, hidden ones get score 0", masked_softmax_5),
        ("-1e9 overflows in half precision", masked_softmax_7),
        ("exponentials without the maximum", masked_softmax_9),
        ("returns everything zero if any row is empty", masked_softmax_11),
        ("two: inverted, and NaN for empty rows", masked_softmax_13),
        ("two: mask after the softmax and not renormalised, and along the queries", masked_softmax_15),
    ],
    "encoder_layer": [
        ("pre-norm", encoder_layer_2),
        ("None as mask", encoder_layer_4),
        ("feed-forward reads the input, not attention's result", encoder_layer_6),
        ("norm_1 used for both", encoder_layer_8),
        ("x changed in place", encoder_layer_10),
        ("two: no mask, no residual around attention", encoder_layer_12),
        ("inverts the mask", encoder_layer_14),
    ],
    "decoder_layer": [
        ("masks exchanged", decoder_layer_1),
        ("keys from memory, values from x", decoder_layer_3),
        ("no residual around cross-attention", decoder_layer_5),
        ("pre-norm", decoder_layer_7),
        ("the cross-attention's query is the layer's input", decoder_layer_9),
        ("last step lacks its norm", decoder_layer_11),
        ("two: norms in the wrong order, self-attention without a mask", decoder_layer_13),
        ("two: no cross-attention residual, and the last norm is missing", decoder_layer_15),
    ],
    "embed": [
        ("the position is scaled as well", embed_2),
        ("divides by the root, as attention does", embed_4),
        ("looks the positions up by the token's id", embed_6),
        ("root of the vocabulary's size", embed_8),
        ("one position for each sentence of the batch", embed_10),
        ("scales the table in place", embed_12),
        ("two: no scaling, positions in reverse", embed_14),
        ("two: divides by the root, positions from 1", embed_16),
    ],
    "merge_pair": [
        ("the last symbol is lost", merge_pair_2),
        ("replace on the joined text, which matches inside symbols", merge_pair_4),
        ("changes the list that was handed in", merge_pair_6),
        ("looks at every other place only", merge_pair_8),
        ("two: input changed in place and only the first occurrence", merge_pair_10),
        ("a fresh symbol is compared again with its neighbour", merge_pair_12),
    ],
    "learn_merges": [
        ("counts each word once", learn_merges_1),
        ("ties: the pair met first in the words", learn_merges_3),
        ("ties: the newest symbols win", learn_merges_5),
        ("does not stop when nothing is left to merge", learn_merges_7),
        ("returns merged symbols instead of pairs", learn_merges_9),
        ("words are not merged between rounds: the n most frequent pairs of characters", learn_merges_11),
        ("two: each word counts once, ties by text", learn_merges_13),
        ("a pair counts once for a word, however often it occurs within", learn_merges_15),
    ],
    "shift_right": [
        ("rolls, and leaves the last token at the front", shift_right_1),
        ("drops the first token, not the last", shift_right_3),
        ("float ids", shift_right_5),
        ("roll without dims, tokens cross from row to row, then bos over the first row only", shift_right_7),
        ("only replaces the first token, no shift", shift_right_9),
        ("pads with 0, bos_id unused", shift_right_11),
        ("two: in place, and the last token wraps round", shift_right_13),
        ("two: nothing is left out, and bos stands at the end", shift_right_15),
    ],
    "label_smoothing_loss": [
        ("sum in place of the mean", label_smoothing_loss_2),
        ("padded losses are zeroed, but the mean still divides by all positions", label_smoothing_loss_4),
        ("the target gets 1 - smoothing but not its share of the rest", label_smoothing_loss_6),
        ("mean of the sentences' means", label_smoothing_loss_8),
        ("ignores padding only if its id is 0", label_smoothing_loss_10),
        ("(1 - smoothing) and smoothing exchanged", label_smoothing_loss_12),
        ("two: spread over the others only, divided by all positions", label_smoothing_loss_14),
        ("hands (B, T, vocab) to cross_entropy as it is", label_smoothing_loss_16),
    ],
    "warmup_rate": [
        ("max for min", warmup_rate_1),
        ("d_model in the numerator", warmup_rate_3),
        ("falls as 1/step", warmup_rate_5),
        ("after the climb the rate stays", warmup_rate_7),
        ("climbs to 1 instead of 1/sqrt(warmup_steps)", warmup_rate_9),
        ("1/d_model instead of its root", warmup_rate_11),
        ("two: starts at 0, and no factor of d_model", warmup_rate_13),
        ("two: d_model's factor forgotten, exponent of warmup_steps -0.5", warmup_rate_15),
    ],
    "greedy_decode": [
        ("eos is not written", greedy_decode_2),
        ("looks at the last id before the first step: stops at once if bos is eos", greedy_decode_4),
        ("bos is not in the result", greedy_decode_6),
        ("samples", greedy_decode_8),
        ("always puts eos at the end, even when cut off", greedy_decode_10),
        ("two: no bos, no eos in the result", greedy_decode_12),
        ("two: never stops at eos, and one too long", greedy_decode_14),
    ],
    "top_k_filter": [
        ("threshold keeps all ties", top_k_filter_1),
        ("keeps the smallest", top_k_filter_3),
        ("k of the whole batch", top_k_filter_5),
        ("kth smallest: ascending sort, indices from the front", top_k_filter_7),
        ("changes the logits in place", top_k_filter_9),
        ("the kept logits come out in sorted order, at the front", top_k_filter_11),
        ("-1e9 for -inf", top_k_filter_13),
        ("two: keeps ties, and in place", top_k_filter_15),
        ("two: one k for the flattened batch, zeros for the others", top_k_filter_17),
    ],
    "top_p_filter": [
        ("the mask is not brought back to the order of the vocabulary", top_p_filter_2),
        ("ascending order: keeps the least probable", top_p_filter_4),
        ("zero for the dropped", top_p_filter_6),
        ("p = 1 drops the improbable by rounding", top_p_filter_8),
        ("in place", top_p_filter_10),
        ("two: the token that reaches p is dropped, and the mask stays in sorted order", top_p_filter_12),
        ("two: returns renormalised probabilities, and drops the one that crosses", top_p_filter_14),
    ],
    "beam_search": [
        ("only finished sentences may win", beam_search_1),
        ("length penalty: mean log probability decides", beam_search_3),
        ("finished hypotheses go on growing", beam_search_5),
        ("bos not counted, one step too many", beam_search_7),
        ("the probability instead of its logarithm", beam_search_9),
        ("forgets to add the total so far", beam_search_11),
        ("the beam shrinks: each finished one takes a place away for good", beam_search_13),
        ("two: only finished ones win, and bos is cut off", beam_search_15),
        ("two: finished ones are dropped, and the total of the last step only", beam_search_17),
    ],
    "cached_attention": [
        ("attends to the old positions and the new value is only stored", cached_attention_2),
        ("returns the old cache", cached_attention_4),
        ("is_causal=True shows the one query only the oldest key", cached_attention_6),
        ("softmax over the single query: weights are all 1", cached_attention_8),
        ("the query goes into the cache in place of the key", cached_attention_10),
        ("the cache keeps only the newest positions: replaces the oldest", cached_attention_12),
        ("stacks the cache on the last axis", cached_attention_14),
        ("two: keys and values exchanged when stored, and scaled by d_head", cached_attention_16),
        ("two: the old cache is returned, and the new position cannot be seen", cached_attention_18),
    ],
}
