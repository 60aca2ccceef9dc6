# %% [markdown]
# # 01 · Attention
#
# One equation lets every word of a sentence look at every other. In this lesson you take the equation apart, and build it yourself.
#
# **You will be able to**
# - compute attention by hand and in four lines of PyTorch,
# - make a word look elsewhere, with matrices for queries and keys,
# - say what the scale $1/\sqrt{d_k}$ is for, and test it.
#
# **You need** [lesson 00](00_start_here.ipynb). **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 3.2.1. **Time:** 60 minutes, the exercises 45 more; the parts called *Extra* can wait.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import math

import torch
import torch.nn.functional as F
from torch import nn

from transformer_lab import analysis, default_device, exercises, plots, widgets
from transformer_lab.nn import attention
from transformer_lab.nn.masks import decoder_mask
from transformer_lab.training import load_checkpoint, translate

if default_device().type != "cpu":  # the CPU is the default; asking for it costs time
    torch.set_default_device(default_device())


def rounded(x, digits=2):
    """The numbers of a tensor as a list, rounded: what this lesson prints."""
    return (x.detach().double().cpu() * 10**digits).round().div(10**digits).tolist()
# %% [markdown]
# ## The question
#
# *I took my money to the **bank**.* — *We sat on the **bank** of the river.*
#
# These two sentences will keep us company through the whole lesson. A computer starts from a table with one vector for each word. Here is a tiny one, whose two columns have a meaning: how much a word has to do with *money*, and how much with *water*. The word *bank* gets some of each, and words that are not in the table get zeros:

# %%
vectors = {"money": [4.5, 0.0], "river": [0.0, 4.5], "bank": [1.0, 1.0], "took": [1.0, 0.0]}

first = "I took my money to the bank".split()
second = "We sat on the bank of the river".split()


def look_up(words):
    return torch.tensor([vectors.get(word, [0.0, 0.0]) for word in words])


for words in (first, second):
    print("bank is", rounded(look_up(words)[words.index("bank")]), "in:", " ".join(words))
# %% [markdown]
# Here is the problem. A program that translates the sentence, or answers it, starts from the same two numbers in both cases, although *bank* means two different things. Its meaning lies in the words around it. So **how can a word look at the others?**
#
# A first idea is to replace each word by the average of its sentence:

# %%
for words in (first, second):
    print("average", rounded(look_up(words).mean(0)), "of:", " ".join(words))
# %% [markdown]
# Now the two sentences differ. But every word of a sentence gets the *same* average, and the word that matters is diluted by *to*, *the* and *my*, which count as much as *money* does. Averaging is a good idea with the wrong weights, because words that fit should count more.
#
# ![Two sentences with the word bank. Arcs from bank to the other words; in the first sentence the thickest goes to money, in the second to river.](../img/01_bank.svg)
#
# In the section *Look* you will compute these weights, and the drawing will come to life.

# %% [markdown]
# ## A dictionary that answers softly
#
# How could a word choose whom to listen to? A Python dictionary chooses, but it is all or nothing: one key equals the query, and its value is returned. **Attention** is a look-up by degrees. A **query** is compared with every **key**, and the better a key fits, the more its **value** counts in the answer.
#
# ![A hard dictionary: a query equals one key and returns its value. A soft dictionary: a query is similar to each key to some degree; weights that sum to 1 blend the values.](../img/01_lookup.svg)

# %% [markdown]
# We need a number that says how well a key fits, and the dot product is one. It multiplies two vectors number by number, or **feature** by feature, as we call the numbers of a vector, and adds up the products. Features that both vectors have push the sum up, and features in which they disagree push it down, so it is large if the two point the same way, 0 if they are at right angles, and negative if they point in opposite directions. It is called the **score** of the key. Scores become **weights**, which are positive and sum to 1, by the **softmax**: take the exponential of each score, then divide by the sum of all exponentials.
#
# Here are the keys, the values and the query of the drawing. `sharpness` multiplies the scores, and at 1 you get the weights of the drawing:

