"""The bugs of the clinic, by name: each changes one function of the program, and none raises an error.

In reading order: `bug`, what a bug is; then those of each file of the program, `of_data`, `of_model`, `of_training`,
`of_generation`.
"""

from transformer_lab.training.experiments.clinic.bugs.bug import Bug
from transformer_lab.training.experiments.clinic.bugs.of_data import OF_DATA
from transformer_lab.training.experiments.clinic.bugs.of_generation import OF_GENERATION
from transformer_lab.training.experiments.clinic.bugs.of_model import OF_MODEL
from transformer_lab.training.experiments.clinic.bugs.of_training import OF_TRAINING

BUGS = {bug.name: bug for bug in (*OF_DATA, *OF_MODEL, *OF_TRAINING, *OF_GENERATION)}

__all__ = ["BUGS", "Bug"]
