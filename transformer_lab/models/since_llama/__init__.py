"""What the open models have changed since Llama, lesson 15: each part a small class, and a model made of such parts.

In reading order: `rope_scaling`, `qk_norm`, `residuals`, `feed_forwards`, `soft_cap`; `layers`, with attention that is
put together from parts, `sliding_window`, `sinks`, `gated_attention`, `latent_attention`; what keeps a state instead,
`linear_attention`, `delta_rule` and its fast twin in `delta_chunks`; `routing`, with experts after Mixtral's;
`open_model`, which is handed its layers.
"""
