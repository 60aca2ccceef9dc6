# %% [markdown]
# # 04 · Residual blocks
#
# A stack of 24 layers hardly learns until each of its parts has a norm and a way around it. In this lesson you find out what was wrong with the stack, by taking one trouble away at a time.
#
# **You will be able to**
# - name two troubles of a deep stack, and test each by taking it away,
# - derive what layer normalisation ignores, and write it,
# - write the residual block, post-norm and pre-norm.
#
# **You need** lessons 01 to 03. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), sections 3.1, 3.3 and 5.4. **Time:** 60 minutes, the exercises 50 more.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from transformer_lab import FeedForward, MultiHeadAttention, default_device, exercises, plots
from transformer_lab.training.experiments.side_by_side import train_side_by_side

if default_device().type != "cpu":  # the CPU is the default; asking for it costs time
    torch.set_default_device(default_device())
torch.set_num_threads(1)  # for models as small as these, more would only wait for each other

# %% [markdown]
# ## The question
#
# Attention alone does not make a Transformer. The paper stacks six **layers**, and each of them consists of two **sub-layers** (lesson 06 adds a third to some). One is attention, where tokens look at one another. The other is a **feed-forward network**, which works on each token by itself, by two linear maps with a ReLU, $\max(0, \cdot)$, between them:
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2 \qquad (\text{equation 2})$$
#
# We shall see later what this network is good for. First we stack such layers. In the code, `wrap` makes the block around a sub-layer. The block is handed the sub-layer as a function, and our first one, `Alone`, only calls it. (`partial(self.attend, i=i)` is `attend` with its `i` filled in, the attention of layer `i`. `need_weights=True` asks for the attention of lesson 01, written out as matrix products. Below we train several models at once, and PyTorch's fast routine would handle them one after the other.)

# %%
class Alone(nn.Module):
    def __init__(self, d_model):
        super().__init__()

    def forward(self, x, sublayer):
        return sublayer(x)


class Stack(nn.Module):
    def __init__(self, depth, wrap, d=32):
        super().__init__()
        self.attention = nn.ModuleList([MultiHeadAttention(d, 4) for _ in range(depth)])
        self.feed_forward = nn.ModuleList([FeedForward(d, 4 * d) for _ in range(depth)])
        self.around = nn.ModuleList([wrap(d) for _ in range(2 * depth)])

    def attend(self, x, i):
        return self.attention[i](x, x, x, need_weights=True)[0]

    def forward(self, x):
        states = [x]  # what goes into the first layer, and what comes out of each
        for i, feed_forward in enumerate(self.feed_forward):
            x = self.around[2 * i](x, partial(self.attend, i=i))
            x = self.around[2 * i + 1](x, feed_forward)
            states.append(x)
        return states
# %% [markdown]
# We need a task that is easy to judge. The model reads four digits and says them backwards. Each digit has a learned vector, each of the four positions has one as well, and their sum goes into the stack. `end` comes after the last layer; we shall need it later.

# %%
class Reverser(nn.Module):
    def __init__(self, stack, end):
        super().__init__()
        self.digit, self.position = nn.Embedding(10, 32), nn.Parameter(torch.randn(4, 32))
        self.stack, self.end, self.read = stack, end, nn.Linear(32, 10)

    def forward(self, digits):
        x = self.digit(digits) + self.position  # (B, 4, 32)
        top = self.end(self.stack(x)[-1])
        return self.read(top), top
# %% [markdown]
# A single run may be luck, so we always train three models, which differ in their random weights and in the digits that they read. The package's `train_side_by_side` does this in one loop, to save time. Our function returns the loss of each model and, for later use, the vectors that leave its stack.

# %% steps=80
def backwards(digits):
    return digits.flip(-1)


def train(depth, wrap, end=nn.Identity, stack=Stack, rate=0.003, target=backwards, steps=80):
    """Three models: the mean loss of their last 20 steps, and their last vectors."""
    torch.manual_seed(0)

    def batch():
        digits = torch.randint(10, (3, 16, 4))  # 16 sequences for each of three models
        return digits, target(digits)

    build = lambda: Reverser(stack(depth, wrap), end())
    losses, top = train_side_by_side(build, batch, steps, rate)
    return losses[-20:].mean(0), top  # (3,), (3, 16, 4, 32)


def report(name, values, form=".2f"):
    print(f"{name:22}", "  ".join(f"{value:{form}}" for value in values.tolist()))

# %% [markdown]
# The loss of an answer is $-\ln p$, where $p$ is the probability that the model gives to the right digit. Guessing among ten digits costs $\ln 10 = 2.30$. What does it cost to know *which* four digits were read, but not in which order? The best answer then gives each digit its share among the four, at every position. Its mean cost over all 10 000 sequences is the second of these numbers:

# %%
from itertools import product

sequences = list(product(range(10), repeat=4))
costs = [-sum(math.log(digits.count(d) / 4) for d in digits) / 4 for digits in sequences]
print(f"guessing {math.log(10):.2f}, without the order {sum(costs) / len(costs):.2f}")
# %% [markdown]
# So there are two landmarks, 2.30 for knowing nothing and 1.19 for knowing the digits without their order. **Predict**: which of them will a stack of two layers be nearer to after 80 steps, and which a stack of 24? (10 seconds)

# %% tolerance=0.3
two, _ = train(2, Alone)
many, top_alone = train(24, Alone)
report("2 layers, three seeds", two)
report("24 layers", many)
assert two.max() < 1.8
assert many.min() > 2.25
# %% [markdown]
# Two layers learn, and 24 layers guess. Yet the deep stack *contains* the shallow one, because if 22 of its layers passed on what they get, it would do just as well. Training does not find that. **Why does a 24-layer stack learn nothing?** [He et al. (2016)](https://arxiv.org/abs/1512.03385) asked this about networks that classify images, where deeper ones had a higher error even on the images that they were trained on.

