# %% [markdown]
# # 15 · Since Llama
#
# Many open models of 2026 keep less of a text than Llama does. They do it in three ways. You build each by hand, check it against the real one, and measure what it gives up.
#
# **You will be able to**
# - say what a layer keeps of a text, in bytes, and what it can no longer know,
# - write sliding windows, latent attention and the delta rule,
# - test what a part buys against the simplest alternative explanation.
#
# **You need** lessons 03, 08, 09 and 11, and lesson 12 for the *Extra* about a head that has nothing to look at. **Papers:** [Gemma 3](https://arxiv.org/abs/2503.19786), [DeepSeek-V3](https://arxiv.org/abs/2412.19437), [Gated DeltaNet](https://arxiv.org/abs/2412.06464). **Time:** 45 minutes, the exercises 90 more; the parts called *Extra* can wait.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import math

import torch

import transformer_lab as lab
from transformer_lab import exercises, plots, training
from transformer_lab.models.since_llama import sliding_window
from transformer_lab.training.experiments.since_llama import distance, memory, parts

torch.set_num_threads(1)  # for models as small as these, more would only wait for each other

# %% [markdown]
# ## The question
#
# Lesson 11 ended at Llama, whose layers are all alike. The configurations of later models come with `transformers`, without their weights. Let us ask some of them what their layers do (`transformers` takes a few seconds to load):

# %%
import transformers

for name in ("Qwen3Next", "Qwen3_5Text", "Gemma3Text", "Gemma4Text", "GptOss"):
    kinds = getattr(transformers, f"{name}Config")().layer_types
    n_full = kinds.count("full_attention")
    print(f"{name:11} {n_full:2} of {len(kinds)} layers see everything; the first: {kinds[0]}")
deepseek = transformers.DeepseekV3Config()
kept = deepseek.kv_lora_rank + deepseek.qk_rope_head_dim
print(f"DeepSeek-V3: {kept} numbers a token and layer; keys and values of", end=" ")
print(f"{deepseek.num_attention_heads} heads would be {128 * (128 + 64 + 128)}")

# %% [markdown]
# In most of these models only a few layers still look at the whole text. DeepSeek's layers all do, but they keep little of it. ([Qwen 3.5](https://huggingface.co/docs/transformers/main/model_doc/qwen3_5) and [Gemma 4](https://huggingface.co/docs/transformers/main/model_doc/gemma4) date from 2026. We shall take apart their predecessors, which mix their layers in much the same proportion.) The reason is the cache of lesson 08. For each token that is written, a model needs the keys and values of all tokens before it, so the size of the cache limits how long a text may be, and how many people a GPU can serve. Here is what five designs of a layer hold after twelve tokens:
#
# ![Five columns, a row for each of twelve tokens: wide bars for all heads, bars a quarter as wide for 8 groups, very narrow bars for a latent, four bars for a window, and one square matrix for a state.](../img/15_caches.svg)

# %% [markdown]
# **What did they give up? And where three layers in four no longer see the whole text, what does the remembering?** A layer can look only at the last few tokens, keep less of each token, or keep no single token at all. We take these three ways one at a time, and then count what they hold.
#
# The longer training runs were done beforehand by `python -m transformer_lab.training.experiments.since_llama`, with five seeds each, or with a single seed where there are ten times as many steps. The lesson plots them, as means or with a dot for each run:

# %%
table = training.load_table("since_llama")


def over_seeds(experiment, arm, measure):
    """What each seed has ended with: a number, or a list of them."""
    rows = [row for row in table if (row["experiment"], row["arm"]) == (experiment, arm)]
    return torch.tensor([row[measure] for row in rows])


def dots(rows, measure, x_label, **more):
    """A row of dots for each name; `rows` says which experiment and arm it shows."""
    runs = {name: over_seeds(*where, measure) for name, where in rows.items()}
    return plots.plot_runs(runs, x_label=x_label, **more)

# %% [markdown]
# Each part that we build must also agree with the real one. So this function makes a tiny random model of a family from `transformers`, stores it, opens the file with this project's own classes, and compares the logits of both for one text. Our model reads this text twice, first all at once and then token by token with a cache. The weights are drawn five times as large as these families draw them, because with small ones the scores are so close to 0 in many of these models that a mistake in queries or keys would hardly show.

# %%
from tempfile import TemporaryDirectory

from transformer_lab.weights import published

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
SIZES = {"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
SIZES |= {"initializer_range": 0.1}  # instead of 0.02
SIZES |= dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))


