"""The training commands: `python -m transformer_lab.training`, `….training.text` and `….training.answers`.

In reading order: `options`, which all share, as they do `shared`; then `number_names`, `language_model` and `answers`.
"""
