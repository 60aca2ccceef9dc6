# %% [markdown]
# # 13 · Fast and equal
#
# Make attention, decoding and weights cheaper, and show each time what stays the same.
#
# **You will be able to**
# - work attention out in tiles, forward and backward, without ever storing the weights,
# - say from bytes and FLOPs where the time goes,
# - let a cheap draft write for a model, without changing what the model says.
#
# **You need** lessons 01, 05, 08 and 09. **Papers:** [FlashAttention](https://arxiv.org/abs/2205.14135), [speculative decoding](https://arxiv.org/abs/2211.17192). **Time:** 60 minutes, the exercises 100 more.

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

os.environ["KINETO_LOG_LEVEL"] = "99"  # torch's profiler shall not print
import torch
import torch.nn.functional as F

from transformer_lab import analysis, default_device, exercises, plots
from transformer_lab.nn import attention

torch.set_num_threads(1)  # so that times of the same cell can be compared
device = default_device()

# %% [markdown]
# ## The question
#
# In the lessons so far, attention that was not asked for its weights (`need_weights=False`) handed the work to torch's fused kernel. Here it runs beside the plain code of lesson 01, on a text of 4096 tokens and one head. `seconds` takes the fastest of some runs. It reads processor time rather than the clock, because the clock also counts what other programs do meanwhile; a GPU has its own time, which only the clock shows. `analysis.peak_bytes` counts what a computation holds at its worst moment.

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


def plain(query, key, value):
    return attention.scaled_dot_product_attention(query, key, value)[0]


# %% tolerance=20
torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 1, 4096, 64, device=device)  # (B, h, T, d) each
ways = {"plain": plain, "fused": F.scaled_dot_product_attention}
runs = {name: partial(way, query, key, value) for name, way in ways.items()}
took = {name: seconds(run) for name, run in runs.items()}
held = {name: analysis.peak_bytes(run) for name, run in runs.items()}
for name in ways:
    print(f"{name}: {1000 * took[name]:.0f} ms, {held[name] / 1e6:.0f} MB")
assert took["fused"] < took["plain"]
assert held["fused"] < held["plain"] / 50

# %%
difference = (plain(query, key, value) - ways["fused"](query, key, value)).abs().max().item()
print("max difference < 1e-5:", difference < 1e-5)

# %% [markdown]
# Several times faster, with a hundredth of the memory, and the same numbers. The 134 MB of the plain code are two matrices of 4096 × 4096, the scores and the weights. The fused kernel makes neither. But a softmax divides by the sum over *all* keys: how can it be worked out without ever having them all? **Many times faster, and the same numbers: how?**

# %% [markdown]
# ## By hand: a softmax in parts
#
# Five scores come in two chunks: 1 and 3, then 5, 4 and 2. After the first chunk you know a maximum, 3, and a sum of exponentials measured from it:

# %%
total = math.exp(1 - 3) + math.exp(3 - 3)
print(f"maximum 3, sum {total:.4f}")

# %% [markdown]
# Then 5 arrives. All that you have added up was measured from 3 and should have been measured from 5: each term is too large by the same factor, $e^{5-3}$. So one multiplication mends the whole sum, however many scores are in it:

# %%
mended = total * math.exp(3 - 5)
total = mended + math.exp(5 - 5) + math.exp(4 - 5) + math.exp(2 - 5)
at_once = sum(math.exp(score - 5) for score in (1, 3, 5, 4, 2))
print(f"maximum 5, sum {total:.4f}; at once {at_once:.4f}")

# %% [markdown]
# This is the **online softmax** ([Milakov & Gimelshein, 2018](https://arxiv.org/abs/1805.02867)). An output is a sum of the same kind, $\sum_s e^{score_s} v_s$, and can be mended by the same factor. So attention over some keys and attention over other keys can be merged. Take one query with the values 10, 20 and 30, 40, 50:

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
# Each part counts by its share of the sum. The logarithm of such a sum is called **log-sum-exp**; it is what a part has to remember beside its output, since the sum itself may be too large to store.