@torch.no_grad()
def compare(family, **more):
    """Returns our model; prints how far its logits are from the family's own."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**SIZES | more)
    theirs = getattr(transformers, f"{family.removesuffix('Text')}ForCausalLM")(config).eval()
    with TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = published.load(folder).model
    tokens, cache = torch.randint(50, (1, 20)), lab.KVCache()
    in_steps = torch.cat([ours(one, cache) for one in tokens.split(1, dim=1)], dim=1)
    expected = theirs(tokens).logits
    for how, logits in {"at once": ours(tokens), "by tokens": in_steps}.items():
        difference = (logits - expected).abs().max().item()
        print(f"{family}, {how}: max difference < 1e-4:", difference < 1e-4)
    return ours

# %% [markdown]
# ## Look at the last few: sliding windows
#
# The simplest way to keep less is to forget what is old. A layer with a **sliding window** of $w$ lets each position attend to the last $w$ positions, its own included, and its cache drops the rest. Here is the mask for six positions and a window of three, with queries as rows and keys as columns:

# %%
print(sliding_window.sliding_window_mask(6, 3).int())

# %% [markdown]
# **Exercise 1** (5 minutes, easy). Write this mask for any length and window.

# %% exercise="sliding_window_mask"
def sliding_window_mask(length, window):
    """-> (T, T) boolean, True where a query (row) may attend to a key (column)."""
    return ...

# %%
exercises.sliding_window_mask.check(sliding_window_mask)

# %% [markdown]
# One layer cannot see beyond its window, but layers are stacked. What a position has read in one layer, it hands on to the next, so each layer adds $w - 1$ positions, and through $L$ of them information can come from $L\,(w - 1)$ positions back. Is that exact? We take layers with random weights and ask for the gradient of the last output with respect to every input. Where it is zero, the input cannot be felt:

# %%
def reach(n_layers, window):
    """How many positions back the last output still feels an input."""
    x = torch.randn(1, 64, distance.D_MODEL, requires_grad=True)
    y = x
    for layer in distance.windowed_model((window,) * n_layers, seed=0).layers:
        y = layer(y, lab.causal_mask(64))
    y[0, -1].square().sum().backward()
    return 63 - (x.grad[0].abs().sum(-1) > 0).nonzero()[0].item()


torch.manual_seed(0)
for n_layers, window in ((1, 8), (2, 8), (3, 8), (3, 5)):
    print(f"{n_layers} layers, window {window}: {reach(n_layers, window)} positions back,",
          f"L (w - 1) = {n_layers * (window - 1)}")

# %% [markdown]
# It is exact. But an input that *can* be felt need not be *used*. So here is a task that needs a long reach. In a row of 64 random symbols one is marked, and each position from there on has to say which one it was. **Predict** how often three layers with a window of 8 are right at a distance of 21, and at 22 (training takes about 10 seconds):

# %% steps=300
local = distance.windowed_model((8, 8, 8), seed=7)
parts.train_on_task(local, distance.draw, 7, 300, rate=1e-2)
rows, classes = distance.draw(1000, torch.Generator("cpu").manual_seed(1))
asked = classes != parts.NOT_ASKED
with torch.no_grad():
    right = torch.tensor(distance.by_distance(local(rows).argmax(-1) == classes, asked))

# %% tolerance=0.1
for far in (7, 14, 21, 22, 28):
    print(f"at a distance of {far:2}: {right[far]:.2f} right")
assert right[:22].min() > 0.9
assert right[22:].max() < 0.4

# %% [markdown]
# Up to a distance of 21 the answers are right, and from 22 on they are guesses, of which one in eight is right. No training can change that, since no path leads there, whatever the weights are. If the window is the cause, then two layers should fail after 14, and it should help to open a *single* layer. Here are the means of five seeds. *The last layer sees all* differs from *three windows* only in the mask of one layer:

# %%
curves = {arm: over_seeds("distance", arm, "right").mean(0) for arm in distance.ARMS}
assert curves["the last layer sees all"].min() > 0.95
assert curves["two windows"][15:].max() < 0.3 < 0.95 < curves["two windows"][:15].min()
ax = plots.plot_lines(range(33), curves, x_label="distance from the mark", y_label="share right")
plots.show(ax, alt="Two windows fall to guessing after 14, three after 21; one open layer: 1.")

# %% [markdown]
# So this is what a window gives up, and one layer in three wins it back. (In [Gemma 3](https://arxiv.org/abs/2503.19786) it is one in six.) The cache of a layer with a window stops growing. In `SlidingWindowLayer` it drops what the next position may not see. Here are a tiny Mistral, whose layers all have a window, as in the first [Mistral 7B](https://arxiv.org/abs/2310.06825), and a Gemma 3, which mixes both kinds:

# %%
compare("Mistral", sliding_window=5)
kinds = ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]
gemma = compare("Gemma3Text", sliding_window=5, head_dim=8, layer_types=kinds)
cache = lab.KVCache()
with torch.no_grad():
    gemma(torch.randint(50, (1, 20)), cache)
print("after 20 tokens the layers hold", [cache.layer(i).held for i in range(4)], "positions")

# %% [markdown]
# Each layer with a window holds four, and the next position will be the fifth. A fast implementation, such as Mistral's own, does not even move what it keeps. It writes each position over the oldest one, in a **rolling cache**, and there the positions no longer stand in order.

# %% [markdown]
# **Exercise 2** (find the bug; 20 minutes, medium). This is one step of attention with a rolling cache, and it has three defects. As long as a text fits into the window, every output is right, and after that none is. The first tokens never leave the cache. After every `window` tokens, a query sees only one key, the next query two, and so on. And the same last window of tokens gets different weights when more tokens stand before it.
#
# `cache` (2, B, h, window, d_head) holds first the keys and then the values, as the projections gave them, and position p lies in slot p mod `window`. `query`, `key` and `value` (B, h, 1, d_head) belong to the new position, number `position` counted from 0. `rotate(x, positions)` turns each row of x by its entry in `positions`, a tensor.

# %% exercise="mend_rolling_cache"
def mend_rolling_cache(query, key, value, cache, position, rotate):
    window = cache.size(-2)
    slots = torch.arange(window)
    slot = min(position, window - 1)
    cache = torch.where((slots == slot)[:, None], torch.stack([key, value]), cache)
    keys, values = rotate(cache[0], slots), cache[1]
    scores = rotate(query, torch.tensor([position])) @ keys.mT / query.size(-1) ** 0.5
    scores = scores.masked_fill(slots > position % window, float("-inf"))
    return scores.softmax(-1) @ values, cache

# %%
exercises.mend_rolling_cache.check(mend_rolling_cache)

# %% [markdown]
# ## Keep less of each: latent attention
#
# A window forgets positions. The second way is to keep *all* positions, but less of each. Grouped queries (lesson 11) let heads share their keys. **Latent attention** ([DeepSeek-V2](https://arxiv.org/abs/2405.04434), section 2.1) keeps one short vector $c$ for all heads, the **latent**, from which each head makes its own key $c W^{UK}$ and its own value $c W^{UV}$. That seems to cost time, because the keys of all positions would have to be made anew for each token. But they need not be made at all, since a score can be computed in another order:
#
# $$q \cdot (c\, W^{UK}) = (q\, W^{UK\top}) \cdot c$$
#
# By hand, with a latent of two numbers and a key of three:

# %%
from transformer_lab.models.since_llama import latent_attention as latents

latent, query = torch.tensor([2.0, 1.0]), torch.tensor([1.0, 0.0, 3.0])
w_uk = torch.tensor([[1.0, 5.0, 2.0], [0.0, 1.0, 1.0]])  # (d_latent, d_key)
print("key:", (latent @ w_uk).tolist(), "score:", (query @ (latent @ w_uk)).item())
print("absorbed query:", (query @ w_uk.T).tolist(), "score:", (query @ w_uk.T @ latent).item())

# %% [markdown]
# One product for the query replaces one for each position that was read. The values work alike, because a weighted sum of $c W^{UV}$ is the weighted sum of $c$, times $W^{UV}$. This is called **absorbing** the matrices. (It is not free: a score is then a product of vectors as long as the latent, 512 numbers in DeepSeek-V3, where a key would have 128. But a model that writes token by token mostly waits for its memory to be read, and there is little to read now.)

# %% [markdown]
# RoPE stands in the way, however. Between query and key it puts a rotation that differs from position to position, so there is no single matrix to absorb. Therefore a query has two parts. One, of $d_{nope}$ features (for "no position"), does not turn and is compared with the latent. The other, of only a few features, $d_{rope}$, does turn, and is compared with one small turning key that all heads share. The score is the sum of both products, divided by $\sqrt{d_{nope} + d_{rope}}$.

# %%
torch.manual_seed(0)
B, h, T, S, d_nope, d_rope, d_latent, d_v = 2, 3, 4, 5, 6, 2, 7, 8
q_nope, q_rope = torch.randn(B, h, T, d_nope), torch.randn(B, h, T, d_rope)
c, k_rope = torch.randn(B, S, d_latent), torch.randn(B, S, d_rope)
w_uk, w_uv = torch.randn(h, d_latent, d_nope), torch.randn(h, d_latent, d_v)
keys = torch.cat([c[:, None] @ w_uk, k_rope[:, None].expand(B, h, S, d_rope)], dim=-1)
queries = torch.cat([q_nope, q_rope], dim=-1)
made = lab.scaled_dot_product_attention(queries, keys, c[:, None] @ w_uv)[0]
absorbed = latents.latent_attention(q_nope, q_rope, c, k_rope, w_uk, w_uv)
print("keys made = absorbed, max difference < 1e-5:", (made - absorbed).abs().max().item() < 1e-5)

# %% [markdown]
# **Exercise 3** (25 minutes, hard). Write this attention with the matrices absorbed, for all heads, without a mask. It must not make the key or the value of any position.

# %% exercise="latent_attention"
def latent_attention(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    """(B, h, T, d_nope), (B, h, T, d_rope), (B, S, d_latent), (B, S, d_rope),
    (h, d_latent, d_nope), (h, d_latent, d_v) -> (B, h, T, d_v)."""
    return ...

# %%
exercises.latent_attention.check(latent_attention)

# %% [markdown]
# And here is the real one, whose last three layers also have experts:

# %%
few = {"q_lora_rank": 12, "kv_lora_rank": 10, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4}
few |= {"v_head_dim": 5, "num_key_value_heads": 4, "first_k_dense_replace": 1}
few |= {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1}
deepseek = compare("DeepseekV3", **few, moe_intermediate_size=12)

# %% [markdown]
# What does a latent buy that a single group of the same size does not? Here are small models of Python's source whose layers keep 96 numbers for each position (all heads), 24 (one group of keys and values) and again 24 (a latent of 18, and a turning key of 6):

# %%
rows = {"all heads, 96 numbers": "all heads", "one group, 24 numbers": "one group"}
rows["latent, 24 numbers"] = "latent"
ax = dots({name: ("caches", arm) for name, arm in rows.items()}, "nats", "nats a character")
plots.show(ax, alt="All heads and one group lie around 2.3 nats, the latents around 2.5.")

# %% [markdown]
# At this size the latent buys nothing. The single group is as good as all heads, as far as five seeds can tell, and the latent, with just as many numbers, is a little worse. [DeepSeek-V2](https://arxiv.org/abs/2405.04434) (appendix D) reports otherwise for large models, where fewer keys cost quality and latents do not. In our small models there was no such loss for a latent to prevent.

# %% [markdown]
# ## Keep nothing of each: a state
#
# A window and a latent still keep something of each token that they can see. In [Qwen3-Next](https://huggingface.co/docs/transformers/main/model_doc/qwen3_next) three layers out of four do not. They keep one matrix for each head, the **state**, of the same size after ten tokens and after ten million. The simplest form is **linear attention** ([Katharopoulos et al., 2020](https://arxiv.org/abs/2006.16236)), where each position adds the product of its key and its value to the state, and a query multiplies what has gathered in it. (The paper also makes all features of queries and keys positive, and divides each output by the sum of its weights, which are the products of the query with the keys. Qwen3-Next leaves both out, and so do we.)
#
# $$S \leftarrow S + k_t v_t^\top, \qquad o_t = S^\top q_t$$
#
# By hand, with keys of two numbers, and values of one:

# %%
first, second, between = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
state = torch.outer(first, torch.tensor([10.0])) + torch.outer(second, torch.tensor([4.0]))
print("two keys at right angles. Asked for the first:", (first @ state).item())
crowded = state + torch.outer(between, torch.tensor([5.0]))
print("a third key between them. Asked for the first:", (first @ crowded).item())
again = state + torch.outer(first, torch.tensor([20.0]))
print("the first written again, as 20. Asked for it: ", (first @ again).item())

# %% [markdown]
# Keys at right angles do not disturb each other, but in $d_k$ dimensions there are only $d_k$ of them, and every further key mixes with at least one of them. That is the first price. The last line shows a second one. What is written again is added, so the answer is 30, where it should be 20.
#
# The **delta rule** ([Schlag et al., 2021](https://arxiv.org/abs/2102.11174)) mends the second. Before a position writes, it asks what the state already answers to its key. Then it writes a share $\beta_t$ of the difference between its value and that answer:
#
# $$S \leftarrow S + \beta_t\, k_t \big(v_t - S^\top k_t\big)^\top$$

# %%
answer = first @ state
mended = state + torch.outer(first, torch.tensor([20.0]) - answer)
print("answer before:", answer.item(), "difference written:", 20 - answer.item())
print("asked for the first:", (first @ mended).item(), "and the second:", (second @ mended).item())

# %% [markdown]
# The last part is a gate. **Gated DeltaNet** multiplies the whole state by a decay between 0 and 1 before each step, so that a layer can also forget what it was never told to overwrite.

# %% [markdown]
# **Exercise 4** (20 minutes, medium). Write the delta rule with its decay, step by step.

# %% exercise="delta_rule"
def delta_rule(query, key, value, beta, decay):
    """(B, T, d_k) twice, (B, T, d_v), (B, T) twice -> (B, T, d_v)."""
    return ...

# %%
exercises.delta_rule.check(delta_rule)

# %% [markdown]
# Now for the price. In the following task a row shows pairs of a key and a value, and then asks for the values of some of the keys. All models have one layer with one head of 16 features, so a state has 16 × 16 numbers. **Predict** which of the two rules recalls more of 8 pairs that are each written *once*. And which recalls more when each of 8 keys is written three times, every time with a value drawn anew, and only the last one counts? (Training takes 15 seconds.)

# %% steps=400
found = {}
for name, task in {"once": memory.Task(8), "3 times": memory.Task(8, times=3)}.items():
    for rule in ("linear", "delta"):
        torch.manual_seed(7)
        model = parts.train_on_task(memory.Recall((rule,)), task.draw, 7, 400, rate=1e-2)
        found[rule, name] = memory.share_right(model, task, seed=1)

# %% tolerance=0.25
for (rule, name), share in found.items():
    print(f"{rule:6}, written {name:7}: {share:.2f} right")
assert found["linear", "once"] > found["linear", "3 times"] + 0.2
assert found["delta", "3 times"] > found["linear", "3 times"] + 0.2

# %% [markdown]
# Linear attention recalls most pairs that are written once, but of those that are written three times it gets about a third. Could one do better without knowing which of the three values was the last? The best guess is a value that was written twice, if there is one, and otherwise any of the three, and it is right in 39 % of all cases (next cell). The delta rule is right nine times in ten, with a state of the same size and just as many pairs. (Nor are 24 values too many for a state: of 32 pairs that are written once, linear attention recalls most, as we shall see.) So it is the rewriting that linear attention can't do.

# %%
from itertools import product

best = [max(map(three.count, three)) / 3 for three in product(range(16), repeat=3)]
print(f"the best guess without the order: {sum(best) / len(best):.4f}")

# %% [markdown]
# That was one training run of each. And there is another explanation to exclude: a state that merely *forgets* would prefer what came last as well. So we need one more control: *gated linear* is linear attention with a gate and without the delta rule, as in [Mamba-2](https://arxiv.org/abs/2405.21060). Each dot is one training run, and those in the last three rows had ten times as many steps:

# %%
task, longer = "8 pairs, written 3 times", "memory, ten times as long"
rules = {"linear": "linear", "gated linear": "gated linear", "delta": "delta rule"}
rows = {name: ("memory", f"{rule}, {task}") for rule, name in rules.items()}
rows |= {f"{name}, 10 × steps": (longer, f"{rule}, {task}") for rule, name in rules.items()}
ax = dots(rows, "right", "share right", lines={"best guess without the order": 0.3945})
plots.show(ax, alt="Linear ends at the best guess, gated linear beyond it, the delta rule near 1.")

# %%
anew = {rule: over_seeds("memory", f"{rule}, {task}", "right") for rule in rules}
assert anew["delta"].min() > 0.9 > 0.4 > anew["linear"].max()
assert anew["delta"].min() > anew["gated linear"].max()
assert anew["gated linear"].min() > 0.3945
for rule, found in anew.items():
    print(f"{rules[rule]:12}: from {found.min():.2f} to {found.max():.2f} right")

# %% [markdown]
# Linear attention gets no further than the best guess without the order, even after ten times the steps. A gate alone gets beyond that guess with every seed, so forgetting can do a part of what overwriting does. The delta rule is ahead of both.

# %% [markdown]
# That was overwriting. What about the *size* of a state? Now 32 pairs are written, each of them once, and that is twice as many as a key has features. **Predict**: which helps more, a second layer that keeps a state, or a second layer that attends?

# %% jupyter={"outputs_hidden": true}
arms = {"linear": "linear", "delta": "delta rule", "attention": "attention"}
arms |= {"two delta": "delta rule, delta rule", "hybrid": "delta rule, attention"}
rows = {name: ("memory", f"{arm}, 32 pairs") for arm, name in arms.items()}
for arm in ("linear", "delta", "two delta"):
    rows[f"{arms[arm]}, 10 × steps"] = (longer, f"{arm}, 32 pairs")
ax = dots(rows, "right", "share of 32 pairs right")
plots.show(ax, alt="Only the two rows with attention are at 1; longer trained states reach 0.9.")

# %%
once = {arm: over_seeds("memory", f"{arm}, 32 pairs", "right") for arm in arms}
assert min(once["attention"].min(), once["hybrid"].min()) > 0.99
assert max(once["delta"].max(), once["two delta"].max()) < 0.8
for arm, found in once.items():
    print(f"{arms[arm]:22}: {found.mean():.2f} right on average")

# %% [markdown]
# Attention recalls every pair, alone and on top of a layer with a state. The states lose many of them, and the delta rule is no better here than linear attention, so its memory is not *larger* but tidier. A second state doesn't help much. With ten times the steps (one seed) a state holds nine pairs in ten. So there is no sharp limit at $d_k$ pairs, but there is a price, which longer training makes smaller and which attention never had to pay.
#
# This is our answer to the second half of the question. In three layers out of four, a state keeps a summary of the text, and what must be recalled exactly is recalled by the fourth.

# %% [markdown]
# And the real thing: a tiny Qwen3-Next, whose first three layers keep a state, and whose fourth attends.

# %%
few = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 6}
few |= {"linear_value_head_dim": 5, "head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2}
few |= {"moe_intermediate_size": 12, "shared_expert_intermediate_size": 14}
qwen = compare("Qwen3Next", **few)
print([type(layer.self_attention).__name__ for layer in qwen.layers])

# %% [markdown]
# ## What does each design hold?
#
# **Exercise 5** (predict; 10 minutes, medium). Now you have met five designs. How many bytes per token does the cache of each hold? That is its size after a whole text of `length` tokens, divided by `length`. Work it out on paper; code is only the last step.

# %% exercise="bytes_per_token"
def bytes_per_token(
    kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length
):
    """kind is "mha", "gqa", "mla", "window" or "state". Every number takes 2 bytes."""
    return ...

# %%
exercises.bytes_per_token.check(bytes_per_token)

# %% [markdown]
# Now we count the bytes in real caches, of layers with 8 heads of 16 features, after texts of growing length:

# %%
from transformer_lab.models.since_llama.layers import OpenAttention
from transformer_lab.nn.positions import RotaryPositions

rotary, small, d = RotaryPositions(512, 16), RotaryPositions(512, 8), 128
mixers = {
    "all heads": OpenAttention(d, 8, 8, 16, rotary),
    "2 groups": OpenAttention(d, 8, 2, 16, rotary),
    "latents": lab.LatentAttention(d, 8, 16, 24, 16, small, torch.nn.Linear(d, 8 * 24)),
    "state": lab.GatedDeltaNet(d, 8, 8, 16, 16),
}
kinds = {name: parts.open_layer(mixer, torch.nn.Identity(), d) for name, mixer in mixers.items()}
kinds["window of 32"] = parts.open_layer(mixers["2 groups"], torch.nn.Identity(), d, window=32)


@torch.no_grad()
def held(layer, length):
    """The bytes in a layer's cache after a text."""
    cache = lab.KVCache()
    layer(torch.randn(1, length, d), lab.causal_mask(length), cache.layer(0))
    return sum(tensor.nbytes for tensor in cache.tensors.values())

