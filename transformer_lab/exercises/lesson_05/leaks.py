"""Lesson 05: write the test `leaks`."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.candidates import need_few, need_tensor
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.kinds import WriteTheTest

MIX = normal(16, 16).double() / 4  # the weights of the candidates that mix features


def exactly(layer: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The layer computed in float64: on every machine, a shorter sentence then gives the same float32 numbers.

    Scores of large inputs come close to 1e5, where float32 rounds by 1e-2: a right layer would seem to leak.
    """
    return lambda x: layer(x.double()).to(x.dtype)


def causal_weights(x: Tensor, reach: int = 0) -> Tensor:
    """The weights (B, T, T) of a head that may look `reach` positions ahead."""
    visible = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril(reach)
    return (x @ MIX @ x.mT / 4).masked_fill(~visible, float("-inf")).softmax(-1)


RIGHT_LAYERS = {
    "each position alone, through a feed-forward network": exactly(lambda x: (x @ MIX).relu() @ MIX.T),
    "attention behind a causal mask": exactly(lambda x: causal_weights(x) @ x),
    "the mean of all positions so far": exactly(lambda x: x.cumsum(1) / torch.arange(1, x.size(1) + 1)[:, None]),
    "a convolution that is padded on the left": lambda x: x + torch.cat([x.new_zeros(x.size(0), 2, 16), x], 1)[:, :-2],
    "every output 0": torch.zeros_like,
    "layer norm at each position": exactly(lambda x: torch.nn.functional.layer_norm(x, (16,))),
    "the largest of all numbers so far": lambda x: x.cummax(1).values,
}


LEAKING_LAYERS = {
    "every query attends to every key: no mask": exactly(lambda x: (x @ MIX @ x.mT / 4).softmax(-1) @ x),
    "a mask that lies one too far: each position sees the next": exactly(lambda x: causal_weights(x, reach=1) @ x),
    "only the first output depends on what follows": lambda x: (
        torch.cat([x[:, 1:2], x[:, 1:]], 1) if x.size(1) > 1 else x
    ),
    "only the second output leaks, and it depends on the input right behind it alone": lambda x: torch.cat(
        [x[:, :1], x[:, 1:2] + x[:, 2:3].sum(1, keepdim=True), x[:, 2:]], 1
    ),
    "only the last input is seen too early": lambda x: x + x[:, -1:],
    "a norm over the positions instead of the features": lambda x: (
        (x - x.mean(1, keepdim=True)) / (1 + x.std(1, keepdim=True, correction=0))
    ),
    "a convolution that is padded on both sides": lambda x: x + torch.cat([x[:, 1:], torch.zeros_like(x[:, :1])], 1),
    "the sentence is read backwards": lambda x: x.flip(1),
    "only the second sentence of a batch leaks": lambda x: torch.cat([x[:1], x[1:] + x[1:].mean(1, keepdim=True)]),
    "only one of the sixteen features leaks": lambda x: x + x.sum((1, 2), keepdim=True) * (torch.arange(16) == 11),
    "it leaks only in sentences of more than twenty tokens": lambda x: x.flip(1) if x.size(1) > 20 else x,
    "it depends on whether the last input is positive, so that its gradient is 0": lambda x: (
        x + (x[:, -1:] > 0).float()
    ),
    "the largest of all inputs is taken away, that of later ones too": lambda x: x - x.amax(1, keepdim=True),
    "a later input leaks only where it is larger than 20": lambda x: x + (x - 20).relu().sum(1, keepdim=True),
    "a leak of a hundredth": lambda x: x + 0.01 * x.mean(1, keepdim=True),
}


def layer_cases() -> Iterator[Case]:
    for label, layer in (RIGHT_LAYERS | LEAKING_LAYERS).items():
        yield Case(label, {"layer": layer})


