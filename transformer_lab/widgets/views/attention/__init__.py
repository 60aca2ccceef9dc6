"""Attention as a map to explore: given weights, or the steps that lead to them from queries and keys."""
