# %% [markdown]
# # 03 · Positional encoding
#
# Attention cannot tell *dog bites man* from *man bites dog*. Give every word a place.
#
# **You will be able to**
# - prove what attention misses, and compute the encoding that cures it,
# - say why a step to the side is a rotation, and which wrong encodings pass that test,
# - choose between four encodings by a measurement.
#
# **You need** lessons 01 and 02. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 3.5. **Time:** 50 minutes.

# %%
import math

import torch
from torch import nn

from transformer_lab import MultiHeadAttention, default_device, exercises, plots, widgets

torch.set_default_device(default_device())

# %% [markdown]
# ## The question
#
# Three words, each with a vector, and an attention layer with two heads. Read them forwards and backwards, and compare what comes out for each word:

# %%
torch.manual_seed(0)
vectors = dict(zip(("dog", "bites", "man"), torch.randn(3, 8)))
layer = MultiHeadAttention(d_model=8, n_heads=2)


def read(sentence):
    x = torch.stack([vectors[word] for word in sentence.split()])[None]
    return dict(zip(sentence.split(), layer(x, x, x)[0][0]))


one, other = read("dog bites man"), read("man bites dog")
for word in one:
    same = torch.allclose(one[word], other[word], atol=1e-6)
    print(f"{word:5} has the same output in both sentences: {same}")

# %% [markdown]
# Who bites whom is lost. It is not bad luck with the weights: a dot product looks at two vectors and not at where they stand, and a sum has no order. **Shuffle the words: why does nothing notice, and what is the cure?**

# %% [markdown]
# ## What exactly is lost?
#
# Does attention give the same result in any order, then? Try all 120 orders of five words, with two layers on top of each other (the same one twice):

# %%
from itertools import permutations

x = torch.randn(1, 5, 8)
two_layers = lambda x: layer(*[layer(x, x, x)[0]] * 3)[0]
y = two_layers(x)
orders = [list(order) for order in permutations(range(5))]
results = [two_layers(x[:, order]) for order in orders]
follow = all(torch.allclose(r, y[:, o], atol=1e-6) for r, o in zip(results, orders))
print("outputs stay where they were:        ", torch.allclose(results[1], y, atol=1e-6))
print("outputs are shuffled like the inputs:", follow)

# %% [markdown]
# So the result is *not* the same: it is shuffled in the same way. Such a function is **permutation-equivariant**. A function whose result stays the same is **permutation-invariant**, and that is what you get if you pool the words, by a mean for instance:

# %%
pooled = all(torch.allclose(r.mean(1), y.mean(1), atol=1e-6) for r in results)
print("the mean over the words is the same in any order:", pooled)

# %% [markdown]
# Whatever stands on top can only know *which* words there are, like a bag of words. The cure: make the vector of a word depend on its place, *before* attention.

# %% [markdown]
# ## By hand
#
# A first idea: add the number of the position to the vector. Position 500 then drowns every word. Or add a fraction, position / length: then "next to me" is another number in a longer sentence.

# %% [markdown]
# Better: numbers between -1 and 1, several for each position, as on clocks. One hand turns fast and tells neighbours apart; one turns slowly and tells far places apart. For each hand, keep its sine and its cosine.
#
# Four features are two clocks. The first turns by 1 radian a position, the second by $1/\sqrt{10000} = 1/100$:

# %%
for position in range(3):
    angles = position * 1, position / math.sqrt(10000)
    row = [f(angle) for angle in angles for f in (math.sin, math.cos)]
    print(f"position {position}:", "  ".join(f"{value:8.5f}" for value in row))

# %% [markdown]
# Position 0 is 0, 1, 0, 1: every hand points up. From then on the left pair runs and the right pair creeps. (With $\sqrt{1000}$, which some texts have, the third number of position 1 would be 0.03162.)

