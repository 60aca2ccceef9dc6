# %% [markdown]
# # 05 · Masking
#
# Which words may look at which: one table of True and False, and a proof that it holds.
#
# **You will be able to**
# - hide the future, padding, and both,
# - prove by gradients that nothing leaks,
# - hand one mask to PyTorch functions that read it in opposite ways.
#
# **You need** lessons 01 and 02. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 3.2.3. **Time:** 45 minutes.

# %%
import torch
from torch import nn

from transformer_lab import MultiHeadAttention, default_device, exercises, masks, plots, widgets
from transformer_lab import scaled_dot_product_attention as attend

torch.set_default_device(default_device())

# %% [markdown]
# ## The question
#
# A model that writes says one word after the other. In training it is shown a whole sentence, and at *each* word it must answer: which word comes next? All positions are trained at once, and that makes it fast.
#
# But the answer stands in the input, one place to the right. Here is a head that has learned no French. Each position asks for the one after its own:

# %%
sentence = "Je suis un étudiant".split()
words = position = torch.eye(4)  # one-hot words, at one-hot places

query_for_the_next = 20 * position.roll(-1, dims=0)
guess = attend(query_for_the_next, position, words)[0].argmax(dim=-1)
for t in range(3):
    print(f"{sentence[t]:5} → {sentence[guess[t]]}")

# %% [markdown]
# Every answer is right, and nothing was learned: the head copies. When the model later writes a sentence of its own there is no next word to copy, and it is lost.
#
# Is that only this head? Take a fresh layer, change the *last* word, and watch the output of the *first*:

# %%
torch.manual_seed(0)
layer = MultiHeadAttention(d_model=12, n_heads=3)
x = torch.randn(1, 4, 12)  # one sentence of four words
changed = x.clone()
changed[0, 3] = torch.randn(12)  # another last word

before, after = layer(x, x, x)[0], layer(changed, changed, changed)[0]
print("the first output noticed:", not torch.allclose(before[0, 0], after[0, 0]))

# %% [markdown]
# It did. **Where does the future leak from, and how do you prove that it does not?** It leaks through the weights: each row spreads over all words, later ones too. A **mask** takes keys away from queries:

# %%
mask = masks.causal_mask(4)
before = layer(x, x, x, mask)[0]
after = layer(changed, changed, changed, mask)[0]
print("words 1 to 3 noticed:", not torch.equal(before[0, :3], after[0, :3]))
print("word 4 noticed:      ", not torch.allclose(before[0, 3], after[0, 3]))

# %% [markdown]
# ## By hand
#
# A mask is a table: rows are queries, columns are keys, and ✓ means *may attend*. The **causal mask** lets a word attend to itself and to the words before it:

# %%
def show_table(mask, rows, columns):
    print(" " * 9 + " ".join(f"{column:>8}" for column in columns))
    for row, allowed in zip(rows, mask.tolist()):
        print(f"{row:9}" + " ".join(f"{'✓' if a else '·':>8}" for a in allowed))


show_table(masks.causal_mask(4), sentence, sentence)

# %% [markdown]
# Now its weights. *suis* has these scores for the four words, already divided by $\sqrt{d_k}$. Only the first two count, so the softmax runs over those two:

# %%
import math

scores = [0.0, 1.0, 0.5, 0.5]
allowed = [True, True, False, False]

exponentials = [math.exp(score) if may else 0.0 for score, may in zip(scores, allowed)]
weights = [e / sum(exponentials) for e in exponentials]
print("exponentials", [round(e, 4) for e in exponentials], "sum", round(sum(exponentials), 4))
print("weights     ", [round(w, 4) for w in weights])

# %% [markdown]
# The weights of *suis* still sum to 1. What it would have given to *un* and *étudiant* went to the words it may see. *Je* sees nobody but itself: its weight is 1, whatever the scores.

