"""How well each method teaches a model to answer, compared with its controls: the table of lesson 16.

    python -m transformer_lab.training.experiments.answers --out answers.json

begins with the base that comes with the package, and trains it in every way of ARMS, with five seeds. All that learn
from samples get as many of them. Each row says how a model answers problems that are held out.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from transformer_lab.data.texts import Characters
from transformer_lab.files import replace_file
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.training.after_pretraining import (
    AnswerExamples,
    FineTuning,
    PreferenceTraining,
    Problems,
    RewardRecipe,
    RewardTraining,
    Samples,
    add_lora,
    final_digit,
    majority,
    merge_lora,
    pairs_of,
    pass_at_k,
    rewards_of,
    sample_answers,
    score,
)
from transformer_lab.training.after_pretraining import digit_sums as task
from transformer_lab.training.checkpoint import load_language_model
from transformer_lab.training.commands.options import whole, writable
from transformer_lab.training.text_training import TextRecipe

N_SAMPLES, N_PROBLEMS, STEPS = 8, 960, 30  # each is asked once: 30 steps of 32 problems, 7 680 samples
PICKED, GROUP = (1, 4, 16), 16  # k of pass@k, and samples of each problem for it
HELD_OUT, FOR_PICKS = 1_000, 250  # problems
Teach = Callable[[LanguageModel, Characters, int], LanguageModel]


def fine_tune(
    model: LanguageModel, examples: AnswerExamples, steps: int, seed: int, rate: float = 1e-3
) -> LanguageModel:
    """Train the model on examples, and return it."""
    recipe = TextRecipe(steps, batch_size=16, peak_rate=rate, warmup_steps=10, weight_decay=0.0, seed=seed)
    for _ in FineTuning(model, examples, recipe).run(steps):
        pass
    return model


def shown(
    base: LanguageModel,
    characters: Characters,
    seed: int,
    count: int = 300,
    share: float = 0.15,
    steps: int = 200,
    rate: float = 1e-3,
) -> LanguageModel:
    """A base model trained on demonstrations, of which the given share is worked out."""
    pairs = task.demonstrations(task.draw_problems(count, 100 + seed), share, seed)
    return fine_tune(base, AnswerExamples.from_pairs(pairs, characters), steps, seed, rate)


def adapted(base: LanguageModel, characters: Characters, seed: int, rank: int) -> LanguageModel:
    """The same with LoRA, at ten times the learning rate."""
    torch.manual_seed(seed)
    return merge_lora(shown(add_lora(base, rank, 2.0 * rank), characters, seed, rate=1e-2))


class NotDivided(RewardTraining):
    """The group's mean is taken off each reward, which is not divided by the group's standard deviation."""

    def advantages(self, rewards: Tensor) -> Tensor:
        return rewards - rewards.mean(1, keepdim=True)


class WithoutBaseline(RewardTraining):
    """Each answer's weight is its reward, from which nothing is taken off."""

    def advantages(self, rewards: Tensor) -> Tensor:
        return rewards


def rewarded(
    model: LanguageModel,
    characters: Characters,
    seed: int,
    reward: str = "right",
    kind: type[RewardTraining] = RewardTraining,
    **changes: Any,
) -> LanguageModel:
    """A model trained on rewards, with some changes to the recipe."""
    problems = Problems(task.draw_problems(N_PROBLEMS, 200 + seed), characters)
    recipe = RewardRecipe(STEPS, seed=seed, n_samples=N_SAMPLES, **changes)
    random.seed(seed)  # for a reward that tosses coins
    for _ in kind(model, problems, recipe, task.REWARDS[reward]).run(STEPS):
        pass
    return model


def sampled(
    model: LanguageModel, characters: Characters, seed: int, part: int = 0, parts: int = 1
) -> tuple[Samples, Any]:
    """A model's answers to one part of the problems, and which of them are right."""
    problems = task.draw_problems(N_PROBLEMS, 200 + seed)[part::parts]
    generator = torch.Generator("cpu").manual_seed(seed)
    prompts = [task.asked(problem) for problem in problems]
    samples = sample_answers(model, characters, prompts, N_SAMPLES, generator=generator)
    return samples, rewards_of(problems, samples, task.verifies)


