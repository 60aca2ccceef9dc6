"""The bug clinic of lesson 14: a small program, bugs that can be put into it one by one, and tools that look for them.

In reading order: the healthy `program`; its `bugs`; `patients`, which loads the program with one of them; the `tools`;
and `table`, which says what becomes of each patient, and which tool sees its bug.
"""
