# %% [markdown]
# # 13 · Fast and equal
#
# In this lesson you make attention and decoding cheaper, and show each time that the results stay the same.
#
# **You will be able to**
# - work attention out in tiles, forward and backward, without ever storing the weights,
# - find out where the time of an operation goes, with a control for each suspect,
# - let a cheap draft write for a model, without changing what the model says.
#
# **You need** lessons 01, 05, 08 and 09. **Papers:** [FlashAttention](https://arxiv.org/abs/2205.14135), [speculative decoding](https://arxiv.org/abs/2211.17192). **Time:** 55 minutes, the exercises 100 more.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import math
import os
import time

import torch
import torch.nn.functional as F

from transformer_lab import analysis, default_device, exercises, plots
from transformer_lab.nn import attention

torch.set_num_threads(1)  # so that times of the same cell can be compared
device = default_device()
# %% [markdown]
# ## The question
#
# In the lessons so far, whenever nobody asked attention for its weights (`need_weights=False`), it handed the work to PyTorch's fused kernel. Here we run that kernel beside the plain code of lesson 01, on a text of 4096 tokens and with one head.
#
# `seconds` takes the fastest of a few runs, and `in_turn` lets the computations that are compared take turns, so that all of them meet the machine in the same state. Both read processor time rather than the clock, because the clock also counts what other programs do in the meantime. (With a GPU, whose work processor time leaves out, and on Windows they read the clock.) `analysis.peak_bytes` counts how much memory a computation holds at its worst moment.

# %%
from functools import partial

by_processor = device.type == "cpu" and os.name == "posix"  # Windows counts it in steps of 16 ms
now = time.process_time if by_processor else time.perf_counter


def seconds(compute, *given, repeats=5):
    times = []
    for _ in range(repeats):
        start = now()
        compute(*given)
        if device.type != "cpu":
            getattr(torch, device.type).synchronize()  # a GPU works on after a call returns
        times.append(now() - start)
    return min(times)


def in_turn(computations, turns=3):
    """The fastest run of each; in every turn each of them runs twice."""
    found = {name: [] for name in computations}
    for name in [*computations] * turns:
        found[name].append(seconds(computations[name], repeats=2))
    return {name: min(times) for name, times in found.items()}


def plain(query, key, value):
    return attention.scaled_dot_product_attention(query, key, value)[0]
# %% tolerance=20
torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 1, 4096, 64, device=device)  # (B, h, T, d) each
ways = {"plain": plain, "fused": F.scaled_dot_product_attention}
runs = {name: partial(way, query, key, value) for name, way in ways.items()}
took = in_turn(runs)
held = {name: analysis.peak_bytes(run) for name, run in runs.items()}
for name in ways:
    print(f"{name}: {1000 * took[name]:.1f} ms, {held[name] / 1e6:.0f} MB")
assert device.type != "cpu" or took["fused"] < took["plain"]
assert held["fused"] < held["plain"] / 50
# %%
difference = (plain(query, key, value) - ways["fused"](query, key, value)).abs().max().item()
print("max difference < 1e-5:", difference < 1e-5)
# %% [markdown]
# On every processor on which we have run this, the fused kernel was two to four times as fast as the plain code. It needs a hundredth of the memory, and its numbers are the same. (A GPU is another matter, to which we shall come.) Nearly all of the memory of the plain code goes into two matrices of 4096 × 4096 numbers, the scores and the weights, of 67 MB each. The fused kernel makes neither of them. But a softmax divides by the sum over *all* keys, so how can it be worked out without ever having all of them at once?
#
# **Faster, with a hundredth of the memory, and the same numbers: how?**

# %% [markdown]
# ## By hand: a softmax in parts
#
# Let us try it on five scores that arrive in two chunks, first 1 and 3, then 5, 4 and 2. As in every stable softmax, we measure the exponentials from the largest score. After the first chunk the largest score is 3, so we know this sum:

# %%
total = math.exp(1 - 3) + math.exp(3 - 3)
print(f"maximum 3, sum {total:.4f}")
# %% [markdown]
# Then 5 arrives. Every term so far was taken relative to 3, and now it should be relative to 5, so each of them is too large. But they are all too large by the *same* factor, $e^{5-3}$. One multiplication therefore mends the whole sum, however many scores are in it already:

# %%
mended = total * math.exp(3 - 5)
total = mended + math.exp(5 - 5) + math.exp(4 - 5) + math.exp(2 - 5)
at_once = sum(math.exp(score - 5) for score in (1, 3, 5, 4, 2))
print(f"maximum 5, sum {total:.4f}; at once {at_once:.4f}")
# %% [markdown]
# This is the **online softmax** ([Milakov & Gimelshein, 2018](https://arxiv.org/abs/1805.02867)). The output of attention, before it is divided, is a sum of the same kind, $\sum_s e^{score_s} v_s$, so the same factor mends it too. It follows that attention over some of the keys can be merged with attention over the others. Take one query, with the values 10 and 20 in the first chunk and 30, 40, 50 in the second:

