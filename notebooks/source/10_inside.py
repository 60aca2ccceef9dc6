# %% [markdown]
# # 10 · Inside
#
# In this lesson you open a model that works, find the parts that do a job, and test that they really do it.
#
# **You will be able to**
# - find heads by a score, and say what a score cannot tell,
# - take a part of a model away, or change what it writes, and say what that shows,
# - read what a model would say before its last layer.
#
# **You need** lessons 02, 03, 05 and 09; the *Extra* about the translator also needs 06 and 07. **Papers:** [Elhage et al., 2021](https://transformer-circuits.pub/2021/framework/index.html); [Olsson et al., 2022](https://arxiv.org/abs/2209.11895). **Time:** 60 minutes, the exercises 85 more. The lesson falls into two sittings, and it says where the first one ends; the parts called *Extra* can wait.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import torch
import torch.nn.functional as F

from transformer_lab import AttentionOnly, analysis, default_device, exercises, plots, training
from transformer_lab.data import tasks
from transformer_lab.nn import attention
from transformer_lab.nn.recording import record_attention

torch.set_num_threads(1)  # for models as small as these, more would only wait for each other
device = default_device()
# %% [markdown]
# ## The question
#
# *The cat sat on a mat. The cat …* You expect *sat*, because it followed *cat* the last time. Does a model of Python expect that too? Two such models come with the package, a small one and a larger one, both trained as in lesson 09. We give them forty different letters in random order, and then the same forty again. For comparison we put *another* order of the letters before them, so that the same forty stand in the same places, but their order is new:

# %%
small, characters, _ = training.load_language_model("python_small")
large, _, _ = training.load_language_model("python")
code_models = {"python_small": small.to(device).eval(), "python": large.to(device).eval()}


@torch.no_grad()
def nats_of(model, tokens):
    """(B, T) tokens -> (B, T - 1): the loss of each but the first."""
    log_probs = model(tokens)[:, :-1].log_softmax(-1)
    return -log_probs.gather(-1, tokens[:, 1:, None])[..., 0]
# %% tolerance=0.4
letters = characters.encode("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN")
generator = torch.Generator("cpu").manual_seed(0)
text, other_text = letters[torch.rand(2, 20, 40, generator=generator, device="cpu").argsort(-1)]
again = torch.cat([text, text], dim=1).to(device)  # (20, 80): everything twice
for_once = torch.cat([other_text, text], dim=1).to(device)  # the same ending after another text
for name, one in code_models.items():
    new, known = (nats_of(one, tokens)[:, 40:].mean().item() for tokens in (for_once, again))
    print(f"{name}: {new:.2f} nats a letter after another order, {known:.2f} after the same")
    assert (known < new - 1) == (name == "python")
# %% [markdown]
# The small model does not notice the repetition at all. (For new letters both models are worse than an even guess among 98 characters, 4.58 nats, since letters in random order are nothing like Python.) The larger one saves about three nats a letter, although nobody has told it that texts may repeat. So it must contain something that the small one lacks.
#
# What it contains is among the best understood pieces of machinery inside Transformers: two heads in two layers, which work together. **Which two heads know that *sat* comes next, and how do you prove it?**

# %% [markdown]
# ## By hand
#
# Before we search for two such heads, let us build them, with one-hot words and one-hot positions as in lesson 02. The first head looks at the position before its own, and brings the word that stands there. Its output is a **note**: at each position it says which word came before.

# %%
words = "the cat sat on a mat the cat".split()
vocabulary = sorted(set(words))
word = torch.eye(len(vocabulary))[[vocabulary.index(w) for w in words]]
position = torch.eye(len(words))
one_back = torch.cat([position[:1], position[:-1]])  # position 0, the first, asks for itself

notes, _ = attention.scaled_dot_product_attention(50 * one_back, position, word)  # 50: sharp
print([f"{w}: after {vocabulary[note.argmax()]}" for w, note in zip(words, notes)][1:6])
# %% [markdown]
# The second head sits one layer above. Its query is the current word, and its keys are the *notes*. So the last *cat* asks: where does it say "after *cat*"? It says so at *sat*, and the value that is found there is the word *sat* itself:
#
# ![The words the cat sat on a mat the cat; above each the note which word came before. The last cat finds the note after cat, at sat, and brings sat.](../img/10_induction.svg)

# %%
before = torch.tensor([True] * 7 + [False])  # the last word asks the others
found, weights = attention.scaled_dot_product_attention(50 * word[-1:], notes[before], word[before])
print("it looks at position", weights.argmax().item(), f"with weight {weights.max():.2f}")
print("and brings the word", vocabulary[found.argmax()])
# %% [markdown]
# As a control we take the notes away, so that the keys are the words themselves. Then the same head looks at the first *cat*, and brings only what you already have:

# %%
found, weights = attention.scaled_dot_product_attention(50 * word[-1:], word[before], word[before])
print("it looks at position", weights.argmax().item(), "and brings", vocabulary[found.argmax()])
# %% [markdown]
# The second head of such a pair is called an **induction head**, the first a **previous-token head**.

# %% [markdown]
# ## The equation
#
# Why does it take two layers? In a model of attention alone, each position holds a sum, made of its embedding and of what each head has added to it. This sum is called the **residual stream**. After layer 0 it is $x_s = e_s + n_s$ at position $s$, where $n_s$ is what the heads wrote. The score of a head of layer 1, before it is divided by $\sqrt{d_{head}}$, is therefore
#
# $$(x_t W^Q)(x_s W^K)^\top = e_t A\, e_s^\top + \underbrace{e_t A\, n_s^\top}_{\text{token here, token before there}} + \; n_t A\, e_s^\top + n_t A\, n_s^\top, \qquad A = W^Q W^{K\top}$$
#
# (The rotation of lesson 03 makes $A$ depend on the distance $t - s$.) The second term can compare the present token with the one that stood *before* position $s$. No other term can, unless layer 0 has also copied the present token into its own note, $n_t$; then the last term can do it, too.

# %% [markdown]
# A head of layer 0 has only the first term. It knows the two tokens and how far apart they are, but nothing of what stood beside position $s$. So a model with one layer should find it hard to continue a repeated text.
#
# Hard, but not impossible at any size. [Sanford, Hsu and Telgarsky (2024)](https://arxiv.org/abs/2408.14332) prove for a task of this kind that with one layer the number of heads, times the width, times the bits of each number must grow at least in proportion to the length of the text. Two layers manage with a fixed number of heads and a fixed width, and with bits that grow only like the logarithm of the length. So we expect that width helps one layer a little, and that a second layer helps much more.

# %% [markdown]
# ## Two models, one task
#
# Let us test that. A sequence is a random beginning of 8 to 16 symbols, repeated until there are 32. Within the beginning no symbol comes twice. The length of the beginning is the **period**, which changes from sequence to sequence, so that looking back by a fixed distance does not help:

# %%
sequences = tasks.repeated(3, seed=1)
for row, period, known in zip(sequences.tokens, sequences.periods, sequences.known):
    text = "".join("abcdefghijklmnopqrstuvwx"[i] for i in row)
    print(text, f" period {period:2}, {known.sum()} of 31 next symbols can be known")
