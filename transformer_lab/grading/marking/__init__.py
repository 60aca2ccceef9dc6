"""From answers to points.

In reading order: `course`, `scoring`, `hidden_cases`, `partial_credit`; `variant_marking` and `variant_owner`, where
everybody has numbers of their own; `records`, `similarity`; `processes` and `preloaded`.
"""
