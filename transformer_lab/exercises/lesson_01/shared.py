"""Lesson 01, what its exercises share: weights that sum to 1."""

from transformer_lab.exercises.engine.specification import Domain

WEIGHTS = Domain(  # positive numbers that sum to 1 along the last axis
    onto=lambda x: x.abs() / x.abs().sum(-1, keepdim=True),
    along=lambda gradient: gradient - gradient.mean(-1, keepdim=True),
)