# %% [markdown]
# ## The equation
#
# After some keys, let $m$ be the largest score, $\ell = \sum e^{s - m}$ and $o = \sum e^{s - m} v$, not yet divided. A new tile of scores $s'$ with values $v'$ makes of them
#
# $$m' = \max(m, \max s'), \qquad \ell' = e^{m - m'} \ell + \sum e^{s' - m'}, \qquad o' = e^{m - m'} o + \sum e^{s' - m'} v'$$
#
# and after the last tile the output is $o / \ell$. Nothing here depends on how many keys there were.
#
# ![The scores as five by five tiles, of which one is in fast memory, with the largest score, the sum and the output of its queries so far.](../img/13_tiles.svg)
#
# In code, for one query:

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
# ## Backwards
#
# The gradients need the weights $P$, and they are gone. Storing them would cost what was saved. But a row of them can be made again from its scores and *one* number, its log-sum-exp $L$: $P = e^{S - L}$. With $O = PV$ and the gradient $dO$:
#
# $$dV = P^\top dO, \qquad dP = dO\, V^\top, \qquad dS_{ts} = P_{ts}\Big(dP_{ts} - \sum_j P_{tj}\, dP_{tj}\Big)$$
#
# The last is softmax's Jacobian of lesson 01, times a row.

# %% [markdown]
# The sum over $j$ runs over all keys, so a tile alone can't know it. It need not: $\sum_j P_{tj}\, dP_{tj} = \sum_j P_{tj}\, (dO_t \cdot v_j) = dO_t \cdot O_t$, and the output is stored. Try it on one query:

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
# So forward and backward go over the same tiles. The weights are computed twice and stored never. That is more work, for less memory. `transformer_lab.tiled_attention` does it as a `torch.autograd.Function`, in one short file, `transformer_lab/kernels/tiling.py`.

# %% [markdown]
# ## Look
#
# Here the tiles walk over the scores of eight words. Only the framed tile is in memory; what is hatched exists no more, or not yet. Beside the rows stands what their queries remember. Step with the buttons or with the keys *n* and *p*, and watch the factor × each time a larger score comes. Then choose another size, and hide the future.

# %%
from transformer_lab import widgets

torch.manual_seed(3)
words = "the cat sat on a mat and slept".split()
some_scores = 2 * torch.randn(8, 8)
widgets.tiles(some_scores, words, words, tile=2).ask("13 memory")

# %% [markdown]
# ## Break it
#
# Why carry a maximum at all? Without it the sum of exponentials could be added up directly, and nothing would ever have to be mended. **Predict** from which size of scores on that fails in float32, whose largest number is about $3.4 \cdot 10^{38}$, or $e^{88.7}$:

# %%
for size in (10, 80, 90, 1000):
    some = torch.tensor([0.0, 0.5, 1.0]) * size
    without = some.exp() / some.exp().sum()
    with_it = (some - some.max()).exp() / (some - some.max()).exp().sum()
    print(f"scores up to {size}: without {without[-1].item():.3f}, with {with_it[-1].item():.3f}")

# %% [markdown]
# The second thing to break is the type of the sums. Inputs are often in bfloat16, with 8 bits of precision. If each tile's sum is rounded to bfloat16 as well, the error grows with the number of tiles. The control is the same inputs with sums in float32:

# %% tolerance=0.5
def error_of(kind, n_keys=4096):
    """The sum of 1/n over n, added up in tiles of 16 in a type; it should be 1."""
    total = torch.zeros((), dtype=kind)
    for part in torch.full((n_keys,), 1 / n_keys).to(torch.bfloat16).split(16):
        total = total + part.to(kind).sum()
    return abs(total.item() - 1)


for kind in (torch.bfloat16, torch.float32):
    errors = [error_of(kind, n_keys) for n_keys in (256, 4096, 16384)]
    print(f"{kind!s:14}:", [round(error, 2) for error in errors])
assert error_of(torch.bfloat16, 16384) > 0.3 > 0.01 > error_of(torch.float32, 16384)

# %% [markdown]
# At some point a tile's share is at most half of the last bit of the sum, and is lost entirely. So kernels read half precision and add up in float32, and so does `tiled_attention`.

# %% [markdown]
# ## Same as the package, same as torch
#
# In float64, with a causal mask, tiles of 50 (which do not divide 333), forward and backward:

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

