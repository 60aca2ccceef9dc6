"""The exercises of lesson 11, later parts: a file each."""
