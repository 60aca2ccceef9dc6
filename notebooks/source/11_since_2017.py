# %% [markdown]
# # 11 · Since 2017
#
# From the paper's block to the one in today's chat models, one swap at a time, each measured.
#
# **You will be able to**
# - name the six parts that were replaced, and write each new one by hand,
# - say what each saves or buys, and how sure you are of it,
# - rebuild Llama's block, with the very same logits.
#
# **You need** lessons 03, 04, 08 and 09. **Papers:** [Llama](https://arxiv.org/abs/2302.13971), section 2.2; [GQA](https://arxiv.org/abs/2305.13245). **Time:** 60 minutes, the exercises 50 more.

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
# The models that run on a laptop, Llama, Mistral, Qwen and many others, share one block, with small changes. Here it is, small and with random weights, out of Hugging Face's `transformers` (which takes some seconds to load):

# %%
from transformers import LlamaConfig, LlamaForCausalLM

sizes = {"vocab_size": 98, "hidden_size": 48, "intermediate_size": 144, "num_hidden_layers": 2}
heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
ends = {"bos_token_id": None, "eos_token_id": None, "tie_word_embeddings": True}
torch.manual_seed(0)
llama = LlamaForCausalLM(LlamaConfig(**sizes, **heads, **ends)).to(device).eval()

# %% [markdown]
# And here is the block of the 2017 paper, without its encoder and cross-attention, so that it is a language model as in lesson 09. These are the weights of one layer of each:

# %%
paper = LanguageModel(swaps.config(())).to(device)
for name, layer in {"2017": paper.layers[0], "Llama": llama.model.layers[0]}.items():
    print(f"{name}:")
    for part, weight in layer.named_parameters():
        print(f"  {part:30}", *weight.shape)

# %% [markdown]
# No bias is left, and the norms have one vector each. The feed-forward network has three matrices instead of two, and the keys and values are half as wide as the queries. What the list does not show: the norms have moved, and the sine is gone. **What did each swap buy?** Papers give reasons, and the reasons differ: some parts make training stable, some save memory, some lower the loss, and some make the code shorter. You will take them one at a time.
#
# ![Six pairs, 2017 and today: norm after and before, LayerNorm and RMSNorm, ReLU and SwiGLU, added sines and RoPE, eight keys and two, with and without biases.](../img/11_swaps.svg)

# %% [markdown]
# ## Swap 1: the norm moves in front
#
# 2017: $\text{norm}(x + f(x))$, **post-norm**. Since GPT-2: $x + f(\text{norm}(x))$, **pre-norm** ([Xiong et al., 2020](https://arxiv.org/abs/2002.04745)). Lesson 04 found what it buys: in deep stacks, nothing stands in the way of the gradient any more. Here is the other side, by hand: a vector of length 5, and layers of which each adds half of the normalised vector. **Predict** how long it is after 24 layers of either kind:

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
# Post-norm shrinks the sum back to length 1 each time, and what came in shrinks with it. Pre-norm leaves the sum alone, and it grows. That has a price: one last norm must stand in front of the output matrix. It is the only new part.

# %% [markdown]
# ## Swap 2: LayerNorm → RMSNorm
#
# LayerNorm subtracts the mean, then divides by the standard deviation. **RMSNorm** ([Zhang & Sennrich, 2019](https://arxiv.org/abs/1910.07467)) only divides, by the **root mean square**:
#
# $$\text{RMSNorm}(x) = \frac{x}{\sqrt{\frac{1}{d}\sum_i x_i^2 + \epsilon}} \odot w$$
#
# By hand, for the vector (1, 7), with a weight of 1: its mean is 4, and the mean of its squares is (1 + 49) / 2 = 25.

# %%
x = torch.tensor([1.0, 7.0])
centred = x - x.mean()
print("LayerNorm:", (centred / centred.square().mean().sqrt()).tolist())
print("RMSNorm:  ", [round(value, 1) for value in (x / x.square().mean().sqrt()).tolist()])

