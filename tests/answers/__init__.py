"""Right answers to each exercise, written in different ways, and the mutants of the references that compute the same.

Loops, einsum, torch's own functions, float64 inside: a check must accept them all.
"""

from tests.answers import (
    lesson_00,
    lesson_01,
    lesson_02,
    lesson_03,
    lesson_04,
    lesson_05,
    lesson_06,
    lesson_07,
    lesson_08,
    lesson_09,
    lesson_10,
    lesson_11,
    lesson_12,
    lesson_13,
    lesson_14,
    lesson_17,
)

LESSONS = (
    lesson_00,
    lesson_01,
    lesson_02,
    lesson_03,
    lesson_04,
    lesson_05,
    lesson_06,
    lesson_07,
    lesson_08,
    lesson_09,
    lesson_10,
    lesson_11,
    lesson_12,
    lesson_13,
    lesson_14,
    lesson_17,
)
RIGHT_ANSWERS = {name: answers for lesson in LESSONS for name, answers in lesson.RIGHT_ANSWERS.items()}
EQUIVALENT = {name: mutants for lesson in LESSONS for name, mutants in lesson.EQUIVALENT.items()}  # mutant: reason
