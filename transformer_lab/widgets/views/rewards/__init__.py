"""Training from right and wrong, step by step: a group of answers, their rewards, and the probabilities that move."""