# %% [markdown]
# ## The equation
#
# An exponential is 0 only for a score of $-\infty$. So a mask can be *added* to the scores:
#
# $$\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right) V \qquad M_{ts} = \begin{cases} 0 & \text{query } t \text{ may attend to key } s\\ -\infty & \text{otherwise} \end{cases}$$
#
# "(setting to $-\infty$) all values in the input of the softmax which correspond to illegal connections", says the paper (§3.2.3). In code the table itself, of type `torch.bool`, is handier:

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
# The second row is the one you worked by hand: these vectors have those scores. All weights above the diagonal are 0, and each row sums to 1.

# %% [markdown]
# ## Look
#
# **Predict first:** with the mask, which row cannot change, whatever the temperature? And what does *étudiant*, the last row, lose by the mask? Then step through *scores*, *scaled*, *masked* and *weights*, and switch the mask off and on.

# %%
widgets.attention_steps(X, X, query_tokens=sentence, key_tokens=sentence, causal=True)

# %% [markdown]
# The row of *Je* is 1, 0, 0, 0 at every temperature. The last row loses nothing: for it, everything is past.

# %% [markdown]
# ## Who influences whom?
#
# Weights tell what a layer *should* use. What it *does* use is told by derivatives: if output $t$ does not depend on input $s$, the gradient is exactly 0. So measure the norm of $\partial\,\mathrm{output}_t / \partial\,\mathrm{input}_s$ for every pair:

# %%
def influence(model, x):
    """(T, S): how strongly output t depends on input s, in any of their features."""
    jacobian = torch.autograd.functional.jacobian(model, x)  # (1, T, d_model, 1, S, d_model)
    return jacobian[0, :, :, 0].norm(dim=(1, 3))


with_mask = influence(lambda x: layer(x, x, x, mask)[0], x)
print("without a mask, all pairs:", (influence(lambda x: layer(x, x, x)[0], x) > 0).all().item())
print("with the mask, no future: ", with_mask.triu(1).eq(0).all().item())

# %% [markdown]
# Why not read it off the weights? Because weights can deceive. Here is a mask that looks right: set the forbidden weights to 0 *after* the softmax. Compare the weights with the influence:

# %%
too_late = exercises.masked_softmax.mistakes["masked_after_softmax"].function


def weights_masked_too_late(x):
    return too_late(x @ x.mT / math.sqrt(12), mask)


short = x / 3  # shorter vectors, softer weights
pictures = {
    "weights": weights_masked_too_late(short)[0],
    "influence": influence(lambda x: weights_masked_too_late(x) @ x, short),
}

# %%
figure, axes = plots.figure(width=9, height=4.2, columns=2)
for ax, (title, values) in zip(axes, pictures.items()):
    plots.plot_matrix(values, sentence, sentence, ax=ax)
    ax.set_title(title)
    ax.set_ylabel("query" if title == "weights" else "output")
    ax.set_xlabel("key" if title == "weights" else "input")
plots.show(
    figure,
    alt="Mask after softmax: the weights are a lower triangle, the influence fills the square.",
)

# %%
weights, measured = pictures.values()
print("weights of the future are 0:  ", weights.triu(1).eq(0).all().item())
print("influence of the future is 0: ", measured.triu(1).eq(0).all().item())

# %% [markdown]
# The picture of the weights is a perfect triangle, and the future leaks all the same. A later word stands in the *sum* by which the softmax divides, so it scales every weight of the row. **Measure influence; do not read it off the weights or the mask.**

# %% [markdown]
# The measure also sees what a mask allows in *two* steps. Let each word look at itself and the one before, and put two such layers on top of each other:

# %%
torch.manual_seed(1)
second = MultiHeadAttention(d_model=12, n_heads=3)
window = masks.causal_mask(4).triu(-1)  # itself, and one before


def two_layers(x, mask):
    x = layer(x, x, x, mask)[0]
    return second(x, x, x, mask)[0]


