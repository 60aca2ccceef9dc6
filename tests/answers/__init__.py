"""Right answers to each exercise, written in different ways, and the mutants of the references that compute the same.

Loops, einsum, torch's own functions, float64 inside: a check must accept them all.
"""

from importlib import import_module
from pathlib import Path

LESSONS = [import_module(f"{__name__}.{path.stem}") for path in sorted(Path(__file__).parent.glob("lesson_*.py"))]
RIGHT_ANSWERS = {name: answers for lesson in LESSONS for name, answers in lesson.RIGHT_ANSWERS.items()}
EQUIVALENT = {name: mutants for lesson in LESSONS for name, mutants in lesson.EQUIVALENT.items()}  # mutant: reason
