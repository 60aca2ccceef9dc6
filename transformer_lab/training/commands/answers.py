"""From a text to right answers in three stages, each of which is a training run with a checkpoint."""

import hashlib
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from transformer_lab.data.texts import Characters
from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig
from transformer_lab.training.after_pretraining import (
    AnswerExamples,
    FineTuning,
    Problems,
    RewardRecipe,
    RewardTraining,
    score,
    score_as_pretrained,
)
from transformer_lab.training.after_pretraining.digit_sums import (
    ALPHABET,
    REWARDS,
    demonstrations,
    draw_problems,
    pretraining_text,
)
from transformer_lab.training.checkpoint import load_language_model, load_training
from transformer_lab.training.commands.language_model import ModelRun
from transformer_lab.training.commands.options import Settings, number, parser_of, positive, settings, whole, written
from transformer_lab.training.shipped import checkpoint_path
from transformer_lab.training.text_examples import TextExamples
from transformer_lab.training.text_training import TextRecipe, TextTraining

DESCRIPTION = """
Teach a language model to answer, in three stages. The task is the last digit of the sum of five digits.

  base            pretrain on a text in which no problem is answered in the form that is asked for
  demonstrations  fine-tune on prompts with answers
  rewards         sample answers, and learn from what each is worth (GRPO)

A checkpoint is written every so many steps, at the end, and after Ctrl-C or SIGTERM, which wait for the end of their
step. It can be used (training.load_language_model), trained further (--resume), or be where the next stage begins
(--from).
"""
EPILOG = """
exit codes: 0 trained and stored, 1 could not be stored, or the loss was no number any more, 2 wrong arguments or an
unreadable checkpoint, 130 ended by Ctrl-C and stored, 143 ended by SIGTERM and stored

  python -m transformer_lab.training.answers --stage demonstrations --out form.safetensors
  python -m transformer_lab.training.answers --stage rewards --from form.safetensors --out right.safetensors
  python -m transformer_lab.training.answers --resume right.safetensors
"""


def one_of(*names: str) -> Callable[[str], str]:
    """An argument type that accepts one of these names."""

    def read(text: str) -> str:
        if text not in names:
            raise ArgumentTypeError(f"must be one of {', '.join(names)} (got {text})")
        return text

    return read


share = number(float, "from 0 to 1", lambda value: 0 <= value <= 1)
price = number(float, "a number from 0", lambda value: 0 <= value < float("inf"))
DEFAULTS: dict[str, dict[str, Any]] = {  # of each stage: what the others have no use for is refused there
    "base": {"steps": 2_200, "batch": 16, "rate": 5e-3, "lines": 80_000},
    "demonstrations": {
        "from": "digit_sums",
        "steps": 200,
        "batch": 16,
        "rate": 1e-3,
        "examples": 300,
        "share-worked": 0.15,
    },
    "rewards": {
        "from": "demonstrations.safetensors",
        "steps": 60,
        "batch": RewardRecipe.batch_size,
        "rate": RewardRecipe.peak_rate,
        "examples": 2_000,
        "samples": RewardRecipe.n_samples,
        "reward": "right",
        "kl": RewardRecipe.kl,
    },
}


def by_stage(name: str) -> str:
    """The defaults of a setting in each stage, for the help text."""
    return ", ".join(f"{of[name]} for {stage}" for stage, of in DEFAULTS.items() if name in of)


