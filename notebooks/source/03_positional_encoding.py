# %% [markdown]
# # 03 · Positional encoding
#
# Attention cannot tell *dog bites man* from *man bites dog*. In this lesson you give every word a position, in four different ways, and measure what each of them is good for.
#
# **You will be able to**
# - prove what attention cannot notice, and derive the cure,
# - show that a shift is a rotation,
# - choose between four encodings by a measurement.
#
# **You need** lessons 01 and 02. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 3.5. **Time:** 60 minutes, the exercises 70 more. The lesson falls into two sittings of about half an hour, and it says where the first one ends; the parts called *Extra* can wait.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import math

import torch
from torch import nn

from transformer_lab import MultiHeadAttention, default_device, exercises, plots, widgets
from transformer_lab.nn import positions

if default_device().type != "cpu":  # the CPU is the default; asking for it costs time
    torch.set_default_device(default_device())
# %% [markdown]
# ## The question
#
# Here are three words, each with its own vector, and an attention layer with two heads. We let the layer read the three words in two different orders, and compare what comes out for each word:

# %%
torch.manual_seed(0)
vectors = dict(zip(("dog", "bites", "man"), torch.randn(3, 8)))
layer = MultiHeadAttention(d_model=8, n_heads=2)


def gap(a, b):
    """The largest difference between two tensors."""
    return (a - b).abs().max().item()


def read(sentence):
    """The layer's output for each word of a sentence."""
    words = sentence.split()
    x = torch.stack([vectors[word] for word in words])[None]  # (1, 3, 8)
    return dict(zip(words, layer(x, x, x)[0][0]))


one, other = read("dog bites man"), read("man bites dog")
for word in one:
    print(f"{word:5} in the two sentences, largest difference: {gap(one[word], other[word]):.4f}")
# %% [markdown]
# Every word gets exactly the same output in both sentences, so nothing in the outputs can tell you who bites whom. The two sentences differ only in the order of their rows, and the layer has not noticed it. Could other weights do better? It is hard to see how: a score is the dot product of two vectors, wherever in the sentence they stand, and a weighted sum does not depend on the order of its terms either.
#
# **Why does attention not notice that the words were shuffled, and what is the cure?**

# %% [markdown]
# ## What exactly is lost?
#
# Before we look for a cure, let us find out how bad the damage is. Write the words as the rows of a matrix $X$. Putting them into another order gives $PX$, where the permutation matrix $P$ has a single 1 in each row and in each column, so that $P^\top P = I$. With $A = W^Q {W^K}^\top / \sqrt{d_k}$, attention computes $f(X) = \mathrm{softmax}(XAX^\top)\,XW^V$. Now we shuffle the words:
#
# $$f(PX) = \mathrm{softmax}(P\,XAX^\top P^\top)\,PXW^V = P\,\mathrm{softmax}(XAX^\top)\,P^\top P\,XW^V = P\,f(X)$$

# %% [markdown]
# The step in the middle is allowed because softmax works on each row separately and treats all the entries of a row alike, so it makes no difference whether you shuffle rows and columns before the softmax or after it. We have assumed nothing about the weights or about the order, which makes this a proof for every attention layer in which every word may look at every other. Several heads and $W^O$ do not change it, since they too treat all rows alike. To see the formula at work, compute both sides once:

# %% tolerance=0.1
torch.manual_seed(0)
x, P = torch.randn(5, 8), torch.eye(5)[[2, 0, 4, 1, 3]]
attend = lambda x: layer(x[None], x[None], x[None])[0][0]

print(f"f(PX) and f(X)   differ by {gap(attend(P @ x), attend(x)):.4f}")
print(f"f(PX) and P f(X) differ by {gap(attend(P @ x), P @ attend(x)):.4f}")
assert gap(attend(P @ x), P @ attend(x)) < 1e-5 < 0.05 < gap(attend(P @ x), attend(x))
# %% [markdown]
# The result is therefore not the *same* as before: it is shuffled in the same way as the words. A function that behaves like this is called **permutation-equivariant**. A function whose result really stays the same is **permutation-invariant**, and you get one as soon as you pool the outputs, for instance by taking their mean:

# %%
shuffled, straight = attend(P @ x).mean(dim=0), attend(x).mean(dim=0)
print(f"mean of f(PX) and mean of f(X) differ by {gap(shuffled, straight):.4f}")
# %% [markdown]
# A stack of such layers is equivariant as well, because each layer hands the shuffled order on to the next. All that the stack can ever know is *which* words there are. So the order has to come in from outside, and there is one obvious place for it: we make the vector of a word depend on its position *before* attention sees it.

# %% [markdown]
# ## By hand
#
# How do you write a position into a vector? The simplest idea is to add the number of the position. At position 500, however, that number would drown the word, whose features are about 1 in size. We could divide by the length of the sentence, so that the number stays below 1. But then one step is 1/5 in a sentence of five words and 1/500 in one of 500, and *next to me* no longer has a fixed meaning.

# %% [markdown]
# An odometer has solved this problem: it writes large numbers with small digits. Its last digit changes at every step, the digit before that ten times as slowly, and so on. The hands of a clock do the same without jumping. A fast hand tells neighbours apart and a slow hand tells distant positions apart, so together they cover every distance. A hand is a point on a circle, and that takes two numbers, the sine and the cosine of its angle.

# %% [markdown]
# How fast should the hands turn? The paper's answer can be read as three decisions.
#
# 1. The first hand turns by 1 radian a position, which is about a sixth of a turn, so that neighbours differ clearly.
# 2. Each hand is slower than the one before it by the same factor $r$, as the digits of an odometer are.
# 3. The hands are numbered from 0. The factor is chosen so that one more hand after the last, number $d_{model}/2$, would turn at 1/10000 of the speed of the first.
#
# The third decision says that $r^{\,d_{model}/2} = 10000$. Hand $i = 0, 1, 2, \dots$ therefore turns by $r^{-i} = 10000^{-2i/d_{model}}$ radians a position.

# %% [markdown]
# With four features we have two hands. The first turns by 1 radian a position, the second by $10000^{-2/4} = 1/100$:

# %%
for position in range(3):
    angles = position * 1, position / 100
    row = [f(angle) for angle in angles for f in (math.sin, math.cos)]
    print(f"position {position}:", "  ".join(f"{value:8.5f}" for value in row))
# %% [markdown]
# Position 0 is 0, 1, 0, 1, because both hands point straight up (we draw the cosine upwards and the sine to the right). From there on the left pair of numbers changes quickly and the right pair slowly.