# %% [markdown]
# ## The equation
#
# The **sinusoidal encoding** of section 3.5 has a clock for each pair $i = 0, 1, \dots, d_{model}/2 - 1$:
#
# $$PE(pos, 2i) = \sin(pos \cdot \omega_i), \qquad PE(pos, 2i + 1) = \cos(pos \cdot \omega_i), \qquad \omega_i = 10000^{-2i/d_{model}}$$
#
# $\omega_i$ is the **frequency**, in radians a position. Mind the index: $i$ counts *pairs*, and both features of a pair share a frequency.

# %% [markdown]
# ![Four clocks with frequencies 1, 0.1, 0.01 and 0.001. Above, their hands at position 3; below, at position 8: each has turned by 5 times its frequency.](../img/03_clocks.svg)

# %% [markdown]
# In the drawing $d_{model}$ is 8, the sine points to the right and the cosine up. In code, with a frequency for each feature; position 1 must come out as before:

# %%
def encode(length, d_model):
    feature = torch.arange(d_model)
    pair = feature // 2  # 0 0 1 1 2 2 …
    angle = torch.arange(length)[:, None] * 10000.0 ** (-2 * pair / d_model)
    return torch.where(feature % 2 == 0, angle.sin(), angle.cos())


print([round(value, 3) + 0.0 for value in encode(2, 4)[1].tolist()])

# %% [markdown]
# ## Look
#
# 25 positions, 64 features. **Predict:** where do the colours change fast, where hardly at all?

# %%
labels = [str(i) if i % 8 == 0 else "" for i in range(64)]
ax = plots.figure(width=9, height=4.2)[1]
plots.plot_matrix(encode(25, 64), [str(p) for p in range(25)], labels, ax=ax)
ax.set(xlabel="feature", ylabel="position")
plots.show(ax, alt="Encoding, 25 by 64: fast waves in the left columns, even stripes on the right.")

# %% [markdown]
# On the left a wave passes every six positions. On the right all sines are still near 0 and all cosines near 1, hence the stripes: 25 positions are too few to move the slow hands. Four of the columns as curves:

# %%
positions, table = torch.arange(100), encode(100, 64)
curves = {f"feature {column}": table[:, column] for column in (0, 8, 16, 24)}
ax = plots.plot_lines(positions, curves, x_label="position", y_label="encoding")
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
plots.show(ax, alt="Four sines over 100 positions, each several times longer than the one before.")

# %% [markdown]
# The **wavelength** of a pair is the number of positions until its hand is back: $2\pi/\omega_i$. The paper says that they go "from 2π to 10000 · 2π". For $d_{model} = 512$:

# %%
wavelengths = [2 * math.pi * 10000 ** (2 * i / 512) for i in range(256)]
print(f"shortest {wavelengths[0]:.2f} = 2π")
print(f"longest  {wavelengths[-1]:,.0f}, and 10000 · 2π = {10000 * 2 * math.pi:,.0f}")
print("each is this many times as long as the one before:", round(10000 ** (2 / 512), 3))

# %% [markdown]
# *Nearly* 10000 · 2π: the last exponent is 510/512, not 1.

# %% [markdown]
# Now explore a table of 64 positions and 32 features. It lies on its side, so that positions run to the right everywhere: in the table, in the curves of a pair, and below them in the dot products of one position with all.

# %%
widgets.encoding((64, 32)).predict(
    "d_model is 32. How long is the wave of pair 8, features 16 and 17?",
    ["about 63 positions", "about 628 positions", "about 6,283 positions"],
    "about 628 positions",
    "2π · 10000^(16/32) = 2π · 100. In a table of 64 positions you see a tenth of it.",
)

# %% [markdown]
# Go through the pairs: each wave is $10000^{2/32} = 1.78$ times as long as the one before; keep a curve to compare. From pair 5 on, none comes full circle within 64 positions.

# %% [markdown]
# ## A step to the side is a rotation
#
# Why sines *and* cosines? The paper's reason: for any fixed offset $k$, $PE(pos + k)$ is a linear function of $PE(pos)$. Which one? Look at one clock. Going $k$ positions on turns its hand by $k\omega$, wherever it stood:
#
# $$\begin{pmatrix} \sin\,(p + k)\omega \\ \cos\,(p + k)\omega \end{pmatrix} = \begin{pmatrix} \cos k\omega & \sin k\omega \\ -\sin k\omega & \cos k\omega \end{pmatrix} \begin{pmatrix} \sin p\,\omega \\ \cos p\,\omega \end{pmatrix}$$

