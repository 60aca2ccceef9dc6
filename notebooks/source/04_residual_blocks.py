# %% [markdown]
# # 04 · Residual blocks
#
# What holds a deep stack together: a way around each part, and a norm.
#
# **You will be able to**
# - show why a deep stack without residuals does not learn,
# - tell post-norm from pre-norm, and what warm-up has to do with them,
# - write layer normalisation and both residual blocks.
#
# **You need** lessons 01 to 03. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), sections 3.1, 3.3 and 5.4. **Time:** 45 minutes.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from transformer_lab import FeedForward, MultiHeadAttention, default_device, exercises, plots

torch.set_default_device(default_device())
torch.set_num_threads(1)  # for models as small as these, more would only wait for each other

# %% [markdown]
# ## The question
#
# One attention is not much. The paper stacks six **layers**, each of two **sub-layers** (lesson 06 adds a third to some): attention, where tokens look at one another, and a **feed-forward network**, where each token is worked on alone. The latter is two linear maps, to $4\,d_{model}$ features and back, with a ReLU, $\max(0, \cdot)$, between them:
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2 \qquad (\text{equation 2})$$
#
# Here is a stack of them. `wrap` decides what happens around each sub-layer; to begin with, nothing:

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

    def forward(self, x):
        states = [x]  # what goes into the first layer, and what comes out of each
        for i, attention in enumerate(self.attention):
            x = self.around[2 * i](x, lambda y, attend=attention: attend(y, y, y)[0])
            x = self.around[2 * i + 1](x, self.feed_forward[i])
            states.append(x)
        return states

# %% [markdown]
# A task to learn: read eight digits, say them backwards. Each digit has a learned vector, each of the eight places has one, and their sum goes into the stack. `end` comes after the last layer:

# %%
class Reverser(nn.Module):
    def __init__(self, stack, end):
        super().__init__()
        self.digit, self.place = nn.Embedding(10, 32), nn.Parameter(torch.randn(8, 32))
        self.stack, self.end, self.read = stack, end, nn.Linear(32, 10)

    def forward(self, digits):
        x = self.digit(digits) + self.place
        return self.read(self.end(self.stack(x)[-1]))


def loss_after_training(stack, end, warm_up=1, rate=0.003, steps=100):
    model, losses = Reverser(stack, end), []
    optimizer = torch.optim.Adam(model.parameters(), fused=True)  # one call for all parameters
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = rate * min(1, step / warm_up)
        digits = torch.randint(10, (32, 8))
        loss = F.cross_entropy(model(digits).flatten(0, 1), digits.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-20:]) / 20

# %% [markdown]
# The loss of an answer is $-\ln p$, where $p$ is what the model gives to the right digit. Guessing among ten costs $\ln 10 = 2.30$. A hundred steps for two layers, then for 24. **Predict** which does better.

# %%
torch.manual_seed(0)
two = loss_after_training(Stack(2, Alone), nn.Identity())
many = loss_after_training(Stack(24, Alone), nn.Identity())
print("2 layers, loss below 1.8: ", two < 1.8)
print("24 layers, loss below 2.2:", many < 2.2)

# %% [markdown]
# Two layers learn; 24 still guess. The deep stack *contains* the shallow one: 22 of its layers could learn to do nothing. They do not. **Why does a 24-layer stack stop learning?** [He et al. (2016)](https://arxiv.org/abs/1512.03385) asked it of networks for pictures, where deeper ones had a higher error even in training.

# %% [markdown]
# ## By hand
#
# Shrink a layer to one number: $f(x) = 0.1\,x$. Its derivative is 0.1. In a chain of layers the derivatives are multiplied, so this is what the first of them hears of the loss:

# %%
for depth in (2, 6, 24):
    print(f"{depth:2} layers: {0.1**depth:.0e}")

# %% [markdown]
# Nothing arrives. Now lead the input *around* the layer and add it: $x + f(x)$. The derivative is $1 + 0.1$. Whatever $f$ does, the 1 is always there:

# %%
for depth in (2, 6, 24):
    print(f"{depth:2} layers: {1.1**depth:.2f}")

