"""The exercises of lesson 10, circuits: a file each."""
