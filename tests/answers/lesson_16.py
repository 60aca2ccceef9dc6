"""Right answers to the exercises of lesson 16, and the mutants of their references that compute the same."""

import math
import re
from fractions import Fraction
from itertools import accumulate, combinations

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import IDS, commuted, widened


def answer_loss_by_cross_entropy(logits, tokens, answer_mask):
    targets = torch.where(answer_mask, tokens, -100)[:, 1:]
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), targets)


def answer_loss_by_selection(logits, tokens, answer_mask):
    marked = answer_mask[:, 1:]
    return F.nll_loss(logits[:, :-1][marked].log_softmax(-1), tokens[:, 1:][marked])


def answer_loss_by_loop(logits, tokens, answer_mask):
    found = []
    for row in range(tokens.size(0)):
        for t in range(1, tokens.size(1)):
            if answer_mask[row, t]:
                found.append(torch.logsumexp(logits[row, t - 1], 0) - logits[row, t - 1, tokens[row, t]])
    return sum(found) / len(found)


def answer_loss_by_one_hot(logits, tokens, answer_mask):
    truth = F.one_hot(tokens[:, 1:], logits.size(-1)) * answer_mask[:, 1:, None]
    return -(truth * logits[:, :-1].log_softmax(-1)).sum() / truth.sum()


def lora_by_merging(x, weight, a, b, alpha):
    return x @ (weight + alpha / a.shape[0] * b @ a).T


def lora_by_linear(x, weight, a, b, alpha):
    return F.linear(x, weight) + F.linear(F.linear(x, a), b) * (alpha / len(a))


def lora_by_einsum(x, weight, a, b, alpha):
    change = torch.einsum("...i,ri,or->...o", x, a, b)
    return torch.einsum("...i,oi->...o", x, weight) + change * alpha / a.size(0)


def lora_rank_by_rank(x, weight, a, b, alpha):
    out = x @ weight.mT
    for down, up in zip(a, b.T, strict=True):
        out = out + alpha / b.size(1) * (x @ down)[..., None] * up
    return out


def advantages_by_loop(rewards):
    rows = []
    for row in rewards.tolist():
        mean = sum(row) / len(row)
        spread = (sum((value - mean) ** 2 for value in row) / len(row)) ** 0.5
        rows.append([(value - mean) / spread if spread else 0.0 for value in row])
    return torch.tensor(rows, dtype=rewards.dtype)


@torch.no_grad()
def advantages_with_a_small_number(rewards):
    return (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, correction=0, keepdim=True) + 1e-8)


def advantages_by_nan_to_num(rewards):
    spread, mean = torch.std_mean(rewards.detach(), dim=-1, correction=0, keepdim=True)
    return ((rewards.detach() - mean) / spread).nan_to_num(0.0)


def advantages_by_layer_norm(rewards):
    return F.layer_norm(rewards.detach(), rewards.shape[1:], eps=1e-12)


def clipped_by_cases(log_probs, old_log_probs, advantages, epsilon):
    ratio = torch.exp(log_probs) / torch.exp(old_log_probs)
    bound = torch.where(advantages > 0, ratio.clamp(max=1 + epsilon), ratio.clamp(min=1 - epsilon))
    return (bound * advantages).mean()


def clipped_by_stack(log_probs, old_log_probs, advantages, epsilon):
    ratio = torch.exp(log_probs - old_log_probs)
    kept = torch.clip(ratio, 1 - epsilon, 1 + epsilon)
    return torch.stack([ratio, kept]).mul(advantages).amin(0).mean()


def clipped_by_loop(log_probs, old_log_probs, advantages, epsilon):
    total = 0
    flat = (x.flatten() for x in (log_probs, old_log_probs, advantages))
    for new, old, advantage in zip(*flat, strict=True):
        ratio = (new - old).exp()
        kept = ratio.clamp(min=1 - epsilon).clamp(max=1 + epsilon)
        total = total + (ratio * advantage if ratio * advantage < kept * advantage else kept * advantage)
    return total / log_probs.numel()