# %% [markdown]
# That is a **residual connection**. The layer need not produce the whole output, only the *difference* from its input; and to do nothing, it outputs zeros.
#
# The chain no longer fades. But it grows: 9.85 after 24 layers. Something has to keep the numbers in bounds.

# %% [markdown]
# **Layer normalisation** ([Ba et al., 2016](https://arxiv.org/abs/1607.06450)) gives each vector mean 0 and variance 1. Take $(1, 3, 5, 7)$:

# %%
x = [1.0, 3.0, 5.0, 7.0]
mean = sum(x) / 4
variance = sum((value - mean) ** 2 for value in x) / 4
normalised = [(value - mean) / variance**0.5 for value in x]
print("mean", mean, "variance", variance)
print("normalised", [round(value, 3) for value in normalised])

# %% [markdown]
# Multiply $x$ by 100, or add 50 to it: the result stays. Only the pattern within the vector counts:

# %%
norm = nn.LayerNorm(4)
x = torch.tensor(x)
for name, vector in (("x", x), ("100 x", 100 * x), ("x + 50", x + 50)):
    close = torch.allclose(norm(vector), torch.tensor(normalised), atol=1e-4)
    print(f"nn.LayerNorm of {name:6} = the numbers above: {close}")

# %% [markdown]
# ## The equations
#
# A small $\varepsilon$ keeps a vector of equal numbers from being divided by 0. A learned weight $\gamma$ and bias $\beta$, one number for each feature, then let the model choose how large each feature is and where its middle lies:
#
# $$\mathrm{LayerNorm}(x) = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \cdot \gamma + \beta, \qquad \mu = \tfrac1d \textstyle\sum_i x_i, \quad \sigma^2 = \tfrac1d \sum_i (x_i - \mu)^2$$
#
# Where does it stand? There are two schools.

# %% [markdown]
# ![Three columns, from bottom to top. Alone: x through the sub-layer. Post-norm: x through the sub-layer and around it, added, then normalised. Pre-norm: x is normalised and goes through the sub-layer; x itself goes around both and is added.](../img/04_blocks.svg)

# %% [markdown]
# **Post-norm** is the paper's: add, then normalise. **Pre-norm** ([Xiong et al., 2020](https://arxiv.org/abs/2002.04745)) normalises what the sub-layer sees, and leaves the way around it free:

# %%
class PostNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, sublayer):
        return self.norm(x + sublayer(x))


class PreNorm(PostNorm):
    def forward(self, x, sublayer):
        return x + sublayer(self.norm(x))


def end_of(wrap):  # the sum of a pre-norm stack is normalised once, at its end
    return nn.LayerNorm(32) if issubclass(wrap, PreNorm) else nn.Identity()

# %% [markdown]
# The same 24 layers, the same hundred steps, with a way around each sub-layer:

# %%
torch.manual_seed(0)
many = loss_after_training(Stack(24, PreNorm), end_of(PreNorm))
print("24 layers, pre-norm, loss below 1.0:", many < 1.0)

# %% [markdown]
# ## Look
#
# What happens inside, before the first step of training? We send random vectors up, a random gradient down, and take the norm at every layer: of the **activations** (what a layer puts out), and of the gradient with respect to them. Both are relative to where they enter the stack:

# %%
from transformer_lab import widgets
from transformer_lab.widgets.depth import norms_by_layer

kinds = {"alone": Alone, "post-norm": PostNorm, "pre-norm": PreNorm}
depths = [2, 4, 6, 8, 12, 16, 24, 32, 48]


def norms(depth, wrap):
    """Norms of the activations and of the gradients, at the input and after each layer."""
    states = Stack(depth, wrap)(torch.randn(8, 10, 32, requires_grad=True))
    return norms_by_layer(states, output=end_of(wrap)(states[-1]))


torch.manual_seed(0)
sweep = {kind: {depth: norms(depth, wrap) for depth in depths} for kind, wrap in kinds.items()}

# %%
figure, panels = plots.figure(width=9, height=3.8, columns=2)
for ax, part, what in zip(panels, (0, 1), ("activations", "gradient")):
    curves = {kind: by_depth[24][part] for kind, by_depth in sweep.items()}
    plots.plot_lines(range(25), curves, ax, x_label="layer", log_y=True)
    ax.set_ylabel(f"relative norm: {what}")
