# %% [markdown]
# # 02 · Multi-head attention
#
# In this lesson one large attention becomes several small ones, which stand side by side and each look for something of their own.
#
# **You will be able to**
# - say what several heads make easy that is hard for one, and measure it,
# - split and merge heads without mixing up tokens, and test that you have not,
# - copy weights between a list of heads, one fused layer and PyTorch's module.
#
# **You need** [lesson 01](01_attention.ipynb). **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 3.2.2. **Time:** 50 minutes, the exercises 55 more.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import torch
import torch.nn.functional as F
from torch import nn

from transformer_lab import analysis, default_device, exercises, plots, widgets
from transformer_lab.nn import attention
from transformer_lab.nn.attention import AttentionHead, MultiHeadAttention
from transformer_lab.training import load_checkpoint, translate
from transformer_lab.weights.torch_nn import copy_to_torch

if default_device().type != "cpu":  # the CPU is the default; asking for it costs time
    torch.set_default_device(default_device())


def rounded(x, digits=2):
    """The numbers of a tensor as a list, rounded: what this lesson prints."""
    return (x.detach().double().cpu() * 10**digits).round().div(10**digits).tolist()
# %% [markdown]
# ## The question
#
# A word often has to look at *two* others for different reasons, perhaps at its neighbour for the grammar and at a distant word for the meaning. But a single attention has only one row of weights to do both. Suppose that a word has to fetch the two words before it, which are *red, car* in one sentence and *car, red* in another:

# %%
red, car = torch.eye(2)  # a vector for each word
half = torch.tensor([0.5, 0.5])  # one row of weights that fetches both alike

print("red, car:", rounded(half @ torch.stack([red, car])))
print("car, red:", rounded(half @ torch.stack([car, red])))
# %% [markdown]
# The two outputs are equal, because the values have been blended into one average, and nothing in an average tells you which part came from where. We could make the weights uneven, say 0.7 and 0.3. That does leave a trace of the order, but only by turning one of the two values down.
#
# Two attentions side by side, each with its own weights, have no such trouble:

# %%
one, two = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
for name, values in (("red, car", torch.stack([red, car])), ("car, red", torch.stack([car, red]))):
    print(f"{name}:", rounded(torch.cat([one @ values, two @ values])))
# %% [markdown]
# Each of the two is a head, as you know it from lesson 01. Two heads of full width would cost twice as much as one, so the paper makes them smaller: each of $h$ heads works on vectors of only $d_{head} = d_{model}/h$ numbers. "Due to the reduced dimension of each head, the total computational cost is similar to that of single-head attention with full dimensionality" (§3.2.2).
#
# A small head sees less of each word than a large one. So what do we gain? **Why several small heads rather than one large one?**

# %% [markdown]
# ## By hand
#
# Let us first see what it means that the heads divide a vector among themselves. A token is one item of a sequence, here a whole word. Take two tokens with four features, and two heads with two features each: head 0 owns the first block of features, head 1 the second. To keep the example small we leave out all the matrices, so that head 0 compares the tokens by their first two features, and hands over these two:

# %%
x = torch.tensor([[1.0, 0.0, 0.0, 2.0], [1.0, 0.0, 2.0, 0.0]])

outputs = []
for number, block in enumerate([x[:, 0:2], x[:, 2:4]]):
    output, weights = attention.scaled_dot_product_attention(block, block, block)
    outputs.append(output)
    print(f"head {number}: weights of token 0 {rounded(weights[0], 3)}")
# %% [markdown]
# To head 0 both tokens look alike, so it looks at both of them evenly. To head 1 they are at right angles, so token 0 looks mostly at itself: its score there is $2\cdot2/\sqrt2 = 2.83$, while the score of the other token is 0. The two heads see the same tokens in two different ways.
#
# Each head puts out two features. Side by side they make four again:

# %%
print("output of token 0:", rounded(torch.cat(outputs, dim=-1)[0], 3))
# %% [markdown]
# ## The equation
#
# A real head does not have to take its block of features as it finds it. In front of each head stand its learned **projections**, the products with its own $W^Q$, $W^K$ and $W^V$, so that it can choose what to compare and what to pass on. Behind all the heads stands one more matrix, $W^O$, which mixes what they have found:
#
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O$$
#
# $$\mathrm{head}_i = \mathrm{Attention}(Q W^Q_i,\; K W^K_i,\; V W^V_i)$$
#
# (The paper counts heads from 1, the code from 0.)
#
# ![The features of each token are projected and split into h blocks, one for each head; each head attends by itself; their outputs are put side by side and multiplied by W_O.](../img/02_heads.svg)

# %% [markdown]
# Written as a list of the heads of lesson 01, the code reads just like the formula, except that each `nn.Linear` adds a bias:

# %%
class ListOfHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        d_head = d_model // n_heads
        self.heads = nn.ModuleList([AttentionHead(d_model, d_head) for _ in range(n_heads)])
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value):
        outputs = [head(query, key, value)[0] for head in self.heads]
        return self.w_o(torch.cat(outputs, dim=-1))


torch.manual_seed(0)
listed = ListOfHeads(d_model=12, n_heads=3)
x = torch.randn(2, 5, 12)
print("(B, T, d_model) in:", tuple(x.shape), "and out:", tuple(listed(x, x, x).shape))
# %% [markdown]
# This is correct, but the loop makes $h$ small products one after the other, where a single large one could do the same. So in practice the $h$ matrices of size $d_{model} \times d_{head}$ are stacked into one of size $d_{model} \times d_{model}$, and the heads become an *axis* of the tensor:
#
# | step | shape |
# |---|---|
# | input | $(B, T, d_{model})$ |
# | project by $W^Q$, $W^K$, $W^V$ | $(B, T, d_{model})$ |
# | cut the features into blocks | $(B, T, h, d_{head})$ |
# | move the heads in front of the tokens | $(B, h, T, d_{head})$ |
# | scores and weights | $(B, h, T, S)$ |
# | output of each head | $(B, h, T, d_{head})$ |
# | heads side by side again, then $W^O$ | $(B, T, d_{model})$ |
#
# For keys and values, read $S$ in place of $T$. The package's `split_heads` does what the third and the fourth line of the table say, and its `merge_heads` leads back. Here is what becomes of the 12 features of each token, with three heads:

# %%
split = attention.split_heads(x, 3)
print("split:", tuple(split.shape), "and merged again:", tuple(attention.merge_heads(split).shape))
for head, start in enumerate((0, 4, 8)):
    equal = torch.equal(split[:, head], x[:, :, start : start + 4])
    print(f"head {head} holds the features {start} to {start + 3} of every token:", equal)
print("merging undoes splitting:", torch.equal(attention.merge_heads(split), x))
# %% [markdown]
# **Exercise 1** (5 minutes, easy). Split the features of each token into heads, so that head $i$ owns the $i$-th block. Follow the table.

# %% exercise="split_heads"
def split_heads(x, n_heads):
    """(B, T, d_model) -> (B, h, T, d_head)."""
    return ...
# %%
exercises.split_heads.check(split_heads)
# %% [markdown]
# **Exercise 2** (5 minutes, easy). Now write the way back: put the heads of each token side by side.

# %% exercise="merge_heads"
def merge_heads(x):
    """(B, h, T, d_head) -> (B, T, d_model), the inverse of split_heads."""
    return ...
# %%
exercises.merge_heads.check(merge_heads)
# %% [markdown]
# **Exercise 3** (predict; 5 minutes, easy). Once the heads are split, where does a number stand? Give the head, the row and the column of `x[0, token, feature]`, and work it out on paper: whoever splits a tensor and looks predicts nothing.

# %% exercise="place_in_heads"
def place_in_heads(token, feature, length, d_model, n_heads):
    """(head, row, column) of x[0, token, feature], counted from 0."""
    return ...
# %%
exercises.place_in_heads.check(place_in_heads)
# %% [markdown]
# The package's layer with all heads is `MultiHeadAttention`. It holds the four matrices and adds a bias to each product, as PyTorch's module does, although the formula of the paper has none; the biases start at 0. Where are its heads? `nn.Linear` stores its matrix transposed, so a block of *columns* of $W^Q$, which belongs to one head, is a block of *rows* of `w_q.weight`. Let us compute head 1 by itself from its block, for the first sentence, and look for it in the layer:

# %%
fused = MultiHeadAttention(d_model=12, n_heads=3)
sentence, block = x[0], slice(4, 8)  # the features of head 1
query, key, value = (sentence @ w.weight[block].T for w in (fused.w_q, fused.w_k, fused.w_v))
_, weights = attention.scaled_dot_product_attention(query, key, value)

of_layer = fused(x, x, x, need_weights=True)[1]  # (B, h, T, S)
print("weights of one head", tuple(weights.shape), "and of the layer", tuple(of_layer.shape))
difference = (of_layer[0, 1] - weights).abs().max()
print(f"this head = head 1 of the layer, max difference < 1e-6: {difference < 1e-6}")
# %% [markdown]
# Is the whole layer really the same as the list of heads? To find out, we copy the weights. Head $i$ of the list owns rows $i \cdot d_{head}$ to $(i+1) \cdot d_{head} - 1$ of the stacked weight, so we stack the weights of the heads, each below the one before:

# %%
with torch.no_grad():
    for name in ("w_q", "w_k", "w_v"):
        stacked, parts = getattr(fused, name), [getattr(head, name) for head in listed.heads]
        stacked.weight.copy_(torch.cat([part.weight for part in parts]))
        stacked.bias.copy_(torch.cat([part.bias for part in parts]))
    fused.w_o.load_state_dict(listed.w_o.state_dict())