# %% [markdown]
# ## By hand
#
# A first suspicion is that the lower layers are too far from the loss. Let us shrink a layer to a function of a single number, $f(x) = 0.1\,x$, whose derivative is 0.1. By the chain rule, the derivatives of a chain of layers are multiplied. So this is the share of the loss's derivative that gets through all of them:

# %%
for depth in (2, 6, 24):
    print(f"{depth:2} layers: {0.1**depth:.0e}")
# %% [markdown]
# Almost nothing arrives. Now lead the input *around* the layer and add it to the layer's output, $x + f(x)$. The derivative becomes $1 + 0.1$, and the 1 is there whatever $f$ does:

# %%
for depth in (2, 6, 24):
    print(f"{depth:2} layers: {1.1**depth:.2f}")
# %% [markdown]
# This is a **residual connection**. The layer no longer has to produce the whole output, but only the *difference* from its input, and in order to do nothing it outputs zeros.
#
# The chain does not fade any more. Instead it grows, by a factor of 9.85 after 24 layers, so something has to keep the numbers in bounds.

# %% [markdown]
# This is the job of **layer normalisation** ([Ba et al., 2016](https://arxiv.org/abs/1607.06450)), which gives each vector mean 0 and variance 1. Take $(1, 3, 5, 7)$ as an example:

# %%
x = [1.0, 3.0, 5.0, 7.0]
mean = sum(x) / 4
variance = sum((value - mean) ** 2 for value in x) / 4
normalised = [(value - mean) / variance**0.5 for value in x]
print("mean", mean, "variance", variance)
print("normalised", [round(value, 3) for value in normalised])
# %% [markdown]
# What is lost on the way? Put $a x + b$ in place of $x$, with a number $a > 0$ and the same number $b$ added to every feature. The mean becomes $a\mu + b$, so each deviation from it becomes $a\,(x_i - \mu)$, and the variance becomes $a^2\sigma^2$. The quotient stays the same:
#
# $$\frac{a\,(x_i - \mu)}{\sqrt{a^2 \sigma^2}} = \frac{x_i - \mu}{\sigma}$$
#
# A vector's size and offset are therefore lost, and only the pattern within it remains. For a negative $a$ the root is $|a|\,\sigma$, so all signs change:

# %%
norm, x = nn.LayerNorm(4), torch.tensor(x)
for name, vector in (("x", x), ("100 x", 100 * x), ("x + 50", x + 50), ("-x", -x)):
    print(f"{name:7}", [round(value, 3) for value in norm(vector).tolist()])
# %% [markdown]
# ## The equations
#
# Two details are missing. A small $\varepsilon$ keeps a vector of equal numbers from being divided by 0. A learned weight $\gamma$ and bias $\beta$, one number each for every feature, then let the model choose the size and the offset of each feature for itself:
#
# $$\mathrm{LayerNorm}(x) = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \cdot \gamma + \beta, \qquad \mu = \tfrac1d \textstyle\sum_i x_i, \quad \sigma^2 = \tfrac1d \sum_i (x_i - \mu)^2$$
#
# The paper puts both parts together (§3.1): "We employ a residual connection around each of the two sub-layers, followed by layer normalization. That is, the output of each sub-layer is LayerNorm(x + Sublayer(x))".

# %% [markdown]
# **Exercise 1** (10 minutes). Write layer normalisation, for any number of leading axes.

# %% exercise="layer_norm"
def layer_norm(x, weight, bias, eps):
    """(x - mean) / √(variance + eps) · weight + bias, over the last axis."""
    return ...
# %%
exercises.layer_norm.check(layer_norm)
# %% [markdown]
# ![Three columns, from bottom to top. Alone: x through the sub-layer. Post-norm: x through the sub-layer and around it, added, then normalised. Pre-norm: x is normalised and goes through the sub-layer; x itself goes around both and is added; a last norm follows after the whole stack.](../img/04_blocks.svg)

# %% [markdown]
# The paper's order is called **post-norm**, because it adds first and normalises afterwards. **Pre-norm** normalises only what the sub-layer reads, and leaves the way around it free. [GPT-2](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf) (2019) was built in this way, and [Xiong et al. (2020)](https://arxiv.org/abs/2002.04745) analysed both.

# %% [markdown]
# **Exercise 2** (5 minutes). Write both kinds of block as one function, as they are drawn above. `sublayer` and `norm` are functions that you are given, and you call them.

# %% exercise="residual_block"
def residual_block(x, sublayer, norm, norm_first):
    """Post-norm if not norm_first, else pre-norm."""
    return ...
# %%
exercises.residual_block.check(residual_block)
# %% [markdown]
# The package has a module for each kind, which owns its norm and takes the place of our `Alone`: `Residual` is post-norm, `PreNormResidual` is pre-norm. After a pre-norm stack we put the last norm of the drawing.

# %%
from transformer_lab.nn.blocks import PreNormResidual, Residual


def end_norm():
    return nn.LayerNorm(32)  # nothing else normalises what a pre-norm stack puts out
# %% [markdown]
# Does it help? Here are the same 24 layers and the same 80 steps, now in pre-norm blocks, with a norm at the end (10 seconds):

# %% tolerance=0.5
pre, top_pre = train(24, PreNormResidual, end_norm)
report("24 layers, pre-norm", pre)
assert pre.max() < 1.19 < many.min()
# %% [markdown]
# All three models are below 1.19, so they know not only which digits were read, but also something about their order. The stack was not too deep after all. What, then, was wrong with it?

# %% [markdown]
# ## Two suspects
#
# **The gradient vanishes.** On its way down it becomes smaller in every layer, as in the chain of numbers above, until the first layers have nothing to learn from.
#
# **The tokens collapse.** Attention averages, and averages are more alike than the things that were averaged. After many layers all tokens of a sentence may have become the same vector. From then on they stay alike, because equal inputs have equal outputs, and the model can't say which digit stood where.

