"""Tiles that walk over a score matrix: what is in fast memory, and what each query remembers of the keys so far."""
