"""All heads of a language model on a text: where each looks, and how the loss changes when some are ablated."""
