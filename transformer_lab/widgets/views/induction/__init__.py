"""All heads of a language model over a text: where each looks, and what the loss becomes when some are taken away."""