# %% [markdown]
# These are the addition theorems of school. One such block for each pair, along the diagonal, makes the matrix $M_k$. There is no $p$ in it: *one* matrix shifts all positions.

# %%
from transformer_lab import shift_matrix

close = lambda a, b: (a - b).abs().max().item() < 1e-4
table, M = encode(200, 64), shift_matrix(7, 64)
print("M_7 PE(p) = PE(p + 7) for every p:", close(table[:-7] @ M.T, table[7:]))
print("M_7 M_5 = M_12:                   ", close(M @ shift_matrix(5, 64), shift_matrix(12, 64)))
print("orthogonal, M Mᵀ = 1:             ", close(M @ M.T, torch.eye(64)))
print("the way back is the transpose:    ", close(shift_matrix(-7, 64), M.T))

# %% [markdown]
# See it turn: an arrow for each of four frequencies, at position $p$ and then multiplied by $M_k$. A ring marks where $PE(p + k)$ is. (The second tab is for later.)

# %%
torch.manual_seed(0)
query, key = torch.randn(8), torch.randn(8)
widgets.shift(query, key).predict(
    "From position 3, 5 places on: how far does the arrow turn whose frequency is 0.1?",
    ["by 0.3 rad", "by 0.5 rad", "by 0.8 rad"],
    "by 0.5 rad",
    "k · ω = 5 · 0.1, from wherever it starts.",
)

# %% [markdown]
# Each dashed arrow ends in its ring; the residual is rounding. Move $p$: all arrows run, and in each circle the angle between the two stays. Then tick *break it*: sine and cosine of a pair get different speeds, arrows change their length, and the rings are missed. More of that below.

# %% [markdown]
# What is it good for? A head can use such a matrix as its $W^Q$. **Predict:** queries are the encodings turned *back* by one position, keys are the encodings as they are. Where does each position look?

# %%
table = encode(50, 64)
scores = table @ shift_matrix(-1, 64).T @ table.T
looks_at = scores[1:].argmax(dim=-1)
print("each position looks at the one before it:", torch.equal(looks_at, torch.arange(49)))

# %% [markdown]
# With the one-hot positions of lesson 02 such a matrix has an entry for each position, and grows with the sentence. Here one rotation does it, everywhere.

# %% [markdown]
# ## Break it
#
# Does every table of numbers have such a matrix? Four candidates: ours; one with `feature // d_model` in the exponent; one with `feature / d_model`; and random numbers, as a table of learned positions begins.

# %%
mistakes = exercises.sinusoidal_encoding.mistakes
torch.manual_seed(0)
tables = {
    "right": encode(200, 64),
    "with //": mistakes["floor_division"].function(200, 64),
    "with /": mistakes["a_frequency_for_each_feature"].function(200, 64),
    "random": torch.randn(200, 64),
}

# %% [markdown]
# For each, least squares finds the matrix that comes nearest to shifting all positions by 7. The **residual** is what it cannot reach, as a share of the whole:

# %%
def residual(table, offset=7):
    before, after = table[:-offset].cpu().double(), table[offset:].cpu().double()
    matrix = torch.linalg.pinv(before) @ after  # the least squares solution
    return ((before @ matrix - after).norm() / after.norm()).item()


for name, table in tables.items():
    share = residual(table)
    print(f"{name:8} below 0.1 %: {share < 0.001!s:6} above 20 %: {share > 0.2!s:6} ", end="")
    print(f"above 70 %: {share > 0.7}")

# %% [markdown]
# With `/`, sine and cosine of a pair turn at different speeds, and no matrix shifts them. A random table has no structure at all. But `//` *passes*. Has it got it right?

