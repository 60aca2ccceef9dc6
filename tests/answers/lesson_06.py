"""Right answers to the exercises of lesson 06, and the mutants of their references that compute the same."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import COMMUTATIVE, SUM, commuted


def embed_by_torch(tokens, table, encoding):
    return F.embedding(tokens, table) * math.sqrt(table.shape[-1]) + encoding[: tokens.shape[-1]]


def embed_by_one_hot(tokens, table, encoding):
    one_hot = F.one_hot(tokens, len(table)).to(table.dtype)
    return torch.einsum("btv,vd->btd", one_hot, table) * table.size(1) ** 0.5 + encoding[None, : tokens.size(1)]


def embed_by_loop(tokens, table, encoding):
    d_model = table.size(1)
    sentences = [
        [d_model**0.5 * table[token] + encoding[place] for place, token in enumerate(sentence)]
        for sentence in tokens.tolist()
    ]
    return torch.stack([torch.stack(sentence) for sentence in sentences])


def embed_with_positions_looked_up(tokens, table, encoding):
    scaled = table * table.size(-1) ** 0.5
    return scaled[tokens] + encoding[torch.arange(tokens.size(1), device=tokens.device)]


def embed_by_index_select(tokens, table, encoding):
    rows = table.index_select(0, tokens.flatten()).unflatten(0, tokens.shape)
    return torch.add(encoding.narrow(0, 0, tokens.size(1)), rows, alpha=table.size(1) ** 0.5)


def encoder_by_steps(x, self_attention, feed_forward, norm_1, norm_2, mask):
    attended = self_attention(query=x, key=x, value=x, mask=mask)
    y = norm_1(attended + x)
    z = norm_2(feed_forward(y) + y)
    return z


def encoder_by_blocks(x, self_attention, feed_forward, norm_1, norm_2, mask):
    blocks = ((lambda y: self_attention(y, y, y, mask), norm_1), (feed_forward, norm_2))
    for sublayer, norm in blocks:
        x = norm(torch.stack([x, sublayer(x)]).sum(0))
    return x


def encoder_in_place_of_a_copy(x, self_attention, feed_forward, norm_1, norm_2, mask):
    total = x.clone()
    total += self_attention(x, x, x, mask)
    x = norm_1(total)
    return norm_2(torch.add(x, feed_forward(x)))


def encoder_in_one_line(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2((y := norm_1(x + self_attention(*[x] * 3, mask))) + feed_forward(y))


def decoder_by_steps(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    y = norm_1(self_attention(query=x, key=x, value=x, mask=tgt_mask) + x)
    z = norm_2(cross_attention(query=y, key=memory, value=memory, mask=memory_mask) + y)
    return norm_3(feed_forward(z) + z)


def decoder_by_blocks(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    blocks = (
        (lambda y: self_attention(y, y, y, tgt_mask), norm_1),
        (lambda y: cross_attention(y, memory, memory, memory_mask), norm_2),
        (feed_forward, norm_3),
    )
    for sublayer, norm in blocks:
        x = norm(x + sublayer(x))
    return x


def decoder_in_place_of_copies(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    total = x.clone()
    total += self_attention(x, x, x, tgt_mask)
    x = norm_1(total)
    x = norm_2(torch.add(x, cross_attention(x, memory, memory, memory_mask)))
    return norm_3(torch.add(x, feed_forward(x)))


def count_in_closed_form(vocab_size, d_model, n_heads, d_ff, n_layers):
    return d_model * vocab_size + n_layers * (12 * d_model**2 + 4 * d_model * d_ff + 24 * d_model + 2 * d_ff)


def count_from_shapes(vocab_size, d_model, n_heads, d_ff, n_layers):
    linear = lambda a, b: [(a, b), (b,)]  # noqa: E731
    attention, norm = 4 * linear(d_model, d_model), [(d_model,), (d_model,)]
    network = linear(d_model, d_ff) + linear(d_ff, d_model)
    encoder, decoder = attention + network + 2 * norm, 2 * attention + network + 3 * norm
    return sum(math.prod(shape) for shape in [(vocab_size, d_model), *n_layers * (encoder + decoder)])


def count_by_heads(vocab_size, d_model, n_heads, d_ff, n_layers):
    d_head, count = d_model // n_heads, vocab_size * d_model
    for stack in ("encoder", "decoder"):
        n_attentions = 1 if stack == "encoder" else 2
        for _ in range(n_layers):
            for _ in range(n_attentions):
                for _ in range(n_heads):
                    count += 3 * (d_model * d_head + d_head)
                count += d_model * d_model + d_model
            count += d_model * d_ff + d_ff + d_ff * d_model + d_model
            count += (n_attentions + 1) * 2 * d_model
    return count


def count_by_numpy(vocab_size, d_model, n_heads, d_ff, n_layers):
    each = np.array([d_model * d_model + d_model, 2 * d_model * d_ff + d_ff + d_model, 2 * d_model])
    layers = np.array([[4, 1, 2], [8, 1, 3]]) * n_layers  # rows: encoder, decoder
    return (layers @ each).sum() + vocab_size * d_model


def count_in_torch_s_layers(vocab_size, d_model, n_heads, d_ff, n_layers):
    """torch's layers have the same parameters; on "meta" they take no memory."""
    kinds = (torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer)
    layers = [kind(d_model, n_heads, d_ff, device="meta") for kind in kinds]
    return vocab_size * d_model + n_layers * sum(p.numel() for layer in layers for p in layer.parameters())


