"""Decoding from a fixed table: one model's distribution after each prefix, and what each method generates from it."""
