# %% [markdown]
# # 11 · Since 2017
#
# You take the block of 2017 apart, put today's in its place one swap at a time, and measure what each swap buys.
#
# **You will be able to**
# - name the six parts that were replaced, and write each new one by hand,
# - say what each saves or buys, with which control, and how sure you are of it,
# - rebuild Llama's block, with the very same logits.
#
# **You need** lessons 03, 04, 08 and 09. **Papers:** [Llama](https://arxiv.org/abs/2302.13971), section 2.2; [GQA](https://arxiv.org/abs/2305.13245). **Time:** 50 minutes, the exercises 60 more; the part called *Extra* can wait.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import math
from dataclasses import replace

import torch
import torch.nn.functional as F

from transformer_lab import LanguageModel, analysis, default_device, exercises, plots
from transformer_lab.nn import blocks
from transformer_lab.training import load_table
from transformer_lab.training.experiments import swaps

torch.set_num_threads(1)  # for models as small as these, more would only wait for each other
device = default_device()

# %% [markdown]
# ## The question
#
# The models that run on a laptop, Llama, Mistral, Qwen and many others, are built from blocks that look much alike. Here is one of them, small and with random weights, from Hugging Face's `transformers` (which takes some seconds to load):

# %%
from transformers import LlamaConfig, LlamaForCausalLM

sizes = {"vocab_size": 98, "hidden_size": 48, "intermediate_size": 144, "num_hidden_layers": 2}
heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
ends = {"bos_token_id": None, "eos_token_id": None, "tie_word_embeddings": True}
torch.manual_seed(0)
llama = LlamaForCausalLM(LlamaConfig(**sizes, **heads, **ends)).to(device).eval()

# %% [markdown]
# And here is the block of the 2017 paper, without its encoder and its cross-attention, so that it is a language model as in lesson 09. These are the weights of one layer of each:

# %%
paper = LanguageModel(swaps.config(())).to(device)
for name, layer in {"2017": paper.layers[0], "Llama": llama.model.layers[0]}.items():
    print(f"{name}:")
    for part, weight in layer.named_parameters():
        print(f"  {part:30}", *weight.shape)

# %% [markdown]
# No bias is left, and each norm has one vector instead of two (called `layernorm` all the same). The feed-forward network has three matrices where there were two, and the keys and values are half as wide as the queries. Two changes do not show in the list: the norms have moved, and the sine is gone.
#
# So your laptop's chat model has no LayerNorm and no sine, and most often fewer keys than queries. **What did each swap buy?** The papers give different reasons: some parts are meant to make the training stable, some to save memory, some to lower the loss, and some to save time. We take them one at a time, build each by hand, and then measure it.
#
# ![Six pairs, 2017 and today: norm after and before, LayerNorm and RMSNorm, ReLU and SwiGLU, added sines and RoPE, eight keys and two, with and without biases.](../img/11_swaps.svg)

# %% [markdown]
# ## How do you measure a swap?
#
# A loss depends on the new part, but also on the seed, on the size, and on whatever was changed along with the part. So before we swap anything, we settle how to compare. Six swaps can be combined in 64 ways, and all 64 models have been trained on Python's own source, as in lesson 09, with three seeds each (2 layers, d_model 48, 200 steps; the command `python -m transformer_lab.training.experiments.swaps` does it). Two things are kept equal by force. All begin with embeddings of the same size, for a reason that we come to. And the matrices of all have equally many numbers, so that what one part saves goes into a wider feed-forward network. That makes the FLOPs of the matrix products equal as well, as torch's counter shows (it leaves out norms, gates and rotations, which are few):

# %%
from torch.utils.flop_counter import FlopCounterMode

from transformer_lab import record_attention

today = frozenset(swaps.SWAPS)
tokens = torch.randint(98, (3, 64), device=device)
for name, chosen in {"2017": (), "today": today}.items():
    model, counter = swaps.build(chosen).to(device).eval(), FlopCounterMode(display=False)
    with torch.no_grad(), record_attention(model), counter:
        model(tokens[:1])
    numbers = sum(p.numel() for p in model.parameters())
    print(f"{name}: {numbers:,} parameters, {counter.get_total_flops():,} FLOPs for 64 tokens")

# %% [markdown]
# For each swap there are 32 pairs of models that differ in it alone. We take the mean of their differences for each seed, which gives three independent numbers. Beside this mean we print what the swap adds when it comes last, to a block that has the five others. A verdict after 200 steps may not hold after 800. So today's block was also trained four times as long, and so was today's block with one swap undone, for pre-norm, SwiGLU and RoPE. For the other three swaps the table has only the short training:

# %%
rows = load_table("swaps")
table = swaps.losses_of(rows)  # for each combination, the losses of its three seeds
longer = swaps.losses_of(rows, swaps.LONGER)  # of today's block, and with one of three undone


def effect(swap, beside=frozenset()):
    """(3,): for each seed, the mean effect of a swap on the loss, in pairs that have `beside`."""
    without = [frozenset(names) for names in swaps.combinations() if swap not in names]
    pairs = [table[names | {swap}] - table[names] for names in without if names >= beside]
    return torch.stack(pairs).mean(0)


def last(swap, losses):
    """(3,): for each seed, what a swap adds to a block that has the five others."""
    return losses[today] - losses[today - {swap}]


def say(what, found):
    print(f"{what}: {found.mean():+.3f} nats, seeds from {found.min():+.3f} to {found.max():+.3f}")


