"""Heads side by side: where each looks, how two of them differ, and what each adds to the layer's output."""