# %% [markdown]
# ## The equation
#
# We can now write the same thing for any width. This is the **sinusoidal encoding** of section 3.5, given for each pair of features $i = 0, 1, \dots, d_{model}/2 - 1$:
#
# $$PE(pos, 2i) = \sin(pos \cdot \omega_i), \qquad PE(pos, 2i + 1) = \cos(pos \cdot \omega_i), \qquad \omega_i = 10000^{-2i/d_{model}}$$
#
# The number $\omega_i$ is the **frequency** of the pair, in radians a position. Mind the index: $i$ counts *pairs* of features, and the two features of a pair share one frequency. This is easily forgotten, and we shall see further down what it breaks.

# %% [markdown]
# ![Four clocks with frequencies 1, 0.1, 0.01 and 0.001. Above, their hands at position 3; below, at position 8: each has turned by 5 times its frequency.](../img/03_clocks.svg)

# %% [markdown]
# The drawing shows the four hands of a $d_{model}$ of 8, with the sine to the right and the cosine up. In code, one hand is two columns of numbers. Here are the two hands that we worked out above, at positions 0 and 1:

# %%
def one_hand(length, frequency):
    """(length, 2): the sine and the cosine of one hand at each position."""
    angle = torch.arange(length) * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=1)


for frequency in (1, 1 / 100):
    rows = one_hand(2, frequency).tolist()
    print(f"frequency {frequency:4}:", [[round(value, 5) for value in row] for row in rows])
# %% [markdown]
# The whole encoding is one such pair of columns for each $\omega_i$, side by side. You will put it together yourself in exercise 1. Until then we use the package's, after comparing three of its pairs with their hands:

# %%
table = positions.sinusoidal_encoding(100, 64)
for i in (0, 8, 31):
    hand = one_hand(100, 10000 ** (-2 * i / 64))
    same = gap(hand, table[:, 2 * i : 2 * i + 2]) < 1e-5
    print(f"hand {i:2} = columns {2 * i} and {2 * i + 1}, max difference < 1e-5: {same}")
# %% [markdown]
# ## Look
#
# A table of numbers is best understood by looking at it. Here are 25 positions with 64 features each. **Predict:** what do the last columns look like, where the hands are slowest?

# %%
features = [str(i) if i % 8 == 0 else "" for i in range(64)]
places = [str(p) if p % 4 == 0 else "" for p in range(25)]
ax = plots.figure(width=9, height=4.2)[1]
plots.plot_matrix(table[:25], places, features, ax=ax)
ax.set(xlabel="feature", ylabel="position")
plots.show(ax, alt="Encoding, 25 by 64: fast waves in the left columns, even stripes on the right.")
# %% [markdown]
# In the leftmost columns a wave passes about every six positions. In the right columns every sine is still near 0 and every cosine near 1, and that is where the stripes come from: 25 positions are too few to move the slow hands. Here are four of the columns as curves:

# %%
curves = {f"feature {column}": table[:, column] for column in (0, 8, 16, 24)}
ax = plots.plot_lines(torch.arange(100), curves, x_label="position", y_label="encoding")
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
plots.show(ax, alt="Four sines over 100 positions, each three times as long as the one before.")
# %% [markdown]
# The **wavelength** of a pair is the number of positions after which its hand has come round once, $2\pi/\omega_i$. The paper says: "The wavelengths form a geometric progression from $2\pi$ to $10000 \cdot 2\pi$." For $d_{model} = 512$ these are the wavelengths:

# %%
wavelengths = [2 * math.pi * 10000 ** (2 * i / 512) for i in range(256)]
print(f"shortest {wavelengths[0]:.2f} = 2π")
print(f"longest  {wavelengths[-1]:,.0f}, and 10000 · 2π = {10000 * 2 * math.pi:,.0f}")
print(f"each is {wavelengths[1] / wavelengths[0]:.4f} times as long as the one before")
# %% [markdown]
# The progression stops one step short of $10000 \cdot 2\pi$, because the last exponent is 510/512. The paper does not explain why the number is 10000: it is a choice, and later models have made others.

# %% [markdown]
# Now explore a table of 64 positions and 32 features. We have laid it on its side, so that positions run to the right everywhere: in the table, in the curves of a pair, and in the dot products of one position with all the others, which are drawn below them.

# %%
widgets.encoding((64, 32)).ask("03 wave")
# %% [markdown]
# Go through the pairs one after the other. Each wave is $10000^{2/32} = 1.78$ times as long as the one before it; keep a curve on the screen to compare it with the next. From pair 5 on, not a single wave is complete within the 64 positions.

# %% [markdown]
# **Exercise 1** (10 minutes). Now write the whole table: sine and cosine in turn, position 0 first. Try it without looking back.

# %% exercise="sinusoidal_encoding"
def sinusoidal_encoding(length, d_model):
    """(length, d_model): sin(pos · ω_i) in column 2i, cos(pos · ω_i) in column 2i + 1."""
    return ...
# %%
exercises.sinusoidal_encoding.check(sinusoidal_encoding)
# %% [markdown]
# **Exercise 2** (predict; 10 minutes, medium). Take an encoding by clock hands whose periods are whole numbers. Which is the first later position that has the same vector as position 0, so that no model can tell the two apart? And which is it if there are only sines?

# %% exercise="first_repeat"
def first_repeat(periods, with_cosine):
    """The first position after 0 that has the vector of position 0."""
    return ...
# %%
exercises.first_repeat.check(first_repeat)
# %% [markdown]
# ## A shift is a rotation
#
# We have seen why there are many hands, but not why each needs a sine *and* a cosine when one of them would also wave. Exercise 2 shows one reason, since a sine alone takes the same value twice in each turn. The authors give another: "we hypothesized it would allow the model to easily learn to attend by relative positions, since for any fixed offset $k$, $PE_{pos+k}$ can be represented as a linear function of $PE_{pos}$" (§3.5). Which linear function is that?

# %% [markdown]
# Take a single hand. At position $p$ its angle is $a = p\,\omega$, and $k$ positions later it is $a + b$ with $b = k\,\omega$. The angle-addition formulas say that $\sin(a + b) = \sin a \cos b + \cos a \sin b$ and $\cos(a + b) = \cos a \cos b - \sin a \sin b$. On the right-hand sides stands the old pair, $\sin a$ and $\cos a$, multiplied by numbers that depend on the offset alone. So you need both to compute either of them, and the step can be written as a matrix:
#
# $$\begin{pmatrix} \sin\,(p + k)\omega \\ \cos\,(p + k)\omega \end{pmatrix} = \begin{pmatrix} \cos k\omega & \sin k\omega \\ -\sin k\omega & \cos k\omega \end{pmatrix} \begin{pmatrix} \sin p\,\omega \\ \cos p\,\omega \end{pmatrix}$$