# %% [markdown]
# Of a vector of two features LayerNorm leaves only which one is larger. RMSNorm keeps their ratio, 1 : 7. The two are related: LayerNorm without bias is RMSNorm of $x$ minus its mean.

# %%
torch.manual_seed(0)
x, weight = torch.randn(5, 48) + 2, torch.rand(48)
centred = x - x.mean(-1, keepdim=True)
layer = blocks.layer_norm(x, weight, torch.zeros(48), 1e-5)
difference = (layer - blocks.rms_norm(centred, weight, 1e-5)).abs().max().item()
print("LayerNorm(x) = RMSNorm(x - mean), max difference < 1e-5:", difference < 1e-5)
of_torch = F.rms_norm(x, (48,), weight, 1e-5)
difference = (of_torch - blocks.rms_norm(x, weight, 1e-5)).abs().max().item()
print("the package's RMSNorm = torch's, max difference < 1e-5:", difference < 1e-5)

# %% [markdown]
# What it gives up is an invariance: add the same number to all features, and LayerNorm does not notice; RMSNorm does. What it saves is small: one vector of parameters, the subtraction, and one of two means. Count the operations on each number of a vector, beside those of the matrices that surround it:

# %%
moved = [(norm(x + 100) - norm(x)).abs().max().item() for norm in (
    lambda x: blocks.layer_norm(x, weight, torch.zeros(48), 1e-5),
    lambda x: blocks.rms_norm(x, weight, 1e-5),
)]  # fmt: skip
print("after + 100, LayerNorm moved by less than 0.001:", moved[0] < 1e-3)
print(f"and RMSNorm by {moved[1]:.1f}")
for d_model in (48, 4096):
    matrices = 2 * 12 * d_model**2  # FLOPs of a layer for one position
    share = [2 * ops * d_model / matrices for ops in (7, 4)]  # two norms
    print(f"d_model {d_model}: LayerNorm {share[0]:.3%} of a layer's FLOPs, RMSNorm {share[1]:.3%}")

# %% [markdown]
# ## Swap 3: ReLU → SwiGLU
#
# In 2017 the feed-forward network is $\max(0, x W_1) W_2$. **SwiGLU** ([Shazeer, 2020](https://arxiv.org/abs/2002.05202)) has two projections side by side. One is the **gate**: it goes through silu, $z \cdot \sigma(z)$, and then decides how much of the other passes:
#
# $$\text{SwiGLU}(x) = \big(\text{silu}(x W_{gate}) \odot x W_{up}\big)\, W_{down}$$
#
# One hidden unit by hand: the gate says 2, the other projection 6.

# %%
def silu(z):
    return z * torch.sigmoid(z)


for gate in (-4.0, 0.0, 2.0):
    passed = silu(torch.tensor(gate)).item() * 6
    print(f"gate {gate:4}: silu {silu(torch.tensor(gate)):5.2f}, passes {passed:5.2f} of 6")

# %% [markdown]
# A gate far below 0 lets nearly nothing pass; and one above 1.28 makes it larger: the unit *multiplies* two features of $x$, which a ReLU can't. Three matrices instead of two would be half as many parameters again. So that only the form changes, the hidden width goes down to 2/3: from $4d$ to $\frac83 d$.