plots.show(figure, alt="Norms in 24 layers. Alone: both fade a million-fold. Else: nearly flat.")

# %% [markdown]
# Read the left panel from left to right, the way up, and the right one from right to left, the way down. Alone, both fade at every layer. With a residual they stay in sight. At other depths, too? The same for stacks of 2 to 48 layers:

# %%
widgets.depth(sweep).predict(
    "Alone, a share g of the gradient gets through 24 layers. And through 48?",
    ["about g / 2", "about g / 24", "about g · g"],
    "about g · g",
    "each layer takes the same share again: a straight line on a logarithmic axis.",
)

# %% [markdown]
# Hide *alone*, and the axes open up for the other two. Now in numbers, for the gradient that reaches the first layer:

# %%
reach = {k: {depth: n[1][0].item() for depth, n in sweep[k].items()} for k in kinds}
powers = [torch.tensor(reach["alone"][depth]).log10().item() for depth in (24, 48)]
print("alone, 24 layers: below 1e-4:      ", reach["alone"][24] < 1e-4)
print("48 layers: about twice the powers: ", 1.5 < powers[1] / powers[0] < 2.5)
print("post-norm, always above 0.02:      ", min(reach["post-norm"].values()) > 0.02)
print("pre-norm, always between 1 and 30: ", all(1 < g < 30 for g in reach["pre-norm"].values()))
growth = sweep["pre-norm"][24][0][-1].item()
print("pre-norm activations grow 3- to 9-fold in 24 layers:", 3 < growth < 9)

# %% [markdown]
# Post-norm keeps the activations at one size. Pre-norm lets them grow, about as $\sqrt{\text{depth}}$ (Xiong et al., Lemma 2): each sub-layer adds something of about equal size, and random vectors add up like that. That is why a pre-norm stack needs one more norm at its end.

# %% [markdown]
# ## Where words keep their place
#
# A residual does more than save the gradient. Attention *averages*, and an average forgets which token it was made for. How different are the ten outputs of a sentence still? We measure each one's distance from their common mean, relative to its size:

# %%
def difference_of_tokens(depth, wrap):
    x = Stack(depth, wrap)(torch.randn(8, 10, 32))[-1]
    return ((x - x.mean(dim=1, keepdim=True)).norm() / x.norm()).item()


torch.manual_seed(0)
print("alone, 6 layers: below 0.001:    ", difference_of_tokens(6, Alone) < 0.001)
print("pre-norm, 6 layers: above 0.3:   ", difference_of_tokens(6, PreNorm) > 0.3)
print("pre-norm, 48 layers: above 0.1:  ", difference_of_tokens(48, PreNorm) > 0.1)
print("post-norm, 48 layers: below 0.01:", difference_of_tokens(48, PostNorm) < 0.01)

# %% [markdown]
# Alone, all ten tokens are nearly the same vector after six layers ([Dong et al., 2021](https://arxiv.org/abs/2103.03404), prove it for attention). What stood where is lost, and nothing above can bring it back. With residuals each token carries its own vector on, its place included. Fresh post-norm stacks lose it too, if they are very deep: every norm takes a share of the input away.

# %% [markdown]
# ## The residual stream
#
# In a pre-norm stack nothing ever touches the way around. So its output is the input plus what each sub-layer has added:
#
# $$x_{2L} = x_0 + \sum_{l=1}^{2L} \mathrm{Sublayer}_l(\mathrm{LayerNorm}(x_{l-1}))$$
#
# Let each block note its contribution:

# %%
class Noting(PreNorm):
    def forward(self, x, sublayer):
        self.contribution = sublayer(self.norm(x))
        return x + self.contribution


torch.manual_seed(0)
stack, x = Stack(12, Noting), torch.randn(2, 5, 32)
output = stack(x)[-1]
contributions = [block.contribution for block in stack.around]
print("contributions:", len(contributions))
print("input + contributions = output:", torch.allclose(x + sum(contributions), output, atol=1e-5))