show_table(influence(lambda x: two_layers(x, window), x) > 0, sentence, sentence)
causal = influence(lambda x: two_layers(x, mask), x)
print("\ncausal, two layers, no future:", causal.triu(1).eq(0).all().item())

# %% [markdown]
# *un* hears of *Je*, two places back, though the mask forbids it in each layer: *suis* passes it on. A causal mask has no such detour into the future, for no step leads ahead.

# %% [markdown]
# ## Padding
#
# Sentences of a batch have different lengths; a tensor has one. So the shorter ones are filled up with padding, a token that means nothing. A **padding mask** hides it:

# %%
PAD = 0
tokens = torch.tensor([[5, 6, 7, 8], [9, 4, PAD, PAD]])  # the second sentence has two words
print("mask:", masks.padding_mask(tokens, PAD).int().tolist())
print("axes (B, 1, 1, S):", masks.padding_mask(tokens, PAD).shape == (2, 1, 1, 4))

# %% [markdown]
# One row for each sentence. The two axes of size 1 stand for heads and queries, and broadcasting repeats the row for all of them. The test of a padding mask: a sentence must come out the same in a batch as alone.

# %%
torch.manual_seed(0)
table = torch.randn(10, 12)  # a vector for each of ten tokens
batch, alone = table[tokens], table[tokens[1:, :2]]
expected = layer(alone, alone, alone)[0]

for name, mask in (("no mask", None), ("padding mask", masks.padding_mask(tokens, PAD))):
    output = layer(batch, batch, batch, mask)[0][1:, :2]
    print(f"{name:13} same as alone: {torch.allclose(output, expected, atol=1e-5)}")

# %% [markdown]
# Only *keys* are hidden. The padding still asks, as a query, and gets some output that nobody uses: no word may attend to it in the next layer, and the loss leaves it out.

# %% [markdown]
# ## Both, and across
#
# ![Four tables for the words Je, suis, ici and a pad. Causal: the lower triangle. Padding: all rows alike, without the column of the pad. Both: the lower triangle without that column. Cross: three English queries, four French keys, without the column of the pad.](../img/05_masks.svg)
#
# A **decoder**, the half of a Transformer that writes, needs *both*: a key may be seen if it is not in the future **and** not padding.

# %%
both = masks.causal_mask(4) & masks.padding_mask(tokens, PAD)
print("(T, T) & (B, 1, 1, T) has the axes (B, 1, T, T):", both.shape == (2, 1, 4, 4))
print("the package's decoder_mask:", torch.equal(both, masks.decoder_mask(tokens, PAD)))
show_table(both[1, 0], ["9", "4", "pad", "pad"], ["9", "4", "pad", "pad"])

# %% [markdown]
# In **cross-attention** the queries come from one sentence, the keys and values from another: a translation looks at its source. The whole source is known, so nothing in it is future. Only its padding is hidden, and the same $(B, 1, 1, S)$ serves any number of queries:

# %%
target = torch.randn(2, 3, 12)  # T = 3 queries; the source has S = 4 keys
other = batch.clone()
other[1, 2:] = 100.0  # other vectors in the places of the padding
source_mask = masks.padding_mask(tokens, PAD)

same = torch.equal(layer(target, batch, batch, source_mask)[0],
                   layer(target, other, other, source_mask)[0])
print("what stands in the padding does not matter:", same)

# %% [markdown]
# A **prefix mask** is causal but for a beginning that is known from the start, a question say, whose words may all see each other ([Raffel et al., 2020](https://arxiv.org/abs/1910.10683), section 3.2). A key may be seen if it is past **or** in the prefix, so here `|` is right:

# %%
in_prefix = torch.arange(4) < 2  # of each key
show_table(masks.causal_mask(4) | in_prefix, sentence, sentence)

# %% [markdown]
# ## Your own mask
#
# Now paint one, over the scores of the sentence above. Let *Je* see *suis*, and read what the view says. Then break its other promises: leave a row with nothing to see, and listen to padding. **Predict before you paint:**

