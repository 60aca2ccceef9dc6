"""From a model's logits to text, lessons 08 and 13.

In reading order: `single`, which decodes one sentence for any model; `inference`; `cached_decoder` and `batched`, which
let a Transformer decode many sentences at once; `completion` and `speculation`, for language models.
"""