# %%
for name in ("right", "with //"):
    table = tables[name].cpu()
    columns = table.round(decimals=4).unique(dim=1).size(1)
    gap = (table[44] - table[0]).norm().item()
    print(f"{name:8} different columns: {columns:2}, distance from position 0 to 44: {gap:.1f}")

# %% [markdown]
# `feature // d_model` is 0 for every feature, so that all 32 clocks show the same time. One clock rotates perfectly, and after 44 positions, seven turns, it is nearly back at the start: two words 44 apart have almost the same place. **One property is not enough**: test the shift *and* that places differ.

# %% [markdown]
# ## How similar are two places?
#
# The dot product of two encodings is $\sum_i \sin p\omega_i \sin q\omega_i + \cos p\omega_i \cos q\omega_i = \sum_i \cos\,(p - q)\,\omega_i$. So it depends on the distance only, and is the same in both directions:

# %%
table = encode(101, 64)
similarity = table[50] @ table.T
far = table[10:61] @ table[10:61].T
print("same distance, same similarity:", close(far, (table[50:101] @ table[50:101].T)))
print("10 back = 10 on:               ", close(similarity[40], similarity[60]))
print("it only ever falls:            ", bool((similarity[50:].diff() < 0).all()))

# %%
curve = {"PE(p) · PE(p + k)": similarity}
ax = plots.plot_lines(torch.arange(-50, 51), curve, x_label="offset k", y_label="dot product")
plots.show(ax, alt="Similarity by offset: a sharp peak of 32 at 0, lower waves to both sides.")

# %% [markdown]
# Near places are alike, far ones less, with ripples: the hill at the bottom of the explorer above, which keeps its shape when you move the position. To tell *before* from *after*, a head needs its projections, as the head above had.

# %% [markdown]
# ## Added to the words
#
# The **embedding** of a word is its vector in the model's table. The encoding is added to it: $x_p = \text{embedding of the word} + PE(p)$. Now read the two sentences again:

# %%
def read(sentence):
    words = sentence.split()
    x = torch.stack([vectors[word] for word in words]) + encode(len(words), 8)
    return dict(zip(words, layer(x[None], x[None], x[None])[0][0]))


one, other = read("dog bites man"), read("man bites dog")
for word in ("dog", "man"):
    print(f"{word} has the same output:", torch.allclose(one[word], other[word], atol=1e-3))

# %% [markdown]
# Cured. But does a sum not mix up word and place? Multiply out a score of words $x, y$ with the encodings $p, q$, where $A = W^Q {W^K}^\top$:
#
# $$(x + p)\,A\,(y + q)^\top = xAy^\top + xAq^\top + pAy^\top + pAq^\top$$
#
# Word with word, word with place, place with word, place with place. A head can learn to use some of them and not others. And putting word and place side by side instead is a special case of adding:

# %%
word, place = torch.randn(5, 6), encode(5, 4)
side_by_side = torch.cat([word, place], dim=-1)
added = torch.cat([word, torch.zeros(5, 4)], -1) + torch.cat([torch.zeros(5, 6), place], -1)
print("concatenated = added, if words leave features free:", torch.equal(side_by_side, added))

# %% [markdown]
# Concatenation reserves features for the place, and every later matrix becomes wider. Adding lets training decide.

# %% [markdown]
# ## How loud are words, how loud are places?
#
# The paper multiplies the embeddings by $\sqrt{d_{model}}$ (§3.4). That is right *if* they start with variance $1/d_{model}$. `nn.Embedding` starts with variance 1:

# %%
torch.manual_seed(0)
d_model = 512
default = nn.Embedding(5000, d_model).weight
small = torch.randn(5000, d_model) * d_model**-0.5
size = lambda x: x.square().mean().sqrt().item()  # root of the mean square
print(f"places:                               {size(encode(100, d_model)):.2f}")
print(f"words, variance 1/d_model, times √d:  {size(small * d_model**0.5):.1f}")
print(f"words, variance 1, times √d:          {size(default * d_model**0.5):.1f}")

