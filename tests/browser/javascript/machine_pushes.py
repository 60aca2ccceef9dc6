"""What torch reads off a row before a feed-forward network and after it, and what its hidden features push towards."""

import torch

from tests.browser.javascript.machine_model import machine_of, of_page
from tests.view_examples.machine import data, sent, source_of
from transformer_lab.decoding.batched import greedy
from transformer_lab.decoding.inference import inference
from transformer_lab.nn.transformer import Transformer
from transformer_lab.widgets.machine.machine_view import kept_tokens

NAMES = {"decoder.layers.0": ("residual_2", "residual_3"), "decoder.layers.1": ("residual_2", "residual_3")}
NAMES |= {"encoder.layers.1": ("residual_1", "residual_2")}


def numbers() -> dict:
    model, tokenizer = sent()
    source = source_of("one two ten")
    target = greedy(model, source, bos_id=tokenizer.bos_id, eos_id=tokenizer.eos_id, max_length=12)
    rows: dict = {}
    hooks = [
        module.register_forward_hook(lambda _, ins, out, name=name: rows.update({name: (ins[0][0], out[0])}))
        for name, module in model.named_modules()
        if name.endswith((".norm", ".w_2"))
    ]
    with inference(model):
        model(source, target[:, :-1])
    for hook in hooks:
        hook.remove()
    table = model.to_logits.weight[kept_tokens(tokenizer)].detach()
    found = [pushed(model, table, rows, layer, t=1) for layer in NAMES]
    page = {"src": of_page(tokenizer, source[0].tolist()), "pushed": found}
    return machine_of(data()["machine_model"], tokenizer) | page


def pushed(model: Transformer, table: torch.Tensor, rows: dict, layer: str, t: int) -> dict:
    """The score's derivative by each hidden feature, times the feature, with the norm's deviation as it is."""
    read, after = (f"{layer}.{name}.norm" for name in NAMES[layer])
    norm, w_2 = model.get_submodule(after), model.get_submodule(f"{layer}.feed_forward.w_2").weight.detach()
    active, summed = rows[f"{layer}.feed_forward.w_2"][0][t], rows[after][0][t]
    before, now = ((table @ rows[name][1][t]).softmax(-1) for name in (read, after))
    token = int(now.argmax())
    deviation = (summed.var(unbiased=False) + norm.eps).sqrt()
    hidden = active.clone().requires_grad_()
    moved = w_2 @ hidden
    written = (moved - moved.mean()) / deviation * norm.weight.detach()
    score = (table[token] - table.mean(0)) @ written
    (slope,) = torch.autograd.grad(score, hidden)
    lists = {"before": before, "after": now, "pushes": slope * active}
    return {"name": f"{layer}.feed_forward", "token": token, **{k: v.tolist() for k, v in lists.items()}}