# %%
scores = torch.tensor([1.0, 3.0, 5.0, 4.0, 2.0])
values = torch.tensor([10.0, 20.0, 30.0, 40.0, 50.0])
first, second = slice(0, 2), slice(2, 5)
outputs = [(scores[part].softmax(0) @ values[part]).item() for part in (first, second)]
sums = [scores[part].exp().sum().item() for part in (first, second)]
share = sums[0] / sum(sums)
print(f"alone: {outputs[0]:.3f} and {outputs[1]:.3f}, sums {sums[0]:.1f} and {sums[1]:.1f}")
print(f"merged: {share * outputs[0] + (1 - share) * outputs[1]:.3f}", end=", ")
print(f"at once: {(scores.softmax(0) @ values).item():.3f}")
# %% [markdown]
# Each part counts by its share of the total sum. Such a sum may be too large to store, so what a part remembers beside its output is the logarithm, which is called the **log-sum-exp**.
#
# Nothing in this says that both parts have to be computed in the same place, or that all keys have to be there at once. Flash-decoding gives the parts of one long cache to different processors of a GPU ([Dao et al., 2023](https://pytorch.org/blog/flash-decoding/)). Ring attention leaves the queries of a long text on different machines and sends the keys and values round, so that each machine sees one part after another ([Liu et al., 2023](https://arxiv.org/abs/2310.01889)). Both put the parts together by the same factor.

# %% [markdown]
# **Exercise 1** (15 minutes, medium). Collect all that a softmax needs to know about its scores while you see each of them only once. `chunks` is an iterator of tensors (…, s_i), which come one after the other; the s_i differ. Return the largest score and the sum of exp(score − maximum), each (…). Keep no chunk: if you do, the iterator raises an error.

# %% exercise="online_softmax"
def online_softmax(chunks):
    """Tensors (…, s_i) -> (maximum, total), each (…)."""
    return ...
# %%
exercises.online_softmax.check(online_softmax)
# %% [markdown]
# **Exercise 2** (15 minutes, medium). The same queries attended to keys A, and separately to other keys B. Each gave an output (…, d) and the log-sum-exp (…) of its scores. Return both for all keys together. A log-sum-exp may be 1000, or -1000.

# %% exercise="merge_partial"
def merge_partial(output_a, lse_a, output_b, lse_b):
    """Two outputs (…, d), two log-sum-exps (…) -> (output, lse) of all keys."""
    return ...
# %%
exercises.merge_partial.check(merge_partial)
# %% [markdown]
# ## The equation
#
# Now we write down the same thing for vectors. After some of the keys, let $m$ be the largest score, $\ell = \sum e^{s - m}$ the sum, and $o = \sum e^{s - m} v$ the output, not yet divided. A new tile of scores $s'$ with values $v'$ turns them into
#
# $$m' = \max(m, \max s'), \qquad \ell' = e^{m - m'} \ell + \sum e^{s' - m'}, \qquad o' = e^{m - m'} o + \sum e^{s' - m'} v'$$
#
# and after the last tile the output is $o / \ell$. The state $m, \ell, o$ has the same size however many keys have been read, and this is why the memory no longer grows with the square of the length.
#
# ![The scores as five by five tiles, of which one is in fast memory, with the largest score, the sum and the output of its queries so far.](../img/13_tiles.svg)
#
# In code, for a single query:

# %%
def one_query(query, key, value):  # (d,), (S, d), (S, d_v)
    maximum, total, output = torch.tensor(-math.inf), 0.0, 0.0
    for k, v in zip(key.split(128), value.split(128)):  # tiles of 128 keys
        scores = k @ query / math.sqrt(len(query))  # (128,)
        larger = torch.maximum(maximum, scores.max())
        mend, weights = torch.exp(maximum - larger), torch.exp(scores - larger)
        total = mend * total + weights.sum()
        output = mend * output + weights @ v  # (d_v,)
        maximum = larger
    return output / total


q, k, v = (x[0, 0].cpu() for x in (query, key, value))
difference = (one_query(q[7], k, v) - plain(q, k, v)[7]).abs().max().item()
print("as with all weights at once, max difference < 1e-6:", difference < 1e-6)
# %% [markdown]
# **Exercise 3** (find the bug; 20 minutes, medium). Here is attention in tiles, with three defects. Once positive scores differ from tile to tile, its output depends on the order of the keys, and may be larger than every value. With 10 keys, tiles of 4 give the same as if there were 8 keys, and tiles of 16 give NaN. With keys that all fit very badly (scores of −200) the output is NaN.

# %% exercise="mend_tiles"
def mend_tiles(query, key, value, tile):
    maximum = query.new_zeros(query.size(0))
    total = torch.zeros_like(maximum)
    output = query.new_zeros(query.size(0), value.size(1))
    for start in range(0, key.size(0) - tile + 1, tile):
        scores = query @ key[start : start + tile].T / query.size(1) ** 0.5
        larger = torch.maximum(maximum, scores.amax(1))
        weights = torch.exp(scores - larger[:, None])
        total = total * torch.exp(maximum - larger) + weights.sum(1)
        output = output + weights @ value[start : start + tile]
        maximum = larger
    return output / total[:, None]
# %%
exercises.mend_tiles.check(mend_tiles)
# %% [markdown]
# ## Backwards
#
# For inference we are done. But training needs gradients, the gradients need the weights $P$, and we have just thrown the weights away. Storing them would cost what we have saved. Fortunately a row of them can be made again from its scores $S$ and *one* number, the row's log-sum-exp $L$, because $P = e^{S - L}$. With $O = PV$ and the gradient $dO$ of the output,
#
# $$dV = P^\top dO, \qquad dP = dO\, V^\top, \qquad dS_{ts} = P_{ts}\Big(dP_{ts} - \sum_j P_{tj}\, dP_{tj}\Big)$$
#
# where the last equation is the Jacobian of softmax from lesson 01, multiplied by a row.

# %% [markdown]
# One difficulty is left. The sum over $j$ runs over all keys, and a tile knows only its own. But there is another way to the same sum:
#
# $$\sum_j P_{tj}\, dP_{tj} = \sum_j P_{tj}\, (dO_t \cdot v_j) = dO_t \cdot O_t$$
#
# The output $O$ is stored anyway, so each row needs only one dot product more. Let us try this on the single query from above:

