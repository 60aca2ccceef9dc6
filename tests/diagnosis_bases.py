"""What the tables of the diagnosis are made from: the functions in which slips are tried."""

import ast
import hashlib
import inspect
from collections.abc import Callable
from textwrap import dedent

import numpy as np

from tests.answers import RIGHT_ANSWERS
from tests.workshop import Workshop, sketched
from transformer_lab.exercises import Exercise
from transformer_lab.exercises.diagnosis import base, calls, similar, sketch, slips, statements
from transformer_lab.exercises.diagnosis.table import BROKEN, MISTAKE, REFERENCE, STYLE
from transformer_lab.exercises.engine.source import Standalone
from transformer_lab.exercises.kinds import FindTheBug, WriteTheTest

VERSION = 2  # of how tables are made
MOST_PAIRS = 4000
SAME = 1e-5  # sketches that are no farther apart are of one function
MOST_ALIKE = 6  # functions of two slips that do the same: what is told names no more


def has_table(exercise: Exercise) -> bool:
    return not isinstance(exercise, WriteTheTest)


def bases_of(exercise: Exercise) -> list[tuple[str, str, str]]:
    """What the slips are made in: the reference, the named mistakes, right answers that stand on their own."""
    found = [(REFERENCE, exercise.name, exercise.solution_source())]
    for mistake in exercise.mistakes.values():
        source = str(Standalone(mistake.function))
        found.append((MISTAKE, mistake.name, source if does_the_same(exercise, mistake.function, source) else ""))
    if isinstance(exercise, FindTheBug):
        found.append((BROKEN, exercise.broken.__name__, str(Standalone(exercise.broken))))
    for answer in RIGHT_ANSWERS[exercise.name]:
        source = str(Standalone(answer))
        if does_the_same(exercise, answer, source):
            found.append((STYLE, answer.__name__, source))
    return found


def does_the_same(exercise: Exercise, function: Callable, source: str) -> bool:
    """Whether a source does what a function does where nothing has been imported."""
    scope: dict = {}
    workshop = Workshop(exercise)
    try:
        exec(source, scope)
        one, other = workshop.marks(function), workshop.marks(scope[function.__name__])
    except Exception:
        return False
    return one is not None and other is not None and close(sketched(one), sketched(other))


def digest_of(exercise: Exercise) -> str:
    """A number that changes with all that the table is made from."""
    functions = [*(mistake.function for mistake in exercise.mistakes.values()), *RIGHT_ANSWERS[exercise.name]]
    sources = [inspect.getsource(module) for module in (sketch, slips, calls, similar, statements, base.Base)]
    sources += [exercise.solution_source(), *map(without_decorators, functions)]
    sources += [f"{case.label} {[getattr(x, 'shape', '') for x in case.arguments.values()]}" for case in exercise.cases]
    return hashlib.sha256("\n".join([*sources, str((MOST_PAIRS, MOST_ALIKE, VERSION))]).encode()).hexdigest()[:16]


def without_decorators(function: Callable) -> str:
    """The source of a function; the explanation of a mistake, which stands above it, changes nothing that it does."""
    source = dedent(inspect.getsource(inspect.unwrap(function)))
    if not source.startswith("@"):
        return source
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list = []
    return ast.unparse(tree)


def close(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two sketches are of one function."""
    return bool(np.abs(one - other).max() < SAME)
