"""Recording what the parts of a model write as it runs: the output of each head, and of each layer."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.nn.attention import MultiHeadAttention, split_heads
from transformer_lab.nn.recording import check_not_compiled


@contextmanager
def record_heads(model: nn.Module) -> Iterator[dict[str, Float[Tensor, "B h T d_head"]]]:
    """Within the block, record the input of W_O in every attention, split by head, under the attention's name.

    Of an attention that is called again, what it wrote in the last call stays.

    Raises:
        ValueError: the model is compiled; or at the end of the block, no attention of the model was called in it.
    """
    check_not_compiled("record_heads", model)
    written: dict[str, Tensor] = {}

    def keep(name: str, n_heads: int) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[Tensor]) -> None:
            written[name] = split_heads(args[0].detach(), n_heads)  # (B, T, d_model) → (B, h, T, d_head)

        return hook

    with ExitStack() as hooks:
        for name, module in model.named_modules():
            if isinstance(module, MultiHeadAttention):
                hooks.enter_context(module.w_o.register_forward_pre_hook(keep(name, module.n_heads)))
        yield written
    if not written:
        raise ValueError(f"an attention of the {type(model).__name__} must be called in the block (none was recorded)")


@contextmanager
def record_states(model: nn.Module) -> Iterator[list[Float[Tensor, "B T d_model"]]]:
    """Within the block, record the input of the first of `model.layers` and the output of each: n_layers + 1 states.

    Where layers only add to it, as in pre-norm models, this is called the residual stream.

    Raises:
        ValueError: the model is compiled or has no layers; or at the end of the block, it was not called exactly once.
    """
    check_not_compiled("record_states", model)
    layers = getattr(model, "layers", None)
    if not isinstance(layers, nn.ModuleList) or not len(layers):
        raise ValueError(f"record_states must be given a model with `layers` (a {type(model).__name__} has none)")
    states: list[Tensor] = []
    with ExitStack() as hooks:
        first = layers[0].register_forward_pre_hook(lambda module, args: states.append(args[0].detach()))
        hooks.enter_context(first)
        for layer in layers:
            hooks.enter_context(layer.register_forward_hook(lambda module, args, out: states.append(out.detach())))
        yield states
    if len(states) != len(layers) + 1:
        raise ValueError(f"the model must be called once in the block ({len(states)} states were recorded)")
