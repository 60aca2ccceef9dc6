"""The exercises of lesson 04, residual blocks: a file each."""