# %%
scores = X @ X.mT / math.sqrt(4)
widgets.mask_playground(scores, sentence).predict(
    "You let Je see suis. How many rows of weights change?",
    ["one", "two", "all four"],
    answer="one",
    because="each row is a softmax of its own. Je gives 0.27 of its weight to suis",
)

# %% [markdown]
# One cell changes one row, and the view names the leak. Choose *sliding window* and tick *two layers*: the dots are the detours that you measured above. A row that sees nothing is announced, too. What becomes of it in code?

# %% [markdown]
# ## Break it: how low is low enough?
#
# Code that you will find fills masked scores with 1e-20, with 0, with −1e9 or with −∞. Let all scores be 0, so that the weights are easy to foresee. How much weight of the first three words leaks into the future?

# %%
scores, mask = torch.zeros(4, 4), masks.causal_mask(4)
for fill in (1e-20, 0.0, -1e9, float("-inf")):
    weights = scores.masked_fill(~mask, fill).softmax(dim=-1)
    leaked = weights.masked_fill(mask, 0.0)[:3].sum(-1).mean().item()
    print(f"fill {fill:6.3g}: {100 * leaked:.0f} % leaked")

# %% [markdown]
# 1e-20 is tiny, but not *low*: $e^{0} = 1$, as good as any score here. Half of the weight goes to the future, and neither an error nor a shape tells.
#
# −1e9 and −∞ both work here. Two harder cases tell them apart: half precision, `float16`, which has 16 bits for a number instead of 32; and a query that may attend to *nothing*.

# %%
def in_half_precision(fill):
    try:
        scores.half().masked_fill(~mask, fill)
        return "works"
    except RuntimeError:
        return "error"


for fill in (-1e9, float("-inf"), torch.finfo(torch.float16).min):
    nothing = torch.zeros(4).masked_fill(torch.ones(4, dtype=torch.bool), fill).softmax(dim=-1)
    print(f"fill {fill:7.5g}: float16 {in_half_precision(fill)}, empty row {nothing.tolist()}")

# %% [markdown]
# The largest number of float16 is 65504, so −1e9 does not fit. And where everything is masked, −∞ gives 0/0, while a low number gives an *even* row: a query that may see nothing sees all. The package fills with the lowest number of the type, then sets masked weights to 0:

# %%
from transformer_lab import attention

nothing = torch.zeros(1, 4, dtype=torch.bool)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    weights = attention.masked_softmax(torch.zeros(1, 4, dtype=dtype), nothing)
    print(f"{dtype!s:14}: {weights[0].tolist()}")

# %% [markdown]
# Can one NaN do harm in a row that nobody uses? Compute with −∞, throw the bad row away, and ask for the gradient of the values:

# %%
allowed = torch.tensor([[False, False], [True, True]])  # query 0 may attend to nothing
for name, function in (("with -inf", masked_attention), ("package", attend)):
    value = torch.ones(2, 3, requires_grad=True)
    output = function(torch.ones(2, 3), torch.ones(2, 3), value, allowed)[0]
    output[1].sum().backward()  # row 1 only
    print(f"{name:10} NaN in the gradient: {value.grad.isnan().any().item()}")

# %% [markdown]
# The gradient of a discarded row is 0, and $0 \cdot \mathrm{NaN} = \mathrm{NaN}$. A step of training would write it into the weights of the model.

# %% [markdown]
# ## Left or right?
#
# When does a query have nothing to attend to? When padding stands on the *left* and the mask is causal: the first place sees itself, and that is padding.

