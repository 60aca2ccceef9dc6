"""Speculative decoding, round by round: what a draft proposed, what the model kept, and the text that came of it."""