def layer_takes(x: Tensor) -> tuple:
    need_tensor("x", x, "(B, T, 16)", lambda x: x.ndim == 3 and x.size(2) == 16 and x.numel() > 0, floats=True)
    need_few(x.numel() * max(16, x.size(1)) // 16)
    return (x,)


@partial(
    WriteTheTest,
    lesson="05",
    minutes=15,
    difficulty=2,
    statement="""
    Write a test: True if any output of `layer` depends on a later input. `layer` is a function from (B, T, 16) to
    the same shape, for any B and T, and gives the same output for the same input.

    Your test is tried on layers that do not leak and on layers that do, each in its own way. Its score is the share of
    leaks that it catches, less the share of right layers that it refuses.
    """,
    returns=("leaks",),
    cases=tuple(layer_cases()),
    says_of_right=False,
    candidate="layer",
    takes=layer_takes,
    hints=(
        "Change the input at one position, and compare the outputs at all positions *before* it.",
        "Which positions, lengths and sentences of a batch do you try? A leak may show at one of them only.",
        "How do you compare? An exact comparison may refuse a right layer that rounds; one that is too loose misses a "
        "small leak. And a change that is too small does not reach a leak that only large numbers open.",
        "A gradient of 0 does not show that an output is independent: think of `x > 0`.",
    ),
)
def leaks(layer):
    """Whether an output of the layer depends on a later input: change all that comes later, and compare.

    For several lengths, every position, and changes of several sizes.
    """
    generator = torch.Generator().manual_seed(0)
    for length in (2, 5, 33):
        for size in (1.0, 100.0):
            x = torch.randn(4, length, 16, generator=generator)
            before = layer(x)
            for t in range(1, length):
                changed = x.clone()
                changed[:, t:] = size * torch.randn(4, length - t, 16, generator=generator)
                if not torch.allclose(layer(changed)[:, :t], before[:, :t], rtol=1e-5, atol=1e-6):
                    return True
    return False


@leaks.mistake("You compare only the shapes, or nothing at all: no layer leaks for your test.")
def never_leaks(layer):
    return False


@leaks.mistake("Your test says of every layer that it leaks.")
def always_leaks(layer):
    return True


@leaks.mistake(
    "You also compare outputs at the changed position or behind it. These may change: only those before it may not."
)
def compares_all(layer):
    x = torch.randn(4, 33, 16)
    changed = x.clone()
    changed[:, -1] = 100 * torch.randn(4, 16)
    return not torch.allclose(layer(changed), layer(x))


@leaks.mistake(
    "You look at gradients. Where an output takes a step, as in `x > 0`, the gradient is 0 although it depends on the "
    "input: change the input instead."
)
def by_gradients(layer):
    for length in (2, 5, 33):
        for size in (1.0, 100.0):
            x = (size * torch.randn(4, length, 16)).requires_grad_()
            output = layer(x)
            if not output.requires_grad:
                continue
            for t in range(length - 1):
                (gradient,) = torch.autograd.grad(output[:, t].sum(), x, retain_graph=True, allow_unused=True)
                if gradient is not None and gradient[:, t + 1 :].abs().max() > 1e-6:
                    return True
    return False


def shows_a_leak(layer, n_sentences, *lengths):
    """Whether a change of all that comes later changes an output before it, at any position."""
    for length in lengths:
        for size in (1.0, 100.0):
            x = torch.randn(n_sentences, length, 16)
            for t in range(1, length):
                changed = x.clone()
                changed[:, t:] = size * torch.randn(n_sentences, length - t, 16)
                if not torch.allclose(layer(changed)[:, :t], layer(x)[:, :t], rtol=1e-5, atol=1e-6):
                    return True
    return False


@leaks.mistake("You try short sentences only: a leak that opens in longer ones stays unseen.")
def short_sentences_only(layer):
    return shows_a_leak(layer, 4, 5)


@leaks.mistake(
    "You try one sentence alone, or look at the first of a batch only: a leak in another sentence stays unseen."
)
def first_sentence_only(layer):
    return shows_a_leak(layer, 1, 2, 5, 33)


@leaks.hidden_case
def hidden_right(generator: Generator) -> Arguments:
    reach, mix = number(generator, 1, 6), torch.randn(16, 16, generator=generator).double() / 4

    def drawn_right(x: Tensor) -> Tensor:
        mixed, length = x.double() @ mix, x.size(1)  # float64: see `exactly`
        past = [torch.cat([torch.zeros_like(mixed[:, :lag]), mixed], 1)[:, :length] for lag in range(reach)]
        return torch.stack(past).sum(0).to(x.dtype)

    return {"layer": drawn_right}


@leaks.hidden_case
def hidden_leak(generator: Generator) -> Arguments:
    feature, least = number(generator, 0, 15), number(generator, 2, 16)

    def drawn_leak(x: Tensor) -> Tensor:
        output = x.cumsum(1)
        if x.size(1) >= least:
            output[:, 0, feature] += x[:, -1, feature]
        return output

    return {"layer": drawn_leak}


@leaks.hidden_case
def hidden_step(generator: Generator) -> Arguments:
    rows = torch.randn(16, 16, generator=generator)

    def drawn_step(x: Tensor) -> Tensor:
        """Without a gradient: sixteen numbers, even or odd. Whatever is changed at the end changes some."""
        return x + (x @ rows)[:, -1:].floor() % 2

    return {"layer": drawn_step}