def chance_by_product(n, n_right, k):
    none = 1.0
    for i in range(k):
        none *= max(0, n - n_right - i) / (n - i)
    return 1 - none


def chance_by_numpy(n, n_right, k):
    if n - n_right < k:
        return np.float64(1)
    return 1.0 - np.prod(1.0 - k / np.arange(n - n_right + 1, n + 1))


def chance_by_fractions(n, n_right, k):
    return float(1 - Fraction(math.comb(n - n_right, k), math.comb(n, k)))


def chance_by_counting(n, n_right, k):
    if n > 20:
        return sum(math.comb(n_right, i) * math.comb(n - n_right, k - i) for i in range(1, k + 1)) / math.comb(n, k)
    picks = [min(pick) < n_right for pick in combinations(range(n), k)]
    return sum(picks) / len(picks)


def dpo_by_softplus(chosen, rejected, reference_chosen, reference_rejected, beta):
    gained = chosen - rejected - (reference_chosen - reference_rejected)
    return F.softplus(-beta * gained).mean()


def dpo_by_cross_entropy(chosen, rejected, reference_chosen, reference_rejected, beta):
    logit = beta * (chosen - reference_chosen.detach() - rejected + reference_rejected.detach())
    return F.binary_cross_entropy_with_logits(logit, torch.ones_like(logit))


def dpo_by_softmax(chosen, rejected, reference_chosen, reference_rejected, beta):
    gains = torch.stack([chosen - reference_chosen, rejected - reference_rejected], 1) * beta
    return -gains.log_softmax(1)[:, 0].mean()


def dpo_by_logaddexp(chosen, rejected, reference_chosen, reference_rejected, beta):
    better, worse = beta * (chosen - reference_chosen), beta * (rejected - reference_rejected)
    return torch.logaddexp(torch.zeros_like(better), worse - better).sum() / len(better)


def verifies_by_sum(problem, text):
    answer = str(sum(int(digit) for digit in problem) % 10) + "."
    work = "".join(str(sum(map(int, problem[: i + 1])) % 10) for i in range(5))
    return text == answer or text == work + ":" + answer


def verifies_by_pattern(problem, text):
    work = "".join(str(total % 10) for total in accumulate(int(digit) for digit in problem))
    return re.fullmatch(rf"({work}:)?{work[-1]}\.", text) is not None


def verifies_by_parts(problem, text):
    if not text.endswith("."):
        return False
    *work, answer = text[:-1].split(":")
    total, sums = 0, []
    for digit in problem:
        total = (total + int(digit)) % 10
        sums.append(str(total))
    return answer == sums[-1] and work in ([], ["".join(sums)])


def verifies_digit_by_digit(problem, text):
    if len(text) not in (2, 8) or text[-1] != ".":
        return False
    if len(text) == 8 and text[5] != ":":
        return False
    total = 0
    for place, digit in enumerate(problem):
        total = (total + "0123456789".index(digit)) % 10
        if len(text) == 8 and text[place] != "0123456789"[total]:
            return False
    return text[-2] == "0123456789"[total]


def grpo_by_cross_entropy(logits, old, reference, tokens, answer_mask, advantages, epsilon, kl):
    log_probs = -F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    ratio, each = torch.exp(log_probs - old.detach()), advantages.reshape(-1, 1)
    loss = torch.maximum(-ratio * each, -ratio.clamp(1 - epsilon, 1 + epsilon) * each)
    loss = loss + kl * torch.expm1(reference - log_probs) - kl * (reference - log_probs)
    marked = answer_mask[:, 1:].to(loss)
    return (loss * marked).sum() / marked.sum()


def grpo_on_chosen_tokens(logits, old, reference, tokens, answer_mask, advantages, epsilon, kl):
    marked = answer_mask[:, 1:]
    chosen = logits[:, :-1][marked].log_softmax(-1).gather(-1, tokens[:, 1:][marked][:, None])[:, 0]
    each = advantages.repeat_interleave(marked.sum(1))
    ratio, away = (chosen - old[marked]).exp(), (reference[marked] - chosen).exp()
    price = away - away.log() - 1
    return kl * price.mean() - torch.min(ratio * each, ratio.clip(1 - epsilon, 1 + epsilon) * each).mean()