difference = (listed(x, x, x) - fused(x, x, x)[0]).abs().max()
print(f"list of heads = fused, max difference < 1e-6: {difference < 1e-6}")
# %% [markdown]
# **Exercise 4** (15 minutes). Write all of it, for a batch, and with queries that may come from another sequence than keys and values. Each `w` is a matrix of $(d_{model}, d_{model})$, applied as `x @ w`; there are no biases. You may call your own functions.

# %% exercise="multi_head_attention"
def multi_head_attention(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    """Concat(head_1, …, head_h) W_O; returns the output, (B, T, d_model)."""
    return ...
# %%
exercises.multi_head_attention.check(multi_head_attention)
# %% [markdown]
# ## Look
#
# What could a head look for? Here are two heads whose weights we choose by hand. Each token is a one-hot word beside a one-hot position (**one-hot** means a single 1 among zeros). Head 0 compares words. Head 1 asks for the position *before* its own, so its queries are the positions, shifted by one. The factor 8 makes the weights sharp, as in lesson 01; in a trained head it is part of $W^Q$ and $W^K$.

# %%
words = "the cat saw the dog chase the cat".split()
vocabulary, n = sorted(set(words)), len(words)
word = torch.eye(len(vocabulary))[[vocabulary.index(w) for w in words]]
position = torch.eye(n)

_, same_word = attention.scaled_dot_product_attention(8 * word, word, word)
one_back = position.roll(1, dims=0)
one_back[0] = position[0]  # the first word has none before it, so it asks for itself
_, before = attention.scaled_dot_product_attention(8 * one_back, position, position)
# %% [markdown]
# **Predict** the row of the last *cat* in head 0 and in head 1. Answer the question first, then choose a head and look:

# %%
view = widgets.attention(torch.stack([same_word, before]), query_tokens=words, key_tokens=words)
view.ask("02 cats")
# %% [markdown]
# <details><summary>After you have looked</summary>
# Head 0 spreads over both <i>cats</i>, because the same word has the same vector wherever it stands; the other six words share what is left. Head 1 puts 0.71 on the word before.
# </details>
#
# Heads like these are more than a thought experiment. Heads for the previous token, and heads for an earlier copy of the same token, have been found in trained language models ([Elhage et al., 2021](https://transformer-circuits.pub/2021/framework/index.html); [Wang et al., 2022](https://arxiv.org/abs/2211.00593)).

# %% [markdown]
# **Exercise 5** (set the weights; 15 minutes, medium). Build a head that looks one token back with a weight of at least 0.9, without any training. `positions` has one row for each position: unit vectors at right angles to one another, for instance one-hot. What must a query be, so that it fits the key of the position before?

# %% exercise="look_back_one"
def look_back_one(positions):
    """(w_q, w_k), (d_model, d_model) each: position t attends to t - 1."""
    return ...
# %%
exercises.look_back_one.check(look_back_one)
# %% [markdown]
# **Exercise 6** (set the weights; 10 minutes, medium). Build two heads, one that looks back and one that looks ahead. A single head can't do both with a weight of 0.9 each, because its weights sum to 1.

# %% exercise="look_both_ways"
def look_both_ways(positions):
    """[(w_q, w_k), (w_q, w_k)]: the first head attends to t - 1, the second to t + 1."""
    return ...
# %%
exercises.look_both_ways.check(look_both_ways)
# %% [markdown]
# And what do trained heads look like? The package comes with a small translator from English number names to German ones, of the kind that you train in lesson 07. Its words are cut into pieces, its queries come from the German that it writes, and its keys from the English that it reads. Here is each of its heads by itself. **Predict:** do the four heads of the last layer look at different things? Choose layers and heads, and compare.

# %%
model, tokenizer, _ = load_checkpoint("en_de")
english = "four hundred and twenty-one"
(german,) = translate(model, tokenizer, [english])
source, target = tokenizer.encode(english), tokenizer.encode(german)
src, tgt = torch.tensor([source]), torch.tensor([[tokenizer.bos_id, *target]])
trained = analysis.cross_attention(model, src, tgt)  # (layers, heads, T, S)

read = analysis.token_names(tokenizer, source)
written = analysis.token_names(tokenizer, [*target, tokenizer.eos_id])
widgets.attention(trained, query_tokens=written, key_tokens=read)
# %% [markdown]
# To say *how* different two heads are, we need a number. For each query, take the keys at which the first head has the larger weight, and add up by how much it is larger. The sum is 0 if their weights are the same and 1 if they have no token in common. Here is its mean over all queries, for all pairs of heads together and for the pair that differs most:

# %% tolerance=0.3
for layer, heads in enumerate(trained):
    gaps = (heads[:, None] - heads[None]).clamp(min=0).sum(-1).mean(-1)  # (h, h)
    pairs = gaps[~torch.eye(len(heads), dtype=torch.bool, device=gaps.device)]
    print(f"layer {layer}: mean difference {pairs.mean():.2f}, largest {pairs.max():.2f}")
    assert pairs.mean() > 0.1
# %% [markdown]
# In this sentence two heads of a layer differ in about half of their weight. They all start from different random weights and share a single loss. Is it this loss that drives them apart, or do they differ only because they started so? The translator can't tell us, because we did not see it start. So we train small models of our own, whose start we can choose, and come back to this question with them.

# %% [markdown]
# ## Why several heads: the experiment
#
# Now we put the question of the beginning to the test. A sequence holds 12 tokens of 8 kinds. The vector of each is a one-hot token beside a one-hot position, which makes 20 features. At each position the model must name two tokens, the one that stands 1 back and the one that stands 3 back. The model is one `MultiHeadAttention` and a linear layer that reads its output. Whether it has 1, 2 or 4 heads, it has exactly the same number of parameters.
#
# **Predict:** how often does it get both names right with a single head?

# %%
class Fetcher(nn.Module):
    """Attention, then perhaps a small network, then a linear layer that names the tokens."""

    def __init__(self, n_heads, n_fetched, network=False, by_position=False):
        super().__init__()
        self.attention, self.by_position = MultiHeadAttention(20, n_heads), by_position
        layers = nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 20)
        self.between = nn.Sequential(*layers) if network else nn.Identity()
        self.name = nn.Linear(20, 8 * n_fetched)

    def forward(self, x):
        x = x.to(self.name.weight.dtype)
        asks = x.index_fill(-1, torch.arange(8), 0.0) if self.by_position else x
        output, _ = self.attention(asks, asks, x)
        return self.name(self.between(output)).unflatten(-1, (-1, 8))  # (B, T, fetched, 8)


