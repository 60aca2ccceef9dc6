"""What an answer computes that makes no mistake with a name: what one gets by a slip, or by two.

An answer is compared with many functions that were made by slips in right answers and in named mistakes. What they
compute was worked out beforehand, as two numbers each; those near are run, and must do the same in every case.
"""

from transformer_lab.exercises.diagnosis.explaining import explain

__all__ = ["explain"]
