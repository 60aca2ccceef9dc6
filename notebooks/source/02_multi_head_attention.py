# %% [markdown]
# # 02 · Multi-head attention
#
# Several small attentions side by side, each with a question of its own.
#
# **You will be able to**
# - say what several heads can do that one cannot,
# - split and merge heads without mixing up tokens, and prove it,
# - copy weights between a list of heads, one fused layer and PyTorch's module.
#
# **You need** lesson 01. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 3.2.2. **Time:** 45 minutes.

# %%
import torch
from torch import nn

from transformer_lab import AttentionHead, MultiHeadAttention, default_device, exercises, widgets
from transformer_lab import scaled_dot_product_attention as attend

torch.set_default_device(default_device())

# %% [markdown]
# ## The question
#
# A word often has to look at *two* others, for different reasons: at its neighbour for the grammar, at a word far away for the meaning. One attention has one row of weights for it. Suppose a word must fetch *red* from one place and *car* from another:

# %%
red, car = torch.eye(2)  # a vector for each word
half = torch.tensor([[0.5, 0.5]])  # one row of weights that fetches both alike

first = half @ torch.stack([red, car])
swapped = half @ torch.stack([car, red])
print("what came from which place can still be told:", not torch.equal(first, swapped))

# %% [markdown]
# The two values are blended into one average, and nothing in it tells which came from where. Uneven weights leave a trace, but only by turning one of the two down; in the end they fetch one and lose the other.
#
# Two attentions side by side, each with weights of its own, keep them apart:

# %%
one, two = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])


def two_heads(values):
    return torch.cat([one @ values, two @ values], dim=-1)


first, swapped = two_heads(torch.stack([red, car])), two_heads(torch.stack([car, red]))
print("what came from which place can still be told:", not torch.equal(first, swapped))

# %% [markdown]
# Each such attention is a **head**. But two heads of full width cost twice as much. **Why several small heads rather than one large one?** The paper's answer: give each of $h$ heads only $d_{head} = d_{model}/h$ features, so that all together cost what one did.

# %% [markdown]
# ## By hand
#
# A **token** is one item of a sequence, here a word; a **feature** is one number of its vector. Take two tokens with four features, and two heads with two features each. Head 0 owns the first block of features, head 1 the second. Without any projection, head 0 compares the tokens by their first two features only:

# %%
x = torch.tensor([[1.0, 0.0, 0.0, 2.0], [1.0, 0.0, 2.0, 0.0]])
heads = [x[:, 0:2], x[:, 2:4]]

for number, block in enumerate(heads):
    output, weights = attend(block, block, block)
    print(f"head {number}: weights of token 0 {[round(w, 3) for w in weights[0].tolist()]}")

# %% [markdown]
# To head 0 both tokens look alike, so it looks at both evenly. To head 1 they are at right angles, so token 0 looks at itself: its score is $2\cdot2/\sqrt2 = 2.83$ against 0. The same two tokens, seen in two ways.
#
# Their outputs, two features each, go side by side and make four again:

# %%
output = torch.cat([attend(block, block, block)[0] for block in heads], dim=-1)
print("output of token 0:", [round(value, 3) for value in output[0].tolist()])

# %% [markdown]
# ## The equation
#
# In front of each head stand learned projections, and behind all of them one more, $W^O$, which mixes what the heads have found:
#
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O$$
#
# $$\mathrm{head}_i = \mathrm{Attention}(Q W^Q_i,\; K W^K_i,\; V W^V_i)$$

# %% [markdown]
# ![The features of each token are projected and split into h blocks, one for each head; each head attends by itself; their outputs are put side by side and multiplied by W_O.](../img/02_heads.svg)

# %% [markdown]
# Word for word, as a list of heads:

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
print("(B, T, d_model) in and out:", listed(x, x, x).shape == x.shape)

# %% [markdown]
# A loop over heads is slow: a GPU wants one large product, not many small ones. So the $h$ matrices of size $d_{model} \times d_{head}$ are stacked into one of size $d_{model} \times d_{model}$, and the heads become an *axis*:
#
# | step | shape |
# |---|---|
# | input | $(B, T, d_{model})$ |
# | project by $W^Q$, $W^K$, $W^V$ | $(B, T, d_{model})$ |
# | cut the features into blocks | $(B, T, h, d_{head})$ |
# | heads in front of tokens | $(B, h, T, d_{head})$ |
# | scores and weights | $(B, h, T, S)$ |
# | output of each head | $(B, h, T, d_{head})$ |
# | heads side by side again, and $W^O$ | $(B, T, d_{model})$ |
#
# For keys and values, read $S$ in place of $T$.

