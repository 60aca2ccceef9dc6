"""Right answers to the exercises of lesson 10, and the mutants of their references that compute the same."""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.lesson_02 import MERGE
from tests.answers.reasons import COMMUTATIVE, DEFAULT_DEVICE, FROM_THE_END, commuted


def score_by_ranges(weights, period):
    t = torch.arange(period, 2 * period)
    return weights[:, t, t - period + 1].mean(dim=1)


def score_by_loop(weights, period):
    looked = [weights[:, t, t - period + 1] for t in range(period, 2 * period)]
    return sum(looked) / period


def score_by_slices(weights, period):
    second_half = weights[:, period:, 1 : period + 1]
    return torch.einsum("htt->h", second_half) / period


def score_by_mask(weights, period):
    length = weights.size(-1)
    there = torch.eye(length, dtype=weights.dtype)[:, :length].roll(1 - period, 1)
    there[:period] = 0
    return (weights * there).sum((-2, -1)) / there.sum()


def score_by_gather(weights, period):
    columns = torch.arange(1, period + 1).view(1, period, 1).expand(len(weights), -1, -1)
    return weights[:, period:].gather(2, columns).squeeze(2).mean(1)


def lens_by_linear(hidden, norm, unembedding):
    return F.linear(norm(hidden), unembedding)


def lens_by_einsum(hidden, norm, unembedding):
    return torch.einsum("...d,vd->...v", norm(hidden), unembedding)


def lens_by_tokens(hidden, norm, unembedding):
    normed = norm(hidden)
    return torch.stack([(normed * row).sum(-1) for row in unembedding], -1)


def lens_row_by_row(hidden, norm, unembedding):
    rows = [unembedding @ norm(state) for state in hidden.reshape(-1, hidden.size(-1))]
    return torch.stack(rows).reshape(*hidden.shape[:-1], len(unembedding))


def ablate_by_zeros(output_by_head, w_o, head):
    kept = output_by_head.clone()
    kept[:, head] = 0
    return kept.transpose(1, 2).flatten(2) @ w_o


def ablate_by_rows(output_by_head, w_o, head):
    d_head = output_by_head.size(-1)
    rows = w_o.clone()
    rows[head * d_head : (head + 1) * d_head] = 0
    return torch.cat(output_by_head.unbind(1), -1) @ rows


def ablate_by_sum(output_by_head, w_o, head):
    blocks = w_o.unflatten(0, (output_by_head.size(1), -1))  # (h, d_head, d_model)
    parts = [output_by_head[:, i] @ block for i, block in enumerate(blocks) if i != head]
    return sum(parts, torch.zeros_like(output_by_head[:, 0] @ blocks[0]) + 0 * w_o.sum())


def ablate_by_subtracting(output_by_head, w_o, head):
    batch, length, d_head = output_by_head[:, 0].shape
    whole = output_by_head.permute(0, 2, 1, 3).reshape(batch, length, -1) @ w_o
    return whole - output_by_head[:, head] @ w_o[head * d_head : (head + 1) * d_head]


def ablate_by_einsum(output_by_head, w_o, head):
    n_heads = output_by_head.size(1)
    kept = torch.ones(n_heads, dtype=w_o.dtype)
    kept[head] = 0
    return torch.einsum("bhtd,h,hdm->btm", output_by_head, kept, w_o.reshape(n_heads, -1, w_o.size(1)))


def paths_by_product(heads):
    return math.prod(1 + count for count in heads)


def paths_by_listing(heads):
    return sum(1 for path in itertools.product(*(["past", *range(count)] for count in heads)))


def paths_by_length(heads):
    ways = [1]  # ways[k]: paths through k heads
    for count in heads:
        ways = [a + count * b for a, b in zip([*ways, 0], [0, *ways], strict=True)]
    return sum(ways)


def paths_by_recursion(heads):
    return 1 if not heads else (1 + heads[0]) * paths_by_recursion(heads[1:])