# %%
lengths = (1, 4, 16, 64, 256)
grown = {name: [held(layer, length) for length in lengths] for name, layer in kinds.items()}
ax = plots.plot_lines(lengths, grown, x_label="tokens", y_label="bytes", log_x=True, log_y=True)
plots.show(ax, alt="Three lines rise with the text, a window's stops rising, a state's is flat.")

# %%
print(f"the state: {grown['state'][0]:,} bytes, from the first token on. It holds as much as")
for name in ("all heads", "2 groups", "latents"):
    a_token = grown[name][0]
    print(f"{grown['state'][0] / a_token:5g} tokens with {name} ({a_token:,} bytes a token)")
assert len(set(grown["state"])) == 1

# %% [markdown]
# Eight matrices of 16 × 16 numbers take 8,192 bytes, because here each number takes 4 bytes, and not 2 as in Exercise 5. The rest of the state is a detail of Qwen3-Next that Exercise 5 leaves out: before anything is written, each feature of queries, keys and values is mixed with what it was at the last three positions, so those features must be kept, too. Since a state has its full size from the first token on, it is expensive at first and pays off only in longer texts. But it never grows, and neither does a window once it is full.

# %% [markdown]
# Now the same for five published models, whose sizes differ. Below, their caches fill token by token, and every area is to scale. At first the text has 64 tokens. **Predict**: after about 2,900 tokens, which of these models still know something of the very first one? (A layer with a state is set to keep 99.95 % of it at each step, and to write a share $\beta$ of 0.2.) Then let the text grow to 2,896 tokens. The line marks the first token, and below each strip stands what is still known of it. Finally, move the decay.

