"""Lesson 14: find the bug in `clinic_10`."""

from functools import partial

import torch
from torch import Generator
from torch.nn import functional as F

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_10(saved, tokens, targets, rate):
    """Load a saved table (vocab, d) into a model with tied weights; take one gradient step.

    Returns the embedding and the output table after the step.
    """
    model = {"embedding": torch.zeros_like(saved)}
    model["output"] = model["embedding"]  # tied: one table for both
    for name in model:
        model[name] = saved.detach().clone().requires_grad_()
    logits = model["embedding"][tokens] @ model["output"].T
    F.cross_entropy(logits, targets).backward()
    return tuple((table - rate * table.grad).detach() for table in model.values())


def table_case(label: str, vocab: int, width: int, tokens: list[int], targets: list[int], rate: float) -> Case:
    ids = {"tokens": torch.tensor(tokens, device="cpu"), "targets": torch.tensor(targets, device="cpu")}
    return Case(label, {"saved": normal(vocab, width), **ids, "rate": rate})


@partial(
    FindTheBug,
    broken=broken_clinic_10,
    defect=(
        "The loop gives each name a copy of its own, instead of writing into the one table that both names stand for. "
        "So they are two tables from then on: each gets the gradient of its own use alone, and the first step drives "
        "them apart."
    ),
    lesson="14",
    minutes=12,
    difficulty=3,
    statement="""
    A tiny model with tied weights: one table is both the embedding and the output. The function loads the table from a
    file and goes on training for one step.

    Symptom: right after the load all outputs are right. But after one more step of training embedding and output are no
    longer the same table, and the model has twice as many parameters.
    """,
    returns=("embedding", "output"),
    cases=(
        table_case("two tokens", 2, 2, [0], [1], 1.0),
        table_case("three tokens", 3, 2, [0, 2], [1, 0], 0.5),
        table_case("a larger table", 5, 4, [0, 3, 3, 1], [2, 4, 1, 1], 0.1),
        table_case("a small rate", 7, 3, [6, 5, 2], [0, 1, 6], 0.01),
    ),
    properties=(Property("both tables are the same", lambda given, embedding, output: torch.equal(embedding, output)),),
    hints=(
        'Print `model["embedding"] is model["output"]` after each line but the first. Where does it become False?',
        "To assign a new tensor to a name does not write into the old tensor: it gives the name another one.",
        "In a tied table two gradients meet, one from each use, and they are added up. Do yours?",
    ),
)
def clinic_10(saved, tokens, targets, rate):
    """Load a saved table (vocab, d) into a model with tied weights; take one gradient step.

    Returns the embedding and the output table after the step.
    """
    model = {"embedding": torch.zeros_like(saved)}
    model["output"] = model["embedding"]  # tied: one table for both
    model["embedding"].copy_(saved.detach()).requires_grad_()  # written into, and not replaced
    logits = model["embedding"][tokens] @ model["output"].T
    F.cross_entropy(logits, targets).backward()
    return tuple((table - rate * table.grad).detach() for table in model.values())


def gradients_of_both(saved, tokens, targets):
    """The gradients of the embedding and of the output table, as if they were two tables."""
    embedding, output = (saved.detach().clone().requires_grad_() for _ in range(2))
    F.cross_entropy(embedding[tokens] @ output.T, targets).backward()
    return embedding.grad, output.grad


@clinic_10.mistake(
    "Each step is half as long as it should be, as if the two tables were averaged after it, or their gradients before "
    "it. They are equal again, which hides a symptom, but in a tied table both gradients are *added up*."
)
def averaged_afterwards(saved, tokens, targets, rate):
    of_embedding, of_output = gradients_of_both(saved, tokens, targets)
    table = (saved - rate * (of_embedding + of_output) / 2).detach()
    return table, table


@clinic_10.mistake(
    "The step is that of the embedding alone, so what the output should have learned is lost. Where both tables take "
    "it they are equal again, which hides a symptom."
)
def embedding_copied_afterwards(saved, tokens, targets, rate):
    table = (saved - rate * gradients_of_both(saved, tokens, targets)[0]).detach()
    return table, table


@clinic_10.mistake(
    "The step is that of the output alone, so what the embedding should have learned is lost. Where both tables take "
    "it they are equal again, which hides a symptom."
)
def output_copied_afterwards(saved, tokens, targets, rate):
    table = (saved - rate * gradients_of_both(saved, tokens, targets)[1]).detach()
    return table, table


@clinic_10.mistake("A table comes back as it was loaded, as if no step were taken: nothing is learned in it.")
def no_step(saved, tokens, targets, rate):
    return saved.detach().clone(), saved.detach().clone()


@clinic_10.mistake("Nothing was loaded: the table starts at zero, the gradient there is zero, and it never moves.")
def nothing_loaded(saved, tokens, targets, rate):
    return torch.zeros_like(saved), torch.zeros_like(saved)


@clinic_10.mistake(
    "The step is twice as long as it should be, because the tied table counts twice: it is updated under each name, or "
    "its gradient is added to itself. A tied table's gradient is the sum of both uses already."
)
def two_steps_on_one_table(saved, tokens, targets, rate):
    of_embedding, of_output = gradients_of_both(saved, tokens, targets)
    table = (saved - 2 * rate * (of_embedding + of_output)).detach()
    return table, table


@clinic_10.mistake(
    "The two *tables* are added up after the step, so what was loaded is in the sum twice. Only their gradients are to "
    "be added."
)
def tables_added(saved, tokens, targets, rate):
    of_embedding, of_output = gradients_of_both(saved, tokens, targets)
    table = (2 * saved - rate * (of_embedding + of_output)).detach()
    return table, table


@clinic_10.mistake("The step has the wrong sign: it climbs, and the loss grows.")
def uphill(saved, tokens, targets, rate):
    of_embedding, of_output = gradients_of_both(saved, tokens, targets)
    table = (saved + rate * (of_embedding + of_output)).detach()
    return table, table


@clinic_10.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    vocabulary, width, count = number(generator, 3, 9), number(generator, 2, 6), number(generator, 1, 7)
    ids = torch.randint(vocabulary, (2, count), generator=generator, device="cpu")
    saved = floats(generator, torch.float32)(vocabulary, width)
    return {"saved": saved, "tokens": ids[0], "targets": ids[1], "rate": number(generator, 1, 20) / 20}
