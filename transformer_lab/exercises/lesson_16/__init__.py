"""The exercises of lesson 16, after pretraining: a file each, and what they share."""