# %%
torch.manual_seed(0)
two, three = blocks.FeedForward(48, 4 * 48), blocks.SwiGLU(48, 8 * 48 // 3)
for name, network in {"two layers": two, "SwiGLU": three}.items():
    matrices = [tuple(p.shape) for p in network.parameters() if p.ndim == 2]
    print(f"{name}: {matrices}, {sum(a * b for a, b in matrices):,} numbers")
x = torch.randn(5, 48)
by_hand = silu(x @ three.w_gate.weight.T) * (x @ three.w_up.weight.T) @ three.w_down.weight.T
difference = (three(x) - by_hand).abs().max().item()
print("by hand = the package, max difference < 1e-5:", difference < 1e-5)

# %% [markdown]
# Why is it better? The paper's last sentence on it: "We offer no explanation as to why these architectures seem to work; we attribute their success, as all else, to divine benevolence."

# %% [markdown]
# ## Swap 4: the sine → RoPE
#
# Instead of adding an encoding to $x$, **RoPE** ([Su et al., 2021](https://arxiv.org/abs/2104.09864)) turns queries and keys, by an angle that grows with their position. Lesson 03 derived it: a score then depends on the *distance* of the two, and the values carry no position at all. What is new here is a matter of bookkeeping that has cost many people a day. *Which two features turn together?*

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
# In the paper and in Llama's own code, **neighbours** turn together: features 0 and 1, 2 and 3. In Hugging Face's, the **halves** do: 0 and 2, 1 and 3 of four. Neither is better. A score is a sum over features, and a sum has no order; so if the *weights* of queries and keys are put into the other order as well, nothing changes:

# %%
torch.manual_seed(0)
query, key = torch.randn(2, 7, 12)
order = torch.arange(12).view(6, 2).T.flatten()  # 0, 2, 4, …, then 1, 3, 5, …
scores = rope(query) @ rope(key).T
same = rope_of_halves(query[:, order]) @ rope_of_halves(key[:, order]).T
mixed = rope_of_halves(query) @ rope_of_halves(key).T
difference, wrong = ((scores - other).abs().max().item() for other in (same, mixed))
print("other layout, weights reordered: max difference < 1e-4:", difference < 1e-4)
print(f"other layout, weights as they were: off by {wrong:.1f} of {scores.abs().max():.1f}")

# %% [markdown]
# The second line is a real bug, and a quiet one: all shapes fit, position 0 is right, and the model speaks, badly.

# %% [markdown]
# ## Swap 5: fewer keys than queries
#
# To write the next token, a model reads the keys and values of all tokens before it out of its cache (lesson 08). **Grouped-query attention** ([Ainslie et al., 2023](https://arxiv.org/abs/2305.13245)) lets several heads ask the same keys: with $h$ heads and $g$ groups, head $i$ reads group $\lfloor i / (h/g) \rfloor$. By hand, four heads and two groups; each group's only value says which it is:

# %%
from transformer_lab.nn import attention

query = torch.randn(1, 4, 1, 2)  # (B, h, T, d_head)
key = torch.randn(1, 2, 1, 2)  # (B, g, S, d_head)
value = torch.tensor([0.0, 1.0]).view(1, 2, 1, 1).expand(1, 2, 1, 2)
output = attention.grouped_query_attention(query, key, value)  # (B, h, T, d_head)
print("the heads read groups", output[0, :, 0, 0].int().tolist())

# %%
query, key, value = torch.randn(2, 6, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 8)
output = attention.grouped_query_attention(query, key, value)
copies = key.repeat_interleave(2, 1), value.repeat_interleave(2, 1)  # 0, 0, 1, 1, 2, 2
of_torch = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
of_copies = F.scaled_dot_product_attention(query, *copies)
for name, other in {"copies": of_copies, "torch's": of_torch}.items():
    print(f"= {name}, max difference < 1e-5:", (output - other).abs().max().item() < 1e-5)

# %% [markdown]
# What it saves is counted: 2 (keys and values) · layers · groups · d_head · length · texts · bytes. Then look into a real cache, of our two models:

# %%
from transformer_lab import KVCache

tokens = torch.randint(98, (3, 64), device=device)
for names in ((), ("grouped queries",)):
    model = LanguageModel(swaps.config(names)).to(device).eval()
    cache, groups = KVCache(), model.config.n_kv_heads or 4
    with torch.no_grad():
        model(tokens, cache)
    held = sum(tensor.nbytes for tensor in cache.tensors.values())
    size = analysis.DecoderSize(2, n_heads=4, n_kv_heads=groups, d_head=12, d_ff=144)
    print(f"{groups} groups: counted {analysis.cache_bytes(size, 64, 3, 4):,}, held {held:,} bytes")

# %% [markdown]
# Half the bytes for half the groups. In a model that people use, this decides how many of them a GPU can serve at once. For one text of 8192 tokens, with 2 bytes a number:

# %%
for name, groups in {"32 groups, as in Llama 2 (7B)": 32, "8 groups, as in Llama 3": 8}.items():
    size = analysis.DecoderSize(32, n_heads=32, n_kv_heads=groups, d_head=128, d_ff=11008)
    print(f"{name}: {analysis.cache_bytes(size, 8192) / 2**30:.0f} GiB")

# %% [markdown]
# ## Swap 6: no biases
#
# [PaLM](https://arxiv.org/abs/2204.02311) left the biases out of its matrices and norms, and reports "increased training stability for large models" (section 2); Llama has none either. Their share is small anyway, and the wider the model, the smaller. Count it for a layer:

# %%
for d_model in (48, 4096):
    biases = 4 * d_model + (4 * d_model + d_model) + 2 * d_model  # attention, feed-forward, norms
    print(f"d_model {d_model}: {biases / (12 * d_model**2 + biases):.2%} of a layer's parameters")

# %% [markdown]
# ## What did each buy?
#
# Six swaps can be combined in 64 ways. All 64 models were trained on Python's own source, as in lesson 09: 2 layers, d_model 48, 400 steps. To be fair, the matrices of all have equally many numbers: what a swap saves goes into a wider feed-forward network. That makes the FLOPs equal, too. Count the multiplications that torch really does:

# %%
from torch.utils.flop_counter import FlopCounterMode

from transformer_lab import record_attention

today = tuple(swaps.SWAPS)
for name, chosen in {"2017": (), "today": today}.items():
    model = LanguageModel(swaps.config(chosen)).to(device).eval()
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), record_attention(model), counter:
        model(tokens[:1])
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{name}: {parameters:,} parameters, {counter.get_total_flops():,} FLOPs for 64 tokens")