# %%
p, upstream = scores.softmax(0), 2.0  # the gradient of the output, one number here
d_p = upstream * values
print("sum of P dP:", round((p * d_p).sum().item(), 4))
print("dO · O:     ", round(upstream * (p @ values).item(), 4))
d_scores = p * (d_p - upstream * (p @ values))
leaf = scores.clone().requires_grad_()
(upstream * (leaf.softmax(0) @ values)).backward()
print("dS:", [round(x, 3) for x in d_scores.tolist()])
print("as autograd's, max difference < 1e-5:", (d_scores - leaf.grad).abs().max().item() < 1e-5)
# %% [markdown]
# So forward and backward can go over the same tiles. The weights are computed twice and never stored: we do more work, and need less memory. The package does this in `transformer_lab.tiled_attention`, as a `torch.autograd.Function` in one short file, `transformer_lab/kernels/tiling.py`.

# %% [markdown]
# **Exercise 4** (30 minutes, hard). Compute the gradients of attention without autograd. `grad_output` is the gradient of attention's output, and any number of axes may stand in front. No tiles are needed here.

# %% exercise="attention_backward"
def attention_backward(query, key, value, grad_output):
    """(…, T, d_k), (…, S, d_k), (…, S, d_v), (…, T, d_v) -> the gradients of the first three."""
    return ...
# %%
exercises.attention_backward.check(attention_backward)
# %% [markdown]
# ## Look
#
# Now watch the tiles walk over the scores of eight words; when the picture opens, they are halfway through. Only the framed tile lies on the desk, which stands for fast memory, and beside each row stand the numbers $m$ and $\ell$ that its query remembers. The pale scores on the large sheet are drawn for you alone and never lie in memory at once; a tick says that a tile has been read and that its scores have been dropped. Answer the question, then press play, or step with the keys *n* and *p*, and watch the factor × whenever a larger score comes. Afterwards choose another size of tile, and hide the future.

# %%
from transformer_lab import widgets

torch.manual_seed(3)
words = "the cat sat on a mat and slept".split()
some_scores = 2 * torch.randn(8, 8)
widgets.tiles(some_scores, words, words, tile=2).ask("13 memory")
# %% [markdown]
# ## Break it
#
# Why do we carry a maximum at all? Without it the exponentials could be added up directly, and nothing would ever have to be mended. **Predict** how large the scores have to be for this to fail in float32, whose largest number is about $3.4 \cdot 10^{38}$, or $e^{88.7}$:

# %%
for size in (10, 80, 90, 1000):
    some = torch.tensor([0.0, 0.5, 1.0]) * size
    without = some.exp() / some.exp().sum()
    with_it = (some - some.max()).exp() / (some - some.max()).exp().sum()
    print(f"scores up to {size}: without {without[-1].item():.3f}, with {with_it[-1].item():.3f}")
# %% [markdown]
# The exponential of 90 is already infinite, and infinity divided by infinity is not a number. With the maximum subtracted, no exponential is larger than 1.
#
# The second thing to break is the precision of the sums. Inputs are often in bfloat16, which keeps only 8 bits of precision. What happens if the running sum is kept in bfloat16 as well? As the control, we add up the same inputs in float32:

# %%
def sum_of_shares(kind, n_keys):
    """The sum of n times 1/n, added up in tiles of 16 in a type; it should be 1."""
    total = torch.zeros((), dtype=kind)
    for part in torch.full((n_keys,), 1 / n_keys).to(torch.bfloat16).split(16):
        total = total + part.to(kind).sum()
    return total.item()


sums = {}
for kind in (torch.bfloat16, torch.float32):
    sums[kind] = [sum_of_shares(kind, n_keys) for n_keys in (300, 2700, 3000, 5000, 30_000)]
    print(f"{kind!s:14}:", [round(total, 2) for total in sums[kind]])
assert sums[torch.bfloat16][2] < 0.9 < 1.1 < sums[torch.bfloat16][1]
assert sums[torch.bfloat16][4] < 0.3
assert max(abs(total - 1) for total in sums[torch.float32]) < 0.01
# %% [markdown]
# Float32 adds up the same inputs correctly, so the sums in bfloat16 are to blame. Each new sum is rounded to 8 bits. While what a tile adds is large beside the last bit, little harm is done. When it is about as large, each addition is rounded up or down by a good part of itself, so 2700 keys sum to too much, and 3000 to too little. And once a tile adds less than half of the last bit, it is lost entirely. With 30 000 keys the sum stands still at 0.25, however many tiles follow, and with 5000 it has grown too fast before it stands still at 1, so that the result is right by luck. So kernels read half precision but add up in float32, and `tiled_attention` does the same.

# %% [markdown]
# ## Same as the package, same as torch
#
# We have derived the tiles on paper and tried them on one query. Does the whole of it agree, forward and backward? We compare in float64, with a causal mask and with tiles of 50, which do not divide the length of 333:

# %%
from transformer_lab import tiled_attention
from transformer_lab.nn.masks import causal_mask

torch.manual_seed(1)
kind = torch.float64 if device.type != "mps" else torch.float32  # Apple's GPUs have no float64
near = 1e-12 if kind == torch.float64 else 1e-4
x = [torch.randn(2, 333, 16, dtype=kind, device=device, requires_grad=True) for _ in range(3)]
upstream = torch.randn(2, 333, 16, dtype=kind, device=device)
# %%
results = {
    "tiled": tiled_attention(*x, causal=True, tile=50),
    "plain": attention.scaled_dot_product_attention(*x, causal_mask(333, device))[0],
    "torch": F.scaled_dot_product_attention(*x, is_causal=True),
}
# %%
gradients = {name: torch.autograd.grad(y, x, upstream) for name, y in results.items()}
for name in ("plain", "torch"):
    off = (results["tiled"] - results[name]).abs().max().item()
    pairs = zip(gradients["tiled"], gradients[name])
    off_backward = max((a - b).abs().max().item() for a, b in pairs)
    print(f"tiled = {name}, output and gradients:", off < near, off_backward < near)
