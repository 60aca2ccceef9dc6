# %% [markdown]
# # 01 · Attention
#
# One equation lets every word of a sentence look at every other. Take it apart, and build it yourself.
#
# **You will be able to**
# - compute attention by hand and in three lines of PyTorch,
# - say what the scale $1/\sqrt{d_k}$ is for, and show what happens without it,
# - prove that your implementation is right.
#
# **You need** Python and matrix products. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), sections 3.2.1 and 4. **Time:** 45 minutes.

# %%
import math

import torch
import torch.nn.functional as F

from transformer_lab import AttentionHead, attention, default_device, exercises, plots, widgets

torch.set_default_device(default_device())

# %% [markdown]
# ## The question
#
# *I took my money to the **bank**.* — *We sat on the **bank** of the river.*
#
# A computer starts from a table with one vector for each word. Here is a tiny one with two columns that mean something: how much a word has to do with *money*, and how much with *water*. The word *bank* gets some of each:

# %%
vectors = {"money": [4.5, 0.0], "river": [0.0, 4.5], "bank": [1.0, 1.0], "took": [1.0, 0.0]}

first = "I took my money to the bank".split()
second = "We sat on the bank of the river".split()


def look_up(words):
    return torch.tensor([vectors.get(word, [0.0, 0.0]) for word in words])


same = torch.equal(look_up(first)[first.index("bank")], look_up(second)[second.index("bank")])
print("bank has the same vector in both sentences:", same)

# %% [markdown]
# That is the problem. Whatever comes next (a translation, an answer) reads the same two numbers in both sentences. The meaning of *bank* lies in the words around it, so **how can a word look at the others?**
#
# A first idea: replace each word by the average of its sentence.

# %%
for words in (first, second):
    print(" ".join(words), "→", [round(x, 2) for x in look_up(words).mean(0).tolist()])

# %% [markdown]
# Now the two differ. But every word of a sentence gets the *same* average, and the word that matters drowns among *to*, *the* and *my*. Averaging is right; the weights are wrong. Words that fit should count more:

# %% [markdown]
# ![Two sentences with the word bank. Arcs from bank to the other words; in the first sentence the thickest goes to money, in the second to river.](../img/01_bank.svg)

# %% [markdown]
# ## A dictionary that answers softly
#
# A Python dictionary is a look-up that is all or nothing: one key equals the query, and its value is returned. **Attention** is the same with degrees. The **query** is compared with every **key**; the better a key fits, the more its **value** counts.
#
# ![Left: a query equals one key of a dictionary and returns its value. Right: a query is similar to each key to some degree; weights that sum to 1 blend the values.](../img/01_lookup.svg)

# %% [markdown]
# "How well does it fit" is a dot product, and "weights that sum to 1" come from the **softmax**: take the exponential of each score, then divide by their sum.
#
# Here are the keys, values and query of the drawing. `sharpness` multiplies the scores; at 1 you get its weights:

# %%
keys = torch.tensor([[2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
values = torch.tensor([10.0, 40.0, 30.0])
query = torch.tensor([1.0, 0.5])

for sharpness in (0.0, 1.0, 3.0, 20.0):
    weights = F.softmax(sharpness * (keys @ query), dim=0)
    answer = weights @ values
    rounded = [round(w, 2) for w in weights.tolist()]
    print(f"sharpness {sharpness:4}: weights {rounded}, answer {answer.item():.1f}")

# %% [markdown]
# At sharpness 0 all keys count alike and the answer is the plain average. At 20 it is the hard dictionary again: weight 1 on the key that fits, and its value, 40, comes back.
#
# Why not use the hard one? Because a weight that jumps from 0 to 1 has no slope: nothing could be learned through it. The soft look-up can be differentiated everywhere.

# %% [markdown]
# ## By hand
#
# Three words, three numbers each. In **self-attention** the same sentence gives queries, keys and values; to begin with, all three are the vectors themselves.
#
# $$X = \begin{pmatrix} 0&0&1\\ 0&0&2\\ 1&0&0 \end{pmatrix}$$
#
# The first word asks. Its scores are its dot products with all three words, divided by $\sqrt 3$ (the reason follows below):

# %%
X = [[0, 0, 1], [0, 0, 2], [1, 0, 0]]

scores = [sum(a * b for a, b in zip(X[0], key)) / math.sqrt(3) for key in X]
print("scores      ", [f"{s:.4f}" for s in scores])

exponentials = [math.exp(s) for s in scores]
print("exponentials", [f"{e:.4f}" for e in exponentials], "sum", f"{sum(exponentials):.4f}")

weights = [e / sum(exponentials) for e in exponentials]
print("weights     ", [f"{w:.4f}" for w in weights])

# %% [markdown]
# Before you go on: which word does the first word look at most? Not at itself. Word 2 points the same way and is *longer*, so its dot product is larger. A dot product measures direction **and** length; it is not a measure of closeness.
#
# The new vector of word 1 is the average of all three, with these weights:

# %%
output = [sum(w * value[column] for w, value in zip(weights, X)) for column in range(3)]
print("output of word 1:", [f"{x:.4f}" for x in output])

# %% [markdown]
# ## The equation
#
# Do this for all words at once, with the queries, keys and values as rows of three matrices:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V \qquad (\text{equation 1})$$
#
# $Q$ is $T \times d_k$ for $T$ queries, $K$ is $S \times d_k$ for $S$ keys, and $V$ is $S \times d_v$.

# %% [markdown]
# ![Attention as matrices: 1, queries times transposed keys give the scores, T by S; 2, they are divided by the root of d_k; 3, softmax makes each row sum to 1; 4, weights times values give the output, T by d_v.](../img/01_attention.svg)

# %% [markdown]
# The code has a line for each number in the drawing:

# %%
def attend(query, key, value):
    scores = query @ key.transpose(-2, -1)  # 1  (T, d_k) @ (d_k, S) -> (T, S)
    scores = scores / math.sqrt(query.size(-1))  # 2
    weights = F.softmax(scores, dim=-1)  # 3  each row sums to 1
    return weights @ value, weights  # 4  (T, S) @ (S, d_v) -> (T, d_v)


X = torch.tensor(X, dtype=torch.float32)
output, weights = attend(X, X, X)
print("\n".join(str([round(w, 4) for w in row]) for row in weights.tolist()))

# %% [markdown]
# The first row is the one you worked by hand. Each row belongs to a query, each column to a key: read row 3 as "word 3 takes 26 % from word 1, 26 % from word 2 and 47 % from itself".
#
# `transpose(-2, -1)` counts axes from the end, so that the same lines work for a batch of sentences.

# %% [markdown]
# ## Look
#
# Back to *bank*. Each word takes from the words that it fits:

# %%
sentence = look_up(first)
output, weights = attend(sentence, sentence, sentence)
plots.show(
    plots.plot_attention(weights, first, first),
    alt="Attention weights: took, money and bank put most on money; all other rows are even.",
)

# %%
for words in (first, second):
    sentence = look_up(words)
    bank = attend(sentence, sentence, sentence)[0][words.index("bank")]
    print(" ".join(words), "→ bank is", [round(x, 2) for x in bank.tolist()])

# %% [markdown]
# One *bank* now means money, the other water. A word no longer has one vector: it has one **in each sentence**.
#
# Words without a column of their own (*I*, *to*, *the*) have a zero vector, hence equal scores, hence even rows. Real vectors have hundreds of learned columns, and such rows are rare.

# %% [markdown]
# The same numbers, alive. A **temperature** divides the scores: the lower, the sharper. **Predict first:** at temperature 10, what does the row of *bank* look like? And at 0.1, where does *bank* look: at *money*, or at itself? Answer, then move the slider, and step through *scores*, *scaled*, *weights*.

# %%
sentence = look_up(first)
view = widgets.attention_steps(sentence, sentence, query_tokens=first, key_tokens=first)
where = ["money", "itself", "both alike"]
view.predict(
    "At temperature 0.1, where does bank look?",
    where, answer="money", because="its weight is 1.00",
)

# %% [markdown]
# At 10 every row is nearly even. At 0.1 *bank* looks at *money* alone and not at itself: $1\cdot4.5 + 1\cdot0 = 4.5$ is more than $1\cdot1 + 1\cdot1 = 2$. The rows of *I*, *my*, *to* and *the* stay even for ever: no temperature can separate equal scores. (*Masked* is for lesson 05.)

# %% [markdown]
# Attention does not settle every question. In *The teacher taught the student with the book*, who has the book? *Book* can look at both; which of them should weigh more is something that only training, or a wider context, can tell.

# %% [markdown]
# ## Why divide by √d_k?
#
# Take a query and a key whose numbers are random, with mean 0 and variance 1. Their dot product is a sum of $d_k$ products. Each product has mean 0 and variance $1 \cdot 1 = 1$, and variances of independent terms add:
#
# $$\mathrm{Var}(q \cdot k) = \sum_{i=1}^{d_k} \mathrm{Var}(q_i k_i) = d_k .$$
#
# So a typical score is as large as $\sqrt{d_k}$. Dividing by it makes the variance 1, however wide the vectors:

# %%
torch.manual_seed(0)
widths = [4, 16, 64, 256, 1024]
for d_k in widths:
    products = (torch.randn(20_000, d_k) * torch.randn(20_000, d_k)).sum(-1)
    ratio, scaled = products.var().item() / d_k, (products / math.sqrt(d_k)).var().item()
    print(f"d_k = {d_k:4}: variance / d_k = {ratio:.1f}, variance after scaling = {scaled:.1f}")

# %% [markdown]
# Large scores make the softmax choose: almost all weight goes to the largest. Here are the weights for one query and eight keys at $d_k = 1024$, with and without the scale:

# %%
torch.manual_seed(3)
scores = torch.randn(8, 1024) @ torch.randn(1024)
weights = {
    "without scale": F.softmax(scores, dim=-1),
    "with scale": F.softmax(scores / math.sqrt(1024), dim=-1),
}
ax = plots.plot_bars(weights, [f"key {i}" for i in range(1, 9)], y_label="weight")
plots.show(ax, alt="Weights of eight keys: without the scale one has most; with it all have some.")

# %% [markdown]
# The paper says that the softmax is then pushed "into regions where it has extremely small gradients" (§3.2.1). **Why is the gradient small there?**
#
# Write $p = \mathrm{softmax}(s)$. Raise one score $s_j$ a little: the weight $p_j$ grows, and all others shrink to make room. The derivatives form the **Jacobian** matrix
#
# $$J_{ij} = \frac{\partial p_i}{\partial s_j} = \begin{cases} p_i\,(1 - p_i) & i = j\\ -\,p_i\,p_j & i \ne j \end{cases} \qquad\text{or}\qquad J = \mathrm{diag}(p) - p\,p^\top .$$

# %%
scores = torch.tensor([1.0, 2.0, 0.5])
p = F.softmax(scores, dim=0)
by_formula = torch.diag(p) - torch.outer(p, p)
by_autograd = torch.autograd.functional.jacobian(lambda s: F.softmax(s, dim=0), scores)
print("formula = autograd:", torch.allclose(by_formula, by_autograd, atol=1e-6))

# %% [markdown]
# Now let $p$ become one-hot: one weight is 1, the others are 0. Then $p_i(1 - p_i) = 0$ everywhere and $p_i p_j = 0$ for each pair. **Every entry of the Jacobian vanishes**: whatever the loss wants, no score hears of it.

# %%
for gap in (0.0, 2.0, 5.0, 10.0, 20.0):  # by how much the first score is ahead of two others
    p = F.softmax(torch.tensor([gap, 0.0, 0.0]), dim=0)
    J = torch.diag(p) - torch.outer(p, p)
    print(f"ahead by {gap:4}: largest weight {p.max().item():.4f}, norm of J {J.norm().item():.4f}")

# %% [markdown]
# With random queries and keys, how large is that Jacobian as the vectors get wider? We take 200 queries, 64 keys, and the median norm:

# %%
def jacobian_norms(d_k, scale):
    """Norms of the softmax Jacobian for 200 random queries and 64 random keys."""
    p = F.softmax(torch.randn(200, d_k) @ torch.randn(d_k, 64) * scale, dim=-1)
    J = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    return J.flatten(1).norm(dim=1), p


torch.manual_seed(0)
curves = {
    "without scale": [jacobian_norms(d_k, 1.0)[0].median().item() for d_k in widths],
    "with scale": [jacobian_norms(d_k, d_k**-0.5)[0].median().item() for d_k in widths],
}

# %%
ax = plots.plot_lines(widths, curves, x_label="width d_k", log_x=True, log_y=True)
ax.set_ylabel("median norm of the Jacobian")
plots.show(ax, alt="Norm of J by width: flat with scale; without, a small rise and a deep fall.")

# %%
_, p = jacobian_norms(1024, 1.0)
print("at 1024, without scale, the largest weight is above 0.85:", p.amax(-1).mean().item() > 0.85)
_, p = jacobian_norms(1024, 1024**-0.5)
print("at 1024, with scale, the largest weight is below 0.20:   ", p.amax(-1).mean().item() < 0.20)

without, scaled = curves["without scale"], curves["with scale"]
print("at 1024 the scale makes J more than 100 times larger:    ", scaled[-1] > 100 * without[-1])
print("without scale J first grows, from 4 to 16:               ", without[1] > without[0])

# %% [markdown]
# Look at one query while its vectors grow. **Predict:** at which width does one weight pass 0.9? Does ticking ÷ √d_k bring the others back?

# %%
torch.manual_seed(0)
queries, keys = torch.randn(200, 1024, device="cpu"), torch.randn(8, 1024, device="cpu")
widgets.saturation(queries, keys)

# %% [markdown]
# One line above is a fine point that is often left out: up to a width of about 16, sharper weights *help* the gradient, since even weights are flat too. Only then does it collapse.
#
# A second one: a softmax at the *end* of a model does not suffer so. There the loss is a logarithm of the softmax, which undoes the exponential, and the gradient is $p - y$. It is largest where the model is surest and wrong:

# %%
scores = torch.tensor([[20.0, 0.0, 0.0]], requires_grad=True)  # sure of class 0; class 1 is right

(gradient,) = torch.autograd.grad(F.softmax(scores, dim=-1)[0, 1], scores)
print("through the softmax alone, below 1e-8:", gradient.abs().max().item() < 1e-8)

(gradient,) = torch.autograd.grad(F.cross_entropy(scores, torch.tensor([1])), scores)
print("through softmax and cross-entropy:    ", [round(g, 4) for g in gradient[0].tolist()])

# %% [markdown]
# Inside a Transformer no logarithm follows the attention weights. That is why they need the scale.

# %% [markdown]
# ## Break it
#
# The exercises below know the usual mistakes as small functions. Let us see what becomes of attention with each. Most of them return tensors of the right *shape*. Would you notice?

# %%
torch.manual_seed(0)
q, k, v = torch.randn(5, 3), torch.randn(5, 3), torch.randn(5, 3)
right = attend(q, k, v)

names = ["unscaled", "divided_by_d_k", "softmax_over_queries", "keys_averaged", "values_summed"]
print("                      shapes right   rows sum to 1   output right")
for name in names:
    output, weights = exercises.scaled_dot_product_attention.mistakes[name].function(q, k, v)
    shapes = output.shape == right[0].shape and weights.shape == right[1].shape
    rows, same = torch.allclose(weights.sum(-1), torch.ones(5)), torch.allclose(output, right[0])
    print(f"{name:21} {shapes!s:14} {rows!s:15} {same}")

# %% [markdown]
# All five have the right shapes; four even have rows that sum to 1. **A test of shapes proves nothing.** What proves something is a number worked by hand, a property such as "each row sums to 1", and equality with an implementation that you trust. You will meet all three in every lesson.

# %% [markdown]
# ## One word alone
#
# What if a sentence has only one word? **Predict** the weights before you run the cell.

# %%
word = torch.tensor([[0.1, 0.1, 0.8]])
output, weights = attend(word, word, word)
print("weights:", weights.tolist(), "  output = input:", torch.equal(output, word))

# %% [markdown]
# One score, so one weight, and it is 1: attention is the identity. The same holds for *every* word where all other words are masked. With learned projections the output is the projected value instead, still without any choice:

# %%
torch.manual_seed(0)
head = AttentionHead(d_model=3, d_head=2)
word = word[None]  # a batch of one sentence
output, _ = head(word, word, word)
print("one word through a head = its value projection:", torch.allclose(output, head.w_v(word)))

# %% [markdown]
# `AttentionHead` is equation 1 with a learned matrix in front of each of its three inputs: $W^Q$ says what a word looks for, $W^K$ what it offers, $W^V$ what it hands over. In a sentence of vectors alone, *bank* had to look for what it *is*; with projections it can look for what it *needs*. Lesson 02 builds many of them.

# %% [markdown]
# ## Does it have to be a dot product?
#
# With projections a score is $(W^Q x)^\top (W^K y)$, linear in $x$ and in $y$. One could use a small network instead, $w^\top \tanh(W^Q x + W^K y)$, as [Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473) did. **Does a non-linearity help?** Let us give both a task on raw numbers: eight keys, each a single number, and a query equal to one of them. Find it.

# %%
def batch(size, n_keys=8):
    keys = torch.rand(size, n_keys, 1) * 2 - 1
    target = torch.randint(n_keys, (size,))
    return keys[torch.arange(size), target], keys, target


class DotScore(torch.nn.Module):
    def __init__(self, d_in=1, width=16):
        super().__init__()
        self.w_q, self.w_k = torch.nn.Linear(d_in, width), torch.nn.Linear(d_in, width)

    def forward(self, query, keys):
        return (self.w_k(keys) @ self.w_q(query).unsqueeze(-1)).squeeze(-1) / 4

# %%
class NetworkScore(DotScore):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Linear(16, 1)

    def forward(self, query, keys):
        return self.w(torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(keys))).squeeze(-1)


class DotAfterFeedForward(DotScore):
    def __init__(self):
        super().__init__(d_in=16)
        layers = torch.nn.Linear(1, 64), torch.nn.ReLU(), torch.nn.Linear(64, 16)
        self.before = torch.nn.Sequential(*layers)

    def forward(self, query, keys):
        return super().forward(self.before(query), self.before(keys))

# %% [markdown]
# The third has a plain dot product, and a small feed-forward network *before* it, as in every layer of a Transformer but the first. We train each for 400 steps: compute the loss, follow its gradient downhill, repeat.

# %%
def accuracy_after_training(model, steps=400):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        query, keys, target = batch(128)
        loss = F.cross_entropy(model(query, keys), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    query, keys, target = batch(2000)
    return (model(query, keys).argmax(-1) == target).float().mean().item()

# %%
torch.manual_seed(0)
print("dot product, below 35 %:            ", accuracy_after_training(DotScore()) < 0.35)
print("network, above 90 %:                ", accuracy_after_training(NetworkScore()) > 0.90)
print("feed-forward and dot, above 75 %:   ", accuracy_after_training(DotAfterFeedForward()) > 0.75)

# %% [markdown]
# On raw numbers the dot product must fail: its score is a straight line in the key, so that the largest or the smallest key always wins, two of eight. A network in the score cures that. So does a network **before** a plain dot product, and every layer of a Transformer has one (§3.3).
#
# What the dot product buys is speed: all $T \times S$ scores are one matrix product. The network needs a hidden vector *for each pair*.

# %%
T, S, d_k = 512, 512, 64
print(f"numbers kept for all scores, dot product: {T * S:,}")
print(f"numbers kept for all scores, network:     {T * S * d_k:,}")

# %% [markdown]
# ## What it replaces
#
# Before 2017 sentences were read by **recurrent networks**: one word after the other, each step mixing the new word into a state. To reach word $n$, what word 1 said must survive $n - 1$ steps. Attention needs one.
#
# ![Left, a chain: word 1 reaches word 6 through five steps of a recurrent network. Right, in self-attention every word is joined to every other directly.](../img/01_paths.svg)

# %% [markdown]
# Let us measure it. How strongly does the *last* output depend on the *first* input? Both models are fresh from initialisation; the yardstick is the norm of the gradient.

# %%
def influence_of_the_first(run, length, d_model=32):
    """Norm of the gradient of the last output with respect to the first input (mean of 20)."""
    x = torch.randn(20, length, d_model, requires_grad=True)
    (gradient,) = torch.autograd.grad(run(x)[0][:, -1].sum(), x)
    return gradient[:, 0].norm(dim=-1).mean().item()


torch.manual_seed(0)
rnn, head = torch.nn.RNN(32, 32, batch_first=True), AttentionHead(32, 32)
lengths = [2, 4, 8, 16, 32]
recurrent = [influence_of_the_first(rnn, n) for n in lengths]
attentive = [influence_of_the_first(lambda x: head(x, x, x), n) for n in lengths]

# %%
curves = {"recurrent": recurrent, "self-attention": attentive}
ax = plots.plot_lines(lengths, curves, x_label="number of words", log_x=True, log_y=True)
ax.set_ylabel("influence of the first on the last")
plots.show(ax, alt="Influence by length: a steep fall for the recurrent net, a gentle one here.")

# %%
print("from 2 to 32 words:")
print("the recurrent influence falls more than a million-fold:", recurrent[0] > 1e6 * recurrent[-1])
print("that of self-attention less than a thousand-fold:      ", attentive[0] < 1e3 * attentive[-1])

# %% [markdown]
# Self-attention shares its weight among all words, so the influence of each falls about like $1/n$: slowly. The recurrent path multiplies by the same matrix at each step: it falls exponentially. (Gates, as in the [LSTM](https://doi.org/10.1162/neco.1997.9.8.1735), soften the fall; the $n$ steps remain.)
#
# What does it cost? Table 1 of the paper, for $n$ words of width $d$ (and a convolution of kernel size $k$):
#
# | layer | operations | steps in sequence | longest path |
# |---|---|---|---|
# | self-attention | $O(n^2 \cdot d)$ | $O(1)$ | $O(1)$ |
# | recurrent | $O(n \cdot d^2)$ | $O(n)$ | $O(n)$ |
# | convolutional | $O(k \cdot n \cdot d^2)$ | $O(1)$ | $O(\log_k n)$ |

# %%
d = 512
for n in (64, 512, 4096):
    ours, theirs = n * n * d, n * d * d
    cheaper = "equal" if ours == theirs else "attention" if ours < theirs else "recurrent"
    print(f"n = {n:4}: attention {ours:14,}, recurrent {theirs:14,}, fewer operations: {cheaper}")

# %% [markdown]
# The two meet where $n = d$. Below, attention is cheaper; above, its $n^2$ begins to hurt. And in either case the recurrent network must take its $n$ steps one after the other, where attention is two matrix products that a GPU does at once.

# %% [markdown]
# ## The same five times
#
# One function, five ways of writing it: the loop of the hand calculation, our three lines, `einsum`, this project's package, and PyTorch's fused kernel. They must agree.

# %%
def attend_by_loop(query, key, value):
    output = torch.zeros(len(query), value.size(1))
    for t, q in enumerate(query):
        exponentials = [math.exp(float(q @ k) / math.sqrt(len(q))) for k in key]
        for e, v in zip(exponentials, value):
            output[t] += e / sum(exponentials) * v
    return output


def attend_by_einsum(query, key, value):
    weights = torch.einsum("td,sd->ts", query, key).div(math.sqrt(query.size(-1))).softmax(dim=-1)
    return torch.einsum("ts,sv->tv", weights, value)

# %%
torch.manual_seed(0)
q, k, v = torch.randn(5, 8), torch.randn(7, 8), torch.randn(7, 3)  # T = 5, S = 7, d_k = 8, d_v = 3
expected, _ = attend(q, k, v)
others = {
    "loop": attend_by_loop(q, k, v),
    "einsum": attend_by_einsum(q, k, v),
    "package": attention.scaled_dot_product_attention(q, k, v)[0],
    "torch": F.scaled_dot_product_attention(q[None], k[None], v[None])[0],
}

# %%
for name, output in others.items():
    difference = (output - expected).abs().max().item()
    print(f"attend = {name:8} max difference < 1e-6: {difference < 1e-6}")

# %% [markdown]
# The package's version is the three lines plus masks (lesson 05) and dropout. It returns the weights that made the output, so that a picture of them shows what really happened. PyTorch's kernel is faster on long sentences because it never stores the weights; therefore it cannot show them.

# %% [markdown]
# ## Exercises
#
# Replace the `...`, run the cell, then run the check below it. A check tries your function on many cases, compares values *and* gradients, and names the mistake if it knows it. `exercises.softmax.hint()` in a new cell gives a hint.
#
# **1.** Write softmax yourself. Scores of 1000 must not break it.

# %% exercise="softmax"
def softmax(scores, dim):
    """Weights along `dim`: positive, summing to 1, each proportional to exp(score)."""
    return ...

# %%
exercises.softmax.check(softmax)

# %% [markdown]
# **2.** Write attention so that it works for any number of leading axes: one sentence `(T, d_k)`, a batch `(B, T, d_k)`, a batch of heads `(B, h, T, d_k)`.

# %% exercise="scaled_dot_product_attention"
def scaled_dot_product_attention(query, key, value):
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V, as (output, weights)."""
    return ...

# %%
exercises.scaled_dot_product_attention.check(scaled_dot_product_attention)

# %% [markdown]
# **3.** Write the Jacobian of softmax for a whole batch of weights, `(…, S)` to `(…, S, S)`.

# %% exercise="softmax_jacobian"
def softmax_jacobian(weights):
    """The derivative of each weight with respect to each score: diag(p) - p pᵀ."""
    return ...

# %%
exercises.softmax_jacobian.check(softmax_jacobian)

# %% [markdown]
# ## Remember
#
# - Attention is a weighted average of values; a softmax over dot products of queries with keys makes the weights.
# - Rows are queries, columns are keys, each row sums to 1.
# - Without $1/\sqrt{d_k}$ the weights become one-hot and their Jacobian, $\mathrm{diag}(p) - pp^\top$, vanishes.
# - Any two words are one step apart, at a cost of $n^2$ scores.
# - Right shapes prove nothing: check numbers, properties, equality.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. You add 5 to every score of one query. What happens to its weights?</summary>
# Nothing: the factor e⁵ appears above and below the fraction and cancels. Exercise 1 uses this to stay clear of overflow.
# </details>
# <details><summary>2. You multiply all values by 2. What happens to weights and output?</summary>
# The weights stay, the output doubles: values play no part in the weights.
# </details>

# %% [markdown]
# <details><summary>3. Two words of a sentence change places. What happens to the output of a third?</summary>
# Nothing. Attention does not know the order of words; lesson 03 opens with that.
# </details>
# <details><summary>4. Weights have the axes (B, h, T, S). Which of them did the softmax run over?</summary>
# The last, the keys: each query shares its attention among them.
# </details>

# %% [markdown]
# **Next:** one attention gives each word one way of looking. [Lesson 02](02_multi_head_attention.ipynb) gives it many at once.
