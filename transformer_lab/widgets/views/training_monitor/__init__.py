"""Monitoring a training run, live or afterwards: curves, the model's outputs on samples, and where it looks."""