# %% [markdown]
# Agreement with other code leaves open whether all of them share a mistake. So we also compare the gradients with small differences of the output, which need no formula at all:

# %%
small = [torch.randn(5, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
in_twos = partial(tiled_attention, tile=2)
right = torch.autograd.gradcheck(in_twos, small)
print("gradients = small differences of the output:", right)
# %% [markdown]
# And the memory? **Predict** how it grows when the text becomes twice as long, forward and backward together, with the plain code and with tiles. (5 seconds)

# %% tolerance=0.05
def training_step(way, length):
    x = [torch.randn(1, 1, length, 16, device=device, requires_grad=True) for _ in range(3)]
    return analysis.peak_bytes(lambda: way(*x).sum().backward()) / 1e6


def tiled(query, key, value):
    return tiled_attention(query, key, value, tile=512)


lengths = (1024, 2048, 4096, 8192)
memory = {"plain": [training_step(plain, length) for length in lengths[:3]]}
memory["tiled"] = [training_step(tiled, length) for length in lengths]
for name, megabytes in memory.items():
    print(f"{name}: {[round(x, 1) for x in megabytes]} MB at {lengths[: len(megabytes)]}")
# %%
grows = [b / a for a, b in zip(memory["plain"], memory["plain"][1:])]
steps = [b - a for a, b in zip(memory["tiled"], memory["tiled"][1:])]
print("plain, times:", [round(x, 1) for x in grows])
print("tiled, MB more:", [round(x, 1) for x in steps])
assert min(grows) > 3.8
assert abs(steps[2] / steps[1] - 2) < 0.1
# %% [markdown]
# Plain attention needs four times as much memory for twice the length. With tiles, each doubling of the length adds only twice as much as the doubling before, so the memory is a straight line on top of one tile's worth. This settles half of our question: the numbers are the same because one factor mends a sum, and the memory is small because nothing but the state is kept.

# %% [markdown]
# ## Where does the time go?
#
# The other half is the time. The tiles do *more* arithmetic than the plain code, since they rescale their sums (and in the backward pass make the weights again). So why is the fused kernel faster? There are three suspects: the arithmetic itself, the traffic between memory and the processor, and whatever else happens when a large matrix is made. We examine them one after the other.
#
# A processor can compute and move numbers at the same time, so an operation takes as long as the slower of the two. Its **intensity** is the number of FLOPs that it does for each byte that it moves. First we measure the most that this machine can do, by a large product and by a copy:

# %% tolerance=20
a, b = torch.randn(2, 1024, 1024, device=device)
big, copy = torch.randn(2, 32_000_000, device=device)  # 128 MB each, more than most caches hold
peak = 2 * 1024**3 / seconds(partial(torch.mm, a, a, out=b))
bandwidth = 2 * 4 * len(big) / seconds(copy.copy_, big)  # read once, written once
print(f"{peak / 1e9:.0f} GFLOP/s, {bandwidth / 1e9:.0f} GB/s", end=": ")
print(f"in balance at {peak / bandwidth:.0f} FLOPs a byte")
assert peak / bandwidth > 2
# %% [markdown]
# An operation whose intensity lies below this balance can reach at most its intensity times the bandwidth. Here are three operations, and what they reach. The product $QK^\top$ does $2 T^2 d$ FLOPs and moves the matrix of scores once. Scaling the scores does one multiplication for each number that it reads and writes (our code scales the queries instead, which are far fewer). And a single new token, with a cache of half a million keys, reads every key in order to use it once:

# %%
T, d = 4096, 64
square, made = torch.randn(2, T, T, device=device)  # results go into memory that is there
q, k, v = query[0, 0], key[0, 0], value[0, 0]
parts = {  # FLOPs, bytes, the operation
    "scores": (2 * T * T * d, 4 * (T * T + 2 * T * d), partial(torch.mm, q, k.T, out=made)),
    "scaling": (T * T, 2 * 4 * T * T, partial(torch.mul, square, 0.125, out=made)),
    "one token": (2 * len(big), 4 * len(big), partial(torch.mv, big.view(-1, d), q[0])),
}
# %%
intensity = {name: flops / moved for name, (flops, moved, _) in parts.items()}
reached = {name: flops / seconds(do) for name, (flops, _, do) in parts.items()}
print({name: round(x, 1) for name, x in intensity.items()}, "FLOPs a byte")
assert reached["scores"] > 3 * max(reached["scaling"], reached["one token"])
# %%
x = sorted([*(2.0**i for i in range(-4, 8)), peak / bandwidth])  # with the edge of the roof
roof = [min(peak, bandwidth * one) / 1e9 for one in x]
ax = plots.plot_lines(x, {"roof": roof}, log_x=True, log_y=True)
for marker, name in zip("sDv", parts):
    ax.plot(intensity[name], reached[name] / 1e9, marker, label=name, color="black", ms=7)
ax.set(xlabel="FLOPs a byte", ylabel="GFLOP/s")
ax.legend(frameon=False)
plots.show(ax, alt="A roof, rising and then flat: scaling and one token left, scores right.")
# %% [markdown]
# This picture is called a **roofline** ([Williams et al., 2009](https://dl.acm.org/doi/10.1145/1498765.1498785)). The product stands on the right, under the flat part, where the arithmetic sets the limit, even if the product doesn't reach it. Scaling and the single token stand far to the left, under the slope, so they look as if they waited for memory. (A point may lie above the roof if it has found its numbers in a cache, or if it only reads, which some machines do faster than they copy.)

# %% [markdown]
# A point under the slope only *looks* so, however, because a slow operation may be slow for another reason. We need a control that changes the place of the numbers. So we do the same amount of work twice, once on a piece that fits into the cache and once on the whole matrix, and we include the exponential of the softmax. (The pieces take 256 calls where the whole takes one. But calls cost time, so they can't be why the pieces are faster.)

# %% tolerance=3
def nanoseconds(operation, n):
    """The time for each number, if 2^24 of them are worked on n at a time."""
    some, result = square.flatten()[:n], made.flatten()[:n]
    repeat = lambda: [operation(some, out=result) for _ in range(2**24 // n)]
    return 1e9 * seconds(repeat) / 2**24


slower = {}
operations = {"scaling": partial(torch.mul, other=0.125), "exponential": torch.exp}
for name, operation in operations.items():
    near, far = (nanoseconds(operation, n) for n in (2**16, 2**24))
    slower[name] = far / near
    print(f"{name}: {near:.2f} ns a number in the cache, {far:.2f} ns in memory")
assert device.type != "cpu" or slower["scaling"] > 1.3
# %% [markdown]
# On each of our processors, scaling took about twice as long for each number in memory as in the cache, or longer, although the arithmetic is the same. So scaling really does wait for memory.
#
# With the exponential it depends on the processor. On most of ours it waited for memory just as scaling did. On one it took about as long in both places, 1.2 to 1.7 ns in different runs, so there the arithmetic was the limit. Which of the two is yours? From the picture alone you could not tell, because whoever counts an exponential as one FLOP finds it under the slope on either machine.

# %% [markdown]
# Now the third suspect. Each of the two large operations of the plain code, the product and the softmax, puts its result into a *fresh* matrix, and before a program can write into fresh memory the operating system has to hand it over and clear it, page by page. The control is the same operation, with a result that goes into a matrix which is there already:

# %% tolerance=20
weights = torch.empty_like(made)
steps = {
    "product": (lambda: q @ k.T, lambda: torch.mm(q, k.T, out=made)),
    "softmax": (lambda: square.softmax(-1), lambda: torch.softmax(square, -1, out=weights)),
}
for name, pair in steps.items():
    fresh, there = (1000 * seconds(step) for step in pair)
    print(f"{name}: {fresh:.1f} ms into fresh memory, {there:.1f} ms into memory that is there")
# %%
def reused(q, k, v):
    """The plain code, with its two large matrices in memory that is there."""
    torch.mm(q / math.sqrt(d), k.T, out=made)
    torch.softmax(made, -1, out=weights)
    return weights @ v


difference = (reused(q, k, v) - plain(q, k, v)).abs().max().item()
print("the same numbers, max difference < 1e-5:", difference < 1e-5)
# %% tolerance=20
ways = {"plain": plain, "plain, memory reused": reused, "our tiles in Python": tiled}
runs = {name: partial(way, q, k, v) for name, way in ways.items()}
runs["fused kernel"] = partial(F.scaled_dot_product_attention, query, key, value)
took = in_turn(runs)
print({name: f"{1000 * time:.1f} ms" for name, time in took.items()})
assert device.type != "cpu" or took["fused kernel"] < took["plain"]
assert device.type != "cpu" or took["plain, memory reused"] < took["plain"]
# %% [markdown]
# Fresh memory turns out to be a main culprit. Reusing two matrices, and changing nothing else, brings the plain code two to four fifths of the way to the fused kernel on our processors. Our tiles in Python pay for their loops and for more arithmetic, and still take no more than 1.2 times as long as the plain code, and on one processor half as long.
#
# Or is the old matrix faster because a cache still holds it? No: on one of our processors, writing into fourteen old matrices in turn, 940 MB in all, took 31 ms a product, as with a single one, and fresh memory took 55 to 62.

# %% [markdown]
# So the answer to our question has two halves. The numbers are the same because one factor mends a sum. And of the time that the fused kernel saves on these processors, two to four fifths go into fresh memory for the large matrices, for which it never asks. The rest we have not taken apart: the kernel reads and writes less, and it is other code altogether.

# %% [markdown]
# On a GPU the suspects weigh differently. PyTorch [keeps a GPU's memory for reuse](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management), and on an H200 a product took 95 µs whether its memory was fresh or not. In float32, with our one head, the fused kernel was even *slower* there than the plain code, 443 µs against 230.

# %% [markdown]
# But in bfloat16, for which PyTorch has another kernel, it took 64 µs against 114, and with 16 heads 177 against 1200. Half the bytes move, while the arithmetic becomes many times as fast: an H200 does 989 TFLOP/s and moves 4.8 TB/s ([NVIDIA](https://www.nvidia.com/en-us/data-center/h200/) states twice the first number, for sparse matrices), which is in balance at 206 FLOPs a byte. The product $QK^\top$ with $d = 64$ does $2 T^2 d$ FLOPs for $2 T^2$ bytes of scores, or 64 FLOPs a byte, so by this reckoning even the product waits for memory. This traffic is what FlashAttention was designed to save ([Dao et al., 2022](https://arxiv.org/abs/2205.14135)).

# %% [markdown]
# ## One token at a time
#
# Attention is one thing that takes time; writing is another. A model that writes is the extreme case of low intensity, because each pass reads all the weights in order to produce a single token. What does a pass over several tokens cost? We try it with a matrix of 67 MB, with one of 262 kB, which stays in the cache, and with the code model of lesson 09. **Predict** how much longer eight tokens take than one:

# %%
from dataclasses import replace

from transformer_lab import LanguageModel, complete, training

code_model, characters, _ = training.load_language_model("python")
code_model = code_model.to(device).eval()
prompt = characters.encode('    def read(self, size=-1):\n        """').to(device)
# %% tolerance=6
def eight_to_one(size):
    """How much longer a (size, size) matrix takes for 8 vectors than for 1."""
    matrix, vectors = torch.randn(size, size, device=device), torch.randn(8, size, device=device)
    one, eight = vectors[:1], vectors  # rows, as a layer of a model gets them
    repeat = lambda some: [F.linear(some, matrix) for _ in range(4096**2 // size**2)]
    return seconds(repeat, eight) / seconds(repeat, one)


@torch.no_grad()
def pass_time(model, n_tokens):
    return seconds(model, prompt[None, :n_tokens], repeats=20)


times = {"a matrix of 67 MB": eight_to_one(4096), "a matrix of 262 kB": eight_to_one(256)}
times["the code model"] = pass_time(code_model, 8) / pass_time(code_model, 1)
for name, ratio in times.items():
    print(f"{name}: 8 tokens take {ratio:.1f} times as long as 1")
assert max(times.values()) < 8
# %% [markdown]
# The large matrix has to come from memory in any case, and what it brings for one token serves the other seven as well. (That does not make them free. On our processors eight took 3 to 6 times as long as one.) The small one lies in the cache, so its tokens have no such transport to share, and still eight of them take less than eight times as long as one. (On our processors they even gain more than those of the large matrix.) So tokens share something else, too.

# %% [markdown]
# The matrices of the code model are small as well, the largest of them 332 kB, and eight of its tokens take about twice as long as one, or less. What do they share? Each pass calls some 160 operations of PyTorch, whatever the number of tokens, and each call has a fixed cost. The control is a model with equally many layers, heads and calls, and with a ninth of the width, which leaves next to no arithmetic:

# %% tolerance=3
narrow = LanguageModel(replace(code_model.config, d_model=16, d_ff=64)).to(device).eval()
models = {"the code model": code_model, "a ninth of its width": narrow}
with torch.no_grad():
    passes = {name: partial(one, prompt[None, :1]) for name, one in models.items()}
    one_token = in_turn(passes, turns=50)
for name, one in models.items():
    numbers = sum(parameter.numel() for parameter in one.parameters())
    print(f"{name}: {numbers / 1e6:.2f} million weights, {1000 * one_token[name]:.1f} ms a token")
assert one_token["a ninth of its width"] > 0.2 * one_token["the code model"]
# %% [markdown]
# With one weight in seventy, a pass still takes about half as long (0.4 to 0.75 of the time on our processors, and on a GPU just as long). So the calls are about half of what one token costs (at most what the narrow model takes, since it does some arithmetic, too), and eight tokens share them. (They share more than that. If they had nothing but the calls in common, and these were 0.6 of a pass, they would take 8 − 7 · 0.6 or 3.8 times as long as one. Their products cost less for each token, too, as with the small matrix.) Whatever it is that they share, a model can *judge* eight tokens in far less time than it takes to write eight. So let something cheap write them first.

# %% [markdown]
# ## A draft that changes nothing
#
# In **speculative decoding** a **draft**, some cheap model, proposes a few tokens, here four, each drawn from the draft's own distribution $q$. The model reads all of them in one pass, which gives its distribution $p$ at each of the four places and at the one behind them. A token $x$ is kept with probability $\min(1, p(x)/q(x))$. At the first token that is rejected, another one is drawn in its place, from a distribution that we shall work out in a moment, and the rest of the draft is thrown away. If none is rejected, the model adds one token of its own. By hand, with a vocabulary of three:

# %%
p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.8, 0.1, 0.1])
kept = torch.minimum(p, q)  # drawn from q, and accepted: q · min(1, p / q)
rejected = 1 - kept.sum()
print("kept:    ", [round(x, 2) for x in kept.tolist()], f"rejected: {rejected:.1f}")
print("missing: ", [round(x, 2) for x in (p - kept).tolist()])
print("together:", [round(x, 2) for x in (kept + (p - kept)).tolist()])
# %% [markdown]
# What is missing sums to exactly the probability of a rejection. So a draw from it, made only after a rejection, adds exactly what was missing, and the result is $p$, whatever $q$ was. The same holds at each later place, given what has been written before it, and so for the whole text. This is a proof that the draft changes no text's probability.
#
# A tempting variant draws from $p$ itself after a rejection. That looks harmless, since $p$ is what we want. **Predict** what comes out: does the first token come too often or too seldom?

# %%
wrong = kept + rejected * p
print("drawn from p anew:", [round(x, 2) for x in wrong.tolist()], "instead of", [0.5, 0.3, 0.2])
# %% [markdown]
# It comes too often, because the accepted drafts already bring it its full 0.5, and now it gets another chance. Could you *see* this in what a model writes? Draw 20 000 tokens each way, and compare the counts with $p$ by $\chi^2 = \sum (\text{counted} - \text{expected})^2 / \text{expected}$. If the counts come from $p$, this number is 2 on average for three tokens, and it exceeds 13.8 only once in a thousand times:

# %%
from transformer_lab.decoding import speculation

torch.manual_seed(2)
n = 20_000
p, q = p.cpu(), q.cpu()
drafted = q.multinomial(n, replacement=True)
accepted = torch.rand(n) < (p / q)[drafted]
# %% tolerance=6
chi2 = {}
for name, after in (("exact", speculation.residual_distribution(p, q)), ("variant", p)):
    tokens = torch.where(accepted, drafted, after.multinomial(n, replacement=True))
    counts = tokens.bincount(minlength=3)
    chi2[name] = ((counts - n * p) ** 2 / (n * p)).sum().item()
print({name: round(x) for name, x in chi2.items()})
assert chi2["exact"] < 13.8 < 500 < chi2["variant"]
# %% [markdown]
# The test finds nothing against the exact rule, and rejects the variant.

# %% [markdown]
# **Exercise 5** (10 minutes, medium). What do we draw from after a drafted token was rejected, for many distributions at once? `p` and `q` are (…, vocab). Where they are equal, nothing can be rejected; return p there.

# %% exercise="residual_distribution"
def residual_distribution(p, q):
    """The model's p and the draft's q, (…, vocab) -> (…, vocab)."""
    return ...
# %%
exercises.residual_distribution.check(residual_distribution)
# %% [markdown]
# Now to real drafts. The first is the 5-gram table of lesson 09, counted anew from the training files (5 seconds). It predicts worse than the model, but looking up an entry takes little time. The second is the smaller code model.

# %%
from transformer_lab.data import tasks
from transformer_lab.data.ngrams import NGrams

text = tasks.python_source().text("train")
table = NGrams(characters.encode(text), len(characters), 5)
small_model, _, _ = training.load_language_model("python_small")
small_model = small_model.to(device)
# %%
def by_drafts(draft, seed, n_tokens=80, temperature=1.0):
    generator = torch.Generator("cpu").manual_seed(seed)
    return speculation.speculative(
        code_model, draft, prompt, n_tokens, temperature=temperature, generator=generator
    )


def alone(seed, n_tokens=80, temperature=1.0):
    generator = torch.Generator("cpu").manual_seed(seed)
    return complete(
        code_model, prompt[None], n_tokens, temperature=temperature, generator=generator
    )[0]
# %% [markdown]
# At a temperature near 0 nothing is left to chance, so the text must be the same, character for character, as without a draft:

# %%
greedy = alone(0, temperature=0.001)
for name, draft in (("table", table), ("small model", small_model)):
    written = by_drafts(draft, 0, temperature=0.001)
    print(f"{name}: same text: {torch.equal(written.tokens, greedy)}")
# %% [markdown]
# Now we write four texts of 80 characters each at temperature 1, and count the passes of the large model, which without a draft would be 320. **Predict** which draft needs fewer passes.

# %% tolerance=0.25
def four_texts(draft):
    return [by_drafts(draft, seed) for seed in range(4)]


a_pass = {}
for name, draft in (("table", table), ("small model", small_model)):
    rounds = [one for text in four_texts(draft) for one in text.rounds]
    kept = sum(one.n_accepted for one in rounds) / sum(len(one.drafted) for one in rounds)
    a_pass[name] = 4 * 80 / len(rounds)
    print(f"{name}: {len(rounds)} passes, {a_pass[name]:.1f} characters a pass", end=", ")
    print(f"{kept:.2f} of its characters stand")
assert min(a_pass.values()) > 1.6
# %% [markdown]
# In these four texts either draft saves about two thirds of the passes, and the small model, which guesses better, saves a little more. But fewer passes of the model do not yet mean less time, because the draft takes time as well. A round costs one pass of the model over five tokens, plus four times whatever the draft costs. Let us measure these costs, in passes of the model over one token, and reckon what a round gains:

# %%
reads = {
    "one": partial(code_model, prompt[None, :1]),
    "five": partial(code_model, prompt[None, :5]),
    "table": partial(table.next_probabilities, prompt.cpu()),
    "small model": partial(small_model, prompt[None, :1]),
}
with torch.no_grad():
    cost = in_turn(reads, turns=50)
# %% tolerance=3
for name in ("table", "small model"):
    share = cost[name] / cost["one"]
    gain = a_pass[name] / (cost["five"] / cost["one"] + 4 * share)
    print(f"{name}: a guess costs {share:.2f} of a pass, so writing is {gain:.1f} times as fast")
assert cost["table"] < cost["small model"]
# %% [markdown]
# That is a reckoning, and it counts passes and guesses alone. A whole text costs more, since tokens are also drawn and judged. So we write four texts once more, with each of the two drafts and with none, and compare the times (5 seconds):

# %% tolerance=1
times = {"alone": 0.0, "table": 0.0, "small model": 0.0}
for seed in range(4):
    times["alone"] += seconds(alone, seed, repeats=1)
    times["table"] += seconds(by_drafts, table, seed, repeats=1)
    times["small model"] += seconds(by_drafts, small_model, seed, repeats=1)
for name in ("table", "small model"):
    print(f"{name}: written {times['alone'] / times[name]:.1f} times as fast as by the model alone")
assert times["table"] < times["small model"]
# %% [markdown]
# With the table, these texts were written faster in all of our runs, 1.3 to 1.7 times as fast as without. With the small model the writing became *slower*. Its guesses are better, but each of them costs more than half of a pass. It has 0.6 times as many weights as the model, but three layers for the model's four, and so three quarters of the calls to pay for. So a draft has to be cheap as well as right. One can even do without a second model, and let a small addition to the large one guess from what the large one has computed already ([EAGLE](https://arxiv.org/abs/2401.15077)).

# %% [markdown]
# Here is the first text, round by round, with the table as the draft. The bars compare what the draft and the model give to each drafted character. Where the model gives more than the draft, the character is never rejected. Answer the question, and step through what happened:

# %%
widgets.speculation(four_texts(table)[0], characters.symbols).ask("13 stands")
# %% [markdown]
# **Exercise 6** (predict; 10 minutes, medium). In each round `n_draft` tokens are drafted. Each of them, if it comes to be judged, stands with probability `acceptance`. The first that is rejected is replaced, and those after it are thrown away. If none is rejected, one more is written at no extra cost. How many tokens does a round write, on average? (This is not the share printed above, which also counts the characters that were thrown away before they were judged, and is therefore lower.)

# %% exercise="tokens_per_pass"
def tokens_per_pass(acceptance, n_draft):
    """A probability and a whole number -> the mean number of tokens."""
    return ...
# %%
exercises.tokens_per_pass.check(tokens_per_pass)
# %% [markdown]
# ## Remember
#
# - One factor mends a sum of exponentials, so softmax, and with it attention, can be worked out in parts.
# - In the backward pass the weights are made again from their scores and one log-sum-exp for each row.
# - An operation under the slope of the roofline may wait for memory, or for something else. Change only the suspect, and measure again.
# - A draft decides how fast a text is written, and never how likely it is, if rejections draw from what is missing.
# - A draft must be cheap as well as right: count its passes beside the model's.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. FlashAttention does more FLOPs than plain attention, and is faster. How?</summary>
# It never makes the large matrices. On a GPU, writing them to memory and reading them back would take longer than the additional FLOPs; on our processors two to four fifths of the time that it saves is that of making fresh memory.
# </details>
# <details><summary>2. Why does the backward pass need no maximum?</summary>
# It has the log-sum-exp: exp(score - lse) is the weight itself, which is at most 1.
# </details>

# %% [markdown]
# <details><summary>3. A draft proposes a token to which the model gives twice the probability that the draft gives. Can it be rejected?</summary>
# No, because it stands with probability min(1, 2) = 1.
# </details>
# <details><summary>4. A draft is always right, and as slow as the model. What is gained?</summary>
# Nothing: four passes of the draft and one of the model write five tokens, in the time of five passes at best.
# </details>

# %% [markdown]
# **Next:** code that is fast must still be right, and so must code that only looks right. [Lesson 14](14_bug_clinic.ipynb) has a whole program that runs without an error, whose loss falls, and whose answers are wrong.

# %% [markdown]
# ## Extra: weights in 8 bits
#
# Everything so far left the results equal: the numbers up to rounding, and the texts in their probabilities. There is another way to make a model cheaper, which does not: store its weights with fewer bits. Each row of a matrix becomes whole numbers from −127 to 127 and one scale, the row's largest absolute entry divided by 127. No weight is then off by more than half a scale. By hand:

# %%
row = torch.tensor([0.50, -1.27, 0.013, 0.004])
scale = row.abs().max() / 127
whole = (row / scale).round()
print("whole numbers:", [int(x) for x in whole], f"scale {scale:.2f}")
print("read back:    ", [round(x, 3) for x in (whole * scale).tolist()])
# %% [markdown]
# How much harm does the rounding do? **Predict** the perplexity on 6 000 characters that the model has never seen, with 8, 4 and 3 bits:

# %% tolerance=0.7
from transformer_lab import perplexity, token_log_probs
from transformer_lab.weights import quantization

unseen = characters.encode(tasks.python_source().text("test")[40_000:46_000])  # your Python's own
found = {}
for bits in (None, 8, 4, 3):
    model = code_model if bits is None else quantization.rounded(code_model, bits)
    found[bits] = perplexity(token_log_probs(model, unseen)).item()
    size, times = quantization.weight_bytes(code_model, bits) / 1e6, found[bits] / found[None]
    print(f"{bits or 32} bits: {size:.2f} MB, perplexity {found[bits]:.2f}, {times:.3f} times")
assert found[8] < 1.01 * found[None] < found[4] < 1.1 * found[None] < found[3]
# %% [markdown]
# With 8 bits the perplexity hardly moves, for a quarter of the bytes. With 4 bits it rises by a few per cent, and with 3 the model is damaged. GPTQ, which chooses the rounding so as to keep each layer's output, [works well with 4 bits](https://arxiv.org/abs/2210.17323).
#
# We have measured the size and the error here, but not the speed: `quantization.rounded` puts the rounded numbers back into float32. To be faster, a kernel has to read the small numbers themselves.

# %% [markdown]
# ## Extra: batches and padding
#
# Several texts that are written at once share each pass, as the tokens of a draft do. But they have to be padded to one length. We take lines of Python in batches of 32, first in the order of the files and then sorted by length. How much of what is computed is padding?

# %% tolerance=0.2
lines = [len(line) for line in text[:400_000].splitlines() if line]


def padding(lengths):
    batches = [lengths[i : i + 32] for i in range(0, len(lengths), 32)]
    return 1 - sum(lengths) / sum(len(batch) * max(batch) for batch in batches)


in_order, by_length = padding(lines), padding(sorted(lines))
print(f"padding: {in_order:.2f} in the order of the files, {by_length:.2f} sorted by length")
assert in_order > 0.3 > 0.05 > by_length
# %% [markdown]
# In the order of the files almost half of the work is wasted, and sorted by length hardly any. And this is how the number of characters a second grows with the size of the batch:

# %% tolerance=2
rates = {}
for batch in (1, 4, 16):
    texts = prompt.expand(batch, -1)
    took = seconds(complete, code_model, texts, 40, repeats=2)
    rates[batch] = batch * 40 / took
times = {batch: round(rate / rates[1], 1) for batch, rate in rates.items()}
print("characters a second, compared with one text alone:", times)
assert rates[16] > rates[4] > rates[1]
