"""From points to grades.

In reading order: `final_grades`, `overrides`, `regrades`, `hand_marks`, `nbgrader_gradebook`.
"""
