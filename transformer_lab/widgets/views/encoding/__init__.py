"""An interactive positional encoding: the table, its waves, and the similarity of two positions."""
