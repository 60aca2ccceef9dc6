"""Right answers to the exercises of lesson 04, and the mutants of their references that compute the same."""

import torch
import torch.nn.functional as F

from tests.answers.reasons import COMMUTATIVE


def layer_norm_of_torch(x, weight, bias, eps):
    return F.layer_norm(x, weight.shape, weight, bias, eps)


def layer_norm_by_var_mean(x, weight, bias, eps):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, (x - mean) * torch.rsqrt(variance + eps), weight)


def layer_norm_by_loop(x, weight, bias, eps):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        mean = sum(row) / len(row)
        variance = sum((value - mean) ** 2 for value in row) / len(row)
        scale = (variance + eps) ** 0.5
        rows.append(torch.stack([(row[i] - mean) / scale * weight[i] + bias[i] for i in range(len(row))]))
    return torch.stack(rows).reshape(x.shape)


def layer_norm_by_projection(x, weight, bias, eps):
    n = x.size(-1)
    centring = torch.eye(n, dtype=x.dtype, device=x.device) - 1 / n
    centred = x @ centring
    squares = torch.einsum("...d,...d->...", centred, centred)[..., None]
    return centred * weight * (squares / n + eps) ** -0.5 + bias


def layer_norm_of_a_module(x, weight, bias, eps):
    module = torch.nn.LayerNorm(x.size(-1), eps=eps, device=x.device, dtype=x.dtype)
    return torch.func.functional_call(module, {"weight": weight, "bias": bias}, (x,))


def layer_norm_in_float64(x, weight, bias, eps):
    return layer_norm_by_var_mean(x.double(), weight.double(), bias.double(), eps).to(x.dtype)


def block_in_one_line(x, sublayer, norm, norm_first):
    return x + sublayer(norm(x)) if norm_first else norm(x + sublayer(x))


def block_by_steps(x, sublayer, norm, norm_first):
    inside = x
    if norm_first:
        inside = norm(inside)
    out = torch.add(sublayer(inside), x)
    if not norm_first:
        out = norm(out)
    return out


def block_with_an_identity(x, sublayer, norm, norm_first):
    before, after = (norm, torch.nn.Identity()) if norm_first else (torch.nn.Identity(), norm)
    return after(torch.stack([x, sublayer(before(x))]).sum(0))


def block_in_place_of_a_copy(x, sublayer, norm, norm_first):
    total = x.clone()
    total += sublayer(norm(x) if norm_first else x)
    return total if norm_first else norm(total)


RIGHT_ANSWERS = {
    "layer_norm": [
        layer_norm_of_torch,
        layer_norm_by_var_mean,
        layer_norm_by_loop,
        layer_norm_by_projection,
        layer_norm_of_a_module,
        layer_norm_in_float64,
    ],
    "residual_block": [block_in_one_line, block_by_steps, block_with_an_identity, block_in_place_of_a_copy],
}

SUM = "a sum does not depend on the order of its terms"

EQUIVALENT = {
    "layer_norm": {
        "line 10: variance + eps → eps + variance": SUM,
        "line 10: centred / torch.sqrt(variance + eps) * weight → "
        "weight * (centred / torch.sqrt(variance + eps))": COMMUTATIVE,
        "line 10: centred / torch.sqrt(variance + eps) * weight + bias → "
        "bias + centred / torch.sqrt(variance + eps) * weight": SUM,
    },
    "residual_block": {
        "line 10: x + sublayer(norm(x)) → sublayer(norm(x)) + x": SUM,
        "line 11: x + sublayer(x) → sublayer(x) + x": SUM,
    },
}
