"""Models made of the parts in `nn`, lessons 09 to 12, and 15.

In reading order: `language_model`, `text_encoder`, `attention_only`, `experts`; `since_llama`, a folder of its own.
"""