# %% [markdown]
# The table came from `python -m transformer_lab.training.experiments.swaps` (about 15 minutes). For each swap it has 32 pairs of models that differ in it alone, of one seed each; the 14 models that are compared one by one were trained with three seeds. **Predict** before you go on: which swap lowers the loss most, which does nothing, and which makes it worse?

# %%
rows = load_table("swaps")
table, deep = ({frozenset(row["swaps"]): torch.tensor(row["losses"]) for row in rows
                if row["n_layers"] == n_layers} for n_layers in (2, 12))  # fmt: skip


def effects(swap):
    """(32,): for each pair, of the first seed, the loss with the swap less the one without."""
    without = [frozenset(names) for names in swaps.combinations() if swap not in names]
    return torch.stack([table[names | {swap}][0] - table[names][0] for names in without])


# %%
found = {swap: effects(swap) for swap in swaps.SWAPS}
mean = {swap: pairs.mean().item() for swap, pairs in found.items()}
for swap, pairs in found.items():
    error, lower = pairs.std().item() / 32**0.5, (pairs < 0).sum()
    print(f"{swap:16} {mean[swap]:+.3f} ± {error:.3f} nats, lower in {lower:2} of 32 pairs")
assert found["RoPE"].max() < 0 < found["pre-norm"].min()
little = [abs(mean[swap]) for swap in ("RMSNorm", "grouped queries", "no biases")]
assert mean["SwiGLU"] < -0.03
assert max(little) < 0.02

# %%
label = "nats a character, with the swap less without"
ax = plots.plot_runs(found, x_label=label, lines={"no effect": 0})
plots.show(ax, alt="All pairs of RoPE lie below zero, nearly all of SwiGLU, and none of pre-norm.")

# %% [markdown]
# RoPE lowers the loss in every pair, by 0.12 nats on average, and SwiGLU in nearly every one, by 0.04. RMSNorm and grouped queries change less than 0.01: at this size they buy nothing to speak of, but they cost nothing either, and half of the cache is saved all the same. Leaving out the biases costs 0.01. And pre-norm makes these models *worse*, in every pair, by 0.08. (± is one standard error; a mean within two of them may be chance.)

# %% [markdown]
# Does RoPE win by turning, or by what it leaves out? It also drops the paper's scaling of the embeddings. So here is a control: *learned* positions, as in GPT-2, without that scaling and without turning.