def tested_by_loops(attend):
    """Every number is computed alone, from the definition."""
    torch.manual_seed(5)
    sizes = (((), 4, 4, 3, 3, 1), ((2,), 3, 5, 4, 2, 90), ((2, 2), 5, 3, 2, 6, 1))
    for axes, n_queries, n_keys, d_k, d_v, size in sizes:
        query, key = size * torch.randn(*axes, n_queries, d_k), torch.randn(*axes, n_keys, d_k)
        value, mask = torch.randn(*axes, n_keys, d_v), torch.randn(*axes, n_queries, n_keys) > -0.5
        mask[..., 1, :] = False
        try:
            output, weights = attend(query.clone(), key.clone(), value.clone(), mask.clone())
        except (RuntimeError, ValueError, IndexError, TypeError):
            return False
        if output.shape != (*axes, n_queries, d_v) or weights.shape != mask.shape:
            return False
        flat = zip(*(x.reshape(-1, *x.shape[-2:]) for x in (query, key, value, mask, output, weights)), strict=True)
        for q, k, v, m, o, w in flat:
            for t in range(n_queries):
                scores = [float(q[t] @ k[s]) / math.sqrt(d_k) for s in range(n_keys) if m[t, s]]
                powers = [math.exp(score - max(scores)) for score in scores]
                row, rest = torch.zeros(n_keys), iter(powers)
                for s in range(n_keys):
                    row[s] = next(rest) / sum(powers) if m[t, s] else 0
                if not torch.allclose(w[t], row, atol=1e-3) or not torch.allclose(o[t], row @ v, atol=1e-3):
                    return False
    return True


def tested_by_the_fused_kernel(attend):
    for shape in ((3, 3, 4, 4), (2, 5, 4, 9, 2), (2, 3, 4, 6, 5, 5)):
        *axes, n_queries, n_keys, d_k, d_v = shape
        for size in (1, 60):
            query, key = size * torch.randn(*axes, n_queries, d_k), torch.randn(*axes, n_keys, d_k)
            value, mask = torch.randn(*axes, n_keys, d_v), torch.rand(*axes, n_queries, n_keys) < 0.6
            mask[..., 0, :], mask[..., 1, :2] = False, torch.tensor([True, False])
            eye = torch.eye(n_keys).expand(*axes, n_keys, n_keys)
            try:
                both = attend(query, key, value, mask)
            except Exception:
                return False
            for given, values in zip(both, (value, eye), strict=True):
                wanted = F.scaled_dot_product_attention(query, key, values, attn_mask=mask).nan_to_num()
                if given.shape != wanted.shape or not (given - wanted).abs().max() < 1e-3:
                    return False
    return True


