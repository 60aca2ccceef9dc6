"""Heads side by side: what each looks at, how two differ, and what each adds to the layer's output."""
