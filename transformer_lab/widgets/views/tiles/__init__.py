"""Tiles that move over a score matrix: what fast memory holds, and what each query remembers of the keys so far."""
