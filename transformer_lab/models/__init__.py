"""Models made of the parts in `nn`, lessons 09 to 12.

In reading order: `language_model`, `text_encoder`, `attention_only`, `experts`.
"""
