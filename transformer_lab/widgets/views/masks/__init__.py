"""A mask to paint: which query may attend to which key, what becomes of the weights, and what is wrong with it."""
