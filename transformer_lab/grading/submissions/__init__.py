"""Reading what students handed in; nothing of it is run.

In reading order: `submissions` and `pile`, with `archives`, `gradescope_export`, `file_owners` and
`file_names`; `notebooks`, with `cells`, `ipython_syntax` and `statements`; `programs`; `answers`, with `look_alikes`.
"""