SETTINGS: Settings = {
    "stage": (None, one_of(*DEFAULTS), "base, demonstrations or rewards"),
    "from": (None, str, f"the checkpoint to begin with: {by_stage('from')}"),
    "steps": (None, whole(1), f"train up to this step: {by_stage('steps')}"),
    "batch": (None, whole(1), f"windows, demonstrations or problems in a batch: {by_stage('batch')}"),
    "rate": (None, positive, f"the highest learning rate: {by_stage('rate')}"),
    "lines": (None, whole(1_000), f"of the text: {by_stage('lines')}"),
    "examples": (None, whole(1), f"problems to learn from: {by_stage('examples')}"),
    "share-worked": (None, share, f"of the demonstrations that work it out: {by_stage('share-worked')}"),
    "samples": (None, whole(2), f"answers to each problem: {by_stage('samples')}"),
    "reward": (None, one_of(*REWARDS), f"what is rewarded, {', '.join(REWARDS)}: {by_stage('reward')}"),
    "kl": (None, price, f"what a nat of divergence from the model at first costs: {by_stage('kl')}"),
    "seed": (0, whole(0), "of weights, problems, order and samples"),
}
WATCHED, SCORED = 100, 1_000  # held-out problems


@dataclass(kw_only=True)
class AnswersRun(ModelRun):
    """The run of one stage on the way to right answers."""

    chosen: dict[str, Any]  # its settings

    @property
    def name(self) -> str:
        """The default name of the checkpoint."""
        return f"{self.chosen['stage']}.safetensors"

    def save(self, out: Path, lean: bool = False) -> None:
        """Write the checkpoint, with the settings that it was made from."""
        self.facts |= {"settings": self.chosen}
        super().save(out, lean)

    def watched(self) -> str:
        """The share of held-out problems that the model answers correctly so far."""
        rewarded = f"reward {self.training.mean_reward:.2f}, " if isinstance(self.training, RewardTraining) else ""
        return f"{rewarded}{self.measured(WATCHED)['right']:.0%} of {WATCHED} right"

    def score(self) -> str:
        """Score the model on problems that no stage has learned from."""
        shares = self.measured(SCORED)
        self.facts |= shares
        told = ", ".join(f"{value:.1%} {name.replace('_', ' ')}" for name, value in shares.items())
        return f"{self.took:.0f} s: {told}, of {SCORED} held-out problems"

    def measured(self, count: int) -> dict[str, float]:
        """The score on `count` held-out problems; a base model is asked in a form of its own."""
        how = score_as_pretrained if self.chosen["stage"] == "base" else score
        problems = draw_problems(count, seed=0, held_out=True)
        shares = how(self.training.model, self.characters, problems)._asdict()
        return {name: round(value, 4) for name, value in shares.items()}


def parser() -> ArgumentParser:
    """The parser of the options; those of SETTINGS are None unless they are given."""
    made = parser_of("python -m transformer_lab.training.answers", DESCRIPTION, EPILOG, "STAGE.safetensors", SETTINGS)
    made.add_argument("--lean", action="store_true", help="store float16, to use and not to train further")
    return made


def chosen_for(options: Namespace) -> dict[str, Any]:
    """The settings of the requested stage."""
    given = settings(options, SETTINGS)
    if given["stage"] is None:
        raise ValueError(f"--stage must be one of {', '.join(DEFAULTS)} (got none)")
    defaults = DEFAULTS[given["stage"]]
    known = {"stage", "seed", *defaults}
    if useless := [f"--{name}" for name, value in given.items() if value is not None and name not in known]:
        raise ValueError(f"with --stage {given['stage']}, {', '.join(useless)} must be left out: it has no use for it")
    return {name: defaults.get(name) if given[name] is None else given[name] for name in given if name in known}


def examples_of(chosen: dict[str, Any], characters: Characters) -> TextExamples | AnswerExamples | Problems:
    """The examples that a stage learns from, which depend on the settings alone."""
    seed = chosen["seed"]
    if chosen["stage"] == "base":
        return TextExamples(characters.encode(pretraining_text(chosen["lines"], seed)), 64)
    problems = draw_problems(chosen["examples"], seed)
    if chosen["stage"] == "rewards":
        return Problems(problems, characters)
    return AnswerExamples.from_pairs(demonstrations(problems, chosen["share-worked"], seed), characters)


