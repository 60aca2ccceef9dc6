"""The machine's first screen: the weave from what is read to what is written, six cuts, and what each makes it say.

`weave_layout` and `weave_ribbons` say where everything stands, `weave_seen` reads a run, `weave_picture` draws it;
`weave_cuts`, `weave_numerals`, `weave_swap` and `weave_address` are plain functions; the others are the page's.
"""
