"""For instructors: hand out exercises, grade answers safely, see what a class got wrong.

In reading order: `handout`; `submissions`, `sandbox` and `marking`; `gradebook` and `reports`. `commands` has what the
commands of `transformer-lab` do.
"""
