"""Speculative decoding, round by round: what the draft proposed, what the model kept, and the resulting text."""
