"""The engine of the exercises, which runs, compares and judges answers.

In reading order: `running`, `comparing`, `specification`, `checking`, `verdicts`, `card_look`, `cards`; `candidates`,
which hide a function, and `blind`, which tries a test on them; `source`, which puts a solution together; `time_limit`,
with `thread_limit`, and `memory_limit`; `sample_tensors` and `case_drawing`, to make cases of.
"""
