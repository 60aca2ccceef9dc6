"""The logit lens over a text: what a model would say next, if its layers ended at each of them."""
