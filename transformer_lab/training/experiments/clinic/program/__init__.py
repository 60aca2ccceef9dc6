"""The program of the bug clinic: a small assistant that learns to say numbers in words, from data to answers.

In reading order: `data` makes chats, tokens and packed rows; `model` is a decoder with a cache; `training` has the
loss, a step over several micro-batches, and the loop; `generation` answers many chats at once.
"""