# %%
small = [torch.randn(5, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
in_twos = partial(tiled_attention, tile=2)
right = torch.autograd.gradcheck(in_twos, small)
print("gradients = small differences of the output:", right)

# %% [markdown]
# And the memory? **Predict** how it grows when the text is twice as long, forward and backward together, with the plain code and with tiles. (5 seconds)

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
# Plain attention needs four times as much for twice the length. With tiles, each doubling of the length doubles what is *added*: a straight line on top of one tile's worth of memory.

# %% [markdown]
# ## Where does the time go?
#
# A machine can do two things at a time: compute, and move numbers between memory and the processor. An operation takes as long as the slower of the two. Its **intensity** is the number of FLOPs for each byte that it moves. Measure what this machine can do at most, by a large product and by a copy:

# %% tolerance=20
a, b = torch.randn(2, 1024, 1024, device=device)
big, copy = torch.randn(2, 32_000_000, device=device)  # 128 MB each, more than most caches hold
peak = 2 * 1024**3 / seconds(partial(torch.mm, a, a, out=b))
bandwidth = 2 * 4 * len(big) / seconds(copy.copy_, big)  # read once, written once
print(f"{peak / 1e9:.0f} GFLOP/s, {bandwidth / 1e9:.0f} GB/s", end=": ")
print(f"in balance at {peak / bandwidth:.0f} FLOPs a byte")
assert peak / bandwidth > 2

# %% [markdown]
# An operation of lower intensity waits for memory. Its speed is at most intensity × bandwidth. Here are three parts of attention, two of them over 4096 tokens, and what they reach. The product $QK^\top$ does $2 T^2 d$ FLOPs and moves the matrix once; an exponential does one operation for each number that it reads and writes; and one new token, with a cache of half a million keys, reads every key to use it once:

# %%
T, d = 4096, 64
square, made = torch.randn(2, T, T, device=device)  # results go into memory that is there
q, k = query[0, 0], key[0, 0]
parts = {  # FLOPs, bytes, the operation
    "scores": (2 * T * T * d, 4 * (T * T + 2 * T * d), partial(torch.mm, q, k.T, out=made)),
    "exponential": (T * T, 2 * 4 * T * T, partial(torch.exp, square, out=made)),
    "one token": (2 * len(big), 4 * len(big), partial(torch.mv, big.view(-1, d), q[0])),
}

# %%
intensity = {name: flops / moved for name, (flops, moved, _) in parts.items()}
reached = {name: flops / seconds(do) for name, (flops, _, do) in parts.items()}
print({name: round(x, 1) for name, x in intensity.items()}, "FLOPs a byte")
assert reached["scores"] > 3 * max(reached["exponential"], reached["one token"])

# %%
x = sorted([*(2.0**i for i in range(-4, 8)), peak / bandwidth])  # with the edge of the roof
roof = [min(peak, bandwidth * one) / 1e9 for one in x]
ax = plots.plot_lines(x, {"roof": roof}, log_x=True, log_y=True)
for marker, name in zip("sDv", parts):
    ax.plot(intensity[name], reached[name] / 1e9, marker, label=name, color="black", ms=7)
ax.set(xlabel="FLOPs a byte", ylabel="GFLOP/s")
ax.legend(frameon=False)
plots.show(ax, alt="A roof, rising and then flat: exponential and one token left, scores right.")

# %% [markdown]
# This picture is a **roofline** ([Williams et al., 2009](https://dl.acm.org/doi/10.1145/1498765.1498785)). Products sit on the right, where the processor is busy. The exponential and the single token sit far to the left. (A point above the roof has found its numbers in a cache, which is faster than memory.) Tiles help the exponential (the single token must read every key all the same): a tile of scores is made, exponentiated and multiplied while it is in fast memory. A profiler shows the same from inside:

# %%
from torch.profiler import profile

leaves = [x.clone().requires_grad_() for x in (query, key, value)]
profiles = []
for _ in range(3):
    with profile() as record:
        plain(*leaves).sum().backward()
    profiles.append(record.key_averages())
# a profiler reads the clock: take the run in which other programs used least of it
events = min(profiles, key=lambda events: sum(event.self_cpu_time_total for event in events))

# %% tolerance=1
took = {}
for event in events:
    group = "products" if "mm" in event.key else "all else"
    took[group] = took.get(group, 0) + event.self_cpu_time_total + event.self_device_time_total
products = took["products"] / sum(took.values())
flops = 12 * d / (12 * d + 10)  # for each pair: 6 products of 2d, and about 10 other operations
print(f"products: {flops:.2f} of the FLOPs, {products:.2f} of the time")
assert products < 0.95 < flops

# %% [markdown]
# One FLOP in a hundred is not part of a product, and these few take far more than a hundredth of the time. FlashAttention's gain is here: not fewer FLOPs (it does more of them), but fewer bytes. Our tiles in Python show the memory, and little of the speed; the fused kernel has both.

# %% [markdown]
# ## One token at a time
#
# A model that writes is the extreme case: each pass reads all weights to produce one token. What does a pass over several tokens cost? First one large matrix, then the code model of lesson 09. **Predict** the ratio of eight tokens to one:

# %%
from transformer_lab import complete, training

code_model, characters, _ = training.load_language_model("python")
code_model = code_model.to(device).eval()
prompt = characters.encode('    def read(self, size=-1):\n        """').to(device)

# %% tolerance=3
large = torch.randn(4096, 4096, device=device)
vectors = torch.randn(4096, 8, device=device)
products = {n: seconds(torch.mm, large, vectors[:, :n], repeats=10) for n in (1, 8)}
with torch.no_grad():
    passes = {n: seconds(code_model, prompt[None, :n], repeats=20) for n in (1, 8)}
for name, times in (("a matrix of 64 MB", products), ("the code model", passes)):
    print(f"{name}: 8 tokens take {times[8] / times[1]:.1f} times as long as 1")
    assert times[8] / times[1] < 8

# %% [markdown]
# Less than eight times. The matrix has to come from memory in any case. In the code model, which is tiny, it is the fixed cost of each call. Whatever the reason, a model can *judge* eight tokens for far less than it takes to write eight. So let something cheap write them first.

# %% [markdown]
# ## A draft that changes nothing
#
# In **speculative decoding** a **draft** proposes some tokens, here four, each drawn from its own distribution $q$. The model reads them in one pass, which gives its distribution $p$ at each of them. A token $x$ is kept with probability $\min(1, p(x)/q(x))$. At the first that is rejected, another is drawn from what is missing, $\max(p - q, 0)$ over its sum, and the rest is thrown away; if none is rejected, the model adds one. By hand, with three tokens:

# %%
p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.8, 0.1, 0.1])
kept = torch.minimum(p, q)  # drawn from q, and accepted: q · min(1, p / q)
rejected = 1 - kept.sum()
print("kept:    ", [round(x, 2) for x in kept.tolist()], f"rejected: {rejected:.1f}")
print("missing: ", [round(x, 2) for x in (p - kept).tolist()])
print("together:", [round(x, 2) for x in (kept + (p - kept)).tolist()])