# %%
def split(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # (B, T, d_model) -> (B, h, T, d_head)


def merge(x):
    return x.transpose(1, 2).flatten(-2)  # (B, h, T, d_head) -> (B, T, d_model)


def multi_head(query, key, value, layer):
    q, k, v = layer.w_q(query), layer.w_k(key), layer.w_v(value)
    heads, weights = attend(*(split(part, layer.n_heads) for part in (q, k, v)))
    return layer.w_o(merge(heads)), weights


fused = MultiHeadAttention(d_model=12, n_heads=3)
same = torch.allclose(multi_head(x, x, x, fused)[0], fused(x, x, x)[0], atol=1e-6)
print("these lines = the package's MultiHeadAttention:", same)

# %% [markdown]
# Is it the same as the list? Copy the weights and see. Head $i$ of the list owns rows $i \cdot d_{head}$ to $(i+1) \cdot d_{head} - 1$ of the stacked matrix (`nn.Linear` stores its matrix transposed, so its *rows* are our features):

# %%
with torch.no_grad():
    for name in ("w_q", "w_k", "w_v"):
        stacked, parts = getattr(fused, name), [getattr(head, name) for head in listed.heads]
        stacked.weight.copy_(torch.cat([part.weight for part in parts]))
        stacked.bias.copy_(torch.cat([part.bias for part in parts]))
    fused.w_o.load_state_dict(listed.w_o.state_dict())

difference = (listed(x, x, x) - fused(x, x, x)[0]).abs().max().item()
print("list of heads = fused, max difference < 1e-6:", difference < 1e-6)

# %% [markdown]
# ## Look
#
# What could heads look for? Let us write two by hand. Each token is a one-hot word beside a one-hot position. Head 0 compares words. Head 1 asks for the position *before* its own, so its queries are shifted by one:

# %%
words = "the cat saw the dog chase the cat".split()
vocabulary, n = sorted(set(words)), len(words)
word = torch.eye(len(vocabulary))[[vocabulary.index(w) for w in words]]
position = torch.eye(n)

same_word = attend(8 * word, word, word)[1]
before = attend(8 * position.roll(1, dims=0), position, position)[1]
before[0] = attend(8 * position, position, position)[1][0]  # the first has none before it: itself

# %% [markdown]
# **Predict** the row of the last *cat* in head 0 and in head 1. Answer, then choose the head and look:

# %%
view = widgets.attention(torch.stack([same_word, before]), query_tokens=words, key_tokens=words)
where = ["both cats", "the word before it", "itself alone"]
view.predict(
    "At what does the last cat look most in head 1?",
    where, answer=where[1], because="it has 0.71 of the weight",
)

# %% [markdown]
# Head 0 spreads over both *cats*; head 1 finds the word before. Trained models have such heads, too: for the previous token ([Elhage et al., 2021](https://transformer-circuits.pub/2021/framework/index.html)) and for an earlier copy of the same token ([Wang et al., 2022](https://arxiv.org/abs/2211.00593)).

# %% [markdown]
# ## What each head adds
#
# Put side by side and multiplied by $W^O$: that is a sum. Cut $W^O$ into $h$ blocks of rows, and each head writes into the output through its own block:
#
# $$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O = \sum_{i=1}^{h} \mathrm{head}_i\, W^O_i$$

# %%
q, k, v = (split(project(x), 3) for project in (fused.w_q, fused.w_k, fused.w_v))
heads = attend(q, k, v)[0].unbind(dim=1)
blocks = fused.w_o.weight.T.chunk(3)

total = sum(head @ block for head, block in zip(heads, blocks)) + fused.w_o.bias
output, _ = fused(x, x, x)
print("sum of the heads' contributions = output:", torch.allclose(total, output, atol=1e-6))

# %% [markdown]
# So heads do not vote, and they do not take turns. Each adds its part to the output, and leaving one out removes exactly its part.
#
# Compare four heads written by hand: one for the same word, one for the word before, one for the word itself, and one that looks evenly at all. Each passes on the words it looks at, weighted. Answer, then *leave out* one after the other:

# %%
evenly = torch.full((n, n), 1 / n)
four = torch.stack([same_word, before, position, evenly])  # position: 1 on the diagonal
view = widgets.heads(four, query_tokens=words, key_tokens=words, contributions=four @ word)
names = ["head 0 (same word)", "head 1 (before)", "head 2 (itself)", "head 3 (evenly)"]
view.predict(
    "Which head adds least to the outputs?",
    names, answer=names[3], because="its part has length 0.50",
)

# %% [markdown]
# Head 3 adds least: an average of different words is short. It holds *the* three times, *cat* twice, three others once, in eighths: $\sqrt{9+4+1+1+1}/8 = 0.5$. Head 2 passes on one word, of length 1. Sort by **entropy**, which says in bits how widely a row is spread: heads 2 and 3 are the ends, 0 and $\log_2 8 = 3$ bits. *Show* head 0 *minus* head 1: where one looks more than the other.

# %% [markdown]
# ## Break it: the straight view
#
# $(B, T, d_{model})$ to $(B, h, T, d_{head})$ can be done in one `reshape`. The shapes are right. Are the numbers?

# %%
tokens = torch.arange(8.0).reshape(1, 2, 4)  # token 0 is 0 1 2 3, token 1 is 4 5 6 7
print("right:   head 0 holds", split(tokens, 2)[0, 0].int().tolist())
print("straight: head 0 holds", tokens.reshape(1, 2, 2, 2)[0, 0].int().tolist())

# %% [markdown]
# Head 0 should hold the first half of *each* token: 0 1 and 4 5. The straight view gives it all of token 0, cut in two, and calls the pieces tokens. Token 1 went to head 1.
#
# No shape test sees it. But one property does: attention knows no order, so if you shuffle the tokens, the outputs must be shuffled in the same way.

# %%
order = torch.tensor([3, 0, 4, 1, 2])
straight = exercises.multi_head_attention.mistakes["split_by_straight_view"].function
right = exercises.multi_head_attention.reference
matrices = [torch.randn(12, 12) / 12**0.5 for _ in range(4)]

for name, function in (("right", right), ("straight view", straight)):
    output, shuffled = (function(s, s, s, *matrices, 3) for s in (x, x[:, order]))
    equal = torch.allclose(shuffled, output[:, order], atol=1e-5)
    print(f"{name:13}: shapes right {output.shape == x.shape}, shuffling commutes {equal}")

# %% [markdown]
# ## Break it: one projection for all heads
#
# One `nn.Linear` of width $d_{head}$, used for every head, looks like a saving. But then all heads have the same $W^Q$, $W^K$ and $W^V$, and compute the same:

# %%
shared = exercises.multi_head_attention.mistakes["identical_heads"].function
identity = torch.eye(12)
heads = shared(x, x, x, *matrices[:3], identity, 3).chunk(3, dim=-1)
print("all heads are equal:", torch.equal(heads[0], heads[1]) and torch.equal(heads[1], heads[2]))

# %% [markdown]
# ## Are more heads more powerful?
#
# A head compares tokens by $(x W^Q_i)(y W^K_i)^\top = x\,(W^Q_i {W^K_i}^\top)\,y^\top$: one $d_{model} \times d_{model}$ matrix, but a product of two thin ones. Its **rank**, the number of independent directions it can compare, is at most $d_{head}$:

# %%
for n_heads in (1, 2, 8, 32):
    layer = MultiHeadAttention(64, n_heads)
    first_head = slice(64 // n_heads)
    w_q, w_k = layer.w_q.weight[first_head].cpu(), layer.w_k.weight[first_head].cpu()
    rank = torch.linalg.matrix_rank(w_q.T @ w_k).item()
    count = sum(parameter.numel() for parameter in layer.parameters())
    print(f"{n_heads:2} heads: rank {rank:2}, parameters {count:,}")

# %% [markdown]
# At a fixed $d_{model}$ the parameters stay the same. More heads mean more ways of looking, each of them poorer. The paper measured it (Table 3, rows A) in BLEU, a score of translations: one head is 0.9 worse than the best setting, and quality drops again with too many.

# %% [markdown]
# ## How large are the first scores?
#
# Lesson 01 wanted scores with variance 1. With projections in front, that depends on how their weights start. **Xavier initialisation** ([Glorot & Bengio, 2010](https://proceedings.mlr.press/v9/glorot10a.html)) draws them with variance $2/(d_{in} + d_{out})$, here $1/d_{model}$ (biases start at 0), so that a projection keeps the variance of its input:

# %%
def spread_of_scores(start, d_model=256):
    w_q, w_k = torch.empty(d_model, d_model), torch.empty(d_model, d_model)
    start(w_q), start(w_k)
    x = torch.randn(500, d_model)
    return ((x @ w_q) @ (x @ w_k).T / d_model**0.5).flatten().std().item()


torch.manual_seed(0)
print(f"Xavier:             standard deviation {spread_of_scores(nn.init.xavier_uniform_):.1f}")
default_of_linear = lambda w: nn.init.kaiming_uniform_(w, a=5**0.5)
print(f"nn.Linear's own:    standard deviation {spread_of_scores(default_of_linear):.1f}")
print(f"variance 1 for all: above 100 is {spread_of_scores(nn.init.normal_) > 100}")

# %% [markdown]
# With Xavier the scores start where softmax is awake. With the start that `nn.Linear` takes by default they are three times smaller, and all heads begin by looking almost evenly at everything. With weights of variance 1 almost every row is one-hot before the first step.

# %% [markdown]
# ## The same five times
#
# The list, the fused layer (line by line, and by PyTorch's fused kernel), `einsum`, and PyTorch's own module. `interop` copies weights between our modules and those of `torch.nn`, which keeps $W^Q$, $W^K$ and $W^V$ in one matrix, `in_proj_weight`:

# %%
from transformer_lab.interop import copy_to_torch

theirs = nn.MultiheadAttention(embed_dim=12, num_heads=3, batch_first=True)
copy_to_torch(fused, theirs)


def by_einsum(x, layer):
    q, k, v = (p(x).unflatten(-1, (3, 4)) for p in (layer.w_q, layer.w_k, layer.w_v))
    weights = torch.einsum("bthd,bshd->bhts", q, k).div(4**0.5).softmax(dim=-1)
    return layer.w_o(torch.einsum("bhts,bshd->bthd", weights, v).flatten(-2))

# %%
expected, weights = fused(x, x, x, need_weights=True)  # explicit; without weights: the fused kernel
output, their_weights = theirs(x, x, x, average_attn_weights=False)
others = {
    "fused kernel": fused(x, x, x)[0],
    "list of heads": listed(x, x, x),
    "einsum": by_einsum(x, fused),
    "torch.nn": output,
    "weights of torch.nn": their_weights,
}

# %%
for name, other in others.items():
    difference = (other - (weights if name.startswith("weights") else expected)).abs().max().item()
    print(f"{name:20} max difference < 1e-6: {difference < 1e-6}")

# %% [markdown]
# ## Two layouts, one function
#
# Some implementations stack the matrices **head by head** ($Q_1 K_1 V_1\, Q_2 K_2 V_2 \dots$) where PyTorch stacks them **kind by kind** (all $Q$, all $K$, all $V$). Both compute the same, if the rows are put in order. If they are not, weights load without an error, and the output is wrong:

# %%
by_kind = torch.cat([fused.w_q.weight, fused.w_k.weight, fused.w_v.weight])  # (3 · 12, 12)
rows = torch.arange(36).reshape(3, 3, 4)  # kind, head, feature
by_head = by_kind[rows.transpose(0, 1).flatten()]  # head, kind, feature


def read_head_by_head(stacked):
    q, k, v = (x @ stacked.T).unflatten(-1, (3, 12)).transpose(1, 2).chunk(3, dim=-1)
    return fused.w_o(merge(attend(q, k, v)[0]))


for name, stacked in (("rows in order", by_head), ("rows as they were", by_kind)):
    equal = torch.allclose(read_head_by_head(stacked), expected, atol=1e-5)
    print(f"{name:17} same output: {equal}")

# %% [markdown]
# ## Exercises
#
# **1.** Split the features of each token into heads: head $i$ owns the $i$-th block.

# %% exercise="split_heads"
def split_heads(x, n_heads):
    """(B, T, d_model) -> (B, h, T, d_head)."""
    return ...

# %%
exercises.split_heads.check(split_heads)

# %% [markdown]
# **2.** And back: the heads of each token side by side.

# %% exercise="merge_heads"
def merge_heads(x):
    """(B, h, T, d_head) -> (B, T, d_model), the inverse of split_heads."""
    return ...

# %%
exercises.merge_heads.check(merge_heads)

# %% [markdown]
# **3.** All of it. Each `w` is a matrix of $(d_{model}, d_{model})$, applied as `x @ w`; there are no biases. You may call your own functions.

# %% exercise="multi_head_attention"
def multi_head_attention(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    """Concat(head_1, …, head_h) W_O; returns the output, (B, T, d_model)."""
    return ...

# %%
exercises.multi_head_attention.check(multi_head_attention)

# %% [markdown]
# ## Remember
#
# - A head is an attention of its own, in $d_{model}/h$ features; heads see the same tokens in different ways.
# - Split: cut the features into blocks, *then* move the heads in front of the tokens.
# - The scale of a head is $1/\sqrt{d_{head}}$.
# - Through $W^O$ the heads' contributions add up.
# - More heads are not more power at a fixed width: each compares fewer directions.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. d_model is 512 and there are 8 heads. By what are the scores divided?</summary>
# By √64 = 8. Each head compares vectors of 512 / 8 = 64 features.
# </details>
# <details><summary>2. How many parameters does the layer have, with biases? And with 16 heads?</summary>
# 4 · (512² + 512) = 1 050 624, for any number of heads.
# </details>

# %% [markdown]
# <details><summary>3. Queries come from a sentence of 7 words, keys and values from one of 4. What is the shape of the output?</summary>
# (B, 7, d_model): one vector for each query. The weights are (B, h, 7, 4).
# </details>

# %% [markdown]
# **Next:** shuffling the tokens only shuffled the outputs. So attention cannot tell *dog bites man* from *man bites dog*. [Lesson 03](03_positional_encoding.ipynb) gives every word a place.