def say_all(swap):
    say(f"{swap}, mean of 32 pairs ", effect(swap))
    say(f"{swap}, the last of the six", last(swap, table))
    if today - {swap} in longer:
        say(f"{swap}, the same, 800 steps", last(swap, longer))

# %% [markdown]
# And how much does chance do? We look at models that differ in nothing but the seed:

# %%
every = torch.stack([table[frozenset(names)] for names in swaps.combinations()])  # (64, 3)
between = (every.amax(1) - every.amin(1)).mean()
print(f"64 models, from {every.min():.2f} to {every.max():.2f} nats a character")
print(f"the best and the worst seed of one model differ by {between:.3f} on average")

# %% [markdown]
# So a single pair that differs by 0.03 nats says nothing, because the seeds of one and the same model differ as much. The mean of 32 pairs is steadier, but even there we must be careful. Three seeds agree in their sign by chance alone in one case out of four, and since we look at six swaps, one or two of them may well "agree" although they do nothing. So we believe an effect only if it is larger than the distance between its own seeds, and no smaller than those 0.03 nats. **Predict** before you go on: which of the six swaps lowers the loss most, and which do nothing?

# %% [markdown]
# ## Swap 1: the norm moves
#
# The paper computes $\text{norm}(x + f(x))$, which is called **post-norm**. GPT-2, Llama and most models since compute $x + f(\text{norm}(x))$ instead, **pre-norm** ([Xiong et al., 2020](https://arxiv.org/abs/2002.04745)). Lesson 04 found a reason: every post-norm shrinks the share of what came in, and in a deep stack the tokens become alike, whereas pre-norm leaves the sum alone. By hand, we take a vector of length 5, and layers each of which adds half of what it reads. **Predict** how long the vector is after 24 layers of either kind:

# %%
def length_after(depth, norm_first):
    x = torch.tensor([3.0, 4.0])
    for _ in range(depth):
        if norm_first:
            x = x + 0.5 * (x / x.norm())
        else:
            x = x + 0.5 * x
            x = x / x.norm()
    return x.norm().item()


for depth in (1, 6, 24):
    pre, post = length_after(depth, True), length_after(depth, False)
    print(f"{depth:2} layers: pre-norm {pre:4.1f}, post-norm {post:.1f}")

# %% [markdown]
# Post-norm brings the sum back to length 1 after every layer. Here each layer makes it 1.5 times as long, so every norm after the first divides it by 1.5, and with it what came in at the bottom: after 24 layers less than a ten-thousandth of that is left. With pre-norm all of it is left, but the sum grows. So one more norm is needed before the output matrix, to bring the sum back to a known size. That last norm is the only part that is new. What did the move buy?

# %%
say_all("pre-norm")
assert effect("pre-norm").min() > 0.02
assert last("pre-norm", longer).max() < 0.03

# %% [markdown]
# After 200 steps pre-norm has cost something, and after 800 the cost has all but gone. A table of short trainings would have told us that pre-norm is a mistake, so we note that pre-norm *learns later* here, and not that it learns less. (At a third of our rate it costs something after 200 steps as well.) But the reason for pre-norm was depth, and two layers are not deep. So the table has models of 12 layers as well, again today's block with pre-norm and without. To have something to compare with, we compute what a model gets that knows nothing but how frequent each character is:

# %%
from transformer_lab.data.texts import PRINTABLE, Characters, python_source

corpus = python_source()
ids = Characters(PRINTABLE).encode(corpus.text("test")[: swaps.READ])
share = ids.bincount() / len(ids)
print(f"frequencies alone: {-torch.xlogy(share, share).sum():.2f} nats a character")
deep = swaps.losses_of(rows, swaps.DEEP)
for norm, names in {"post-norm": today - {"pre-norm"}, "pre-norm": today}.items():
    print(f"12 layers, {norm:9}:", [round(loss, 2) for loss in deep[names].tolist()])
assert deep[today - {"pre-norm"}].min() > 3 > deep[today].max() + 0.8

# %% [markdown]
# Here the move decides everything. After 200 steps at our rate of 0.01 the deep post-norm model is where the bare frequencies of the characters are, so it has learned nothing about what follows what. The deep pre-norm model has come as far as the best models of two layers in as many steps.

# %% [markdown]
# In 2017 post-norm models of six layers had a warm-up of 4000 steps, and ours has 50. Is that the reason? Not by itself. With a warm-up of 500 steps, in a training of 1000, post-norm ends at 3.16 again. With one of 2000 steps it does learn, and its training loss is down to 1.7 by the time the rate has reached 0.0065, but before the rate reaches 0.01 the loss is back at 3.17 (one seed each). So the rate itself matters, too. At a tenth of it, and with a warm-up of 50 again, post-norm is still at 3.16 after 200 steps, and after 1000 steps it has come to 2.10 and 2.23 (two seeds). Pre-norm begins sooner at that small rate as well: after 200 steps it has come to 2.52 and 2.49.

# %% [markdown]
# So pre-norm does not buy a lower loss in a shallow model. What it buys here is a deep model that begins to learn sooner at both rates. At the large rate, only the model with pre-norm learned anything that lasted.

# %% [markdown]
# Not everybody has moved the norm to the same place. [OLMo 2](https://arxiv.org/abs/2501.00656) norms what comes *out* of the sub-layer, still inside of the residual branch, $x + \text{norm}(f(x))$, and [Gemma 2](https://arxiv.org/abs/2408.00118) norms before and after the sub-layer. There, too, the sum itself is left alone.