# %%
from transformer_lab import widgets

widgets.designs(length=64)

# %%
from transformer_lab.analysis.designs import PUBLISHED

for design in PUBLISHED:
    known = {part.n_layers: part.known(2895, decay=0.9995, beta=0.2) for part in design.parts}
    say = (f"{n} layers hold {share:.4f} of it" for n, share in known.items())
    print(f"{design.model:14}", ", ".join(say))
print(f"the decay alone would leave {0.9995**2895:.4f}")

# %% [markdown]
# All of them do, but two of them hold it in full only because they mix their layers. The first token is no longer in the caches of Gemma's layers with a window, which know of it at second hand at most (their reach is 40 · 1023 = 40,920 positions). Of what it wrote into the states of Qwen3-Next, a quarter of a percent is left. The decay alone would leave nearly a quarter, and each later key overwrites a little of what is left. (This assumes keys that point in random directions.) In these two models, only the layers that attend to everything still hold the token itself: eight in Gemma, and twelve in Qwen3-Next.

# %% [markdown]
# ## Back to the question
#
# What did these models give up? With windows they gave up reach, of which exactly $L\,(w - 1)$ positions are left, and a few open layers bring it back. With latents all heads must make their keys and values from one short vector, and at our size we saw only the price of that. With states they gave up looking things up, so one layer in four must still do it. Each of these choices saves memory. The price of a window and of a state shows in a task that needs what was given up.