# %%
sine, cosine = math.sin(3), math.cos(3)  # position 3, frequency 1
c, s = math.cos(5), math.sin(5)  # offset 5
print(f"turned:     {c * sine + s * cosine:.4f}, {-s * sine + c * cosine:.4f}")
print(f"position 8: {math.sin(8):.4f}, {math.cos(8):.4f}")
# %% [markdown]
# The matrix is a rotation by the angle $k\omega$. If you put one such block for each pair along the diagonal, you get the **shift matrix** $M_k$. No $p$ occurs in it, so *one* matrix shifts all positions by $k$. Since rotating twice adds the angles, and rotating back is the transpose, three more facts come for free:

# %%
table = positions.sinusoidal_encoding(200, 64)
M_5, M_7, M_12, back = (positions.shift_matrix(offset, 64) for offset in (5, 7, 12, -7))
facts = {
    "M_7 PE(p) = PE(p + 7), all p": gap(table[:-7] @ M_7.T, table[7:]),
    "M_7 M_5 = M_12": gap(M_7 @ M_5, M_12),
    "M_7 M_7ᵀ = I (lengths stay)": gap(M_7 @ M_7.T, torch.eye(64)),
    "M_-7 = M_7ᵀ": gap(back, M_7.T),
}
for fact, difference in facts.items():
    print(f"{fact:29} max difference < 1e-4: {difference < 1e-4}")
# %% [markdown]
# You can watch it turn. The view draws an arrow for each of four frequencies, once at position $p$ and once after multiplication by $M_k$, and a ring marks where $PE(p + k)$ is. Above the arrows, two paper strips hold the encoding of every position: drag the lower one, which $M_k$ has turned, and it snaps to the nearest whole offset, where the waves of both match. (We shall need the second tab later.)

# %%
torch.manual_seed(0)
query, key = torch.randn(8), torch.randn(8)
widgets.shift(query, key).ask("03 turn")
# %% [markdown]
# Every dashed arrow ends in its ring. When you move $p$, all the arrows turn, but in each circle the angle between the two arrows stays as it is. Now tick *break it*, which gives the sine and the cosine of a pair different speeds: the arrows of the fast pairs change their length and miss their rings (those of the slow pairs have hardly turned yet). We shall measure this in a moment.

# %% [markdown]
# What is such a matrix good for? A head can use it as its $W^Q$. It then turns every query back by one position, so that the query fits best the key that stands one position back. **Predict:** with the encodings alone, and the scores divided by $\sqrt{d_k} = 8$, how much of its weight does a position give to the one before it: 0.07, 0.4 or 0.9?

# %% tolerance=0.01
table = positions.sinusoidal_encoding(50, 64)
scores = table @ positions.shift_matrix(-1, 64).T @ table.T / math.sqrt(64)
for factor in (1, 4, 16):
    weights = (factor * scores).softmax(dim=-1)
    itself, one, two = (weights.diagonal(-k)[2 - k :].mean().item() for k in (0, 1, 2))
    print(f"W_Q times {factor:2}: itself {itself:.2f}, one back {one:.2f}, two back {two:.2f}")
    assert one > max(itself, two)
# %% [markdown]
# The position before gets the largest weight, but with the matrix as it stands this is only a faint preference: 0.07, where an even share would be 0.02. Longer queries make the preference sharp, and training is free to make them longer. Compare this with the one-hot positions of lesson 02, where such a matrix needs an entry of its own for every position. Here a single rotation serves them all.

# %% [markdown]
# **Exercise 3** (15 minutes). Write the matrix that shifts an encoding. The offset may be negative.

# %% exercise="shift_matrix"
def shift_matrix(offset, d_model):
    """(d_model, d_model): M with M @ encoding[p] == encoding[p + offset] for every p."""
    return ...
# %%
exercises.shift_matrix.check(shift_matrix)
# %% [markdown]
# ## Break it
#
# Is it special to have a shift matrix, or does every table of positions have one? We compare five candidates: ours; one with `feature // d_model` in the exponent; one with `feature / d_model`; random numbers, as a table of learned positions has them at the start of training; and the plain number $p$ beside a 1.

# %%
mistakes = exercises.sinusoidal_encoding.mistakes
torch.manual_seed(0)
tables = {
    "right": positions.sinusoidal_encoding(200, 64),
    "with //": mistakes["floor_division"].function(200, 64),
    "with /": mistakes["a_frequency_for_each_feature"].function(200, 64),
    "random": torch.randn(200, 64),
    "p and 1": torch.stack([torch.arange(200.0), torch.ones(200)], dim=1),
}
# %% [markdown]
# For each table, least squares finds the one matrix that comes closest to shifting all positions by 7. The **residual** is what even this matrix gets wrong, as a share of the whole. We do this twice, with the first 70 positions and with all 200:

# %% tolerance=0.1
def residual(table, offset=7):
    before, after = table[:-offset].cpu().double(), table[offset:].cpu().double()
    matrix = torch.linalg.pinv(before) @ after  # the least-squares solution
    return ((before @ matrix - after).norm() / after.norm()).item()


missed = {name: (residual(table[:70]), residual(table)) for name, table in tables.items()}
for name, (few, all_of_them) in missed.items():
    print(f"{name:8} residual over 70 positions {few:.3f}, over 200 {all_of_them:.3f}")
assert min(missed["with /"][1], missed["random"][1]) > 0.15
assert max(missed[name][1] for name in ("right", "with //", "p and 1")) < 1e-4
# %% [markdown]
# With 70 positions *every* table seems to pass, even the random one, which follows no rule at all. That shows that the test is too weak: each column of the matrix holds 64 unknowns for only 63 equations, and with more unknowns than equations there is nearly always an exact solution. With 200 positions there are 193 equations, and the test begins to tell the tables apart. With `/` the sine and the cosine of a pair turn at different speeds, and random rows follow no common rule, so both of them fail.

# %% [markdown]
# But the table with `//` passes, and so does $p$ beside 1. Waves are evidently not the only tables that can be shifted. What, then, is wrong with these two?

# %%
for name in ("right", "with //", "p and 1"):
    table = tables[name].cpu()
    columns, largest = table.round(decimals=4).unique(dim=1).size(1), table.max().item()
    distance = (table[44] - table[0]).norm().item()
    print(f"{name:8} {columns:2} different columns, largest entry {largest:3.0f}", end="")
    print(f", distance from position 0 to 44: {distance:.1f}")