# %% [markdown]
# ## Swap 2: LayerNorm → RMSNorm
#
# The norm itself has also become simpler. LayerNorm subtracts the mean and then divides by the standard deviation, whereas **RMSNorm** ([Zhang & Sennrich, 2019](https://arxiv.org/abs/1910.07467)) only divides, by the **root mean square**:
#
# $$\text{RMSNorm}(x) = \frac{x}{\sqrt{\frac{1}{d}\sum_i x_i^2 + \epsilon}} \odot w$$
#
# By hand, for the vector (1, 7) and a weight of 1: its mean is 4, and the mean of its squares is (1 + 49) / 2 = 25.

# %%
x = torch.tensor([1.0, 7.0])
centred = x - x.mean()
print("LayerNorm:", (centred / centred.square().mean().sqrt()).tolist())
print("RMSNorm:  ", [round(value, 1) for value in (x / x.square().mean().sqrt()).tolist()])

# %% [markdown]
# With two features, all that survives LayerNorm is which one is larger, while RMSNorm keeps their ratio of 1 to 7. The two are closely related, because LayerNorm without a bias is RMSNorm of $x$ minus its mean:

# %%
torch.manual_seed(0)
x, weight = torch.randn(5, 48) + 2, torch.rand(48)
layer = blocks.layer_norm(x, weight, torch.zeros(48), 1e-5)
of_centred = blocks.rms_norm(x - x.mean(-1, keepdim=True), weight, 1e-5)
of_torch = F.rms_norm(x, (48,), weight, 1e-5)
off = (layer - of_centred).abs().max().item()
print("LayerNorm(x) = RMSNorm(x - mean), max difference < 1e-5:", off < 1e-5)
off = (of_torch - blocks.rms_norm(x, weight, 1e-5)).abs().max().item()
print("the package's RMSNorm = torch's, max difference < 1e-5:", off < 1e-5)

# %% [markdown]
# What RMSNorm gives up is an invariance. If the same number is added to all features, LayerNorm does not notice, and RMSNorm does:

# %%
moved = [(norm(x + 100) - norm(x)).abs().max().item() for norm in (
    lambda x: blocks.layer_norm(x, weight, torch.zeros(48), 1e-5),
    lambda x: blocks.rms_norm(x, weight, 1e-5),
)]  # fmt: skip
print("after + 100, LayerNorm moved by less than 0.001:", moved[0] < 1e-3)
print(f"and RMSNorm by {moved[1]:.1f}")

# %%
say_all("RMSNorm")
assert effect("RMSNorm").abs().max() < 0.02

# %% [markdown]
# If the lost invariance costs anything, it is less than our 0.03 nats. What is saved is one vector of parameters, a subtraction and one of two means. Counted in FLOPs this looks like nothing, for in a layer of d_model 4096 the two norms need a ten-thousandth of what the matrices need. But FLOPs are not time. A norm reads and writes every number for the sake of a few operations on it, and in one careful measurement on a GPU ([Ivanov et al., 2020](https://arxiv.org/abs/2007.00072), table 1) softmax and norms together had 0.17 % of the FLOPs and a quarter of the time. So a norm of fewer operations can save time, if each of them reads and writes all numbers anew (lesson 13 says more). In our models RMSNorm saves no time, because their LayerNorm is torch's, which does all its operations in one go.

# %% [markdown]
# **Exercise 1** (10 minutes, medium). The same norm stands in one more place in many models of today. [Qwen 3](https://arxiv.org/abs/2505.09388) and [Gemma 3](https://arxiv.org/abs/2503.19786) give each *head* of the queries and of the keys a root mean square of 1 before they meet, so that scores can no longer grow with the size of queries and keys (**QK-norm**). The heads lie side by side in the last axis, and the weight is as long as one head and is shared by all of them. How many heads there are follows from the sizes.

# %% exercise="rms_norm"
def rms_norm(x, weight, eps):
    """(…, d_model), (d_head,), a number -> (…, d_model), each head normed by itself."""
    return ...

# %%
exercises.rms_norm.check(rms_norm)

# %% [markdown]
# ## Swap 3: ReLU → SwiGLU
#
# The next part is the feed-forward network, which in 2017 was $\max(0, x W_1) W_2$. **SwiGLU** ([Shazeer, 2020](https://arxiv.org/abs/2002.05202)) has two projections side by side. One of them is the **gate**. It goes through silu, $z \cdot \sigma(z)$, and then decides how much of the other one passes:
#
# $$\text{SwiGLU}(x) = \big(\text{silu}(x W_{gate}) \odot x W_{up}\big)\, W_{down}$$
#
# By hand, we look at one hidden unit in which the other projection says 6:

# %%
def silu(z):
    return z * torch.sigmoid(z)


for gate in (-4.0, 0.0, 2.0):
    passed = silu(torch.tensor(gate)).item() * 6
    print(f"gate {gate:4}: silu {silu(torch.tensor(gate)):5.2f}, passes {passed:5.2f} of 6")

# %% [markdown]
# A gate far below 0 lets nearly nothing pass, and a gate above 1.28 even enlarges what passes. So the unit *multiplies* two features of $x$. With ReLUs even many units only come near to a product, but two units of a SwiGLU make it exactly, since $\text{silu}(z) - \text{silu}(-z) = z$:

# %%
a, b = torch.randn(2, 1000)
product = silu(a) * b + silu(-a) * -b  # two hidden units: gates a and -a, the others b and -b
print("two units = a product, max difference < 1e-5:", (product - a * b).abs().max().item() < 1e-5)

