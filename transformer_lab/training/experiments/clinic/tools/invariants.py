"""Tools that change what must not matter, and measure by how much the output changes."""

from typing import Any

import torch
from torch import Tensor

from transformer_lab.training.experiments.clinic.patients import Program
from transformer_lab.training.experiments.clinic.tools import bench
from transformer_lab.training.experiments.clinic.tools.reading import Reading

ROUNDING = 1e-3  # the logits of the loud model are about 10


def logits_alone(model: torch.nn.Module, ids: list[int]) -> Tensor:
    """`(T, vocab)`: the logits of one chat in a row of its own, without a cache."""
    tokens = torch.tensor([ids])
    with torch.no_grad():
        return model(tokens, torch.ones_like(tokens))[0]


def changed(says: str, difference: float) -> Reading:
    return Reading(difference > ROUNDING, f"{says} changes the logits by {difference:.2g}")


def later(program: Program, seed: int = 0) -> Reading:
    """Another later token must not matter to the logits before it."""
    model = bench.loud_model(program, seed).eval()
    (ids,) = bench.encoded(program, bench.some_chats(program, 1, seed))
    other = [*ids[:-1], program.data.USER]
    gap = (logits_alone(model, ids) - logits_alone(model, other))[:-1]
    return changed("another last token", gap.abs().max().item())


def alone(program: Program, seed: int = 0) -> Reading:
    """A chat must be read as if it were alone, although another one stands before it in its row."""
    model = bench.loud_model(program, seed).eval()
    first, second = bench.encoded(program, bench.some_chats(program, 2, seed))
    rows = program.data.pack([first, second], len(first) + len(second) + 3)
    with torch.no_grad():
        together = model(rows.tokens, rows.documents)[0, len(first) : len(first) + len(second)]
    return changed("another chat in the row", (together - logits_alone(model, second)).abs().max().item())


def generation(program: Program, seed: int = 0) -> Reading:
    """What is written in a padded batch, with a cache, must be what each prompt gives alone, without one."""
    model = bench.loud_model(program, seed, dropout=0.1).eval()
    prompts = bench.prompts_of(program, bench.some_chats(program, 4, seed))
    recorder = bench.Recorder(model, model)
    program.generation.generate(recorder, prompts, max_new=4)
    model.eval()
    gap, steps = 0.0, torch.stack(recorder.logits, dim=1)  # (B, steps, vocab)
    for prompt, logits in zip(prompts, steps, strict=True):
        written = [*prompt, *logits.argmax(-1).tolist()]
        gap = max(gap, (logits_alone(model, written)[len(prompt) - 1 : -1] - logits).abs().max().item())
    return changed("a cache in a padded batch", gap)


def gradients_after(program: Program, chats: list[Any], portions: int, steps: int = 1, seed: int = 0) -> Tensor:
    """All gradients after some steps that move nothing, because their rate is 0."""
    model, training = bench.loud_model(program, seed), program.training
    recipe = training.Recipe(rate=0.0, micro_batches=portions, max_norm=1e9)
    optimizer = training.make_optimizer(model, recipe)
    batches = training.micro_batches(program.data.all_names(), chats, recipe)
    for step in range(steps):
        training.train_step(model, optimizer, batches, step, recipe)
    return torch.cat([torch.zeros(p.numel()) if p.grad is None else p.grad.flatten() for p in model.parameters()])


def portions(program: Program, seed: int = 0) -> Reading:
    """The gradient of some chats must be the same in one portion and in five, in the first step and in the second."""
    chats = bench.some_chats(program, 13, seed)
    whole, parts = gradients_after(program, chats, 1, 1, seed), gradients_after(program, chats, 5, 2, seed)
    share = ((parts - whole).norm() / whole.norm().clamp(min=1e-12)).item()
    return Reading(share > ROUNDING, f"in five portions the gradient is off by {share:.2g} of its length")
