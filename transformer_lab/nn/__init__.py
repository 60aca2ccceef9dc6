"""The parts of the Transformer of 2017, lessons 01 to 07.

In reading order: `attention`, with the `kv_cache` that a decoder keeps; `masks`, `positions`, `blocks`, `transformer`,
`losses`; and `recording`, which hands out the attention weights of a model's own forward pass.
"""