# %% [markdown]
# Three matrices instead of two would mean 1.5 times as many parameters. So that only the form changes, the hidden width goes down to 2/3 of what it was, from $4d$ to $\frac83 d$:

# %%
torch.manual_seed(0)
two, three = blocks.FeedForward(48, 4 * 48), blocks.SwiGLU(48, 8 * 48 // 3)
for name, network in {"two layers": two, "SwiGLU": three}.items():
    matrices = [tuple(p.shape) for p in network.parameters() if p.ndim == 2]
    print(f"{name}: {matrices}, {sum(a * b for a, b in matrices):,} numbers")
x = torch.randn(5, 48)
by_hand = silu(x @ three.w_gate.weight.T) * (x @ three.w_up.weight.T) @ three.w_down.weight.T
off = (three(x) - by_hand).abs().max().item()
print("by hand = the package, max difference < 1e-5:", off < 1e-5)

# %%
say_all("SwiGLU")
assert effect("SwiGLU").abs().max() < 0.03
assert last("SwiGLU", longer).max() < -0.02

# %% [markdown]
# Here the length of training decides what we see. After 200 steps there is hardly a gain, and in today's block SwiGLU even comes out a little behind, though by less than our rule asks for. After 800 steps it is ahead with every seed, by about 0.06 nats. That is about one and a half times the distance between its seeds, so by our rule it just counts.

# %% [markdown]
# Shazeer measured about 0.04 nats a *token* (ours are for a character), in models that were far larger and trained far longer. Why it is better he does not say. His paper ends with this sentence: "We offer no explanation as to why these architectures seem to work; we attribute their success, as all else, to divine benevolence." That a unit can multiply, as we have just seen, may be a reason, but nothing here tests it.

# %% [markdown]
# **Exercise 2** (10 minutes, medium). Families vary the gate. OpenAI's [gpt-oss](https://github.com/openai/gpt-oss/blob/main/gpt_oss/torch/model.py) makes three changes. Both projections are cut off first: neither may be above 7, and the one by `w_up` may not be below -7 either. The sigmoid in silu is taken of 1.702 times the gate, and then multiplied by the gate itself, as before. And 1 is added to the projection by `w_up`, so that a unit whose `w_up` is 0 still passes on its gate. Each matrix is applied as `x @ w`; the biases of the original are left out.

# %% exercise="swiglu"
def swiglu(x, w_gate, w_up, w_down):
    """(…, d_model), (d_model, d_ff) twice, (d_ff, d_model) -> (…, d_model), as gpt-oss has it."""
    return ...

# %%
exercises.swiglu.check(swiglu)

# %% [markdown]
# ## Swap 4: the sine → RoPE
#
# In 2017 an encoding of the position is added to $x$, at the input and once for all layers. **RoPE** ([Su et al., 2021](https://arxiv.org/abs/2104.09864)) adds nothing. It turns queries and keys, in every layer, by an angle that grows with their position. Lesson 03 derived what follows: a score depends on the *distance* between the two, and the values are not turned at all. What is new here is a matter of bookkeeping that has cost many people a day. *Which two features turn together?*

# %%
from transformer_lab import rotate as rope

x = torch.tensor([[0.0, 0, 0, 0], [1, 0, 0, 0]])  # row 1 has position 1
print("neighbours:", [round(value, 2) for value in rope(x)[1].tolist()])


def rope_of_halves(x):
    """Features i and i + d / 2 turn together, as in Hugging Face's code."""
    length, d_head = x.shape[-2:]
    angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, d_head, 2) / d_head)
    first, second = x.chunk(2, -1)  # (…, T, d_head / 2) each
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


print("halves:    ", [round(value, 2) for value in rope_of_halves(x)[1].tolist()])

# %% [markdown]
# In the paper and in Llama's own code, **neighbours** turn together, features 0 and 1, then 2 and 3. In Hugging Face's code the **halves** do, which for four features means 0 and 2, then 1 and 3. Neither is better. A score is a sum over features, and a sum does not depend on the order of its terms, so if the features of the queries and of the keys are put into the other order as well, every score stays what it was:

# %%
torch.manual_seed(0)
query, key = torch.randn(2, 7, 12)
order = torch.arange(12).view(6, 2).T.flatten()  # 0, 2, 4, …, then 1, 3, 5, …
scores = rope(query) @ rope(key).T
same = rope_of_halves(query[:, order]) @ rope_of_halves(key[:, order]).T
mixed = rope_of_halves(query) @ rope_of_halves(key).T
off, wrong = ((scores - other).abs().max().item() for other in (same, mixed))
print("other layout, features reordered: max difference < 1e-4:", off < 1e-4)
print(f"other layout, features as they were: off by {wrong:.1f} of {scores.abs().max():.1f}")

# %% [markdown]
# The second line is a real bug, and a quiet one, because all shapes fit, position 0 is right, and the model speaks, only badly. We shall meet it again below. Now for the loss:

# %%
say_all("RoPE")
beside_pre = effect("RoPE", frozenset({"pre-norm"}))  # the mean of 16 pairs, and so is the rest
say("RoPE, beside pre-norm ", beside_pre)
say("RoPE, beside post-norm", 2 * effect("RoPE") - beside_pre)
assert effect("RoPE").max() < -0.15
assert last("RoPE", longer).max() < -0.15

