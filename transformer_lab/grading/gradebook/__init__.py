"""From points to grades.

In reading order: `final_grades`, `slip_days`, `overrides`, `regrades`, `hand_marks`, `nbgrader_gradebook`.
"""