def grpo_by_loop(logits, old, reference, tokens, answer_mask, advantages, epsilon, kl):
    total = 0
    for row in range(len(tokens)):
        for t in range(1, tokens.size(1)):
            if answer_mask[row, t]:
                log_prob = logits[row, t - 1, tokens[row, t]] - logits[row, t - 1].logsumexp(0)
                ratio, away = (log_prob - old[row, t - 1]).exp(), reference[row, t - 1] - log_prob
                kept = ratio.clamp(1 - epsilon, 1 + epsilon)
                gain = torch.minimum(ratio * advantages[row], kept * advantages[row])
                total = total + gain - kl * (away.exp() - away - 1)
    return -total / answer_mask[:, 1:].sum()


RIGHT_ANSWERS = {
    "answer_loss": [
        *(answer_loss_by_cross_entropy, answer_loss_by_selection, answer_loss_by_loop, answer_loss_by_one_hot),
    ],
    "lora_forward": [lora_by_merging, lora_by_linear, lora_by_einsum, lora_rank_by_rank],
    "group_advantages": [
        *(advantages_by_loop, advantages_with_a_small_number, advantages_by_nan_to_num, advantages_by_layer_norm),
    ],
    "clipped_objective": [clipped_by_cases, clipped_by_stack, clipped_by_loop],
    "pass_at_k": [chance_by_product, chance_by_numpy, chance_by_fractions, chance_by_counting],
    "dpo_loss": [dpo_by_softplus, dpo_by_cross_entropy, dpo_by_softmax, dpo_by_logaddexp],
    "verifies": [verifies_by_sum, verifies_by_pattern, verifies_by_parts, verifies_digit_by_digit],
    "mend_grpo": [grpo_by_cross_entropy, grpo_on_chosen_tokens, grpo_by_loop],
}

IN_A_MINIMUM = "a minimum does not depend on the order of what it compares"

EQUIVALENT = {
    "answer_loss": widened(
        *("next_token_loss", "logits", "logits.flatten(0, 1).to(at_least_float32) → logits.flatten(0, 1)"),
    )
    | {"next_token_loss: truth.flatten().long() → truth.flatten()": IDS},
    "lora_forward": commuted(
        "lora_forward",
        "alpha / a.size(0) * (x @ a.T @ b.T)",
        "x @ weight.T + alpha / a.size(0) * (x @ a.T @ b.T)",
    ),
    "group_advantages": {"group_advantages: rewards.detach() → rewards": "whether gradients flow back is not asked"},
    "clipped_objective": commuted(
        "clipped_objective", "1 + epsilon", "ratio * advantages", "ratio.clamp(1 - epsilon, 1 + epsilon) * advantages"
    )
    | {
        "clipped_objective: torch.minimum(ratio * advantages, ratio.clamp(1 - epsilon, 1 + epsilon) * advantages) → "
        "torch.minimum(ratio.clamp(1 - epsilon, 1 + epsilon) * advantages, ratio * advantages)": IN_A_MINIMUM
    },
    "dpo_loss": commuted("dpo_loss", "beta * margin"),
    "verifies": {
        "verifies: (f'{sums[-1]}.', f'{sums}:{sums[-1]}.') → (f'{sums}:{sums[-1]}.', f'{sums[-1]}.')": (
            "the two right texts are looked through in any order"
        )
    },
    "mend_grpo": commuted(
        "mend_grpo", "1 + epsilon", "ratio * advantages[:, None]", "clipped * advantages[:, None]", "kl * divergence"
    )
    | {
        "mend_grpo: torch.minimum(ratio * advantages[:, None], clipped * advantages[:, None]) → "
        "torch.minimum(clipped * advantages[:, None], ratio * advantages[:, None])": IN_A_MINIMUM,
    },
}
