"""What a key-value cache costs and what it saves: its bytes, and the work for a new token with and without it."""
