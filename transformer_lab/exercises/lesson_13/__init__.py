"""The exercises of lesson 13, fast attention: a file each."""