# %% [markdown]
# A residual connection helps against both, so its success does not tell them apart. We need variants that differ in only one thing at a time. The first is the norm without the residual. It is an easy bug to write: here the sub-layer's result is added to *itself*, so that there is a sum and a norm, and all shapes are right.

# %%
class NormOnly(Residual):
    def forward(self, x, sublayer):
        result = sublayer(x)
        return self.norm(result + result)  # the norm takes the factor 2 off again (ε aside)


kinds = {"alone": Alone, "norm only": NormOnly}
kinds |= {"post-norm": Residual, "pre-norm": PreNormResidual}
# %% [markdown]
# We look for both troubles in fresh stacks, before any training. Random vectors go up, and a random gradient comes down. At every layer we measure the length of the **activations** (what a layer puts out) and of the gradient, relative to their length where they enter the stack. For the collapse we measure the **spread** of a sentence's ten tokens, which is their distance from their common mean, relative to their size. It is 0 if they are all the same.

# %%
from transformer_lab.analysis import norms_by_layer


def spread(x):  # x (…, T, d_model)
    return (x - x.mean(-2, keepdim=True)).norm(dim=(-2, -1)) / x.norm(dim=(-2, -1))


def measure(depth, wrap, stack=Stack):
    """Norms of activations and gradients, and spreads: at the input and after each layer."""
    states = stack(depth, wrap)(torch.randn(8, 10, 32, requires_grad=True))
    end = end_norm() if wrap is PreNormResidual else nn.Identity()
    spreads = [spread(x.detach()).mean().clamp(min=1e-8).item() for x in states]  # for a log axis
    return *norms_by_layer(states, output=end(states[-1])), spreads


depths = [2, 4, 6, 8, 12, 16, 24, 32, 48]
torch.manual_seed(0)
sweep = {kind: {depth: measure(depth, wrap) for depth in depths} for kind, wrap in kinds.items()}
# %%
figure, panels = plots.figure(width=9.6, height=3.8, columns=3)
for ax, part, what in zip(panels, range(3), ("activations", "gradient", "spread of the tokens")):
    curves = {kind: by_depth[24][part] for kind, by_depth in sweep.items()}
    plots.plot_lines(range(25), curves, ax, x_label="layer", log_y=True)
    ax.set_title(what)
alt = "Alone: activations and gradient fade ten-million-fold; in the others, neither does. Spread: "
alt += "alone and norm only fall to 0, post-norm below 0.001, pre-norm stays above 0.1."
plots.show(figure, alt)
# %% [markdown]
# Read the left and right panels from left to right, which is the way up. Read the middle one from right to left, because the gradient comes down. (A spread of $10^{-7}$ is rounding error, so the tokens are equal as far as float32 can tell.) The two numbers that matter are at the ends of the curves:

# %% tolerance=0.5
print("24 layers     gradient that arrives   spread of the tokens")
for kind, by_depth in sweep.items():
    _, gradient, spreads = by_depth[24]
    print(f"{kind:13} {gradient[0]:21.1e} {spreads[-1]:22.1e}")
g = {kind: by_depth[24][1][0].item() for kind, by_depth in sweep.items()}
s = {kind: by_depth[24][2][-1] for kind, by_depth in sweep.items()}
assert g["alone"] < 1e-4 < 1e-3 < min(g["norm only"], g["post-norm"], g["pre-norm"])
assert max(s["alone"], s["norm only"]) < 1e-5 < s["post-norm"] < 0.01 < 0.1 < s["pre-norm"]
# %% [markdown]
# *Alone* suffers from both troubles: only a ten-millionth of the gradient arrives, and after three layers all ten tokens are the same vector. The norm cures the first trouble, but not the second. After 24 post-norm layers, less than a hundredth of the spread is left; after 24 pre-norm layers, about a third.
#
# What happens at other depths? **Predict**, then move the slider. If you hide *alone*, the axes open up for the other three.

# %%
from transformer_lab import widgets

fresh = {kind: {d: m[:2] for d, m in by_depth.items()} for kind, by_depth in sweep.items()}
widgets.depth(fresh).ask("04 twice")
# %% [markdown]
# ## Which of them did it?
#
# *Norm only* has just one of the two troubles, since its gradient arrives but its tokens collapse. To be fair to both suspects we need the opposite case, a stack whose only problem is its gradient. So take pre-norm, and after each sub-layer pass the numbers on unchanged, but only 0.7 of their gradient. `detach` cuts off the rest:

# %% tolerance=0.1
class FadedGradient(PreNormResidual):
    def forward(self, x, sublayer):
        y = super().forward(x, sublayer)
        return 0.7 * y + 0.3 * y.detach()


torch.manual_seed(0)
x = torch.randn(2, 10, 32, requires_grad=True)
stack = Stack(24, FadedGradient)
state = stack(x)[-1]
_, gradient = norms_by_layer([x, state], output=end_norm()(state))
print(f"gradient that arrives: {gradient[0]:.0e}, spread of the tokens: {spread(state).mean():.2f}")
# %% [markdown]
# As little of the gradient arrives as in *alone*, a ten-millionth, while the tokens differ as in *pre-norm*. We now have all four combinations:
#
# | 24 layers | the gradient arrives | the tokens differ |
# |---|---|---|
# | alone | no | no |
# | norm only | yes | no |
# | pre-norm, faded gradient | no | yes |
# | pre-norm | yes | yes |
#
# The first stack guesses and the last one learns. **Predict** the two between them: does one trouble alone stop the learning? (20 seconds)

# %% tolerance=0.5
norm_only, top_norm_only = train(24, NormOnly)
faded, _ = train(24, FadedGradient, end_norm)
for name, losses in (("alone", many), ("norm only", norm_only), ("faded gradient", faded)):
    report(name, losses)
