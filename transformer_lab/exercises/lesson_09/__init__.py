"""The exercises of lesson 09, language models: a file each."""
