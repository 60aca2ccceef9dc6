"""A `LanguageModel` beside one of Hugging Face's: the parameters that mean the same, if the two compute the same."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from torch import Tensor, nn

from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig
from transformer_lab.weights.families import gpt2, llama
from transformer_lab.weights.torch_nn import check_equal

COUNTERPARTS = {"GPT2LMHeadModel": gpt2, "LlamaForCausalLM": llama}
IDLE = {"dropout", "attention_dropout", "pad_id", "max_len"}  # where max_len counts, the shapes tell


def paired(ours: LanguageModel, theirs: nn.Module, kind: str) -> Iterator[tuple[Tensor, Tensor]]:
    """Each parameter of ours, or a view of it, beside a view of the tensor of theirs that means the same.

    Raises:
        ValueError: the two would not compute the same with equal weights.
    """
    if type(theirs).__name__ != kind:
        raise ValueError(f"the counterpart of a LanguageModel must be {kind} (got {type(theirs).__name__})")
    if type(ours) is not LanguageModel:
        raise ValueError(f"what is copied must be a LanguageModel made from its config (got {type(ours).__name__})")
    config: Any = theirs.config
    sizes, tensors = COUNTERPARTS[kind](config.to_dict(), theirs.state_dict())
    mine, other = (computed_by(one) for one in (ours.config, sizes))
    for name in mine:
        check_equal(name, mine[name], other[name])
    parameters = dict(ours.named_parameters())
    check_equal("parameters", sorted(parameters), sorted(tensors))
    for name, parameter in parameters.items():
        tensor = tensors[name]
        yield (parameter.view(tensor.shape) if tensor.ndim > 2 else parameter), tensor


def computed_by(config: LanguageModelConfig) -> dict[str, object]:
    """What of a config decides which numbers a model computes."""
    values = asdict(config) | {"n_kv_heads": config.n_kv_heads or config.n_heads}
    return {name: value for name, value in values.items() if name not in IDLE}
