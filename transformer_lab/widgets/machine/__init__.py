"""The machine: a whole Transformer at work in the page.

`machine_view` sends it, and `machine_picture` draws it where no script runs. The scripts in `computing` have its
numbers, those in `drawing` its look.
"""
