"""Recording the weights of every attention in a model during its own forward pass."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from torch import Tensor, nn

from transformer_lab.nn.attention import MultiHeadAttention


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Within the `with` block, collect the weights of every `MultiHeadAttention` in `model`, by its name.

    They come out of the model's own forward pass, not out of a second one made for the picture. Of an attention that is
    called again those of the last call stay: where a decoder has a cache, the rows of its last step.

    Raises:
        ValueError: the model is compiled; or at the end of the block, no attention of the model was called in it.
    """
    check_not_compiled("record_attention", model)
    maps: dict[str, Tensor] = {}
    with ExitStack() as hooks:
        for name, module in model.named_modules():
            if isinstance(module, MultiHeadAttention):
                hooks.enter_context(module.register_forward_pre_hook(ask_for_weights, with_kwargs=True))
                hooks.enter_context(module.register_forward_hook(partial(keep_weights, maps, name)))
        yield maps
    if not maps:
        raise ValueError(f"an attention of the {type(model).__name__} must be called in the block (none was recorded)")


def check_not_compiled(name: str, model: nn.Module) -> None:
    """Raise a ValueError if a part of the model is compiled, because code compiled without a hook ignores it."""
    for module in model.modules():
        if hasattr(module, "_orig_mod") or module._compiled_call_impl is not None:
            raise ValueError(f"{name} must be given a model that is not compiled (got {type(module).__name__})")


def ask_for_weights(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    query_key_value_mask = args[:4]  # a fifth one is need_weights
    return query_key_value_mask, kwargs | {"need_weights": True}


def keep_weights(maps: dict[str, Tensor], name: str, module: nn.Module, args: tuple, result: tuple) -> None:
    maps[name] = result[1].detach()
