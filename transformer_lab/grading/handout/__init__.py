"""Handing out an assignment.

In reading order: `assign`, `assignment`; `lesson_notebooks`, `notebook_cells`, `questions`, `variants`; `roster`,
`moodle_columns`, `spreadsheets`, `lateness`; `autograders`; `solutions`.
"""
