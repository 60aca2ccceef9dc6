"""The exercises of lesson 14, the bug clinic: a file each."""
