"""A mask to paint: which query may attend to which key, how the weights change, and what is wrong with the mask."""
