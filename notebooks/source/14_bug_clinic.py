# %% [markdown]
# # 14 · The bug clinic
#
# Twelve functions that run without an error and compute the wrong thing: find out where.
#
# **You will be able to**
# - find a defect that raises no error, in five steps,
# - tell a repair from a change that only hides a symptom,
# - recognise twelve defects that are easily made.
#
# **You need** lessons 01 to 08. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 3. **Time:** 45 minutes, the exercises 100 more.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import math
from collections import Counter
from itertools import pairwise

import torch
from torch.nn import functional as F

from transformer_lab import exercises, plots
from transformer_lab.nn import attention, masks

# %% [markdown]
# ## The question
#
# Here is the smallest language model: a table with a row of logits for each token. You train it on tokens drawn at random, new ones at each step. Nobody can predict those, so the best possible loss is that of a guess among 20 tokens, $\ln 20 = 3.0$.
#
# Training uses two loss functions from the clinic: number 07 with its defect, and the same function mended.

# %%
def train_on_chance(loss_of, steps=200):
    """A table of logits, trained on chance tokens; returns the table and the losses."""
    table = torch.zeros(20, 20, requires_grad=True)
    optimizer = torch.optim.Adam([table], lr=0.1)
    losses = []
    for _ in range(steps):
        tokens = torch.randint(20, (32, 16))
        loss = loss_of(table[tokens], tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return table.detach(), losses


# %% tolerance=0.1
torch.manual_seed(0)
broken_table, broken_losses = train_on_chance(exercises.clinic_07.broken)
_, mended_losses = train_on_chance(exercises.clinic_07.reference)
print(f"a guess {math.log(20):.2f}, broken {broken_losses[-1]:.2f}, mended {mended_losses[-1]:.2f}")
assert broken_losses[-1] < 0.1
assert mended_losses[-1] > 2.8

# %%
figure, ax = plots.figure(width=6, height=3.4)
curves = {"broken": broken_losses, "mended": mended_losses, "a guess": [math.log(20)] * 200}
plots.plot_lines(range(200), curves, ax, x_label="step", y_label="loss")
plots.show(figure, alt="Loss on chance tokens: broken falls to 0, mended stays at ln 20 = 3.0.")

# %% [markdown]
# The broken curve is the one that you would like to see. What does its model write?

# %%
written = [7]
for _ in range(9):
    written.append(int(broken_table[written[-1]].argmax()))
print(written)
assert len(set(written)) == 1

# %% [markdown]
# It has learned to repeat its last token. **The shapes are right, the loss falls, and the model is wrong: where?**
#
# No error message leads you to such a defect. What leads you there is a method: five steps, from the cheapest to the most precise. You try them on one patient, an attention layer that is not among the twelve.

# %% [markdown]
# ## The patient
#
# Causal attention with several heads, written as in lesson 02. One line is wrong. If you see it at once, go on as if you did not: in a file of a thousand lines you would not.

# %%
def attend(x, projections, n_heads):
    """Causal self-attention: (B, T, d_model) to the same shape."""
    batch, length, d_model = x.shape
    query, key, value = (
        (x @ w).view(batch, length, n_heads, -1).transpose(1, 2) for w in projections
    )
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = attention.masked_softmax(scores, masks.causal_mask(length))
    return (weights @ value).reshape(batch, length, d_model)


torch.manual_seed(1)
projections = torch.randn(3, 32, 32) / 32**0.5
x = torch.randn(2, 6, 32)
print("shapes agree:", attend(x, projections, n_heads=4).shape == x.shape)

# %% [markdown]
# ## Step 1: invariants
#
# An **invariant** is a sentence that holds for every input, and that you know without running the code. Change the input in a way that must not matter, and measure by how much the output changes. Here are three:

# %%
before = attend(x, projections, 4)
later = x.clone()
later[:, -1] += 1  # another last token
other = torch.cat([x[:1], torch.randn(1, 6, 32)])  # another second sentence
gaps = {
    "sentences exchanged": attend(x.flip(0), projections, 4).flip(0) - before,
    "second sentence changed": (attend(other, projections, 4) - before)[0],
    "last token changed": (attend(later, projections, 4) - before)[:, :-1],
}

# %% tolerance=0.1
for what, gap in gaps.items():
    print(f"{what:24} outputs differ by {gap.abs().max():.2f}")
assert gaps["last token changed"].abs().max() > 0.1
assert gaps["second sentence changed"].abs().max() < 1e-5

# %% [markdown]
# The first two hold: sentences of a batch are kept apart. The third does not: the last token changes outputs *before* it, though the mask is there. You know now what is wrong, but not yet where.

# %% [markdown]
# ## Step 2: the smallest case
#
# Make everything as small as it can be, then let one size grow at a time. Which sizes show the defect? By how much does the last token change the earlier outputs?

# %%
def leak(length, n_heads):
    x = torch.randn(1, length, 32)
    later = x.clone()
    later[:, -1] += 1
    gap = attend(later, projections, n_heads) - attend(x, projections, n_heads)
    return gap[:, :-1].abs().max().item()


# %% tolerance=0.1
torch.manual_seed(2)
leaks = {n_heads: [leak(length, n_heads) for length in (2, 3, 4)] for n_heads in (1, 2, 4)}
for n_heads, row in leaks.items():
    print(f"{n_heads} heads, 2, 3, 4 tokens:", [round(one, 2) for one in row])
assert max(leaks[1]) < 1e-5 < 0.1 < min(leaks[2] + leaks[4])

# %% [markdown]
# With one head nothing leaks, at any of these lengths. So the scores and the mask are right, at least for one head. The first suspects are the lines that would do nothing with a single head: those that split the heads and put them together again.

# %% [markdown]
# ## Step 3: overfit one batch
#
# A model that can learn must be able to learn *one* batch by heart. Two numbers are known beforehand: the loss at the start, near $\ln 20$ if the first logits are small, and the least loss that is possible. Where two sentences begin alike, no model can know how they go on, so the least loss is above 0:

# %%
def least_loss(tokens):
    """The mean loss of a model that knows the batch by heart, and sees only what came before."""
    seen, following = Counter(), Counter()
    for sentence in tokens.tolist():
        for t in range(1, len(sentence)):
            seen[tuple(sentence[:t])] += 1
            following[tuple(sentence[: t + 1])] += 1
    total = sum(-n * math.log(n / seen[ids[:-1]]) for ids, n in following.items())
    return total / seen.total()


def attend_slowly(x, projections, n_heads):
    """The same as `attend`, one head at a time, by torch's own attention."""
    heads = []
    for one in zip(*((x @ w).chunk(n_heads, dim=-1) for w in projections)):
        heads.append(F.scaled_dot_product_attention(*one, is_causal=True))
    return torch.cat(heads, dim=-1)


# %% [markdown]
# `attend_slowly` is written in a different way, so it is unlikely to have the same defect; you need it again in step 4. The third run has a different defect: a softmax *before* the loss, which contains one already.

# %%
def overfit(attend, loss_of, tokens, steps=100):
    """The losses of a small model that sees one batch again and again."""
    torch.manual_seed(3)
    table, positions = torch.randn(20, 32), torch.randn(12, 32)
    projections, output = torch.randn(3, 32, 32) / 32**0.5, torch.randn(32, 20) / 32
    parameters = [p.requires_grad_() for p in (table, positions, projections, output)]
    optimizer = torch.optim.Adam(parameters, lr=0.02)
    losses = []
    for _ in range(steps):
        x = table[tokens[:, :-1]] + positions[: tokens.size(1) - 1]
        logits = (x + attend(x, projections, 4)) @ output
        loss = loss_of(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% [markdown]
# The next cell takes about five seconds.

# %%
torch.manual_seed(4)
tokens = torch.cat([torch.randint(20, (8, 12)), torch.randint(20, (8, 12))])
tokens[8:, 0] = tokens[:8, 0]  # each beginning stands there twice
histories = {
    "the patient": overfit(attend, F.cross_entropy, tokens),
    "head by head": overfit(attend_slowly, F.cross_entropy, tokens),
    "softmax first": overfit(
        attend_slowly, lambda logits, y: F.cross_entropy(logits.softmax(-1), y), tokens
    ),
}

# %%
figure, ax = plots.figure(width=6.4, height=3.6)
curves = histories | {"least possible": [least_loss(tokens)] * 100}
plots.plot_lines(range(100), curves, ax, x_label="step", y_label="loss", log_y=True)
plots.show(figure, alt="One batch by heart: the patient falls below the least possible loss.")

# %% tolerance=0.1
print(f"ln 20 = {math.log(20):.2f}, least possible loss {least_loss(tokens):.3f}")
for name, losses in histories.items():
    print(f"{name:14} first {losses[0]:.2f}, last {losses[-1]:.3f}")
last = {name: losses[-1] for name, losses in histories.items()}
assert last["the patient"] < least_loss(tokens) < last["head by head"]
assert last["softmax first"] > 2

# %% [markdown]
# The model with a softmax first fails the test: probabilities lie between 0 and 1, and as logits they are too close together for a loss below $\ln(e + 19) - 1 = 2.08$.
#
# The patient passes it, and too well: it falls below the line of the least loss that is possible. So this step finds what *can't learn*. What *cheats* passes, unless you know the best score that an honest model can reach.

# %% [markdown]
# ## Step 4: compare with a reference
#
# A reference is the same computation written differently: slower, by somebody else, or from torch. Give both the same weights and the same input. If both are right, they differ by rounding alone.

# %% tolerance=0.1
for n_heads in (1, 4):
    gap = attend(x, projections, n_heads) - attend_slowly(x, projections, n_heads)
    print(f"{n_heads} heads: max difference {gap.abs().max():.2f}")
    assert (gap.abs().max() < 1e-5) == (n_heads == 1)

# %% [markdown]
# ## Step 5: bisect the layers
#
# In a deep model a difference at the end says little about its place. Compare in the middle: if both still agree there, the defect comes later, otherwise earlier. Each comparison halves what remains, so three are enough for eight layers. One of these eight layers uses the patient; which one?

# %%
layers = torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(5)) / 32**0.5
hidden = int(torch.randint(8, (), generator=torch.Generator().manual_seed(18)))  # a secret


def after(n_layers, suspect):
    """The activations after some layers, by the suspect model or by the reference."""
    y = x
    for i in range(n_layers):
        how = attend if suspect and i == hidden else attend_slowly
        y = y + how(F.layer_norm(y, (32,)), layers[i], 4)
    return y


# %% tolerance=0.1
agree, differ = 0, 8  # after so many layers
while differ - agree > 1:
    middle = (agree + differ) // 2
    gap = (after(middle, True) - after(middle, False)).abs().max().item()
    print(f"after {middle} layers: max difference {gap:.2f}")
    agree, differ = (middle, differ) if gap < 1e-5 else (agree, middle)
print("the defect is in layer", agree, "(counted from 0)")
assert agree == hidden

# %% [markdown]
# The same works inside a layer, line by line. Step 2 pointed to the lines that split the heads and put them together. The split is right: `view` cuts the features of each position into heads, as `chunk` does in the reference, and `transpose` moves the heads to axis 1. So the last line remains: the heads lie on axis 1, and `reshape` reads the numbers as they lie there, so that it mixes positions. Put the axis back first. Is the difference gone, and the leak of step 1?

# %%
def mended(x, projections, n_heads):
    batch, length, _ = x.shape
    query, key, value = (
        (x @ w).view(batch, length, n_heads, -1).transpose(1, 2) for w in projections
    )
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = attention.masked_softmax(scores, masks.causal_mask(length))
    return (weights @ value).transpose(1, 2).reshape(x.shape)


gap = (mended(x, projections, 4) - attend_slowly(x, projections, 4)).abs().max()
print("max difference < 1e-5:", (gap < 1e-5).item())
leaked = (mended(later, projections, 4) - mended(x, projections, 4))[:, :-1].abs().max()
print("last token changed, earlier outputs differ by < 1e-5:", (leaked < 1e-5).item())

# %% [markdown]
# ## Mend, or hide?
#
# A symptom can be removed without its cause. Set all outputs but the last to zero, and the patient leaks no more. So after each repair, repeat *all* the steps, not only the one that raised the alarm. A change that only hides a symptom fails the checks below, and the card says what is still wrong.
#
# Now the twelve patients, each with its symptom. `exercises.clinic_01.broken` is the function that you get below.

# %% [markdown]
# ## Patients 01 to 06: inside a model
#
# **01.** The mean of values that are all 1 must be 1, whatever the weights are:

# %% tolerance=0.1
torch.manual_seed(6)
query, key, ones = torch.randn(1, 6, 8), torch.randn(1, 4, 8), torch.ones(1, 4, 1)
output, _ = exercises.clinic_01.broken(query, key, ones)
single, _ = exercises.clinic_01.broken(query[:, :1], key, ones)
print("six queries:  ", [round(one, 2) for one in output.flatten().tolist()])
print("a single one: ", [round(one, 2) for one in single.flatten().tolist()])
assert output.std() > 0.01
assert abs(single.item() - 4) < 1e-4

# %% [markdown]
# **02.** Here is a sentence of three words and two pads. Other numbers in the padding must change nothing; other numbers in the words must change the output:

# %% tolerance=0.1
torch.manual_seed(7)
query, key, value = torch.randn(1, 1, 8), torch.randn(1, 5, 8), torch.randn(1, 5, 8)
before = exercises.clinic_02.broken(query, key, value, torch.tensor([3]))
for what, places in (("words", slice(0, 3)), ("padding", slice(3, 5))):
    other = value.clone()
    other[:, places] += 1
    gap = exercises.clinic_02.broken(query, key, other, torch.tensor([3])) - before
    print(f"other numbers in the {what:8} output differs by {gap.abs().max():.2f}")
assert gap.abs().max() > 0.5

# %% [markdown]
# **03.** Before any training, attention should be spread over the keys. Here are the weights of one head, for queries and keys of three widths, with numbers drawn at random:

# %%
torch.manual_seed(8)
widths = (1, 16, 256)
maps = {d: exercises.clinic_03.broken(*torch.randn(2, 1, 1, 8, d))[0, 0] for d in widths}
figure, axes = plots.figure(width=10, height=3.6, columns=3)
for ax, (d, weights) in zip(axes, maps.items()):
    plots.plot_attention(weights, range(8), range(8), ax=ax)
    ax.set_title(f"d_head = {d}")
plots.show(figure, alt="Attention: soft for width 1; for 256 most rows are on one key.")

# %% tolerance=0.1
largest, slopes = {}, {}
for d in widths:
    query, key = torch.randn(2, 1, 4, 64, d)
    weights = exercises.clinic_03.broken(query[None], key[None])
    largest[d] = weights.amax(-1).mean().item()
    slopes[d] = (weights * (1 - weights)).mean().item()  # of a weight, with respect to its score
    print(f"d_head {d:3}: largest weight {largest[d]:.2f}, mean slope {slopes[d]:.4f}")
assert largest[256] > 0.8 > largest[1]
assert slopes[256] < slopes[1] / 2

# %% [markdown]
# **04.** Exchange two words: the vectors that a model is given must differ by more than their order. And a sentence must not depend on where in the batch it stands:

# %% tolerance=0.1
torch.manual_seed(9)
table, encoding = torch.randn(6, 8), torch.randn(10, 8)
tokens = torch.tensor([[1, 2, 3], [1, 2, 3]])  # dog bites man, twice
vectors = exercises.clinic_04.broken(tokens, table, encoding)
turned = exercises.clinic_04.broken(tokens.flip(1), table, encoding).flip(1)
gaps = (turned - vectors).abs().max().item(), (vectors[0] - vectors[1]).abs().max().item()
print(f"words turned round: {gaps[0]:.2f}, same sentence in the other row: {gaps[1]:.2f}")
assert gaps[0] == 0
assert gaps[1] > 0.5

# %% [markdown]
# **05.** In evaluation, 0 + 1 must be 1, each time. Here is the mean of 1000 such numbers, with a dropout rate of 0.2, and how many of them differ between two calls:

# %% tolerance=0.1
torch.manual_seed(10)
zeros, ones = torch.zeros(1000), torch.ones(1000)
first, second = (
    exercises.clinic_05.broken(zeros, ones, torch.rand(1000), 0.2, False) for _ in range(2)
)
print(f"mean {first.mean():.2f} and {second.mean():.2f}")
print(f"share that differs {(first != second).float().mean():.2f}")
assert first.mean() < 0.9
assert (first != second).any()

# %% [markdown]
# **06.** A decoder layer's output is squared and summed; here is the gradient of that with respect to the gains of its three norms. Attention is a plain mean over the memory, the feed-forward network a ReLU:

# %% tolerance=0.1
torch.manual_seed(11)
x, memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
gains = [(1 + torch.rand(16)).requires_grad_() for _ in range(3)]
mean = lambda x, memory: memory.mean(1, keepdim=True)
output = exercises.clinic_06.broken(x, memory, mean, torch.relu, *gains).pow(2).sum()
gradients = torch.autograd.grad(output, gains, allow_unused=True, materialize_grads=True)
print("norms of the gradients:", [round(one.norm().item(), 1) for one in gradients])
assert gradients[2].norm() == 0 < gradients[1].norm()

# %% [markdown]
# ## Patients 07 to 12: around a model
#
# **07.** You have seen this one at the beginning: a loss of 0 on tokens that nobody can predict, and a text of one word.
#
# **08.** One sentence of four words, a model that never changes, and more and more padding behind the sentence:

# %%
torch.manual_seed(12)
logits, words = torch.randn(1, 16, 20), torch.randint(1, 20, (1, 4))
losses = []
for n_pads in range(13):
    targets = torch.cat([words, torch.zeros(1, n_pads, dtype=torch.long)], dim=1)
    loss = exercises.clinic_08.broken(logits[:, : 4 + n_pads], targets, pad_id=0)
    losses.append(loss.item())
assert losses[12] < 0.3 * losses[0]

# %%
figure, ax = plots.figure(width=5.6, height=3.2)
plots.plot_lines(range(13), {"one sentence": losses}, ax, x_label="pads", y_label="loss")
ax.set_ylim(0)
plots.show(figure, alt="Twelve pads behind a sentence bring its loss down to a quarter.")

# %% [markdown]
# **09.** Decoding step by step, with a cache, must give the same as the whole sentence at once. How far apart are they at each position?

# %%
torch.manual_seed(13)
x, encoding = torch.randn(1, 10, 16), torch.randn(10, 16)
whole = F.scaled_dot_product_attention(*[x + encoding] * 3, is_causal=True)
past, gaps = torch.zeros(1, 0, 16), []
for t in range(10):
    output, past = exercises.clinic_09.broken(x[:, t : t + 1], past, encoding)
    gaps.append((output - whole[:, t : t + 1]).abs().max().item())
assert gaps[0] < 1e-5 < 0.1 < min(gaps[1:])

# %%
figure, ax = plots.figure(width=5.6, height=3.2)
plots.plot_lines(range(10), {"with a cache": gaps}, ax, x_label="position")
ax.set_ylabel("max difference")
plots.show(figure, alt="Cached against whole: 0 at position 0, large from position 1 on.")

# %% [markdown]
# **10.** A table is loaded into a tied model, which then goes on training for one step. A step of length 0 shows the state right after the load:

# %% tolerance=0.1
torch.manual_seed(14)
saved, tokens, targets = torch.randn(10, 4), torch.randint(10, (20,)), torch.randint(10, (20,))
for rate in (0.0, 0.5):
    embedding, output = exercises.clinic_10.broken(saved, tokens, targets, rate)
    gap = (embedding - output).abs().max()
    print(f"rate {rate}: embedding and output differ by {gap:.2f}")
assert gap > 0.01

# %% [markdown]
# **11.** Beam search in 100 models, each a table of random logits, for sentences of six tokens. A wider beam sees more sentences. How probable is the one that it finds, on average?

# %%
def log_probability(table, ids):
    log_probs = table.log_softmax(-1)
    return sum(log_probs[a, b].item() for a, b in pairwise(ids))


def mean_found(search, width):
    """The mean log-probability of what a search finds in 100 models."""
    generator, total = torch.Generator().manual_seed(15), 0.0
    for _ in range(100):
        table = 2 * torch.randn(8, 8, generator=generator)
        ids = search(lambda ids, table=table: table[ids[-1]], 0, width, 6)
        total += log_probability(table, ids)
    return total / 100


# %% tolerance=0.1
found = {width: mean_found(exercises.clinic_11.broken, width) for width in (1, 2, 4, 8)}
for width, one in found.items():
    print(f"width {width}: mean log-probability {one:.2f}")
assert found[8] < found[4] < found[2] < found[1]

# %% [markdown]
# **12.** Sentences of three tokens, each with one of ten labels drawn at random; the same sentence has the same label. A table that knows the training sentences by heart answers what it knows, and guesses label 0 otherwise. On new sentences it can't be better than chance, 0.1:

# %%
torch.manual_seed(16)
sentences = torch.randint(6, (500, 3))
label_of = torch.randint(10, (6, 6, 6))
training, validation = exercises.clinic_12.broken(sentences, 400)

# %% tolerance=0.1
known = {tuple(ids): int(label_of[tuple(ids)]) for ids in training.tolist()}
right = [known.get(tuple(ids), 0) == label_of[tuple(ids)] for ids in validation.tolist()]
score = sum(map(bool, right)) / len(right)
print(f"score in validation {score:.2f}, chance 0.10")
assert score > 0.5

# %% [markdown]
# ## Exercises
#
# Each cell below holds a broken function. Mend it in place, then run its check. Change as little as you can: in most of them one line is wrong.
#
# Print `exercises.clinic_01` to read a patient's symptom, and ask `exercises.clinic_01.hint()` if you are stuck. Start with the invariant that the symptom names.

# %% [markdown]
# **01.** Attention whose output is no mean. *(5 minutes)*

# %% exercise="clinic_01"
def clinic_01(query, key, value):
    """Attention: (B, T, d), (B, S, d), (B, S, d_v) to output (B, T, d_v), weights (B, T, S)."""
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    weights = F.softmax(scores, dim=1)
    return weights @ value, weights


# %%
exercises.clinic_01.check(clinic_01)

# %% [markdown]
# **02.** Padding that is heard, and words that are not. *(5 minutes)*

# %% exercise="clinic_02"
def clinic_02(query, key, value, lengths):
    """Attention over padded sentences; sentence b is lengths[b] words, then padding."""
    positions = torch.arange(key.size(1))
    padding = positions >= lengths[:, None]  # (B, S)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=padding[:, None, :])


# %%
exercises.clinic_02.check(clinic_02)

# %% [markdown]
# **03.** Heads that see one key only. *(5 minutes)*

# %% exercise="clinic_03"
def clinic_03(query, key):
    """The weights of every head: (B, h, T, d_head) and (B, h, S, d_head) to (B, h, T, S)."""
    scale = query.size(-1) ** -0.5
    scores = query @ key.transpose(-2, -1)
    scores.mul(scale)
    return scores.softmax(-1)


# %%
exercises.clinic_03.check(clinic_03)

# %% [markdown]
# **04.** A model that does not know the order of the words. *(8 minutes)*

# %% exercise="clinic_04"
def clinic_04(tokens, table, encoding):
    """Vectors (B, T, d) for ids (B, T): table (vocab, d), encoding (max_len, d)."""
    vectors = table[tokens] * table.size(1) ** 0.5
    length = vectors.size(0)
    positions = encoding[:length].unsqueeze(1)
    return vectors + positions


# %%
exercises.clinic_04.check(clinic_04)

# %% [markdown]
# **05.** An evaluation that changes from call to call. *(8 minutes)*

# %% exercise="clinic_05"
def clinic_05(x, output, noise, rate, training):
    """A residual connection with dropout; `noise` is uniform between 0 and 1."""
    if training:
        output = output / (1 - rate)  # so that the mean stays
    kept = noise >= rate
    return x + output * kept


# %%
exercises.clinic_05.check(clinic_05)

# %% [markdown]
# **06.** A gain that never moves. *(8 minutes)*

# %% exercise="clinic_06"
def clinic_06(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    """A post-norm decoder layer: self-attention, attention to the memory, feed-forward."""

    def normalised(y, gain):
        return gain * F.layer_norm(y, y.shape[-1:])

    x = normalised(x + attend(x, x), gain_1)
    x = normalised(x + attend(x, memory), gain_2)
    return normalised(x + feed_forward(x), gain_2)


# %%
exercises.clinic_06.check(clinic_06)

# %% [markdown]
# **07.** A loss of 0 on tokens drawn at random. *(8 minutes)*

# %% exercise="clinic_07"
def clinic_07(logits, tokens):
    """The mean loss of a language model: logits (B, T, vocab) for ids (B, T)."""
    n_steps = tokens.size(1) - 1  # nothing follows the last token
    predicted = logits[:, :n_steps].flatten(0, 1)
    wanted = tokens[:, :n_steps].flatten()
    return F.cross_entropy(predicted, wanted)


# %%
exercises.clinic_07.check(clinic_07)

# %% [markdown]
# **08.** A loss that padding makes smaller. *(8 minutes)*

# %% exercise="clinic_08"
def clinic_08(logits, targets, pad_id):
    """The mean loss over the words of a batch: logits (B, T, vocab), targets (B, T)."""
    losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    words = targets != pad_id
    return (losses * words).mean()


# %%
exercises.clinic_08.check(clinic_08)

# %% [markdown]
# **09.** A cache that is right for one token. *(10 minutes)*

# %% exercise="clinic_09"
def clinic_09(x, past, encoding):
    """One decoding step: the new token x (B, 1, d) attends to the past and itself.

    `past` (B, S, d) has its positions added, x has not. Returns output and new past.
    """
    new = x + encoding[: x.size(1)]
    past = torch.cat([past, new], dim=1)
    return F.scaled_dot_product_attention(new, past, past), past


# %%
exercises.clinic_09.check(clinic_09)

# %% [markdown]
# **10.** A tied table that comes apart after a load. *(12 minutes)*

# %% exercise="clinic_10"
def clinic_10(saved, tokens, targets, rate):
    """Load a saved table (vocab, d) into a model with tied weights; take one gradient step.

    Returns the embedding and the output table after the step.
    """
    model = {"embedding": torch.zeros_like(saved)}
    model["output"] = model["embedding"]  # tied: one table for both
    for name in model:
        model[name] = saved.detach().clone().requires_grad_()
    logits = model["embedding"][tokens] @ model["output"].T
    F.cross_entropy(logits, targets).backward()
    return tuple((table - rate * table.grad).detach() for table in model.values())


# %%
exercises.clinic_10.check(clinic_10)

# %% [markdown]
# **11.** A wider beam that finds worse sentences. *(12 minutes)*

# %% exercise="clinic_11"
def clinic_11(next_logits, bos_id, width, length):
    """Beam search for a sentence of `length` ids: each step keeps the `width` likeliest."""
    beams = [([bos_id], 0.0)]
    while len(beams[0][0]) < length:
        candidates = []
        for ids, score in beams:
            log_probs = next_logits(ids).log_softmax(-1)
            for token, score in enumerate(log_probs.tolist()):
                candidates.append(([*ids, token], score))
        beams = sorted(candidates, key=lambda beam: beam[1], reverse=True)[:width]
    return beams[0][0]


# %%
exercises.clinic_11.check(clinic_11)

# %% [markdown]
# **12.** A table that scores on sentences it can't know. *(10 minutes)*

# %% exercise="clinic_12"
def clinic_12(sentences, n_training):
    """Split sentences (N, T): the first n_training train; of the rest, the unseen validate."""
    training, rest = sentences[:n_training], sentences[n_training:]
    same = (rest[:, None] == training).all(-1)  # (rest, training)
    seen = same.all(1)
    return training, rest[~seen]


# %%
exercises.clinic_12.check(clinic_12)

# %% [markdown]
# ## Remember
#
# - A shape that fits and a loss that falls say little about whether a model is right.
# - Invariants find *that* something is wrong; the smallest case and bisection find *where*.
# - Know the best honest score beforehand: what is better is a leak.
# - A reference that is written differently is unlikely to have the same defect.
# - A repair removes the cause. Repeat every step after it.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. A model learns one batch by heart at once. Which defects can it still have?</summary>
# All that make the task easier: a leaked future, targets that are not shifted, padding in the mean. Overfitting finds what can't learn.
# </details>
# <details><summary>2. A layer is right with one head and wrong with two. Where do you look first?</summary>
# Where the heads are split and put together: those lines do nothing with a single head.
# </details>

# %% [markdown]
# <details><summary>3. How many comparisons does bisection need for 24 layers?</summary>
# Five at most: each halves what remains, and 2 to the power of 5 is 32.
# </details>
# <details><summary>4. Your validation loss is better than the training loss. Name two suspects, one of them harmless.</summary>
# Sentences that stand in both parts; or dropout, which makes training harder than evaluation and is no defect.
# </details>
