"""What torch computes with the weights as they are sent, for the tests of the machine: whole runs, and changed ones."""

import json
import os
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path

import torch
from torch.nn.utils.rnn import pad_sequence

import transformer_lab
from tests.view_examples.machine import data as example
from tests.view_examples.machine import sent, source_of, written
from transformer_lab import analysis
from transformer_lab.analysis.contributions import record_heads
from transformer_lab.data.tasks import number_names
from transformer_lab.decoding.batched import greedy
from transformer_lab.decoding.inference import inference
from transformer_lab.nn.recording import record_attention
from transformer_lab.training import load_checkpoint
from transformer_lab.widgets.machine.machine_view import carried, finest, kept_tokens, sent_translator, tokenizer_sent
from transformer_lab.widgets.shared.view import copied, packed, with_tensors

NUMBERS = int(os.environ.get("NUMBERS", 200))  # a thousand take ten seconds, on a machine that is idle
SHIPPED = Path(transformer_lab.__file__).parent / "checkpoints" / "en_de.safetensors"
SELF, CROSS = "decoder.layers.1.self_attention", "decoder.layers.0.cross_attention"
OFF = [
    ["src_embedding.positions"],
    ["tgt_embedding.positions"],
    [f"{CROSS}.head.1"],
    ["encoder.layers.0.self_attention.head.0", "encoder.layers.1.self_attention.head.1"],
    ["encoder.layers.1.residual_1.skip"],
    ["decoder.layers.1.residual_3.skip", "decoder.layers.0.residual_2.norm"],
    ["encoder.layers.0.residual_2.norm"],
    ["decoder.layers.0.feed_forward", "encoder.layers.1.feed_forward"],
    [f"{SELF}.mask"],
    ["decoder.layers.0.self_attention.mask", f"{SELF}.mask", f"{CROSS}.head.0"],
]
SWAPS = [
    {"part": "src_embedding", "position": 0},
    {"part": "encoder.layers.1.residual_2", "position": 1},
    {"part": "decoder.layers.0.feed_forward", "position": 2},
    {"part": "encoder.layers.0.self_attention", "position": 1, "head": 1},
    {"part": CROSS, "position": 1, "head": 0},
    {"part": "tgt_embedding", "position": 11},  # where no translation is so long
]


def on_wire(state: dict) -> dict:
    """A state as a page reads it."""
    return json.loads(json.dumps(with_tensors(state, copied), default=packed))


def machine_of(model, tokenizer) -> dict:
    return {
        "model": on_wire(carried(model, tokenizer, finest(model, tokenizer))),
        "tokenizer": tokenizer_sent(tokenizer),
    }


@cache
def shipped() -> tuple:
    return load_checkpoint(SHIPPED)[:2]


def numbers() -> dict:
    model, tokenizer = sent()
    texts = ["ten two", "one", "one two ten"]
    return {
        "small": machine_of(example()["machine_model"], tokenizer),
        "runs": [run_of(model, tokenizer, text) for text in texts],
        "off": [changed(text, off=off) for text in texts[::2] for off in OFF],
        "swaps": [changed("ten two", swap=swap) for swap in SWAPS],
        "shipped": shipped_numbers(),
    }


def run_of(model, tokenizer, text: str) -> dict:
    """Every matrix that a module writes, by its name, and the weights and outputs of heads."""
    src, ids = source_of(text), written(model, tokenizer, source_of(text))[0]
    return {
        "src": of_page(tokenizer, src[0].tolist()),
        "target": of_page(tokenizer, ids[1:]),
        "matrices": matrices_of(model, tokenizer, src, torch.tensor([ids[:-1]])),
    }


NOT_IN_PAGE = ("dropout", "positions", "layers", "tokens", "norm", "encoder", "decoder", ".0", ".1")


def matrices_of(model, tokenizer, src, tgt) -> dict:
    kept: dict[str, list] = {}
    with ExitStack() as stack:
        for name, module in model.named_modules():
            if name and not name.endswith(NOT_IN_PAGE):
                keep = partial(kept.__setitem__, name)
                hook = module.register_forward_hook(
                    lambda module, args, out, keep=keep: keep(out[0] if isinstance(out, tuple) else out)
                )
                stack.callback(hook.remove)
        maps = stack.enter_context(record_attention(model))
        heads = stack.enter_context(record_heads(model))
        stack.enter_context(inference(model))
        model(src, tgt)
    found = {name: x[0].tolist() for name, x in kept.items() if "w_o" not in name and "w_2" not in name}
    found["to_logits"] = [[row[i] for i in kept_tokens(tokenizer)] for row in found["to_logits"]]
    for name, weights in maps.items():
        found |= {f"{name}.weights.{head}": map_.tolist() for head, map_ in enumerate(weights[0])}
        found[f"{name}.heads"] = heads[name][0].transpose(0, 1).flatten(1).tolist()  # (h, T, d_head) → (T, d_model)
    return found


def of_page(tokenizer, ids: list[int]) -> list[int]:
    kept = kept_tokens(tokenizer)
    return [kept.index(i) for i in ids]


def changed(text: str, off=(), swap=None) -> dict:
    model, tokenizer = sent()
    src = source_of(text)
    done = {"src": of_page(tokenizer, src[0].tolist()), "off": list(off), "swaps": []}
    with ExitStack() as stack:
        stack.enter_context(analysis.switched_off(model, *off))
        if swap:
            value = value_of(model, tokenizer, **swap)
            done["swaps"] = [{"head": None} | swap | {"value": value.tolist()}]
            stack.enter_context(analysis.swapped(model, value=value, **swap))
        ids, steps = written(model, tokenizer, src)
    return done | {"target": of_page(tokenizer, ids[1:]), "steps": steps}


def value_of(model, tokenizer, part, position, head=None) -> torch.Tensor:
    """What a part, or a head, writes at a position of another sentence, or, where it has none, at its last."""
    run = run_of(model, tokenizer, "one two ten")["matrices"]
    rows = run[part if head is None else f"{part}.heads"]
    row = torch.tensor(rows[min(position, len(rows) - 1)], dtype=torch.float64)
    return row if head is None else row.unflatten(0, (model.config.n_heads, -1))[head]


def shipped_numbers() -> dict:
    """The shipped translator: logits with the weights as sent; what it writes in full precision."""
    model, tokenizer = shipped()
    texts = [text for text, _ in number_names("en", "de").test][:NUMBERS]
    rows = [torch.tensor([*tokenizer.encode(text), tokenizer.eos_id]) for text in texts]
    target = greedy(model, pad_sequence(rows, batch_first=True), bos_id=1, eos_id=2, max_length=32)[:, 1:].tolist()
    ended = [ids[: ids.index(2) + 1] for ids in target]
    rounded = sent_translator(model, tokenizer).double()
    with inference(rounded):
        logits = [
            rounded(rows[i][None], torch.tensor([[1, *ended[i][:-1]]]))[0][:, kept_tokens(tokenizer)] for i in range(3)
        ]
    return machine_of(model, tokenizer) | {
        "texts": texts,
        "sources": [of_page(tokenizer, row.tolist()) for row in rows],
        "targets": [of_page(tokenizer, ids) for ids in ended],
        "logits": [x.tolist() for x in logits],
    }
