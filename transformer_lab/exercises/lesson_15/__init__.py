"""The exercises of lesson 15, since Llama: a file each."""
