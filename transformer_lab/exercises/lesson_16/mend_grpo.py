"""Lesson 16: find the bug in `mend_grpo`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.exercises.lesson_16.shared import CONSTANT


def broken_grpo(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    log_probs = logits[:, 1:].log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    ratio = (log_probs - old_log_probs).exp()
    clipped = ratio.clamp(1 - epsilon, 1 + epsilon)
    gain = torch.minimum(ratio * advantages[:, None], clipped * advantages[:, None])
    away = old_log_probs - log_probs
    divergence = away.exp() - away - 1
    return -(gain - kl * divergence).mean()


def step_case(label: str, logits, tokens, marked, advantages, epsilon: float = 0.2, kl: float = 0.5) -> Case:
    """A step whose policy has moved a little since the answers were drawn, and further since the training began."""
    tokens, marked, advantages = (torch.as_tensor(x, device="cpu") for x in (tokens, marked, advantages))
    log_probs = logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    drift = normal(2, *log_probs.shape, dtype=logits.dtype)
    given = {"logits": logits, "old_log_probs": log_probs + 0.3 * drift[0]}
    given |= {"ref_log_probs": log_probs + 0.9 * drift[1], "tokens": tokens, "answer_mask": marked.bool()}
    return Case(label, given | {"advantages": advantages.to(logits.dtype), "epsilon": epsilon, "kl": kl})


def drawn(label: str, count: int, length: int, **like) -> Case:
    generator = torch.Generator("cpu").manual_seed(count + length)
    tokens = torch.randint(6, (count, length), generator=generator, device="cpu")
    ends = torch.randint(3, length + 1, (count, 1), generator=generator, device="cpu")
    place = torch.arange(length, device="cpu")
    marked = (place >= 2) & (place < ends)
    return step_case(label, normal(count, length, 6, **like), tokens, marked, normal(count, **like))


@partial(
    FindTheBug,
    lesson="16",
    minutes=25,
    difficulty=3,
    statement="""
    Mend the loss of GRPO. It has three defects.

    logits (B, T, vocab) are those of the model that learns, for tokens (B, T): prompts, answers, padding. answer_mask
    is True on the answers' tokens, and advantages (B,) says how good each answer is. old_log_probs and
    ref_log_probs, (B, T - 1) each, are ln p of each token but the first: by the model that drew the answers, a
    few steps ago, and by the reference, the model that the training began with. The loss is minus the mean, over the
    tokens of all answers, of

    min(ρ A, clip(ρ, 1 - ε, 1 + ε) A) - kl · (p_ref / p - ln(p_ref / p) - 1),  with ρ = p / p_old

    What was observed:
      Before the first step of the optimiser the model is still the one that drew the answers, but ρ is not 1.
      From the same answers behind a prompt that is twice as long, less is learned.
      Whatever the reference says of the tokens, the loss is the same.
    """,
    returns=("loss",),
    domains={"old_log_probs": CONSTANT, "ref_log_probs": CONSTANT, "advantages": CONSTANT},
    cases=(
        step_case("two answers of one token", counting(2, 2, 3) / 3, [[0, 2], [0, 1]], [[0, 1], [0, 1]], [1.0, -1.0]),
        step_case("no price", normal(2, 3, 4), [[1, 2, 3], [1, 2, 1]], [[0, 0, 1], [0, 0, 1]], [1.0, -1.0], kl=0.0),
        step_case(
            "a prompt of two tokens",
            normal(2, 4, 5),
            [[1, 2, 3, 4], [1, 2, 4, 0]],
            [[0, 0, 1, 1], [0, 0, 1, 1]],
            [-1.0, 1.0],
        ),
        step_case(
            "an answer that ends sooner",
            normal(2, 5, 4),
            [[1, 2, 3, 0, 0], [1, 2, 1, 2, 3]],
            [[0, 0, 1, 0, 0], [0, 0, 1, 1, 1]],
            [2.0, -1.0],
        ),
        drawn("six answers", 6, 5),
        drawn("a wide batch", 12, 7),
        drawn("float64", 4, 6, dtype=torch.float64),
    ),
    hints=(
        "Which row of the logits says what stands at position 3? Compare it with the row that is taken here.",
        "Which tokens has the model chosen, and which were given to it? Only the former can be called good or bad.",
        "Two models of the past are handed over. What is each of them for, and how old does it get?",
    ),
    broken=broken_grpo,
)
def mend_grpo(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    """The loss of GRPO on answers that were drawn before: what is gained, less the price of the divergence, negated."""
    log_probs = logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)  # (B, T - 1)
    ratio = (log_probs - old_log_probs).exp()
    clipped = ratio.clamp(1 - epsilon, 1 + epsilon)
    gain = torch.minimum(ratio * advantages[:, None], clipped * advantages[:, None])
    away = ref_log_probs - log_probs
    divergence = away.exp() - away - 1
    return -(gain - kl * divergence)[answer_mask[:, 1:]].mean()


LATE = "The log probabilities are still one token late: position t is asked for the token that it has just read."
PROMPT = "The prompt and the padding still count in the mean."
MOVING = (
    "The divergence is still measured from the model of a few steps ago: such a leash moves along with the model, and "
    "never holds it."
)


def tokens_said(logits, tokens):
    return logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)


def tokens_read(logits, tokens):
    return logits[:, 1:].log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)


def values_of(log_probs, old, reference, advantages, epsilon, kl):
    """(B, T - 1): what is gained by each token, less its price."""
    ratio, advantages, away = (
        (log_probs - old.detach()).exp(),
        advantages.detach()[:, None],
        reference.detach() - log_probs,
    )
    gain = torch.minimum(ratio * advantages, ratio.clamp(1 - epsilon, 1 + epsilon) * advantages)
    return gain - kl * (away.exp() - away - 1)


@mend_grpo.mistake(f"One of three is mended. {PROMPT} {MOVING}")
def only_the_shift(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    said = tokens_said(logits, tokens)
    return -values_of(said, old_log_probs, old_log_probs, advantages, epsilon, kl).mean()


@mend_grpo.mistake(f"One of three is mended. {LATE} {MOVING}")
def only_the_prompt(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    read = tokens_read(logits, tokens)
    return -values_of(read, old_log_probs, old_log_probs, advantages, epsilon, kl)[answer_mask[:, 1:]].mean()


@mend_grpo.mistake(f"One of three is mended. {LATE} {PROMPT}")
def only_the_reference(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    read = tokens_read(logits, tokens)
    return -values_of(read, old_log_probs, ref_log_probs, advantages, epsilon, kl).mean()


@mend_grpo.mistake(f"Two of three are mended. {LATE}")
def all_but_the_shift(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    read = tokens_read(logits, tokens)
    return -values_of(read, old_log_probs, ref_log_probs, advantages, epsilon, kl)[answer_mask[:, 1:]].mean()


@mend_grpo.mistake(f"Two of three are mended. {PROMPT}")
def all_but_the_prompt(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    said = tokens_said(logits, tokens)
    return -values_of(said, old_log_probs, ref_log_probs, advantages, epsilon, kl).mean()


@mend_grpo.mistake(f"Two of three are mended. {MOVING}")
def all_but_the_reference(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    said = tokens_said(logits, tokens)
    return -values_of(said, old_log_probs, old_log_probs, advantages, epsilon, kl)[answer_mask[:, 1:]].mean()


@mend_grpo.mistake(
    "ρ is 1 now, because the old log probabilities are replaced by today's: nothing is clipped any more, however far "
    "the policy moves. The symptom is gone, and its cause is still there."
)
def ratio_always_1(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    said = tokens_said(logits, tokens)
    return -values_of(said, said, ref_log_probs, advantages, epsilon, kl)[answer_mask[:, 1:]].mean()


@mend_grpo.mistake("The price is gone: without it nothing is paid for drifting away, and nothing holds the model.")
def price_gone(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    said = tokens_said(logits, tokens)
    return -values_of(said, old_log_probs, said, advantages, epsilon, kl)[answer_mask[:, 1:]].mean()


@mend_grpo.mistake(
    "The mask is not shifted with the tokens: each answer loses its first token, and what follows its stop counts."
)
def mask_unshifted(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    said = tokens_said(logits, tokens)
    return -values_of(said, old_log_probs, ref_log_probs, advantages, epsilon, kl)[answer_mask[:, :-1]].mean()


@mend_grpo.mistake("The sign of the loss is lost: the worse an answer, the likelier it would become.")
def sign_lost(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    said = tokens_said(logits, tokens)
    return values_of(said, old_log_probs, ref_log_probs, advantages, epsilon, kl)[answer_mask[:, 1:]].mean()


@mend_grpo.mistake(
    "That is the mean of the answers' means. What is asked for is one mean over the tokens of all answers, so that a "
    "token counts alike wherever it stands."
)
def mean_of_answers(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    marked, said = answer_mask[:, 1:], tokens_said(logits, tokens)
    values = values_of(said, old_log_probs, ref_log_probs, advantages, epsilon, kl)
    return -((values * marked).sum(1) / marked.sum(1)).mean()


@mend_grpo.mistake(
    "Prompt and padding count as 0 now, but you still divide by all positions, and the second symptom stays: divide by "
    "the number of the answers' tokens."
)
def divided_by_all_positions(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    values = values_of(tokens_said(logits, tokens), old_log_probs, ref_log_probs, advantages, epsilon, kl)
    return -(values * answer_mask[:, 1:]).mean()


@mend_grpo.mistake(
    "The two models of the past have changed places: ρ compares with the one that drew the answers, the divergence "
    "with the reference."
)
def past_models_exchanged(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    said = tokens_said(logits, tokens)
    return -values_of(said, ref_log_probs, old_log_probs, advantages, epsilon, kl)[answer_mask[:, 1:]].mean()


@mend_grpo.mistake(
    "Logits and tokens are shifted *apart*: each position is asked for the token before the one that it has read. What "
    "follows position t stands at t + 1."
)
def shifted_apart(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    before = logits[:, 1:].log_softmax(-1).gather(-1, tokens[:, :-1, None]).squeeze(-1)
    return -values_of(before, old_log_probs, ref_log_probs, advantages, epsilon, kl)[answer_mask[:, 1:]].mean()


@mend_grpo.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (count, length) = floats(generator), [number(generator, low, 7) for low in (2, 4)]
    tokens = torch.randint(6, (count, length), generator=generator, device="cpu")
    ends = torch.randint(3, length + 1, (count, 1), generator=generator, device="cpu")
    place = torch.arange(length, device="cpu")
    marked = (place >= 2) & (place < ends)
    epsilon, kl = pick(generator, 0.1, 0.2, 0.3), pick(generator, 0.2, 1.0)
    return dict(step_case("", normal(count, length, 6), tokens, marked, normal(count), epsilon, kl).arguments)
