"""The costs and savings of a key-value cache: its bytes, and the work per new token with and without it."""
