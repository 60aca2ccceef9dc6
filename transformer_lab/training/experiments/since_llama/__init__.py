"""What the parts that came after Llama buy at a small size, and what they cost: the table of lesson 15.

`parts` has what these experiments share; `bounded_scores`, `kept_sizes`, `distance`, `memory`, `reading_on`, `caches`
and `balance` are one experiment each.
"""
