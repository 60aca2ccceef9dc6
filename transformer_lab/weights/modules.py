"""The same weights in our `LanguageModel` and in Hugging Face's GPT-2 or Llama, copied either way.

How the two layouts differ is said in `families`. The library itself is not needed here.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from torch import Tensor, nn

from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig
from transformer_lab.weights.families import gpt2, llama
from transformer_lab.weights.torch_nn import check_equal, copy

COUNTERPARTS = {"GPT2LMHeadModel": gpt2, "LlamaForCausalLM": llama}
IDLE = {"dropout", "attention_dropout", "pad_id", "max_len"}  # where max_len counts, the shapes tell


def copy_to_huggingface(ours: LanguageModel, theirs: nn.Module) -> None:
    """Give Hugging Face's model the weights of ours.

    Raises:
        ValueError: the two would not compute the same with equal weights; nothing is copied then.
    """
    copy(paired(ours, theirs))


def copy_from_huggingface(theirs: nn.Module, ours: LanguageModel) -> None:
    """Give our model the weights of Hugging Face's.

    Raises:
        ValueError: the two would not compute the same with equal weights; nothing is copied then.
    """
    copy((other, mine) for mine, other in paired(ours, theirs))


def paired(ours: LanguageModel, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Each parameter of ours, or a view of it, beside a view of the tensor of theirs that means the same.

    Raises:
        ValueError: the two would not compute the same with equal weights.
    """
    kind = type(theirs).__name__
    if kind not in COUNTERPARTS:
        raise ValueError(f"the counterpart of a LanguageModel must be {' or '.join(COUNTERPARTS)} (got {kind})")
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
