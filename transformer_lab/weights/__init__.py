"""The same numbers in our classes and in those of others, lessons 12 and 13.

In reading order: `torch_nn` copies weights from module to module. `tensor_names` and `families` say which tensor of
Hugging Face's belongs where, and `open_families` says it for what came after Llama. `published` opens what is stored,
with the help of `folders` and `hub`, and of `configs`, which checks the types of all that a config says. By the same
table `modules` copies between our modules and Hugging Face's. `quantization` stores weights in 8 bits.
"""