report("pre-norm", pre)
assert norm_only.min() > 2.25
assert faded.max() < 2
assert faded.mean() > pre.mean()
# %% [markdown]
# A healthy gradient is not enough, because *norm only* still guesses. A vanishing gradient, on the other hand, does not stop the learning but slows it down: the third stack learns, although less than the fourth. Longer training widens the gap between the third stack and the first two. After 800 steps, ten times as many (`steps=800`), all three models with the faded gradient end at 0.00, while *norm only* and *alone* still guess with this learning rate (2.30 to 2.31). (How a stack can learn at all when only a ten-millionth of the gradient arrives at its first layer is the subject of the first *Extra*.)
#
# This points to the collapse. But there is something odd about it. Equal tokens could still say *which* digits were read, for a loss of 1.19, and *norm only* does not even do that.

# %% [markdown]
# So let us look once more at the vectors that leave these stacks. This time we ask not only how far apart the tokens of a sentence lie, but also how far apart the *sentences* lie, measured by the spread of their mean vectors. We measure both before and after training:

# %% tolerance=30
def both_spreads(top):
    """Within a sentence, and between sentences: the mean over the three models."""
    return spread(top).mean().item(), spread(top.mean(-2)).mean().item()


print("               tokens of a sentence     sentences")
print("               fresh     trained        fresh     trained")
left = {}
for kind, top, end in (("norm only", top_norm_only, nn.Identity), ("pre-norm", top_pre, end_norm)):
    _, untrained = train(24, kinds[kind], end, rate=0.0, steps=1)
    fresh_spreads, left[kind] = both_spreads(untrained), both_spreads(top)
    numbers = [f"{value:8.0e}" for pair in zip(fresh_spreads, left[kind]) for value in pair]
    print(f"{kind:10} {numbers[0]}  {numbers[1]}     {numbers[2]}  {numbers[3]}")
assert left["norm only"][1] < 1e-5 < 0.1 < left["pre-norm"][1]

# %% [markdown]
# In the fresh stack only the tokens of a sentence are equal, and different sentences still have different vectors. After 80 steps of training with this learning rate, even that is gone: the stack puts out the *same vector for every token of every sentence*. It has become a constant, and a constant can only guess. (The stack with which we began, *alone*, ends in the same way.) [Dong et al. (2021)](https://arxiv.org/abs/2103.03404) call the first collapse **rank collapse**. They prove for attention alone, without residuals or feed-forward networks, that all tokens approach the same vector as layers are added.

# %% [markdown]
# Is averaging to blame? If so, *alone*, the stack with which we began, should learn as soon as nothing averages its tokens. In the control, each token attends to itself alone. Such a token knows nothing about the others, so it needs a task that it can solve by itself, and we let it name its own digit. The steps are a tenth as long as before, for a reason given below. Ordinary attention, which averages over all tokens, gets the same task and the same steps (10 seconds):

# %%
class Itself(Stack):
    def attend(self, x, i):  # a token's only weight is 1: it gets its own value
        return self.attention[i].w_o(self.attention[i].w_v(x))


def forwards(digits):
    return digits
# %% tolerance=0.5
losses = {}
for name, stack in (("itself", Itself), ("all tokens", Stack)):
    torch.manual_seed(0)
    activations, gradient, spreads = measure(24, Alone, stack)
    print(f"attends to {name}; fresh: activations × {activations[-1]:.0e}, ", end="")
    print(f"gradient × {gradient[0]:.0e}, spread {spreads[-1]:.0e}")
    losses[name], _ = train(24, Alone, stack=stack, rate=0.0003, target=forwards)
    report("  after 80 steps", losses[name])
assert losses["itself"].max() < losses["all tokens"].min() - 0.1
# %% [markdown]
# The two stacks differ in nothing but the attention. In both of them the activations and the gradient fade to about a millionth or less. But where each token attends to itself, the tokens stay apart, and all three models learn. Where attention averages them, they are equal, and the models stay close to a guess. So here **the collapse caused by averaging is what stops the learning, and removing it is enough**.
#
# Without averaging, more of the gradient arrives. But that is not what helps: when we faded the gradient of these models until less of it arrived than with averaging, most of them still learned.
# %% [markdown]
# Why shorter steps? With long ones the tokens become alike even if nothing averages them: at a rate of 0.003, 80 steps bring their spread below 0.1, and neither stack does better than a guess. (With short steps even *alone* is not quite helpless at saying the digits backwards. At a rate of 0.0003 its tokens are equal, but its sentences stay different, and it slowly learns which digits were read: one model was at 2.17 after 300 steps, and at 2.00 after 900. Equal tokens can't say the order, so as long as they stay equal it can't get below 1.19.)
#
# *Norm only* gives the same answer as *alone*, but needs even shorter steps. With 300 steps at a rate of 0.0001, its models also learn if each token attends to itself, but hardly learn if attention averages.

# %% [markdown]
# One variant is left, a residual *without* a norm. It should grow, as the chain of numbers did. Does that matter for training? (5 seconds)

# %% tolerance=100
class SumOnly(Alone):
    def forward(self, x, sublayer):
        return x + sublayer(x)


torch.manual_seed(0)
up, down, spreads = measure(24, SumOnly)
print(f"fresh: activations × {up[-1]:.0e}, gradient × {down[0]:.0e}, spread {spreads[-1]:.3f}")
assert min(up[-1], down[0]) > 1000

# %%
sum_only, _ = train(24, SumOnly)
slow_sum, _ = train(24, SumOnly, rate=0.0003)
worse = [not loss < 100 for loss in (*sum_only.tolist(), *slow_sum.tolist())]  # NaN is worse, too
print("six models, two learning rates; those with a loss above 100 or without one:", sum(worse))
assert all(worse)

