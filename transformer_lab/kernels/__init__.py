"""Attention that never holds a whole score matrix, lesson 13: `tiled_attention`, and its loops in `tiling`."""
