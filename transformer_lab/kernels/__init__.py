"""Attention that never holds a whole score matrix, lesson 13.

In reading order: `tiled_attention`, its loops in `tiling`, and `triton_attention`, the same as a kernel for GPUs.
"""