def filtered(model: LanguageModel, characters: Characters, seed: int, rounds: int = 1) -> LanguageModel:
    """A model trained on those of its own answers that are right: rejection sampling, round by round."""
    for part in range(rounds):
        samples, rewards = sampled(model, characters, seed, part, rounds)
        fine_tune(model, samples.rows(rewards.flatten() > 0), 200 // rounds, seed)
    return model


def preferring(model: LanguageModel, characters: Characters, seed: int) -> LanguageModel:
    """A model trained on pairs of its own answers, by DPO."""
    pairs = pairs_of(*sampled(model, characters, seed))
    recipe = TextRecipe(150, batch_size=16, peak_rate=5e-4, warmup_steps=10, weight_decay=0.0, seed=seed)
    for _ in PreferenceTraining(model, pairs, recipe, beta=0.5).run(150):
        pass
    return model


def by(teach: Callable[..., LanguageModel], **settings: Any) -> Teach:
    """A way of teaching with these settings fixed."""
    return lambda model, characters, seed: teach(model, characters, seed, **settings)


UNBOUND = 1e9  # an epsilon that clips nothing
SHOWN, DIRECT = "demonstrations", "none worked"
ARMS: dict[str, tuple[str | None, Teach]] = {  # what each begins with, None for the base; and how it goes on
    SHOWN: (None, shown),
    "rewards": (SHOWN, rewarded),
    "all worked": (None, by(shown, share=1.0)),
    "45, all worked": (None, by(shown, count=45, share=1.0)),
    DIRECT: (None, by(shown, share=0.0)),
    "none worked, then rewards": (DIRECT, rewarded),
    "rejection": (SHOWN, filtered),
    "four rounds": (SHOWN, by(filtered, rounds=4)),
    "preferences": (SHOWN, preferring),
    "not divided": (SHOWN, by(rewarded, kind=NotDivided)),
    "no baseline": (SHOWN, by(rewarded, kind=WithoutBaseline)),
    "random rewards": (SHOWN, by(rewarded, reward="random")),
    "digit anywhere": (SHOWN, by(rewarded, reward="digit")),
    "digit anywhere, KL 0.05": (SHOWN, by(rewarded, reward="digit", kl=0.05)),
    "length": (SHOWN, by(rewarded, reward="length")),
    "LoRA, rank 1": (None, by(adapted, rank=1)),
    "LoRA, rank 8": (None, by(adapted, rank=8)),
    "four inner steps": (SHOWN, by(rewarded, inner_steps=4)),
    "four inner steps, not clipped": (SHOWN, by(rewarded, inner_steps=4, epsilon=UNBOUND)),
}
CHOOSING = (SHOWN, "rewards", "rejection", "four rounds", "preferences")  # of which pass@k is measured
PROXY = {arm: "length" if arm == "length" else "digit" for arm in ARMS if arm.startswith(("digit", "length"))}


def picks(model: LanguageModel, characters: Characters) -> dict[str, float]:
    """pass@k, and the share of problems for which the majority of 16 answers is right."""
    problems = task.draw_problems(FOR_PICKS, 7, held_out=True)
    generator = torch.Generator("cpu").manual_seed(7)
    samples = sample_answers(model, characters, [task.asked(p) for p in problems], GROUP, generator=generator)
    counts = rewards_of(problems, samples, task.verifies).sum(1).int().tolist()
    found = {f"pass@{k}": sum(pass_at_k(GROUP, n, k) for n in counts) / len(counts) for k in PICKED}
    votes = [samples.texts[i : i + GROUP] for i in range(0, len(samples.texts), GROUP)]
    said = [majority([digit for text in texts if (digit := final_digit(text))] or [""]) for texts in votes]
    right = [task.running_sums(problem)[-1] for problem in problems]
    return found | {"majority": sum(map(str.__eq__, said, right)) / len(right)}


def row(start: LanguageModel, characters: Characters, arm: str, seed: int) -> tuple[dict[str, Any], LanguageModel]:
    """Teach a copy of a model in one way, and measure how it answers."""
    begin = time.perf_counter()
    model = ARMS[arm][1](deepcopy(start), characters, seed)
    seconds, problems = time.perf_counter() - begin, task.draw_problems(HELD_OUT, 0, held_out=True)
    found = score(model, characters, problems)._asdict() | (picks(model, characters) if arm in CHOOSING else {})
    if arm in PROXY:
        prompts, reward = [task.asked(p) for p in problems], task.REWARDS[PROXY[arm]]
        texts = sample_answers(model, characters, prompts, generator=torch.Generator("cpu").manual_seed(0)).texts
        found["proxy"] = sum(map(reward, problems, texts)) / len(texts)
    numbers = {name: round(value, 4) for name, value in found.items()}
    return {"arm": arm, "seed": seed, **numbers, "seconds": round(seconds, 1)}, model


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    assert __doc__
    parser = argparse.ArgumentParser(
        "python -m transformer_lab.training.experiments.answers", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--out", type=writable, default="answers.json", help="(default: %(default)s)")
    parser.add_argument("--seeds", type=whole(0), nargs="+", default=(0, 1, 2, 3, 4), help="(default: %(default)s)")
    parser.add_argument("--arms", choices=ARMS, nargs="+", default=[*ARMS], help="(default: all)")
    options, found = parser.parse_args(arguments), []
    base, characters, _ = load_language_model("digit_sums")
    for seed in options.seeds:
        models: dict[str | None, LanguageModel] = {None: base}
        for arm in options.arms:
            start = ARMS[arm][0]
            if start is not None and start not in models:
                models[start] = ARMS[start][1](deepcopy(base), characters, seed)
            one, models[arm] = row(models[start], characters, arm, seed)
            found.append(one)
            print(found[-1], flush=True)
            replace_file(options.out, ("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