# %% [markdown]
# How much a model should keep is still an open question, and some newer models keep much and *read* less. [DeepSeek-V3.2](https://arxiv.org/abs/2512.02556) keeps the latents of all positions, and beside each of them a small key. A cheap scorer, the *indexer*, compares these keys with the new token, and attention reads only the 2048 latents that it rates highest. This is called **sparse attention**.

# %% [markdown]
# [MiniMax-M2](https://arxiv.org/abs/2605.26494) went back to full attention in all its layers, because cheaper kinds of attention had cost more quality than its makers would accept. Its successor [MiniMax-M3](https://huggingface.co/docs/transformers/main/model_doc/minimax_m3_vl) keeps all keys and values, but [from its fourth layer on](https://nvidia.github.io/TensorRT-LLM/llm-api/reference/MiniMaxM3SparseAttentionConfig.html) a query reads only the blocks of 128 tokens that an indexer rates highest. [DeepSeek-V4](https://huggingface.co/docs/transformers/main/model_doc/deepseek_v4) goes further: beside a window of 128 tokens, nearly all its layers keep one entry for every 4 tokens or for every 128. And [Qwen4-Exp](https://huggingface.co/docs/transformers/main/model_doc/qwen4_exp) keeps a state in three layers out of four, while an indexer picks the tokens that the fourth reads.

