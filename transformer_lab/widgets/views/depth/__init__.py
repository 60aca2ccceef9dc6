"""What goes up and what comes down in deep stacks: norms of activations and of gradients, layer by layer."""
