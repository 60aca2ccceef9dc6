"""A reader's own sentence in a trained model: its translation, and where the decoder looked for each token."""