def matters_by_many_texts(model, head):
    torch.manual_seed(5)
    for _ in range(20):
        tokens = torch.randint(0, 10, (4, 40))
        before, after = model(tokens, [])[0].softmax(-1), model(tokens, [head])[0].softmax(-1)
        if not torch.allclose(before, after, rtol=0, atol=1e-3):
            return True
    return False


def matters_by_divergence(model, head):
    tokens = torch.tensor([[(7 * t * t + 3 * row + t // 10) % 10 for t in range(40)] for row in range(60)])
    logs = [model(tokens, gone)[0].double().log_softmax(-1) for gone in ([], [head])]
    divergence = F.kl_div(logs[1], logs[0], log_target=True, reduction="none").sum(-1)
    return divergence.max() > 1e-6


def matters_by_numpy(model, head):
    tokens = np.random.default_rng(0).integers(0, 10, (100, 40))
    runs = [model(torch.from_numpy(tokens), gone)[0].double().numpy() for gone in ([], [head])]
    odds = [np.exp(run - run.max(-1, keepdims=True)) for run in runs]
    chances = [one / one.sum(-1, keepdims=True) for one in odds]
    return np.abs(chances[0] - chances[1]).max() > 1e-3


def matters_text_by_text(model, head):
    generator = torch.Generator().manual_seed(11)
    for length in (1, 2, 3, 12, 25, 40):
        for _ in range(40):
            text = torch.randint(10, (1, length), generator=generator)
            change = torch.softmax(model(text, ())[0], -1) - torch.softmax(model(text, (head,))[0], -1)
            if change.abs().amax() > 0.001:
                return True
    return False


def circuit_by_slices(n_tokens, n_positions):
    n, end = n_tokens, n_tokens + n_positions
    qk_0, ov_0, qk_1, ov_1 = (torch.zeros(end + 2 * n, end + 2 * n) for _ in range(4))
    qk_0[n:end, n:end] = torch.diag(torch.ones(n_positions - 1), -1) * 20
    ov_0[:n, end : end + n] = torch.eye(n)
    qk_1[:n, end : end + n] = 20 * torch.eye(n)
    qk_1[:n, n] = -20
    ov_1[:n, end + n :] = torch.eye(n)
    return qk_0, ov_0, qk_1, ov_1


def circuit_by_loops(n_tokens, n_positions):
    d_model = 3 * n_tokens + n_positions
    matrices = [torch.zeros(d_model, d_model, dtype=torch.float64) for _ in range(4)]
    for t in range(1, n_positions):
        matrices[0][n_tokens + t, n_tokens + t - 1] = 100
    for token in range(n_tokens):
        previous, following = n_tokens + n_positions + token, 2 * n_tokens + n_positions + token
        matrices[1][token, previous] = 1
        matrices[2][token, previous] = 100
        matrices[2][token, token] = -100  # what repeats itself at once is not there: it keeps off position 0 as well
        matrices[3][token, following] = 1
    return matrices


def circuit_of_projections(n_tokens, n_positions):
    """W_Q, W_K, W_V and W_O of heads that are as wide as what they compare."""
    token, position, previous, following = torch.eye(3 * n_tokens + n_positions).split(
        [n_tokens, n_positions, n_tokens, n_tokens]
    )  # (n, d_model) each: rows that pick a block out of the stream
    w_q, w_k = 40 * position[1:].T, position[:-1].T  # (d_model, n_positions - 1)
    key = previous.T - token.T  # zero at position 0, where the token is its own previous one
    return [w_q @ w_k.T, token.T @ previous, 40 * token.T @ key.T, token.T @ following]


def circuit_of_doubled_tokens(n_tokens, n_positions):
    """A key is the token before, twice, less the token itself: nothing is left of position 0."""
    d_model = 3 * n_tokens + n_positions
    token, position = torch.arange(n_tokens), n_tokens + torch.arange(n_positions)
    previous, following = token + n_tokens + n_positions, token + 2 * n_tokens + n_positions
    qk_0, ov_0, qk_1, ov_1 = (torch.zeros(d_model, d_model) for _ in range(4))
    qk_0[position[1:], position[:-1]] = 60
    ov_0[token, previous] = 2
    qk_1[token, previous], qk_1[token, token] = 30, -60
    ov_1[token, following] = 1
    return qk_0, ov_0, qk_1, ov_1


RIGHT_ANSWERS = {
    "induction_score": [score_by_ranges, score_by_loop, score_by_slices, score_by_mask, score_by_gather],
    "logit_lens": [lens_by_linear, lens_by_einsum, lens_by_tokens, lens_row_by_row],
    "ablate_head": [ablate_by_zeros, ablate_by_rows, ablate_by_sum, ablate_by_subtracting, ablate_by_einsum],
    "count_paths": [paths_by_product, paths_by_listing, paths_by_length, paths_by_recursion],
    "head_matters": [matters_by_many_texts, matters_by_divergence, matters_by_numpy, matters_text_by_text],
    "induction_by_hand": [circuit_by_slices, circuit_by_loops, circuit_of_projections, circuit_of_doubled_tokens],
}

SEEN_BY_A_GUARD = "the length is there for an error text alone, and no case raises it"

EQUIVALENT = {
    "induction_score": {
        **dict.fromkeys(
            (
                *("induction_score: weights.size(-1) → -1", "induction_score: weights.size(-1) → weights"),
                *("induction_score: -1 → 1", "induction_score: 1 → 2", "induction_score: 1 → 0"),
            ),
            SEEN_BY_A_GUARD,
        ),
        "induction_score: -1 → 1 (3)": FROM_THE_END,
    },
    "ablate_head": MERGE
    | {
        "ablate_head: torch.arange(n_heads, device=output_by_head.device) → torch.arange(n_heads)": DEFAULT_DEVICE,
        "ablate_head: output_by_head → w_o (2)": "both lie on one device",
        "ablate_head: output_by_head * others[:, None, None] → others[:, None, None] * output_by_head": COMMUTATIVE,
    },
    "induction_by_hand": commuted("induction_by_hand", "3 * n_tokens + n_positions", "3 * n_tokens")
    | {
        "induction_by_hand: torch.zeros(4, d_model, d_model) → torch.zeros(4, d_model, d_model)": "both are one",
        **dict.fromkeys(
            (
                *("induction_by_hand: 50 → 51", "induction_by_hand: 50 → 49"),
                *(f"induction_by_hand: 50 → {n} ({i})" for n in (49, 51) for i in (2, 3)),
                *("induction_by_hand: 1 → 2 (3)", "induction_by_hand: 1 → 2 (4)"),
            ),
            "the factors are free, if they are large enough",
        ),
    },
    "head_matters": {
        f"head_matters: {change}": reason
        for reason, changes in {
            "any seed serves": (
                *("torch.Generator().manual_seed(0) → torch.Generator()", "0 → 1", "0 → -1"),
                "torch.randint(10, (50, length), generator=generator) → torch.randint(10, (50, length))",
            ),
            "other texts serve as well, if some are long": (
                *("(2, 40) → (40, 2)", "2 → 3", "2 → 1", "40 → 41", "40 → 39", "50 → 51", "50 → 49"),
                "(50, length) → (length, 50)",
            ),
            "what changes the probabilities changes their logarithms by as much at least": (
                "model(tokens, gone)[0].softmax(-1) → model(tokens, gone)[0].log_softmax(-1)",
            ),
            "a change is as large in the other direction": (
                *("([], [head]) → ([head], [])", "with_it - without_it → without_it - with_it"),
            ),
            "what one probability loses others gain": ("(with_it - without_it).abs() → with_it - without_it",),
        }.items()
        for change in changes
    },
    "count_paths": commuted("count_paths", "paths + paths * count", "paths * count"),
}