# %% [markdown]
# `feature // d_model` is 0 for every feature, so all 32 hands show the same time, and after 44 positions, which are seven turns, they are almost back where they started. The plain number can be shifted and tells all positions apart, but it grows without bound: it is 199 beside words of size 1. **No single property is enough.** When you test an encoding, test the shift, *and* that positions differ, *and* that the numbers stay small.

# %% [markdown]
# ## How similar are two positions?
#
# A score is a dot product, so we should know what the dot product of two encodings is. It is $\sum_i\, (\sin p\omega_i \sin q\omega_i + \cos p\omega_i \cos q\omega_i)$, and by the same formulas as above each term is $\cos\,(p - q)\,\omega_i$. The dot product therefore depends on the distance alone, and it is the same in both directions:

# %%
table = positions.sinusoidal_encoding(101, 64)
similarity = table[50] @ table.T
for k in (0, 1, 2, 5, 10, 50):
    ahead, back = similarity[50 + k].item(), similarity[50 - k].item()
    print(f"offset {k:2}: {ahead:5.1f} ahead, {back:5.1f} back")
# %%
curve = {"PE(p) · PE(p + k)": similarity}
ax = plots.plot_lines(torch.arange(-50, 51), curve, x_label="offset k", y_label="dot product")
ax.set_ylim(0, 34)
plots.show(ax, alt="Similarity by offset: a sharp peak of 32 at 0, ripples falling to both sides.")
# %% [markdown]
# Positions that are close to each other have similar encodings, and distant ones have less similar encodings, apart from some ripples. You have already seen this hill at the bottom of the explorer, where it keeps its shape when you move the position. Because the hill is symmetric, a dot product alone cannot tell *before* from *after*. A head needs its projections for that, like the head above that turned its queries back.

# %% [markdown]
# ## Added to the words
#
# We can now cure the layer from the beginning. The **embedding** of a word is its vector in the model's table, and the encoding is added to it: $x_p = \text{embedding of the word} + PE(p)$. Let us read the two sentences again:

# %% tolerance=1
def read_in_order(sentence):
    words = sentence.split()
    x = torch.stack([vectors[word] for word in words])  # (T, 8)
    x = x + positions.sinusoidal_encoding(len(words), 8)
    return dict(zip(words, layer(x[None], x[None], x[None])[0][0]))


one, other = read_in_order("dog bites man"), read_in_order("man bites dog")
for word in one:
    print(f"{word:5} in the two sentences, largest difference: {gap(one[word], other[word]):.2f}")
    assert gap(one[word], other[word]) > 0.01
# %% [markdown]
# The outputs now differ. But doesn't adding mix up the word and its position? It might: 30 words at 30 positions make 900 different sums, and whatever comes next sees only the sum. We therefore let least squares find the best matrix for reading the word off the sum, and the best one for reading the position. **Predict:** do they succeed with 16 features, with 32, with 64?

# %%
def share_read(vectors, target):
    """The share of vectors from which the best matrix reads the right row number of the target."""
    x = torch.cat([vectors, torch.ones(len(vectors), 1)], dim=1).cpu().double()  # with a bias
    target = target.cpu().double()
    guess = x @ (torch.linalg.pinv(x) @ target)
    return (guess.argmax(dim=1) == target.argmax(dim=1)).double().mean().item()
# %% tolerance=0.15
torch.manual_seed(0)
word, position = torch.eye(30).repeat_interleave(30, dim=0), torch.eye(30).repeat(30, 1)
for d_model in (16, 32, 64):
    embeddings, encodings = torch.randn(30, d_model), positions.sinusoidal_encoding(30, d_model)
    sums = word @ embeddings + position @ encodings  # all 900
    w, p = share_read(sums, word), share_read(sums, position)
    alone = share_read(encodings, torch.eye(30))
    print(f"width {d_model}: word {w:.2f}, position {p:.2f}; position alone {alone:.2f}")
    assert (p > 0.95) == (d_model == 64)
    assert alone > 0.95
# %% [markdown]
# With 16 features the sum does blur the position, although the encoding alone could be read without an error. With 64 features we get both back. (Thirty words leave more than thirty of the 64 directions free. An *Extra* asks what happens when there are so many words that no direction is free.)

# %% [markdown]
# A head can also use the two parts separately. Multiply out the score of words $x, y$ at encodings $p, q$, where $A = W^Q {W^K}^\top / \sqrt{d_k}$ again:
#
# $$(x + p)\,A\,(y + q)^\top = xAy^\top + xAq^\top + pAy^\top + pAq^\top$$
#
# The four terms compare word with word, word with position, position with word, and position with position, and training decides how much each of them counts.

# %% [markdown]
# **This is a good place for a break.** You know what attention cannot notice, you have an encoding that cures it, and you know what that encoding can do. In the second sitting we meet three other encodings, and let all four compete.

# %% [markdown]
# ## Three other ways
#
# The sinusoid was one answer to the question of how to write down a position, and models since 2017 have given others. The first is the simplest of all. **Learned positions** are a table with a trained vector for each position, like the table of the words, and row $p$ is added to the word at position $p$: `nn.Parameter(torch.randn(max_len, d_model) * d_model**-0.5)`. The paper "found that the two versions produced nearly identical results" (§3.5; in row E of Table 3 they reach 25.7 against 25.8 BLEU, a score of translations from 0 to 100). But a table has an end:

# %%
from transformer_lab import LearnedPositions

learned = LearnedPositions(max_len=5, d_model=8)
try:
    learned(torch.zeros(1, 7, 8))
except ValueError as error:
    print(error)
# %% [markdown]
# **Rotary positions**, or RoPE ([Su et al., 2021](https://arxiv.org/abs/2104.09864)), add nothing to the words at all. They begin with a wish: the score of a query at position $p$ and a key at position $s$ should depend on the two words and on the difference $p - s$, and on nothing else. The shift matrix from the first sitting is all we need. Turn the query by $M_p$ and the key by $M_s$, and use the facts that ${M_s}^\top = M_{-s}$ and $M_p M_{-s} = M_{p-s}$:
#
# $$(q M_p)(k M_s)^\top = q\,M_p {M_s}^\top k^\top = q\,M_{p-s}\,k^\top$$

# %% [markdown]
# The values stay as they are. Since $M_p$ is zero outside its blocks, nobody multiplies by the whole matrix: each pair of features is turned by its own angle, which takes four products. Here is a single pair; in exercise 4 you turn all of them at once.