# %% [markdown]
# Hence the name **residual stream** ([Elhage et al., 2021](https://transformer-circuits.pub/2021/framework/index.html)): a channel from which every sub-layer reads and into which it adds. In lesson 02 the heads of a layer added up; here the layers do.

# %% [markdown]
# ## Warm-up
#
# Post-norm and pre-norm differ in one more place. Xiong et al. (Theorem 1) bound the gradient for the weights of the *last* of $L$ layers in a fresh stack: for post-norm the bound is the same at every depth, for pre-norm it shrinks like $1/\sqrt{L}$. Measured:

# %%
def gradient_of_last_weights(depth, wrap):
    stack, end, x = Stack(depth, wrap), end_of(wrap), torch.randn(32, 10, 32)
    loss = (end(stack(x)[-1]) * torch.randn_like(x)).sum(-1).mean()
    (gradient,) = torch.autograd.grad(loss, stack.feed_forward[-1].w_1.weight)
    return gradient.norm().item()


torch.manual_seed(0)
post, pre = ([gradient_of_last_weights(d, w) for d in depths[::2]] for w in (PostNorm, PreNorm))
print("post-norm, 2 to 48 layers: changes less than 2-fold:", max(post) < 2 * min(post))
print("pre-norm, 2 to 48 layers: falls 3- to 8-fold:       ", 3 < pre[0] / pre[-1] < 8)

# %% [markdown]
# From 2 to 48 layers that bound falls by a factor of $\sqrt{48/2} = 4.9$. Their reading: with large gradients, full steps while all weights are still random do harm. The cure of 2017 is **warm-up**: let the step size grow from near 0 over the first steps (§5.3; lesson 07 has the formula). Twelve layers, with and without 50 steps of it:

# %%
def loss_of(wrap, warm_up=1, stack=Stack):
    torch.manual_seed(1)
    return loss_after_training(stack(12, wrap), end_of(wrap), warm_up)


bare, warmed, pre = loss_of(PostNorm), loss_of(PostNorm, warm_up=50), loss_of(PreNorm)
print("post-norm without warm-up: below 2.15:      ", bare < 2.15)
print("post-norm with warm-up: lower by 0.1 or more:", warmed < bare - 0.1)
print("pre-norm without warm-up: below 1.0:        ", pre < 1.0)

# %% [markdown]
# Post-norm hardly learns without warm-up and begins to with it. Pre-norm does not ask for any, and is far ahead after the same hundred steps. That is one reason why GPT-2 and most large language models after it are pre-norm. It does not make post-norm wrong: the paper trained six layers, with 4000 steps of warm-up.

# %% [markdown]
# ## Break it: a sum without the input
#
# Two wrong residuals from published code. The first computes the sub-layer's result, calls it `x`, and adds it to *itself*. There is a sum, there is a norm, all shapes are right:

# %%
class AddedToItself(PostNorm):
    def forward(self, x, sublayer):
        result = sublayer(x)
        return self.norm(result + result)


torch.manual_seed(0)
print("still guessing after 100 steps, loss above 2.25:", loss_of(AddedToItself) > 2.25)

block, x = AddedToItself(32), torch.randn(2, 5, 32)
without = block.norm(F.relu(x))
print("the same as no residual at all:", torch.allclose(block(x, F.relu), without, atol=1e-3))

# %% [markdown]
# The norm takes the factor 2 off again, so what remains is a stack without residuals: it costs everything.

# %% [markdown]
# ## Break it: one norm for two
#
# The second mistake is a slip of the pen: both sub-layers of a layer use the *first* norm.

# %%
class NormReused(Stack):
    def __init__(self, depth, wrap):
        super().__init__(depth, wrap)
        self.spare = self.around[1::2]
        self.around = nn.ModuleList([self.around[i - i % 2] for i in range(2 * depth)])


torch.manual_seed(0)
stack = NormReused(12, PreNorm)
stack(torch.randn(2, 5, 32))[-1].square().sum().backward()
idle = sum(block.norm.weight.grad is None for block in stack.spare)
print("norms that no gradient reaches:", idle, "of", 2 * 12)
print("and yet it learns, loss below 1.0:", loss_of(PreNorm, stack=NormReused) < 1.0)

