"""Llama's weights: the same in our `LanguageModel` and in Hugging Face's `LlamaForCausalLM`, copied either way.

What differs is said in `families`. The library itself is not needed here.
"""

from torch import nn

from transformer_lab.models.language_model import LanguageModel
from transformer_lab.weights.modules import paired
from transformer_lab.weights.torch_nn import copy


def copy_to_llama(ours: LanguageModel, theirs: nn.Module) -> None:
    """Give Hugging Face's model the weights of ours.

    Raises:
        ValueError: the two would not compute the same with equal weights; nothing is copied then.
    """
    copy(paired(ours, theirs, "LlamaForCausalLM"))


def copy_from_llama(theirs: nn.Module, ours: LanguageModel) -> None:
    """Give our model the weights of Hugging Face's.

    Raises:
        ValueError: the two would not compute the same with equal weights; nothing is copied then.
    """
    copy((other, mine) for mine, other in paired(ours, theirs, "LlamaForCausalLM"))