def tested_by_numpy(attend):
    random = np.random.default_rng(3)
    ok = []
    for axes, n_queries, n_keys, d_k, d_v in (((), 5, 5, 3, 3), ((2,), 4, 6, 5, 4), ((2, 3), 6, 4, 4, 4)):
        for size in (1, 70):
            query, key = size * random.normal(size=(*axes, n_queries, d_k)), random.normal(size=(*axes, n_keys, d_k))
            value, mask = random.normal(size=(*axes, n_keys, d_v)), random.random((*axes, n_queries, n_keys)) < 0.7
            mask[..., -1, :] = False
            given = [torch.from_numpy(x).float() for x in (query, key, value)]
            scores = np.where(mask, np.einsum("...td,...sd->...ts", query, key) / np.sqrt(d_k), -np.inf)
            powers = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e9))
            weights = powers / np.maximum(powers.sum(-1, keepdims=True), 1)
            try:
                output, found = (x.numpy() for x in attend(*given, torch.from_numpy(mask)))
            except Exception:
                ok.append(False)
                break
            ok.append(output.shape == (*axes, n_queries, d_v) and found.shape == mask.shape)
            for one, other in ((found, weights), (output, weights @ value)):
                ok.append(ok[-1] and np.allclose(one, other, atol=5e-3))
    return np.bool_(all(ok))


RIGHT_ANSWERS = {
    "embed": [
        embed_by_torch,
        embed_by_one_hot,
        embed_by_loop,
        embed_with_positions_looked_up,
        embed_by_index_select,
    ],
    "encoder_layer": [encoder_by_steps, encoder_by_blocks, encoder_in_place_of_a_copy, encoder_in_one_line],
    "decoder_layer": [decoder_by_steps, decoder_by_blocks, decoder_in_place_of_copies],
    "count_parameters": [
        count_in_closed_form,
        count_from_shapes,
        count_by_heads,
        count_by_numpy,
        count_in_torch_s_layers,
    ],
    "is_attention": [tested_by_loops, tested_by_the_fused_kernel, tested_by_numpy],
}

ALIKE = "the two arguments that change places are the same"

COUNT = commuted(
    "count_parameters",
    *("vocab_size * d_model", "4 * (d_model + 1) * d_model", "4 * (d_model + 1)", "d_model + 1"),
    "(d_model + 1) * d_ff + (d_ff + 1) * d_model",
    *("(d_model + 1) * d_ff", "(d_ff + 1) * d_model", "d_model + 1", "d_ff + 1", "2 * d_model"),
    *("attention + feed_forward + 2 * norm", "attention + feed_forward", "2 * norm"),
    *("2 * attention + feed_forward + 3 * norm", "2 * attention + feed_forward", "3 * norm", "2 * attention"),
    "embedding + n_layers * (encoder_layer + decoder_layer)",
    *("n_layers * (encoder_layer + decoder_layer)", "encoder_layer + decoder_layer"),
)