# %% [markdown]
# All six end far worse than a guess. Growth is what makes their loss so large: with one norm after the stack it is that of a guess, 2.24 to 2.32. In the fresh stack the tokens have drawn together, to a spread of 0.003, because their common part grows far more than their differences. If each token attends to itself alone, the activations grow as much, but the tokens stay apart. With that norm and a rate of 0.0003, such models learned in 80 steps to name each token's digit (0.28 to 0.39); with ordinary attention none did (2.24 to 2.30), even in 800. But attention hardly averages here: scores grow, too, so from about layer six on, one token gets nearly all the weight. With scores computed from normalised vectors, the tokens were just as alike, but learning began (2.03 to 2.10), so huge scores do harm, too.

# %% [markdown]
# That is why the block has two parts. The residual lets each token carry its own vector on, which the norm alone does not. The norm keeps the numbers in bounds, and without it what the tokens have in common outgrows that vector.

# %% [markdown]
# Here are the stacks that told the two troubles apart, side by side. (Where each token attends to itself, the task was to name its own digit. With averaging, the same stacks hardly learned that task.)
#
# | the stack | the gradient arrives | the tokens differ | it learns |
# |---|---|---|---|
# | alone | no | no | no |
# | alone; each token to itself | no | yes | yes, with short steps |
# | norm only | yes | no | no |
# | norm only; each token to itself | yes | yes | yes, with short steps |
# | pre-norm, faded gradient | no | yes | yes |
# | pre-norm | yes | yes | yes |
#
# So why did the 24-layer stack learn nothing? **Because its layers made all tokens, and in the course of training all sentences, the same vector. The vanishing gradient alone would only have slowed the learning down.**

# %% [markdown]
# **Exercise 3** (predict; 20 minutes, hard). Which control separates two causes? One training run has failed, and other runs were made for comparison. Each run is a dictionary: `settings` says how it was made, `measures` what was recorded. The failed run comes first. Return the index of the run that tells vanishing gradients from collapsed tokens. Print the statement, `exercises.which_control`, for the details.

# %% exercise="which_control"
def which_control(experiments):
    """The index of the run that tells one trouble from the other."""
    return ...
# %%
exercises.which_control.check(which_control)
# %% [markdown]
# ## How deep can post-norm go?
#
# The paper normalises *after* the sum, and GPT-2 normalised before the sub-layer. What difference does the order make? In a post-norm stack, each norm brings the sum of input and result back to one fixed length, so the input's share shrinks with every sub-layer. What attention puts in its place is averaged over the tokens, and makes them more alike. The last column is the control, post-norm without the averaging:

# %% tolerance=0.3
def spreads_of_three(stack, wrap, depth):
    """The least and the largest spread that three fresh stacks leave."""
    stacks = [stack(depth, wrap) for _ in range(3)]
    left = [spread(each(torch.randn(8, 10, 32))[-1].detach()).mean().item() for each in stacks]
    return min(left), max(left)


torch.manual_seed(0)
print("layers   post-norm        pre-norm       post-norm, each token attends to itself")
for depth in (2, 6, 12, 24, 48):
    post = spreads_of_three(Stack, Residual, depth)
    pre_norm = spreads_of_three(Stack, PreNormResidual, depth)
    control = spreads_of_three(Itself, Residual, depth)
    print(f"{depth:6}   {post[0]:.0e} to {post[1]:.0e}", end="")
    print(f"   {pre_norm[0]:.2f} to {pre_norm[1]:.2f}   {control[0]:.2f} to {control[1]:.2f}")
    assert depth < 12 or control[0] > 2 * post[1]
# %% [markdown]
# Each pair gives the smallest and the largest spread among three fresh stacks. At six layers, the paper's depth, the tokens of post-norm are still well apart; at 48 next to nothing sets them apart. Without averaging they draw together as well, but far more slowly, so averaging is the main cause here and not the only one.
#
# What becomes of the tokens in training depends on the size of the steps. Here are twelve post-norm layers trained with the learning rate that we used at first, 0.003, and with a third of it (7 seconds):

# %% tolerance=0.3
large, top_large = train(12, Residual)
small, top_small = train(12, Residual, rate=0.001)
for rate, losses, top in ((0.003, large, top_large), (0.001, small, top_small)):
    report(f"post-norm, rate {rate}", losses)
    report("spread after training", spread(top).mean(1), ".0e")
assert small.max() < large.mean()
assert spread(top_large).mean(1).median() < spread(top_small).mean(1).median()
# %% [markdown]
# With the large steps the tokens mostly end up far closer together, and with the smaller ones the stack begins to learn. The 24 pre-norm layers above learned even with the larger steps. The paper trains its six post-norm layers with a **warm-up** (§5.3), in which the step size grows from near 0 over the first 4000 steps. Lesson 07 leaves it out, and measures the difference. GPT-2 put the norm first, and so did [GPT-3](https://arxiv.org/abs/2005.14165) and [Llama](https://arxiv.org/abs/2302.13971).

# %% [markdown]
# ## The residual stream
#
# Pre-norm has another consequence, which will matter in lesson 10. Nothing touches the way around the sub-layers, so after $L$ layers the output is the input plus what each sub-layer has added:
#
# $$x_{2L} = x_0 + \sum_{l=1}^{2L} \mathrm{Sublayer}_l(\mathrm{LayerNorm}(x_{l-1}))$$
#
# To check this, let each block keep its contribution, and add them all up:

# %% tolerance=0.5
class Noting(PreNormResidual):
    def forward(self, x, sublayer):
        def noted(y):
            self.contribution = sublayer(y)
            return self.contribution

        return super().forward(x, noted)


torch.manual_seed(0)
stack, x = Stack(12, Noting), torch.randn(2, 5, 32)
output = stack(x)[-1]
contributions = [block.contribution for block in stack.around]
difference = (x + sum(contributions) - output).abs().max()
print(f"{len(contributions)} contributions; input + contributions = output, max difference < 1e-5:",
      (difference < 1e-5).item())