# %%
others = frozenset(today) - {"RoPE"}
kinds = {"sine": others, "learned": others | {swaps.CONTROL}, "RoPE": others | {"RoPE"}}
for name, names in kinds.items():
    print(f"today's block with {name:8}", [round(loss, 2) for loss in table[names].tolist()])
assert table[kinds["RoPE"]].max() < table[kinds["sine"]].min()
assert table[kinds["sine"]].max() < table[kinds["learned"]].min()

# %% [markdown]
# Leaving out the scaling alone is not enough, so the turning is the likelier cause. (Learned positions may catch up in a longer training: each of their vectors has to be found from nothing.)
#
# And pre-norm, which makes these models *worse*? Its reason was depth, and two layers are not deep. So the table has one pair more, of 12 layers: all swaps, and all but pre-norm, 200 steps. **Predict** both.

# %%
without_pre = frozenset(today[1:])
for name, found_losses in {"2 layers": table, "12 layers": deep}.items():
    for norm, names in {"post-norm": without_pre, "pre-norm": frozenset(today)}.items():
        losses = found_losses[names]
        print(f"{name}, {norm:9}", [round(loss, 2) for loss in losses.tolist()])
assert table[without_pre].max() < table[frozenset(today)].min()
assert deep[without_pre].min() > deep[frozenset(today)].max() + 0.3

# %% [markdown]
# With two layers post-norm is ahead, with twelve it has hardly begun to learn. So this is what the swap bought with a short warm-up: not a lower loss, but depth. In 2017 post-norm models of six layers were trained with a long warm-up; today's have 32 layers or 80. (Is it only the rate? With `swaps.train(corpus, names, 0, 200, 12, rate=1e-3)`, a tenth of it, post-norm ends at 3.16 once more, and pre-norm at 2.94; that is one seed.)

# %% [markdown]
# ## Look
#
# Choose swaps, and see the block of 2017 beside yours: which parts change, what it costs, and the loss that was measured. **Predict** first: does RoPE buy as much beside pre-norm as beside post-norm?

# %%
from transformer_lab import widgets

widgets.swaps(table)

# %% [markdown]
# It does not. Beside post-norm RoPE lowers the loss by 0.17 on average, beside pre-norm by half as much. Swaps are not independent: what one buys depends on what stands around it. So a table of single swaps, as papers have them, holds for the block that it was made with.

# %% [markdown]
# ## A run of your own
#
# A table can be believed, or tried. Train two of its models with a seed that is not in it: today's, and today's with the sine in place of RoPE (15 to 20 seconds).

# %%
from transformer_lab.data.texts import PRINTABLE, Characters, python_source

corpus, seed = python_source(), 7
chosen = {"RoPE": today, "sine": tuple(swap for swap in today if swap != "RoPE")}
torch.manual_seed(seed)
models = {name: swaps.train(corpus, names, seed) for name, names in chosen.items()}

# %% tolerance=0.15
losses = {name: swaps.nats(corpus, model) for name, model in models.items()}
for name, loss in losses.items():
    print(f"{name}: {loss:.2f}, in the table {table[frozenset(chosen[name])].mean():.2f}")
assert losses["RoPE"] < losses["sine"]

# %% [markdown]
# RoPE is also said to help with texts longer than those of the training. These models have seen 64 characters at a time. Neither kind of position has weights, so both can be asked for 128. Here is the loss from the 22nd to the 64th character, and beyond. **Predict** what becomes of each.

# %%
ids = Characters(PRINTABLE).encode(corpus.text("test")[: 128 * 100]).view(100, 128)


@torch.no_grad()
def nats_by_position(model):
    """(127,): the loss of each character but the first, in texts of twice the usual length."""
    longer = LanguageModel(replace(model.config, max_len=128)).eval()
    longer.load_state_dict(model.state_dict())
    log_probs = longer(ids)[:, :-1].log_softmax(-1)
    return -log_probs.gather(-1, ids[:, 1:, None])[..., 0].mean(0)