# %% [markdown]
# ## Remember
#
# - A window of $w$ in $L$ layers reaches exactly $L\,(w - 1)$ positions back; one open layer wins the rest back.
# - A latent keeps one short vector for all heads, and where its matrices are absorbed, no key is made at all.
# - A state has a fixed size, in which keys mix. The delta rule overwrites, a gate forgets (which can do a part of the overwriting), and a layer that attends recalls.
# - A state pays off only in long texts, because it has its full size from the first token on.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. A model has 24 layers with a window of 512, and no other layers. Can its last output depend on a token 20,000 positions back?</summary>
# No: 24 · 511 = 12,264.
# </details>
# <details><summary>2. Why does linear attention with 16 × 16 numbers recall 8 pairs, and not 8 pairs that are each written three times?</summary>
# It only adds. What was written first is still in the sum, and the state can't tell which value was the last.
# </details>

# %% [markdown]
# <details><summary>3. Why can't RoPE turn the whole key in latent attention?</summary>
# The rotation between a query and a key depends on their distance, so there would be another matrix to absorb for each position.
# </details>
# <details><summary>4. A model keeps a state in all its layers, and sums up long reports well. What would you ask it, to see what it has given up?</summary>
# Something that must be recalled exactly and stands far back, such as a number. In a state keys mix, and only a layer that attends recalls each of them.
# </details>

# %% [markdown]
# **Next:** these models continue text. [Lesson 16](16_after_pretraining.ipynb) makes one of them answer.

# %% [markdown]
# ## Extra: the delta rule without a loop
#
# A loop over positions is slow in training. But without a gate, position $t$ writes $u_t = \beta_t (v_t - \sum_{s<t} (k_t \cdot k_s)\, u_s)$. For all positions together this is a triangular system of equations, so it can be solved at once. With its solution the rest is masked attention without a softmax, $o_t = \sum_{s \le t} (q_t \cdot k_s)\, u_s$:

# %%
from transformer_lab.models.since_llama import delta_rule as states

torch.manual_seed(0)
query, key, value = torch.randn(3, 2, 9, 4).unbind(0)
key = key / key.norm(dim=-1, keepdim=True)
beta, whole = torch.rand(2, 9), torch.ones(2, 9)
gram = (beta[..., None] * (key @ key.mT)).tril(-1) + torch.eye(9)
written = torch.linalg.solve(gram, beta[..., None] * value)
at_once = (query @ key.mT).tril() @ written
in_steps = states.delta_rule(query, key, value, beta, whole)
print("at once = in steps, max difference < 1e-5:", (at_once - in_steps).abs().max().item() < 1e-5)

# %% [markdown]
# ## Extra: a norm on queries and keys
#
# This part is not about the cache but about the *training*. A score is a product of two learned projections, so it grows with the square of their weights. When scores are large, the softmax picks one key, and then it has hardly any gradient left. **QK-norm** (its norm is the one that you wrote in Exercise 1 of lesson 11) therefore gives every query and every key the same length, which learned weights may then change. Its authors ([Henry et al., 2020](https://arxiv.org/abs/2010.04245)) divided each by its length and learned one factor for the scores; today each passes through an RMSNorm. By hand, for a query and a key that both grow tenfold:

# %%
query, key = torch.tensor([3.0, 4.0]), torch.tensor([1.0, 7.0])
one = torch.ones(2)
for size in (1, 10):
    plain = (size * query) @ (size * key) / math.sqrt(2)
    normed = lab.rms_norm(size * query, one, 0) @ lab.rms_norm(size * key, one, 0) / math.sqrt(2)
    print(f"times {size:2}: score {plain:6.1f}, with the norm {normed:.2f}")
print(f"a normed vector has the length √d, so no score is above √d = {math.sqrt(2):.2f}")

# %% [markdown]
# **Exercise 6** (10 minutes, easy). Write it for all heads. The weights belong to the features of a head, and all heads share them.

# %% exercise="qk_norm"
def qk_norm(query, key, weight_q, weight_k, eps):
    """(B, h, T, d_head) twice, (d_head,) twice -> (query, key)."""
    return ...

# %%
exercises.qk_norm.check(qk_norm)

# %% [markdown]
# [Qwen 3](https://arxiv.org/abs/2505.09388) has this norm in every layer. Here is a tiny one:

# %%
qwen3 = compare("Qwen3", head_dim=8)

# %% [markdown]
# What does it buy? Here are the means of five seeds for small models of Python's source, trained at three learning rates. If the norm helps *because* it bounds the scores, then another bound should help as well, such as the **soft cap** of [Gemma 2](https://arxiv.org/abs/2408.00118) (Gemma 3 has a norm in its place), here $5 \tanh(s / 5)$. And if the learned weights matter, then the norm alone should help less:

# %%
names, rates = ("plain", "soft cap", "norm only", "QK-norm"), (0.03, 0.1, 0.3)
nats = {
    name: [over_seeds("bounded scores", f"{name}, rate {rate}", "nats") for rate in rates]
    for name in names
}
curves = {name: [found.mean().item() for found in at] for name, at in nats.items()}
axes = {"x_label": "learning rate", "y_label": "nats a character", "log_x": True}
ax = plots.plot_lines(rates, curves, **axes)
plots.show(ax, alt="Close at 0.03; at 0.3 both norms are lowest, the cap higher, plain highest.")

# %%
last = {name: at[-1] for name, at in nats.items()}
for name in ("plain", "QK-norm"):
    largest = over_seeds("bounded scores", f"{name}, rate 0.3", "largest score").mean()
    print(f"{name}, rate 0.3: the largest score is {largest:,.0f}")
for name in names[:3]:
    longer = over_seeds("bounded scores, ten times as long", f"{name}, rate 0.3", "nats").item()
    print(f"{name}: {last[name].mean():.2f} nats, with ten times the steps {longer:.2f}")
assert max(last["QK-norm"].max(), last["norm only"].max()) < min(last["soft cap"]) - 0.1
assert last["soft cap"].max() < last["plain"].min()

