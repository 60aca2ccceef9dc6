"""Decoding over a fixed table: one model's distributions for every beginning, and what each method makes of them."""