# %% [markdown]
# What is missing sums to the probability of a rejection. So a draw from it, made only after a rejection, adds exactly what was missing, and the result is $p$, whatever $q$ was.
#
# A common variant draws from $p$ itself after a rejection. That looks harmless, since $p$ is what you want. **Predict** what comes out: does the first token come too often or too seldom?

# %%
wrong = kept + rejected * p
print("drawn from p anew:", [round(x, 2) for x in wrong.tolist()], "instead of", [0.5, 0.3, 0.2])

# %% [markdown]
# Too often: it had its chance with the draft, and gets another. Could you *see* it in what a model writes? Draw 20 000 tokens each way, and compare the counts with $p$ by $\chi^2 = \sum (\text{counted} - \text{expected})^2 / \text{expected}$. With three tokens it is 2 on average if the counts come from $p$, and above 13.8 once in a thousand times:

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
# The test accepts the exact rule and rejects the variant. Now a real draft: the 5-gram table of lesson 09, counted anew from the training files (5 seconds). It predicts far worse than the model, but an entry is looked up in a tenth of a millisecond. A second draft is the smaller code model.

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
# At a temperature near 0, nothing is left to chance, and the text must be the same, character for character:

# %%
greedy = alone(0, temperature=0.001)
for name, draft in (("table", table), ("small model", small_model)):
    written = by_drafts(draft, 0, temperature=0.001)
    print(f"{name}: same text: {torch.equal(written.tokens, greedy)}")