# %% tolerance=0.5
beyond = {}
for name, model in models.items():
    first, second = nats_by_position(model).split([63, 64])
    beyond[name] = (second.mean() - first[20:].mean()).item()
    print(f"{name}: within {first[20:].mean():.1f}, beyond {second.mean():.1f} nats")

# %% [markdown]
# Both get worse where they have never been: RoPE by about 0.7 nats here, the sine by 0.9. So turning alone does not make a model read on; models for long texts are trained on some, and turn more slowly ([Chen et al., 2023](https://arxiv.org/abs/2306.15595)).

# %% [markdown]
# ## The sum is Llama
#
# Now take all six. Is that Llama's block, or only something like it? Copy the weights of Hugging Face's model, from the first cell, into ours. `copy_from_huggingface` renames them, and puts the rows of $W^Q$ and $W^K$ into the order of neighbours:

# %%
from transformer_lab.weights.modules import copy_from_huggingface

config = replace(swaps.config(today), norm_eps=llama.config.rms_norm_eps)
ours = LanguageModel(config).to(device).eval()
copy_from_huggingface(llama, ours)
with torch.no_grad():
    logits, theirs = ours(tokens), llama(tokens).logits
    difference = (logits - theirs).abs().max().item()
print(tuple(logits.shape), "logits = Hugging Face's, max difference < 1e-5:", difference < 1e-5)

# %% [markdown]
# And with a cache, token for token: each model writes 40 tokens behind the same three beginnings, always the most probable one.

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
# Copy the weights, and leave the rows of $W^Q$ and $W^K$ as they are. Every shape fits, and nothing complains:

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
# At position 0 nothing is turned, and all agrees. From position 1 on the model computes something else. So test a conversion on more than one token; and compare *logits*, since a model that is slightly wrong still writes.

# %% [markdown]
# ## Extra: a mixture of experts
#
# Many large models since 2023 swap one thing more. Instead of one feed-forward network a layer has several, the **experts**, and a **router** that picks a few of them (here two) for each token ([Shazeer et al., 2017](https://arxiv.org/abs/1701.06538); [Mixtral](https://arxiv.org/abs/2401.04088)): many parameters, of which each token uses a part. By hand, a router that says 0, ln 3, -5 and -1, and picks the two largest:

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
# Nothing keeps a router from sending all tokens to the same experts, and those that get many learn most. The **load-balancing loss** of [Switch](https://arxiv.org/abs/2101.03961) (equations 4 to 6) pushes against it: $n \sum_i f_i P_i$, with $f_i$ the share of the choices that fell on expert $i$, and $P_i$ its mean probability. It is 1 if all get the same.

# %%
even = 9 * torch.eye(4)  # four tokens, each of which wants another expert
for name, logits in {"even": even, "all on one": even[:1].repeat(4, 1)}.items():
    print(f"{name}: {balance_loss(logits, top_k=1):.2f}")

# %% [markdown]
# Train today's model with experts, once without that loss and once with it, 80 steps each (10 seconds):

# %%
from transformer_lab import training

windows = training.TextExamples(Characters(PRINTABLE).encode(corpus.text("train")), 64)


class WithExperts(training.TextTraining):
    balance = 0.0

    def loss(self, batch):
        with record_routing(self.model) as said:
            loss = super().loss(batch)
        return loss + self.balance * sum(balance_loss(logits, 2) for logits in said)


def train_experts(balance, seed=0):
    torch.manual_seed(seed)
    model = LanguageModel(swaps.config(today))
    for layer in model.layers:
        layer.feed_forward = MixtureOfExperts(48, 72, n_experts=4, top_k=2)
    run = WithExperts(model, windows, training.TextRecipe(80, peak_rate=1e-2, seed=seed))
    run.balance = balance
    for _ in run.run(80):
        pass
    return run.model


# %%
free, balanced = train_experts(balance=0.0), train_experts(balance=0.1)

