"""What functions do on another machine: a process with other code paths, another order of sets, rounding and chance."""

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from multiprocessing import get_context
from unittest import mock

import numpy as np

from tests.workshop import Workshop
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.diagnosis.sketch import STEADY
from transformer_lab.exercises.diagnosis.table import NONE, Bases, Row

ELSEWHERE = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "PYTHONHASHSEED": "12"}
SEEDS = (1, -1)


@contextmanager
def another_machine() -> Iterator[ProcessPoolExecutor]:
    """A process that stands for another machine."""
    with mock.patch.dict(os.environ, ELSEWHERE), ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


def unsteady_cases(name: str, bases: list[tuple[str, str, str]], rows: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """For each row (n, 3) the cases in which it does not what the marks (n, cases) say, as bits (n,)."""
    warnings.simplefilter("ignore")
    exercise = catalogue[name]
    workshop, made = Workshop(exercise), Bases(exercise, bases)
    found = np.zeros(marks.shape, dtype=bool)
    with redirect_stdout(StringIO()):
        for i, (base, *edits) in enumerate(rows.tolist()):
            row = Row(base, tuple(edit for edit in edits if edit != NONE))
            for seed in SEEDS:
                found[i] |= ~(np.abs(workshop.row(made, row, seed) - marks[i]) < STEADY)
    return (found.astype(np.uint64) << np.arange(marks.shape[1], dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
