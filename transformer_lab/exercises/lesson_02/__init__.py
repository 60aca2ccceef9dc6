"""The exercises of lesson 02, several heads: a file each."""