def recipe_of(chosen: dict[str, Any], bf16: bool) -> TextRecipe:
    """The recipe of a stage."""
    shared = {"batch_size": chosen["batch"], "peak_rate": chosen["rate"], "seed": chosen["seed"], "bf16": bf16}
    match chosen["stage"]:
        case "rewards":
            return RewardRecipe(chosen["steps"], **shared, n_samples=chosen["samples"], kl=chosen["kl"])
        case "demonstrations":
            return TextRecipe(chosen["steps"], **shared, warmup_steps=10, weight_decay=0.0)
        case _:
            return TextRecipe(chosen["steps"], **shared)


KINDS: dict[str, Any] = {"base": TextTraining, "demonstrations": FineTuning, "rewards": RewardTraining}


def base_model(characters: Characters, seed: int) -> LanguageModel:
    """A base model that has learned nothing yet."""
    torch.manual_seed(seed)
    return LanguageModel(
        LanguageModelConfig(
            vocab_size=len(characters),
            d_model=64,
            n_heads=4,
            d_ff=256,
            n_layers=2,
            max_len=64,
            dropout=0.0,
            attention_dropout=0.0,
            activation="gelu",
            positions="rotary",
            rotary_base=100.0,  # distances are short here
            pad_id=characters.pad_id,
        )
    )


def begin(options: Namespace, device: torch.device) -> AnswersRun:
    """Begin a new training run."""
    chosen, facts = chosen_for(options), {}
    if chosen["stage"] == "base":
        characters = Characters(ALPHABET)
        model = base_model(characters, chosen["seed"])
    else:
        path = checkpoint_path(chosen["from"])
        model, characters, _ = load_language_model(path)
        check_task(characters, path)
        chosen["from"], facts["from_sha256"] = str(path.absolute()), digest(path)
    recipe = recipe_of(chosen, device.type == "cuda" if options.bf16 is None else options.bf16)
    training = KINDS[chosen["stage"]](model.to(device), examples_of(chosen, characters), recipe)
    return run_of(training, characters, chosen, facts)


def run_of(
    training: TextTraining, characters: Characters, chosen: dict, facts: dict, seconds: float = 0.0
) -> AnswersRun:
    """The run of a training, with the reward function that its settings name."""
    if isinstance(training, RewardTraining):
        training.reward = REWARDS[chosen["reward"]]
    return AnswersRun(training=training, characters=characters, chosen=chosen, facts=facts, seconds=seconds)


def resume(options: Namespace, device: torch.device) -> AnswersRun:
    """Resume the training of a checkpoint."""
    if known := [name for name in written(options, SETTINGS) if name != "--from"]:
        raise ValueError(f"with --resume, {', '.join(known)} must be left out: the checkpoint knows")
    _, characters, facts = load_language_model(options.resume)
    if "settings" not in facts:
        raise ValueError(f"a checkpoint to go on from must be one that this command wrote ({options.resume} is not)")
    chosen = facts["settings"] | ({"from": getattr(options, "from")} if getattr(options, "from") else {})
    training: Any = load_training(options.resume, examples_of(chosen, characters), device, KINDS[chosen["stage"]])
    if isinstance(training, RewardTraining) and training.reference is not None:
        training.reference = reference_again(chosen["from"], facts["from_sha256"]).to(device)
    return run_of(training, characters, chosen, facts, facts["seconds"])


def reference_again(start: str, wanted: str) -> LanguageModel:
    """The model that a training run started from, as the reference from which it must not drift too far."""
    path = checkpoint_path(start)
    if digest(path) != wanted:
        raise ValueError(f"--from must be the checkpoint that the training began with ({path} is another)")
    return load_language_model(path)[0].requires_grad_(False)


def digest(path: Path) -> str:
    """A checksum, which is equal for equal files."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_task(characters: Characters, path: Path) -> None:
    """Raise a ValueError unless a model's vocabulary contains the characters of the task."""
    if unknown := sorted(set(ALPHABET) - set(characters.alphabet)):
        raise ValueError(f"a model must know the characters of the task ({path} does not know {unknown[0]!r})")
