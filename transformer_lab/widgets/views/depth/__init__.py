"""Activations and gradients in deep stacks: the norms on the way up and on the way down, layer by layer."""
