"""Checkpoints: a model, its tokenizer and its scores in one file; with the optimiser, if it is to go on learning."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_lab.model import Transformer
from transformer_lab.storage import checksum, read_tensors, write_tensors
from transformer_lab.tokenizer import Tokenizer
from transformer_lab.training.examples import Examples
from transformer_lab.training.loop import Training
from transformer_lab.training.recipe import Recipe

MOMENTS = ("exp_avg", "exp_avg_sq")  # what Adam keeps for each parameter, by torch's names


def save_checkpoint(
    path: str | Path,
    model: Transformer,
    tokenizer: Tokenizer,
    metrics: Mapping[str, Any],
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write all that it takes to use a model; `metrics` is any facts about it by name, as JSON can hold them.

    Raises:
        ValueError: the tokenizer is not the model's, or the model's activation cannot be stored.
    """
    weights, header = parts(model, tokenizer, metrics)
    write_tensors(path, {name: weight.to(dtype) for name, weight in weights.items()}, header)


def load_checkpoint(path: str | Path) -> tuple[Transformer, Tokenizer, dict[str, Any]]:
    """The model (on the CPU, in eval mode), its tokenizer, and the facts that were stored about it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, or its parts do not go together.
    """
    model, (_, header) = Transformer.from_checkpoint(path), read_tensors(path)
    require(path, header, "tokenizer", "metrics")
    tokenizer = Tokenizer.from_json(header["tokenizer"])
    check_vocabulary(model, tokenizer)
    return model, tokenizer, header["metrics"]


def save_training(path: str | Path, training: Training, tokenizer: Tokenizer, metrics: Mapping[str, Any]) -> None:
    """Write a checkpoint from which the training can go on, too; it is three times as large."""
    weights, header = parts(training.model, tokenizer, metrics)
    moments = {
        f"adam.{moment}.{name}": training.optimizer.state[parameter][moment]
        for name, parameter in training.model.named_parameters()
        if parameter in training.optimizer.state  # none is before the first step
        for moment in MOMENTS
    }
    run = {"step": training.step, "recipe": asdict(training.recipe), "examples": fingerprint(training.examples)}
    write_tensors(path, weights | moments, header | {"training": run})


def load_training(path: str | Path, examples: Examples, device: torch.device | str = "cpu") -> Training:
    """The training of a checkpoint, as if it had never stopped. `examples` are those that it began with.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, has no training in it, or the training had other examples.
    """
    model, (tensors, header) = Transformer.from_checkpoint(path), read_tensors(path)
    require(path, header, "training")
    run = header["training"]
    if run["examples"] != fingerprint(examples):
        raise ValueError(f"a training must go on with the examples that it began with (those of {path} differ)")
    training = Training(model.to(device), examples, Recipe(**run["recipe"]))
    training.step = run["step"]
    for name, parameter in model.named_parameters() if training.step else ():
        training.optimizer.state[parameter] = {"step": torch.tensor(float(training.step), device="cpu")} | {
            moment: tensors[f"adam.{moment}.{name}"].to(device) for moment in MOMENTS
        }
    return training


def parts(
    model: Transformer, tokenizer: Tokenizer, metrics: Mapping[str, Any]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights by their names in the file, and the header."""
    check_vocabulary(model, tokenizer)
    weights = {f"model.{name}": parameter.detach() for name, parameter in model.named_parameters()}
    return weights, {
        "config": model.config.to_dict(),
        "tokenizer": tokenizer.to_json(),
        "metrics": dict(metrics),
    }


def fingerprint(examples: Examples) -> str:
    return checksum({"src": examples.src, "tgt": examples.tgt}, {})


def check_vocabulary(model: Transformer, tokenizer: Tokenizer) -> None:
    """Raise a ValueError unless the model has one embedding for each token."""
    if len(tokenizer) != model.config.vocab_size:
        sizes = f"({len(tokenizer)}, {model.config.vocab_size})"
        raise ValueError(f"tokenizer and model must have the same number of tokens {sizes}")


def require(path: str | Path, header: Mapping[str, Any], *names: str) -> None:
    """Raise a ValueError that says what the file is for if one of its parts is missing."""
    missing = [name for name in names if name not in header]
    if missing:
        raise ValueError(f"{path} must contain {' and '.join(missing)} (it contains {', '.join(sorted(header))})")