# %% [markdown]
# It costs nothing that you could see in the loss of a hundred steps. A test sees it. **After one backward pass every parameter must have a gradient**; half of these norms have none.

# %% [markdown]
# ## Why not batch normalisation?
#
# **Batch normalisation** ([Ioffe & Szegedy, 2015](https://arxiv.org/abs/1502.03167)) takes mean and variance of each *feature*, over all tokens of the batch; layer normalisation takes them of each *token*, over its features. Sentences differ in length, so short ones are filled up with **padding**, zeros here. The same three words, in batches filled up to more and more places:

# %%
def batch_norm(x):  # (B, T, d_model), in training
    return F.batch_norm(x.flatten(0, 1), None, None, training=True).reshape(x.shape)


torch.manual_seed(0)
words, other = torch.randn(1, 3, 16) + 1, torch.randn(1, 12, 16) + 1
for name, normalise in (("layer", nn.LayerNorm(16)), ("batch", batch_norm)):
    outputs = []
    for length in (3, 6, 12):
        batch = torch.cat([F.pad(words, (0, 0, 0, length - 3)), other[:, :length]])
        outputs.append(normalise(batch)[0, :3])
    same = all(torch.allclose(output, outputs[0], atol=1e-5) for output in outputs)
    print(f"{name} norm: the three words come out alike in all batches: {same}")

# %% [markdown]
# With batch normalisation, what your words become depends on how long your neighbour's sentence is, and on zeros that mean nothing. And on how *many* neighbours there are: a mean over few tokens is a poor estimate. One token among 3, 15 or 127 others, drawn 200 times:

# %%
def layer_norm_of(x):
    return F.layer_norm(x, x.shape[-1:])


def spread(normalise, batch_size):
    """How much one token's output varies with the others in its batch, over 200 batches."""
    token = torch.ones(200, 1, 1, 16)
    batches = torch.cat([token, torch.randn(200, batch_size - 1, 1, 16)], dim=1)
    return torch.stack([normalise(batch)[0, 0] for batch in batches]).std(0).mean().item()


torch.manual_seed(0)
at_4, at_16, at_128 = (spread(batch_norm, size) for size in (4, 16, 128))
print("batch norm, 128 tokens: spread below 0.2:          ", at_128 < 0.2)
print("batch norm, 16 tokens: more than twice that of 128:", at_16 > 2 * at_128)
print("batch norm, 4 tokens: larger than at 16 again:     ", at_4 > 1.2 * at_16)
print("layer norm, 4 tokens: none at all:                 ", spread(layer_norm_of, 4) < 1e-6)

# %% [markdown]
# That is fatal for a model trained on eight long sentences and used on a single short one. Batch normalisation has a remedy, averages that it remembers from training; but then it computes something else in training than in use. Layer normalisation computes the same in both, for every token alone.

# %% [markdown]
# ## Each position alone
#
# The other sub-layer, the feed-forward network, treats positions as layer normalisation does: one by one. The paper calls it two **convolutions with kernel size 1** (§3.3): a convolution slides a small matrix along the sequence, and a kernel of size 1 sees one position at a time. Copy the weights:

# %%
torch.manual_seed(0)
ffn = FeedForward(d_model=32, d_ff=128)
first, second = nn.Conv1d(32, 128, kernel_size=1), nn.Conv1d(128, 32, kernel_size=1)
with torch.no_grad():
    for convolution, linear in ((first, ffn.w_1), (second, ffn.w_2)):
        convolution.weight.copy_(linear.weight[:, :, None])  # (out, in) -> (out, in, 1)
        convolution.bias.copy_(linear.bias)

# %%
x = torch.randn(2, 5, 32)
convolved = second(F.relu(first(x.transpose(1, 2)))).transpose(1, 2)  # Conv1d wants (B, d, T)
print("feed-forward = two convolutions:", torch.allclose(ffn(x), convolved, atol=1e-4))

changed = x.clone()
changed[:, 2] += 1
moved = (ffn(changed) - ffn(x)).abs().amax(dim=(0, 2)) > 1e-6
print("positions that change when position 2 does:", moved.nonzero().flatten().tolist())

