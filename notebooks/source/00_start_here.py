# %% [markdown]
# # 00 · Start here
#
# Five minutes to see that your machine works, and how lessons, views, exercises and hints work.
#
# **You will be able to**
# - run and change the cells of a lesson,
# - have an exercise checked, ask for a hint, and read what went wrong,
# - find your way through the series.
#
# **You need** Python and a little linear algebra; lesson 01 explains the rest as it goes.

# %% [markdown]
# ## Where this leads
#
# In nine lessons you build the Transformer of [Attention Is All You Need](https://arxiv.org/abs/1706.03762) (Vaswani et al., 2017), the model behind today's language models. Each part of the drawing bears the number of the lesson that builds it:
#
# ![The Transformer of 2017: an encoder on the left and a decoder on the right, each part labelled with the number of the lesson that builds it.](../img/00_map.svg)

# %% [markdown]
# ## Does my machine work?
#
# A notebook is made of cells. Click on the next one and press **Shift + Enter**: it runs, and what it prints appears below it. Or choose *Run → Run All Cells* from the menu, in any lesson, at any time: unsolved exercises never stop it.

# %%
import sys

import torch

from transformer_lab import default_device, exercises, widgets

torch.set_default_device(default_device())
print("Python is 3.11 or newer:", sys.version_info >= (3, 11))

# %%
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
print("PyTorch multiplies:", (a @ a).tolist() == [[7.0, 10.0], [15.0, 22.0]])
print("on the device that was chosen:", a.device.type == default_device().type)

# %% [markdown]
# Three times `True`: all is well. The device is a GPU if you have one, else the processor; every lesson runs on either, and prints the same. The environment variable `TRANSFORMER_LAB_DEVICE=cpu` overrides the choice.
#
# Nothing is downloaded while you work. What you type is saved with the notebook, by **Ctrl + S** (**⌘ S** on a Mac).

# %% [markdown]
# ## Change something
#
# Cells are there to be changed. Press **Esc**, then **B**, for a new cell below; type, and run it. If you get lost, *Kernel → Restart Kernel and Run All Cells* starts afresh.
#
# Before you run a cell, **predict** what it will show. A wrong prediction teaches you more than a right answer read off.

# %%
words = ["the", "bank", "of", "the", "river"]
print("Which word is the longest?", max(words, key=len))

# %% [markdown]
# ## Move something
#
# Some figures are alive. This one shows how much each word of a sentence looks at each of the others; lesson 01 says what that means. Point at a cell, or click on the map and use the arrow keys.
#
# **Predict:** when the temperature falls, do the rows become more even or more extreme? Then move the slider.

# %%
vectors = torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 4.5]])
widgets.attention_steps(vectors, vectors, query_tokens=words, key_tokens=words)

# %% [markdown]
# ## Solve something
#
# An exercise is a function to fill in. `exercises` knows them all; here is the first:

# %%
exercises.dot_product

# %% [markdown]
# Hand your function to `check`. It tries many cases and compares with the right answer. If you are wrong it shows the smallest case that fails, and often it can tell *which* mistake you made. Here are two wrong answers on purpose:

# %%
exercises.dot_product.check(lambda a, b: a * b)

# %%
exercises.dot_product.check(lambda a, b: a @ b.unsqueeze(0))

# %% [markdown]
# The first is a mistake that the exercise knows by name: `not_summed`. The second is an error, shown with the line of *your* code that it comes from.
#
# If you are stuck, ask for hints, one after the other. None gives the solution away:

# %%
exercises.dot_product.hint()

# %% [markdown]
# And there is a solution, folded; click on it to open it. Come back to it when you have one of your own.

# %%
exercises.dot_product.solution()

# %% [markdown]
# **Your turn.** Replace the `...`, run the cell, then run the check.

# %% exercise="dot_product"
def dot_product(a, b):
    """Multiply the vectors number by number, and add up."""
    return ...

# %%
exercises.dot_product.check(dot_product)

# %% [markdown]
# A grey circle means *not attempted yet*, an orange cross *not yet right*, a green tick *passed*.
#
# ## The lessons
#
# | | lesson | the question it opens with |
# |---|---|---|
# | 01 | [Attention](01_attention.ipynb) | *bank* of a river or of money: how can a word look at the others? |
# | 02 | [Multi-head attention](02_multi_head_attention.ipynb) | why several small heads rather than one large one? |
# | 03 | [Positional encoding](03_positional_encoding.ipynb) | shuffle the words: why does nothing notice? |
# | 04 | [Residual blocks](04_residual_blocks.ipynb) | why does a deep stack without residuals stop learning? |
# | 05 | [Masking](05_masking.ipynb) | where does the future leak from? |
# | 06 | [The Transformer](06_the_transformer.ipynb) | the whole model on one page |
# | 07 | [Training](07_training.ipynb) | can a laptop learn to say 21 as *einundzwanzig* in a minute? |
# | 08 | [Decoding](08_decoding.ipynb) | one distribution, many sentences |
#
# The [gallery](gallery.ipynb) shows all interactive views on one page.