# %% [markdown]
# A place has size $\sqrt{1/2} = 0.71$, since $\sin^2 + \cos^2 = 1$ in each pair. With the small start, words and places are about equally loud. With the start of `nn.Embedding` *and* the factor, words are thirty times louder, and order is hard to hear.

# %% [markdown]
# ## Dropout on the sum
#
# **Dropout** sets some numbers to 0 in training, at random, so that a model does not lean on any single one. The paper drops 10 % of the *sums* of word and place (§5.4). What is left is divided by 0.9, and the mean stays:

# %%
torch.manual_seed(0)
dropout = nn.Dropout(0.1)
sums = torch.ones(1_000_000)
print("share set to 0 is 10 %:      ", abs((dropout(sums) == 0).float().mean().item() - 0.1) < 0.01)
print("mean kept:                   ", abs(dropout(sums).mean().item() - 1) < 0.01)
print("nothing dropped in eval mode:", torch.equal(dropout.eval()(sums), sums))

# %% [markdown]
# It hits word and place alike. It is there against learning by heart, not to make the places weaker. Outside training, in PyTorch's *eval mode*, nothing is dropped.

# %% [markdown]
# ## Three other ways
#
# **Learned positions** are a table with a trained vector for each position, like that of the words. The paper found "nearly identical results" (§3.5; Table 3, row E: 25.7 against 25.8 BLEU). But a table has an end:

# %%
from transformer_lab import LearnedPositions

learned = LearnedPositions(max_len=5, d_model=8)
try:
    learned(torch.zeros(1, 7, 8))
except ValueError as error:
    print(error)

# %% [markdown]
# **Rotary positions**, or RoPE ([Su et al., 2021](https://arxiv.org/abs/2104.09864)), add nothing. They turn queries and keys by the rotation you know: the row at position $p$ becomes $q M_p$. Values stay as they are. In a score two rotations meet, and their difference is left, $q M_p (k M_s)^\top = q M_{p-s} k^\top$:

# %%
from transformer_lab import rotate

torch.manual_seed(0)
query, key = torch.randn(6, 8), torch.randn(6, 8)
by_matrix = torch.stack([row @ shift_matrix(p, 8) for p, row in enumerate(query)])
print("rotate = each row times M_p:       ", close(rotate(query), by_matrix))
here, there = (rotate(query, start=s) @ rotate(key, start=s).T for s in (0, 100))
print("100 positions on, the same scores: ", close(here, there))
print("lengths are kept:                  ", close(rotate(query).norm(dim=1), query.norm(dim=1)))

# %% [markdown]
# Query and key as arrows, a circle for each pair of features. Thin arrows are before turning:

# %%
widgets.shift(query[5], key[2], tab="RoPE").predict(
    "The query moves from position 12 to 20, the key from 5 to 13. And their dot product?",
    ["it grows", "it stays", "it falls"],
    "it stays",
    "they are as far apart as before: 7 positions.",
)

# %% [markdown]
# Slide *both*: all arrows turn, and the number stays. Slide one of them: the number follows the curve. (A row is multiplied from the right, so these arrows turn the other way round.)

# %% [markdown]
# **ALiBi** ([Press et al., 2021](https://arxiv.org/abs/2108.12409)) turns nothing. It subtracts from each score a slope times the distance. Each head has a slope of its own; with two heads $1/16$ and $1/256$:

# %%
from transformer_lab import alibi_bias

for slope, head in zip((16, 256), alibi_bias(n_heads=2, length=4)):
    print(f"last query, in units of 1/{slope}:", (slope * head[3]).int().tolist())

# %% [markdown]
# Near words are favoured, in every layer, and nothing has to be learned for it.

# %% [markdown]
# ## Which of them works on longer sentences?
#
# The paper *hoped* that sinusoids "may allow the model to extrapolate" to lengths never seen. Measure it. The task, *latest*: letters from *a* to *e* lie among many dots, the first of them at the start. At each place the model says which letter came last.
#
# `c . b . . a . .` → `c c b b b a a a`

