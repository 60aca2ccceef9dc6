"""Low-rank adaptation: a small change to each matrix is learned, while the matrix itself stays fixed."""

from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.checks import check_floats, check_least
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.storage import load_parameters, read_tensors, write_tensors


def lora_forward(
    x: Float[Tensor, "*axes d_in"],
    weight: Float[Tensor, "d_out d_in"],
    a: Float[Tensor, "r d_in"],
    b: Float[Tensor, "d_out r"],
    alpha: float,
) -> Float[Tensor, "*axes d_out"]:
    """A linear layer with the matrix W + α/r · B A, which is never formed.

    x Wᵀ + α/r · (x Aᵀ) Bᵀ        (Hu et al., 2021, arXiv:2106.09685, §4.1)
    """
    check_floats("a", a, 2)
    check_floats("b", b, 2)
    return x @ weight.T + alpha / a.size(0) * (x @ a.T @ b.T)  # (…, d_in) → (…, r) → (…, d_out)


class LoRALinear(nn.Module):
    """A frozen linear layer with the A and B of `lora_forward` beside it, which learn.

    A is random and B zero, so that the layer starts as the one that it wraps.

    Raises:
        ValueError: rank is below 1; alpha is not above 0.
    """

    def __init__(self, linear: nn.Linear, rank: int, alpha: float):
        super().__init__()
        check_least(1, rank=rank)
        if not alpha > 0:
            raise ValueError(f"alpha ({alpha}) must be above 0")
        self.linear, self.alpha = linear.requires_grad_(False), alpha
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.a = nn.Parameter(torch.empty(rank, linear.in_features).to(linear.weight))
        self.b = nn.Parameter(torch.zeros(linear.out_features, rank).to(linear.weight))
        nn.init.kaiming_uniform_(self.a, a=5**0.5)  # as peft does

    def forward(self, x: Float[Tensor, "*axes d_in"]) -> Float[Tensor, "*axes d_out"]:
        out = lora_forward(x, self.linear.weight, self.a, self.b, self.alpha)
        return out if self.linear.bias is None else out + self.linear.bias

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """The linear layer with the change added to its matrix, which costs no more than the original."""
        self.linear.weight += self.alpha / self.a.size(0) * self.b @ self.a
        return self.linear.requires_grad_(True)


def add_lora(model: LanguageModel, rank: int, alpha: float) -> LanguageModel:
    """Wrap each linear layer of the model's blocks, so that only the new A and B learn; returns the model.

    Raises:
        ValueError: the model has LoRA already; rank is below 1; alpha is not above 0.
    """
    if adapters(model):
        raise ValueError("a model must have no LoRA yet (merge_lora puts it into the weights)")
    model.requires_grad_(False)
    for module in [*model.layers.modules()]:
        for name, part in [*module.named_children()]:
            if isinstance(part, nn.Linear):
                setattr(module, name, LoRALinear(part, rank, alpha))
    return model


def merge_lora(model: LanguageModel) -> LanguageModel:
    """Merge each change into its matrix; returns the model, which is as large and as fast as it was originally."""
    for module in [*model.modules()]:
        for name, part in [*module.named_children()]:
            if isinstance(part, LoRALinear):
                setattr(module, name, part.merged())
    return model.requires_grad_(True)


def adapters(model: nn.Module) -> nn.ParameterDict:
    """The A and B of each wrapped layer, by names in which slashes replace the dots."""
    named = {name: part for name, part in model.named_modules() if isinstance(part, LoRALinear)}
    parts = {f"{name}.{key}": getattr(layer, key) for name, layer in named.items() for key in ("a", "b")}
    return nn.ParameterDict({name.replace(".", "/"): parameter for name, parameter in parts.items()})


def save_lora(path: str | Path, model: LanguageModel) -> None:
    """Save what LoRA has learned, and nothing of the model that it was added to.

    Raises:
        ValueError: the model has no LoRA.
    """
    layer = next((part for part in model.modules() if isinstance(part, LoRALinear)), None)
    if layer is None:
        raise ValueError("a model must have LoRA (add_lora wraps its layers)")
    write_tensors(path, dict(adapters(model)), {"lora": {"rank": layer.a.size(0), "alpha": layer.alpha}})


def load_lora(path: str | Path, model: LanguageModel) -> LanguageModel:
    """Wrap the layers of a model and load what `save_lora` wrote; returns the model.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, has no LoRA in it, or one for a model of other sizes.
    """
    stored = read_tensors(path)
    add_lora(model, **stored["lora"])
    try:
        load_parameters(adapters(model), stored.tensors)
    except ValueError:
        merge_lora(model)  # adds zeros: B is still what it began as
        raise
    return model
