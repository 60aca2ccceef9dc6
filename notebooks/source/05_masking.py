# %% [markdown]
# # 05 · Masking
#
# One table of True and False says which words may look at which. In this lesson you leave it out to see what that costs, and you learn to test that nothing leaks.
#
# **You will be able to**
# - hide the future, padding, and both,
# - test a layer for leaks, and say what a test can't show,
# - hand one mask to functions that read it in opposite ways.
#
# **You need** lessons 01 to 04. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 3.2.3. **Time:** 60 minutes, the exercises 60 more. The parts called *Extra* are a handbook for the day when a mask gives you trouble, and can wait until then.

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

from transformer_lab import default_device, exercises, plots, widgets
from transformer_lab.nn import attention, masks, positions
from transformer_lab.nn.attention import MultiHeadAttention
from transformer_lab.nn.kv_cache import KVCache

if default_device().type != "cpu":  # the CPU is the default; asking for it costs time
    torch.set_default_device(default_device())
# %% [markdown]
# ## The question
#
# When a model writes, it puts down one word after another. In training we show it a whole sentence, and at *each* word it must answer which word comes next. That is fast, because all positions are trained at once. But it has a catch: the answer stands in the input, one position to the right.
#
# Here is a head that has learned no French at all. Each position asks for the position after its own:

# %%
sentence = "Je suis un étudiant".split()
words = position = torch.eye(4)  # one-hot words, at one-hot positions

query_for_the_next = 20 * position.roll(-1, dims=0)
output, _ = attention.scaled_dot_product_attention(query_for_the_next, position, words)
guess = output.argmax(dim=-1)
for t in range(3):
    print(f"{sentence[t]:5} → {sentence[guess[t]]}")
# %% [markdown]
# Every answer is right, although nothing was learned. The head copies, and later, when the model has to write a sentence of its own, there will be no next word to copy.
#
# You might object that we built this head to cheat. So take a layer with random weights, change only the *last* word, and see how much each output changes:

# %% tolerance=2
def changes(before, after):
    """How much the output of each position changed, at most."""
    return " ".join(f"{change:6.3f}" for change in (before - after).abs().amax(dim=(0, 2)).tolist())


torch.manual_seed(0)
layer = MultiHeadAttention(d_model=12, n_heads=3)
x = torch.randn(1, 4, 12)  # one sentence of four words
changed = x.clone()
changed[0, 3] = torch.randn(12)  # another last word
before, after = layer(x, x, x)[0], layer(changed, changed, changed)[0]
print("changes at Je, suis, un, étudiant:", changes(before, after))
assert (before - after).abs().amax(dim=(0, 2)).min() > 0.001
# %% [markdown]
# All four outputs change, even that of *Je*, which comes first. The future leaks in through the attention weights, since each row of them spreads over all words, including the later ones. The remedy is a **mask**, which takes keys away from queries:

# %% tolerance=2
mask = masks.causal_mask(4)
before, after = layer(x, x, x, mask)[0], layer(changed, changed, changed, mask)[0]
print("changes with a mask:              ", changes(before, after))
assert torch.equal(before[:, :3], after[:, :3])
# %% [markdown]
# With the mask the first three outputs do not change any more, not even by a rounding error. But this was one layer and one changed word. **Where can the future leak in, and how do you prove that it does not?**

# %% [markdown]
# ## By hand
#
# A mask is a table whose rows are queries and whose columns are keys, and ✓ means *may attend*. The **causal mask** lets a word attend to itself and to the words before it:

# %%
def show_table(mask, rows, columns):
    print(" " * 9 + " ".join(f"{column:>8}" for column in columns))
    for row, allowed in zip(rows, mask.tolist()):
        print(f"{row:9}" + " ".join(f"{'✓' if a else '·':>8}" for a in allowed))


show_table(masks.causal_mask(4), sentence, sentence)
# %% [markdown]
# What does this do to the weights? Suppose that *suis* has the following scores for the four words, already divided by $\sqrt{d_k}$. It may see only the first two words, so the softmax runs over those two scores:

# %%
scores = [0.0, 1.0, 0.5, 0.5]
allowed = [True, True, False, False]

exponentials = [math.exp(score) if may else 0.0 for score, may in zip(scores, allowed)]
weights = [e / sum(exponentials) for e in exponentials]
print("exponentials", [round(e, 4) for e in exponentials], "sum", round(sum(exponentials), 4))
print("weights     ", [round(w, 4) for w in weights])
# %% [markdown]
# The weights of *suis* still sum to 1. Whatever *un* and *étudiant* would have received goes to the words that it may see, in proportion to what they already had.

# %% [markdown]
# ## The equation
#
# In a formula we need not leave scores out one by one. An exponential is 0 for a score of $-\infty$, so a mask can simply be *added* to the scores:
#
# $$\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right) V \qquad M_{ts} = \begin{cases} 0 & \text{query } t \text{ may attend to key } s\\ -\infty & \text{otherwise} \end{cases}$$
#
# "We implement this inside of scaled dot-product attention by masking out (setting to $-\infty$) all values in the input of the softmax which correspond to illegal connections" (§3.2.3). In code a table of type `torch.bool` is handier:

# %%
def masked_attention(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    scores = scores.masked_fill(~mask, float("-inf"))  # the only new line
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


X = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]])
output, weights = masked_attention(X, X, X, masks.causal_mask(4))
print("\n".join(str([round(w, 4) for w in row]) for row in weights.tolist()))
# %% [markdown]
# The second row is the one that you worked out by hand, because these vectors have exactly those scores. All weights above the diagonal are 0, and each row sums to 1.

# %% [markdown]
# **Exercise 1** (5 minutes). Write the causal mask.

# %% exercise="causal_mask"
def causal_mask(length):
    """(length, length), bool: may this query attend to this key?"""
    return ...
# %%
exercises.causal_mask.check(causal_mask)
# %% [markdown]
# ## Look
#
# Step through *scores*, *scaled*, *masked* and *weights* of the same four words. Which rows of the weights change when you switch the mask off? Switch it on again and raise the temperature: which row stays as it is, and why?

# %%
view = widgets.attention_steps(X, X, query_tokens=sentence, key_tokens=sentence, causal=True)
view.ask("05 lost")
# %% [markdown]
# <details><summary>After you have tried</summary>
# Without the mask, <i>Je</i>, <i>suis</i> and <i>un</i> give weight to later words, so their rows change. <i>étudiant</i> comes last and may see all four words in either case. With the mask, a higher temperature makes every row more even except the first: <i>Je</i> may see only one word, which gets the weight 1 at any temperature.
# </details>

# %% [markdown]
# ## What does a missing mask cost?
#
# A leak in a toy head is one thing. Would you notice it in a real training? To find out, we train a small writer with the mask and without it. Its sentences are random walks on a circle of eight tokens, in which each step goes one up or one down by the toss of a coin. Since nobody can foresee a coin, the best possible guess gives two tokens a half each, and an honest loss cannot fall below $\ln 2 = 0.69$.

# %%
def walks(n, length):
    steps = torch.randint(2, (n, length)) * 2 - 1  # -1 or 1
    return (torch.randint(8, (n, 1)) + steps.cumsum(dim=1)) % 8


class Writer(nn.Module):
    def __init__(self, masked, d_model=32):
        super().__init__()
        self.masked, self.embedding = masked, nn.Embedding(8, d_model)
        self.positions = positions.SinusoidalPositions(max_len=12, d_model=d_model)
        self.attention = MultiHeadAttention(d_model, n_heads=1)
        self.out = nn.Linear(d_model, 8)

    def forward(self, tokens):  # (B, T) → scores of the next token, (B, T, 8)
        x = self.positions(self.embedding(tokens))
        mask = masks.causal_mask(tokens.size(1)) if self.masked else None
        return self.out(x + self.attention(x, x, x, mask)[0])
# %% [markdown]
# We measure three things: the loss in training; the loss at the last token of a *beginning*, where the next token is not in the input; and the share of impossible steps in walks that the writer draws itself. **Predict:** without the mask, how low does the training loss fall, and what becomes of it on beginnings?