# %%
from transformer_lab import rotate as rope


def turn_pair(first, second, angle):
    """The two features of one pair, turned by one angle."""
    c, s = math.cos(angle), math.sin(angle)
    return torch.stack([first * c - second * s, first * s + second * c])
# %%
query, key = torch.randn(6, 8), torch.randn(6, 8)
by_matrix = torch.stack([query[p] @ positions.shift_matrix(p, 8) for p in range(6)])
pair_1 = turn_pair(query[5, 2], query[5, 3], 5 * 10000 ** (-2 / 8))  # of the row at position 5
facts = {
    "rotate = each row times M_p": gap(rope(query), by_matrix),
    "its row 5, pair 1 = turn_pair": gap(rope(query)[5, 2:4], pair_1),
}
for fact, difference in facts.items():
    print(f"{fact:29} max difference < 1e-4: {difference < 1e-4}")
# %% [markdown]
# In the view you see a query and a key as arrows, in a circle for each pair of features. The thin arrows show them before they were turned:

# %%
q, k = query[5:], key[2:3]
widgets.shift(q[0], k[0], tab="RoPE").ask("03 both")
# %% [markdown]
# Move the slider *both*, and watch the arrows and the number. Then move only one of the two, and the number follows the curve. (The rows are multiplied from the right here, so these arrows turn the other way round.) The same holds for all the scores of six queries and six keys at once, whether the first of them stands at position 0 or at position 100:

# %%
here, there = (rope(query, start=s) @ rope(key, start=s).T for s in (0, 100))
print("scores stay, max difference < 1e-4:", gap(here, there) < 1e-4)
# %% [markdown]
# **Exercise 4** (15 minutes). Write RoPE for any number of leading axes: rotate each pair of neighbouring features by its position times its frequency. The first row has position 0.

# %% exercise="rotate"
def rotate(x):
    """Queries or keys (…, T, d_head), each pair of features rotated by its position."""
    return ...
# %%
exercises.rotate.check(rotate)
# %% [markdown]
# **ALiBi**, attention with linear biases ([Press et al., 2021](https://arxiv.org/abs/2108.12409)), neither adds nor turns vectors. It subtracts from each score a slope times the distance between the two words, so that close words are favoured before anything has been learned. Each of the $h$ heads has its own slope; if $h$ is a power of two, they are $2^{-8/h}, 2^{-16/h}, \dots, 2^{-8}$. With two heads, these are 1/16 and 1/256.

# %%
from transformer_lab import alibi_bias

distance = (torch.arange(4)[:, None] - torch.arange(4)).abs()
by_hand = torch.stack([-distance / 16, -distance / 256])
print("the last query of head 0:", alibi_bias(n_heads=2, length=4)[0, 3].tolist())
print("by hand = alibi_bias:", torch.equal(by_hand, alibi_bias(n_heads=2, length=4)))
# %% [markdown]
# ## Which of them, and when?
#
# Now we have four encodings, and need a reason to choose one. The authors chose sinusoids "because it may allow the model to extrapolate to sequence lengths longer than the ones encountered during training" (§3.5). That was a hope, and we can measure whether it comes true.

# %% [markdown]
# In each of three tasks the model has to name a token, and in each of them the position matters in a different way:
#
# - *latest*: some letters stand among many dots, and the model has to say which letter came last. `c . b . . a .` → `c c b b b a a`
# - *two back*: the model has to repeat the token two positions before.
# - *the fourth*: the model has to repeat the fourth token of the sentence.

# %%
NONE = -100  # cross_entropy leaves such a target out


def latest(*shape):
    tokens = torch.randint(1, 6, shape) * (torch.rand(shape) < 0.3)  # 0 is a dot
    tokens[..., 0] = torch.randint(1, 6, shape[:-1])
    last = torch.where(tokens > 0, torch.arange(shape[-1]), 0).cummax(dim=-1).values
    return tokens, tokens.gather(-1, last)


def two_back(*shape):
    tokens = torch.randint(6, shape)
    return tokens, tokens.roll(2, dims=-1).index_fill(-1, torch.arange(2), NONE)


def the_fourth(*shape):
    tokens = torch.randint(6, shape)
    return tokens, tokens[..., 3:4].expand(shape).index_fill(-1, torch.arange(3), NONE)
# %% [markdown]
# The model is a single head of attention. Each position may look at itself and back, because whatever lies ahead gets the score $-\infty$ and hence the weight 0 (lesson 05 says more about this). To see how much is chance, we train three models side by side from three random starts; that is why their parameters have a leading axis, called `n` below.

# %%
class Readers(nn.Module):
    def __init__(self, kind, slope=1 / 2, d=32, longest=256):
        super().__init__()
        self.kind, self.slope = kind, slope
        matrix = lambda *shape: nn.Parameter(torch.randn(3, *shape) * d**-0.5)
        self.words = nn.Parameter(torch.randn(3, 6, d))
        self.w_q, self.w_k, self.w_v, self.out = (matrix(d, e) for e in (d, d, d, 6))
        sinusoids = positions.sinusoidal_encoding(longest, d)[None]
        self.encoding = matrix(longest, d) if kind == "learned" else sinusoids

    def forward(self, tokens, start=0):  # (n, B, T)
        T = tokens.size(-1)
        x = torch.einsum("nbtv,nvd->nbtd", nn.functional.one_hot(tokens, 6).float(), self.words)
        if self.kind in ("sinusoid", "learned"):
            x = x + self.encoding[:, None, start : start + T]
        q, k, v = (torch.einsum("nbtd,nde->nbte", x, w) for w in (self.w_q, self.w_k, self.w_v))
        if self.kind == "RoPE":
            q, k = rope(q), rope(k)
        scores = q @ k.mT / math.sqrt(q.size(-1))
        if self.kind == "ALiBi":
            scores = scores + 256 * self.slope * alibi_bias(1, T)[0]  # its one slope is 1/256
        ahead = torch.ones(T, T, dtype=torch.bool).triu(diagonal=1)
        attended = scores.masked_fill(ahead, -math.inf).softmax(dim=-1) @ v
        return torch.einsum("nbtd,nde->nbte", attended, self.out)
# %% [markdown]
# Only the kind of position changes from one training to the next: each training starts from the same three sets of weights and reads the same sentences of 32 tokens, for 200 steps. *No position* is the control, which shows how well a task can be solved without knowing any position. (The table of the *learned* positions has 256 rows, of which training meets only the first 32.) Afterwards we count the right answers in the last quarter of sentences of 32 to 256 tokens. The fifteen trainings take about 10 seconds.

