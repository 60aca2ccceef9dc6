"""The code that all views share.

In reading order: `view`, the base of all; `questions` that lessons ask beside views; `sent_model`, a language model on
its way into a page; and `link`, the kernel behind a view.
"""
