"""The machine: a whole Transformer at work in the page.

`machine_view` sends it, and `machine_picture` draws it where no script runs. The scripts in `computing` have its
numbers, and read and write numbers in words. `weave` draws the first screen, from what is read to what is written,
with six cuts: `weave_layout` and `weave_ribbons` say where everything stands, `weave_picture` draws it, and `screen`
makes it live. `drawing` has the map of all matrices, `near` the pictures of a part that is seen near.
"""
