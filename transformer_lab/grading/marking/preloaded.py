"""What grading needs, loaded by the process that the others are forked from.

No other thread may run in it, for a fork would not have it, and might wait for ever for a lock that it held. The
libraries that compute start theirs when they are loaded, unless they are told to use one.
"""

import gc
import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import torch

import transformer_lab.grading.marking.course  # noqa: F401
from transformer_lab.exercises.engine.running import Attempt, Case

# What torch imports when it is first used is imported now, rather than in each process.
Attempt(lambda x: x.softmax(-1) @ x.mT).run_with_gradients(Case("", {"x": torch.ones(2, 3)}))
gc.freeze()  # what is loaded stays: no process looks through it for what could go
