"""Wrong answers to 31 exercises, by somebody who knew the statements alone, written when all mistakes had names."""

import math

import torch
import torch.nn.functional as F

COLLECTED: dict[str, list] = {}


def wrong(exercise, what):
    def add(answer):
        COLLECTED.setdefault(exercise, []).append((what, answer))
        return answer

    return add


@wrong("softmax", "softmax of the magnitudes")
def softmax_abs(scores, dim):
    e = (scores.abs() - scores.abs().amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


@wrong("softmax", "the largest is added instead of taken off")
def softmax_plus(scores, dim):
    e = (scores + scores.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


@wrong("scaled_dot_product_attention", "keys are normed to length 1")
def sdpa_cosine(query, key, value):
    key = F.normalize(key, dim=-1)
    return torch.softmax(query @ key.mT / query.size(-1) ** 0.5, -1) @ value


@wrong("scaled_dot_product_attention", "scaled by the number of keys")
def sdpa_by_length(query, key, value):
    return torch.softmax(query @ key.mT / key.size(-2) ** 0.5, -1) @ value


@wrong("scaled_dot_product_attention", "dropout is on")
def sdpa_dropout(query, key, value):
    weights = torch.softmax(query @ key.mT / query.size(-1) ** 0.5, -1)
    return F.dropout(weights, 0.1) @ value


@wrong("split_heads", "a head takes every n-th feature")
def split_strided(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, d // n_heads, n_heads).permute(0, 3, 1, 2)


@wrong("merge_heads", "the last two axes are exchanged as well")
def merge_twice(x):
    b, h, t, d = x.shape
    return x.permute(0, 2, 3, 1).reshape(b, t, h * d)


@wrong("causal_mask", "as floats, with -inf")
def causal_floats(length):
    return torch.full((length, length), float("-inf")).triu(1)


@wrong("causal_mask", "everything but the diagonal")
def causal_strict(length):
    return torch.ones(length, length).tril(-1).bool()


@wrong("padding_mask", "no axes for heads and queries")
def padding_flat(tokens, pad_id):
    return tokens != pad_id


@wrong("padding_mask", "padding is 0, whatever pad_id says")
def padding_zero(tokens, pad_id):
    return (tokens != 0)[:, None, None, :]


@wrong("layer_norm", "the root without eps, added after it")
def norm_eps_outside(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0).sqrt() + eps) * weight + bias


@wrong("layer_norm", "the bias is scaled too")
def norm_bias_scaled(x, weight, bias, eps):
    return ((x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + eps).sqrt() + bias) * weight


@wrong("layer_norm", "the variance around 0")
def norm_around_zero(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / ((x * x).mean(-1, keepdim=True) + eps).sqrt() * weight + bias


@wrong("residual_block", "the residual is added after the last norm of pre-norm, too")
def block_norm_twice(x, sublayer, norm, norm_first):
    return norm(x + sublayer(norm(x))) if norm_first else norm(x + sublayer(x))


@wrong("residual_block", "pre-norm keeps the normed stream")
def block_keeps_normed(x, sublayer, norm, norm_first):
    return norm(x) + sublayer(norm(x)) if norm_first else norm(x + sublayer(x))


@wrong("merge_pair", "the new symbol is a tuple")
def merge_tuple(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == tuple(pair):
            out.append(tuple(pair))
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


@wrong("merge_pair", "only the first place")
def merge_once(symbols, pair):
    for i in range(len(symbols) - 1):
        if (symbols[i], symbols[i + 1]) == tuple(pair):
            return symbols[:i] + [pair[0] + pair[1]] + symbols[i + 2 :]
    return list(symbols)


@wrong("shift_right", "bos is put in front, and nothing is left out")
def shift_longer(tokens, bos_id):
    return torch.cat([torch.full_like(tokens[:, :1], bos_id), tokens], 1)


@wrong("shift_right", "rolled: the last token comes first")
def shift_rolled(tokens, bos_id):
    return tokens.roll(1, 1)


@wrong("shift_right", "bos stands where the first target was")
def shift_in_place(tokens, bos_id):
    out = tokens.clone()
    out[:, 0] = bos_id
    return out


@wrong("label_smoothing_loss", "the rest goes to the others alone")
def smoothing_others(logits, targets, smoothing, pad_id):
    logs = logits.log_softmax(-1)
    n = logits.size(-1)
    hit = logs.gather(-1, targets[..., None]).squeeze(-1)
    loss = -(1 - smoothing) * hit - smoothing / (n - 1) * (logs.sum(-1) - hit)
    return loss[targets != pad_id].mean()


@wrong("label_smoothing_loss", "the mean counts padding")
def smoothing_all(logits, targets, smoothing, pad_id):
    logs = logits.log_softmax(-1)
    hit = logs.gather(-1, targets[..., None]).squeeze(-1)
    loss = -(1 - smoothing) * hit - smoothing * logs.mean(-1)
    return (loss * (targets != pad_id)).mean()


@wrong("warmup_rate", "max for min")
def warmup_max(step, d_model, warmup_steps):
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


@wrong("warmup_rate", "the root of the steps of the warm-up")
def warmup_root(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


@wrong("top_k_filter", "zeros for the others")
def top_k_zeros(logits, k):
    keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, logits.topk(k).indices, True)
    return logits * keep


@wrong("top_k_filter", "the k smallest are kept")
def top_k_smallest(logits, k):
    keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, logits.topk(k, largest=False).indices, True)
    return logits.masked_fill(~keep, float("-inf"))


@wrong("top_k_filter", "the k-th of the whole batch is the threshold")
def top_k_whole(logits, k):
    return logits.masked_fill(logits < logits.flatten().topk(k).values[-1], float("-inf"))


@wrong("next_token_loss", "not shifted")
def next_same(logits, tokens, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), tokens.flatten(), ignore_index=pad_id)


@wrong("next_token_loss", "shifted by two")
def next_two(logits, tokens, pad_id):
    return F.cross_entropy(logits[:, :-2].flatten(0, 1), tokens[:, 2:].flatten(), ignore_index=pad_id)


@wrong("next_token_loss", "the mean of the rows' means")
def next_rows(logits, tokens, pad_id):
    losses = F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none")
    real = tokens[:, 1:] != pad_id
    return ((losses * real).sum(1) / real.sum(1)).mean()


@wrong("perplexity", "base two of natural logarithms")
def perplexity_two(token_log_probs):
    return 2 ** -token_log_probs.mean()


@wrong("perplexity", "the mean of the inverse probabilities")
def perplexity_inverse(token_log_probs):
    return (1 / token_log_probs.exp()).mean()


@wrong("bits_per_byte", "tokens for bytes")
def bits_per_token(nats, n_tokens, n_bytes):
    return nats / math.log(2)


@wrong("bits_per_byte", "the logarithm of 2 is multiplied")
def bits_times(nats, n_tokens, n_bytes):
    return nats * n_tokens / n_bytes * math.log(2)


@wrong("logit_lens", "not normed")
def lens_raw(hidden, norm, unembedding):
    return hidden @ unembedding.T


@wrong("logit_lens", "probabilities")
def lens_soft(hidden, norm, unembedding):
    return (norm(hidden) @ unembedding.T).softmax(-1)


@wrong("logit_lens", "normed after unembedding")
def lens_late(hidden, norm, unembedding):
    return F.layer_norm(hidden @ unembedding.T, (unembedding.size(0),))


@wrong("induction_score", "the same token, and not the one after it")
def induction_same(weights, period):
    return weights.diagonal(-period, -2, -1).mean(-1)


@wrong("induction_score", "the one before it")
def induction_before(weights, period):
    return weights.diagonal(-period - 1, -2, -1).mean(-1)


@wrong("induction_score", "the sum and not the mean")
def induction_sum(weights, period):
    return weights.diagonal(1 - period, -2, -1)[..., 1:].sum(-1)


@wrong("grouped_query_attention", "groups in turns")
def grouped_turns(query, key, value):
    n = query.size(1) // key.size(1)
    return F.scaled_dot_product_attention(query, key.repeat(1, n, 1, 1), value.repeat(1, n, 1, 1))


@wrong("grouped_query_attention", "values in turns, keys in blocks")
def grouped_half(query, key, value):
    n = query.size(1) // key.size(1)
    return F.scaled_dot_product_attention(query, key.repeat_interleave(n, 1), value.repeat(1, n, 1, 1))


@wrong("grouped_query_attention", "a causal mask")
def grouped_causal(query, key, value):
    n = query.size(1) // key.size(1)
    key, value = key.repeat_interleave(n, 1), value.repeat_interleave(n, 1)
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


@wrong("mean_pool", "the largest and not the mean")
def pool_max(hidden, mask):
    return hidden.masked_fill(~mask[..., None], float("-inf")).amax(1).nan_to_num(0, 0, 0)


@wrong("mean_pool", "padding is turned round")
def pool_padding(hidden, mask):
    m = (~mask)[..., None].to(hidden)
    return (hidden * m).sum(1) / m.sum(1).clamp(min=1)


@wrong("mean_pool", "NaN without tokens")
def pool_nan(hidden, mask):
    m = mask[..., None].to(hidden)
    return (hidden * m).sum(1) / m.sum(1)


@wrong("residual_distribution", "the magnitude of the difference")
def residual_abs(p, q):
    d = (p - q).abs()
    return d / d.sum(-1, keepdim=True)


@wrong("residual_distribution", "not made to sum to 1")
def residual_raw(p, q):
    return (p - q).clamp(min=0)


@wrong("residual_distribution", "q less p")
def residual_turned(p, q):
    d = (q - p).clamp(min=0)
    return torch.where(d.sum(-1, keepdim=True) > 0, d / d.sum(-1, keepdim=True), p)


@wrong("merge_partial", "the plain mean")
def partial_mean(output_a, lse_a, output_b, lse_b):
    return (output_a + output_b) / 2, torch.logaddexp(lse_a, lse_b)


@wrong("merge_partial", "the weights are exchanged")
def partial_exchanged(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    return output_a * (lse_b - lse).exp()[..., None] + output_b * (lse_a - lse).exp()[..., None], lse


@wrong("qk_norm", "the mean is taken off")
def qk_layer(query, key, weight_q, weight_k, eps):
    shape = (query.size(-1),)
    return F.layer_norm(query, shape, weight_q, None, eps), F.layer_norm(key, shape, weight_k, None, eps)


@wrong("qk_norm", "length 1")
def qk_length(query, key, weight_q, weight_k, eps):
    return F.normalize(query, dim=-1) * weight_q, F.normalize(key, dim=-1) * weight_k


@wrong("sliding_window_mask", "one too many")
def window_more(length, window):
    i = torch.arange(length)
    return (i[:, None] - i >= 0) & (i[:, None] - i <= window)


@wrong("sliding_window_mask", "on both sides")
def window_both(length, window):
    i = torch.arange(length)
    return (i[:, None] - i).abs() < window


@wrong("sliding_window_mask", "blocks for windows")
def window_blocks(length, window):
    i = torch.arange(length)
    return (i[:, None] // window == i // window) & (i <= i[:, None])


@wrong("delta_rule", "nothing is taken off")
def delta_linear(query, key, value, beta, decay):
    state, out = query.new_zeros(query.size(0), query.size(2), value.size(2)), []
    for t in range(query.size(1)):
        state = state * decay[:, t, None, None] + beta[:, t, None, None] * key[:, t, :, None] * value[:, t, None, :]
        out.append((query[:, t, None] @ state)[:, 0])
    return torch.stack(out, 1)


@wrong("delta_rule", "asked before it learns")
def delta_asked_first(query, key, value, beta, decay):
    state, out = query.new_zeros(query.size(0), query.size(2), value.size(2)), []
    for t in range(query.size(1)):
        out.append((query[:, t, None] @ state)[:, 0])
        state = state * decay[:, t, None, None]
        error = value[:, t] - (key[:, t, None] @ state)[:, 0]
        state = state + beta[:, t, None, None] * key[:, t, :, None] * error[:, None]
    return torch.stack(out, 1)


@wrong("lora_forward", "alpha is not divided by the rank")
def lora_alpha(x, weight, a, b, alpha):
    return x @ weight.T + alpha * (x @ a.T @ b.T)


@wrong("lora_forward", "W is frozen")
def lora_frozen(x, weight, a, b, alpha):
    return x @ weight.detach().T + alpha / a.size(0) * (x @ a.T @ b.T)


@wrong("group_advantages", "over all prompts")
def group_all(rewards):
    return (rewards - rewards.mean()) / (rewards.std(correction=0) + 1e-8)


@wrong("group_advantages", "the standard deviation of a sample")
def group_sample(rewards):
    return (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-8)


@wrong("clipped_objective", "the ratio is clipped alone")
def clipped_alone(log_probs, old_log_probs, advantages, epsilon):
    ratio = (log_probs - old_log_probs.detach()).exp()
    return (ratio.clamp(1 - epsilon, 1 + epsilon) * advantages.detach()).mean()


@wrong("clipped_objective", "the sign of a loss")
def clipped_loss(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = (log_probs - old_log_probs.detach()).exp(), advantages.detach()
    return -torch.minimum(ratio * a, ratio.clamp(1 - epsilon, 1 + epsilon) * a).mean()


@wrong("dpo_loss", "no reference")
def dpo_no_reference(chosen, rejected, reference_chosen, reference_rejected, beta):
    return -F.logsigmoid(beta * (chosen - rejected)).mean()


@wrong("dpo_loss", "without the logarithm")
def dpo_no_log(chosen, rejected, reference_chosen, reference_rejected, beta):
    r = (chosen - reference_chosen.detach()) - (rejected - reference_rejected.detach())
    return -torch.sigmoid(beta * r).mean()


@wrong("split_columns_rows", "both by columns")
def split_columns(w_up, w_down, n):
    return list(w_up.chunk(n, 1)), list(w_down.chunk(n, 1))


@wrong("answer_loss", "prompts count, too")
def answer_all(logits, tokens, answer_mask):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


@wrong("answer_loss", "the mask is not shifted")
def answer_unshifted(logits, tokens, answer_mask):
    losses = F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none")
    return losses[answer_mask[:, :-1]].mean()
