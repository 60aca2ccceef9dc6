"""Texts, tokens and tasks to learn from.

In reading order: `tokenizer`, with `bpe_merges`; `texts`, `ngrams`; `number_names`,
`repeated_sequences`, `word_senses`; and `tasks`, where all tasks can be found in one place.
"""