# %% [markdown]
# In two layers this is by far the largest effect of the six, about a fifth of a nat, and no seed comes anywhere near zero. It is there with either norm, and after 800 steps as well. Its size depends on the rate and on the length of the training. At a third of our rate it was 0.05 to 0.13 nats after 200 steps (four seeds), and at our own rate 0.11 to 0.12 are left after 2000 (two seeds).
#
# But is it the *turning* that helps? RoPE differs from the sine in more than one way, so we need controls. Two more models have everything of today's block except for RoPE. One learns a vector for each position, as GPT-2 does, and adds it where the sine is added. The other gets no positions at all, and finds some order only through the causal mask.

# %%
others = today - {"RoPE"}
kinds = {"no positions": others | {"no positions"}, "learned": others | {"learned positions"}}
kinds |= {"sine": others, "RoPE": today}
for name, names in kinds.items():
    print(f"today's block, {name:12}:", [round(loss, 2) for loss in table[names].tolist()])
assert table[kinds["RoPE"]].max() + 0.1 < table[kinds["sine"]].min()
assert table[kinds["sine"]].max() < table[kinds["no positions"]].min()

# %% [markdown]
# In so short a training, learned vectors are no better than no positions at all, perhaps because each of them has to be found from nothing. The sine is there from the first step and brings nearly a tenth of a nat, and RoPE, which is there from the first step as well, brings more than twice as much. So it is not enough that the sine has gone, or that nothing has to be learned: what helps is the way in which RoPE puts positions in. It turns instead of adding, it does so in every layer, and it leaves the values alone; which of these counts most, these controls do not tell.

# %% [markdown]
# ### A swap that changes two things
#
# We have kept the embeddings equal by force, and here is why. With the sine, our model draws embeddings of standard deviation $1/\sqrt d$ and multiplies them by $\sqrt d$ (the paper states only the factor). Hugging Face's Llama, which adds nothing to them, draws them with 0.02 and multiplies by nothing, as GPT-2 did. So whoever swaps "the sine for RoPE" by taking both models as they are changes two things at once. An earlier edition of this lesson did so, and drew a conclusion from it. The table has models with **small embeddings** of that kind, so you can repeat its mistake. **Predict** what it found for RoPE, and for pre-norm:

# %%
small = frozenset({"small embeddings"})
for norm, names in {"post-norm": today - {"pre-norm"}, "pre-norm": today}.items():
    sine = table[names - {"RoPE"}]
    say(f"{norm:9}, RoPE                     ", table[names] - sine)
    say(f"{norm:9}, RoPE and small embeddings", table[names | small] - sine)

# %%
today_as_it_is = table[today | small] - table[today - {"RoPE"}]
assert today_as_it_is.mean() > -0.05 > -0.1 > (table[today] - table[today - {"RoPE"}]).mean()

# %% [markdown]
# Beside pre-norm, RoPE now looks useless. And pre-norm itself looks nearly three times as expensive: with small embeddings it makes today's block worse by 0.23 nats, with the paper's by 0.08. The earlier edition reported something of the kind, and concluded that the two swaps get in each other's way. The cause was the embeddings, which had been changed along with the positions: small ones are a disadvantage beside pre-norm in so short a training. (It would have been as wrong to give both of them small embeddings, because the sine, which is added to them, nearly drowns them. In the table, today's block with the sine then ends at 2.8 nats where it ended at 2.3, and the block of 2017 stays near the bare frequencies, at 3.1.) A swap that changes two things measures neither.

# %% [markdown]
# ## Swap 5: fewer keys than queries
#
# To write the next token, a model reads the keys and the values of all tokens before it out of its cache (lesson 08), and that cache can become larger than the model. **Grouped-query attention** ([Ainslie et al., 2023](https://arxiv.org/abs/2305.13245)) makes it smaller by letting several heads ask the same keys. With $h$ heads and $g$ groups, head $i$ reads group $\lfloor i / (h/g) \rfloor$. By hand, with four heads and two groups, where the only value of each group says which group it is:

# %%
from transformer_lab.nn import attention

query = torch.randn(1, 4, 1, 2)  # (B, h, T, d_head)
key = torch.randn(1, 2, 1, 2)  # (B, g, S, d_head)
value = torch.tensor([0.0, 1.0]).view(1, 2, 1, 1).expand(1, 2, 1, 2)
output = attention.grouped_query_attention(query, key, value)  # (B, h, T, d_head)
print("the heads read groups", output[0, :, 0, 0].int().tolist())

# %% [markdown]
# Torch has it, too:

# %%
query, key, value = torch.randn(2, 6, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 8)
output = attention.grouped_query_attention(query, key, value)
of_torch = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
off = (output - of_torch).abs().max().item()
print(tuple(output.shape), "= torch's, max difference < 1e-5:", off < 1e-5)

# %% [markdown]
# **Exercise 3** (15 minutes, medium). Write it yourself, without a mask. Head $i$ of $h$ reads group `i // (h // g)` of the keys and values.

# %% exercise="grouped_query_attention"
def grouped_query_attention(query, key, value):
    """(B, h, T, d_head), (B, g, S, d_head) twice -> (B, h, T, d_head)."""
    return ...

# %%
exercises.grouped_query_attention.check(grouped_query_attention)

# %% [markdown]
# How much does it save? We look into a real cache, that of the block of 2017 without this swap and with it, after three texts of 64 characters:

# %%
from transformer_lab import KVCache