# %% [markdown]
# Now at temperature 1, four texts of 80 characters each: passes of the large model, characters a pass, and the time beside the model alone. **Predict** which draft needs fewer passes, and which is faster. (5 seconds)

# %% tolerance=3
def four_texts(draft):
    if draft is None:
        return [alone(seed) for seed in range(4)]
    return [by_drafts(draft, seed) for seed in range(4)]


time_alone, a_pass, speed = seconds(four_texts, None, repeats=2), {}, {}
for name, draft in (("table", table), ("small model", small_model)):
    rounds = [one for text in four_texts(draft) for one in text.rounds]
    kept = sum(one.n_accepted for one in rounds) / sum(len(one.drafted) for one in rounds)
    a_pass[name] = 4 * 80 / len(rounds)
    speed[name] = time_alone / seconds(four_texts, draft, repeats=2)
    print(f"{name}: {kept:.2f} of its characters stand, {a_pass[name]:.1f} a pass", end=", ")
    print(f"{speed[name]:.1f} times as fast")
assert min(a_pass.values()) > 1.6
assert speed["table"] > speed["small model"]

# %% [markdown]
# Both save half of the passes or more. The small model's guesses are better, but each of its passes costs more than half of a large one's, so that it ends up slower than the model alone. A draft has to be *cheap* first and right second. Step through what happened:

# %% [markdown]
# Here is the first text, round by round, with the table as the draft. Bars compare what both give to each drafted character. Where the model gives more than the draft, the character always stands.

# %%
widgets.speculation(four_texts(table)[0], characters.symbols).ask("13 stands")

# %% [markdown]
# ## Weights in 8 bits
#
# Reading weights takes time, so smaller weights are read faster. Each row of a matrix is stored as whole numbers from −127 to 127, and one scale: its largest absolute entry divided by 127. No weight is then off by more than half a scale. By hand:

# %%
row = torch.tensor([0.50, -1.27, 0.013, 0.004])
scale = row.abs().max() / 127
whole = (row / scale).round()
print("whole numbers:", [int(x) for x in whole], f"scale {scale:.2f}")
print("read back:    ", [round(x, 3) for x in (whole * scale).tolist()])

# %% [markdown]
# This is not equal any more, and the name of the lesson would be a lie without a measurement. **Predict** the perplexity on 6 000 characters that the model has never seen, with 8, 4 and 3 bits:

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
# With 8 bits the perplexity hardly moves, for a quarter of the bytes. With 4 it rises by a few per cent, and with 3 the model is damaged. (Methods that choose the rounding by what it does to the output get by with 4: [GPTQ](https://arxiv.org/abs/2210.17323).)

# %% [markdown]
# ## Extra: batches and padding
#
# Several texts at once share each reading of the weights, too. But they must be padded to one length. Take lines of Python in batches of 32: first in the order of the files, then sorted by length. How much of what is computed is padding?

# %% tolerance=0.2
lines = [len(line) for line in text[:400_000].splitlines() if line]


def padding(lengths):
    batches = [lengths[i : i + 32] for i in range(0, len(lengths), 32)]
    return 1 - sum(lengths) / sum(len(batch) * max(batch) for batch in batches)


in_order, by_length = padding(lines), padding(sorted(lines))
print(f"padding: {in_order:.2f} in the order of the files, {by_length:.2f} sorted by length")
assert in_order > 0.3 > 0.05 > by_length

# %% tolerance=2
rates = {}
for batch in (1, 4, 16):
    texts = prompt.expand(batch, -1)
    took = seconds(complete, code_model, texts, 40, repeats=2)
    rates[batch] = batch * 40 / took
times = {batch: round(rate / rates[1], 1) for batch, rate in rates.items()}
print("characters a second, compared with one text alone:", times)
assert rates[16] > rates[4] > rates[1]

