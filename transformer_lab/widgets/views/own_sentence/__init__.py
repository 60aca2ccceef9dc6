"""A sentence of one's own through a trained model: its translation, and where the decoder looked for each token."""
