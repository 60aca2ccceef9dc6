"""Training as it happens, and as it was: curves, what the model makes of samples, and where it looks."""