# %%
keys = torch.tensor([[2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
values = torch.tensor([10.0, 40.0, 30.0])
query = torch.tensor([1.0, 0.5])

for sharpness in (0.0, 1.0, 3.0, 20.0):
    weights = F.softmax(sharpness * (keys @ query), dim=0)
    answer = weights @ values
    print(f"sharpness {sharpness:4}: weights {rounded(weights)}, answer {answer.item():.1f}")
# %% [markdown]
# At sharpness 0 all keys count alike, and the answer is the plain average. At 20 you have the hard dictionary again: the key that fits best has all the weight, and its value, 40, comes back.
#
# Why don't we simply use the hard dictionary? Its weights are 0 or 1, and they stay so if the scores change a little. Their slope is 0, so queries and keys could learn nothing. In the soft look-up every weight changes a little with every score, and that is all that gradient descent asks for.

# %% [markdown]
# ## By hand
#
# Now we let a sentence look itself up. Take three words, with three numbers each. In **self-attention** queries, keys and values all come from the same sentence, and to begin with, all three are the vectors themselves.
#
# $$X = \begin{pmatrix} 0&0&1\\ 0&0&2\\ 1&0&0 \end{pmatrix}$$
#
# The first word asks. Its scores are its dot products with all three words, divided by $\sqrt 3$ (you will see why):

# %%
X = [[0, 0, 1], [0, 0, 2], [1, 0, 0]]

scores = [sum(a * b for a, b in zip(X[0], key)) / math.sqrt(3) for key in X]
print("scores      ", [f"{s:.4f}" for s in scores])

exponentials = [math.exp(s) for s in scores]
print("exponentials", [f"{e:.4f}" for e in exponentials], "sum", f"{sum(exponentials):.4f}")

weights = [e / sum(exponentials) for e in exponentials]
print("weights     ", [f"{w:.4f}" for w in weights])
# %% [markdown]
# Perhaps you expected the first word to look most at itself. It doesn't, because the second vector points in the same direction and is *longer*, so that its dot product is larger. A dot product measures direction **and** length, and is therefore not a pure measure of closeness.
#
# The new vector of the first word is the average of all three vectors, with these weights:

# %%
output = [sum(w * value[column] for w, value in zip(weights, X)) for column in range(3)]
print("output of the first word:", [f"{x:.4f}" for x in output])
# %% [markdown]
# ## The equation
#
# We do the same for all words at once, with queries, keys and values as the rows of three matrices:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V \qquad (\text{equation 1})$$
#
# $Q$ is $T \times d_k$ for $T$ queries, $K$ is $S \times d_k$ for $S$ keys, and $V$ is $S \times d_v$; here $d_k$ is the width of queries and keys, and $d_v$ that of values. In the paper's words: "The output is computed as a weighted sum of the values, where the weight assigned to each value is computed by a compatibility function of the query with the corresponding key" (§3.2).

# %% [markdown]
# ![Attention as matrices: 1, queries times transposed keys give the scores, T by S; 2, they are divided by the root of d_k; 3, softmax makes each row sum to 1; 4, weights times values give the output, T by d_v.](../img/01_attention.svg)
#
# The code has one line for each number in the drawing:

# %%
def attend(query, key, value):
    scores = query @ key.T  # 1  (T, d_k) @ (d_k, S) -> (T, S)
    scores = scores / math.sqrt(query.size(-1))  # 2
    weights = F.softmax(scores, dim=-1)  # 3  each row sums to 1
    return weights @ value, weights  # 4  (T, S) @ (S, d_v) -> (T, d_v)


X = torch.tensor(X, dtype=torch.float32)
output, weights = attend(X, X, X)
for row in rounded(weights, 4):
    print(row)
# %% [markdown]
# The first row is the one that you worked out by hand. Each row belongs to a query and each column to a key, so the third row says that word 3 takes 26 % from word 1, 26 % from word 2 and 47 % from itself.
#
# **Predict** the weights and the output for a sentence of a single word, before you look at them:

# %%
word = torch.tensor([[0.1, 0.1, 0.8]])
output, weights = attend(word, word, word)
print("weights", weights.tolist(), "output", rounded(output))
# %% [markdown]
# A softmax over one score is 1, whatever the score is. So a word that is alone gets its own value back, unchanged.

# %% [markdown]
# Now it is your turn. In a notebook, replace the `...` of each exercise, run the cell, and then run the check below it. A check tries your function on many cases, compares values *and* gradients, and tells you which mistake you made, if it is one that it knows. There, in a new cell, `exercises.softmax` shows the full statement, and `exercises.softmax.hint()` a hint.
#
# **Exercise 1** (5 minutes, easy). Write softmax yourself, from `torch.exp`, without torch's own. Scores of 1000 must not break it.

# %% exercise="softmax"
def softmax(scores, dim):
    """Weights along `dim`: positive, summing to 1, each proportional to exp(score)."""
    return ...
# %%
exercises.softmax.check(softmax)
# %% [markdown]
# **Exercise 2** (10 minutes). `attend` takes one sentence. Write attention so that it works for any number of leading axes: one sentence `(T, d_k)`, a **batch** of several sentences `(B, T, d_k)`, a batch of heads `(B, h, T, d_k)`. It must also be right in float16, the type in which GPUs often compute. Its numbers end at 65 504, and a dot product may lie beyond that, although it would not if it were divided by $\sqrt{d_k}$.

# %% exercise="scaled_dot_product_attention"
def scaled_dot_product_attention(query, key, value):
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V, as (output, weights)."""
    return ...
# %%
exercises.scaled_dot_product_attention.check(scaled_dot_product_attention)
# %% [markdown]
# **Exercise 3** (predict; 10 minutes, medium). You see the weights that attention gave, and not its scores. What do the weights become if 100 is added to all scores? And if all scores are doubled? Predict both at once: `shift` is added to every score, and the result is multiplied by `factor`. Nothing but the old weights is needed.

# %% exercise="new_weights"
def new_weights(weights, shift, factor):
    """(…, S) weights -> the weights of factor * (score + shift)."""
    return ...
# %%
exercises.new_weights.check(new_weights)
# %% [markdown]
# ## Look
#
# Back to *bank*. With equation 1, each word takes most from the words that it fits best:

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
    print("bank becomes", rounded(bank), "in:", " ".join(words))
# %% [markdown]
# In the first sentence *bank* now leans towards money, in the second towards water. A word no longer has one vector: it has one **in each sentence**.
#
# The words that are missing from the table (such as *I*, *to*, *the*) have a zero vector. A trained model has many more columns, all of them learned, and no zero vectors.

# %% [markdown]
# Here is the drawing from the beginning once more, with the weights that you have computed. Point at a word or tap it, and its arcs lead to the words that it looks at, while the table shows its vector alone and in context. A word that stands in both sentences shows its arcs in both. `sharpness` multiplies the scores, as in the soft dictionary. Set it to 0 and to 4.

# %%
tables = [look_up(words) for words in (first, second)]
weights = [attend(table, table, table)[1] for table in tables]
widgets.arcs([first, second], weights, tables, ["money", "water"], word="bank")
# %% [markdown]
# At 0 every word gets the plain average of its sentence, which was our first idea. At 4 *bank* becomes almost *money* in the first sentence and almost *river* in the second, as if from the hard dictionary. At 1 its own vector still counts, with 0.12. Now point at *money*: it looks at itself alone, since no other word fits it as well.

# %% [markdown]
# Here are the numbers of the first sentence as a live map. A **temperature** divides the scores before the softmax, so the lower it is, the sharper the weights become. Answer the question, then move the slider, and press the terms of the equation, from *Q Kᵀ* to *V*, to see its steps. (The *mask* is for lesson 05, and the bars beside the rows, their *entropy*, for lesson 02: the more even a row, the longer its bar.)

# %%
sentence = look_up(first)
view = widgets.attention_steps(
    sentence, sentence, first, first, value=sentence, features=["money", "water"]
)
view.ask("01 cold")
# %% [markdown]
# <details><summary>After you have looked: why?</summary>
# The scores of <i>the</i> are all 0, and no division separates equal scores. So its row stays even, like those of <i>I</i>, <i>my</i> and <i>to</i>. At 0.1 <i>bank</i> looks at <i>money</i> alone and not at itself, because 1 · 4.5 + 1 · 0 = 4.5 is more than 1 · 1 + 1 · 1 = 2. At 10 its row is nearly even, with 0.18 on <i>money</i>; only the row of <i>money</i> is still uneven, with 0.38 on itself.
# </details>

# %% [markdown]
# ## What a word looks for: W_Q, W_K, W_V
#
# So far *bank* can only look for what it *is*. Put it into a sentence that has both:

# %%
both = "I took money to the bank of the river".split()
words = look_up(both)
bank, money, river = (both.index(word) for word in ("bank", "money", "river"))

_, weights = attend(words, words, words)
print(f"bank looks at money {weights[bank, money]:.2f}, river {weights[bank, river]:.2f}")
# %% [markdown]
# It looks at both alike, and we can't teach it otherwise. Equation 1 has no numbers to train, and if we changed the vector of *bank*, what the word *is* would change along with what it looks for. So the paper multiplies each vector by a matrix before it is used as a query, $q = x\,W^Q$ (§3.2.2). The matrix is learned, and it says what a word **looks for**. Here are two such matrices, written by hand. The word *bank* is the same in both runs, and so are all the keys:

# %%
to_money = torch.tensor([[1.5, 0.0], [0.5, 0.5]])
to_river = torch.tensor([[0.0, 1.5], [0.5, 0.5]])

for name, w_q in (("to_money", to_money), ("to_river", to_river)):
    _, weights = attend(words @ w_q, words, words)
    found = f"money {weights[bank, money]:.2f}, river {weights[bank, river]:.2f}"
    print(f"W_Q = {name}: bank asks {rounded(words[bank] @ w_q, 1)}, and looks at {found}")
# %% [markdown]
# You can see this as geometry. A vector is an arrow, and $W^Q$ turns and stretches it. The dot product with a key is the length of the key's shadow on the query's direction, times the length of the query. Turn the query towards *river*, as in the right half of the figure below, and the shadow of *river* on it grows from 3.2 to 4.4, while that of *money* shrinks from 3.2 to 1.1:

# %%
key_arrows = {"money": words[money], "river": words[river]}
figure, (left, right) = plots.figure(9, 4, columns=2)
for ax, name, query in ((left, "bank", words[bank]), (right, "bank W_Q", words[bank] @ to_river)):
    plots.plot_vectors({"query": {name: query}, "keys": key_arrows}, ax=ax)
    ax.set(xlabel="first number: money", ylabel="second number: water")
plots.show(
    figure, alt="Left, the query of bank halfway between money and river; right, turned to river."
)
# %% [markdown]
# Keys have a matrix of their own, $k = y\,W^K$, which says what a word **offers** to those who look. A score is made of both:
#
# $$q \cdot k = (x\,W^Q)(y\,W^K)^\top = x\,\bigl(W^Q {W^K}^\top\bigr)\,y^\top$$
#
# Only the product $W^Q {W^K}^\top$ counts, so instead of multiplying the queries by a matrix you can multiply all keys by its transpose. What do the matrices buy us? Without them the scores are symmetric, so that *took* gives *bank* the same score as *bank* gives *took*. With them, a verb can look for its object while the object looks for something else.

# %%
_, by_query = attend(words @ to_river, words, words)
_, by_key = attend(words, words @ to_river.T, words)
print(f"the keys instead: max difference < 1e-6: {(by_query - by_key).abs().max() < 1e-6}")

took = both.index("took")
for name, w_q in (("no matrix", torch.eye(2)), ("to_river", to_river)):
    scores = (words @ w_q) @ words.T
    print(f"{name:9}: took → bank {scores[took, bank]:.1f}, bank → took {scores[bank, took]:.1f}")
# %% [markdown]
# The third matrix, $v = y\,W^V$, says what a word **hands over** once it is looked at. It changes no weight. Here each word hands over only how much it has to do with water, so values have one number where keys have two:

# %%
w_v = torch.tensor([[0.0], [1.0]])  # (2, 1): keep the second column alone
output, same_weights = attend(words @ to_river, words, words @ w_v)
print("output of bank:", rounded(output[bank]))
print("same weights:", torch.equal(same_weights, by_query))
# %% [markdown]
# Attention with three learned matrices of its own is called a **head**. Since $d_k$ and $d_v$ are usually smaller than the width of the words, $d_{model}$, each matrix keeps a few directions of the space and drops the others. A head therefore reads a little of each word, and hands over a little. As a module of PyTorch it looks like this:

# %%
class Head(nn.Module):
    def __init__(self, d_model, d_head):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_head)  # computes x @ weight.T + bias
        self.w_k = nn.Linear(d_model, d_head)
        self.w_v = nn.Linear(d_model, d_head)

    def forward(self, query, key, value):
        return attend(self.w_q(query), self.w_k(key), self.w_v(value))


torch.manual_seed(0)
head, package = Head(8, 4), attention.AttentionHead(8, 4)
package.load_state_dict(head.state_dict())
x = torch.randn(5, 8)  # a sentence of 5 words
batch = x[None]  # (1, 5, 8): the package takes batches
difference = (head(x, x, x)[0] - package(batch, batch, batch)[0][0]).abs().max()
print(f"Head = the package's AttentionHead, max difference < 1e-6: {difference < 1e-6}")
# %% [markdown]
# **Exercise 4** (set the weights; 10 minutes, medium). Set the two matrices of a head by hand, such that every word gives at least 0.9 of its weight to the words of its own kind, and the same to each of them. The first three numbers of a word say of which kind it is; the others must not matter.

# %% exercise="look_at_kind"
def look_at_kind(words):
    """(w_q, w_k), (d_model, 3) each: every word looks at its kind."""
    return ...
# %%
exercises.look_at_kind.check(look_at_kind)
# %% [markdown]
# ## Why divide by √d_k?
#
# One part of equation 1 is still unexplained. The paper assumes that "the components of $q$ and $k$ are independent random variables with mean 0 and variance 1" (§3.2.1, footnote 4). The **variance** of a random number is the mean square of its distance from its mean. A dot product sums $d_k$ products $q_i k_i$. Each product has mean 0. Its variance is therefore the mean of $q_i^2\, k_i^2$, and because $q_i$ and $k_i$ are independent, that is the mean of $q_i^2$ times the mean of $k_i^2$, which is $1 \cdot 1$. Variances of independent terms add up, so that
#
# $$\mathrm{Var}(q \cdot k) = \sum_{i=1}^{d_k} \mathrm{Var}(q_i k_i) = d_k$$
#
# So a typical score is as large as $\sqrt{d_k}$, and dividing by $\sqrt{d_k}$ makes the variance 1, however wide the vectors are:

# %% tolerance=0.1
torch.manual_seed(0)
for d_k in (4, 16, 64, 256, 1024):
    products = (torch.randn(5_000, d_k) * torch.randn(5_000, d_k)).sum(-1)
    scaled = products / math.sqrt(d_k)
    print(f"d_k = {d_k:4}: variance {products.var():7.1f}, after scaling {scaled.var():.2f}")
    assert abs(products.var() / d_k - 1) < 0.1
# %% [markdown]
# Why should the size of a score matter? Here are random queries and eight random keys, which get wider as you move the slider. The tubes are filled up to the weights of one query; their glow and the curves are explained below. Answer the question first. Then move the slider from 1 to 1024, once without and once with ÷ √d_k, and watch how often one weight is above 0.9.

# %%
torch.manual_seed(0)
queries, keys = torch.randn(200, 1024, device="cpu"), torch.randn(8, 1024, device="cpu")
view = widgets.saturation(queries, keys)
view.ask("01 wide")
# %% [markdown]
# Let the code count as well, for the same query. Its output is folded, so that you can answer the question above before you open it:

# %% jupyter={"outputs_hidden": true}
scores, widths = view.state["scores"], torch.tensor(view.state["widths"], device="cpu")  # by stop
stops = {}
for name, s in (("with scale", scores / widths[:, None].sqrt()), ("without scale", scores)):
    largest = F.softmax(s, dim=-1).amax(-1)
    stops[name] = above = (largest > 0.9).sum().item()
    print(f"{name:13}: above 0.9 at {above:2} of {len(widths)} stops, at most {largest.max():.2f}")
assert stops["without scale"] > stops["with scale"]
# %% [markdown]
# <details><summary>After you have counted</summary>
# With the scale no weight of this query passes 0.7. Without it, a single key (not always the same) gets more than 0.9 at over half of the stops.
# </details>
#
# A softmax that gives nearly all the weight to one key is called **saturated**. What would be wrong with that? The paper writes: "We suspect that for large values of $d_k$, the dot products grow large in magnitude, pushing the softmax function into regions where it has extremely small gradients" (§3.2.1). We shall test this suspicion. But first, where are those regions?

# %% [markdown]
# Write $p = \mathrm{softmax}(s)$, and take the logarithm of one weight:
#
# $$\log p_i = s_i - \log \sum_k e^{s_k}$$
#
# Raise $s_j$ a little. The first term changes only if $i = j$, and the derivative of the second is $e^{s_j} / \sum_k e^{s_k} = p_j$. Since the derivative of $\log p_i$ is that of $p_i$, divided by $p_i$, we get
#
# $$J_{ij} = \frac{\partial p_i}{\partial s_j} = p_i\,\bigl([i = j] - p_j\bigr), \qquad\text{or}\qquad J = \mathrm{diag}(p) - p\,p^\top .$$
#
# Here $[i = j]$ is 1 if $i = j$, and 0 otherwise. This matrix of derivatives is the **Jacobian** of the softmax.

# %%
scores = torch.tensor([1.0, 2.0, 0.5])
p = F.softmax(scores, dim=0)
J = torch.diag(p) - torch.outer(p, p)
by_autograd = torch.autograd.functional.jacobian(lambda s: F.softmax(s, dim=0), scores)
for row in rounded(J):
    print(row)
print(f"formula = autograd, max difference < 1e-6: {(J - by_autograd).abs().max() < 1e-6}")
# %% [markdown]
# Read the second column: if the second score rises by a little, the second weight grows at the expense of the others. Each column sums to 0, up to rounding, because the weights always sum to 1. Now let one weight approach 1 and the others 0. Then each $p_i(1 - p_i)$, and each $p_i p_j$ with $i \ne j$, approaches 0, so **the whole Jacobian vanishes**:

# %% tolerance=0.01
for gap in (0.0, 2.0, 5.0, 10.0, 20.0):  # by how much the first score is ahead of two others
    row = torch.tensor([gap, 0.0, 0.0], dtype=torch.float64, device="cpu")  # 32 bits are too few
    p = F.softmax(row, dim=0)
    J = torch.diag(p) - torch.outer(p, p)
    print(f"ahead by {gap:4}: largest weight {p.max():.4f}, length of J {J.norm():.1e}")
# %% [markdown]
# Unless the loss is extremely steep there, hardly any gradient gets through to the scores. (In the view above the glow of a tube is $p_i(1 - p_i)$, its entry on the diagonal of $J$. The curves show the length of $J$, the root of the sum of its squared entries: at each width the median of all 200 queries.)

# %% [markdown]
# **Exercise 5** (10 minutes, harder). Write the Jacobian of softmax for any number of rows of weights at once: `(…, S)` gives `(…, S, S)`.

# %% exercise="softmax_jacobian"
def softmax_jacobian(weights):
    """The derivative of each weight with respect to each score: diag(p) - p pᵀ."""
    return ...
# %%
exercises.softmax_jacobian.check(softmax_jacobian)
# %% [markdown]
# ## Does it matter for learning?
#
# A small gradient need not mean poor learning, so now comes the experiment that could refute the suspicion. Think of a telephone list: a model gets 16 names, each with a number, and must return the number of the one name that it is asked for. A name is a random vector, and there are 64 of them. The model compares the name that is asked for with all 16, answers with the average of their numbers, weighted by attention, and its loss is the squared error. We say that it has found the name if the right one has the largest weight. (In the code the right name stands first in every list. The model can't use that, because its scores do not know where a key stands.) Only $W^Q$ and $W^K$ learn.

# %% [markdown]
# We compare four versions:
#
# - *without scale* and *with scale*;
# - *smaller start*: without the scale, but $W^Q$ starts $\sqrt{d_k}$ times smaller, so that the first scores are as large as with the scale;
# - *told the name*: without the scale, but the loss is $-\log p$, where $p$ is the weight of the right name.

# %%
def learn_names(width, scale=1.0, start=1.0, told="number", steps=80, rate=2e-3, weigh=F.softmax):
    """Train one model: the share of names that it finds, and its first gradient of W_Q."""
    names = torch.randn(64, width)
    w_q, w_k = ((torch.rand(width, width) * 2 - 1) * (3 / width) ** 0.5 for _ in "qk")
    w_q = (start * w_q).requires_grad_()
    w_k.requires_grad_()
    optimizer = torch.optim.Adam([w_q, w_k], lr=rate)
    for step in range(steps):
        lists = torch.rand(128, 64).argsort(-1)[:, :16]  # 128 lists of 16 names
        numbers = torch.randn(128, 16)  # the first name of each list is asked for
        each_with_each = scale * (names @ w_q) @ (names @ w_k).T  # (64, 64)
        scores = each_with_each[lists[:, :1], lists]  # (128, 16)
        weights = weigh(scores, dim=-1)
        error = (weights * numbers).sum(-1) - numbers[:, 0]
        p = weights[:, 0]  # the weight of the right name
        losses = {"number": error.square(), "name, squared": (1 - p).square()}
        losses["name"] = -F.log_softmax(scores, dim=-1)[:, 0]  # -log p
        loss = losses[told].mean()
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            gradient = w_q.grad.norm().item()
        optimizer.step()
    return (weights.argmax(-1) == 0).float().mean().item(), gradient
# %% [markdown]
# The next cell trains all four versions at four widths, each from three random starts, and takes about 10 seconds:

# %%
torch.manual_seed(0)
widths = (32, 64, 128, 256)
versions = {
    "without scale": lambda width: learn_names(width),
    "with scale": lambda width: learn_names(width, scale=width**-0.5),
    "smaller start": lambda width: learn_names(width, start=width**-0.5),
    "told the name": lambda width: learn_names(width, told="name"),
}
runs = {v: torch.tensor([[f(w) for _ in range(3)] for w in widths]) for v, f in versions.items()}
found = {v: both[..., 0] for v, both in runs.items()}  # (widths, starts)
# %%
curves = {version: shares.mean(1) for version, shares in found.items()}
ax = plots.plot_lines(widths, curves, x_label="width d_k", y_label="names found", log_x=True)
for shares, line in zip(found.values(), ax.get_lines()):
    low, high = shares.cpu().amin(1), shares.cpu().amax(1)
    ax.fill_between(widths, low, high, alpha=0.2, color=line.get_color())
ax.set_ylim(0, 1.05)
ax.legend(loc="lower center", ncols=2, frameon=False)
plots.show(ax, alt="Names found by width: only the model without scale stays far below 1.")
# %% tolerance=0.25
print("width        ", "  ".join(f"{width:<12}" for width in widths))
for version, shares in found.items():
    print(f"{version:13}", "  ".join(f"{r.min():.2f} to {r.max():.2f}" for r in shares))
    assert version == "without scale" or shares.min() > 0.8
    assert version == "without scale" or (found["without scale"].amax(1) < shares.amin(1)).all()
# %% [markdown]
# Each entry runs from the worst to the best of three starts. After 80 steps the model without scale is behind at every width. (That it falls so steeply from width to width is mostly chance: 16 starts found 0.48, 0.49, 0.43 and 0.38 on average.) A smaller start does about as well as the scale, which suggests that the trouble begins with the *first scores*. (It is no proof, because a smaller start changes a second thing: Adam's steps stay as long as before, so they change a smaller matrix more. A cleaner test follows.) But large scores do not harm every model, since the one that is told the right name finds nearly all. The first *Extra* asks why.

# %% [markdown]
# Inside a Transformer nobody tells attention the right name. Does a model that is told only the number fail for good without the scale, or is it only slow? Train it four times as long:

# %% tolerance=0.25
longer = {w: torch.tensor([learn_names(w, steps=320)[0] for _ in range(3)]) for w in (32, 256)}
for width, shares in longer.items():
    print(f"width {width:3}: {shares.min():.2f} to {shares.max():.2f} found after 320 steps")
    assert shares.mean() > found["without scale"][widths.index(width)].mean()
assert longer[256].max() < longer[32].min()
# %% [markdown]
# It does learn without the scale, but late, and after 320 steps the wide model is behind the narrow one. With the scale, 80 steps were enough for it.
#
# Are small gradients the cause, as the paper suspects? Here is how long the gradient of $W^Q$ was in the first step of each training:

# %% tolerance=0.6
print("width        ", "  ".join(f"{width:5}" for width in widths))
lengths = {version: both[..., 1].mean(1) for version, both in runs.items()}
for version in ("without scale", "with scale", "smaller start"):
    print(f"{version:13}", "  ".join(f"{length:5.2f}" for length in lengths[version]))
assert (runs["without scale"][..., 1].amin(1) > 2 * runs["with scale"][..., 1].amax(1)).all()
assert (lengths["smaller start"] > 0.5 * lengths["without scale"]).all()
# %% [markdown]
# Without the scale this gradient is not small at all. It is even *longer*, because the scale divides not only the scores but also every gradient that comes back through them. But its length does not tell us how much is learned: with the smaller start, which finds the names, the gradient is about as long or longer. Besides, it is an average over 128 questions, and most of them may add next to nothing to it. (An *Extra* shows how unequal such gradients are.)
#
# To test the suspicion itself, we must change the gradient of the softmax **and nothing else**. The next function returns the weights of a model's own scores, but sends back the gradient of another softmax, whose scores are multiplied by `factor`. (`detach` cuts a tensor off from the gradient.)

# %%
def with_gradient_of(factor):
    """A softmax that sends back the gradient of another one, of the scores times `factor`."""

    def weigh(scores, dim):
        own, other = F.softmax(scores, dim=dim), F.softmax(factor * scores, dim=dim)
        return other + (own - other).detach()  # the numbers of own, the gradient of other

    return weigh
# %% [markdown]
# One model has no scale, keeps its large scores, and its softmax sends back the gradient that it would send with the scale. The other has the scale, keeps its small scores, and its softmax sends back the gradient that it would send without:

# %% tolerance=0.25
torch.manual_seed(0)
root, exchanged = 256**0.5, {}
for name, scale, factor in (("large", 1.0, 1 / root), ("small", 1 / root, root)):
    gradient = with_gradient_of(factor)
    shares = [learn_names(256, scale, weigh=gradient)[0] for _ in range(3)]
    exchanged[name] = shares
    other = "small" if name == "large" else "large"
    print(f"{name} scores, gradient of {other} ones: {min(shares):.2f} to {max(shares):.2f} found")
assert max(exchanged["small"]) < 0.7 < 0.9 < min(exchanged["large"])
# %% [markdown]
# The gradient decides. With the gradient of small scores, the model without the scale learns as if it had one. With that of large scores, the model with the scale learns as little as if it had none.

# %% [markdown]
# So the paper looked in the right place. Large scores do no harm by themselves; the harm is done by the gradient that comes back through the softmax.
#
# The Jacobian says where this gradient is extremely small. All entries of its column $j$ have the factor $p_j$, so a key that gets next to no weight gets next to no gradient, even if it is the right one. At the start of training this is what usually happens: the scores are still random, and without the scale a wide model gives nearly all the weight to one of the 16 names, which is seldom the right one.

# %% [markdown]
# ## It knows no order
#
# We have built everything that equation 1 contains, and it is time to ask what it does *not* contain. What happens if you shuffle the words? Let $P$ be the **permutation matrix** that shuffles the rows. Then $P^\top P = I$, because $P^\top$ shuffles them back. The scores of $PX$ are $P\,XX^\top P^\top$, which are the same numbers with rows and columns shuffled. The softmax of each row is shuffled in the same way:
#
# $$\mathrm{softmax}\!\left(\tfrac{P X X^\top P^\top}{\sqrt{d_k}}\right) P X = P\,\mathrm{softmax}\!\left(\tfrac{X X^\top}{\sqrt{d_k}}\right) P^\top P X = P\,\mathrm{softmax}\!\left(\tfrac{X X^\top}{\sqrt{d_k}}\right) X$$
#
# So shuffled words give the same outputs, shuffled. Learned matrices change nothing about this, since $(PX)W = P(XW)$.

# %%
order = [3, 0, 4, 1, 2]
P = torch.eye(5)[order]
before, after = head(x, x, x)[0], head(P @ x, P @ x, P @ x)[0]  # x: the sentence of 5 words
difference = (after - P @ before).abs().max()
print(f"shuffle, then attend = attend, then shuffle: max difference < 1e-6: {difference < 1e-6}")
# %% [markdown]
# A function with this property is called **equivariant** to permutations. It means that attention cannot tell *dog bites man* from *man bites dog*, because each word gets the same vector in both. Lesson 03 repairs that.

# %% [markdown]
# ## Break it
#
# In your own projects no check will know the right answer. How would you notice that your attention is wrong? The exercises keep the usual mistakes as small functions, and here is what attention becomes with five of them. The first three get the weights wrong, the fourth averages keys instead of values, and the fifth adds the values up whatever the weights are. Would you notice them by the *shapes*? The values here are as wide as the keys, as they are in most models:

# %% tolerance=0.1
torch.manual_seed(0)
q, k, v = torch.randn(5, 3), torch.randn(7, 3), torch.randn(7, 3)
expected, _ = attend(q, k, v)

print("                      shapes right  rows sum to   largest error of the output")
names = ["unscaled", "divided_by_d_k", "softmax_over_queries", "keys_averaged", "values_summed"]
for name in names:
    output, weights = exercises.scaled_dot_product_attention.mistakes[name].function(q, k, v)
    sums, error = weights.sum(-1), (output - expected).abs().max()
    shapes = output.shape == expected.shape
    print(f"{name:21} {shapes!s:13} {sums.min():.2f} to {sums.max():.2f}  {error:.2f}")
# %% [markdown]
# All five have the right shapes, and four have rows that sum to 1. **A test of shapes finds none of them**, and the property "each row sums to 1" finds one. What finds all five is a number worked out by hand, if its values differ from its keys, or the comparison with an implementation that you trust. You will meet such numbers, properties and comparisons in nearly every lesson.

# %% [markdown]
# ## Remember
#
# - Attention is a weighted average of values; the weights are a softmax over dot products of queries with keys.
# - Rows are queries, columns are keys, and each row sums to 1.
# - $W^Q$ says what a word looks for, $W^K$ what it offers, $W^V$ what it hands over.
# - Scores that lie far apart saturate the softmax, which means that its Jacobian, $\mathrm{diag}(p) - pp^\top$, nearly vanishes. Dividing by $\sqrt{d_k}$ keeps them closer together, so that the gradient gets through and attention learns sooner.
# - Any two words are one step apart, and their order is unknown.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. You add 5 to every score of one query. What happens to its weights?</summary>
# Nothing happens, because the factor e⁵ appears in numerator and denominator, and cancels. Exercise 1 uses this to avoid overflow.
# </details>
# <details><summary>2. You multiply all values by 2. What happens to the weights and to the output?</summary>
# The weights stay as they are, since they are made of queries and keys alone, and the output doubles.
# </details>

# %% [markdown]
# <details><summary>3. Two words of a sentence change places. What happens to the output of a third?</summary>
# Nothing happens. It is the same average of the same words, added up in another order.
# </details>
# <details><summary>4. Weights have the axes (B, h, T, S): batch, heads, queries, keys. Over which of them did the softmax run?</summary>
# Over the last one, the keys, because each query shares its attention among them.
# </details>
# <details><summary>5. You double W_Q and halve W_K. What changes?</summary>
# Nothing changes, since only their product counts. (With biases, b_Q would have to be doubled as well. A b_K changes no weight at all.)
# </details>

# %% [markdown]
# **Next:** one head gives each word one way of looking. [Lesson 02](02_multi_head_attention.ipynb) gives it several at once.

# %% [markdown]
# ## Extra: what the loss has to do with it
#
# The model that was told the name found nearly all names, although its first scores were large. Its loss, $-\log p$, differs from the squared error in two things, since it asks for a name instead of a number, and it takes a logarithm where the other takes a square. Which of the two helps? The control is a third loss, $(1 - p)^2$, which asks for the name as well, but with a square. All models are 256 wide and have no scale, and each loss is tried at two learning rates (4 seconds):

# %% tolerance=0.35
torch.manual_seed(0)
by_loss = {}
for rate in (0.002, 0.0005):
    for told in ("number", "name, squared", "name"):
        shares = [learn_names(256, told=told, rate=rate)[0] for _ in range(3)]
        by_loss[told, rate] = sum(shares) / 3
        print(f"rate {rate:6}, told the {told:13}: {min(shares):.2f} to {max(shares):.2f} found")
    assert by_loss["number", rate] < by_loss["name, squared", rate] < by_loss["name", rate]
# %% [markdown]
# Both help. At the lesson's learning rate most of the difference comes from the name, and at a quarter of it the logarithm counts at least as much.

# %% [markdown]
# The logarithm helps because it takes the factor $p$ out of the gradient, as we shall see. But $(1 - p)^2$ leaves that factor in, so why does asking for the name help? With a number to guess, the wrong names get gradients that depend on *their* numbers. The next function lets through only the gradient at the score of the right name:

# %% tolerance=0.35
def only_at_the_right(scores, dim):
    """A softmax with no gradient at the wrong names: the right one stands first."""
    right = torch.arange(scores.size(dim)) == 0
    return F.softmax(torch.where(right, scores, scores.detach()), dim=dim)


shares = [learn_names(256, weigh=only_at_the_right)[0] for _ in range(3)]
print(f"number, gradient only at the right name: {min(shares):.2f} to {max(shares):.2f} found")
assert sum(shares) / 3 > by_loss["number", 0.002] + 0.2
# %% [markdown]
# Told the number, the model now learns about as well as with $(1 - p)^2$, the square that asks for the name. So the gradients at the wrong names stood in its way, because they drown the one at the right name, which has the small factor $p$. (The other way round works, too: with the gradient at the right name divided by $p$, and those at the wrong names left as they are, three starts found all names.)

# %% [markdown]
# The logarithm is worth a closer look, since every classifier has it in its loss: the cross-entropy (lesson 00) is $-\log p_c$, where $c$ is the right class. From the derivation above, $\partial \log p_c / \partial s_j = [c = j] - p_j$. So the gradient of the loss is $p - y$, where $y$ is 1 for the right class and 0 elsewhere. At the right class its size is $1 - p_c$, which is largest where the model is sure and wrong:

# %% tolerance=0.01
scores = torch.tensor([[20.0, 0.0, 0.0]], requires_grad=True)  # sure of class 0; class 1 is right

(gradient,) = torch.autograd.grad(F.softmax(scores, dim=-1)[0, 1], scores)
print(f"through the softmax alone, at most {gradient.abs().max():.0e}")

(gradient,) = torch.autograd.grad(F.cross_entropy(scores, torch.tensor([1])), scores)
print("through softmax and cross-entropy", rounded(gradient[0], 4))
# %% [markdown]
# ## Extra: how much gradient reaches a query?
#
# How can the gradient vanish and yet be longer without the scale? The scale avoids saturation, but it also divides the gradient of a query by $\sqrt{d_k}$. Take 400 random queries and 64 random keys of width 1024, with values of one number each, and measure the gradient of the output with respect to each query:

# %%
def gradients_at_queries(d_k, scale):
    """Lengths of the gradients at 400 queries, and how far each best score is ahead."""
    torch.manual_seed(0)  # the same queries, keys and values with and without scale
    query = torch.randn(400, d_k, requires_grad=True)
    scores = query @ torch.randn(d_k, 64) * scale
    output = F.softmax(scores, dim=-1) @ torch.randn(64)
    (gradient,) = torch.autograd.grad(output.sum(), query)
    lengths, order = gradient.norm(dim=-1).sort()  # from the shortest to the longest
    best, second = scores.topk(2, dim=-1).values[order].unbind(-1)
    return lengths, (best - second).detach()


with_scale, _ = gradients_at_queries(1024, 1024**-0.5)
without, ahead = gradients_at_queries(1024, 1.0)
# %%
share = torch.linspace(0, 100, 400)
curves = {"without scale": without, "with scale": with_scale}
drawn = {name: lengths.clamp(min=1e-12) for name, lengths in curves.items()}  # 0 has no logarithm
ax = plots.plot_lines(share, drawn, x_label="queries, from the shortest gradient (%)", log_y=True)
ax.set_ylabel("length of the gradient")
plots.show(ax, alt="Sorted gradients at 400 queries: flat with scale; without, from 0 to above 10.")
# %% tolerance=0.5
for name, lengths in curves.items():
    print(f"{name:13}: median {lengths.median():.3f}, mean {lengths.mean():.2f}")
shortest, longest = ahead[:200].median(), ahead[-40:].median()
print(f"best score ahead by {shortest:.0f} in the shorter half, {longest:.1f} in the longest tenth")
assert without.median() < 0.3 * with_scale.median()
assert without.mean() > 3 * with_scale.mean()
assert shortest > 5 * longest
assert 0.2 < (without > with_scale.median()).float().mean() < 0.45
# %% [markdown]
# With the scale all queries get a gradient of about the same length. Without it half of them get next to nothing, while a few, whose two best keys are nearly tied, get gradients so long that the *mean* is higher than with the scale. So at this width the "extremely small gradients" are those of about half the queries, and roughly a third of the queries get more than is usual with the scale.

# %% [markdown]
# ## Extra: what a trained model looks at
#
# *This part uses a whole Transformer with its masks. Look at the maps now, and come back for the rest after lesson 06.*
#
# In practice training finds the matrices. This project comes with a small translator from English number names to German ones (in lesson 07 you train a smaller one). It reads pieces of words, called **tokens** (a `·` in their names is a space). While it writes, it attends to them in two layers, one after the other, of four heads each. Queries come from the German side and keys from the English one. **Predict:** German says *four-hundred-one-and-twenty*. Where does the model look when it has to write *ein*, one?

# %%
model, tokenizer, _ = load_checkpoint("en_de")
english = "four hundred and twenty-one"
(german,) = translate(model, tokenizer, [english])
print(english, "→", german)

source, target = tokenizer.encode(english), tokenizer.encode(german)
# German begins with a mark, `bos` (beginning of sequence), and stops with another, `eos` (its end).
src, tgt = torch.tensor([source]), torch.tensor([[tokenizer.bos_id, *target]])
weights = analysis.cross_attention(model, src, tgt)  # (layers, heads, T, S)
# %%
read = analysis.token_names(tokenizer, source)
written = analysis.token_names(tokenizer, [*target, tokenizer.eos_id])
last_layer = weights[-1].mean(0)  # the average of its heads
plots.show(
    plots.plot_attention(last_layer, written, read),
    alt="Where the translator looks while it writes: for ein at one, then back.",
)
# %% tolerance=0.1
ein = next(row for row, token in enumerate(written) if token.startswith("ein"))
one = next(column for column, token in enumerate(read) if "one" in token)
weight = last_layer[ein, one]
print(f"writing {written[ein]!r}: weight {weight:.2f} on {read[one]!r}, {1 - weight:.2f} elsewhere")
assert weight > 0.5
# %% [markdown]
# Each row stands for the token that is written next, and each column for a token that is read. To write *ein* the last layer looks mostly at *one*, and then it goes back for the tens.
#
# Weights show where a model *looked*. Did it need what it saw there? To find out, hide one English token at a time from both layers, and measure by how much the probability of each right German token falls.

# %%
S, pad = len(source), tokenizer.pad_id
hide_one = ~torch.eye(S, dtype=torch.bool)[:, None, None]  # sentence i may look at all but token i
right = torch.tensor([*target, tokenizer.eos_id])
with torch.no_grad():
    memory, causal = model.encode(src), decoder_mask(tgt, pad)  # memory: the English, as vectors
    all_seen = model.decode(tgt, memory, causal).softmax(-1)
    tgts, memories = tgt.expand(S, -1), memory.expand(S, -1, -1)
    all_but_one = model.decode(tgts, memories, causal, hide_one).softmax(-1)
lost = (all_seen - all_but_one)[:, range(len(right)), right].T  # (T, S)
# %%
ax = plots.plot_matrix(lost, written, read)
ax.set(xlabel="hidden", ylabel="written")
plots.show(ax, alt="Probability lost: much without four and without twenty, little without one.")
# %% [markdown]
# *vierhundert* needs *four* and *hundred*, and *undzwan* needs *twenty-*, so here the two maps agree. But *ein* loses only about 0.2 without *one*, although the last layer looked there most. Did it find the *one* somewhere else? Hide *one* together with each other token:

# %% tolerance=0.3
two_hidden = hide_one & hide_one[[one]]  # sentence i may look at all but token i and "one"
with torch.no_grad():
    logits = model.decode(tgts, memories, causal, two_hidden)
chances = logits.softmax(-1)[:, ein, target[ein]].tolist()
for token, chance in zip(read, chances):
    hidden = "one alone" if token == read[one] else f"one and {token}"
    print(f"hidden: {hidden:16} probability of ein: {chance:.2f}")
lowest = min(chances)
assert read[chances.index(lowest)] == "·and"
assert lowest < 0.3 < 0.5 < sorted(chances)[1]
# %% [markdown]
# With both *one* and *and* hidden, the model gives *ein* next to no probability, and hiding any other token along with *one* does not do that. The map of weights hinted at this, but it shows the last layer alone. Where does the first layer look?

# %% tolerance=0.3
first_layer = weights[0].mean(0)[ein]
for column in first_layer.argsort(descending=True)[:2].tolist():
    print(f"first layer, writing ein: {first_layer[column]:.2f} on {read[column]}")
assert read[first_layer.argmax()] == "·and"
# %% [markdown]
# It looks mostly at *and*. Does the vector of *and* also tell it which digit comes? Then it must be possible to mislead the model. Put the vector of *and* from *four hundred and twenty-two* in its place, and hide *one* again:

# %% tolerance=0.3
two = "four hundred and twenty-two"
with_zwei = tokenizer.encode(*translate(model, tokenizer, [two]))
position = read.index("·and")
with torch.no_grad():
    mixed, other = memory.clone(), model.encode(torch.tensor([tokenizer.encode(two)]))
    mixed[:, position] = other[:, position]
    chance = model.decode(tgt, mixed, causal, hide_one[[one]])[0, ein].softmax(-1)
chances = {"ein": chance[target[ein]].item(), "zwei": chance[with_zwei[ein]].item()}
print("probability", {name: round(value, 2) for name, value in chances.items()})
assert chances["zwei"] > 0.5 > 0.2 > chances["ein"]
# %% [markdown]
# Now it writes *zwei*, two, although only the vector of *and* has changed. So that vector does tell the digit, because the layers that read the English have attention of their own, and have already mixed the words. A weight says from which *position* a vector was taken, but not what was in it. To find out what a model needs, take something away or exchange it, as you did here.

# %% [markdown]
# ## Extra: does it have to be a dot product?
#
# A score could also come from a small network, $\tanh(x\,W^Q + y\,W^K)\,w$, as in [Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473). **Does a non-linearity help?** Here is a task on raw numbers: there are eight keys, each a single number, and a query equal to one of them, which the model must find.

# %%
def batch(size, n_keys=8):
    keys = torch.rand(size, n_keys, 1) * 2 - 1
    target = torch.randint(n_keys, (size,))
    return keys[torch.arange(size), target], keys, target


class DotScore(nn.Module):
    def __init__(self, d_in=1, width=16):
        super().__init__()
        self.w_q, self.w_k = nn.Linear(d_in, width), nn.Linear(d_in, width)

    def forward(self, query, keys):
        return (self.w_k(keys) @ self.w_q(query).unsqueeze(-1)).squeeze(-1) / 4
# %%
class NetworkScore(DotScore):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(16, 1)

    def forward(self, query, keys):
        return self.w(torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(keys))).squeeze(-1)


class DotAfterNetwork(DotScore):
    def __init__(self):
        super().__init__(d_in=16)
        self.before = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, query, keys):
        return super().forward(self.before(query), self.before(keys))
# %% [markdown]
# The third version scores with a plain dot product, but a small network comes *before* it, as it does in every layer of a Transformer but the first. The next cells train each of them three times, which takes about 3 seconds:

# %%
def accuracy_after_training(model, steps=150):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(steps):
        query, keys, target = batch(128)
        loss = F.cross_entropy(model(query, keys), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    query, keys, target = batch(2000)
    return (model(query, keys).argmax(-1) == target).float().mean().item()
# %% tolerance=0.35
torch.manual_seed(0)
for score in (DotScore, NetworkScore, DotAfterNetwork):
    runs = [accuracy_after_training(score()) for _ in range(3)]
    n_parameters = sum(p.numel() for p in score().parameters())
    found = f"found {min(runs):.2f} to {max(runs):.2f}"
    print(f"{score.__name__:15}: {n_parameters:4} parameters, {found}")
    assert max(runs) < 0.35 if score is DotScore else min(runs) > 0.45
# %% [markdown]
# The dot product finds the right key only a quarter of the time, and no training can change that. Its score is a straight line in the key, so either the largest or the smallest key always wins, and those are two of the eight. A network inside the score solves the problem. A network *before* the dot product helps as well; here it has 20 times the parameters.
#
# What the dot product buys is memory and speed (§3.2.1): all $T \times S$ scores are one matrix product, where the network keeps a hidden vector for each *pair* of words.

# %% [markdown]
# ## Extra: what it replaced
#
# Before the Transformer most neural translators read with **recurrent networks**, one word after the other, where each step mixes the new word into a state. Attention came on top of that. ([ByteNet](https://arxiv.org/abs/1610.10099) and [ConvS2S](https://arxiv.org/abs/1705.03122) used convolutions.) In a recurrent network, whatever the first of $n$ words contributes has to survive $n - 1$ updates before it reaches the last. In attention it is one step away.
#
# ![A recurrent network is a chain: word 1 reaches word 6 through five steps. In self-attention every word is joined to every other directly.](../img/01_paths.svg)

# %% [markdown]
# How strongly does the *last* output depend on the *first* input? The yardstick is the length of the gradient, in untrained models. Each step of the recurrent network multiplies by the same matrix, so it should matter how that matrix starts. Here are four starts: PyTorch's default, an **orthogonal** matrix (which keeps lengths; the tanh after it shortens them), and one and a half times and twice that:

# %%
def influence_of_the_first(run, length, d_model=32):
    """Length of the gradient of the last output with respect to the first input (mean of 20)."""
    x = torch.randn(20, length, d_model, requires_grad=True)
    (gradient,) = torch.autograd.grad(run(x)[0][:, -1].sum(), x)
    return gradient[:, 0].norm(dim=-1).mean().item()


torch.manual_seed(0)
head = attention.AttentionHead(32, 32)
models = {"self-attention": lambda x: head(x, x, x)}
gains = {"default": None, "orthogonal": 1.0, "1.5 × orthogonal": 1.5, "2 × orthogonal": 2.0}
for name, gain in gains.items():
    rnn = models[f"recurrent, {name}"] = nn.RNN(32, 32, batch_first=True)
    if gain:
        nn.init.orthogonal_(rnn.weight_hh_l0, gain=gain)
# %%
lengths = [2, 4, 8, 16, 32, 64, 128, 256]
curves = {
    name: [influence_of_the_first(model, length) for length in lengths]
    for name, model in models.items()
}
drawn = {name: torch.tensor(curve).clamp(min=1e-12) for name, curve in curves.items()}
ax = plots.plot_lines(lengths, drawn, x_label="number of words", log_x=True, log_y=True)
ax.set_ylabel("influence of the first on the last")
plots.show(ax, alt="Influence by length: attention falls slowly; recurrence vanishes or explodes.")
# %% tolerance=100
for name, curve in curves.items():
    found = ", ".join(f"{curve[lengths.index(n)]:7.1e} at {n}" for n in (2, 32, 256))
    print(f"{name:27}: {found}")
last = {name: curve[-1] for name, curve in curves.items()}
assert last["recurrent, 1.5 × orthogonal"] < last["self-attention"] / 10
assert max(last["recurrent, default"], last["recurrent, orthogonal"]) < 1e-12
assert last["recurrent, 2 × orthogonal"] > 1e6
assert curves["self-attention"][4] < curves["recurrent, 1.5 × orthogonal"][4]

# %% [markdown]
# In self-attention each word shares its weight among all, so the influence of one falls roughly as $1/n$. In a recurrent network it changes by a *factor* with every step, so it falls or explodes exponentially. A well-chosen matrix can hide this for a while: one and a half times orthogonal is ahead of attention at 32 words, and far behind at 256. With twice orthogonal the influence explodes instead. Gates, as in the [LSTM](https://doi.org/10.1162/neco.1997.9.8.1735), are a remedy where they stay nearly open. (PyTorch's LSTM starts with its gates half open, and there the influence of the first word vanishes, too.) What no start changes is that the $n$ steps come one after the other.

# %% [markdown]
# What does it cost? The paper's Table 1 compares orders of growth, for $n$ words of width $d$ and a convolution over $k$ neighbours:
#
# | layer | operations | steps in sequence | longest path |
# |---|---|---|---|
# | self-attention | $O(n^2 \cdot d)$ | $O(1)$ | $O(1)$ |
# | recurrent | $O(n \cdot d^2)$ | $O(n)$ | $O(n)$ |
# | convolutional (dilated) | $O(k \cdot n \cdot d^2)$ | $O(1)$ | $O(\log_k n)$ |
#
# An order leaves out constants, so count the multiplications yourself. A head with $W^Q$, $W^K$, $W^V$ and one more matrix for its output (lesson 02) takes $4nd^2$ for these and $2n^2d$ for scores and average; a plain recurrent network takes $2nd^2$, and an LSTM, which has four times as many matrices, $8nd^2$:

# %%
d = 512
for n in (64, 512, 4096):
    counts = {"attention": 4 * n * d * d + 2 * n * n * d}
    counts |= {"recurrent": 2 * n * d * d, "LSTM": 8 * n * d * d}
    millions = [f"{name} {count / 1e6:6,.0f} million" for name, count in counts.items()]
    print(f"n = {n:4}:", ", ".join(millions))
# %% [markdown]
# Attention takes more multiplications than the plain network, and fewer than the LSTM while $n < 2d$. For long texts its $n^2$ dominates. (The paper's $n^2 d$ leaves out the four matrices; by that count attention wins where $n < d$, §4.) Its advantage at any length is in the column *steps in sequence*: recurrent networks take $n$ steps one after the other, where attention is a few matrix products that a GPU computes at once.

# %% [markdown]
# ## Extra: the same five times
#
# Here is one function, written in five ways: the loop of the calculation by hand, your four lines, `einsum` (which names the axes and sums over those that the result lacks), this project's package, and PyTorch's own function.

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
# The package's function also takes a batch. It must do what `attend` does to one sentence after the other:

# %%
sentences = torch.randn(4, 5, 8)  # (B, T, d_k)
one_by_one = torch.stack([attend(each, each, each)[0] for each in sentences])
at_once, _ = attention.scaled_dot_product_attention(sentences, sentences, sentences)
print(f"max difference < 1e-6: {(at_once - one_by_one).abs().max() < 1e-6}")
# %% [markdown]
# From here on equation 1 has the package's name, `scaled_dot_product_attention`. It is `attend` plus batches, masks (lesson 05) and dropout (lesson 03). It returns the weights that made the output, so that a picture of them shows what really happened. PyTorch's function returns no weights, because fast routines (**kernels**) such as [FlashAttention](https://arxiv.org/abs/2205.14135) never hold all of them at once (lesson 13).
