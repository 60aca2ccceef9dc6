"""Sampling many answers to each prompt, and scoring and selecting among them."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from transformer_lab.checks import check_least, check_whole
from transformer_lab.data.texts import Characters
from transformer_lab.decoding.completion import complete
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.training.after_pretraining.digit_sums import STOP, asked, is_well_formed, is_worked, verifies
from transformer_lab.training.after_pretraining.fine_tuning import AnswerExamples

LONGEST = 10  # tokens of an answer: two more than the longest that is right
Vote = TypeVar("Vote", bound=Hashable)


@dataclass(frozen=True)
class Samples(AnswerExamples):
    """Answers that a model has written, with their prompts; those of the same prompt are consecutive."""

    texts: list[str]  # up to and with the stop


def sample_answers(
    model: LanguageModel,
    characters: Characters,
    prompts: Sequence[str],
    n_samples: int = 1,
    *,
    max_tokens: int = LONGEST,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    stop: str = STOP,
) -> Samples:
    """Sample several answers to each prompt, all at once with a cache. An answer ends with the stop.

    Raises:
        ValueError: there is no prompt, or one is of another length than the first; n_samples or max_tokens is below 1.
    """
    check_least(1, n_samples=n_samples, max_tokens=max_tokens)
    lengths = {len(prompt) for prompt in prompts}
    if len(lengths) != 1:
        raise ValueError(f"prompts must be one or more, of one length (got lengths {sorted(lengths)})")
    device, length = next(model.parameters()).device, lengths.pop()
    prompt = torch.stack([characters.encode(text) for text in prompts]).repeat_interleave(n_samples, 0).to(device)
    tokens = complete(model, prompt, max_tokens, temperature=temperature, generator=generator)
    stops = (tokens[:, length:] == characters.encode(stop).to(device)).int()
    mask = stops.cumsum(1) - stops == 0  # up to and with the first stop
    mask = torch.cat([torch.zeros_like(prompt, dtype=torch.bool), mask], dim=1)
    known = mask | (torch.arange(tokens.size(1), device=device) < length)
    tokens = tokens.masked_fill(~known, characters.pad_id)
    return Samples(tokens, mask, [characters.decode(row) for row in tokens[:, length:].tolist()])


class Score(NamedTuple):
    """Scores of a set of answers, each a share from 0 to 1."""

    well_formed: float
    right: float
    worked: float
    right_when_worked: float


def score(model: LanguageModel, characters: Characters, problems: Sequence[str], seed: int = 0) -> Score:
    """Score a model's answers to problems in the form that is asked for, one sample each."""
    generator = torch.Generator("cpu").manual_seed(seed)
    texts = sample_answers(model, characters, [asked(problem) for problem in problems], generator=generator).texts
    return score_of(problems, texts)


def score_as_pretrained(
    model: LanguageModel, characters: Characters, problems: Sequence[str], seed: int = 0, before: str = "\n"
) -> Score:
    """Score how a model continues "38576=" to the end of the line, as in its pretraining text, one sample each."""
    prompts, generator = [f"{before}{problem}=" for problem in problems], torch.Generator("cpu").manual_seed(seed)
    texts = sample_answers(model, characters, prompts, stop="\n", generator=generator).texts
    return score_of(problems, [text.replace("\n", STOP) for text in texts])


def score_of(problems: Sequence[str], texts: Sequence[str]) -> Score:
    """The score of answers, one for each problem."""
    right = [verifies(problem, text) for problem, text in zip(problems, texts, strict=True)]
    worked = [is_worked(text) for text in texts]
    both = sum(map(all, zip(right, worked, strict=True)))
    formed, n = sum(map(is_well_formed, texts)), len(texts)
    return Score(formed / n, sum(right) / n, sum(worked) / n, both / max(1, sum(worked)))


def rewards_of(
    problems: Sequence[str], samples: Samples, reward: Callable[[str, str], float]
) -> Tensor:  # (problems, samples), float32
    """The reward of each sample, with a row for each problem."""
    n_samples = len(samples.texts) // len(problems)
    rows = [samples.texts[i * n_samples : (i + 1) * n_samples] for i in range(len(problems))]
    return torch.tensor(
        [[float(reward(problem, text)) for text in row] for problem, row in zip(problems, rows, strict=True)],
        device=samples.tokens.device,
    )


def best_of(texts: Sequence[str], value: Callable[[str], float]) -> str:
    """The text of the highest value, the first in a tie: best-of-n, with a verifier or a reward model as `value`."""
    return max(texts, key=value)


def majority(votes: Sequence[Vote]) -> Vote:
    """The commonest vote, the first in a tie, without any verifier (Wang et al., 2022, arXiv:2203.11171)."""
    return Counter(votes).most_common(1)[0][0]


def final_digit(text: str) -> str:
    """The final digit of a well-formed answer, or an empty text."""
    return text[-2] if is_well_formed(text) else ""


def pass_at_k(n: int, n_right: int, k: int) -> float:
    """An unbiased estimate that at least one of k samples is right, from n samples of which `n_right` are.

    1 - C(n - n_right, k) / C(n, k): of all ways to pick k of the n, those without a right one (Chen et al., 2021,
    arXiv:2107.03374, equation 1)

    Raises:
        ValueError: a number is not whole; n_right is not from 0 to n, or k not from 1 to n.
    """
    check_counts(n, n_right, k)
    return 1 - comb(n - n_right, k) / comb(n, k)


def check_counts(n: int, n_right: int, k: int) -> None:
    """Raise a ValueError unless this many of the samples can be right, and k of them can be picked."""
    check_whole(n=n, n_right=n_right, k=k)
    if not (0 <= n_right <= n and 1 <= k <= n):
        raise ValueError(f"n_right must be from 0 to n, and k from 1 to n (got n={n}, n_right={n_right}, k={k})")
