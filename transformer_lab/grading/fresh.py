"""Fresh inputs: for each exercise, cases that nobody has seen, drawn at grading time from the assignment's secret seed.

An answer that knows the visible cases by heart fails on them. Where a case has numbers, they are shaken; where it is
made of lengths, tokens, symbols or models, a maker below draws new ones. An instructor adds makers of their own with
`--private FILE.py`:

    from transformer_lab.grading.fresh import maker, number

    @maker("causal_mask")
    def _(generator):
        return {"length": number(generator, 50, 99)}
"""

import hashlib
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.lesson_08 import scattered
from transformer_lab.exercises.running import Case, run

Maker = Callable[[torch.Generator], dict[str, object]]
MAKERS: dict[str, list[Maker]] = {}
PRIVATE: set[str] = set()  # the files that were run
CASES_OF_A_MAKER = 3


def maker(name: str) -> Callable[[Maker], Maker]:
    """Decorator: the function draws the arguments of more cases of the exercise `name`.

    Raises:
        ValueError: there is no such exercise.
    """
    find_exercise(name)

    def add(function: Maker) -> Maker:
        MAKERS.setdefault(name, []).append(function)
        return function

    return add


def find_exercise(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        ValueError: there is none.
    """
    if name not in catalogue:
        raise ValueError(f"an exercise must be one of {', '.join(catalogue)} (got {name})")
    return catalogue[name]


def add_private(source: str) -> None:
    """Run a file of an instructor's own makers, given as text; once in each process.

    Raises:
        ValueError: it raises an error; says which.
    """
    if source in PRIVATE:
        return
    try:
        exec(compile(source, "<private>", "exec"), {"__name__": "private"})
    except Exception as error:
        raise ValueError(f"the private file must run ({type(error).__name__}: {error})") from None
    PRIVATE.add(source)


def fresh_cases(exercise: Exercise, seed: str) -> list[Case]:
    """The fresh cases of an exercise: the same for the same seed, on every machine."""
    digest = hashlib.sha256(f"{seed} {exercise.name}".encode()).digest()
    generator = torch.Generator("cpu").manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    shaken = [shake(case, generator) for case in exercise.cases if any(map(has_numbers, case.arguments.values()))]
    made = [Case("fresh", make(generator)) for make in MAKERS.get(exercise.name, []) for _ in range(CASES_OF_A_MAKER)]
    return shaken + made


def try_out(names: Iterable[str], seed: str) -> None:
    """See that the references take every fresh case, lest all answers be wrong.

    Raises:
        ValueError: a maker, or a reference on what it draws, raises an error; says which.
    """
    for name in names:
        try:
            errors = [run(catalogue[name].reference, case).error for case in fresh_cases(catalogue[name], seed)]
        except Exception as error:
            errors = [error]
        for error in filter(None, errors):
            raise ValueError(
                f"the reference of {name} must take what its makers draw ({type(error).__name__}: {error})"
            )


def has_numbers(argument: object) -> bool:
    return isinstance(argument, Tensor) and argument.is_floating_point() and argument.numel() > 0


def shake(case: Case, generator: torch.Generator) -> Case:
    """The case with its finite numbers moved by about a quarter of their spread; layout and special values stay."""
    moved = {name: shaken(x, generator) if has_numbers(x) else x for name, x in case.arguments.items()}
    return Case(case.label, moved, case.coarse)


def shaken(x: Tensor, generator: torch.Generator) -> Tensor:
    finite = x.isfinite()
    spread = x[finite].double().std(correction=0).clamp(min=0.1) if finite.any() else 0.1
    noise = torch.randn(x.shape, generator=generator, dtype=torch.float64, device="cpu") * spread / 4
    moved = torch.empty_like(x)  # keeps the order of the axes in memory
    return moved.copy_(torch.where(finite, x.double() + noise, x.double()))


def number(generator: torch.Generator, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=generator))


def tokens(generator: torch.Generator, vocabulary: int = 50) -> Tensor:
    """A few sequences of token ids from 1, each padded on the right with 0."""
    rows, length = number(generator, 2, 5), number(generator, 3, 9)
    ids = torch.randint(1, vocabulary, (rows, length), generator=generator, device="cpu")
    lengths = torch.randint(1, length + 1, (rows, 1), generator=generator, device="cpu")
    return ids.masked_fill(torch.arange(length, device="cpu") >= lengths, 0)


@maker("sinusoidal_encoding")
def _(generator):
    return {"length": number(generator, 2, 60), "d_model": 2 * number(generator, 1, 40)}


@maker("shift_matrix")
def _(generator):
    return {"offset": number(generator, -30, 30), "d_model": 2 * number(generator, 1, 20)}


@maker("causal_mask")
def _(generator):
    return {"length": number(generator, 1, 40)}


@maker("padding_mask")
@maker("decoder_mask")
def _(generator):
    pad_id = number(generator, 0, 9)
    ids = tokens(generator)
    return {"tokens": torch.where(ids == 0, pad_id, ids + 10), "pad_id": pad_id}


@maker("merge_pair")
def _(generator):
    alphabet = ("a", "b", "ab", "c")[: number(generator, 2, 4)]
    picks = torch.randint(len(alphabet), (number(generator, 5, 40),), generator=generator)
    left, right = torch.randint(len(alphabet), (2,), generator=generator)
    return {"symbols": [alphabet[i] for i in picks], "pair": (alphabet[left], alphabet[right])}


@maker("shift_right")
def _(generator):
    return {"tokens": tokens(generator), "bos_id": number(generator, 50, 99)}


@maker("label_smoothing_loss")
def _(generator):
    targets, pad_id = tokens(generator, vocabulary=9), number(generator, 0, 8)
    logits = 2 * torch.randn(*targets.shape, 9, generator=generator, device="cpu")
    targets = torch.where(targets == 0, pad_id, torch.where(targets == pad_id, 0, targets))
    return {"logits": logits, "targets": targets, "smoothing": number(generator, 0, 9) / 10, "pad_id": pad_id}


@maker("warmup_rate")
def _(generator):
    warmup_steps = number(generator, 2, 8000)
    step = number(generator, 1, 4 * warmup_steps)
    return {"step": step, "d_model": number(generator, 1, 1024), "warmup_steps": warmup_steps}


@maker("greedy_decode")
def _(generator):
    model, bos_id, eos_id = a_model(generator)
    return {"next_logits": model, "bos_id": bos_id, "eos_id": eos_id, "max_length": number(generator, 2, 15)}


@maker("beam_search")
def _(generator):
    model, bos_id, eos_id = a_model(generator)
    size, length = number(generator, 2, 5), number(generator, 3, 8)
    return {"next_log_probs": model, "bos_id": bos_id, "eos_id": eos_id, "beam_size": size, "max_length": length}


def a_model(generator: torch.Generator) -> tuple[Callable, int, int]:
    """`(model, bos_id, eos_id)` of a model to decode from."""
    vocabulary = number(generator, 4, 8)
    bos_id, eos_id = torch.randperm(vocabulary, generator=generator)[:2].tolist()
    sharpness, salt = number(generator, 1, 3) / 2, number(generator, 10, 1_000_000)
    return scattered(vocabulary, eos_id, sharpness, salt), bos_id, eos_id
