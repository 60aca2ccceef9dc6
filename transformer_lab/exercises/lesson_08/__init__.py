"""The exercises of lesson 08, decoding: a file each."""
