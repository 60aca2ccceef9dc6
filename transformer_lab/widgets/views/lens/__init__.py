"""The logit lens on a text: what a model would predict if its layers ended at each of them."""