# %% tolerance=0.4
shares = {}
for name, model in {"free": free, "balanced": balanced}.items():
    with torch.no_grad(), record_routing(model) as said:
        model(ids[:, :64])
    shares[name] = torch.stack([(route(logits, 2) > 0).float().mean(0) / 2 for logits in said])
    for number, layer in enumerate(shares[name]):
        print(f"{name}, layer {number}:", [round(share, 2) for share in layer.tolist()])
assert shares["balanced"].std() < shares["free"].std()

# %% [markdown]
# Without the loss the shares of a layer drift apart; with it they stay nearer to a quarter each. For a token the mixture computes as much as the dense network, and holds twice as many weights. Whether that lowers the loss is a question for a longer training than this.

# %% [markdown]
# ## Exercises
#
# **1.** (5 minutes, easy) The norm of today's models, for any number of leading axes.

# %% exercise="rms_norm"
def rms_norm(x, weight, eps):
    """(…, d_model) -> (…, d_model): each vector with a root mean square of 1, then scaled."""
    return ...

# %%
exercises.rms_norm.check(rms_norm)

# %% [markdown]
# **2.** (5 minutes, easy) The network with a gate. Each matrix is applied as `x @ w`.

# %% exercise="swiglu"
def swiglu(x, w_gate, w_up, w_down):
    """(…, d_model), (d_model, d_ff) twice, (d_ff, d_model) -> (…, d_model)."""
    return ...

# %%
exercises.swiglu.check(swiglu)

# %% [markdown]
# **3.** (15 minutes, medium) Attention in which head $i$ of $h$ reads group `i // (h // g)` of the keys and values. There is no mask.

# %% exercise="grouped_query_attention"
def grouped_query_attention(query, key, value):
    """(B, h, T, d_head), (B, g, S, d_head) twice -> (B, h, T, d_head)."""
    return ...

# %%
exercises.grouped_query_attention.check(grouped_query_attention)

# %% [markdown]
# **4.** (Predict; 5 minutes, easy) How many bytes does a cache hold, when a decoder has read `length` tokens of each of `batch` texts? Work it out on paper; the cell is the last step.

# %% exercise="kv_cache_bytes"
def kv_cache_bytes(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    """A whole number."""
    return ...

# %%
exercises.kv_cache_bytes.check(kv_cache_bytes)

# %% [markdown]
# **5.** (Find the bug; 20 minutes, medium) One step of rotary attention with a cache, for one new position. `cache` (2, B, h, S, d_head) holds the keys, *turned already*, and the values of the S positions before it. `rotate(x, start)` turns the rows of x, the first of which has position `start`. There are three defects. A text's second token gets other logits than without a cache. The same tokens get other scores among themselves later in the text. And where all values are equal, the outputs differ.

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
# - Six parts were replaced; all six together are Llama's block, with the very same logits.
# - RMSNorm divides by the root mean square; SwiGLU's gate multiplies; RoPE turns queries and keys.
# - At two layers RoPE bought most, SwiGLU a little; RMSNorm and grouped queries cost nothing, and save operations and half the cache.
# - A reason like "for depth" has to be tested in depth.
# - RoPE has two layouts: compare logits, on more than one token.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. A model has 32 heads and 8 groups of keys and values. What becomes of its cache, and what of the FLOPs of its scores, beside 32 groups?</summary>
# The cache holds a quarter. The FLOPs of the scores stay: every query still asks every key.
# </details>
# <details><summary>2. Why is the hidden width of SwiGLU 8/3 d_model, where it was 4 d_model?</summary>
# It has three matrices instead of two; at 2/3 of the width both have equally many numbers.
# </details>

# %% [markdown]
# <details><summary>3. You load published weights, and the first token's logits are right, all others a little wrong. What do you look at first?</summary>
# At the layout of RoPE: which two features turn together. At position 0 nothing turns.
# </details>
# <details><summary>4. A swap lowers the loss in 20 of 32 pairs, by 0.005 ± 0.005 on average. Does it help?</summary>
# You can't tell: by chance alone about 16 would be lower, give or take 3, and the mean is no larger than its error.
# </details>

# %% [markdown]
# **Next:** here the weights were random, or your own. [Lesson 12](12_published_weights.ipynb) brings weights that others have trained into your classes.