sizes = [contribution.norm(dim=-1).mean().item() for contribution in contributions]
print(f"lengths of the contributions: {min(sizes):.1f} to {max(sizes):.1f}")
assert max(sizes) < 4 * min(sizes)
# %% [markdown]
# This is why people speak of a **residual stream** ([Elhage et al., 2021](https://transformer-circuits.pub/2021/framework/index.html)), a channel from which every sub-layer reads, and to which it adds. In lesson 02 the outputs of a layer's heads were added up; here the outputs of all sub-layers are.
#
# Each sub-layer reads a normalised vector, and in a fresh stack no contribution dwarfs the others. The sum of $n$ independent random vectors of equal length grows like $\sqrt{n}$ (lesson 01 found that for the terms of a dot product). Does the stream grow like that?

# %% tolerance=0.2
for depth in (6, 12, 24, 48):
    growth = sweep["pre-norm"][depth][0][-1].item()
    ratio = growth / depth**0.5
    print(f"{depth:2} layers: {growth:.1f} times its size, growth / √depth = {ratio:.2f}")
    assert 0.6 < ratio < 1.4
# %% [markdown]
# It does, since the last column is nearly constant. ([Xiong et al.](https://arxiv.org/abs/2002.04745) prove, under assumptions of their own, that the squared norm lies between two straight lines in the depth: their Lemma 2.) So what leaves the last layer is several times as large as the embeddings, and larger still in a deeper stack. One more norm at the end undoes that.

# %% [markdown]
# ## The other sub-layer: feed-forward
#
# We have stacked feed-forward networks all along without asking what they are for. Attention mixes tokens, and the feed-forward network works on each of them alone. Why is there a ReLU in the middle? Without it, two linear maps are one:
#
# $$(x W_1 + b_1)\, W_2 + b_2 = x\, (W_1 W_2) + (b_1 W_2 + b_2)$$
#
# However wide the middle, nothing would be gained. With the ReLU, the network can answer questions that no linear map can, such as "is exactly one of the two features on?" Two hidden units are enough:

# %%
x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
hidden = F.relu(torch.stack([x.sum(1), x.sum(1) - 1], dim=1))  # is any of them on? are both?
exactly_one = hidden[:, 0] - 2 * hidden[:, 1]

ones = torch.cat([x, torch.ones(4, 1)], dim=1)  # the last feature is for the bias
best_line = ones @ torch.linalg.lstsq(ones.cpu(), exactly_one.cpu()[:, None]).solution.to(x.device)
for row, relu, linear in zip(x.tolist(), exactly_one.tolist(), best_line.flatten().tolist()):
    print(row, f"with ReLU {relu:.1f}, best linear map {linear:.1f}")
# %% [markdown]
# The best linear map, with a bias, says 0.5 to everything.
#
# You can also read the formula unit by unit. Hidden unit $i$ compares $x$ with column $i$ of $W_1$, a *key* $k_i$. If the match is good enough to pass the ReLU, it adds row $i$ of $W_2$, a *value* $v_i$:
#
# $$\mathrm{FFN}(x) = \sum_{i=1}^{d_{ff}} \max(0,\; x \cdot k_i + b_{1,i})\; v_i + b_2$$
#
# This looks like attention, except that keys and values are learned weights instead of other tokens, and that no softmax makes them compete:

# %% tolerance=0.3
torch.manual_seed(0)
ffn, x = FeedForward(d_model=32, d_ff=128), torch.randn(32)
keys, values = ffn.w_1.weight, ffn.w_2.weight.T  # nn.Linear stores (out, in): both (128, 32)
total, firing = ffn.w_2.bias, 0
for key, value, bias in zip(keys, values, ffn.w_1.bias):
    match = F.relu(x @ key + bias)
    total, firing = total + match * value, firing + (match > 0).item()
print("sum over units = FFN, max difference < 1e-5:", ((total - ffn(x)).abs().max() < 1e-5).item())
print("units that fire for this token:", firing, "of", len(keys))
# %% [markdown]
# About half of these random keys match. [Geva et al. (2021)](https://aclanthology.org/2021.emnlp-main.446) examined a trained language model in this way, and found that its feed-forward layers "operate as key-value memories, where each key correlates with textual patterns in the training examples".

# %% [markdown]
# ## Break it: one norm for two
#
# Here is a slip that raises no error. Both sub-layers of a layer use the *first* norm, and the second stands idle.

# %%
class NormReused(Stack):
    def __init__(self, depth, wrap):
        super().__init__(depth, wrap)
        self.spare = self.around[1::2]
        self.around = nn.ModuleList([self.around[i - i % 2] for i in range(2 * depth)])


torch.manual_seed(0)
stack = NormReused(4, PreNormResidual)
stack(torch.randn(2, 5, 32))[-1].square().sum().backward()
idle = sum(block.norm.weight.grad is None for block in stack.spare)
print("norms that no gradient reaches:", idle, "of", 2 * 4)
# %% [markdown]
# **Predict**, then train it beside a stack without the slip: how much does it hurt in 80 steps? (3 seconds)

# %% tolerance=0.5
reused, _ = train(4, PreNormResidual, end_norm, stack=NormReused)
intact, _ = train(4, PreNormResidual, end_norm)
report("one norm for two", reused)
report("two norms", intact)
assert reused.max() < 1.19
assert (reused - intact).abs().max() < 0.02
# %% [markdown]
# The losses differ by less than 0.02. All norms begin alike, with $\gamma = 1$ and $\beta = 0$, so the two stacks begin as one and the same function, and after 80 steps they still hardly differ. After 800 both losses are 0.00. The loss would not have shown you the slip, but a test can: **after one backward pass, every parameter must have a gradient**, that is, `grad` must not be `None`. Half of these norms have none.