# %%
def latest(size, length):
    tokens = torch.randint(1, 6, (size, length)) * (torch.rand(size, length) < 0.3)  # 0 is a dot
    tokens[:, 0] = torch.randint(1, 6, (size,))
    last = torch.where(tokens > 0, torch.arange(length), 0).cummax(dim=1).values
    return tokens, tokens.gather(1, last)


tokens, targets = latest(100, 20)
print("wherever a letter stands, it is the answer:", bool((tokens == targets)[tokens > 0].all()))

# %% [markdown]
# One head, and four ways to know the place. Each place may look at itself and back: what lies ahead gets the score $-\infty$, hence the weight 0 (more in lesson 05).

# %%
class Reader(nn.Module):
    def __init__(self, kind, d_model=32, longest=256):
        super().__init__()
        self.kind, self.words = kind, nn.Embedding(6, d_model)
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, d_model) for _ in range(3))
        self.out = nn.Linear(d_model, 6)
        start = torch.randn(longest, d_model) / d_model**0.5
        places = {"sinusoid": encode(longest, d_model), "learned": start}
        self.places = nn.Parameter(places.get(kind, torch.zeros(longest, d_model)))
        self.places.requires_grad = kind == "learned"

    def forward(self, tokens):
        T = tokens.size(1)
        x = self.words(tokens) + self.places[:T]
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        if self.kind == "RoPE":
            q, k = rotate(q), rotate(k)
        scores = q @ k.mT / q.size(-1) ** 0.5
        if self.kind == "ALiBi":
            scores = scores + 128 * alibi_bias(1, T)[0]  # slope 1/2, the steepest of eight heads
        ahead = torch.ones(T, T, dtype=torch.bool).triu(diagonal=1)
        return self.out(scores.masked_fill(ahead, -math.inf).softmax(dim=-1) @ v)

# %% [markdown]
# Train each on sentences of 32 tokens for 400 steps. Then count right answers in the last quarter of sentences of that length and of longer ones:

