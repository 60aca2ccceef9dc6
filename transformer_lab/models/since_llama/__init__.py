"""What the open models have changed since Llama, lesson 15: each part a small class, and a model made of such parts.

In reading order: `rope_scaling`; `layers`, with attention that is put together from parts, and `residuals`;
`open_model`, which is handed its layers.
"""
