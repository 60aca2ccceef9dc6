"""Tries functions on the cases of one exercise, and marks what they do."""

import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import torch

from tests.other_rounding import OtherRounding
from transformer_lab.exercises import Exercise, checking, running
from transformer_lab.exercises.diagnosis import sketch
from transformer_lab.exercises.diagnosis.base import FILE, Base
from transformer_lab.exercises.diagnosis.edits import Edit
from transformer_lab.exercises.diagnosis.table import Bases, Row
from transformer_lab.exercises.memory_limit import memory_limit
from transformer_lab.exercises.time_limit import OutOfTime, time_limit

MOST_SECONDS = 100.0  # of the processor, for a function on all cases that hangs where no rounds of loops are counted


class Workshop:
    """Tries functions, as they are or with another machine's rounding."""

    def __init__(self, exercise: Exercise):
        self.exercise, self.cases = exercise, sketch.comparable(exercise.cases)[: sketch.MOST_CASES]

    def marks(self, function: Callable, seed: int | None = None) -> np.ndarray | None:
        """What a function does in each case; a seed imitates another machine."""
        rounding = nullcontext() if seed is None else OtherRounding(seed)
        try:
            with time_limit(MOST_SECONDS), memory_limit(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.default_generator.manual_seed(7 if seed is None else abs(seed))
                with rounding:
                    outcomes = {case: self.outcome(function, case) for case in self.cases}
                    effects = {case: checking.effect(self.exercise, case, one) for case, one in outcomes.items()}
            self.fails = all(outcome.error is not None for outcome in outcomes.values())
            return sketch.marks_of(effects, lambda case, outcome: outcome)
        except (OutOfTime, Exception):
            return None

    def outcome(self, function: Callable, case: running.Case) -> running.Outcome:
        """What `running.run` returns, but for printed and changed; quicker."""
        try:
            return running.Outcome(function(*map(running.duplicate, case.arguments.values())))
        except (Exception, SystemExit) as error:
            return running.Outcome(error=error)

    def edited(self, base: Base, chosen: list[Edit], seed: int | None = None) -> np.ndarray | None:
        try:
            function = base.function(chosen)
        except (SyntaxError, ValueError, TypeError, RecursionError):
            return None
        return self.marks(function, seed)

    def row(self, bases: Bases, row: Row, seed: int | None = None) -> np.ndarray:
        """What a row's function does in each case, here and now; NaN if it can't be said."""
        base, edits = bases[row.base]
        marks = self.edited(base, [edits[i] for i in row.edits], seed)
        return np.full(len(self.cases), np.nan) if marks is None else marks

    def lines_reached(self, base: Base) -> set[int]:
        """The lines of a base that some case executes."""
        function, lines = base.function(), set()

        def trace(frame, event, _):
            lines.add(frame.f_lineno)
            return trace

        before = sys.gettrace()
        for case in self.exercise.cases:
            sys.settrace(lambda frame, *_: trace if frame.f_code.co_filename == FILE else None)
            try:
                running.run(function, case)
            finally:
                sys.settrace(before)
        return lines


def sketched(marks: np.ndarray, unsteady: int = 0) -> np.ndarray:
    """The sketch (2,) of marks (cases,)."""
    return sketch.sketches(marks, np.array([unsteady], dtype=np.uint64))[0]