# %% [markdown]
# At the lowest rate QK-norm makes no difference. At three and ten times that rate the plain model gets worse and worse, while the models with a norm lose nothing at three times the rate, and far less at ten times. A bound alone is not enough for that: the soft cap bounds the scores as well, and yet with a cap of 5 the model ends nearer to the plain one than to those with a norm. (How much it helps depends on its size. With a cap of 50, as in Gemma 2, the model ends at 2.65 nats on average, which is nearer to the models with a norm, but not as good; see docs/figures.md.)

# %% [markdown]
# Nor do the learned weights explain it: without them the norm does as well at the highest rate. (They lift the bound: on average the largest score is 23, where the norm alone would allow no more than √12 = 3.5.) Nor is the plain model merely slower, because even ten times the steps (one seed) don't bring it as far as the models with a norm got in a tenth of them. What else the norm does, these runs do not tell us.

# %% [markdown]
# Kimi K2 was trained with a relative of these remedies, [QK-Clip](https://arxiv.org/abs/2507.20534), which shrinks the query and key matrices of any head whose largest score passes a limit.

# %% [markdown]
# ## Extra: a head that has nothing to look at
#
# The weights of a softmax sum to 1, so a head must look *somewhere*, even where it has nothing to find. Where does it look then? Large models are known to look at the first token of a text. Does our own model of Python, with its four layers and a million parameters, do so? Here are windows of 256 characters. How much of their weight do the positions in the second half give to the first character?

# %% tolerance=0.01
python, characters, _ = training.load_language_model("python")
windows = parts.python_ids("test")[: 10 * 256].view(10, 256)
with torch.no_grad(), lab.record_attention(python) as weights:
    python(windows)
first = torch.stack([layer[:, :, 128:, 0].mean((0, 2)) for layer in weights.values()])
print(f"in {first.numel()} heads, at most {first.max():.3f}")
assert first.max() < 0.02

# %% [markdown]
# It does not. But in lesson 12 we loaded a published model with six layers of twelve heads into our classes. Each of its texts begins with the token [CLS]. How much weight do the other tokens give it?

# %%
minilm, tokenizer = published.load("all-MiniLM-L6-v2")
sentences = (
    "The old bridge across the river was closed because the flood had damaged its pillars.",
    "She asked the librarian whether the museum would lend the painting to another city.",
    "In winter the train takes twenty minutes longer, since it must wait for the plough.",
    "Nobody had expected that the small company would survive the crisis.",
)
encoded = [tokenizer.encode(sentence) for sentence in sentences]
texts = [torch.tensor([one.ids[: sum(one.attention_mask)]]) for one in encoded]

# %%
given = torch.zeros(6, 12)
for text in texts:
    with torch.no_grad(), lab.record_attention(minilm) as weights:
        minilm(text)
    given += torch.stack([layer[0, :, 1:, 0].mean(-1) for layer in weights.values()]) / len(texts)

# %% tolerance=0.05
print(f"{(given > 0.5).sum()} of 72 heads give [CLS] more than half of their weight")
layer, head = divmod(given.argmax().item(), 12)
print(f"most of all layer {layer}, head {head}: {given[layer, head]:.2f}")
assert (given > 0.5).sum() > 15

# %% [markdown]
# Is [CLS] so interesting? Then a head should miss it. Take the heads that give it more than half of their weight, one at a time, and change what they do in two ways. In the first, the weight for [CLS] is *lost*, and the others stay as they are, so that the head reads less. In the second it is *shared out*, because the head may not look at [CLS] and its softmax must spend the weight on other tokens. **Predict** which change does more harm. We measure how far the vectors of the last layer move, relative to their length:

# %%
@torch.no_grad()
def last_states(layer=None, head=None, way=None):
    """The last vectors of all tokens; one head may treat [CLS] in another way."""

    def attend(query, key, value, mask, need_weights):
        scores = query @ key.mT / math.sqrt(query.size(-1))
        if way == "shared out":
            scores[:, head, 1:, 0] = -math.inf
        weights = scores.softmax(-1)
        if way == "lost":
            weights[:, head, 1:, 0] = 0
        return weights @ value, weights

    attention = minilm.layers[layer or 0].self_attention
    if way:
        attention.attend = attend
    states = torch.cat([minilm(text)[0, 1:] for text in texts])
    if way:
        del attention.attend
    return states

# %% tolerance=0.02
untouched, moved = last_states(), {"lost": [], "shared out": []}
for layer, head in (given > 0.5).nonzero().tolist():
    for way, shares in moved.items():
        away = last_states(layer, head, way) - untouched
        shares.append((away.norm() / untouched.norm()).item())
for way, shares in moved.items():
    print(f"{way:10}: moved by {sum(shares) / len(shares):.3f}, at most {max(shares):.3f}")
assert max(moved["lost"]) < min(moved["shared out"])

# %% [markdown]
# For each of these heads, losing what it reads there changes little, but having to look elsewhere moves the vectors several times as far. So for them the first token is not a source of information but a place to leave weight, an **attention sink**. [Xiao et al. (2023)](https://arxiv.org/abs/2309.17453) found it in large language models, and also that a window which drops the first tokens ruins models that were not trained with it.

# %% [markdown]
# What can a model do about it? The `GatedAttention` of Qwen3-Next above multiplies what its heads have read by a gate between 0 and 1, so that a head with nothing to say can be closed, and [its authors](https://arxiv.org/abs/2505.06708) report that hardly any weight then goes to the first token. [gpt-oss](https://arxiv.org/abs/2508.10925) gives each head a place for its weight that is no token. A learned number, the **sink**, takes part in the softmax and has no value:
#
# $$w_s = \frac{e^{score_s}}{e^{sink} + \sum_j e^{score_j}}$$

