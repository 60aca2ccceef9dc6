"""Right answers to the exercises of lesson 04, and the mutants of their references that compute the same."""

import torch
import torch.nn.functional as F

from tests.answers.reasons import COMMUTATIVE, ONE_TYPE, SUM, commuted


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


def control_by_rules(experiments):
    failed = experiments[0]["settings"]
    for i, run in enumerate(experiments):
        settings, n_changes = run["settings"], 0
        for name in settings:
            n_changes += settings[name] != failed[name]
        if n_changes != 1 or run["measures"] != "loss":
            continue
        if settings["gradient"] == "rescaled":
            return i
        if settings["attention"] == "itself" and settings["task"] == "copy":
            return i


def control_by_what_each_explanation_foretells(experiments):
    """Would the loss fall, if that explanation were the true one?"""

    def falls(settings, cause):
        if settings["attention"] == "itself" and settings["task"] == "reverse":
            return False
        short = settings["layers"] <= 2 or settings["residual"]
        if cause == "gradient":
            return short or settings["gradient"] == "rescaled"
        return short or settings["attention"] == "itself"

    failed = experiments[0]["settings"]
    (chosen,) = (
        i
        for i, run in enumerate(experiments)
        if run["measures"] == "loss"
        and len(set(run["settings"].items()) - set(failed.items())) == 1
        and falls(run["settings"], "gradient") != falls(run["settings"], "collapse")
    )
    return chosen


def control_by_search(experiments):
    failed = experiments[0]["settings"]
    wanted = [failed | {"gradient": "rescaled"}]
    wanted += [failed | {"attention": "itself"}] if failed["task"] == "copy" else []
    found = [{"settings": settings, "measures": "loss"} for settings in wanted]
    return next(experiments.index(run) for run in found if run in experiments)


def stack_in_one_line(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    return norm_3((y := x + sublayer_1(norm_1(x))) + sublayer_2(norm_2(y)))


def stack_by_loop(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    stream = x
    for sublayer, norm in ((sublayer_1, norm_1), (sublayer_2, norm_2)):
        stream = torch.add(sublayer(norm(stream)), stream)
    return norm_3(stream)


def stack_on_a_copy(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    stream = x.clone()
    first = sublayer_1(norm_1(x))
    stream = stream + first
    second = sublayer_2(norm_2(stream))
    return norm_3(x + first + second)


RIGHT_ANSWERS = {
    "which_control": [control_by_rules, control_by_what_each_explanation_foretells, control_by_search],
    "layer_norm": [
        layer_norm_of_torch,
        layer_norm_by_var_mean,
        layer_norm_by_loop,
        layer_norm_by_projection,
        layer_norm_of_a_module,
        layer_norm_in_float64,
    ],
    "residual_block": [block_in_one_line, block_by_steps, block_with_an_identity, block_in_place_of_a_copy],
    "mend_stack": [stack_in_one_line, stack_by_loop, stack_on_a_copy],
}

EQUIVALENT = {
    "layer_norm": {
        "layer_norm: variance + eps → eps + variance": SUM,
        "layer_norm: centred / torch.sqrt(variance + eps) * weight → "
        "weight * (centred / torch.sqrt(variance + eps))": COMMUTATIVE,
        "layer_norm: centred / torch.sqrt(variance + eps) * weight + bias → "
        "bias + centred / torch.sqrt(variance + eps) * weight": SUM,
        "layer_norm: (centred / torch.sqrt(variance + eps) * weight + bias).to(x.dtype) → "
        "centred / torch.sqrt(variance + eps) * weight + bias": ONE_TYPE,
        "layer_norm: (torch.float16, torch.bfloat16) → (torch.bfloat16, torch.float16)": "a set of two has no order",
        "layer_norm: x.float() → x": ONE_TYPE,
        "layer_norm: x → eps (3)": ONE_TYPE,
        **{f"layer_norm: x → {other} ({i})": ONE_TYPE for i in (2, 3, 4) for other in ("weight", "bias")},
    },
    "residual_block": {
        "residual_block: x + sublayer(norm(x)) → sublayer(norm(x)) + x": SUM,
        "residual_block: x + sublayer(x) → sublayer(x) + x": SUM,
    },
    "mend_stack": commuted("mend_stack", "x + sublayer_1(norm_1(x))", "x + sublayer_2(norm_2(x))"),
}
