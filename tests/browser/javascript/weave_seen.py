"""A small translator, and the mean of its heads as torch has them; so, too, where the masks are cut."""

import torch

from tests.browser.javascript.machine_overview import numbers as of_translator
from tests.view_examples.machine import recorded, sent, source_of, written
from transformer_lab.analysis import switched_off

TEXT = "ten two"
MASKS = [f"decoder.layers.{layer}.self_attention.mask" for layer in (0, 1)]


def numbers() -> dict:
    return of_translator() | {"text": TEXT, "whole": means(), "without_mask": as_written()}


def means() -> dict:
    """The mean weights of the heads of each attention, for the finished sentence."""
    model, tokenizer = sent()
    src = source_of(TEXT)
    ids, _ = written(model, tokenizer, src)
    return {name: map_.tolist() for name, map_ in mean_of(recorded(model, src, torch.tensor([ids[:-1]]))).items()}


def as_written() -> dict:
    """The same without the causal masks, each row from the step that chose its token."""
    model, tokenizer = sent()
    src = source_of(TEXT)
    with switched_off(model, *MASKS):
        ids, _ = written(model, tokenizer, src)
        steps = [mean_of(recorded(model, src, torch.tensor([ids[:t]]))) for t in range(1, len(ids))]
    return {name: [step[name][-1].tolist() for step in steps] for name in steps[0] if name.startswith("decoder")}


def mean_of(kept: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    names = {name.rpartition(".weights.")[0] for name in kept if ".weights." in name}
    return {name: (kept[f"{name}.weights.0"] + kept[f"{name}.weights.1"]) / 2 for name in names}
