"""The exercises of lesson 03, positions: a file each."""