# %%
scores = torch.tensor([-3.0, -4.0])  # two keys of which neither fits
print("softmax:    ", [round(w, 2) for w in scores.softmax(-1).tolist()])
with_sink = torch.cat([scores, torch.zeros(1)]).softmax(-1)[:2]
print("sink of 0:  ", [round(w, 2) for w in with_sink.tolist()], "and the rest is nobody's")
few = {"head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 5}
gpt_oss = compare("GptOss", **few)

# %% [markdown]
# ## Extra: reading on with scaled RoPE
#
# Models are trained on short texts, since those are cheap, but are meant to read long ones. Lesson 11 found that RoPE alone does not read on. Why not? A pair of features turns by a fixed angle at each position. These are the turns that the six pairs of a head make in 64 positions:

# %%
turns = [64 * 10_000 ** (-2 * i / 12) / (2 * math.pi) for i in range(6)]
print("within  64:", [round(turn, 2) for turn in turns])
print("within 256:", [round(4 * turn, 2) for turn in turns])

# %% [markdown]
# The first pair has seen every angle ten times, and the second twice. The others have never finished a turn, so a longer text shows them angles that the model has never met. There are several recipes:
#
# - **linear** ([position interpolation](https://arxiv.org/abs/2306.15595)): all pairs turn four times as slowly, as if positions were pressed together,
# - **Llama 3** ([code](https://github.com/meta-llama/llama-models/blob/main/models/llama3/model.py)): only the pairs that make few turns are slowed down, and the fast ones stay as they are,
# - **[YaRN](https://arxiv.org/abs/2309.00071)**: nearly the same choice, and all scores are made larger (by 30 % for a factor of four), however long the text is.
#
# Do ours agree with the real ones? Here are three tiny Llamas, whose files say that they were trained on 16 positions, and which read 20. A fourth one with the same weights and no recipe shows that the recipes change what they say:

# %%
plain, tokens = compare("Llama"), torch.randint(50, (1, 20))
trained = {"factor": 4.0, "original_max_position_embeddings": 16}
bounds = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
for kind, more in {"linear": {}, "llama3": bounds, "yarn": {}}.items():
    scaled = compare("Llama", rope_scaling={"rope_type": kind} | trained | more)
    with torch.no_grad():
        change = (scaled(tokens) - plain(tokens)).abs().max().item()
    print(f"  {kind} changes the logits by {change:.2f}")
    assert change > 0.05

# %% [markdown]
# No recipe trains anything here. The models below were trained on 64 characters at a time, and then read 256. **Predict**: which recipes cost something within the *first* 64, and which of them costs most?
#
# There are two controls as well. One is the model as it was trained, but with a window of 64. It meets no new distance, but it also never sees more keys than in training. So the other one sees all positions, and treats those that lie further back than 63 as if they lay 63 back.

# %%
recipes = ("as trained", "linear", "Llama 3", "YaRN")
controls = ("as trained, window of 64", "as trained, distances up to 63")
loss = {arm: over_seeds("reading on", arm, "nats") for arm in recipes + controls}
curves = {arm: found.mean(0) for arm, found in loss.items()}
axes = {"x_label": "quarter of the text", "y_label": "nats a character"}
ax = plots.plot_lines(range(1, 5), curves, **axes)
ax.set_xticks(range(1, 5))
ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
plots.show(ax, alt="As trained rises from 2 to 3.3; linear 2.6, others 2.2, controls stay at 2.")

# %%
for arm, curve in curves.items():
    print(f"{arm:30}: {curve[0]:.2f} nats in the first quarter, {curve[3]:.2f} in the last")
assert loss["as trained"][:, 3].min() > loss["linear"][:, 3].max()
assert loss["linear"][:, 0].min() > loss["Llama 3"][:, 0].max()
assert loss["Llama 3"][:, 3].min() > max(loss[arm][:, 3].max() for arm in controls)

# %% [markdown]
# With RoPE as it was trained, the loss rises by more than a nat. With linear scaling the loss hardly rises along the text, but within the first 64 characters it is already half a nat above that of the model as it was trained, because *every* distance now looks shorter than in training, even a short one. Llama 3's recipe and YaRN leave the fastest pair alone and slow the second one only in part, and they cost less than half of that. (Models that are to read long texts are trained a little further with their recipe, which we have not done.)

# %% [markdown]
# Both controls are better than all recipes. So what hurts is not the length of the text, and hardly the number of keys, but the distances that are new. Of course, with the window no layer sees what lies further back, and with the other control what lies there has no order. A recipe is worth its price where far tokens and their order are needed, and this small model, which has learned from 64 characters at a time, makes use of neither.

# %% [markdown]
# ## Extra: sharing out the work without a loss
#
# Lesson 11 balanced its experts with an extra loss. But that loss pulls on the router in a direction that has nothing to do with the text. [DeepSeek-V3](https://arxiv.org/abs/2412.19437) has a bias for each expert instead ([Wang et al., 2024](https://arxiv.org/abs/2408.15664)), which takes part in the *choice* but not in the weights. After each step it is lowered where an expert was chosen too often, and raised where one was chosen too seldom. (A very small loss is left beside it, so that no single text uses only a few experts.) By hand, two of three experts:

# %%
logits = torch.tensor([[2.0, 0.0, -1.0]])
for bias in ([0.0, 0.0, 0.0], [0.0, -0.3, 0.3]):
    weights = lab.sigmoid_route(logits, torch.tensor(bias), top_k=2)[0]
    print(f"bias {bias}: weights", [round(weight, 2) for weight in weights.tolist()])

# %% [markdown]
# In the second line the third expert is chosen in place of the second, and its weight is still the one that its own score gives. Here are the means of five models of Python with eight experts in each layer, of which two are chosen. The load of an expert is 1 if it gets its share, and at most 4:

# %%
how = {"free": "not balanced", "loss": "balanced by a loss", "bias": "balanced by a bias"}
for arm, said in how.items():
    load, nats = (over_seeds("balance", arm, what).mean() for what in ("largest load", "nats"))
    print(f"{said:18}: the largest load is {load:.1f}, the loss {nats:.2f} nats")
loads = {arm: over_seeds("balance", arm, "largest load") for arm in ("free", "loss", "bias")}
assert loads["free"].min() > 2 > max(loads["loss"].max(), loads["bias"].max())

# %% [markdown]
# Without any balancing, the busiest expert gets about three times its share. A bias balances nearly as well as the loss does, and needs no gradient. Five seeds show no difference in quality between the three models. So at this size nothing is gained but balance, and only the machines need it. Where experts live on different GPUs (lesson 17), all of them wait for the busiest.