for names in ((), ("grouped queries",)):
    model, cache = swaps.build(names).to(device).eval(), KVCache()
    with torch.no_grad():
        model(tokens, cache)
    held = {tuple(tensor.shape) for tensor in cache.tensors.values()}
    size = sum(tensor.nbytes for tensor in cache.tensors.values())
    print(f"{len(cache.tensors)} tensors of shape {held}, {size:,} bytes")

# %% [markdown]
# With half of the groups the cache takes half of the bytes. **Exercise 4** (predict; 5 minutes, easy). Work out on paper how these bytes come about, and then for any model: how many bytes does a cache hold, when a decoder has read `length` tokens of each of `batch` texts? Code is only the last step.

# %% exercise="kv_cache_bytes"
def kv_cache_bytes(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    """A whole number."""
    return ...

# %%
exercises.kv_cache_bytes.check(kv_cache_bytes)

# %% [markdown]
# These bytes limit how many people one GPU can serve at the same time. [Llama 2](https://arxiv.org/abs/2307.09288) with 7 billion weights has 32 groups for its 32 heads and reads up to 4096 tokens, and [Llama 3](https://arxiv.org/abs/2407.21783) with 8 billion has 8 groups. For one text of 4096 tokens, with 2 bytes a number:

# %%
for name, groups in {"Llama 2 (7B), 32 groups": 32, "Llama 3 (8B), 8 groups": 8}.items():
    size = analysis.DecoderSize(32, n_heads=32, n_kv_heads=groups, d_head=128, d_ff=11008)
    print(f"{name}: {analysis.cache_bytes(size, 4096) / 2**30:.1f} GiB")

# %%
say_all("grouped queries")
assert effect("grouped queries").abs().mean() < 0.03

# %% [markdown]
# The loss hardly notices. But mind what was compared: the numbers that shared keys and values save have gone into a wider feed-forward network, so this is a trade, with a little less of attention and a little more of the network, and at this size it comes out about even. What the swap buys is the smaller cache. For large models Ainslie et al. report the same, a quality close to that with all keys and a speed close to that with a single group.

# %% [markdown]
# ## Swap 6: no biases
#
# [PaLM](https://arxiv.org/abs/2204.02311) left the biases out of its matrices and norms, and reports "increased training stability for large models" (section 2). Llama has none either, but not all families made this swap: [Qwen 2](https://arxiv.org/abs/2407.10671) keeps the biases of queries, keys and values, and gpt-oss those of its attention and its experts. There is not much to keep or to save. We count their share in a layer:

# %%
for d_model in (48, 4096):
    biases = 4 * d_model + (4 * d_model + d_model) + 2 * d_model  # attention, feed-forward, norms
    print(f"d_model {d_model}: {biases / (12 * d_model**2 + biases):.2%} of a layer's parameters")

# %%
say_all("no biases")
assert effect("no biases").abs().mean() < 0.02

# %% [markdown]
# The wider the model, the smaller their share. With each seed the models do a little better with their biases, but by less than our 0.03 nats even in today's block, so we leave it at that. About the stability of large models, a model of this size can say nothing.

# %% [markdown]
# ## All six
#
# Now you have met all six. In the view, the parts of 2017 are on the left and those of today on the right. Drag a part into the block between them, or press it, and see where the parts of your block come from, what it costs, and what loss was measured with three seeds. **Predict** first: there are 64 such blocks, so is today's, which has all six swaps, the best of them?

# %%
from transformer_lab import widgets

widgets.swaps(table)

# %%
ranked = sorted(map(frozenset, swaps.combinations()), key=lambda names: table[names].mean())
for names in (ranked[0], today):
    place = f"number {ranked.index(names) + 1} of {len(ranked)}"
    print(f"{place}, {table[names].mean():.2f} nats: {', '.join(sorted(names))}")

# %% [markdown]
# Today's block stands in the middle, because all 32 blocks with RoPE come before the 32 without, and among those with RoPE it is the last: most of its other swaps were not made for a lower loss. Undo *one* swap, and you see it. Without RoPE the loss is higher by 0.15 nats, and without pre-norm it is lower by 0.08, in this short training. Undoing any of the other four lowers it by about 0.02, which is less than the seeds of one model lie apart. (That all four point the same way adds little, because each is compared with the same three runs of today's block.) Here are the means of all pairs in one picture, a dot for each seed:

# %%
found = {swap: effect(swap) for swap in swaps.SWAPS}
label = "nats a character, with the swap minus without it"
ax = plots.plot_runs(found, x_label=label, lines={"no effect": 0})
plots.show(ax, alt="RoPE lies far left of no effect, pre-norm a little right, all others near")

# %% [markdown]
# **So what did each swap buy?** In models of this size only two bought a lower loss: RoPE about a fifth of a nat, from early on, and SwiGLU 0.06, but only in the longer training. Pre-norm bought depth, since it is what lets twelve layers learn at our rate, and in two layers it costs a little at first. The other three moved the loss by less than our 0.03 nats. Shared keys halve the cache, RMSNorm can save time, and without biases there is less to write and to store.
#
# The table knows one width and one rate. We have also trained for 800 steps at twice the width, and at a third of the rate (three seeds each, not in the table). RoPE gained 0.09 to 0.27 nats there and SwiGLU 0.03 to 0.08, and pre-norm cost hardly anything.

# %% [markdown]
# ## A run of your own
#
# You can believe a table, or you can test it. We train two of its models with a seed that is not in it, today's block, and the same with the sine in the place of RoPE (about 10 seconds):

# %% steps=200
seed, setup = 7, swaps.Setup(200)
chosen = {"RoPE": today, "sine": today - {"RoPE"}}
models = {name: swaps.train(corpus, names, seed, setup) for name, names in chosen.items()}

# %% tolerance=0.15
losses = {name: swaps.nats(corpus, model) for name, model in models.items()}
for name, loss in losses.items():
    print(f"{name}: {loss:.2f}, in the table {table[chosen[name]].mean():.2f}")
assert losses["RoPE"] < losses["sine"] - 0.05

# %% [markdown]
# RoPE is also said to help with texts that are longer than those of the training ([Su et al.](https://arxiv.org/abs/2104.09864) name "the flexibility of sequence length"). Our models have seen 64 characters at a time. Neither kind of position has weights of its own, so we can ask both for 128. Here is the loss from the 22nd to the 64th character (the first have little text before them), and beyond. **Predict** what becomes of each.

# %%
windows = ids[: 128 * 100].view(100, 128)


@torch.no_grad()
def nats_by_position(model, names):
    """(127,): the loss of each character but the first, in texts of twice the usual length."""
    longer = swaps.build(names, length=128).eval()
    longer.load_state_dict(model.state_dict())
    log_probs = longer(windows)[:, :-1].log_softmax(-1)
    return -log_probs.gather(-1, windows[:, 1:, None])[..., 0].mean(0)

# %% tolerance=0.5
beyond = {}
for name, model in models.items():
    first, second = nats_by_position(model, chosen[name]).split([63, 64])
    beyond[name] = (second.mean() - first[20:].mean()).item()
    print(f"{name}: within {first[20:].mean():.1f}, beyond {second.mean():.1f} nats")
assert min(beyond.values()) > 0.1

# %% [markdown]
# Both get worse where they have never been, so turning alone does not carry a model beyond the length of its training. How much worse depends on the seed, so one seed can't tell which of the two loses more. Models for long texts are trained on long texts, and turn more slowly ([Chen et al., 2023](https://arxiv.org/abs/2306.15595)).

# %% [markdown]
# ## The sum is Llama
#
# Now take all six. Is that Llama's block, or only something like it? We copy the weights of Hugging Face's model, from the beginning of the lesson, into ours. `copy_from_huggingface` renames them, and puts the rows of $W^Q$ and $W^K$ into the order of neighbours:

# %%
from transformer_lab.weights.modules import copy_from_huggingface

config = replace(swaps.config(today), norm_eps=llama.config.rms_norm_eps)
ours = LanguageModel(config).to(device).eval()
copy_from_huggingface(llama, ours)
with torch.no_grad():
    logits, theirs = ours(tokens), llama(tokens).logits
off = (logits - theirs).abs().max().item()
print(tuple(logits.shape), "logits = Hugging Face's, max difference < 1e-5:", off < 1e-5)

# %% [markdown]
# And with a cache, token for token? Both models continue the same three prompts for 40 tokens, always with the most probable one:

# %%
from transformer_lab import complete

start = tokens[:, :8]
mine = complete(ours, start, 40, top_k=1)
choice = {"attention_mask": torch.ones_like(start), "max_new_tokens": 40, "do_sample": False}
theirs = llama.generate(start, **choice)
print("the same tokens:", torch.equal(mine, theirs), tuple(mine.shape))

# %% [markdown]
# ## Break it
#
# Here is the quiet bug again. We copy the weights, but leave the rows of $W^Q$ and $W^K$ in the order of halves. Every shape fits, and nothing complains:

# %% tolerance=0.001
with torch.no_grad():
    for mine, other in zip(ours.layers, llama.model.layers):
        mine.self_attention.w_q.weight.copy_(other.self_attn.q_proj.weight)
        mine.self_attention.w_k.weight.copy_(other.self_attn.k_proj.weight)
    off = (ours(tokens) - llama(tokens).logits).abs().amax((0, 2))  # (T,)
for position in (0, 1, 63):
    print(f"position {position}: max difference of the logits {off[position].item():.4f}")
assert off[0] < 1e-5 < 1e-4 < off[1:].min()

# %% [markdown]
# At position 0 all agrees. A causal model sees one key there, with weight 1, so *no* mistake in queries or keys can show: with random numbers in $W^Q$ and $W^K$ position 0 agrees as well. From position 1 on, the model computes something else. So test a conversion on more than one token, and compare *logits*, because a model that is slightly wrong still writes.

# %% [markdown]
# **Exercise 5** (find the bug; 20 minutes, medium). This is one step of rotary attention with a cache, for one new position. `cache` (2, B, h, S, d_head) holds the keys, *turned already*, and the values of the S positions before it. `rotate(x, start)` turns the rows of x, the first of which has position `start`. There are three defects, and this is what was observed:
# - from the second token of a text on, the logits differ from those computed without a cache;
# - the same tokens get other scores among themselves when they stand later in the text;
# - where all values are equal, the outputs differ.

# %% exercise="mend_rotary_cache"
def mend_rotary_cache(query, key, value, cache, rotate):
    position = cache.size(-2)
    query = rotate(query, 0)
    key, value = rotate(torch.stack([key, value]), position)
    cache = torch.cat([cache, torch.stack([key, value])], dim=-2)
    keys, values = rotate(cache[0], 0), cache[1]
    weights = (query @ keys.mT / query.size(-1) ** 0.5).softmax(-1)
    return weights @ values, cache

# %%
exercises.mend_rotary_cache.check(mend_rotary_cache)

# %% [markdown]
# ## Remember
#
# - Six parts were replaced, and all six together are Llama's block, with the very same logits.
# - In these small models RoPE lowered the loss at once, and SwiGLU in the longer training. RMSNorm, shared keys and missing biases showed nothing; what they can save is time, memory and parameters.
# - A reason like "for depth" has to be tested in depth: with 12 layers and a large learning rate, only pre-norm learned anything that lasted.
# - A swap that changes two things measures neither. Keep the rest equal by force, and look at more than one seed.
# - RoPE has two layouts: compare logits, on more than one token.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. A model has 32 heads and 8 groups of keys and values. What becomes of its cache, and what of the FLOPs of its scores, compared with 32 groups?</summary>
# The cache is a quarter of the size. The FLOPs of the scores stay the same, because each of the 32 heads still asks one key of every token.
# </details>
# <details><summary>2. Why is the hidden width of SwiGLU 8/3 d_model, where it was 4 d_model?</summary>
# It has three matrices instead of two. At 2/3 of the width both have equally many numbers.
# </details>

# %% [markdown]
# <details><summary>3. You load published weights, and the first token's logits are right, but all others are a little wrong. What do you look at first?</summary>
# At the queries and keys, and first at the layout of RoPE, that is, at which two features turn together. At position 0 there is only one key, so no mistake in queries or keys shows there.
# </details>
# <details><summary>4. A swap lowers the loss with each of three seeds, by 0.004, 0.001 and 0.007. Does it help?</summary>
# You can't tell. Three seeds agree in their sign by chance in one case out of four, and the distance between the seeds is larger than their mean.
# </details>

# %% [markdown]
# **Next:** here the weights were random, or your own. [Lesson 12](12_published_weights.ipynb) brings weights that others have trained into your classes.

# %% [markdown]
# ## Extra: a mixture of experts
#
# Many large models since 2023 make one more swap. Instead of one feed-forward network, a layer has several, the **experts**, and a **router** that picks a few of them (here two) for each token ([Shazeer et al., 2017](https://arxiv.org/abs/1701.06538); [Mixtral](https://arxiv.org/abs/2401.04088)). So the model has many parameters, of which each token uses a part. By hand, a router that says 0, ln 3, -5 and -1 picks the two largest:

# %%
from transformer_lab import MixtureOfExperts, balance_loss, record_routing, route

says = torch.tensor([[0.0, math.log(3), -5.0, -1.0]])
print("weights:", [round(weight, 2) for weight in route(says, top_k=2)[0].tolist()])
torch.manual_seed(0)
mixture = MixtureOfExperts(d_model=48, d_ff=72, n_experts=4, top_k=2)
dense = blocks.SwiGLU(48, 144)
for name, network in {"dense": dense, "mixture": mixture}.items():
    numbers = sum(p.numel() for p in network.parameters() if p.ndim == 2)
    print(f"{name}: {numbers:,} numbers in matrices")

# %% [markdown]
# Nothing keeps a router from sending all tokens to the same experts, and those that get many tokens learn most. The **load-balancing loss** of [Switch](https://arxiv.org/abs/2101.03961) (equations 4 to 6) pushes against that. It is $n \sum_i f_i P_i$, where $f_i$ is the share of the choices that fell on expert $i$, and $P_i$ its mean probability. It is 1 if all get the same.

# %%
even = 9 * torch.eye(4)  # four tokens, each of which wants another expert
for name, logits in {"even": even, "all on one": even[:1].repeat(4, 1)}.items():
    print(f"{name}: {balance_loss(logits, top_k=1):.2f}")

# %% [markdown]
# We train today's model with experts, once without that loss and once with it, for 80 steps each (10 seconds):

# %%
from transformer_lab import training

examples = training.TextExamples(Characters(PRINTABLE).encode(corpus.text("train")), 64)


class WithExperts(training.TextTraining):
    balance = 0.0

    def loss(self, batch):
        with record_routing(self.model) as said:
            loss = super().loss(batch)
        return loss + self.balance * sum(balance_loss(logits, 2) for logits in said)


def train_experts(balance, steps, seed=0):
    torch.manual_seed(seed)
    model = swaps.build(today)
    for layer in model.layers:
        layer.feed_forward = MixtureOfExperts(48, 72, n_experts=4, top_k=2)
    run = WithExperts(model, examples, training.TextRecipe(steps, peak_rate=1e-2, seed=seed))
    run.balance = balance
    for _ in run.run(steps):
        pass
    return run.model

# %% steps=80
free, balanced = train_experts(0.0, steps=80), train_experts(0.1, steps=80)

# %% tolerance=0.4
shares = {}
for name, model in {"free": free, "balanced": balanced}.items():
    with torch.no_grad(), record_routing(model) as said:
        model(windows[:, :64])
    shares[name] = torch.stack([(route(logits, 2) > 0).float().mean(0) / 2 for logits in said])
    for number, layer in enumerate(shares[name]):
        print(f"{name}, layer {number}:", [round(share, 2) for share in layer.tolist()])
assert shares["balanced"].std() < shares["free"].std()

# %% [markdown]
# Without the loss, the shares of layer 1 drift far apart. Those of layer 0 came out even here, but with three other seeds they stayed about as uneven as before the training. With the loss, the shares come close to a quarter in both layers. But for its small router, the mixture computes as much for each token as the dense network, and it holds twice as many weights. Whether that lowers the loss is a question for a longer training than this one.