# %% [markdown]
# ## The same in the package and in PyTorch
#
# The package's blocks are `Residual` (post-norm) and `PreNormResidual`. They also have dropout (lesson 03), which in training sets a random share of the sub-layer's output to 0 before the sum (§5.4). Its default here is 0:

# %%
from transformer_lab import LayerNorm, PreNormResidual, Residual, layer_norm

torch.manual_seed(0)
x, ours, theirs = torch.randn(2, 5, 32), LayerNorm(32), nn.LayerNorm(32)
nn.init.normal_(ours.weight), nn.init.normal_(ours.bias)
theirs.load_state_dict(ours.state_dict())
print("LayerNorm = nn.LayerNorm:", torch.allclose(ours(x), theirs(x), atol=1e-5))
by_formula = layer_norm(x, ours.weight, ours.bias, ours.eps)
print("layer_norm (the formula) = LayerNorm:", torch.allclose(by_formula, ours(x), atol=1e-5))
for block, own in ((Residual(32), PostNorm(32)), (PreNormResidual(32), PreNorm(32))):
    print(type(block).__name__, "= ours:", torch.allclose(block(x, ffn), own(x, ffn), atol=1e-5))

# %% [markdown]
# And a whole layer of the left tower in the map of lesson 00, the *encoder*: attention and feed-forward, each in its block, against PyTorch's. `norm_first` chooses the kind in both:

# %%
from transformer_lab import EncoderLayer, TransformerConfig
from transformer_lab.interop import copy_to_torch

for norm_first in (False, True):
    config = TransformerConfig(d_model=32, n_heads=4, d_ff=128, dropout=0, norm_first=norm_first)
    layer, kind = EncoderLayer(config), {"norm_first": norm_first, "batch_first": True}
    theirs = nn.TransformerEncoderLayer(32, 4, 128, dropout=0.0, **kind)
    copy_to_torch(layer, theirs)
    close = torch.allclose(layer(x, None), theirs(x), atol=1e-4)
    print(f"norm_first={norm_first!s:5}: EncoderLayer = nn.TransformerEncoderLayer: {close}")

# %% [markdown]
# ## Exercises
#
# **1.** Layer normalisation, for any number of leading axes.

# %% exercise="layer_norm"
def layer_norm(x, weight, bias, eps):
    """(x - mean) / √(variance + eps) · weight + bias, over the last axis."""
    return ...

# %%
exercises.layer_norm.check(layer_norm)

# %% [markdown]
# **2.** Both kinds of block in one function. `sublayer` and `norm` are functions handed in: you call them.

# %% exercise="residual_block"
def residual_block(x, sublayer, norm, norm_first):
    """Post-norm if not norm_first, else pre-norm."""
    return ...

# %%
exercises.residual_block.check(residual_block)

# %% [markdown]
# ## Remember
#
# - $x + \mathrm{Sublayer}(x)$: the derivative has a 1 in it, and tokens stay themselves, however deep the stack.
# - Layer norm: each token over its own features, variance divided by $d$, $\varepsilon$ under the root.
# - Post-norm: add, then normalise; it wants warm-up. Pre-norm: normalise what the sub-layer sees.
# - A pre-norm output is its input plus all contributions, and is normalised once at the end.
# - After a backward pass, every parameter must have a gradient.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. All weights of all sub-layers are 0. What does a pre-norm stack compute, before its last norm?</summary>
# The identity: every sub-layer adds zeros.
# </details>
# <details><summary>2. The sub-layer of a post-norm block gives zeros. You multiply the block's input by 10. What happens to its output?</summary>
# Nothing (but for ε): the norm takes the factor off.
# </details>

# %% [markdown]
# <details><summary>3. How many parameters has a LayerNorm of d_model = 512?</summary>
# 2 · 512 = 1024: a weight and a bias for each feature.
# </details>
# <details><summary>4. A model gives other answers when it runs with a batch of one. Which norm do you suspect?</summary>
# Batch normalisation in training mode: its means come from the batch. Layer norm never looks at the others.
# </details>

# %% [markdown]
# **Next:** a stack that learns. But so far every token sees every other, the padding and the future, too. [Lesson 05](05_masking.ipynb) hides what must not be seen.