# %%
right, left = torch.tensor([[9, 4, PAD, PAD]]), torch.tensor([[PAD, PAD, 9, 4]])
for name, ids in (("right", right), ("left", left)):
    mask, x, is_word = masks.decoder_mask(ids, PAD), table[ids], ids != PAD
    both, causal = layer(x, x, x, mask)[0], layer(x, x, x, masks.causal_mask(4))[0]
    print(f"padding on the {name}")
    print("  queries without any key:         ", (~mask.any(dim=-1)).sum().item())
    alike = torch.allclose(both[is_word], causal[is_word], atol=1e-6)
    print("  for words, causal alone is enough:", alike)

# %% [markdown]
# On the right, padding is future to every word: the causal mask hides it already. On the left it is past, and only the padding mask helps.
#
# Why would anyone pad on the left? To *write*: the next word of each sentence is read off the last place, `[:, -1]`.

# %%
longer = torch.tensor([[5, 6, 7, 8]])
for name, ids in (("right", right), ("left", left)):
    last = torch.cat([longer, ids])[:, -1]
    print(f"padding on the {name:5}: the last place is a word in all: {(last != PAD).all().item()}")

# %% [markdown]
# ## And when it writes?
#
# When a model writes, there is no future yet. Can the mask go? In one layer, the newest word sees everything anyway. In two, it reads what *earlier* words computed, and without a mask these have looked ahead, as they never could in training:

# %%
x = table[longer]
mask = masks.causal_mask(4)
one = torch.allclose(layer(x, x, x, mask)[0][0, -1], layer(x, x, x)[0][0, -1], atol=1e-6)
two = torch.allclose(two_layers(x, mask)[0, -1], two_layers(x, None)[0, -1], atol=1e-6)
print("last output the same without the mask, one layer: ", one)
print("last output the same without the mask, two layers:", two)

# %% [markdown]
# So the mask stays. In return you get a promise: the outputs for a beginning are those of the whole sentence. One training pass over four words is as good as four passes over 1, 2, 3 and 4 words:

# %%
whole = two_layers(x, mask)
for length in (1, 2, 3, 4):
    beginning = two_layers(x[:, :length], masks.causal_mask(length))
    same = torch.allclose(beginning, whole[:, :length], atol=1e-5)
    print(f"beginning of length {length}: same as in the whole sentence: {same}")

# %% [markdown]
# ## Two opposite conventions
#
# PyTorch reads a boolean mask in two ways. In `F.scaled_dot_product_attention` True means *may attend*; in `nn.MultiheadAttention`, *may not*. Neither complains about the other's mask. And a mask of *numbers* is added to the scores, by both:

# %%
import torch.nn.functional as F

q = k = v = table[tokens][:, None]  # (B, h, T, d_k)
causal = masks.causal_mask(4)
expected = attend(q, k, v, causal)[0]

additive = masks.to_additive_mask(causal)
for name, given in (("ours", causal), ("0 and -inf", additive), ("1.0 and 0.0", causal.float())):
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=given)
    print(f"{name:12}: right {torch.allclose(output, expected, atol=1e-5)}")

# %% [markdown]
# The last line is a trap: as numbers, 1.0 and 0.0 hide nothing at all. Now the module, with copied weights. `masks` has a converter for each of its arguments:

# %%
from transformer_lab.interop import copy_to_torch

theirs = nn.MultiheadAttention(embed_dim=12, num_heads=3, batch_first=True)
copy_to_torch(layer, theirs)
x = table[tokens]
expected = layer(x, x, x, causal)[0]

for name, given in (("ours", causal), ("~ours", ~causal)):
    output = theirs(x, x, x, attn_mask=given)[0]
    right = torch.allclose(output, expected, atol=1e-5)
    print(f"{name:6}: right {right}, NaN {output.isnan().any().item()}")

# %% [markdown]
# Handed over as it is, our mask hides each word itself and its past, and shows the future; the last word may attend to nothing, and there the module returns NaN. Turned round by `~`, it is right.

# %% [markdown]
# ## The same five times
#
# A decoder's mask differs from sentence to sentence. The module wants it with batch and heads in *one* axis, $(B \cdot h, T, S)$, the heads of a sentence side by side; or padding apart, as $(B, S)$:

# %%
mask = masks.decoder_mask(tokens, PAD)
expected, _ = layer(x, x, x, mask, need_weights=True)  # lesson 01's lines, and masked_softmax

turned = masks.to_torch_attn_mask(mask, batch=2, n_heads=3)
ignored = masks.to_torch_key_padding_mask(masks.padding_mask(tokens, PAD))
others = {
    "fused kernel": layer(x, x, x, mask)[0],
    "attn_mask": theirs(x, x, x, attn_mask=turned)[0],
    "key_padding_mask": theirs(x, x, x, attn_mask=~causal, key_padding_mask=ignored)[0],
}

# %%
def by_hand(x, mask):
    projections = (layer.w_q, layer.w_k, layer.w_v)
    q, k, v = (project(x).unflatten(-1, (3, 4)).transpose(1, 2) for project in projections)
    return layer.w_o(masked_attention(q, k, v, mask)[0].transpose(1, 2).flatten(-2))


others["our one new line"] = by_hand(x, mask)
for name, output in others.items():
    difference = (output - expected).abs().max().item()
    print(f"{name:17} max difference < 1e-5: {difference < 1e-5}")

# %% [markdown]
# ## Exercises
#
# **1.** The causal mask.

# %% exercise="causal_mask"
def causal_mask(length):
    """(length, length), bool: may this query attend to this key?"""
    return ...

# %%
exercises.causal_mask.check(causal_mask)

# %% [markdown]
# **2.** The padding mask of a batch. `pad_id` may be any number, and padding may stand anywhere.

# %% exercise="padding_mask"
def padding_mask(tokens, pad_id):
    """(B, S) token ids -> bool (B, 1, 1, S)."""
    return ...

# %%
exercises.padding_mask.check(padding_mask)

# %% [markdown]
# **3.** Both at once, for the self-attention of a decoder. You may call your own functions.

# %% exercise="decoder_mask"
def decoder_mask(tokens, pad_id):
    """(B, T) token ids -> bool (B, 1, T, T)."""
    return ...

# %%
exercises.decoder_mask.check(decoder_mask)

# %% [markdown]
# **4.** The softmax that keeps to a mask: zeros where it is False, a whole row of zeros where nothing is allowed, and never a NaN, in float16 as well.

# %% exercise="masked_softmax"
def masked_softmax(scores, mask):
    """Softmax over the keys that a query may attend to; all other weights are 0."""
    return ...

# %%
exercises.masked_softmax.check(masked_softmax)

# %% [markdown]
# ## Remember
#
# - A mask is a table of queries and keys; here True = may attend, and masks are joined by `&`.
# - Mask the scores *before* the softmax, with something lower than any score.
# - Causal hides the future, padding hides keys that mean nothing; cross-attention needs padding alone.
# - A query without any key gets zeros, not NaN and not an average.
# - Prove it: change a later word, or measure the gradient.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. A causal mask over 5 tokens: how many of the 25 entries are True?</summary>
# 1 + 2 + 3 + 4 + 5 = 15.
# </details>
# <details><summary>2. Your training loss is far too good, and what the model writes is nonsense. What do you suspect?</summary>
# The future leaks: the model copies the next word. Change the last word and compare the earlier outputs.
# </details>

# %% [markdown]
# <details><summary>3. Why is the padding mask (B, 1, 1, S) and not (B, 1, S, 1)?</summary>
# The last axis is that of the keys. Padding must not be listened to; that it asks does no harm.
# </details>
# <details><summary>4. All weights above the diagonal are 0. Is that proof that nothing leaks?</summary>
# No: zeroed after the softmax they are 0, too, and the future still scales the row. The gradient tells.
# </details>

# %% [markdown]
# **Next:** you have attention, heads, places, residual blocks and masks. [Lesson 06](06_the_transformer.ipynb) puts them together: the whole Transformer of 2017, on one page.
