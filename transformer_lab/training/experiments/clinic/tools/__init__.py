"""The tools of the clinic: each takes a program and says, with numbers, whether something is wrong.

In reading order: `reading`, what a tool returns; `bench`, on which a program is tried; `known`, what must come out;
`invariants`, what must not matter; `learning`, a step and a batch by heart; `twin`, the comparison with a healthy copy.
"""

from collections.abc import Callable

from transformer_lab.training.experiments.clinic.patients import Program
from transformer_lab.training.experiments.clinic.tools.invariants import alone, generation, later, portions
from transformer_lab.training.experiments.clinic.tools.known import first_loss, targets, texts
from transformer_lab.training.experiments.clinic.tools.learning import by_heart, step
from transformer_lab.training.experiments.clinic.tools.reading import Reading
from transformer_lab.training.experiments.clinic.tools.twin import first_difference, twin

TOOLS: dict[str, Callable[[Program, int], Reading]] = {  # from the cheapest to the most precise
    tool.__name__: tool
    for tool in (texts, targets, first_loss, later, alone, generation, portions, step, by_heart, twin)
}

__all__ = ["TOOLS", "Reading", "first_difference", *TOOLS]
