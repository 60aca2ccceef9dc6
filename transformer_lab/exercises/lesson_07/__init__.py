"""The exercises of lesson 07, training: a file each."""