# %% [markdown]
# The model is `AttentionOnly`, which has embeddings, layers of rotary attention, each added to its input, and an output matrix. It has no feed-forward networks and no norms, so the residual stream really is a sum. We would like to see its terms, but a model returns only its logits. How do we get at what its heads write on the way?
#
# PyTorch has **hooks** for this, functions that it calls just before or just after a module works. The outputs of all heads, side by side, are what $W^O$ reads. So a hook on the input of $W^O$ sees what every head has written:

# %%
from contextlib import ExitStack

torch.manual_seed(0)
untrained = AttentionOnly(vocab_size=24, d_model=48, n_heads=3, n_layers=2).to(device)
tokens, written = sequences.tokens.to(device), []


def keep(module, inputs):  # called before W_O reads its input, (B, T, d_model)
    written.append(attention.split_heads(inputs[0], 3))  # (B, h, T, d_head)


with torch.no_grad(), ExitStack() as hooks:  # at the end of the block they are taken off again
    for layer in untrained.layers:
        hooks.enter_context(layer.self_attention.w_o.register_forward_pre_hook(keep))
    logits = untrained(tokens)  # (B, T, vocab)
    stream = untrained.tokens(tokens)  # the embedding, (B, T, d_model)
# %% [markdown]
# Now we add up the embedding and what every head contributes through its block of $W^O$ (lesson 02). If nothing is missing, the output matrix makes the model's own logits of this sum:

# %%
with torch.no_grad():
    for layer, outputs in zip(untrained.layers, written):  # of each layer, (B, h, T, d_head)
        w_o = layer.self_attention.w_o
        blocks = w_o.weight.T.unflatten(0, (3, 16))  # (h, d_head, d_model)
        stream = stream + (outputs @ blocks).sum(1) + w_o.bias
    difference = (stream @ untrained.to_logits.weight.T - logits).abs().max().item()
print("sum of the parts = the model, max difference < 1e-4:", difference < 1e-4)
# %% [markdown]
# The model is nothing but this sum. From now on we let `analysis.record_heads` do the recording. It puts the same hook on every attention of a model.

# %% [markdown]
# **Exercise 1** (predict; 10 minutes, medium). In a model of attention alone, layer $i$ has `heads[i]` heads. They read the residual stream side by side, and what they write is added to it. With the weights of attention held fixed, the logits are a sum of terms. Each term is one path from the embedding to the logits: which heads it went through. How many are there? Start with one layer, on paper.

# %% exercise="count_paths"
def count_paths(heads):
    """A list of whole numbers, one for each layer -> the number of paths."""
    return ...
# %%
exercises.count_paths.check(count_paths)
# %% [markdown]
# Now we train, for 500 steps, which is enough for two layers. The loss counts only the symbols that can be known:

# %%
def train(seed, n_layers=2, d_model=48, n_heads=3, steps=500):
    torch.manual_seed(seed)
    model = AttentionOnly(24, d_model, n_heads, n_layers).to(device)
    data = tasks.repeated(32 * steps, seed=seed)
    batches = zip(data.tokens.to(device).split(32), data.known.to(device).split(32))
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.99))
    for step, (tokens, known) in enumerate(batches):
        rate = 0.01 * min(1, (step + 1) / 50) * (1 - step / steps)  # up, then down to 0
        optimizer.param_groups[0]["lr"] = rate
        loss = F.cross_entropy(model(tokens)[:, :-1][known], tokens[:, 1:][known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()
# %%
test = tasks.repeated(200, seed=999)
test_tokens, test_known = test.tokens.to(device), test.known.to(device)


@torch.no_grad()
def share_right(model):
    """Of the symbols that can be known, the share that the model names."""
    right = model(test_tokens)[:, :-1].argmax(-1) == test_tokens[:, 1:]
    return right[test_known].float().mean().item()
# %% [markdown]
# First we train a model of two layers (5 seconds). This is the one that we shall open:

# %% tolerance=0.1
model = train(seed=0)
print(f"it names {share_right(model):.2f} of the symbols that can be known")
# %% [markdown]
# And one layer? We train three seeds of the same width (10 seconds), and then one model with twice as many parameters as the two layers have, for twice the steps (10 seconds). **Predict:** what share will each of them name?

# %%
one_layer = [train(seed, n_layers=1) for seed in range(3)]
# %%
wide = train(0, n_layers=1, d_model=96, n_heads=6, steps=1000)
# %% tolerance=0.12
groups = {"two layers": [model], "one layer": one_layer, "one layer, wide and long": [wide]}
right = {name: [share_right(one) for one in group] for name, group in groups.items()}
for name, shares in right.items():
    size = sum(parameter.numel() for parameter in groups[name][0].parameters())
    print(f"{name}, {size:,} parameters:", [round(share, 2) for share in shares])
assert min(right["two layers"]) > 0.95
assert max(right["one layer"] + right["one layer, wide and long"]) < 0.5
# %% [markdown]
# Two layers name nearly all of the symbols. One layer names about one in six, where a guess among the symbols of the beginning would name one in eleven, and with twice the parameters of the two layers and twice the steps it still names only about one in four. Is one layer unable, or only slow? We have trained it for ten times as many steps as the two layers had, with five seeds. The narrow model, `train(seed, n_layers=1, steps=5000)`, then reaches 0.24 to 0.29. The wide one reaches 0.39 to 0.55 at four seeds, and 0.91 at the fifth.

# %% [markdown]
# So width and time help, as the theorem allows, and we must not say that one layer cannot do it. But what two layers learn easily is hard for it, since with twice the parameters and ten times the steps it has come near them at a single seed of five. Here is the loss at each position, in sequences of period 12:

# %%
twelve = tasks.repeated(200, 24, periods=(12, 12), seed=998).tokens.to(device)
curves = {"two layers": model, "one layer": one_layer[0]}
curves = {name: nats_of(m, twelve).mean(0).cpu() for name, m in curves.items()}
after = range(12, 23)  # before, nothing can be known
ax = plots.plot_lines(after, {name: curve[12:] for name, curve in curves.items()})
ax.set(xlabel="position that predicts", ylabel="nats a symbol")
plots.show(ax, alt="From position 12 on two layers lose almost nothing, one layer about 2.5 nats.")
# %% [markdown]
# ## Find the heads
#
# If the model does what we did by hand, both kinds of heads should be in it. We look for them with two scores. The **previous-token score** of a head is its mean weight on the position before its own. The **induction score** is its mean weight on what came *after* the same token, one period ago: in the second half of a sequence of period $p$, position $t$ looks at $t - p + 1$. (`record_attention` keeps where each head looks, by hooks like ours.) **Predict** in which layer each of the two will be high:

# %%
def weights_of(model, tokens):
    """(layers, heads, T, S): where each head looks, on average over the sequences."""
    with torch.no_grad(), record_attention(model) as maps:
        model(tokens)
    return torch.stack([weights.mean(0) for weights in maps.values()]).cpu()


def previous_scores(model, tokens=twelve):
    return weights_of(model, tokens).diagonal(-1, -2, -1).mean(-1)


def induction_scores(model, tokens=twelve):
    weights, period = weights_of(model, tokens), tokens.size(1) // 2
    return torch.stack([analysis.induction_score(layer, period) for layer in weights])
# %%
figure, axes = plots.figure(width=7.4, height=2.6, columns=2)
found = {"previous token": previous_scores(model), "induction": induction_scores(model)}
for ax, (name, scores) in zip(axes, found.items()):
    plots.plot_amounts(scores, ["layer 0", "layer 1"], ["head 0", "head 1", "head 2"], ax=ax)
    ax.set_xlabel(name)
plots.show(figure, alt="Layer 0 has a previous-token head, layer 1 three induction heads.")
# %% tolerance=0.3
previous, induction = (scores.sort(-1, descending=True).values for scores in found.values())
for layer in (0, 1):
    print(f"layer {layer}, previous: ", [round(score, 2) for score in previous[layer].tolist()])
    print(f"layer {layer}, induction:", [round(score, 2) for score in induction[layer].tolist()])
assert previous[0, 0] > 0.5 > 0.25 > previous[1, 0]
assert induction[1, 0] > 0.8 > 0.25 > induction[0, 0]
# %% [markdown]
# Each layer has its own kind of head, as predicted. Layer 0 looks back by one, most of all with one of its heads, and all the heads of layer 1 look at what came after. Here you see where each of them looks in one sequence, whose second half repeats the first. Choose a head, take it away, and see what becomes of the loss and of the other heads; the page computes all of this itself.

# %%
from transformer_lab import widgets

widgets.induction(model, twelve[0], "abcdefghijklmnopqrstuvwx")
# %% [markdown]
# **Exercise 2** (10 minutes, easy). How much does each head look at what came after the same token? A random sequence of `period` tokens is followed by itself; `weights` is where h heads look while they read it. Rows are queries, columns are keys.

# %% exercise="induction_score"
def induction_score(weights, period):
    """(h, 2 · period, 2 · period) weights -> (h,): a mean over the second half, for each head."""
    return ...
# %%
exercises.induction_score.check(induction_score)
# %% [markdown]
# ## Can you trust a score?
#
# We have found what we were looking for, which is a good moment to become suspicious. A detector should be tried where the truth is known. `planted_induction` is a model of the same kind that nobody has trained, because its weights were set by hand. It has four heads, and this is the truth about them:
#
# | head | where it looks | what it writes |
# |---|---|---|
# | 0.0 | one position back | a note: which token stands there |
# | 0.1 | always 11 positions back | nothing |
# | 1.0 | where the note names its own token | the token that stands there |
# | 1.1 | where 1.0 looks | nothing |
#
# **Predict** which of them have a high induction score at period 12, and which at period 10.

# %%
planted = analysis.planted_induction().to(device)
print(f"it names {share_right(planted):.2f} of the symbols")
for period in (12, 10):
    some = tasks.repeated(200, 2 * period, periods=(period, period)).tokens.to(device)
    scores = induction_scores(planted, some).flatten().tolist()
    print(f"period {period}: {[round(abs(score), 1) for score in scores]}")
    assert min(scores[2:]) > 0.9
    assert (scores[1] > 0.9) == (period == 12)
# %% [markdown]
# The score finds both heads that look for the token, at each of the two periods. At period 12 it is fooled by head 0.1, which counts positions and reads nothing, so one should always measure at two periods. But at no period can it tell head 1.1 from head 1.0, because these two differ only in what they *write*. A score says where a head looks. Whether the model needs it is another question.
#
# We had measured the trained model at period 12 alone, so first we make up for that:

# %% tolerance=0.3
for period in (10, 14):
    some = tasks.repeated(200, 2 * period, periods=(period, period)).tokens.to(device)
    scores = induction_scores(model, some)
    by_layer = [[round(score, 2) for score in layer] for layer in scores.tolist()]
    print(f"period {period}: layer 0 {by_layer[0]}, layer 1 {by_layer[1]}")
    assert scores[1].max() > 0.7 > 0.25 > scores[0].max()
# %% [markdown]
# At both periods it is again the heads of layer 1 that look at what came after the same token, so they do not merely count positions.

# %% [markdown]
# **Exercise 3** (set the weights; 30 minutes, hard). Build such a pair yourself: two layers of one head each, set by hand, that continue every sequence of different tokens that is followed by itself, like *a b c a b c*. A row of the residual stream has four blocks: *token* and *position*, both one-hot, then *previous* and *next*, all zeros. After both layers, *next* must hold at least 0.9 for the token that comes next, and at most 0.1 for each other one, at each position of the second half.

# %% [markdown]
# A layer's `qk` is $W^Q W^{K\top}$: its rows belong to the query, its columns to the key, and after the causal mask the weights are `softmax(x @ qk @ x.T)`. Its `ov` is $W^V W^O$: its rows are what is read, its columns where it is written, and the layer adds `weights @ x @ ov` to `x`. Rows and columns of every matrix are cut into the same four blocks. If a sequence is not continued, the card draws the shortest one, with both heads.

# %% exercise="induction_by_hand"
def induction_by_hand(n_tokens, n_positions):
    """(qk_0, ov_0, qk_1, ov_1), each (d_model, d_model)."""
    # token starts at 0, position at n_tokens, previous at n_tokens + n_positions,
    # next at 2 * n_tokens + n_positions, and d_model is 3 * n_tokens + n_positions
    return ...
# %%
exercises.induction_by_hand.check(induction_by_hand)
# %% [markdown]
# ## Take a head away
#
# To learn whether the model *needs* a head, we run the model without it. This is called an **ablation**. A head reaches the residual stream only through its own block of $W^O$, so a model without the head is one in which this block is zero.

# %% [markdown]
# **Exercise 4** (10 minutes, medium). What is left of an attention's output when one head is gone? `w_o` is applied to the heads side by side, as `x @ w_o`, and the heads are counted from 0. What you are given stays as it is.

# %% exercise="ablate_head"
def ablate_head(output_by_head, w_o, head):
    """(B, h, T, d_head) and (d_model, d_model) -> (B, T, d_model), without this head's part."""
    return ...
# %%
exercises.ablate_head.check(ablate_head)
# %% [markdown]
# It would be tedious to edit the weights for every experiment and to repair them afterwards. But a hook can do more than look: if it returns something, $W^O$ reads that in place of its own input. So with a different last line, the hook on the input of $W^O$ takes a head away:

# %%
layer_0 = model.get_submodule("layers.0.self_attention")


def silence_head_1(module, inputs):
    heads = attention.split_heads(inputs[0], 3).clone()  # (B, h, T, d_head)
    heads[:, 1] = 0
    return attention.merge_heads(heads)  # what W_O reads instead


with torch.no_grad(), layer_0.w_o.register_forward_pre_hook(silence_head_1):
    by_hook = model(test_tokens)
# %% [markdown]
# Is this right? We compare it with a copy of the model in which the block of $W^O$ really is zero, and with the package's `analysis.ablate`, which sets such a hook within a `with` block:

# %%
from copy import deepcopy

pruned, name = deepcopy(model), "layers.0.self_attention"
with torch.no_grad():
    pruned.get_submodule(name).w_o.weight[:, 16:32] = 0  # head 1, of d_head 16
    by_weights = pruned(test_tokens)
    with analysis.ablate(model, name, 1):
        by_package = model(test_tokens)
for other_way, logits in (("zero block of W_O", by_weights), ("analysis.ablate", by_package)):
    difference = (by_hook - logits).abs().max().item()
    print(f"hook = {other_way}, max difference < 1e-3:", difference < 1e-3)
# %% [markdown]
# Zero is not the best replacement, though. A head may write something that is the same everywhere, on which the later parts rely as on a bias. So from now on we replace a head's output by its *mean* over all positions and sequences (`mean=True`). Then what it always writes stays, and only what it says about *this* position is gone. First the planted model, where we know the truth:

# %%
def without(model, layer, *heads):
    """The share that is right if these heads of a layer say nothing."""
    with analysis.ablate(model, f"layers.{layer}.self_attention", *heads, mean=True):
        return share_right(model)


planted_without = [without(planted, layer, head) for layer in (0, 1) for head in (0, 1)]
print("planted, without one head:", [round(share, 1) for share in planted_without])
assert max(planted_without[0::2]) < 0.2 < min(planted_without[1::2])
# %% [markdown]
# The ablation agrees with the truth: the model needs heads 0.0 and 1.0, and neither of the two that write nothing. So this tool can tell head 1.1 from head 1.0, which the score could not. Now the trained model. **Predict:** what is left without its previous-token head, and what without one of the induction heads?

# %% tolerance=0.3
previous_head = previous_scores(model)[0].argmax().item()
others = [head for head in range(3) if head != previous_head]
lost = {"all heads": share_right(model)}
lost["without the previous-token head"] = without(model, 0, previous_head)
lost["without another head of layer 0"] = min(without(model, 0, head) for head in others)
lost["without a head of layer 1"] = min(without(model, 1, head) for head in range(3))
for name, share in lost.items():
    print(f"{name}: {share:.2f}")
# %% [markdown]
# Without the previous-token head much is lost, and without any other head of its layer much less. So far, so good. But *no* head of layer 1 seems to matter, although each of them has a high score. Does the model not need them? Before we believe that, we take away more than one:

# %% tolerance=0.2
pairs = [without(model, 1, *{0, 1, 2} - {head}) for head in range(3)]
none = without(model, 1, 0, 1, 2)
print(f"only one head of layer 1 left: {min(pairs):.2f} to {max(pairs):.2f}, none left: {none:.2f}")
assert lost["without a head of layer 1"] > 0.9
assert max(pairs) > 0.7 > 0.15 > none
# %% [markdown]
# Without all three of them nothing is left, and each does most of the work when it is alone. They do the same job, so each can be spared as long as the others stay. In models of language, too, other parts stand in for one that is taken away ([Wang et al., 2022](https://arxiv.org/abs/2211.00593); [McGrath et al., 2023](https://arxiv.org/abs/2307.15771)). One ablation without effect shows that the model can do without this head as long as it has the others, and nothing more.

# %% [markdown]
# **Exercise 5** (write the test; 20 minutes, medium). Somebody claims that a head of a model matters. `model(tokens, without)` takes tokens (B, T) from 0 to 9 and a list of heads to take away. It returns logits (B, T, 10) and where each head looks, (B, h, T, T). The claim is right if, for some text of at most 40 tokens, some probability of a next token changes by more than 0.001 when that head *alone* is gone. Your test is scored on right claims and wrong ones.

# %% exercise="head_matters"
def head_matters(model, head):
    """Whether the claim is right."""
    return ...
# %%
exercises.head_matters.check(head_matters)
# %% [markdown]
# ## The second needs the first
#
# Both kinds of heads are needed. But do they work *together*? If the induction heads read the notes, then without the notes they should not know where to look. So their score must fall, although nothing in their own layer has changed. As the control we take away another head of layer 0:

# %% tolerance=0.3
def scores_without(model, *heads):
    """The mean induction score of layer 1 if these heads of layer 0 say nothing."""
    with analysis.ablate(model, "layers.0.self_attention", *heads, mean=True):
        return induction_scores(model)[1].mean().item()


whole = induction_scores(model)[1].mean().item()
one, all_three = scores_without(model, previous_head), scores_without(model, 0, 1, 2)
other = min(scores_without(model, head) for head in others)
print(f"induction score {whole:.2f}; without the previous-token head {one:.2f}")
print(f"without another head of layer 0 {other:.2f}, without all three {all_three:.2f}")
assert all_three < 0.2 < 0.8 < whole
# %% [markdown]
# They lose their aim, most of all without the previous-token head. But by which route does layer 0 reach them: through their queries, their keys or their values? The equation says through the keys. To test it we need one tool more. **Patching** replaces a part of a run by something from another run. `analysis.patch_input` is a hook on the input of an attention rather than of its $W^O$, and hands another state to the queries, the keys or the values alone. Here that state is the embedding, as if layer 0 had written nothing:

# %% tolerance=0.12
def read_without_notes(model):
    """The share right if the query, key or value of layer 1 reads the embedding alone."""
    shares, layer = {}, "layers.1.self_attention"
    with torch.no_grad(), analysis.record_states(model) as states:
        model(test_tokens)
    for part in ("query", "key", "value"):
        with analysis.patch_input(model, layer, part, states[0]):
            shares[part] = share_right(model)
    return shares


by_part = read_without_notes(model)
for part, share in by_part.items():
    print(f"the {part} reads no notes: {share:.2f}")
assert by_part["key"] < 0.3 < 0.85 < min(by_part["query"], by_part["value"])
# %% [markdown]
# This is the clearest answer of the lesson so far. What layer 0 finds out travels to layer 1 through the keys; queries and values hardly need it. Elhage et al. call this *K-composition*.
#
# In models that were trained ten times as long, the keys need the notes just as much, but in two of three the queries or the values need layer 0 as well. The *Extra* on seeds says more.

# %% [markdown]
# ## Move a note
#
# If the note at a position really says "before me stood …", then we can make the model say something wrong, and know in advance *what*. In a sequence of period 12, position 17 holds the same symbol as position 5, so the right answer is the symbol of position 6. We exchange what layer 0 wrote at positions 6 and 9, and leave the symbols where they are. Layer 1 reads this with its queries, its keys and its values, so we exchange it for one of the three at a time. **Predict** for each of them from which position the model takes its answer.

# %%
sequence = tasks.repeated(200, 18, periods=(12, 12), seed=7).tokens.to(device)


@torch.no_grad()
def told(model, part):
    """How often it names the symbol of position 6, 9, if this part reads exchanged notes."""
    with analysis.record_states(model) as states:
        model(sequence)
    notes = states[1] - states[0]  # what layer 0 wrote, (B, T, d_model)
    notes[:, [6, 9]] = notes[:, [9, 6]]
    with analysis.patch_input(model, "layers.1.self_attention", part, states[0] + notes):
        answer = model(sequence)[:, -1].argmax(-1)  # (B,)
    return [(answer == sequence[:, place]).float().mean().item() for place in (6, 9)]
# %% tolerance=0.2
moved = {}
for name, one in {"planted": planted, "trained": model}.items():
    for part in ("query", "key", "value"):
        six, nine = moved[name, part] = told(one, part)
        print(f"{name}, exchanged for the {part:5}: position 6 {six:.2f}, position 9 {nine:.2f}")
    assert moved[name, "key"][1] > 0.8
    assert moved[name, "query"][0] > 0.8
assert moved["planted", "value"][0] > 0.9 > 0.8 > moved["trained", "value"][0]
# %% [markdown]
# If the keys read the exchanged notes, the model answers nearly always with the symbol of position 9, where the note of position 6 stands. So what travels through the keys is not some help in general: it says *which symbol stood before*.

# %% [markdown]
# The values of the trained model hold a surprise. Above, they could do without all that layer 0 had written. But if it is exchanged for the values alone, about half of the answers become the symbol of position 9, and in the planted model none do. At position 6, where the induction heads still look, only what layer 0 had written at position 9 can name that symbol. So in the trained model, layer 0 also writes which symbol stands *here*. **A part may read what it does not need**: taking the notes away shows the need, and only the exchange shows the reading.

# %% [markdown]
# **Here the first sitting ends.** You have seen the two heads in a model of attention alone, and four kinds of evidence for them: where they look, what the model loses without them, by which route the first reaches the second, and what happens if a note is moved. An *Extra* below repeats all four with four more seeds, and says what changes after a longer training.

# %% [markdown]
# ## Inside the code model
#
# Our small model was trained to repeat, so it is no surprise that it has a part for repeating. The models of Python were trained only to continue Python, they have feed-forward networks and norms as well, and yet the larger one repeats and the small one does not. Do the same tools find the reason? (We take only heads away; what the feed-forward networks do is a question of its own, see [Geva et al., 2021](https://arxiv.org/abs/2012.14913).) First the score, on the letters of the beginning, and at a second period, since one period alone can fool it:

# %% tolerance=0.1
scores = {name: induction_scores(one, again) for name, one in code_models.items()}
for name, found in scores.items():
    layer, head = divmod(found.argmax().item(), 4)
    print(f"{name}, {found.numel()} heads: highest score {found.max():.2f}, of head {layer}.{head}")
    at_25 = induction_scores(code_models[name], again[:, :25].repeat(1, 2))
    layer, head = divmod(at_25.argmax().item(), 4)
    print(f"  and at period 25 {at_25.max():.2f}, of head {layer}.{head}")
    assert (at_25.max() > 0.4) == (name == "python")
assert scores["python_small"].max() < 0.2 < 0.4 < scores["python"].max()
# %% [markdown]
# In the small model the score finds nothing. This means something, because the same detector has found the heads that were planted and those that were trained. In the larger model it finds a single head, and the same one at both periods. Does the model need this head, and which other heads does it need? We take away each of its 16 heads in turn. **Predict:** which of them will matter for the letters that are read for the second time?
#
# Without a head the loss can also rise because the model is damaged as a whole. The control is therefore the loss of the very same letters when they are new:

# %%
big = code_models["python"]


def readings():
    """The loss of the same letters in the same places: known, and new."""
    return [nats_of(big, tokens)[:, 40:].mean().item() for tokens in (again, for_once)]


intact, missed = readings(), {}
for layer in range(4):
    for head in range(4):
        with analysis.ablate(big, f"layers.{layer}.self_attention", head, mean=True):
            missed[f"{layer}.{head}"] = [a - b for a, b in zip(readings(), intact)]
# %%
bars = {
    "read before": [known for known, _ in missed.values()],
    "new": [new for _, new in missed.values()],
}
figure, ax = plots.figure(width=8, height=3.4)
plots.plot_bars(bars, list(missed), ax, y_label="nats more, without the head").set_xlabel("head")
plots.show(figure, alt="Known letters need heads 3.3, 2.1 and two of layer 0; new letters none.")
# %% tolerance=0.3
previous = previous_scores(big, again)
for name in ("2.1", "3.3"):
    layer, head = map(int, name.split("."))
    known, new = missed[name]
    print(f"without head {name}: {known:+.2f} nats for known letters, {new:+.2f} for new ones")
    print(f"  its scores: previous token {previous[layer, head]:.2f}", end=", ")
    print(f"induction {scores['python'][layer, head]:.2f}")
    assert known > 1 > 0.3 > abs(new)
    assert known == max(missed[f"{layer}.{other}"][0] for other in range(4))
# %% [markdown]
# Here is the pair. Head 3.3 has the high induction score, and without it the model loses all that it gains from the repetition. In the layer below, head 2.1 gives 0.93 of its weight to the previous token, and it is missed as well. For new letters neither of the two matters, so the damage is not a general one. (The figure shows that heads of layer 0 are missed as well, two of them by more than 1.5 nats. This lesson does not settle what they contribute.)
#
# Do these two work together? Again we look at the score of the second without the first, and without each other head of the same layer:

# %% tolerance=0.2
aim = {}
for head in range(4):
    with analysis.ablate(big, "layers.2.self_attention", head, mean=True):
        aim[head] = induction_scores(big, again)[3, 3].item()
    print(f"induction score of head 3.3 without head 2.{head}: {aim[head]:.2f}")
assert aim[1] < 0.25 < 0.4 < min(aim[head] for head in (0, 2, 3))
# %% [markdown]
# Of the four heads of layer 2, head 3.3 needs only head 2.1 in order to aim. And the route is the same as before. We have let the queries, the keys or the values of layer 3, each alone, read what they would read without head 2.1. With such keys the score falls from 0.51 to 0.17, with such queries only to 0.49. (The values cannot change where a head looks, so the score says nothing about them.) So this is the circuit that we built by hand, in a model that was never asked for it.

# %% [markdown]
# Letters in random order are an odd text. Do the models repeat a *name* that they have never seen, as a programmer does? We invent names, and compare what a name costs after a function of the same name with what it costs after a function of another name. In both cases it stands in the same place, and we count from its third letter on, because its beginning must first tell which name it is:

# %%
def invented(generator):
    sounds = [("bdfgklmprstvz"[i], "aeiou"[j]) for i in range(13) for j in range(5)]
    picked = torch.randperm(65, generator=generator, device="cpu")[:4].tolist()
    return "".join(consonant + vowel for consonant, vowel in (sounds[i] for i in picked))


def name_costs(model, pairs):
    """The loss of the second name of each pair, from its third letter on."""
    texts = [f"def {first}(self):\n    return 0\n\n{second}" for first, second in pairs]
    nats = nats_of(model, torch.stack([characters.encode(text) for text in texts]).to(device))
    return nats[:, -6:].mean().item()


generator = torch.Generator("cpu").manual_seed(1)
names = [invented(generator) for _ in range(100)]
itself = list(zip(names, names))
another = list(zip([names[-1], *names], names))  # each after the one before it in the list
print(names[:4])
# %% tolerance=0.3
for name, one in code_models.items():
    after_other, after_same = name_costs(one, another), name_costs(one, itself)
    print(f"{name}, after another name: {after_other:.2f} nats a letter", end=", ")
    print(f"after itself {after_same:.2f}")
    assert (after_same < after_other - 1) == (name == "python")
with analysis.ablate(big, "layers.3.self_attention", 3, mean=True):
    other_without, same_without = name_costs(big, another), name_costs(big, itself)
print(f"the same without head 3.3: {other_without:.2f} after another name", end=", ")
print(f"{same_without:.2f} after itself")
assert same_without - after_same > 1 > 0.3 > abs(other_without - after_other)
# %% [markdown]
# For a name that is new to it, the small model gains nothing from having read it before. The larger one pays 1.90 nats a letter instead of 5.35. Without head 3.3 nothing is left of this gain, while a name that was not there before costs as much as with the head. So the whole gain depends on this head.

# %% [markdown]
# ## Where does it know?
#
# So far we have asked *which* part is needed. One can also ask *when*, on the way through the layers, the answer appears. The **logit lens** ([nostalgebraist, 2020](https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens)) reads the residual stream between two layers as if it were the last, through the last norm and the output matrix. We try it first where the truth is known: the planted model knows nothing before its layer 1, and everything after it.

# %%
def lens(model, tokens):
    """(layers + 1, B, T, vocab): probabilities, read after the embedding and after each layer."""
    with torch.no_grad(), analysis.record_states(model) as states:
        model(tokens)
        logits = analysis.logit_lens(torch.stack(states), model.norm, model.to_logits.weight)
    return logits.softmax(-1)


def of_next(model, tokens):
    """(layers + 1, B, T - 1): the probability of the right next token, by the lens."""
    p = lens(model, tokens)[:, :, :-1]  # (layers + 1, B, T - 1, vocab)
    return p.gather(-1, tokens[:, 1:, None].expand(len(p), -1, -1, 1))[..., 0]
# %%
by_layer = [p[test_known].mean().item() for p in of_next(planted, test_tokens)]
print("planted:", [round(p, 2) for p in by_layer], f"chance {1 / 24:.2f}")
# %% [markdown]
# Now the larger code model, with the letters when they are new and when they are known, and once more without head 3.3. **Predict** after which layer the answer appears:

# %% tolerance=0.1
def known_by_layer(tokens):
    return [round(p[:, 40:].mean().item(), 3) for p in of_next(big, tokens)]


print("new letters:           ", known_by_layer(for_once))
print("known letters:         ", known_by_layer(again))
with analysis.ablate(big, "layers.3.self_attention", 3, mean=True):
    print("known, without 3.3:    ", known_by_layer(again))
    assert known_by_layer(again)[-1] < 0.04
assert known_by_layer(again)[3] < 0.04 < 0.1 < known_by_layer(again)[4]
# %% [markdown]
# Up to layer 2 the lens sees no difference between letters that are new and letters that are known. The answer appears in layer 3, where head 3.3 sits, and without this head it does not appear. After the last layer the lens is the model itself. What the lens adds is that nothing can be read earlier, so it points to the same layer as the ablation.
#
# Here is the lens on one line. The line stands in columns, and above each of its characters is what the model would say next, from the embedding at the bottom to the last layer at the top. A thread is as wide as this guess is probable. Point at one for the four next best.

# %%
line = characters.encode("def zotagori(self):\n    return 0\n\nzotagori")
with torch.no_grad(), analysis.record_states(big) as states:
    big(line[None].to(device))
    stack = torch.cat(states)  # (layers + 1, T, d_model)
    logits = analysis.logit_lens(stack, big.norm, big.to_logits.weight)
widgets.lens(logits, line, characters.symbols)
# %% [markdown]
# The embedding names the character that *stands there*. This is no opinion about what comes next: one matrix serves for input and output, so the embedding of each of these characters fits its own row of the matrix best. Now compare the two mentions of the name. At the first, no layer can know what comes next; at the second, the letters appear in the row at the top. (We have chosen a name that the model repeats well. For the average over 100 names see above.)
#
# Keep in mind what the lens leaves out. The later layers have learned to read an early state, and the output matrix has not, so information that the lens misses may still be present.

# %% [markdown]
# **Exercise 6** (5 minutes, easy). What would a model say if its layers ended here? `norm` is its last norm, a function, and `unembedding` has a row for each token, as in `nn.Linear`.

# %% exercise="logit_lens"
def logit_lens(hidden, norm, unembedding):
    """(…, d_model) states, (vocab, d_model) unembedding -> (…, vocab) logits."""
    return ...
# %%
exercises.logit_lens.check(logit_lens)
# %% [markdown]
# ## What the weights alone would have told you
#
# The question was which two heads know that *sat* comes next. In the Python model they are 2.1 and 3.3. The first notes which token stood before, and the second looks for the note that names its own token. And the proof was never a picture of attention. Attention weights alone would have misled us three times: by a planted head that looks in the right place and writes nothing, by one that counts and looks right at one period, and by three heads with nearly equal scores of which any one can go.
#
# Whether weights explain anything has been argued for years ([Jain & Wallace, 2019](https://arxiv.org/abs/1902.10186); [Wiegreffe & Pinter, 2019](https://arxiv.org/abs/1908.04626)). They tell you where to look for an effect, but the effect itself has to be measured.

# %% [markdown]
# ## Remember
#
# - The residual stream is a sum; each head reads it and adds to it.
# - The circuit for induction is two heads in two layers: one notes which token stood before, the other looks for the note that names its own.
# - A score says where a head looks. Try a detector on planted heads before you trust it.
# - Ablation shows what is needed, but not what another head can replace; patching shows what travels, and by which route.
# - An effect counts only beside its control: another head, or another kind of token in the same place.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. A head has an induction score of 0.97, and taking it away changes nothing. Name two explanations, and the experiment that tells them apart.</summary>
# It writes nothing of use, or another head does the same. Take away all other heads of its kind, and see whether this one alone still does the work.
# </details>
# <details><summary>2. Why must the period change from sequence to sequence?</summary>
# With one period, a head that looks back by a fixed distance would be right, and one layer would do.
# </details>

# %% [markdown]
# <details><summary>3. You patch the values of layer 1 with the embedding, and nothing changes. What have you learned?</summary>
# That its values need nothing of what layer 0 wrote. They may still read it, and the queries and keys may need it.
# </details>
# <details><summary>4. By the logit lens, layer 3 of a model does not know the answer. Can you be sure?</summary>
# No. It may hold the answer in a form that later layers can read and the output matrix cannot.
# </details>

# %% [markdown]
# **Next:** [Lesson 11](11_since_2017.ipynb) exchanges the parts of 2017 for those of today, one at a time, and measures what each exchange does.

# %% [markdown]
# ## Extra: five seeds
#
# The circuit of the first sitting was found in one trained model. Is it there with other seeds, too? We train four more (20 seconds):

# %%
two_layers = [model, train(seed=1), train(seed=2)]
# %%
two_layers += [train(seed=3), train(seed=4)]
# %% [markdown]
# Here are twelve of our measures, in one function:

# %%
def summary(model):
    scores = previous_scores(model)[0]
    head = scores.argmax().item()
    by_part = read_without_notes(model)
    return {
        "right": share_right(model),
        "previous-token score, layer 0": scores[head].item(),
        "induction score, layer 1": induction_scores(model)[1].mean().item(),
        "the same without the previous-token head": scores_without(model, head),
        "right without the previous-token head": without(model, 0, head),
        "without another head of layer 0": min(without(model, 0, i) for i in {0, 1, 2} - {head}),
        "without one head of layer 1": min(without(model, 1, i) for i in range(3)),
        "without layer 1": without(model, 1, 0, 1, 2),
        "keys read no notes": by_part["key"],
        "queries or values read none": min(by_part["query"], by_part["value"]),
        "answers by notes exchanged for keys": told(model, "key")[1],
        "answers by notes exchanged for values": told(model, "value")[1],
    }
# %%
rows = [summary(model) for model in two_layers]
runs = {name: [row[name] for row in rows] for name in rows[0]}
ax = plots.plot_runs(runs, x_label="score, or share of symbols named")
plots.show(ax, alt="Twelve measures, five dots each: some lie close together, others are spread.")
# %% tolerance=0.3
for name, values in runs.items():
    print(f"{name}: {min(values):.2f} to {max(values):.2f}")
for row in rows:
    assert row["right"] > 0.95
    assert row["without layer 1"] < 0.15 < 0.85 < row["without one head of layer 1"]
    assert row["keys read no notes"] < 0.3 < 0.85 < row["queries or values read none"]
missed, other = "right without the previous-token head", "without another head of layer 0"
assert sum(runs[missed]) < sum(runs[other])
assert min(runs["answers by notes exchanged for keys"]) > 0.8
# %% [markdown]
# By these measures all five models have built the same circuit. In each of them the exchanged notes mislead the keys. The values read what layer 0 has written, too, in some models more than in others. What differs from seed to seed is which head takes which task, and how a task is shared among the heads.

# %% [markdown]
# All five were trained for 500 steps. What if they train for longer? We have also trained `train(seed, steps=5000)` at seeds 0, 1 and 2. These models, too, name all symbols, know nothing without layer 1, can do without any single head of it, and need the notes in their keys: without them about a tenth of the answers are right.
#
# But they have divided their work differently. In layer 0 another head than the one that looks back most has become indispensable, since less than a fifth of the answers are right without it. And at two of the three seeds the queries or the values now need what layer 0 has written, too, since less than half are right without it. So the circuit is the same in outline, while the share of each head depends on the seed and on the length of the training.

# %% [markdown]
# ## Extra: which heads close brackets?
#
# The same tools work for jobs other than repeating. The small code model closes brackets, for instance. In pieces of files that it has not read, we collect the closing brackets whose opening one stands at least four characters before, and see how often the model ranks the right one first:

# %%
def brackets(text):
    """(position before a closing bracket, position of its opening one), at least 4 apart."""
    open_ones, found = [], []
    for t, character in enumerate(text):
        if character in "([{":
            open_ones.append((t, character))
        elif character in ")]}" and open_ones:
            start, opening = open_ones.pop()
            if opening + character in ("()", "[]", "{}") and t - start > 3:
                found.append((t - 1, start))
    return found


source = tasks.python_source().text("test")
windows = [source[i : i + 128] for i in range(0, len(source) - 128, 3000)]
places = [(row, *pair) for row, text in enumerate(windows) for pair in brackets(text)]
row, before_closing, opening = (torch.tensor(column) for column in zip(*places))
read = torch.stack([characters.encode(text) for text in windows]).to(device)
# %% tolerance=0.4
code_model = code_models["python_small"]
with torch.no_grad():
    first = code_model(read).argmax(-1).cpu()
is_right = first[row, before_closing] == read.cpu()[row, before_closing + 1]
print(f"closing brackets ranked first: {is_right.float().mean():.2f} of {len(row)}")
# %% [markdown]
# Now we take each of the twelve heads away, and look at two losses: that of these closing brackets, and that of all other characters (10 seconds). **Predict:** will some head matter for brackets alone?

# %%
def bracket_losses():
    nats = nats_of(code_model, read).cpu()
    is_closing = torch.zeros_like(nats, dtype=torch.bool)
    is_closing[row, before_closing] = True
    return torch.tensor([nats[is_closing].mean(), nats[~is_closing].mean()])


intact, cost = bracket_losses(), {}
for layer in range(3):
    for head in range(4):
        with analysis.ablate(code_model, f"layers.{layer}.self_attention", head, mean=True):
            cost[f"{layer}.{head}"] = bracket_losses() - intact
# %%
groups = {"closing brackets": 0, "all other characters": 1}
bars = {name: [losses[i].item() for losses in cost.values()] for name, i in groups.items()}
figure, ax = plots.figure(width=8, height=3.4)
plots.plot_bars(bars, list(cost), ax, y_label="nats more, without the head").set_xlabel("head")
plots.show(figure, alt="Layer 0 matters for all; 1.2 and 1.3 almost only for closing brackets.")
# %% tolerance=0.3
with torch.no_grad(), record_attention(code_model) as maps:
    code_model(read)
for name in ("0.2", "1.0", "1.2", "1.3"):
    layer, head = map(int, name.split("."))
    on_opening = maps[f"layers.{layer}.self_attention"].cpu()[row, head, before_closing, opening]
    bracket, other = cost[name].tolist()
    print(f"head {name}: brackets {bracket:+.2f}, others {other:+.2f}", end=", ")
    print(f"weight on the opening bracket {on_opening.mean():.2f}")
    assert (bracket > 5 * other) == (name in ("1.2", "1.3"))
# %% [markdown]
# Heads 1.2 and 1.3 help to close brackets. Taking away either of them costs far more there than elsewhere, and both look at the opening bracket. Taking away head 0.2 costs even more, but it costs a great deal everywhere, so it shows no more than that the model is damaged. You can call an effect *specific* only if you have also measured it on something else.
#
# Does the lens agree? Over all windows, we ask how often each layer already says what the last one will say. And to see whether it is these two heads that make the difference, we ask the same without them, and without the other two heads of their layer:

# %% tolerance=0.3
def agreement(answers):
    """By layer: how often the lens says what the whole model says, at brackets and elsewhere."""
    at_brackets = torch.zeros_like(answers[0], dtype=torch.bool)
    at_brackets[row, before_closing] = True
    same = (answers == whole_answer).float()
    return [
        [round(layer[places].mean().item(), 2) for layer in same]
        for places in (at_brackets, ~at_brackets)
    ]


answers = lens(code_model, read).argmax(-1).cpu()  # (layers + 1, B, T)
whole_answer = answers[-1]  # what the intact model says
bracket, other = agreement(answers)
print("embedding, layer 0, 1, 2, before closing brackets:", bracket)
print("embedding, layer 0, 1, 2, elsewhere:              ", other)
assert bracket[2] > bracket[1] + 0.15
# %% tolerance=0.3
after_layer_1 = {}
for pair in ((2, 3), (0, 1)):
    with analysis.ablate(code_model, "layers.1.self_attention", *pair, mean=True):
        at_brackets, elsewhere = agreement(lens(code_model, read).argmax(-1).cpu())
    after_layer_1[pair] = at_brackets[2]
    print(f"after layer 1, without heads 1.{pair[0]} and 1.{pair[1]}:", end=" ")
    print(f"before closing brackets {at_brackets[2]:.2f}, elsewhere {elsewhere[2]:.2f}")
assert after_layer_1[2, 3] < 0.2 < 0.25 < after_layer_1[0, 1]
# %% [markdown]
# (The last number in each row is 1 by definition.) In the intact model, layer 1 brings much more agreement before closing brackets, from 0.07 to 0.38, than elsewhere, from 0.40 to 0.50. Without heads 1.2 and 1.3 nearly all of this rise before brackets is gone, while without the two other heads of the layer most of it stays. Elsewhere either pair costs equally little (0.46 and 0.45 are left of 0.50). So the lens and the ablation agree that these two heads do it, although much is decided only in the last layer.

# %% [markdown]
# ## Extra: how does *one* get across?
#
# Last, the translator of lesson 07. To write *ein*, its decoder must get the source token *one* from the encoder, by cross-attention, which has 2 layers of 4 heads. Which of the eight carry it?

# %%
translator, tokenizer, _ = training.load_checkpoint("en_de")
translator = translator.to(device)
source_ids, target_ids = tokenizer.encode("twenty-one"), tokenizer.encode("einundzwanzig")
src = torch.tensor([[*source_ids, tokenizer.eos_id]], device=device)
tgt = torch.tensor([[tokenizer.bos_id, *target_ids]], device=device)
print(analysis.token_names(tokenizer, src[0].tolist()))
print(analysis.token_names(tokenizer, tgt[0].tolist()))
# %% [markdown]
# What a head writes is a sum over the source tokens, weight times value. So a single token can be knocked out of a single head: record what the head writes, subtract the token's term, and let `analysis.patch_heads` put the rest in its place.

# %%
cross = [f"decoder.layers.{layer}.cross_attention" for layer in (0, 1)]
recorded = record_attention(translator), analysis.record_heads(translator)
with torch.no_grad(), recorded[0] as maps, recorded[1] as heads:
    translator(src, tgt)
    memory = translator.encode(src)


@torch.no_grad()
def p_next(knocked_out, token):
    """The probability of each right next token, `token` knocked out of {layer: heads}."""
    with ExitStack() as blocks:
        for layer, chosen in knocked_out.items():
            name = cross[layer]
            values = attention.split_heads(translator.get_submodule(name).w_v(memory), 4)
            term = maps[name][..., token, None] * values[:, :, token, None]  # (B, h, T, d_head)
            patch = analysis.patch_heads(translator, name, heads[name] - term, heads=chosen)
            blocks.enter_context(patch)
        p = translator(src, tgt)[0].softmax(-1)
    return p[range(len(target_ids)), target_ids].tolist()
# %% [markdown]
# First we go token by token, and knock each of them out of all eight heads. The rows are what is knocked out, the columns what should be written:

# %% tolerance=0.15
everywhere = {0: range(4), 1: range(4)}
written = analysis.token_names(tokenizer, target_ids)
print("intact:", dict(zip(written, (round(p, 2) for p in p_next({}, 0)))))
for token, name in enumerate(analysis.token_names(tokenizer, src[0].tolist())):
    print(f"{name!r} out:", dict(zip(written, (round(p, 2) for p in p_next(everywhere, token)))))
assert p_next(everywhere, 1)[0] < 0.3 < 0.9 < p_next(everywhere, 0)[0]
# %% [markdown]
# *one* is needed for *ein*, *twenty* for *undzwan*, and neither for the other. Now we go head by head, and print three numbers for each: the weight that it gives to *one* when *ein* is due; how probable *ein* still is if *one* is knocked out of this head; and how probable if this head is the only one that keeps it. **Predict:** are the heads with the largest weights the ones that carry it?

# %% tolerance=0.15
table = {}
for layer in (0, 1):
    for head in range(4):
        weight = maps[cross[layer]][0, head, 0, 1].item()
        rest = {layer: [other for other in range(4) if other != head], 1 - layer: range(4)}
        table[layer, head] = weight, p_next({layer: [head]}, 1)[0], p_next(rest, 1)[0]
        print(f"head {layer}.{head}:", [round(number, 2) for number in table[layer, head]])
assert min(without_it for _, without_it, _ in table.values()) > 0.85
assert table[0, 2][0] > 0.9 > 0.3 > table[0, 2][2]
assert min(table[1, head][2] for head in (0, 1, 3)) > 0.5
# %% tolerance=0.15
layers_out = p_next({0: range(4)}, 1)[0], p_next({1: range(4)}, 1)[0]
print("p(ein), *one* knocked out of layer 0 {:.2f}, of layer 1 {:.2f}".format(*layers_out))
assert layers_out[0] > 0.9 > 0.4 > layers_out[1]
# %% [markdown]
# Heads 1.0, 1.1 and 1.3 carry *one* across: with any one of them alone, *ein* keeps a probability of more than 0.6, so no single one is needed. Head 0.2 is the opposite. It gives *one* 0.95 of its weight, and from a picture of its attention you would say that it carries *one* into German. But knock *one* out of it, or even out of the whole of layer 0, and nothing changes; and if it is the only head that keeps *one*, that does not help.

# %% [markdown]
# Knocking out shows what a head is needed for. To see what it *carries*, put in what it writes for another number. Here is the translator at work in your browser. Press *swap a word*: the other sentence that it proposes is *twenty-two*. Then press heads of layer 1's cross-attention, in the right column of the map.
#
# **Predict:** what does the translation become when head 0 is swapped, when 0, 1 and 3 are, and when head 2 is?

# %%
widgets.machine(translator, tokenizer, "twenty-one")
# %% [markdown]
# Now the same in Python. `record_heads` keeps what the heads write for *twenty-two*, and `analysis.swapped` lets a head write one of these vectors at one position, here where the first token is due:

# %%
@torch.no_grad()
def first_token(text, other, layer, chosen):
    """The probabilities of the first token, some heads swapped for those of another text."""
    texts = [[*tokenizer.encode(one), tokenizer.eos_id] for one in (text, other)]
    src, theirs = (torch.tensor([ids], device=device) for ids in texts)
    begin = torch.tensor([[tokenizer.bos_id]], device=device)
    with analysis.record_heads(translator) as heads:
        translator(theirs, begin)
    with ExitStack() as blocks:
        for head in chosen:
            vector = heads[cross[layer]][0, head, 0]  # (B, h, T, d_head) -> (d_head,)
            blocks.enter_context(analysis.swapped(translator, cross[layer], 0, vector, head=head))
        return translator(src, begin)[0, -1].softmax(-1)
# %% tolerance=0.15
ein, zwei = (tokenizer.encode(word)[0] for word in ("ein", "zwei"))
for chosen in ((), (0,), (2,), (0, 1, 3)):
    p = first_token("twenty-one", "twenty-two", 1, chosen)
    print(f"heads of layer 1 swapped: {chosen!s:9}  p(ein) {p[ein]:.2f}, p(zwei) {p[zwei]:.2f}")
assert p[zwei] > 0.8
# %% [markdown]
# (The page's weights have 4 bits each, so its numbers may differ in the second decimal.) Three vectors turn *ein* into *zwei*. Is that one lucky pair? We take all 72 names from *twenty-one* to *ninety-nine* that have a unit, each with the next unit's:

# %% tolerance=8
turned = {(1, (2,)): 0, (1, (0, 1, 3)): 0, (0, (0, 1, 2, 3)): 0}
for n in (tens + unit for tens in range(20, 100, 10) for unit in range(1, 10)):
    other = n - n % 10 + n % 10 % 9 + 1
    wanted = tokenizer.encode(tasks.number_name(other, "de"))[0]
    for layer, chosen in turned:
        p = first_token(*(tasks.number_name(m, "en") for m in (n, other)), layer, chosen)
        turned[layer, chosen] += p.argmax().item() == wanted
for (layer, chosen), right in turned.items():
    print(f"layer {layer}, heads {chosen}: the other's unit in {right} of 72")
assert turned[1, (0, 1, 3)] > 60 > 10 > max(turned[1, (2,)], turned[0, (0, 1, 2, 3)])
# %% [markdown]
# In all of them the three heads bring the other number's unit along, while head 1.2, and even all of layer 0, never do. So *which unit* is in these vectors: you have moved it from one sentence into another.