# %% [markdown]
# **Exercise 4** (find the bug; 15 minutes, medium). Mend a stack of two pre-norm blocks and the norm after them: `norm_1` belongs to `sublayer_1`, `norm_2` to `sublayer_2`, and `norm_3` comes after the last block. It has three defects, and this was observed:
#
# - with sub-layers that give zeros, it should do what its last norm does, but with norms of different weights it does something else;
# - after a backward pass, most parameters of its three norms have no gradient;
# - with norms whose weights are held fixed, the vectors that leave it still grow longer in training.

# %% exercise="mend_stack"
def mend_stack(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = norm_1(x)
    x = x + sublayer_1(x)
    x = norm_1(x)
    x = x + sublayer_2(x)
    return x
# %%
exercises.mend_stack.check(mend_stack)
# %% [markdown]
# ## Remember
#
# - $x + \mathrm{Sublayer}(x)$: the derivative contains a 1, and each token carries its own vector on.
# - Deep stacks without residuals have a vanishing gradient and collapsed tokens. A norm cures only the first. Test a cause by removing it alone.
# - Layer norm works on each token over its own features; the variance divides by $d$, and $\varepsilon$ is under the root.
# - Post-norm adds, then normalises. Pre-norm normalises what the sub-layer reads, and once more at the end.
# - The feed-forward network is a non-linear look-up in learned keys and values.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. All weights and biases of all sub-layers are 0. What does a pre-norm stack compute, before its last norm?</summary>
# It computes the identity, because every sub-layer adds zeros.
# </details>
# <details><summary>2. The sub-layer of a post-norm block gives zeros. You multiply the block's input by 10. What happens to its output?</summary>
# Nothing happens (ε aside), because the norm divides the factor out again.
# </details>

# %% [markdown]
# <details><summary>3. How many parameters does a LayerNorm of d_model = 512 have?</summary>
# It has 2 · 512 = 1024, a weight and a bias for each feature.
# </details>
# <details><summary>4. A deep stack guesses, and hardly any gradient arrives at its first layer. A friend says: "That is why." What do you measure before you agree?</summary>
# Whether its tokens and its sentences still differ, and whether a stack with as small a gradient, but with tokens that differ, learns.
# </details>

# %% [markdown]
# <details><summary>5. A model gives different answers when the same input runs in a batch of one. Which norm do you suspect?</summary>
# Batch normalisation in training mode, because its means come from the batch. Layer norm never looks at the others.
# </details>

# %% [markdown]
# **Next:** you have a stack that learns. But so far every token sees every other, including padding and the future. [Lesson 05](05_masking.ipynb) hides what must not be seen.

# %% [markdown]
# ## Extra: how can it learn from a ten-millionth of a gradient?
#
# The optimiser, Adam, divides each gradient by its own recent size plus a tiny $\varepsilon = 10^{-8}$ (lesson 07). We can see how far one step moves the weights at different heights of the faded stack:

# %% tolerance=0.5
def first_step(wrap):
    """The mean size of the gradients and of Adam's first step, for a matrix of each layer."""
    model, digits = Reverser(Stack(24, wrap), end_norm()), torch.randint(10, (16, 4))
    weights = [ffn.w_1.weight for ffn in model.stack.feed_forward]
    before = [weight.detach().clone() for weight in weights]
    F.cross_entropy(model(digits)[0].flatten(0, 1), digits.flip(1).flatten()).backward()
    torch.optim.Adam(model.parameters(), lr=0.003).step()
    moves = [(w - b).abs().mean().item() for w, b in zip(weights, before)]
    return [w.grad.abs().mean().item() for w in weights], moves


torch.manual_seed(0)
sizes, moves = first_step(FadedGradient)
for i in (0, 11, 15, 23):
    print(f"layer {i + 1:2}: gradient {sizes[i]:.0e}, first step {moves[i] / 0.003:.2f} of 0.003")
assert sizes[11] < sizes[23] / 1000
assert moves[11] > 0.7 * moves[23] > 3 * moves[0]
# %% [markdown]
# Halfway down, the gradient is thousands of times smaller than at the top, yet the step is nearly as long. Only at the very bottom, where the gradient is far smaller than $\varepsilon$, do the weights hardly move. So the steps fade much less than the gradient does. The shorter steps at the bottom are all that sets the stack apart from *pre-norm*. In each block the gradients of the two differ only by a power of 0.7, which Adam divides out if $\varepsilon$ is small enough: with $\varepsilon = 10^{-30}$ the models ended at 0.18, 0.12 and 0.21, as those of *pre-norm* did.

# %% [markdown]
# But the stack would also learn if its first layers did not move at all. With the embeddings and layers 1 to 12 held fixed, its models ended at 1.35, 1.05 and 0.69; with only the last layer and the parts after it left to learn, they ended at 1.60 to 1.79. (He et al., §4.1, call vanishing gradients an "unlikely" cause in their deep networks, for another reason: there the gradients had healthy norms.)

# %% [markdown]
# ## Extra: why four times as wide?
#
# The paper does not argue for the width of its feed-forward network, but its Table 3 (C) varies it:
#
# | $d_{ff}$ | perplexity, $e^{loss}$ (lower is better) | million parameters |
# |---|---|---|
# | 1024 = 2 · 512 | 5.12 | 53 |
# | **2048 = 4 · 512** | 4.92 | 65 |
# | 4096 = 8 · 512 | 4.75 | 90 |
#
# Wider is better and costs more, so 4 is a customary compromise. It also decides how a layer's weights are shared out:

# %%
layer = {"attention": MultiHeadAttention(512, 8), "feed-forward": FeedForward(512, 4 * 512)}
sizes = {name: sum(p.numel() for p in part.parameters()) for name, part in layer.items()}
for name, size in sizes.items():
    print(f"{name:12} {size:9,} parameters, {size / sum(sizes.values()):.0%}")
# %% [markdown]
# Attention has four matrices of $d \times d$, the feed-forward network two of $d \times 4d$, which makes one third and two thirds of the weights. An *Extra* of lesson 06 trains a small model without its feed-forward networks, and another one without its cross-attention.

# %% [markdown]
# ## Extra: the same in the package and in PyTorch
#
# `Residual` and `PreNormResidual`, in the package's module `blocks`, share one function, `residual_block`, which you have written above. They also have the paper's dropout (§5.4): "We apply dropout to the output of each sub-layer, before it is added to the sub-layer input and normalized." In training it sets a share of the numbers to 0, drawn at random (lesson 03); its default here is 0.

# %%
from transformer_lab import LayerNorm, layer_norm
from transformer_lab.nn import blocks


def agree(name, ours, theirs):
    print(f"{name}, max difference < 1e-4: {((ours - theirs).abs().max() < 1e-4).item()}")


torch.manual_seed(0)
x, ours, theirs = torch.randn(2, 5, 32), LayerNorm(32), nn.LayerNorm(32)
nn.init.normal_(ours.weight), nn.init.normal_(ours.bias)
theirs.load_state_dict(ours.state_dict())
agree("LayerNorm = nn.LayerNorm", ours(x), theirs(x))
by_formula = layer_norm(x, ours.weight, ours.bias, ours.eps)
agree("layer_norm (the formula) = LayerNorm", by_formula, ours(x))
for block, norm_first in ((Residual(32), False), (PreNormResidual(32), True)):
    by_function = blocks.residual_block(x, ffn, block.norm, norm_first)
    agree(f"{type(block).__name__} = residual_block", block(x, ffn), by_function)
# %% [markdown]
# And here is a whole layer of the left tower in the map of lesson 00, the *encoder*: attention and feed-forward, each in its block, against PyTorch's. `norm_first` chooses the order in both:

# %%
from transformer_lab import EncoderLayer, TransformerConfig
from transformer_lab.weights.torch_nn import copy_to_torch

for norm_first in (False, True):
    config = TransformerConfig(d_model=32, n_heads=4, d_ff=128, dropout=0, norm_first=norm_first)
    layer, order = EncoderLayer(config), {"norm_first": norm_first, "batch_first": True}
    theirs = nn.TransformerEncoderLayer(32, 4, 128, dropout=0.0, **order)
    copy_to_torch(layer, theirs)
    agree(f"norm_first={norm_first}: EncoderLayer = PyTorch's", layer(x, None), theirs(x))
# %% [markdown]
# ## Extra: why not batch normalisation?
#
# **Batch normalisation** ([Ioffe & Szegedy, 2015](https://arxiv.org/abs/1502.03167)) takes a mean and a variance for each *feature*, over all tokens of the batch, whereas layer normalisation takes them for each *token*, over its features. Short sentences are filled out with **padding**, here with zeros. Three words share a batch with another sentence of 3 words, then of 6, then of 12. How much do their outputs change?

# %% tolerance=0.1
def batch_norm(x):  # (B, T, d_model), in training
    return F.batch_norm(x.flatten(0, 1), None, None, training=True).reshape(x.shape)


torch.manual_seed(0)
words, other = torch.randn(1, 3, 16) + 1, torch.randn(1, 12, 16) + 1
for name, normalise in (("layer norm", nn.LayerNorm(16)), ("batch norm", batch_norm)):
    outputs = []
    for length in (3, 6, 12):
        batch = torch.cat([F.pad(words, (0, 0, 0, length - 3)), other[:, :length]])
        outputs.append(normalise(batch)[0, :3])
    changes = [(output - outputs[0]).abs().max().item() for output in outputs[1:]]
    print(f"{name}: largest change {changes[0]:.2f} at 6 positions, {changes[1]:.2f} at 12")
# %% [markdown]
# With batch normalisation, what your words become depends on how long your neighbour's sentence is, and on zeros that mean nothing. It also depends on how *many* neighbours there are, because a mean over few tokens is a poor estimate. Here is one token among 3, 15 or 127 others, which are drawn anew 200 times:

# %% tolerance=0.1
def layer_norm_of(x):
    return F.layer_norm(x, x.shape[-1:])


def variation(normalise, batch_size):
    """How much one token's output varies with the others in its batch, over 200 batches."""
    token = torch.linspace(-2, 2, 16).expand(200, 1, 1, 16)
    batches = torch.cat([token, torch.randn(200, batch_size - 1, 1, 16)], dim=1)
    return torch.stack([normalise(batch)[0, 0] for batch in batches]).std(0).mean().item()


torch.manual_seed(0)
for name, normalise in (("layer norm", layer_norm_of), ("batch norm", batch_norm)):
    at = {size: variation(normalise, size) for size in (4, 16, 128)}
    print(f"{name}: standard deviation", {size: round(value, 2) for size, value in at.items()})
assert at[4] > 1.2 * at[16] > 2.4 * at[128]
# %% [markdown]
# After training, batch normalisation therefore replaces these means and variances by remembered averages, and so computes something different from what it computes in training. Layer normalisation computes the same in training and afterwards, for each token on its own.

# %% [markdown]
# ## Extra: a convolution of size 1
#
# The paper describes the feed-forward network a second time (§3.3): "Another way of describing this is as two convolutions with kernel size 1." A **convolution** slides a small matrix along the sequence, and with a kernel of size 1 it sees one position at a time. We copy the weights:

# %%
first, second = nn.Conv1d(32, 128, kernel_size=1), nn.Conv1d(128, 32, kernel_size=1)
with torch.no_grad():
    for convolution, linear in ((first, ffn.w_1), (second, ffn.w_2)):
        convolution.weight.copy_(linear.weight[:, :, None])  # (out, in) -> (out, in, 1)
        convolution.bias.copy_(linear.bias)
agree("feed-forward = two convolutions", ffn(x), second(F.relu(first(x.mT))).mT)  # (B, d, T) inside

changed = x.clone()
changed[:, 2] += 1
moved = (ffn(changed) - ffn(x)).abs().amax(dim=(0, 2)) > 1e-6
print("positions that change when position 2 does:", moved.nonzero().flatten().tolist())