def sequences(size, back):
    tokens = torch.randint(8, (size, 12))
    x = torch.cat([F.one_hot(tokens, 8).float(), torch.eye(12).expand(size, -1, -1)], dim=-1)
    return x, torch.stack([tokens.roll(steps, dims=1) for steps in back], dim=-1)
# %%
def share_right(back, seed, n_heads, network=False, by_position=False, steps=150, before_step=None):
    """Train a Fetcher; the share of positions at which it then names all tokens correctly."""
    torch.manual_seed(seed)
    model, first = Fetcher(n_heads, len(back), network, by_position), max(back)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(steps):
        if before_step is not None:  # used in the last experiment
            before_step(model, step)
        x, target = sequences(32, back)
        logits = model(x)[:, first:]  # before `first` there is nothing to fetch
        loss = F.cross_entropy(logits.flatten(0, 2), target[:, first:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x, target = sequences(300, back)
    right = (model(x).argmax(-1) == target)[:, first:]
    return right.all(-1).float().mean().item()
# %% [markdown]
# We add two more comparisons. In one of them, a small *network* stands between a single head and the last linear layer, which shows whether a better reader helps. In the other the task is harder, since it asks for four tokens, those 1, 2, 3 and 5 back. The next cell trains 8 versions from three seeds each, in about 7 seconds:

# %%
models = {"1 head": (1,), "2 heads": (2,), "4 heads": (4,), "1 head, network": (1, True)}
tasks = {"two tokens": (1, 3), "four tokens": (1, 2, 3, 5)}
found = {task: {} for task in tasks}
for task, back in tasks.items():
    for name, model in models.items():
        found[task][name] = [share_right(back, seed, *model) for seed in (0, 1, 2)]
# %%
means = {task: [sum(runs) / 3 for runs in found[task].values()] for task in tasks}
ax = plots.plot_bars(means, list(models), y_label="positions with all right")
ax.set_ylim(0, 1.3)
ax.legend(ncols=2, frameon=False)
alt = "After 150 steps: two tokens with 2 heads, 4 or a network, four tokens with 4 heads."
plots.show(ax, alt=alt)
# %% tolerance=0.25
for task in tasks:
    for name, runs in found[task].items():
        model = Fetcher(models[name][0], len(tasks[task]), *models[name][1:])
        n_parameters = sum(p.numel() for p in model.parameters())
        print(f"{task:11} {name:16} {n_parameters} parameters: {min(runs):.2f} to {max(runs):.2f}")
two, four = found["two tokens"], found["four tokens"]
assert max(two["1 head"]) < 0.5 < 0.9 < min(two["2 heads"] + two["4 heads"])
assert min(two["1 head, network"]) > 0.8
assert max(four["2 heads"] + four["1 head, network"]) < 0.4 < min(four["4 heads"])
# %% [markdown]
# With the same number of parameters and the same 150 steps, two heads learn to fetch two tokens and four heads learn to fetch four. In this time a single head fetches two tokens only if a network helps to read them, and that network costs parameters. (For two tokens it was the same at the learning rates 0.01 and 0.05.)
#
# It is tempting to conclude that one head *cannot* fetch two tokens, because it blends them and the linear reader cannot undo a blend. But all we have seen is 150 steps of training. Before you believe such a "cannot", train for longer.

# %% [markdown]
# ## Unable, or only slow?
#
# We let the single head train for 4,000 steps. For comparison we train a second head just as long, which differs in one thing: its queries and keys see only the positions, so that its weights are the same in every sequence. This takes about 20 seconds.

# %% tolerance=0.25
short, long = (share_right((1, 3), 0, 1, steps=steps) for steps in (150, 4000))
fixed = share_right((1, 3), 0, 1, by_position=True, steps=4000)
print(f"1 head after   150 steps: {short:.2f}")
print(f"1 head after 4,000 steps: {long:.2f}")
print(f"1 head after 4,000 steps, its weights the same in every sequence: {fixed:.2f}")
assert short < 0.5 > fixed
assert long > 0.8

# %% [markdown]
# So one head *can* fetch both tokens here, but it is slow. After the 150 steps in which two heads learned the task, it still got only a quarter of the pairs right. It has to find a trick: it lets its weights depend on the tokens, so that of two kinds the same one gets the larger share wherever it stands, and the positions, which are blended along with the tokens, tell where that share came from. The head whose weights cannot depend on the tokens never gets there, and for such a head with a linear reader the impossibility is real, as the two boxes prove.

# %% [markdown]
# <details><summary>Proof: fixed weights and a linear reader cannot name both tokens (first half)</summary>
# Let the token with the larger weight <i>a</i> be of kind <i>i</i>, and the one with the smaller weight <i>b</i> of kind <i>j</i>. Suppose that a linear layer always names <i>j</i>, and let M<sub>kl</sub> be what kind <i>l</i>, with weight 1, adds to the logit of kind <i>k</i>. Then <i>j</i> beats <i>i</i>:
# <br>a M<sub>ji</sub> + b M<sub>jj</sub> > a M<sub>ii</sub> + b M<sub>ij</sub>.
# <br>If the tokens change places, <i>i</i> beats <i>j</i>:
# <br>a M<sub>ij</sub> + b M<sub>ii</sub> > a M<sub>jj</sub> + b M<sub>ji</sub>.
# <br>Added up and divided by a − b (with a = b the sum would say 0 > 0): M<sub>ij</sub> + M<sub>ji</sub> > M<sub>ii</sub> + M<sub>jj</sub>.
# </details>

# %% [markdown]
# <details><summary>The second half of the proof</summary>
# Let D be the sum of the N entries on the diagonal of M, and O that of all others. Summed over all pairs of different kinds, the first half says O > (N − 1) D.
# <br>But both tokens can also be of one kind <i>j</i>, and then <i>j</i> must beat every other kind <i>k</i>:
# <br>(a + b) M<sub>jj</sub> > (a + b) M<sub>kj</sub>.
# <br>Divided by a + b and summed over all pairs of different kinds, this says (N − 1) D > O, a contradiction. (A bias, and whatever the other tokens add, cancels in both sums.)
# </details>
# %% [markdown]
# The answer to our question is therefore not that one head can't. It is that several heads make it *easy*: with two heads each token arrives in its own features, the reader needs no trick, and training finds the solution at once.

# %% [markdown]
# Do the two heads divide the work only because they start from *different* random weights? On paper they do: two heads that are equal get equal gradients, so a copy would stay a copy for ever, although the loss would fall if the two parted.

# %% [markdown]
# How different must they be, then? We start head 1 as a copy of head 0 and add random numbers to its $W^Q$ alone, of about 0.01 in one case, which is a twentieth of the size of its entries, and of about $10^{-12}$ in another. In a third case we make the copy anew before each step, so that not even rounding can part the two. And we watch how far the two heads are apart while they train. We do all that in float64, because such small numbers would get lost in float32. The nine trainings take about a quarter of a minute:

# %%
def twins(apart, distances):
    """Copy head 0 into head 1 and add `apart` before the first step (if 0, copy before each)."""

    @torch.no_grad()
    def before_step(model, step):
        layer = model.double().attention
        if step == 0 or apart == 0:
            for linear in (layer.w_q, layer.w_k, layer.w_v):
                linear.weight[10:] = linear.weight[:10]  # rows 10 to 19 belong to head 1
            layer.w_o.weight[:, 10:] = layer.w_o.weight[:, :10]
        if step == 0:
            layer.w_q.weight[10:] += apart * torch.randn(10, 20)
        distances.append((layer.w_q.weight[10:] - layer.w_q.weight[:10]).abs().max().item())

    return before_step
# %%
starts = {"0.01 apart": 0.01, "1e-12 apart": 1e-12, "kept equal": 0}
apart, right = ({name: [[] for _ in range(3)] for name in starts} for _ in range(2))
for name, start in starts.items():
    for seed in (0, 1, 2):
        watch = twins(start, apart[name][seed])
        right[name][seed] = share_right((1, 3), seed, 2, steps=600, before_step=watch)
# %% tolerance=0.25
for name, runs in right.items():
    print(f"two tokens, 2 heads, {name:11}: {min(runs):.2f} to {max(runs):.2f}")
assert sorted(right["kept equal"])[1] < 0.5 < 0.9 < min(right["0.01 apart"] + right["1e-12 apart"])
# %%
curves = {name: apart[name][0] for name in starts if name != "kept equal"}
label = "largest difference in W_Q"
ax = plots.plot_lines(range(600), curves, x_label="step", y_label=label, log_y=True)
plots.show(ax, alt="Both differences grow until they are near 1; that of 1e-12 needs 500 steps.")
# %% [markdown]
# Copies that are kept equal do in these 600 steps what a single head did. (Like a single head, they may find its trick later on.) But a difference of $10^{-12}$ is enough to let them part, and then they do the task as well as two heads that had nothing in common.

# %% [markdown]
# The picture shows why so little is enough: from step 100 on the lower curve climbs nearly in a straight line, and on a logarithmic axis this means that the difference grows exponentially, by a factor of some hundreds in every hundred steps. That is why a start which is ten billion times smaller costs only about 400 steps more. Even rounding is such a start: if you make the copy once and add nothing, the two heads part in a computer, too, after 600 to 800 steps in float64 and on some processors within 300 in float32.
#
# For this model that answers the question: the loss drives the heads apart, and the random start only lets it begin. The translator's heads had such a start as well.

# %% [markdown]
# ## What each head adds
#
# We have treated the heads as if each had a place of its own in the output. But $W^O$ mixes them, so what is left of a single head behind it? Cut $W^O$ into $h$ blocks of rows. Then putting the outputs side by side and multiplying by $W^O$ turns out to be a sum, in which each head writes through its own block:
#
# $$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O = \sum_{i=1}^{h} \mathrm{head}_i\, W^O_i$$

# %%
q, k, v = (attention.split_heads(project(x), 3) for project in (fused.w_q, fused.w_k, fused.w_v))
heads, _ = attention.scaled_dot_product_attention(q, k, v)  # (B, h, T, d_head)
blocks = fused.w_o.weight.T.chunk(3)  # each (d_head, d_model)

parts = [head @ block for head, block in zip(heads.unbind(dim=1), blocks)]
difference = (sum(parts) + fused.w_o.bias - fused(x, x, x)[0]).abs().max()
print(f"sum of the heads' parts = output, max difference < 1e-6: {difference < 1e-6}")
ranks = [torch.linalg.matrix_rank(part.flatten(0, 1).cpu()).item() for part in parts]
print("rank of each part:", ranks)
# %% [markdown]
# So heads neither vote nor take turns. Each of them adds its part to the output, and leaving one out removes exactly its part.
#
# The **rank** of a matrix is the number of independent directions that its rows span. The part of a head has 10 rows here (two sentences of five tokens) with 12 features, but its rank is only 4, because everything that one head writes lies in $d_{head}$ of the $d_{model}$ directions. A head reads a few directions of one word, and writes into a few directions of another.

# %% [markdown]
# Compare four heads that are written by hand: one for all copies of the word, one for the word before, one for its own position, and one that looks evenly at all words. Each passes on the words that it looks at, weighted. Answer the question, then *leave out* one head after the other:

# %%
evenly = torch.full((n, n), 1 / n)
four = torch.stack([same_word, before, position, evenly])  # position: 1 on the diagonal

view = widgets.heads(four, query_tokens=words, key_tokens=words, contributions=four @ word)
view.ask("02 least")
# %% [markdown]
# <details><summary>After you have looked: why?</summary>
# Head 3 adds least, because an average of different words is short: three <i>the</i>, two <i>cat</i> and three other words, in eighths, have length √(9 + 4 + 1 + 1 + 1) / 8 = 0.5. Head 2 passes on one word, of length 1.
# </details>

# %% [markdown]
# The view can also sort heads by **entropy**, which says in bits how widely a row is spread: 0 bits if all the weight is on one key, and $\log_2 8 = 3$ bits if it is spread evenly over 8 keys. (*Diagonality* is near 1 if words look at themselves and their neighbours.) If you *show* head 0 *minus* head 1, you see where one of them looks more than the other.

# %% [markdown]
# ## Break it: the straight view
#
# Splitting heads took two steps, cutting the features and moving an axis. A single `reshape` also turns $(B, T, d_{model})$ into $(B, h, T, d_{head})$, and the shape comes out right. Do the numbers?

# %%
tokens = torch.arange(8.0).reshape(1, 2, 4)  # token 0 is 0 1 2 3, token 1 is 4 5 6 7
print("right:    head 0 holds", attention.split_heads(tokens, 2)[0, 0].int().tolist())
print("straight: head 0 holds", tokens.reshape(1, 2, 2, 2)[0, 0].int().tolist())
# %% [markdown]
# Head 0 should hold the first half of *each* token, 0 1 and 4 5. The straight view gives it the whole of token 0 instead, cut in two, and treats the halves as two tokens. Token 1 has gone to head 1.
#
# No test of shapes can notice this, but a test of a property can. If you shuffle the tokens, the outputs must be shuffled in the same way, since attention treats all tokens alike (lesson 01 proved it for one head):

# %% tolerance=0.2
order = torch.tensor([3, 0, 4, 1, 2])
straight = exercises.multi_head_attention.mistakes["split_by_straight_view"].function
matrices = [torch.randn(12, 12) / 12**0.5 for _ in range(4)]
errors = {}
for name, function in (("right", attention.multi_head_attention), ("straight view", straight)):
    output, shuffled = (function(s, s, s, *matrices, 3) for s in (x, x[:, order]))
    errors[name] = (shuffled - output[:, order]).abs().max().item()
    print(f"{name:13}: shape {tuple(output.shape)}, max difference {errors[name]:.2f}")
assert errors["right"] < 1e-5 < 0.1 < errors["straight view"]
# %% [markdown]
# The straight view passes the test of shapes and fails this one, because what its heads see depends on where in the sentence a token stands.

# %% [markdown]
# ## Break it: one projection for all heads
#
# Here is another way to save work. A single `nn.Linear` of width $d_{head}$, used for every head, has fewer parameters. But then all heads have the same $W^Q$, $W^K$ and $W^V$, so that they all compute the same thing:

# %%
shared = exercises.multi_head_attention.mistakes["identical_heads"].function
heads = shared(x, x, x, *matrices[:3], torch.eye(12), 3).chunk(3, dim=-1)
gaps = [(head - heads[0]).abs().max().item() for head in heads]
print("largest difference of each head from head 0:", gaps)
# %% [markdown]
# The three heads are one head, computed three times.

# %% [markdown]
# ## Are more heads more powerful?
#
# If two heads are better than one, why not take as many as possible? A head compares tokens by $(x W^Q_i)(y W^K_i)^\top = x\,(W^Q_i {W^K_i}^\top)\,y^\top$. The matrix in the middle is $d_{model} \times d_{model}$, but it is a product of two thin matrices, so its rank is at most $d_{head}$. A head can compare tokens in no more directions than that:

# %%
for n_heads in (1, 2, 8, 32):
    layer = MultiHeadAttention(64, n_heads)
    first_head = slice(64 // n_heads)
    w_q, w_k = layer.w_q.weight[first_head].cpu(), layer.w_k.weight[first_head].cpu()
    rank = torch.linalg.matrix_rank(w_q.T @ w_k).item()
    count = sum(parameter.numel() for parameter in layer.parameters())
    print(f"{n_heads:2} heads: rank {rank:2}, parameters {count:,}")
# %% [markdown]
# (If you see 63 for the single head, one of its 64 directions is so weak that it got lost in rounding.) At a fixed $d_{model}$ the number of parameters stays the same. With more heads you get more ways of looking, but each of them is poorer. The paper varied the number of heads in its translator (Table 3, rows A): "single-head attention is 0.9 BLEU worse than the best setting, quality also drops off with too many heads" (§6.2). (BLEU is a score of translations; lesson 07 explains it.)

# %% [markdown]
# ## Remember
#
# - A head is an attention of its own, in $d_{model}/h$ features; heads see the same tokens in different ways.
# - One head blends what it fetches, and before a linear layer can read the blend, the head needs a trick that is slow to learn. Several heads keep the pieces apart, with the same number of parameters.
# - To split: cut the features into blocks, *then* move the heads in front of the tokens.
# - The scale of a head is $1/\sqrt{d_{head}}$.
# - Through $W^O$ the heads' parts add up, and each part has rank $d_{head}$ at most.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. d_model is 512 and there are 8 heads. By what are the scores divided?</summary>
# By √64 = 8, because each head compares vectors of 512 / 8 = 64 features.
# </details>
# <details><summary>2. How many parameters does the layer have, with biases? And with 16 heads?</summary>
# It has 4 · (512² + 512) = 1 050 624, whatever the number of heads.
# </details>

# %% [markdown]
# <details><summary>3. Queries come from a sentence of 7 words, keys and values from one of 4. What is the shape of the output?</summary>
# It is (B, 7, d_model), one vector for each query. The weights are (B, h, 7, 4).
# </details>
# <details><summary>4. After 150 steps a model names a quarter of the tokens correctly. What do you know about what it can do?</summary>
# Only what it does after 150 steps. To claim more, you need a longer run or a proof.
# </details>

# %% [markdown]
# **Next:** shuffling the tokens only shuffled the outputs, so attention cannot tell *dog bites man* from *man bites dog*. [Lesson 03](03_positional_encoding.ipynb) gives every word a position.

# %% [markdown]
# ## Extra: how large are the first scores?
#
# Lesson 01 asked for scores with variance 1. With projections in front, that depends on how their weights start. **Xavier initialisation** ([Glorot & Bengio, 2010](https://proceedings.mlr.press/v9/glorot10a.html)) draws them with variance $2/(d_{in} + d_{out})$, which is $1/d_{model}$ here, so that a projection keeps the variance of its input. We compare it with the start that `nn.Linear` takes by default, and with weights of variance 1:

# %%
def first_scores(start, d_model=256):
    """How widely the first scores are spread, and the largest weight of a row, on average."""
    w_q, w_k = torch.empty(d_model, d_model), torch.empty(d_model, d_model)
    start(w_q)
    start(w_k)
    x = torch.randn(64, d_model)
    scores = (x @ w_q) @ (x @ w_k).T / d_model**0.5
    return scores.std().item(), F.softmax(scores, dim=-1).amax(-1).mean().item()


def default_of_linear(w):
    nn.init.kaiming_uniform_(w, a=5**0.5)
# %% tolerance=0.15
torch.manual_seed(0)
xavier, variance_1 = nn.init.xavier_uniform_, nn.init.normal_
starts = {"Xavier": xavier, "nn.Linear": default_of_linear, "variance 1": variance_1}
for name, start in starts.items():
    spread, largest = first_scores(start)
    print(f"{name:10}: standard deviation {spread:6.2f}, largest of 64 weights {largest:.2f}")
# %% [markdown]
# With Xavier the scores start with a standard deviation of about 1. With the default of `nn.Linear` they are a third as large, and all heads begin by looking almost evenly at everything: their largest weight, 0.03, is only twice an even share. With weights of variance 1 the rows are one-hot before the first step, and you have seen in lesson 01 what a saturated softmax does to learning.

# %% [markdown]
# ## Extra: the same in four other ways
#
# The layer is the same as the list of heads, as PyTorch's fused kernel, as `einsum`, and as PyTorch's own module. `copy_to_torch` copies weights from our modules to those of `torch.nn`, which keeps $W^Q$, $W^K$ and $W^V$ in one matrix, `in_proj_weight`:

# %%
theirs = nn.MultiheadAttention(embed_dim=12, num_heads=3, batch_first=True)
copy_to_torch(fused, theirs)


def by_einsum(x, layer):
    q, k, v = (p(x).unflatten(-1, (3, 4)) for p in (layer.w_q, layer.w_k, layer.w_v))
    weights = torch.einsum("bthd,bshd->bhts", q, k).div(4**0.5).softmax(dim=-1)
    return layer.w_o(torch.einsum("bhts,bshd->bthd", weights, v).flatten(-2))
# %%
expected, weights = fused(x, x, x, need_weights=True)  # line by line
output, their_weights = theirs(x, x, x, average_attn_weights=False)
pairs = {
    "fused kernel": (fused(x, x, x)[0], expected),
    "list of heads": (listed(x, x, x), expected),
    "einsum": (by_einsum(x, fused), expected),
    "torch.nn": (output, expected),
    "weights of torch.nn": (their_weights, weights),
}
# %%
for name, (found_output, wanted) in pairs.items():
    print(f"{name:20} max difference < 1e-6: {(found_output - wanted).abs().max() < 1e-6}")
# %% [markdown]
# ## Extra: two layouts, one function
#
# Some implementations, such as [GPT-NeoX](https://github.com/EleutherAI/gpt-neox), stack the matrices **head by head** ($Q_1 K_1 V_1\, Q_2 K_2 V_2 \dots$), where PyTorch stacks them **kind by kind** (all $Q$, all $K$, all $V$). Both compute the same if the rows are in the order that the code expects. If they are not, the weights load without an error, and the output is wrong:

# %% tolerance=0.2
by_kind = torch.cat([fused.w_q.weight, fused.w_k.weight, fused.w_v.weight])  # (3 · 12, 12)
rows = torch.arange(36).reshape(3, 3, 4)  # kind, head, feature
by_head = by_kind[rows.transpose(0, 1).flatten()]  # head, kind, feature


def read_head_by_head(stacked):
    q, k, v = attention.split_heads(x @ stacked.T, 3).chunk(3, dim=-1)
    heads, _ = attention.scaled_dot_product_attention(q, k, v)
    return fused.w_o(attention.merge_heads(heads))


errors = []
for name, stacked in (("rows put in order", by_head), ("rows as they were", by_kind)):
    errors.append((read_head_by_head(stacked) - expected).abs().max().item())
    print(f"{name}: max difference {errors[-1]:.2f}")
assert errors[0] < 1e-6 < 0.1 < errors[1]
