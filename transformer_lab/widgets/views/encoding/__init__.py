"""A positional encoding to explore: the table, the waves in it, and how similar two places are."""
