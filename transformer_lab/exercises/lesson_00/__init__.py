"""The exercises of lesson 00, a dot product: a file each."""
