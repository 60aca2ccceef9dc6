"""The same numbers in our classes and in those of others, lessons 12 and 13.

In reading order: `torch_nn`, `gpt2` and `llama` copy weights from module to module. `published` opens what Hugging Face
has stored, with the help of `folders`, `hub`, `tensor_names` and `families`. `quantization` stores weights in 8 bits.
"""