DRAWN = "torch.rand{n}(*axes, {shape}, generator=generator)"
SIZED = DRAWN.format(n="n", shape="n_queries, d_k")
UNSEEDED = (("n", "n_queries, d_k"), ("n", "n_keys, d_k"), ("n", "n_keys, d_v"), ("", "n_queries, n_keys"))
GIVEN = "zip(attend(query, key, value, mask), (weights @ value, weights), strict=True)"
CLOSE = "torch.allclose(given, right, rtol=0.001, atol=0.001)"
FREE = {"3 → 4": 4, "3 → 2": 3, "4 → 5": 4, "4 → 3": 4, "5 → 6": 3, "5 → 4": 3, "9 → 10": 1, "9 → 8": 1, "2 → 3": 3}
FREE |= {"2 → 1": 4, "6 → 7": 1, "6 → 5": 1, "1.0 → 2.0": 1, "1.0 → 0.0": 1, "100.0 → 101.0": 1, "100.0 → 99.0": 1}
IS_ATTENTION = {
    f"is_attention: {change}": reason
    for reason, changes in {
        "any seed serves, and so does another blind query": (
            *("torch.Generator().manual_seed(0) → torch.Generator()", "0 → 1", "0 → -1", "0 → 1 (2)", "0 → -1 (2)"),
            *(f"{DRAWN.format(n=n, shape=x)} → torch.rand{n}(*axes, {x})" for n, x in UNSEEDED),
            *("False → True", "(..., 0, :) → (:, 0, ...)"),  # a third hidden: some query is blind by chance
        ),
        "other sizes serve as well, in any order": (
            *(f"{one} ({i})" if i > 1 else one for one, times in FREE.items() for i in range(1, times + 1)),
            "(((), 3, 3, 4, 4), ((3,), 5, 4, 9, 2), ((2, 2), 4, 6, 5, 5)) → "
            "(((2, 2), 4, 6, 5, 5), ((3,), 5, 4, 9, 2), ((), 3, 3, 4, 4))",
            *("(2, 2) → (2, 2)", "(1.0, 100.0) → (100.0, 1.0)", f"size * {SIZED} → {SIZED} * size"),
            f"size * {SIZED} → size / {SIZED}",
        ),
        "each pair of tensors is compared, whichever is named first; there are two of both": (
            f"{GIVEN} → zip((weights @ value, weights), attend(query, key, value, mask), strict=True)",
            *(f"{GIVEN} → {GIVEN.replace(', strict=True', '')}", "True → False"),
            f"{CLOSE} → torch.allclose(right, given, rtol=0.001, atol=0.001)",
        ),
        "a wrong shape makes the comparison of numbers fail or raise": (
            *("given.shape != right.shape → given.shape < right.shape",),
            *("given.shape != right.shape → given.shape > right.shape",),
        ),
        "either tolerance is enough, and a wrong one is off by more": (
            *(f"{CLOSE} → {CLOSE.replace(', rtol=0.001', '')}", f"{CLOSE} → {CLOSE.replace(', atol=0.001', '')}"),
        ),
    }.items()
    for change in changes
}

EQUIVALENT = {
    "count_parameters": COUNT,
    "is_attention": IS_ATTENTION,
    "embed": {
        "embed: F.embedding(tokens, table) * table.size(1) ** 0.5 → "
        "table.size(1) ** 0.5 * F.embedding(tokens, table)": COMMUTATIVE,
        "embed: vectors + encoding[:tokens.size(1)] → encoding[:tokens.size(1)] + vectors": SUM,
        "embed: table → encoding (2)": "in `table.size(1)`: both are d_model wide",
    },
    "encoder_layer": {
        "encoder_layer: x + self_attention(x, x, x, mask) → self_attention(x, x, x, mask) + x": SUM,
        "encoder_layer: x + feed_forward(x) → feed_forward(x) + x": SUM,
        "encoder_layer: self_attention(x, x, x, mask) → self_attention(x, x, x, mask)": ALIKE,
        "encoder_layer: self_attention(x, x, x, mask) → self_attention(x, x, x, mask) (2)": ALIKE,
    },
    "decoder_layer": {
        "decoder_layer: x + self_attention(x, x, x, tgt_mask) → self_attention(x, x, x, tgt_mask) + x": SUM,
        "decoder_layer: x + cross_attention(x, memory, memory, memory_mask) → "
        "cross_attention(x, memory, memory, memory_mask) + x": SUM,
        "decoder_layer: x + feed_forward(x) → feed_forward(x) + x": SUM,
        "decoder_layer: self_attention(x, x, x, tgt_mask) → self_attention(x, x, x, tgt_mask)": ALIKE,
        "decoder_layer: self_attention(x, x, x, tgt_mask) → self_attention(x, x, x, tgt_mask) (2)": ALIKE,
        "decoder_layer: cross_attention(x, memory, memory, memory_mask) → "
        "cross_attention(x, memory, memory, memory_mask)": ALIKE,
    },
}
