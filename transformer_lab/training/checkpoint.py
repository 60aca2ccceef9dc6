"""Checkpoints: a model, its tokenizer and its scores in one file, with the optimiser if training is to continue."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_lab.data.texts import Characters
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.nn.transformer import Transformer
from transformer_lab.storage import Stored, read_tensors, write_tensors
from transformer_lab.training.loop import Training
from transformer_lab.training.shipped import checkpoint_path

Vocabulary = Tokenizer | Characters


def save_checkpoint(
    path: str | Path,
    model: Transformer | LanguageModel,
    tokenizer: Vocabulary,
    metrics: Mapping[str, Any],
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write everything needed to use a model; `metrics` holds any facts about it by name, as JSON can represent them.

    Raises:
        ValueError: the tokenizer is not the model's, or a weight is no finite number, as it would be stored.
    """
    weights, header = parts(model, tokenizer, metrics)
    lean = {name: weight.to(dtype) for name, weight in weights.items()}
    check_finite_weights(lean)
    write_tensors(path, lean, header)


def load_checkpoint(path: str | Path) -> tuple[Transformer, Tokenizer, dict[str, Any]]:
    """Load a model (on the CPU, in eval mode), its tokenizer, and the facts that were stored about it.

    The path may be the name of a checkpoint that comes with the package: "en_de".

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, or its parts do not go together.
    """
    stored = read_tensors(checkpoint_path(path))
    model, tokenizer = Transformer.from_stored(stored), Tokenizer.from_json(stored["tokenizer"])
    check_vocabulary(model, tokenizer)
    return model, tokenizer, stored["metrics"]


def load_language_model(path: str | Path) -> tuple[LanguageModel, Characters, dict[str, Any]]:
    """Load a language model (on the CPU, in eval mode), its characters, and the facts that were stored about it.

    The path may be the name of one that comes with the package: "python" or "python_small".

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, or its parts do not go together.
    """
    stored = read_tensors(checkpoint_path(path))
    model, characters = LanguageModel.from_stored(stored), Characters.from_json(stored["tokenizer"])
    check_vocabulary(model, characters)
    return model, characters, stored["metrics"]


def save_training(path: str | Path, training: Training, tokenizer: Vocabulary, metrics: Mapping[str, Any]) -> None:
    """Write a checkpoint from which training can also be resumed, which makes it three times as large.

    Raises:
        ValueError: the tokenizer is not the model's, or a weight is no finite number.
    """
    weights, header = parts(training.model, tokenizer, metrics)
    check_finite_weights(weights)
    adam = {
        f"adam.{name}.{key}": value
        for name, parameter in training.model.named_parameters()
        for key, value in training.optimizer.state.get(parameter, {}).items()  # nothing of what has not learned yet
    }
    run = {
        "step": training.step,
        "recipe": asdict(training.recipe),
        "examples": training.examples.fingerprint(),
        "frozen": [name for name, parameter in training.model.named_parameters() if not parameter.requires_grad],
    }
    write_tensors(path, weights | adam, header | {"training": run})


def load_training(
    path: str | Path, examples: Any, device: torch.device | str = "cpu", kind: type[Training] = Training
) -> Training:
    """Resume the training of a checkpoint as if it had never stopped. `examples` are those that it started with.

    `kind` is Training or a subclass, the same that was stored.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, has no training in it, or the training had other examples.
    """
    stored = read_tensors(path)
    run = stored["training"]
    if run["examples"] != examples.fingerprint():
        raise ValueError(f"a training must go on with the examples that it began with (those of {path} differ)")
    model = kind.model_class.from_stored(stored).to(device)
    training = kind(model, examples, kind.recipe_class(**run["recipe"]))
    training.step = run["step"]
    for name, parameter in training.model.named_parameters():
        parameter.data = stored.tensors[f"model.{name}"].to(device)  # of the type that it was trained in
        parameter.requires_grad_(name not in run["frozen"])
    load_optimizer(training, stored)
    return training


def load_optimizer(training: Training, stored: Stored) -> None:
    """Restore the optimiser's state of each parameter: its number of steps and its two averages.

    torch's own `load_state_dict`, which counts parameters in the order of their groups, puts each tensor on its device.
    """
    names = {parameter: name for name, parameter in training.model.named_parameters()}
    groups, states = training.optimizer.param_groups, {}
    for i, parameter in enumerate(parameter for group in groups for parameter in group["params"]):
        start = f"adam.{names[parameter]}."
        states[i] = {key.removeprefix(start): value for key, value in stored.tensors.items() if key.startswith(start)}
    learned = {i: state for i, state in states.items() if state}  # the others have not learned yet
    training.optimizer.load_state_dict(training.optimizer.state_dict() | {"state": learned})


def parts(
    model: Transformer | LanguageModel, tokenizer: Vocabulary, metrics: Mapping[str, Any]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights by their names in the file, and the header."""
    check_vocabulary(model, tokenizer)
    weights = {f"model.{name}": parameter.detach() for name, parameter in model.named_parameters()}
    return weights, {
        "config": asdict(model.config),
        "tokenizer": tokenizer.to_json(),
        "metrics": dict(metrics),
    }


def check_finite_weights(weights: Mapping[str, Tensor]) -> None:
    """Raise a ValueError unless all weights are finite, so that no good file is replaced by a bad one."""
    wrong = [name.removeprefix("model.") for name, weight in weights.items() if weight.isfinite().logical_not().any()]
    if wrong:
        raise ValueError(f"weights to be stored must be finite numbers ({wrong[0]} has others)")


def check_vocabulary(model: Transformer | LanguageModel, tokenizer: Vocabulary) -> None:
    """Raise a ValueError unless the model has one embedding for each token."""
    if len(tokenizer) != model.config.vocab_size:
        sizes = f"({len(tokenizer)}, {model.config.vocab_size})"
        raise ValueError(f"tokenizer and model must have the same number of tokens {sizes}")
