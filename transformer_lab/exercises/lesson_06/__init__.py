"""The exercises of lesson 06, the Transformer: a file each."""
