"""Softmax saturation: what becomes of eight weights, and of their gradient, as queries and keys get wider."""
