"""The exercises of lesson 05, masks: a file each."""
