# %% [markdown]
# # 00 · Start here
#
# In less than half an hour you will see that your machine works, how lessons, views, exercises and hints work, and how a model learns.
#
# **You will be able to**
# - run and change the cells of a lesson,
# - have an exercise checked, ask for a hint, and read what went wrong,
# - say what a loss, a gradient and an optimiser do.
#
# **You need** Python (functions and classes), matrix products, logarithms, probabilities, and the derivative of a function. Everything else is explained where it first appears.

# %% [markdown]
# ## Where this leads
#
# In lessons 01 to 08 you build the Transformer of [Attention Is All You Need](https://arxiv.org/abs/1706.03762) (Vaswani et al., 2017), from whose parts today's language models are built. Each part of the drawing bears the number of the lesson that builds it:
#
# ![The Transformer of 2017: an encoder on the left and a decoder on the right, each part labelled with the number of the lesson that builds it.](../img/00_map.svg)

# %% [markdown]
# ## Run me
#
# A notebook is made of cells. What you see below them was computed on another machine when this lesson was made, so the variables of that run do not exist on yours until **you run the cells, from top to bottom**. Click on the next cell and press **Shift + Enter**. The cell runs, and what it prints appears below it.
#
# You can also choose *Run → Run All Cells* from the menu, in any lesson and at any time, because unsolved exercises never stop it.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import math
import sys

import torch
from torch import nn

from transformer_lab import default_device, exercises, widgets

torch.set_default_device(default_device())
print("Python is 3.11 or newer:", sys.version_info >= (3, 11))

# %%
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
print("PyTorch multiplies:", (a @ a).tolist())
print("on the device that was chosen:", a.device.type == default_device().type)

# %% [markdown]
# If you see `True`, then `[[7.0, 10.0], [15.0, 22.0]]`, then `True`, all is well. The device is a GPU if you have one, and the processor otherwise; every lesson runs on either. On a GPU times differ, and so does all that depends on random numbers, trainings included, because a GPU draws them in its own way. Everything else prints the same, up to rounding. The environment variable `TRANSFORMER_LAB_DEVICE=cpu` overrides the choice.
#
# Nothing is downloaded while you work. What you type is saved with the notebook by **Ctrl + S** (**⌘ S** on a Mac).

# %% [markdown]
# ## Change something
#
# Cells are there to be changed. Press **Esc** and then **B** to get a new cell below, type something, and run it. If you get lost, *Kernel → Restart Kernel and Run All Cells* starts afresh.
#
# Before you run a cell, **predict** what it will show. You learn more from a wrong prediction than from an answer that you have only read. Then change something (try replacing *of* with a longer word) and predict again:

# %%
words = ["the", "bank", "of", "the", "river"]
print("Which word is the longest?", max(words, key=len))

# %% [markdown]
# ## Move something
#
# Some figures are **views**, which you can move once you have run the cell. This one shows how much each word of a sentence looks at each word of the sentence, itself included (lesson 01). First each pair of words gets a *score*, a number that is high if the two fit. The scores of a row are then turned into shares, which sum to 1, and the highest score gets the largest share. Point at a cell, or click on it and use the arrow keys.
#
# **Predict:** the slider sets the *temperature*, a number by which all scores are divided before they become shares. When it falls below 1, does the row of *bank* become more even or more extreme? Then move it.

# %%
vectors = torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 4.5]])
widgets.attention_steps(vectors, vectors, query_tokens=words, key_tokens=words)

# %% [markdown]
# <details><summary>After you have looked</summary>
# The row becomes more extreme. At 0.1 <i>bank</i> gives everything to <i>river</i>, and at 10 its row is nearly even. (The other controls are explained in lessons 01, 02 and 05.)
# </details>

# %% [markdown]
# ## Watch something learn
#
# Several lessons train a model, and the words for that fit on one page. A **model** is a function with numbers in it that can be changed, which are called its **parameters**. In PyTorch a model is an `nn.Module`, a class that holds the parameters and whose method `forward` computes the output when you call it like a function. This one computes $wx + b$:

# %%
class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.tensor(0.0)), nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        return self.w * x + self.b


model = Line()
x = torch.tensor([0.0, 1.0, 2.0, 3.0])
wanted = 2 * x + 1
print("it says", model(x).tolist(), "and we want", wanted.tolist())

# %% [markdown]
# The **loss** is one number that says how wrong the model is, here the mean of the squared errors. The **gradient** holds the derivative of the loss with respect to each parameter, so it points to where the loss grows fastest. `loss.backward()` computes it. An **optimiser** then moves each parameter a small step the other way. [Adam](https://arxiv.org/abs/1412.6980) is the one that we use in these lessons. It averages the latest gradients, and adapts the length of the step to each parameter. `lr`, the **learning rate**, makes all steps longer or shorter.
#
# **Predict:** which `w` and which `b` should the training find?

# %% tolerance=0.01
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for step in range(201):
    loss = (model(x) - wanted).square().mean()
    if step % 50 == 0:
        w, b = model.w.item(), model.b.item()
        print(f"step {step:3}: loss {loss.item():.3f}, w {w:.2f}, b {b:.2f}")
    optimizer.zero_grad()  # forget the gradient of the step before
    loss.backward()
    optimizer.step()

# %% [markdown]
# The loss falls from 21 to almost nothing, and the model has found $w = 2$ and $b = 1$. Every training in these lessons is this same loop, with a larger model.
#
# Now run the cell with the model once more, so that it starts afresh, change `lr` to 0.001, and train again. After 50 steps $w$ is only 0.05, because a step of Adam at first moves a parameter by about `lr`, and after 200 steps the loss is still 16.
#
# Where the answer is a choice, such as the next word, the model gives each choice a probability, and the loss is the **cross-entropy**, $-\log p = \log(1/p)$, where $p$ is the probability of the right choice and $\log$ the natural logarithm. It is 0 if the model is sure and right, and grows without limit as $p$ goes to 0:

