"""The exercises of lesson 01, attention: a file each."""