# %% steps=200
def train(masked, seed, steps=200):
    torch.manual_seed(seed)
    writer, losses = Writer(masked), []
    optimizer = torch.optim.Adam(writer.parameters(), lr=0.01)
    for _ in range(steps):
        tokens = walks(32, 13)
        loss = F.cross_entropy(writer(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return writer, sum(losses[-20:]) / 20


@torch.no_grad()
def loss_of_beginnings(writer):
    tokens = walks(200, 13)
    last = torch.stack([writer(tokens[:, :t])[:, -1] for t in range(1, 13)], dim=1)
    return F.cross_entropy(last.flatten(0, 1), tokens[:, 1:].flatten()).item()
# %%
@torch.no_grad()
def impossible_steps(writer):
    """The share of steps, in walks that the writer draws, that go neither one up nor one down."""
    tokens = walks(200, 1)
    for _ in range(11):
        probabilities = writer(tokens)[:, -1].softmax(dim=-1)
        tokens = torch.cat([tokens, probabilities.multinomial(1)], dim=1)
    step = tokens.diff(dim=1) % 8
    return ((step != 1) & (step != 7)).float().mean().item()
# %% tolerance=0.4
torch.set_num_threads(1)  # a model as small as this gains nothing from more
results = {True: [], False: []}
print("                 training  beginnings  impossible steps")
for masked in (True, False):
    for seed in (0, 1, 2):
        writer, loss = train(masked, seed)
        results[masked].append((loss, loss_of_beginnings(writer), impossible_steps(writer)))
        loss, honest, wrong = results[masked][-1]
        row = f"{loss:4.2f}        {honest:4.2f}              {wrong:.2f}"
        print(f"{'with' if masked else 'no':4} mask, seed {seed}   {row}")
# %%
for (loss, honest, wrong), (leaky_loss, leaky_honest, _) in zip(results[True], results[False]):
    assert leaky_loss < 0.4 < math.log(2) - 0.05 < loss < 0.8  # too good to be true
    assert honest < 0.8 < leaky_honest
    assert wrong < 0.03
# %% [markdown]
# Without the mask the training loss falls far below what is possible without cheating, and a careless reader of the log would celebrate. But where there is no next token to copy, the same model does much worse than the honest one, and some of these models often write steps that no walk can have. (Longer training mends only a part of that. After 2000 steps most such models hardly ever write an impossible step, but on beginnings all that we tried still did worse than an honest one.) So this is how a leak shows itself: **the loss in training is too good, and the predictions are poor where it counts.**

# %% [markdown]
# ## Who influences whom?
#
# You don't want to train a model for a week before you notice a leak, so we need a test of the layer itself. The weights tell you what a layer was *meant* to use. To find out what an output really depends on, take derivatives, which say how much a small change of each input would change it. We measure the norm of $\partial\,\mathrm{output}_t / \partial\,\mathrm{input}_s$ for every pair of positions:

# %% tolerance=1
def influence(model, x):
    """(T, S): how strongly output t depends on input s, in any of their features."""
    jacobian = torch.autograd.functional.jacobian(model, x)  # (1, T, d_model, 1, S, d_model)
    return jacobian[0, :, :, 0].norm(dim=(1, 3))


def causal_layer(x):
    return layer(x, x, x, mask)[0]


open_, closed = influence(lambda x: layer(x, x, x)[0], x), influence(causal_layer, x)
print(f"influence of a later word, without a mask: {open_.triu(1).max().item():.2f} at most")
print(f"influence of a later word, with the mask:  {closed.triu(1).max().item()} at most")
assert open_.min() > 0 == closed.triu(1).max()
# %% [markdown]
# Why should we not read this off the weights, which are so much easier to get? Because weights can deceive. Here is a mask that looks right: it sets the forbidden weights to 0 *after* the softmax. Compare its weights with the influence:

# %%
too_late = exercises.masked_softmax.mistakes["masked_after_softmax"].function


def weights_masked_too_late(x):
    return too_late(x @ x.mT / math.sqrt(12), mask)


short = x / 2  # shorter vectors, softer weights
weights = weights_masked_too_late(short)[0]
measured = influence(lambda x: weights_masked_too_late(x) @ x, short)
# %%
figure, (left, right) = plots.figure(width=9, height=4.2, columns=2)
for ax, values in ((left, weights), (right, measured)):
    plots.plot_amounts(values, sentence, sentence, ax=ax)
left.set(title="weights", xlabel="key", ylabel="query")
right.set(title="influence", xlabel="input", ylabel="output")
alt = "Mask after softmax: the weights are a lower triangle, the influence fills the square."
plots.show(figure, alt)
# %% tolerance=1
print(f"largest weight of a later word:    {weights.triu(1).max().item()}")
print(f"largest influence of a later word: {measured.triu(1).max().item():.2f}")
assert weights.triu(1).max() == 0 < 0.001 < measured.triu(1).max()
# %% [markdown]
# The picture of the weights is a perfect triangle, and yet the future leaks. A later word still stands in the *sum* by which the softmax divides, so it scales every weight of the row.
#
# Would it help to divide each row by its own sum once more? In exact arithmetic it would, because the sum over all keys cancels, and what is left are the weights of a mask that comes before the softmax. On a machine, however, a single large score among the masked ones spoils it:

# %%
for third in (2.0, 200.0):  # the score that is masked
    scores, allowed = torch.tensor([0.0, 1.0, third]), torch.tensor([True, True, False])
    late = scores.softmax(dim=-1) * allowed
    early = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
    for name, row in (("before", early), ("after, renormalised", late / late.sum())):
        weights = [round(w, 4) for w in row.tolist()]
        print(f"masked score {third:3.0f}, mask {name:20} {weights}")
# %% [markdown]
# Next to a score of 200, the exponentials of 0 and 1 have been rounded to 0 before the mask comes, and 0/0 is NaN, "not a number". The conclusion is to mask *before* the softmax.

# %% [markdown]
# ## What a gradient cannot say
#
# Our test has a limit. At best, a gradient of 0 says that, *at this input*, a very *small* change has no effect to first order. That is no proof that there is no dependence. Here are four layers that leak, and one that does not. **Predict:** in which of them is the gradient with respect to the future 0?

# %%
def choose(x):
    """At every position the same one-hot vector: which position has the largest first feature?"""
    return F.one_hot(x[:, :, 0].argmax(dim=1), 12)[:, None]


suspects = {
    "causal": causal_layer,
    "+ mean, detached": lambda x: causal_layer(x) + x.mean(dim=1, keepdim=True).detach(),
    "+ a choice": lambda x: causal_layer(x) + choose(x),
    "+ above a threshold": lambda x: causal_layer(x) + torch.relu(x.roll(-1, dims=1) - 3),
    "+ 1e-9 of the next": lambda x: causal_layer(x) + 1e-9 * x.roll(-1, dims=1),
}
# %% [markdown]
# A second test changes the input itself. It puts a random vector in the place of the last word and looks whether an earlier output changes, 1,000 times:

# %% tolerance=1
def noticed(model, x, tries=1000):
    """The share of tries in which another last word changes an earlier output."""
    other = x.repeat(tries, 1, 1)
    other[:, -1] = torch.randn(tries, x.size(2))
    difference = (model(other) - model(x))[:, :-1].abs().amax(dim=(1, 2))
    return (difference > 1e-6).float().mean().item()


torch.manual_seed(0)
usual = x.clamp(-2, 2)  # no feature is extreme
found = {}
for name, suspect in suspects.items():
    gradient, share = influence(suspect, usual).triu(1).max().item(), noticed(suspect, usual)
    found[name] = gradient, share
    print(f"{name:20} gradient {gradient:7.1e}, change noticed in {100 * share:5.1f} % of tries")
# %%
leaks_without_gradient = ("+ mean, detached", "+ a choice", "+ above a threshold")
assert all(found[name][0] == 0 < found[name][1] for name in leaks_without_gradient)
assert found["+ 1e-9 of the next"][0] > 0 == found["+ 1e-9 of the next"][1]
assert found["causal"] == (0, 0)
# %% [markdown]
# Three of the leaks have a gradient of exactly 0: `detach` hides its input from the gradient, a choice is flat between its jumps, and a threshold is flat until it is crossed. Changing the input finds all three, although it finds the threshold only in few tries, because a feature above 3 is rare.
#
# With the last leak it is the other way round. A test needs a tolerance, here 1e-6, because numbers are rounded. This leak lies below it, so only the gradient sees it. **Either test can find a leak, and neither can exclude one.**

# %% [markdown]
# ## The proof
#
# What *does* exclude a leak is the way in which a model is made:
#
# 1. Positions meet in attention alone. Projections, norms and feed-forward networks treat each position by itself, so nothing can leak through these.
# 2. In attention, a mask before the softmax makes the forbidden weights 0. They then count for nothing, neither in the sum by which the softmax divides nor in the sum of the values (as long as all numbers are finite). So output $t$ is computed from rows $0 \dots t$ alone.
# 3. Rows $0 \dots t$ of the next layer are computed from rows $0 \dots t$ of this one, which in turn depend on nothing later. By **induction** this holds for any number of layers.
#
# The proof leaves one job to the tests, which is to check that the code really does what the proof assumes.

# %% [markdown]
# The third step deserves a second look, because it does not work for every mask. A mask limits what a word can see in *one* layer. What can reach it in two? Let each word look at itself and at the one before, and put two such layers on top of each other:

# %%
torch.manual_seed(1)
second = MultiHeadAttention(d_model=12, n_heads=3)
window = masks.causal_mask(4).triu(-1)  # itself, and one before


def two_layers(x, mask):
    x = layer(x, x, x, mask)[0]
    return second(x, x, x, mask)[0]


measured = influence(lambda x: two_layers(x, window), x) > 0
show_table(measured, sentence, sentence)
# %% [markdown]
# *un* depends on *Je*, two positions back, although the mask forbids that in each of the layers, because *suis* passes it on. In two layers, word $t$ can be reached from word $s$ if there is some word that $t$ may see and that may see $s$. If you write the mask as a matrix of ones and zeros, these are the entries above 0 in its product with itself:

# %%
def in_two_layers(mask):
    return mask.float() @ mask.float() > 0


causal = masks.causal_mask(4)
print("the window's product is what we measured:", torch.equal(in_two_layers(window), measured))
print("the causal mask's product is the mask:   ", torch.equal(in_two_layers(causal), causal))
# %% [markdown]
# A causal mask has no detour into the future, since no step of the way leads ahead. So a mask keeps its promise in a stack of layers if its product with itself allows nothing new.

# %% [markdown]
# **Exercise 2** (write the test; 15 minutes, medium). Now you are the one who checks. You are handed a function `layer`, from `(B, T, 16)` to the same shape, and find out whether any output depends on a later input. `noticed` above is a beginning, but it changes only one position of one short sentence, by numbers of one size. What does it miss? Your test is tried on layers that leak and on layers that don't, and it is scored.

# %% exercise="leaks"
def leaks(layer):
    """Whether any output of the layer depends on a later input."""
    return ...
# %%
exercises.leaks.check(leaks)
# %% [markdown]
# ## Padding
#
# The future is not the only thing that must be hidden. The sentences of a batch have different lengths, but a tensor has only one, so the shorter sentences are filled up with **padding**, a token that means nothing. A padding mask hides it:

# %%
pad_id = 0
tokens = torch.tensor([[5, 6, 7, 8], [9, 4, pad_id, pad_id]])  # the second sentence has two words
print("mask:", masks.padding_mask(tokens, pad_id).int().tolist())
print("axes (B, 1, 1, S):", tuple(masks.padding_mask(tokens, pad_id).shape))
# %% [markdown]
# There is one row for each sentence. The two axes of size 1 stand for heads and queries, and broadcasting repeats the row for all of them. How do you test such a mask? A sentence must come out of a batch just as it comes out alone:

# %% tolerance=1
def gap(a, b):
    """The largest difference between two tensors."""
    return (a - b).abs().max().item()


torch.manual_seed(0)
table = torch.randn(10, 12)  # a vector for each of ten tokens
batch, alone = table[tokens], table[tokens[1:, :2]]
expected = layer(alone, alone, alone)[0]
gaps = {}
for name, given in (("no mask", None), ("padding mask", masks.padding_mask(tokens, pad_id))):
    gaps[name] = gap(layer(batch, batch, batch, given)[0][1:, :2], expected)
    print(f"{name:13} differs from the sentence alone by {gaps[name]:.4f}")
assert gaps["no mask"] > 0.01 > 1e-5 > gaps["padding mask"]
# %% [markdown]
# Only *keys* are hidden. As a query, padding still gets some output, but nothing ever uses it, because no word may attend to it in the next layer and the loss leaves it out.

# %% [markdown]
# **Exercise 3** (5 minutes). Write the padding mask of a batch. `pad_id` may be any number, and padding may stand anywhere.

# %% exercise="padding_mask"
def padding_mask(tokens, pad_id):
    """(B, S) token ids -> bool (B, 1, 1, S)."""
    return ...
# %%
exercises.padding_mask.check(padding_mask)
# %% [markdown]
# ## Both, and across
#
# We now have two reasons to hide a key, and a Transformer uses them in three places.
#
# ![Four tables for the words Je, suis, ici and a pad. Causal: the lower triangle. Padding: all rows alike, without the column of the pad. Both: the lower triangle without that column. Cross: three English queries, four French keys, without the column of the pad.](../img/05_masks.svg)
#
# A **decoder**, the half of a Transformer that writes, needs *both* masks. A key may be seen if it is not in the future **and** is not padding:

# %%
both = masks.decoder_mask(tokens, pad_id)
print("axes (B, 1, T, T):", tuple(both.shape))
show_table(both[1, 0], ["9", "4", "pad", "pad"], ["9", "4", "pad", "pad"])
# %% [markdown]
# In **cross-attention** the queries come from one sentence, and the keys and values from another, as when a translation looks at its source. The whole source is known, so nothing in it is future, and only its padding is hidden. The same $(B, 1, 1, S)$ serves any number of queries:

# %%
target = torch.randn(2, 3, 12)  # T = 3 queries; the source has S = 4 keys
other = batch.clone()
other[1, 2:] = 100.0  # other vectors in the positions of the padding
source_mask = masks.padding_mask(tokens, pad_id)
first = layer(target, batch, batch, source_mask)[0]
again = layer(target, other, other, source_mask)[0]
print("other vectors in the padding: max difference < 1e-6:", gap(first, again) < 1e-6)
# %% [markdown]
# A **prefix mask** is causal except for a beginning that is known from the start, for instance a question, whose words may all see each other ([Raffel et al., 2020](https://arxiv.org/abs/1910.10683), section 3.2). Here a key may be seen if it is past **or** in the prefix, so the two tables are combined by `|`, *or*:

# %%
in_prefix = torch.arange(4) < 2  # of each key
show_table(masks.causal_mask(4) | in_prefix, sentence, sentence)
# %% [markdown]
# **Exercise 4** (10 minutes). Write both at once, for the self-attention of a decoder. You may call your own functions.

# %% exercise="decoder_mask"
def decoder_mask(tokens, pad_id):
    """(B, T) token ids -> bool (B, 1, T, T)."""
    return ...
# %%
exercises.decoder_mask.check(decoder_mask)
# %% [markdown]
# **Exercise 5** (predict; 10 minutes, medium). How many entries of a `decoder_mask` are True, for a batch of sentences of these lengths, padded on the right to the longest? Draw one first, and mind the rows of padding.

# %% exercise="visible_pairs"
def visible_pairs(lengths):
    """The number of True entries in the masks of the whole batch."""
    return ...
# %%
exercises.visible_pairs.check(visible_pairs)
# %% [markdown]
# ## Your own mask
#
# Now paint a mask yourself, over the scores of the sentence above. Let *Je* see *suis*, and read what the view says. Then break the mask in other ways: leave a row with nothing to see, or let words listen to padding. **Predict before you paint:**

# %%
widgets.mask_playground(X @ X.mT / math.sqrt(4), sentence).ask("05 leak")
# %% [markdown]
# The view names the leak in words. If you choose *sliding window* and tick *two layers*, the dots show the detours that you measured above. It also announces a row that sees nothing, and such a row deserves a closer look.

# %% [markdown]
# ## A query that may attend to nothing
#
# When every key of a query is masked, the softmax of its row is 0/0. Here is what different functions return for query 0, which is empty, and for query 1, which is not:

# %%
allowed = torch.tensor([[False, False], [True, True]])  # query 0 may attend to nothing
q, v = torch.ones(2, 2), torch.tensor([[1.0], [3.0]])
outputs = {
    "fill with -inf": masked_attention(q, q, v, allowed)[0],
    "package": attention.scaled_dot_product_attention(q, q, v, allowed)[0],
    "PyTorch's function": F.scaled_dot_product_attention(q, q, v, attn_mask=allowed),
}
for name, output in outputs.items():
    print(f"{name:19} {output[:, 0].tolist()}")
# %%
module = nn.MultiheadAttention(2, num_heads=1, batch_first=True)
for need_weights in (True, False):
    output, _ = module(q, q, q, attn_mask=~allowed, need_weights=need_weights)
    nans = output.isnan().any(dim=-1).tolist()
    print(f"nn.MultiheadAttention, need_weights={need_weights!s:5}, NaN in row 0 and 1: {nans}")
# %% [markdown]
# The average of nothing is not defined, so whatever stands there is a convention. The package returns zeros, as PyTorch's function does today. PyTorch's module, whose mask means *may not attend* (hence the `~`), returns NaN if you ask it for the weights, and no NaN if you don't.
#
# Can a NaN do any harm in a row that nobody uses? Throw the bad row away, and ask for the gradient of the two values:

# %%
versions = {"with -inf": masked_attention, "package": attention.scaled_dot_product_attention}
for name, function in versions.items():
    value = torch.ones(2, 1, requires_grad=True)
    output = function(q, q, value, allowed)[0]
    output[1].sum().backward()  # row 1 only
    print(f"{name:10} gradient of the values: {value.grad[:, 0].tolist()}")
# %% [markdown]
# It can. The gradient of a discarded row is 0, but $0 \cdot \mathrm{NaN} = \mathrm{NaN}$, and a single step of training would write it into the weights of the model. The same rule does harm in the forward pass, because a weight of 0 hides finite values only:

# %%
value = torch.tensor([[1.0], [3.0], [float("nan")]])  # the last word is hidden from the first two
q = k = torch.ones(3, 2)
output, _ = attention.scaled_dot_product_attention(q, k, value, masks.causal_mask(3))
print("outputs:", output[:, 0].tolist())
# %% [markdown]
# So fill padding with ordinary numbers, and never with the chance contents of `torch.empty`, which may hold a NaN.

# %% [markdown]
# **Exercise 6** (15 minutes). Write a softmax that respects the mask: zeros where it is False, a whole row of zeros where nothing is allowed, and never a NaN, in float16 as well.

# %% exercise="masked_softmax"
def masked_softmax(scores, mask):
    """Softmax over the keys that a query may attend to; all other weights are 0."""
    return ...
# %%
exercises.masked_softmax.check(masked_softmax)
# %% [markdown]
# ## And when it writes?
#
# When a model writes, there is no future yet, so can the mask go? In a single layer it can, because the newest word may see everything anyway. In two layers it can't. There the newest word reads what *earlier* words computed, and without a mask these have looked ahead, as they never could in training:

# %% tolerance=1
longer = torch.tensor([[5, 6, 7, 8]])
x, mask = table[longer], masks.causal_mask(4)
one = gap(layer(x, x, x, mask)[0][0, -1], layer(x, x, x)[0][0, -1])
two = gap(two_layers(x, mask)[0, -1], two_layers(x, None)[0, -1])
print(f"the last output without the mask: one layer differs by {one:.4f}, two layers by {two:.4f}")
assert one < 1e-5 < 0.005 < two
# %% [markdown]
# So the mask stays, and in return you get a promise: a beginning has the same outputs alone as within the whole sentence. One training pass over four words is therefore worth four passes, over 1, 2, 3 and 4 words:

# %%
whole = two_layers(x, mask)
for length in (1, 2, 3, 4):
    beginning = two_layers(x[:, :length], masks.causal_mask(length))
    print(f"beginning of length {length}: differs by {gap(beginning, whole[:, :length]):.4f}")
# %% [markdown]
# There is one way to write without a mask. Compute each word only once, when it is the newest, and keep its keys and values. Then no word ever looks ahead, because what comes later did not exist when it was computed. This is the **cache** of lesson 08:

# %%
cache = KVCache()  # keys and values of the words so far, for each layer
for t in range(4):
    newest = x[:, t : t + 1]
    newest = layer(newest, newest, newest, cache=cache.layer(0))[0]
    newest = second(newest, newest, newest, cache=cache.layer(1))[0]
print(f"the last output with a cache and no mask: differs by {gap(newest[0, 0], whole[0, -1]):.4f}")
# %% [markdown]
# ## Remember
#
# - A mask is a table of queries and keys; here True means *may attend*, and where two masks must both allow a key, `&` combines them.
# - Mask the scores *before* the softmax. An empty row needs a second step.
# - A causal mask hides the future and a padding mask hides pads; cross-attention needs only the padding mask.
# - A missing mask shows as a loss that is too good, and as poor writing.
# - A gradient or a changed word can *find* a leak; only a proof excludes one.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. A causal mask over 5 tokens: how many of the 25 entries are True?</summary>
# There are 1 + 2 + 3 + 4 + 5 = 15.
# </details>
# <details><summary>2. Your training loss is far too good, and what the model writes is nonsense. What do you suspect?</summary>
# The future leaks, so that the model copies the next word. Change the last word and compare the earlier outputs.
# </details>

# %% [markdown]
# <details><summary>3. Why is the padding mask (B, 1, 1, S) and not (B, 1, S, 1)?</summary>
# The last axis is that of the keys. Nothing may attend to padding, whereas what padding computes as a query does no harm.
# </details>
# <details><summary>4. The gradient of every earlier output with respect to the last word is 0. Does that prove that nothing leaks?</summary>
# No. Through a detached tensor, a choice or a threshold the last word can still matter. Change the word as well.
# </details>

# %% [markdown]
# **Next:** you have attention, heads, positions, residual blocks and masks. [Lesson 06](06_the_transformer.ipynb) puts them together: the whole Transformer of 2017, on one page.

# %% [markdown]
# ## Extra: how low is low enough?
#
# Which number should fill the masked scores: 1e-20, 0, −1e9 or −∞? Let all scores be 0, so that the weights are easy to foresee, and ask how much weight of the first three words leaks into the future:

# %%
scores, mask = torch.zeros(4, 4), masks.causal_mask(4)
for fill in (1e-20, 0.0, -1e9, float("-inf")):
    weights = scores.masked_fill(~mask, fill).softmax(dim=-1)
    leaked = weights.masked_fill(mask, 0.0)[:3].sum(-1).mean().item()
    print(f"fill {fill:6.3g}: {100 * leaked:.0f} % leaked")
# %% [markdown]
# 1e-20 is small, but it is not *low*. Its exponential is 1, exactly like that of every other score in this example, so half of the weight goes to the future, and neither an error nor a shape gives it away.
#
# And why does −1e9 leak nothing, if an exponential is 0 only for −∞? Because $e^{-10^9}$ is smaller than any positive number that the type can hold, and is rounded to 0. This is called **underflow**. How far below the largest score must a score lie for that?

# %% tolerance=0.2
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    rows = torch.stack([torch.zeros(400), -torch.arange(400) / 2], dim=1).to(dtype)
    gone = (rows.softmax(dim=-1)[:, 1] == 0).nonzero()[0].item() / 2
    lowest = torch.finfo(dtype).min
    print(f"{dtype!s:15} weight 0 from a distance of {gone:5.1f}; lowest number {lowest:.3g}")
# %% [markdown]
# So −1e9 is low enough for any usual score. But the lowest number of `float16`, which has 16 bits instead of 32, is −65504, so −1e9 does not fit. And what does each of these numbers leave for a query that may attend to nothing?

# %%
def in_half_precision(fill):
    try:
        torch.zeros(4).half().masked_fill(torch.ones(4, dtype=torch.bool), fill)
        return "works"
    except RuntimeError:
        return "error"


for fill in (-1e9, torch.finfo(torch.float16).min, float("-inf")):
    empty_row = torch.full((4,), fill).softmax(dim=-1)
    print(f"fill {fill:7.5g}: float16 {in_half_precision(fill)}, empty row {empty_row.tolist()}")
# %% [markdown]
# If the scores are *filled* with any finite number, all scores of an empty row are equal, so that the row is even: the query that may see nothing sees everything. (If −10000 is *added* to the scores instead, as [BERT's code](https://github.com/google-research/bert/blob/master/modeling.py) does, their differences stay, and the row is the softmax without a mask. −1e9 is so large that float32 rounds the differences away, and the row is even again.) Whichever number you choose, you can't get a row of zeros in this way; you have to zero it afterwards.

# %% [markdown]
# ## Extra: left or right?
#
# When does a query have nothing to attend to? This happens when padding stands on the *left* and the mask is causal, because the first position then sees only itself, and that is padding.

# %% tolerance=1
right, left = torch.tensor([[9, 4, pad_id, pad_id]]), torch.tensor([[pad_id, pad_id, 9, 4]])
for name, ids in (("right", right), ("left", left)):
    both, x, is_word = masks.decoder_mask(ids, pad_id), table[ids], ids != pad_id
    empty = (~both.any(dim=-1)).sum().item()
    full, causal = layer(x, x, x, both)[0], layer(x, x, x, masks.causal_mask(4))[0]
    difference = gap(full[is_word], causal[is_word])
    print(f"padding on the {name:5}: {empty} empty queries; ", end="")
    print(f"words with the causal mask alone differ by {difference:.4f}")
    assert (difference > 0.01) == (name == "left")
# %% [markdown]
# On the right, padding lies in the future of every word, so the causal mask hides it already. On the left it lies in the past, and only the padding mask helps.
#
# Why would anyone pad on the left? In order to *write*. The next word of every sentence is read off the last position, `[:, -1]`, and with padding on the left, that position holds a word in every sentence. But then *9* is no longer in column 0, and an encoding added by column would give it a different position. So positions are counted by words:

# %% tolerance=1
def read_padded(ids, position_ids):
    """The outputs for the words of a padded sentence, whose positions are given."""
    x = table[ids] + positions.sinusoidal_encoding(4, 12)[position_ids]
    return layer(x, x, x, masks.decoder_mask(ids, pad_id))[0][ids != pad_id]


results = {}
for name, ids in (("right", right), ("left", left)):
    count = (ids != pad_id).cumsum(dim=-1) - 1  # the number of each word, from 0
    results[name, "column"] = read_padded(ids, torch.arange(4)[None])
    results[name, "word"] = read_padded(ids, count.clamp(min=0))
for by in ("column", "word"):
    difference = gap(results["left", by], results["right", by])
    print(f"positions by {by:6}: left and right differ by {difference:.4f}")
assert gap(results["left", "word"], results["right", "word"]) < 1e-5
# %% [markdown]
# ## Extra: two opposite conventions
#
# PyTorch reads a boolean mask in two ways. In `F.scaled_dot_product_attention` True means *may attend*, and in `nn.MultiheadAttention` it means *may not*. Neither of them complains about the other's mask. A mask of *numbers*, on the other hand, is added to the scores by both:

# %% tolerance=1
q = k = v = table[tokens][:, None]  # (B, h, T, d_k)
causal = masks.causal_mask(4)
expected, _ = attention.scaled_dot_product_attention(q, k, v, causal)

additive, gaps = masks.to_additive_mask(causal), {}
for name, given in (("ours", causal), ("0 and -inf", additive), ("1.0 and 0.0", causal.float())):
    gaps[name] = gap(F.scaled_dot_product_attention(q, k, v, attn_mask=given), expected)
    print(f"{name:12} differs from the right output by {gaps[name]:.4f}")
assert gaps["1.0 and 0.0"] > 0.01 > 1e-5 > max(gaps["ours"], gaps["0 and -inf"])
# %% [markdown]
# The last line is a trap, because as numbers 1.0 and 0.0 hide nothing at all. Now we try the module, with copied weights:

# %% tolerance=1
from transformer_lab.weights.torch_nn import copy_to_torch

theirs = nn.MultiheadAttention(embed_dim=12, num_heads=3, batch_first=True)
copy_to_torch(layer, theirs)
x = table[tokens]
expected = layer(x, x, x, causal)[0]
for name, given in (("ours", causal), ("~ours", ~causal)):
    output = theirs(x, x, x, attn_mask=given)[0]
    nans, wrong = output.isnan().any(dim=-1)[0].sum().item(), gap(output[:, :3], expected[:, :3])
    print(f"{name:6} first three words differ by {wrong:.4f}; words with NaN: {nans} of 4")
# %% [markdown]
# Handed over as it is, our mask hides from each word itself and its past, and shows it the future; the last word may attend to nothing. Inverted by `~`, the mask is right.
#
# Some of this lesson is law, and you can derive it: a key that is masked before the softmax does not influence the query's output, as long as it and its value are finite; a row with at least one allowed key sums to 1; a stack of causal layers is causal. The rest is convention, and you must look it up: what True means, which axes a mask has, what an empty row returns, and on which side padding stands.

# %% [markdown]
# ## Extra: one mask, five ways
#
# A decoder's mask differs from sentence to sentence. PyTorch's module wants it with batch and heads in *one* axis, $(B \cdot h, T, S)$, the heads of a sentence side by side; or it wants padding apart, as $(B, S)$. The package's `masks` has a converter for each:

# %%
mask = masks.decoder_mask(tokens, pad_id)
expected, _ = layer(x, x, x, mask, need_weights=True)  # lesson 01's lines, and masked_softmax

inverted = masks.to_torch_attn_mask(mask, batch=2, n_heads=3)
ignored = masks.to_torch_key_padding_mask(masks.padding_mask(tokens, pad_id))
others = {
    "fused kernel": layer(x, x, x, mask)[0],
    "attn_mask": theirs(x, x, x, attn_mask=inverted)[0],
    "key_padding_mask": theirs(x, x, x, attn_mask=~causal, key_padding_mask=ignored)[0],
}
# %%
def by_hand(x, mask):
    projections = (layer.w_q, layer.w_k, layer.w_v)
    q, k, v = (attention.split_heads(project(x), 3) for project in projections)
    return layer.w_o(attention.merge_heads(masked_attention(q, k, v, mask)[0]))


others["our one new line"] = by_hand(x, mask)
for name, output in others.items():
    print(f"{name:17} max difference < 1e-5: {gap(output, expected) < 1e-5}")
