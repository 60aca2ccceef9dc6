"""Tools that train: what a single step does, and whether a batch can be learned by heart."""

import torch

from transformer_lab.training.experiments.clinic.patients import Program
from transformer_lab.training.experiments.clinic.tools import bench
from transformer_lab.training.experiments.clinic.tools.reading import Reading

STEPS, RATE = 80, 5e-3


def step(program: Program, seed: int = 0) -> Reading:
    """Every parameter gets a gradient, a step without gradients moves no gain, and the rate is 0 at no step."""
    model, training = bench.new_model(program, seed), program.training
    recipe = training.Recipe()
    optimizer = training.make_optimizer(model, recipe)
    training.train_step(model, optimizer, [bench.packed(program, 8, seed)], 0, recipe)
    without = sum(p.grad is None or not p.grad.any() for p in model.parameters())
    gains = [p for p in model.parameters() if p.ndim == 1]
    before = [gain.detach().clone() for gain in gains]
    quiet = training.make_optimizer(model, recipe)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    quiet.step()
    moved = sum(not torch.equal(gain, old) for gain, old in zip(gains, before, strict=True))
    still = sum(training.rate_at(i, recipe) == 0 for i in range(recipe.n_steps))
    says = f"{without} parameters without a gradient, {moved} gains moved by a step without gradients, "
    return Reading(without + moved + still > 0, says + f"the rate is 0 in {still} of {recipe.n_steps} steps")


def by_heart(program: Program, seed: int = 0) -> Reading:
    """A model must be able to learn eight chats by heart, and then to say them."""
    model, training, chats = bench.new_model(program, seed), program.training, bench.some_chats(program, 8, seed)
    tokenizer, recipe = program.data.all_names(), training.Recipe(n_steps=STEPS, rate=RATE, warmup=10)
    optimizer = training.make_optimizer(model, recipe)
    batches = training.micro_batches(tokenizer, chats, recipe)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        losses = [training.train_step(model.train(), optimizer, batches, i, recipe) for i in range(STEPS)]
        right = program.generation.share_right(model, tokenizer, chats)
    says = f"after {STEPS} steps the loss is {losses[-1]:.2f}, and {right:.0%} of the answers are said right"
    return Reading(losses[-1] > 0.1 or right < 1, says)