# %%
def train(kind, task, skip=0):
    torch.manual_seed(0)
    torch.set_num_threads(1)  # for a model as small as this, more would only wait for each other
    model = Reader(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(400):
        tokens, targets = task(32, 32)
        logits = model(tokens)[:, skip:].flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, targets[:, skip:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@torch.no_grad()
def accuracy(model, task, length):
    tokens, targets = task(100, length)
    return (model(tokens).argmax(-1) == targets)[:, -length // 4 :].float().mean().item()


lengths, kinds = (32, 64, 128, 256), ("sinusoid", "learned", "RoPE", "ALiBi")
models = {kind: train(kind, latest) for kind in kinds}
right = {kind: [accuracy(models[kind], latest, n) for n in lengths] for kind in kinds}

# %%
ax = plots.plot_lines(lengths, right, x_label="length (trained on 32)", log_x=True)
ax.set_ylabel("share of right answers")
plots.show(ax, alt="Right answers by length: sinusoid, learned fall at once, RoPE late, ALiBi not.")

# %%
print("         at 32: above 95 %    at 64: above 90 %    at 256: above 90 %")
for kind in kinds:
    facts = right[kind][0] > 0.95, right[kind][1] > 0.9, right[kind][3] > 0.9
    print(f"{kind:10} " + "".join(f"{fact!s:21}" for fact in facts).rstrip())

# %% [markdown]
# At the length they know, all do well. At twice that, sinusoid and learned table have fallen: their rows beyond 32 are new to the weights. RoPE holds for a while, ALiBi all the way.
#
# Is ALiBi the best, then? This task suits it: the *latest* letter is the nearest. Another task, *two back*: repeat the token that stood exactly two places before:

# %%
def two_back(size, length):
    tokens = torch.randint(6, (size, length))
    return tokens, tokens.roll(2, dims=1)


for kind in ("RoPE", "ALiBi"):
    model = train(kind, two_back, skip=2)
    known, twice = (accuracy(model, two_back, n) for n in (32, 64))
    print(f"{kind:8} at 32 above 90 %: {known > 0.9!s:5}  at 64 above 90 %: {twice > 0.9}")

# %% [markdown]
# ALiBi fails even at length 32: a weight that falls with the distance cannot skip the nearest two. RoPE can, at a length never seen. **No encoding is best at everything**, and "extrapolates" is a claim about a task. (These are one-layer models; deeper ones can combine steps.)

# %% [markdown]
# ## The same five times
#
# The loop of the hand calculation, our `encode`, complex numbers, rotation after rotation, and the package. `torch.nn` has no positional encoding.

# %%
def by_loop(length, d_model):
    table = torch.zeros(length, d_model)
    for p in range(length):
        for i in range(d_model // 2):
            angle = p / 10000 ** (2 * i / d_model)
            table[p, 2 * i], table[p, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return table


def by_complex_numbers(length, d_model):
    speed = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    angle = torch.arange(length)[:, None] * speed
    hand = torch.polar(torch.ones_like(angle), math.pi / 2 - angle)  # at 0 it points up
    return torch.view_as_real(hand).flatten(1)

# %%
from transformer_lab import sinusoidal_encoding as of_package

expected, first = encode(30, 12), torch.tensor([0.0, 1.0]).repeat(6)
others = {
    "loop": by_loop(30, 12),
    "complex numbers": by_complex_numbers(30, 12),
    "rotations": torch.stack([shift_matrix(p, 12) @ first for p in range(30)]),
    "package": of_package(30, 12),
}

# %%
for name, table in others.items():
    difference = (table - expected).abs().max().item()
    print(f"encode = {name:16} max difference < 1e-5: {difference < 1e-5}")

# %% [markdown]
# The package computes the angles in 64-bit numbers. On the way to position 5000, 32-bit angles go wrong in the fourth decimal:

# %%
error = (encode(5001, 512) - of_package(5001, 512)).abs().max().item()
print("with 32-bit angles an encoding is off by more than 0.0001:", error > 1e-4)

# %% [markdown]
# ## Exercises
#
# **1.** The table, sine and cosine in turn, position 0 first.

# %% exercise="sinusoidal_encoding"
def sinusoidal_encoding(length, d_model):
    """(length, d_model): sin(pos · ω_i) in column 2i, cos(pos · ω_i) in column 2i + 1."""
    return ...

# %%
exercises.sinusoidal_encoding.check(sinusoidal_encoding)

# %% [markdown]
# **2.** The matrix that shifts it. The offset may be negative.

# %% exercise="shift_matrix"
def shift_matrix(offset, d_model):
    """(d_model, d_model): M with M @ encoding[p] == encoding[p + offset] for every p."""
    return ...

# %%
exercises.shift_matrix.check(shift_matrix)

# %% [markdown]
# ## Remember
#
# - Attention is permutation-equivariant: shuffled inputs, shuffled outputs. Order must be put in.
# - A sinusoidal encoding is a row of clocks; both features of a pair share a frequency.
# - A shift by $k$ is a rotation, the same from every position; RoPE turns queries and keys by it.
# - Test the shift *and* that places differ.
# - Whether an encoding works beyond the trained length depends on the task: measure.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. d_model is 512. What is the encoding of position 0?</summary>
# 0, 1, 0, 1, …: 256 sines of 0 and 256 cosines of 0.
# </details>
# <details><summary>2. Why is M₇ orthogonal, and what follows for the lengths of encodings?</summary>
# It is made of rotations, and they keep lengths. So all encodings are equally long: √(d_model / 2).
# </details>

# %% [markdown]
# <details><summary>3. Does RoPE change the values? Does it change the score of a word with itself?</summary>
# No, and no: the distance is 0, and both are turned by the same angle.
# </details>
# <details><summary>4. You pool the outputs by a mean and use no encoding. Can the model tell "not good, bad" from "not bad, good"?</summary>
# No. The words are the same, and the mean does not depend on their order.
# </details>

# %% [markdown]
# **Next:** words now meet, and know their places. [Lesson 04](04_residual_blocks.ipynb) stacks such layers, and finds that a deep stack does not learn without a detour around each of them.
