"""Right answers to the exercises of lesson 06, and the mutants of their references that compute the same."""

import math

import torch
import torch.nn.functional as F

from tests.answers.reasons import COMMUTATIVE


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
}

SUM = "a sum does not depend on the order of its terms"
ALIKE = "the two arguments that change places are the same"

EQUIVALENT = {
    "embed": {
        "line 7: table[tokens] * table.size(1) ** 0.5 → table.size(1) ** 0.5 * table[tokens]": COMMUTATIVE,
        "line 7: table[tokens] * table.size(1) ** 0.5 + encoding[:tokens.size(1)] → "
        "encoding[:tokens.size(1)] + table[tokens] * table.size(1) ** 0.5": SUM,
        "line 7: table → encoding": "in `table.size(1)`: both are d_model wide",
    },
    "encoder_layer": {
        "line 7: x + self_attention(x, x, x, mask) → self_attention(x, x, x, mask) + x": SUM,
        "line 8: x + feed_forward(x) → feed_forward(x) + x": SUM,
        "line 7: self_attention(x, x, x, mask) → self_attention(x, x, x, mask)": ALIKE,
    },
    "decoder_layer": {
        "line 10: x + self_attention(x, x, x, tgt_mask) → self_attention(x, x, x, tgt_mask) + x": SUM,
        "line 11: x + cross_attention(x, memory, memory, memory_mask) → "
        "cross_attention(x, memory, memory, memory_mask) + x": SUM,
        "line 12: x + feed_forward(x) → feed_forward(x) + x": SUM,
        "line 10: self_attention(x, x, x, tgt_mask) → self_attention(x, x, x, tgt_mask)": ALIKE,
        "line 11: cross_attention(x, memory, memory, memory_mask) → "
        "cross_attention(x, memory, memory, memory_mask)": ALIKE,
    },
}
