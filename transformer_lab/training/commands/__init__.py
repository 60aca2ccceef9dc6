"""The commands that train: `python -m transformer_lab.training`, and `….training.text` for language models.

In reading order: `options`, which both share, as they do `shared`; then `number_names` and `language_model`.
"""