# %% [markdown]
# ## Exercises
#
# **1.** (15 minutes, medium) All that a softmax needs to know of its scores, seen once. `chunks` is an iterator of tensors (…, s_i), one after the other; the s_i differ. Return the largest score and the sum of exp(score − maximum), each (…). Keep no chunk: if you do, the iterator raises an error.

# %% exercise="online_softmax"
def online_softmax(chunks):
    """Tensors (…, s_i) -> (maximum, total), each (…)."""
    return ...

# %%
exercises.online_softmax.check(online_softmax)

# %% [markdown]
# **2.** (15 minutes, medium) The same queries attended to keys A, and to other keys B. Each gave an output (…, d) and the log-sum-exp (…) of its scores. Return both for all keys together. A log-sum-exp may be 1000, or -1000.

# %% exercise="merge_partial"
def merge_partial(output_a, lse_a, output_b, lse_b):
    """Two outputs (…, d), two log-sum-exps (…) -> (output, lse) of all keys."""
    return ...

# %%
exercises.merge_partial.check(merge_partial)

# %% [markdown]
# **3.** (Find the bug; 20 minutes, medium) Attention in tiles, with three defects. Once scores differ, its output depends on the order of the keys, and may be larger than every value. With 10 keys, tiles of 4 give the same as if there were 8 keys, and tiles of 16 give NaN. With keys that all fit very badly (scores of −200) the output is NaN.

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
# **4.** (30 minutes, hard) The gradients of attention, without autograd: `grad_output` is the gradient of attention's output. Any number of axes may stand in front. No tiles are needed here.

# %% exercise="attention_backward"
def attention_backward(query, key, value, grad_output):
    """(…, T, d_k), (…, S, d_k), (…, S, d_v), (…, T, d_v) -> the gradients of the first three."""
    return ...

# %%
exercises.attention_backward.check(attention_backward)

# %% [markdown]
# **5.** (10 minutes, medium) What to draw from after a drafted token was rejected, for many distributions at once: `p` and `q` are (…, vocab). Where they are equal, nothing can be rejected; return p there.

# %% exercise="residual_distribution"
def residual_distribution(p, q):
    """The model's p and the draft's q, (…, vocab) -> (…, vocab)."""
    return ...

# %%
exercises.residual_distribution.check(residual_distribution)

# %% [markdown]
# **6.** (Predict; 10 minutes, medium) In each round `n_draft` tokens are drafted. Each of them, if it comes to be judged, stands with probability `acceptance`. The first that is rejected is replaced, and those behind it are thrown away. If none is rejected, one more is written for nothing. How many tokens does a round write, on average?

# %% exercise="tokens_per_pass"
def tokens_per_pass(acceptance, n_draft):
    """A probability and a whole number -> the mean number of tokens."""
    return ...

# %%
exercises.tokens_per_pass.check(tokens_per_pass)

# %% [markdown]
# ## Remember
#
# - One factor mends a sum of exponentials; so softmax, and attention, can be worked out in parts.
# - Backwards, the weights are made again from their scores and one log-sum-exp a row.
# - Operations of few FLOPs a byte wait for memory. Fewer bytes make them faster.
# - A draft decides how fast a text is written, and never *what*, if rejections draw from what is missing.
# - Rounded weights are not equal. Say by how much, on text the model has not seen.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. FlashAttention does more FLOPs than plain attention, and is faster. How?</summary>
# It computes the weights twice and moves them never. Moving the bytes that it saves would take longer than computing the FLOPs that it adds.
# </details>
# <details><summary>2. Why does the backward pass need no maximum?</summary>
# It has the log-sum-exp: exp(score - lse) is the weight itself, which is at most 1.
# </details>

# %% [markdown]
# <details><summary>3. A draft proposes a token to which the model gives twice the probability that the draft gives. Can it be rejected?</summary>
# No: it stands with probability min(1, 2) = 1.
# </details>
# <details><summary>4. A draft is always right, and as slow as the model. What is gained?</summary>
# Nothing: four passes of the draft and one of the model write five tokens, in the time of five passes.
# </details>

# %% [markdown]
# **Next:** code that is fast must still be right, and so must code that looks right. [Lesson 14](14_bug_clinic.ipynb) has twelve functions that run without an error and compute the wrong thing.