# %% steps=200
def train(kind, task, slope=1 / 2, start=(0, 1)):
    torch.manual_seed(0)
    readers = Readers(kind, slope)
    torch.manual_seed(1)  # the same sentences for every kind
    optimizer = torch.optim.Adam(readers.parameters(), lr=5e-3)
    for _ in range(200):
        tokens, targets = task(3, 12, 32)
        logits = readers(tokens, torch.randint(*start, ()).item())
        loss = nn.functional.cross_entropy(logits.flatten(0, 2), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return readers


@torch.no_grad()
def right_answers(readers, task, length):
    """The share of right answers of each of the three models."""
    tokens, targets = task(3, 20, length)
    right = readers(tokens).argmax(-1) == targets
    return right[..., -length // 4 :].float().mean(dim=(1, 2)).cpu()
# %%
torch.set_num_threads(1)  # models as small as these gain nothing from more
lengths, tasks = (32, 64, 128, 256), (latest, two_back, the_fourth)
kinds = ("no position", "sinusoid", "learned", "RoPE", "ALiBi")
right = {}
for task in tasks:
    for kind in kinds:
        readers = train(kind, task)
        right[kind, task] = {n: right_answers(readers, task, n) for n in lengths}
# %%
def draw(ax, task):
    """The mean of three models as a line, each model as a dot."""
    means = {kind: [right[kind, task][n].mean() for n in lengths] for kind in kinds}
    plots.plot_lines(lengths, means, ax=ax, x_label="length (trained on 32)", log_x=True)
    for line, kind in zip(ax.get_lines(), kinds):
        for n in lengths:
            ax.scatter([n] * 3, right[kind, task][n], s=9, color=line.get_color())
    ax.set(title=task.__name__.replace("_", " "), ylim=(0, 1.05))
    ax.get_legend().remove()


figure, axes = plots.figure(width=9.6, height=3.8, columns=3)
for ax, task in zip(axes, tasks):
    draw(ax, task)
axes[0].set_ylabel("share of right answers")
lines, names = axes[0].get_legend_handles_labels()
figure.legend(lines, names, loc="outside lower center", ncols=5, frameon=False)
best = "ALiBi wins the first, RoPE the second, sinusoid and learned the third"
plots.show(figure, alt=f"Right answers by length in three tasks: {best}.")
# %% [markdown]
# Each line is the mean of three models, and each dot is one model. Here are the same results as numbers, from the worst of the three models to the best:

# %% tolerance=0.5
low = {key: {n: r.min().item() for n, r in shares.items()} for key, shares in right.items()}
high = {key: {n: r.max().item() for n, r in shares.items()} for key, shares in right.items()}
for task in tasks:
    print(f"{task.__name__.replace('_', ' '):15} 32 tokens   64 tokens   256 tokens")
    for kind in kinds:
        spans = [f"{low[kind, task][n]:.2f}–{high[kind, task][n]:.2f}" for n in (32, 64, 256)]
        print(f"  {kind:12}" + "   ".join(spans))
# %% [markdown]
# What we are going to say about these numbers is checked by the following asserts whenever the lesson runs:

# %%
for kind in ("sinusoid", "learned"):  # they know where in the sentence
    assert min(low[kind, task][32] for task in tasks) > 0.7
    assert max(high[kind, latest][64], high[kind, two_back][64]) < 0.75
assert min(right["RoPE", task][64].mean() for task in (latest, two_back)) > 0.8  # by distance
assert low["ALiBi", latest][256] > 0.9 > 0.5 > high["ALiBi", two_back][32]  # close from far
for kind in ("RoPE", "ALiBi"):  # neither knows where a sentence begins
    assert high[kind, the_fourth][32] < 0.65
# %% [markdown]
# *Sinusoid* and *learned* tell a model where in the sentence a token stands. At the trained length this is enough for all three tasks, and they alone find the fourth. At twice that length both lose many answers in two of the three tasks, so the authors' hope comes true in one at best. *RoPE* tells a model how far apart two tokens are, so it can look exactly two back, and in sentences of twice the trained length it usually still does. *ALiBi* knows only near from far. That is enough to find the latest letter at every length that we tried, but not to pick out the token exactly two back, which it usually misses.

# %% [markdown]
# **No encoding is best at everything.** (These models have one layer and one head. Deeper models can combine several steps. Two *Extras* ask why sinusoids fail at new lengths, and what ALiBi's slope has to do with its success.)

# %% [markdown]
# **Exercise 5** (write the test; 20 minutes, hard). Somebody hands you a function `scores(query, key)`, which takes vectors `(T, 8)` and returns all scores `(T, T)`, with positions built in somehow. Do positions matter only through their difference? Your test is tried on scores that are relative and on scores that aren't, and it is rated.

# %% exercise="is_relative"
def is_relative(scores):
    """Whether positions matter only through their difference."""
    return ...
# %%
exercises.is_relative.check(is_relative)
# %% [markdown]
# ## Remember
#
# - Attention is permutation-equivariant, so the order must be put in from outside.
# - A sinusoidal encoding is a row of clock hands, and both features of a pair share a frequency.
# - A shift by $k$ is a rotation, the same from every position. RoPE turns queries and keys by it.
# - Test the shift, *and* that positions differ, *and* that the numbers stay small.
# - At twice the trained length, a model with RoPE usually still finds a distance, and one with ALiBi what is close, while one with an added encoding loses many answers in two of our three tasks. Measure on your own task.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. d_model is 512. What is the encoding of position 0?</summary>
# 0, 1, 0, 1, …: these are 256 sines of 0 and 256 cosines of 0, in turn.
# </details>
# <details><summary>2. Why is every Mₖ orthogonal, and what follows for the lengths of encodings?</summary>
# Each Mₖ consists of rotations, and rotations keep lengths. So all encodings have the same length, √(d_model / 2).
# </details>

# %% [markdown]
# <details><summary>3. Does RoPE change the values? Does it change the score of a word with itself?</summary>
# It changes neither. The values are not turned, and a word has distance 0 from itself, so that its query and its key are turned by the same angle.
# </details>
# <details><summary>4. You pool the outputs by a mean and use no encoding and no mask. Can the model tell "not good, bad" from "not bad, good"?</summary>
# It can't, because the words are the same and their order is all that differs.
# </details>

# %% [markdown]
# **Next:** words now look at each other and know their positions. [Lesson 04](04_residual_blocks.ipynb) stacks such layers on top of each other, and asks why a deep stack learns nothing.

# %% [markdown]
# ## Extra: why do sinusoids fail at length 64 in *two back*?
#
# Is it the length, because a head that works among 32 keys is lost among 64? Or is it the rows of the table, since training never met those of positions 32 to 63? And if so, must a model have met *each* row, or is it enough that the rows have *varied*, so that it had to find the rule that they share? We change nothing but where the training sentences of 32 tokens begin:
#
# - always at position 0, as before, or always at 64;
# - anywhere from 64 on, so that the rows vary, but those of positions 0 to 63 are never met;
# - anywhere, so that hardly any row is new.

# %%
begins = {"always at 64": (64, 65), "from 64 on": (64, 225), "anywhere": (0, 225)}
moved = {"always at 0": right["sinusoid", two_back]}
for where, start in begins.items():
    readers = train("sinusoid", two_back, start=start)
    moved[where] = {n: right_answers(readers, two_back, n) for n in (32, 64, 256)}
# %% tolerance=0.5
for where, result in moved.items():
    spans = [f"at {n} {result[n].min():.2f}–{result[n].max():.2f}" for n in (32, 64, 256)]
    print(f"two back, sentences begin {where:12} " + ", ".join(spans))
by_32 = {where: result[32].mean() for where, result in moved.items()}
assert by_32["from 64 on"] > by_32["always at 64"] + 0.15
assert moved["anywhere"][64].mean() > moved["always at 0"][64].mean() + 0.2

# %% [markdown]
# Compare the two middle rows at 32 tokens first. Both models are tested on rows that they have never met, and both were trained from 64 on, so all that sets them apart is how widely the rows varied. It makes a great difference. A model that always sees the same 32 positions can learn each of them by heart, while a model that sees many positions gains more from a rule that they all share. (There is such a rule, the rotation. Whether the model has found it, this experiment does not show.)
#
# At 64 tokens the rows are the main trouble, since the model that has met nearly every row gets most answers right there. But new rows are not all of it. At 256 even that model loses many answers after these 200 steps, although hardly anything but the length is new to it.

# %% [markdown]
# ## Extra: what does ALiBi's slope decide?
#
# ALiBi found the latest letter at every length. Its slope was 1/2, the steepest that any of eight heads would have. We change nothing but the slope, to the least steep one:

# %% tolerance=0.3
flat = right_answers(train("ALiBi", latest, slope=1 / 256), latest, 32)
for slope, result in (("1/2", right["ALiBi", latest][32]), ("1/256", flat)):
    print(f"latest, ALiBi with slope {slope:6} at 32 {result.min():.2f}–{result.max():.2f}")
assert flat.max() < 0.8 < 0.9 < low["ALiBi", latest][32]
# %% [markdown]
# With a slope of 1/256 the model does no better than without any position, because across 32 tokens such a bias differs by 31/256 at most. So in this task the slope decides what the head can see, which is a good reason to give each head a different one.

# %% [markdown]
# ## Extra: what if there are many words?
#
# With 30 words and 64 features the position could be read off the sum, but 30 words leave more than thirty of the 64 directions free, and in these the position stands undisturbed. What happens when there are so many words that no direction is free?
#
# We read 1,000 words, and as a control we exchange the encoding alone. One table holds *random* positions of the same size. The other is the sinusoid again, but of every seventh position only, so that its rows lie further apart:

# %%
def position_read(words, table):
    """The share of positions that are read off the sums of all words and all positions."""
    n, length = len(words), len(table)
    word = torch.eye(n).repeat_interleave(length, dim=0)
    position = torch.eye(length).repeat(n, 1)
    return share_read(word @ words + position @ table, position)

# %%
torch.manual_seed(0)
encodings = {
    "sinusoid": positions.sinusoidal_encoding(30, 64),
    "every seventh": positions.sinusoidal_encoding(210, 64)[::7],
    "random": torch.randn(30, 64) / 2**0.5,
}

# %% tolerance=0.15
found, many = {}, torch.randn(1000, 64)
for name, table in encodings.items():
    found[name] = position_read(many, table)
    closest = torch.pdist(table).min().item()
    print(f"{name:13} closest two rows {closest:.1f} apart, position read {found[name]:.2f}")
assert found["sinusoid"] < 0.7 < 0.85 < found["every seventh"] < found["random"]

# %% [markdown]
# No direction is free, and yet the random positions are read almost without an error, so the words alone are not to blame. What decides is how far apart the rows lie, and in the sinusoid the neighbours lie closest. In any one direction the words vary by about 1. A distance of 1.5 is hardly more than that, so a position is often taken for its neighbour; distances of 4.2 and 6.1 stand out clearly.

# %% [markdown]
# This is the price of the hill that we saw above, since neighbours can only be similar if they lie close together. If the length of the steps is what counts, a wider model should read the position better. It has more hands, so its steps are longer, while the words still vary by 1 in each direction. But it also has more features to read from. As a control we therefore shrink each encoding until its steps are 1.5 long again:

# %% tolerance=0.15
for d_model in (64, 128, 256):
    table, words = positions.sinusoidal_encoding(30, d_model), torch.randn(1000, d_model)
    step = (table[1:] - table[:-1]).norm(dim=1).mean().item()
    share, shrunk = (position_read(words, t) for t in (table, table * 1.47 / step))
    print(f"{d_model:3} features: from row to row {step:.1f}, position read {share:.2f}", end="; ")
    print(f"with steps of 1.5, {shrunk:.2f}")
    assert d_model == 64 or shrunk < share - 0.08

# %% [markdown]
# A wider model does read the position better. With steps of 1.5 it hardly does, so most of the gain comes from the longer steps, and little from the features alone.

# %% [markdown]
# ## Extra: how large are words, how large are positions?
#
# If two vectors are added, it matters how large each of them is. "In the embedding layers, we multiply those weights by $\sqrt{d_{model}}$", says the paper (§3.4). That fits *if* the table of words starts with variance $1/d_{model}$. PyTorch's own table, `nn.Embedding`, starts with variance 1. We compare typical sizes, and the share that the position has in the square of the sum:

# %% tolerance=0.05
torch.manual_seed(0)
d_model = 512
size = lambda x: x.square().mean().sqrt().item()  # the root of the mean square
words = nn.Embedding(5000, d_model).weight.detach()
p = size(positions.sinusoidal_encoding(100, d_model))
for start, w in (("1/d_model", size(words)), ("1", size(words) * d_model**0.5)):
    share = 100 * p**2 / (p**2 + w**2)
    print(f"variance {start:9} times √d_model: word {w:4.1f}, position {p:.2f} ({share:.1f} %)")
# %% [markdown]
# A position always has size $\sqrt{1/2} = 0.71$, since $\sin^2 + \cos^2 = 1$ in each pair. With the small start, the factor brings the words to size 1, and a third of the sum's square comes from the position. With the start of `nn.Embedding` *and* the factor, that share is a thousandth, and training would first have to make up for it.
#
# Could you not avoid the question by writing word and position side by side? You could, but that is only a special case of adding, in which each of the two leaves some features to the other. It also makes every later matrix wider, whereas adding lets training decide how to share the features.

# %%
word, position = torch.randn(5, 6), positions.sinusoidal_encoding(5, 4)
side_by_side = torch.cat([word, position], dim=-1)
added = torch.cat([word, torch.zeros(5, 4)], -1) + torch.cat([torch.zeros(5, 6), position], -1)
print("side by side = added, if features are reserved:", torch.equal(side_by_side, added))
# %% [markdown]
# ## Extra: laws and conventions
#
# Some of what you saw is a law: that attention without positions is equivariant, that a shift is a rotation, that RoPE's score depends on the positions only through their difference. Other things are choices, and programs differ in them:
#
# - the base 10000, and counting from 0,
# - sine and cosine in turn, or [all sines first](https://github.com/tensorflow/tensor2tensor/issues/391), as in the authors' own code,
# - in RoPE, features $2i$ and $2i + 1$ as a pair, or [$i$ and $i + d/2$](https://github.com/huggingface/transformers/issues/25199).

# %% [markdown]
# You are free to choose a convention, but you must not mix two of them. To see why, put the same query at positions 2, 6 and 11, and the same key always two positions before it:

# %%
def rotate_halves(x):
    """RoPE with features i and i + d/2 as a pair."""
    first, second = x.chunk(2, dim=-1)
    turned = rope(torch.stack([first, second], dim=-1).flatten(-2))  # as neighbours
    return torch.cat([turned[..., 0::2], turned[..., 1::2]], dim=-1)


query, key = (torch.tensor(row).expand(12, 4) for row in ([1.0, 2, 0, -1], [2.0, 1, 1, 0]))
pairs = {
    "neighbours": (rope, rope),
    "halves": (rotate_halves, rotate_halves),
    "mixed": (rope, rotate_halves),
}
for name, (for_query, for_key) in pairs.items():
    scores = for_query(query) @ for_key(key).T
    print(f"{name:10}", ", ".join(f"{scores[p, p - 2].item():.2f}" for p in (2, 6, 11)))
# %% [markdown]
# Each convention gives one score for one difference of positions. The two scores differ, because the two conventions pair different features. If you mix them, the score depends on the positions again, and nothing warns you, since all the shapes are right. So if published weights follow the other convention, first reorder the features of their queries and keys, which in `nn.Linear` are rows of the weight.

# %% [markdown]
# ## Extra: the same hand, four more times
#
# Here is hand 2 of an encoding with 12 features, at 30 positions: by a loop like that of the hand calculation, by one rotation after another, by complex numbers, and as two columns of the package's table. (`torch.nn` has no positional encoding to compare with.)

# %%
frequency = 10000 ** (-2 * 2 / 12)
looped = torch.tensor([[math.sin(p * frequency), math.cos(p * frequency)] for p in range(30)])

step = positions.shift_matrix(1, 12)[4:6, 4:6]  # the block of hand 2
rotated = [torch.tensor([0.0, 1.0])]  # position 0: it points up
while len(rotated) < 30:
    rotated.append(step @ rotated[-1])

turns = torch.polar(torch.ones(30), -torch.arange(30) * frequency)  # complex, of length 1
complex_hand = torch.view_as_real(1j * turns)  # right and up; i points up
# %%
others = {
    "loop": looped,
    "rotations": torch.stack(rotated),
    "complex numbers": complex_hand,
    "package": positions.sinusoidal_encoding(30, 12)[:, 4:6],
}
for name, hand in others.items():
    same = gap(hand, one_hand(30, frequency)) < 1e-5
    print(f"one_hand = {name:16} max difference < 1e-5: {same}")
# %% [markdown]
# They agree, but how exactly can a computer know an angle? The package computes its angles with 64-bit numbers, for a reason. Near 5,000, neighbouring 32-bit numbers lie 0.0005 apart, so rounding can shift an angle by half of that, and the frequency is rounded as well. Take hand 1 of 512 features:

# %% tolerance=0.2
columns = positions.sinusoidal_encoding(5001, 512)[:, 2:4]
error = gap(one_hand(5001, 10000 ** (-2 / 512)), columns)
print(f"up to position 5000, with 32-bit angles: off by up to {10_000 * error:.1f} · 10⁻⁴")
assert error > 5e-5
# %% [markdown]
# ## Extra: dropout on the sum
#
# **Dropout** sets some numbers to 0 in training, at random, so that a model does not lean on any single one. The paper applies it to "the sums of the embeddings and the positional encodings", with a rate of 0.1 in its base model (§5.4). Whatever is left is divided by 0.9, so that the mean stays the same:

# %% tolerance=0.01
torch.manual_seed(0)
dropout, sums = nn.Dropout(0.1), torch.ones(1_000_000)
for mode, after in (("training", dropout(sums)), ("eval mode", dropout.eval()(sums))):
    zeros = (after == 0).float().mean().item()
    print(f"in {mode:9} {100 * zeros:.0f} % set to 0, mean {after.mean().item():.2f}")
# %% [markdown]
# Dropout treats word and position alike. It is meant to keep a model from learning its examples by heart ([Srivastava et al., 2014](https://jmlr.org/papers/v15/srivastava14a.html)). Outside training, in PyTorch's *eval mode*, nothing is dropped.

# %% [markdown]
# ## Extra: position without an encoding
#
# The proof at the beginning assumed that every row may look at every other. If each position sees only itself and what lies before it, as in the model above, the rows are no longer alike, and a position can be *counted*: mark the first word by a 1, and let every position take the mean of what it sees.

# %%
marker = torch.tensor([1.0, 0, 0, 0, 0])
seen = torch.ones(5, 5).tril()
print([round(value, 3) for value in (seen / seen.sum(dim=1, keepdim=True) @ marker).tolist()])
# %% [markdown]
# The results are 1, 1/2, 1/3 and so on, so that each position has a number of its own. Language models of this kind can be trained without any encoding, and they are competitive with those that have one ([Haviv et al., 2022](https://arxiv.org/abs/2203.16634)).