# %%
for probability in (1.0, 0.5, 0.1, 0.01):
    print(f"right choice has probability {probability}: loss {math.log(1 / probability):.2f}")

# %% [markdown]
# ## Solve something
#
# An exercise is a function for you to fill in. `exercises` knows them all, and here is the first:

# %%
exercises.dot_product

# %% [markdown]
# Hand your function to `check`. It tries many cases and compares the results with the right ones. If one of them is wrong, it shows you a small case that fails, and if the mistake is a common one it tells you *which* you made. Here are two answers that are wrong on purpose:

# %%
exercises.dot_product.check(lambda a, b: a * b)

# %%
exercises.dot_product.check(lambda a, b: a @ b.unsqueeze(0))

# %% [markdown]
# The first is a mistake that the exercise knows by name, *not summed*. The second raises an error, and the check's answer shows the line of *your* code where it happened.
#
# If you are stuck, ask for hints, one after the other. Each says a little more than the one before:

# %%
exercises.dot_product.hint()

# %% [markdown]
# There is also a solution, which opens when you click on it. It is best to look at it when you have one of your own.

# %%
exercises.dot_product.solution()

# %% [markdown]
# **Your turn.** (2 minutes.) Replace the `...`, run the cell, then run the check.

# %% exercise="dot_product"
def dot_product(a, b):
    """Multiply the vectors number by number, and add up."""
    return ...

# %%
exercises.dot_product.check(dot_product)

# %% [markdown]
# An empty disc means *not attempted yet*, a half-full one *not yet right*, a full one with a tick *passed*.
#
# ## Your progress
#
# `exercises.progress()` shows the map of all exercises: a tile for each, with a mark for *solved*, *tried* or *open*. Run this cell whenever you come back. Your progress stays in one file on your machine. To keep no record, set `TRANSFORMER_LAB_PROGRESS=off`, as we did for the map below.

# %% own=true
exercises.progress()

# %% [markdown]
# Functions that have passed can be used in the lessons that follow, in place of the package's: after `mine = exercises.mine()`, your softmax is `mine.softmax(scores, dim=-1)`. At the end of lesson 06 you build a whole Transformer from them.
#
# ## The lessons
#
# | | lesson | the question it opens with | minutes |
# |---|---|---|---|
# | 01 | [Attention](01_attention.ipynb) | *bank* of a river or of money: how can a word look at the others? | 60 + 45 |
# | 02 | [Multi-head attention](02_multi_head_attention.ipynb) | why several small heads rather than one large one? | 50 + 55 |
# | 03 | [Positional encoding](03_positional_encoding.ipynb) | shuffle the words: why does nothing notice? | 60 + 70 |
# | 04 | [Residual blocks](04_residual_blocks.ipynb) | why does a deep stack of layers not learn, and what helps? | 60 + 50 |
# | 05 | [Masking](05_masking.ipynb) | why is a model that sees the next word too good in training, and poor afterwards? | 60 + 60 |
# | 06 | [The Transformer](06_the_transformer.ipynb) | how do the parts make a model, and where are its 65 million parameters? | 60 + 70 |
# | 07 | [Training](07_training.ipynb) | can a laptop learn to say 21 as *einundzwanzig* in a minute? | 60 + 95 |
# | 08 | [Decoding](08_decoding.ipynb) | the model gives probabilities: which sentence do you write down? | 60 + 95 |
# | 09 | [A language model](09_language_model.ipynb) | can a model learn to write Python from the Python on your own disk? | 60 + 60 |
# | 10 | [Inside](10_inside.ipynb) | *the cat sat … the cat*: which two heads know that *sat* comes next? | 60 + 85 |
# | 11 | [Since 2017](11_since_2017.ipynb) | no LayerNorm, no sine and fewer keys than queries: what did each swap buy? | 50 + 60 |
# | 12 | [Published weights](12_published_weights.ipynb) | does *bank* mean two things in a real model, run by your own code? | 60 + 70 |
# | 13 | [Fast and equal](13_fast_and_equal.ipynb) | more than twice as fast, a hundredth of the memory, and the same numbers: how? | 55 + 100 |
# | 14 | [The bug clinic](14_bug_clinic.ipynb) | the loss falls, and the model is wrong: where? | 45 + 140 |
# | 15 | [Since Llama](15_since_llama.ipynb) | some of today's models attend in one layer out of four: what remembers in the other three? | 45 + 90 |
# | 16 | [After pretraining](16_after_pretraining.ipynb) | how do you make a model answer right, when you can only say *right* or *wrong*? | 60 + 125 |
# | 17 | [Many machines](17_many_machines.ipynb) | four processes, a quarter of the work each, and in each step the same numbers: what must they tell each other? | 55 + 95 |
#
# *60 + 45* means: 60 minutes to read and try a lesson, and 45 for its exercises. The [gallery](gallery.ipynb) shows all interactive views on one page.

# %% [markdown]
# ## Remember
#
# - Run the cells from top to bottom, and predict before you run.
# - Views come alive when their cell has run in your notebook.
# - A loss says how wrong a model is, its gradient says which way is worse, and the optimiser steps the other way.
#
# **Next:** [Lesson 01](01_attention.ipynb) begins with *bank*, a word that means two things, and lets it look at the words around it.
