# %% [markdown]
# # 17 · Many machines
#
# Cut a model's training into four parts, in five ways, and get from each step the numbers that one process gets, to rounding.
#
# **You will be able to**
# - say what must be sent in each way, how often, and how many bytes that is,
# - choose a way by what it cuts and by what it can't cut,
# - predict from sizes alone what a real cluster waits for.
#
# **You need** lessons 02, 09 and 13. **Papers:** [Megatron-LM](https://arxiv.org/abs/1909.08053), [GPipe](https://arxiv.org/abs/1811.06965), [ZeRO](https://arxiv.org/abs/1910.02054). **Time:** 55 minutes, the exercises 95 more.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import torch

from transformer_lab import LanguageModelConfig, exercises, merge_partial, plots
from transformer_lab.distributed import collectives, context_parallel, costs, processes, trials

torch.set_num_threads(1)

# %% [markdown]
# ## The question
#
# So far, one process has trained each of your models. For a model of 8 billion weights, one is not enough. With its gradients and Adam's averages it needs about 128 GB, and the H100, the GPU on which [Llama 3](https://arxiv.org/abs/2407.21783) was trained, has 80. A GPU with more memory would not help much, because it would have to compute for more than fifty years to read Llama 3's 15 trillion tokens. (Both numbers are reckoned below.) So such models are trained by many processes, which are called **ranks** and numbered from 0. Each of them does a part of the work, and they send each other messages.

# %% [markdown]
# Here are four ranks on your own machine, which talk by torch's own library for it, `torch.distributed`. Starting them takes about ten seconds, because each is a Python of its own, which has to import torch.

# %%
ranks = processes.Ranks(4)
print("ranks:", ranks.call(torch.distributed.get_rank))

# %% [markdown]
# `ranks.call(function, …)` runs a function in all four at once, and returns what each of them returned. Let us train a small language model on Python's own source, in ten steps of eight texts: first in this process, then by four ranks, each of which reads two of the eight texts.

# %%
from transformer_lab.data import tasks, texts

corpus = tasks.python_source().text("train")[:20_000]
characters = texts.Characters.of(corpus)
ids = characters.encode(corpus)
batches = [part.clone() for part in ids[:5120].view(10, 8, 64)]  # (B, T) each
config = LanguageModelConfig(
    vocab_size=len(characters), d_model=64, n_heads=4, d_ff=256, n_layers=4, max_len=64,
    dropout=0.0, attention_dropout=0.0, tie_weights=False,
)

# %% tolerance=0.3
one = trials.train_alone(config, batches)
four = ranks.call(trials.train, "data", config, batches)
print("one process:", [round(loss, 2) for loss in one.losses[::3]])
print("four ranks: ", [round(loss, 2) for loss in four[0].losses[::3]])

# %%
def difference(outcomes):
    """The largest difference of any weight, after ten steps, from those of one process."""
    weights = outcomes[0].weights
    return max((weights[name] - one.weights[name]).abs().max().item() for name in one.weights)


print("largest difference of any weight < 1e-5:", difference(four) < 1e-5)

# %% [markdown]
# No rank has read more than a quarter of the texts, and yet the weights after ten steps are, to rounding, those that one process gets from all of them. (We compare the weights of rank 0; those of the other ranks are equal to them.)

# %% [markdown]
# Why *to rounding*? Four ranks add up in another order than one process, so the last digits differ, and a long training can enlarge the difference. In a training with the package's command `transformer_lab.training.text`, the largest difference of a weight grew from 7e-7 after 5 steps to 9e-4 after 100, and in float64 to no more than 4e-8. So each step is the same to rounding, but the *end* of a long training is not.
#
# **Four processes, a quarter of the work each, and in each step the same numbers: what must they tell each other, and how often?**

# %% [markdown]
# ## By hand: two lists
#
# Take the smallest model there is, $y = w x$ with $w = 1$, and three examples whose targets are all 0. The loss is the mean of $(w x)^2$, so an example's gradient is $2 w x^2$. Two ranks share the examples:

# %%
w = 1.0
rank_0, rank_1 = [1.0, 3.0], [5.0]  # the x of each
gradients = [[2 * w * x * x for x in part] for part in (rank_0, rank_1)]
print("gradients:   ", gradients)
print("one process: ", round(sum(sum(part) for part in gradients) / 3, 3))
print("mean of means:", sum(sum(part) / len(part) for part in gradients) / 2)

# %% [markdown]
# The gradient of one process, 23.3, is right. The mean of means, 30, is not, although it looks natural to let each rank take the mean over its own examples and then to average the two. In this average the single example of rank 1 counts for a half, where it should count for a third. What can be added up are *sums*, so each rank divides its sum by the number of all examples, 3, and the two results are added:

# %%
shares = [sum(part) / 3 for part in gradients]
print("shares:", [round(share, 3) for share in shares], "together:", round(sum(shares), 3))

# %% [markdown]
# A gradient is a sum over examples, and a sum can be made in parts. That is the whole idea of **data parallel** training. Afterwards both ranks need the result, since both have to take the same step. Adding up what all ranks have, and giving the sum to all of them, is called an **all-reduce**.

# %% [markdown]
# ## What an all-reduce costs
#
# What does such a sum cost? The obvious way is that every rank sends all of its numbers to every other rank. Then each of them sends everything $n - 1$ times, which grows with the number of ranks. A ring does better. In the next cell three ranks have three numbers each, and in every step each rank sends only *one* number, to its neighbour on the right:

# %%
held = [[1, 2, 3], [10, 20, 30], [100, 200, 300]]
print("start  ", held)
for step, now in enumerate(collectives.all_reduce_ring(held)):
    print(f"step {step} ", now)

# %% [markdown]
# Follow the first number. In step 0, rank 0 sends its 1 to rank 1, which adds it to its 10. In step 1, rank 1 passes the 11 on to rank 2, whose first number becomes the whole sum, 111. The other two numbers travel in the same way, each from another start, so that no rank ever idles. After $n - 1$ steps, each rank has the whole sum of *one* number. Then the sums go round once more and replace what was there.

# %% [markdown]
# **Exercise 1** (20 minutes, medium). Write this all-reduce, step by step. `chunks[r][c]` is chunk c of rank r, and n ranks have n chunks. In step s = 0 … n − 2, rank r sends chunk (r − s) mod n to rank r + 1, which *adds* it. Then s begins at 0 again: in n − 1 further steps, rank r sends chunk (r − s + 1) mod n, and rank r + 1 puts it in the *place* of its own. Return the chunks of all ranks after each of the 2 (n − 1) steps.

# %% exercise="all_reduce_ring"
def all_reduce_ring(chunks):
    """n lists of n whole numbers -> a list of 2 (n - 1) such lists of lists."""
    return ...

# %%
exercises.all_reduce_ring.check(all_reduce_ring)

# %% [markdown]
# Now the cost can be counted. With $x$ numbers on each rank, a message is an $n$-th of them. Each rank sends $2 (n - 1)$ messages, so
#
# $$\text{numbers that a rank sends} = 2\, \frac{n - 1}{n}\, x < 2 x$$
#
# and all ranks together send $2 (n - 1)\, x$. **Predict**, before you read on, how many bytes a rank sends for a sum of 12 000 numbers of 4 bytes, with two, three and four ranks.

# %%
for n in (2, 3, 4):
    off, messages, sent = ranks.call(trials.ring_sum, 12_000, n=n)[0]
    print(f"{n} ranks: {messages} messages, {sent:.0f} bytes; as torch's sum: {off < 1e-2}")
    assert sent == 2 * (n - 1) / n * 48_000

# %% [markdown]
# These bytes were counted, message by message, as they passed to the group (`distributed/traffic.py`). For torch's own sums, whose messages can't be seen from outside, we count the calls and their numbers, and reckon what a ring sends for them. However many ranks there are, none sends more than twice its numbers. Two other operations are halves of this one. A **reduce-scatter** stops after the first round, when each rank has the sum of its own part, and an **all-gather** is the second round alone.

# %% [markdown]
# ## Five ways to cut
#
# So the ranks can add up what they have. What shall each of them do? A training step has four things that can be cut, which are the texts of a batch, the weights, the positions of a text, and the layers. There are five usual ways to do it, because the weights can be cut in two ways. For each of the five, ask what must be sent and how often. After them you will put it into formulas.
#
# ![For each of five ways, who of four ranks has which part of the activations and of the weights.](../img/17_ways.svg)

# %% [markdown]
# **1. Data.** Each rank has all weights and every $n$-th text. One all-reduce a step, of the gradients of all weights, is enough, however many texts there are. What this way can't cut is the memory of the model, because every rank holds all weights, gradients and averages.

# %% [markdown]
# **2. Sharded.** So let each rank *keep* only an $n$-th of every weight, and with it that part's gradients and averages. A layer's weights are gathered before the layer computes, and freed after it. On the way back they are gathered again, and of the summed gradients each rank keeps its own part. That makes two all-gathers and one reduce-scatter, half as much again as data parallel. The idea is ZeRO's, and torch calls it [FSDP](https://arxiv.org/abs/2304.11277); its present form, used below, is `fully_shard`. What it can't cut is the work inside a layer, for every rank computes whole layers.

# %% [markdown]
# **3. Tensor.** Inside a layer, the ranks can share each matrix. In a feed-forward network, $\text{relu}(x W_{up})\, W_{down}$, rank $r$ takes some *columns* of $W_{up}$, so that it has whole features and can take the relu of them. It then multiplies by the *rows* of $W_{down}$ that read these features. By hand, with six features and two ranks:

# %%
torch.manual_seed(0)
x, w_up, w_down = torch.randn(5, 4), torch.randn(4, 6), torch.randn(6, 4)
whole = torch.relu(x @ w_up) @ w_down
left = torch.relu(x @ w_up[:, :3]) @ w_down[:3]
right = torch.relu(x @ w_up[:, 3:]) @ w_down[3:]
print("left + right = whole:", (left + right - whole).abs().max().item() < 1e-5)
wrong = torch.relu(x[:, :2] @ w_up[:2]) + torch.relu(x[:, 2:] @ w_up[2:])
print(f"rows of w_up first, off by {(wrong @ w_down - whole).abs().max().item():.1f}")

# %% [markdown]
# So one sum for each network is enough. The control shows why the first cut goes by columns. If $W_{up}$ is cut by rows, each rank has only a *term* of every feature, and the relu of a sum is not the sum of the relus.

# %% [markdown]
# Attention is cut in the same way, because heads are blocks of columns. Each rank has some of the heads, and the rows of $W_O$ that read them. That makes two all-reduces of an activation for each layer on the way forward and, for the gradients of the inputs, two more on the way back. What tensor parallel can't cut is what lies between attention and the network, such as norms and residuals, because every rank has all activations there. (Megatron's later [sequence parallelism](https://arxiv.org/abs/2205.05198) cuts these by positions, too. It sends a quarter more, because on the way back it gathers the inputs once more. Ours does not do that.)

# %% [markdown]
# **Exercise 2** (10 minutes, medium). Cut a feed-forward network relu(x @ w_up) @ w_down for n ranks, so that one sum is enough. Rank r will compute relu(x @ ups[r]) @ downs[r]. n divides d_ff, and rank 0 gets the first features. Return `(ups, downs)`, whose first axis counts the ranks.

# %% exercise="split_columns_rows"
def split_columns_rows(w_up, w_down, n):
    """(d_model, d_ff), (d_ff, d_model) -> (n, d_model, d_ff / n), (n, d_ff / n, d_model)."""
    return ...

# %%
exercises.split_columns_rows.check(split_columns_rows)

# %% [markdown]
# **4. Context.** Texts may be so long that the activations of a single one do not fit. Then each rank takes some positions of every text. All parts of a layer work on each position alone, except attention, whose queries need the keys and values of all ranks. So these go round the ring ([Liu et al., 2023](https://arxiv.org/abs/2310.01889)), and what a query makes of one part is merged with what it has already (`merge_partial`, lesson 13):

# %%
query, key, value = torch.randn(3, 8, 16)  # 8 positions, of which each of two ranks has 4
parts = []
for some in (slice(0, 4), slice(4, 8)):
    scores = query[:4] @ key[some].T / 4
    parts += [scores.softmax(-1) @ value[some], scores.logsumexp(-1)]
output, _ = merge_partial(*parts)
right = (query[:4] @ key.T / 4).softmax(-1) @ value
print("rank 0, merged = at once:", (output - right).abs().max().item() < 1e-6)

# %% [markdown]
# In each layer, keys and values make $n - 1$ hops on the way forward and $n - 1$ on the way back, where they are needed again. Their gradients make $n$ hops, since they have to come home. After that comes the sum of the weights' gradients, as in data parallel, for all ranks have the same weights.

# %% [markdown]
# **Exercise 3** (25 minutes, hard). Write attention in a ring, without a mask; scores are divided by √d, as ever. Rank r has `queries[r]`, `keys[r]` and `values[r]`. In step 0 it attends to its own keys. Then, n − 1 times, all keys and values move on to the next rank, and each rank merges what its queries make of those that came into what it has. Return what each has after each step, (n, n, T, d_v), where `[s, r]` is rank r after step s. `merge_partial` may be used.

# %% exercise="ring_attention"
def ring_attention(queries, keys, values):
    """(n, T, d), (n, S, d), (n, S, d_v) -> (n, n, T, d_v)."""
    return ...

# %%
exercises.ring_attention.check(ring_attention)

# %% [markdown]
# A causal mask needs care. **Predict**: if rank 0 has the first quarter of a text and rank 3 the last, which share of all scores does each compute?

# %%
def seen(positions):
    return sum(position + 1 for position in positions)  # position t sees 0 … t


quarters = [seen(range(16 * r, 16 * r + 16)) for r in range(4)]
balanced = [sum(map(seen, part)) for part in context_parallel.balanced_parts(64, 4)]
share = {name: torch.tensor(x) / seen(range(64)) for name, x in
         (("quarters", quarters), ("two pieces each", balanced))}
labels = [f"rank {r}" for r in range(4)]
plots.show(plots.plot_bars(share, labels, y_label="share of the scores"),
           alt="Quarters: 7, 19, 31 and 43 per cent; with two pieces each: 25 per cent everywhere")

# %% [markdown]
# Suppose that a rank leaves out the scores that the mask hides, as lesson 13's tiles do. With quarters, the last rank then has more than six times the work of the first, and all others wait for it. So the text is cut into $2n$ pieces, of which rank $r$ takes the $r$-th from the front and the $r$-th from the back, as in the training of [Llama 3](https://arxiv.org/abs/2407.21783). (Our own ring is written to be read. It computes the hidden scores as well, and masks them, so that its ranks are equally busy either way, with nearly twice as many scores as they need.) What context parallel can't cut is the weights.

# %% [markdown]
# **5. Pipeline.** Each rank has some of the layers and hands its output to the next one. Across each border between two ranks, an activation goes forward, and its gradient comes back. But no rank can begin before the one in front of it is done. So the batch is cut into **micro-batches**, which follow each other. Here are four ranks with four micro-batches, where `F2` is the third micro-batch on its way forward, `B2` the same one on its way back, and a dot is a turn of waiting:

# %%
def timetable(n, m):
    """What each of n ranks does in each turn, for m micro-batches."""
    last = 2 * (m + n - 1) - 1
    turns = [["·"] * (last + 1) for _ in range(n)]
    for rank in range(n):
        for i in range(m):
            turns[rank][rank + i] = f"F{i}"
            turns[rank][last - rank - i] = f"B{i}"  # the last one comes back first
    return turns


for rank, turns in enumerate(timetable(4, 4)):
    print(f"rank {rank}  ", " ".join(f"{turn:2}" for turn in turns).rstrip())

# %% [markdown]
# With $m$ micro-batches, a rank works in $m$ of $m + n - 1$ turns each way, so that a share of $(n - 1) / (m + n - 1)$ is lost. (A turn on the way back takes about twice as long as one forward, but it does so for every rank, and the share stays what it is.)

# %%
from transformer_lab.distributed import pipeline

for m in (1, 4, 12, 48):
    turns = [turn for rank in timetable(4, m) for turn in rank]
    idle = turns.count("·") / len(turns)
    print(f"{m:2} micro-batches: {idle:.2f} counted, {pipeline.waiting_share(4, m):.2f} predicted")

# %% [markdown]
# More micro-batches make less waiting, as long as there are texts enough. But in this order, which is GPipe's, no way back begins before all $m$ micro-batches have gone forward, so that a rank keeps the activations of the whole batch. (The [GPipe paper](https://arxiv.org/abs/1811.06965) avoids that at a price: it keeps only what comes in, and computes the rest once more.) In another order, **1F1B** ([PipeDream](https://arxiv.org/abs/1806.03377); as here, [with one step for the whole batch](https://arxiv.org/abs/2006.09503)), the last rank sends each micro-batch back at once, and every rank then does one forward and one back in turns. The waiting stays what it is. But a micro-batch's activations are freed when it comes back. **Predict** how many micro-batches each of four ranks then keeps at most, of four and of eight:

# %%
for order in trials.ORDERS:
    for m in (4, 8):
        held = ranks.call(trials.micro_batches_held, order, config, batches[0], m)
        print(f"{order:5} keeps, on ranks 0 to 3, {held} of {m} micro-batches")
in_turns = ranks.call(trials.train, "1F1B", config, batches)
print("1F1B, same weights as one process:", difference(in_turns) < 1e-5)
assert held == [4, 3, 2, 1]
assert difference(in_turns) < 1e-5

# %% [markdown]
# In 1F1B, rank $r$ never keeps more than $n - r$ micro-batches, however many there are, while in GPipe's order every rank keeps all of them. The weights that come out are the same, to rounding. (`distributed/pipeline.py` has both orders, and the trainings below go by GPipe's.) Later orders also shorten the waiting: [interleaved ones](https://arxiv.org/abs/2104.04473) give a rank several pieces of the model, and [zero bubble](https://arxiv.org/abs/2401.10241) fills the gaps with gradients of weights, for which nobody waits. What a pipeline can't cut is a single layer.

# %% [markdown]
# **Exercise 4** (predict; 15 minutes, medium). Put into formulas what the last sections said in words. How many bytes do all ranks together send in a training step in float32, for "data", "tensor", "context" and "pipeline"? `n_tokens` are those of the whole batch. Ask each time what is sent, how often, and by whom.

# %% exercise="bytes_sent"
def bytes_sent(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    """A name and five whole numbers -> a whole number of bytes."""
    return ...

# %%
exercises.bytes_sent.check(bytes_sent)

# %% [markdown]
# Let $P$ be the number of weights, $L$ the number of layers, $x = B\,T\,d$ the numbers of one activation over the whole batch, and $n > 1$ the number of ranks. Then all ranks together send
#
# | way | numbers in a step |
# |---|---|
# | data | $2 (n - 1)\, P$ |
# | sharded | $3 (n - 1)\, P$ |
# | tensor | $4 L \cdot 2 (n - 1)\, x$ |
# | context | $L\, (3 n - 2) \cdot 2 x + 2 (n - 1)\, P$ |
# | pipeline | $2 (n - 1)\, x$ |

# %% [markdown]
# **And experts.** A mixture of experts (lesson 11) allows a sixth cut, which we do on paper only. Each rank holds some of a layer's experts. So the vector of each token travels to the $k$ experts that the router has chosen for it, and what they make of it travels home. In the backward pass the gradients make both journeys in reverse, so that there are four. If the experts are chosen evenly, a share of $(n - 1) / n$ of all vectors leaves its rank on each journey, and all ranks together send $4 k \frac{n - 1}{n}\, x$ numbers in each such layer. Let us count one journey, with eight experts on four ranks, of which each token takes two:

# %%
torch.manual_seed(0)
n, k, n_tokens = 4, 2, 4096
chosen = torch.rand(n_tokens, 8).topk(k).indices  # (n_tokens, k): as even as chance makes it
home = torch.arange(n_tokens) * n // n_tokens  # the rank that has the token
leave = (chosen // 2 != home[:, None]).sum().item()  # experts 0 and 1 live on rank 0, and so on
print(f"{leave} vectors leave their rank, predicted {k * (n - 1) / n * n_tokens:.0f}")

# %% [markdown]
# Tensor parallel sends $4 (n - 1)\, x$ for a network, so experts send $k / n$ of that. In the training of [DeepSeek-V3](https://arxiv.org/abs/2412.19437), 64 GPUs share the 256 experts of a layer, of which a token takes 8, and no token may travel to more than four machines. What this way can't cut is all that is not an expert, so attention needs another way beside it. And all ranks wait for the one whose experts have most to do, which is why lesson 15 balances them.

# %% [markdown]
# ## Look: five trainings, predicted and run
#
# The formulas use nothing but sizes. Now they predict what all ranks together send in one step of our model, for eight texts of 64 characters and 216 000 weights. **Predict** first: which of the five ways sends least, and which two send most?

# %%
sizes = (one.n_parameters, config.n_layers, batches[0].numel(), config.d_model)
predicted = {way: costs.bytes_sent(way, 4, *sizes) for way in trials.SCHEMES}
for way, number in predicted.items():
    calls = costs.calls_made(way, 4, config.n_layers, n_micro=4)
    print(f"{way:9} {number / 1e6:6.2f} MB in {calls} calls")

# %% [markdown]
# Now we run them, with ten steps of Adam each, by four ranks, and count bytes and calls in the first step. At the end of each line we print whether no weight is further than 1e-5 from that of one process (10 seconds):

# %%
outcomes = {way: ranks.call(trials.train, way, config, batches) for way in trials.SCHEMES}
for way, found in outcomes.items():
    sent = sum(outcome.bytes for outcome in found)
    calls = sum(n for one_rank in found for call, n in one_rank.calls.items() if call != "receive")
    print(f"{way:9} {sent / 1e6:6.2f} MB in {calls} calls", end=", ")
    print("same weights:", difference(found) < 1e-5)

# %%
for way, found in outcomes.items():
    sent, calls = sum(outcome.bytes for outcome in found), costs.calls_made(way, 4, 4, n_micro=4)
    assert difference(found) < 1e-5
    assert way == "sharded" or abs(sent - predicted[way]) < 1
low, high = (f(predicted[way] for way in ("data", "sharded")) for f in (min, max))
print("sharded, sent / predicted:", round(sum(o.bytes for o in outcomes["sharded"]) / high, 2))

# %% [markdown]
# After ten steps all five have the weights of one process, to rounding, and four of the predictions are exact to the byte. Sharded training sends a little less than $3(n-1)P$, because torch keeps what belongs to no layer, the embeddings and logits, from the forward to the backward pass instead of gathering it twice.
#
# These are the bytes of rings. What really passes between the processes, by the counter of Linux's loopback device, agrees for all-reduce and all-gather. But gloo, which torch uses on processors, makes a reduce-scatter out of a whole all-reduce and sends twice as much for it (docs/figures.md).

# %% [markdown]
# The weights agree so well because Adam's $\epsilon$ is 1e-5 here. A bias of the keys changes all scores of a query alike, so its gradient is nothing but rounding, and Adam divides this by its own size. With torch's $\epsilon$ of 1e-8 the biases of the keys differ from those of one process by up to 5e-4 after ten steps, although all other weights differ by less than 2e-5 (data, tensor and context parallel).

# %% [markdown]
# And what about memory? It can be predicted just as well. Between two steps, a rank holds the weights that its way gives it. And for its way back it keeps activations. For each token, a layer of ours keeps
#
# | numbers | of what | tensor parallel |
# |---|---|---|
# | $4 d$ | what goes into its two halves, before and after the norm | leaves them on every rank |
# | $4 d$ | queries, keys, values, and what the heads have read | cuts them by heads |
# | $2 d_{ff}$ | the features inside the network, before and after the activation function | cuts them by features |
#
# and the model's end keeps two more vectors of $d$, and a probability for each character. (Nothing here grows with the square of the text, except a mask of $T^2$ numbers in each layer. The attention weights, $h\,T$ numbers for each token, are not kept, because torch's fused kernel makes them anew on the way back, as lesson 13 does.) **Predict**: which way leaves nearly half of the activations on each rank?

# %%
def memory(way, n):
    """Weights, and bytes of activations, of the rank that has most of them."""
    return costs.weights_held(way, n, config), costs.activations_kept(way, n, config, 8, 64)


whole = memory("data", 1)
expected = {way: [part / total for part, total in zip(memory(way, 4), whole)] for way in costs.WAYS}
for way, (weights, kept) in expected.items():
    print(f"{way:9} weights {weights:.2f}, activations {kept:.2f}")

# %% [markdown]
# These are shares of what one process has. And here is what the four ranks had in their first step, where autograd tells us what it keeps:

# %% tolerance=0.03
held = {}
for way, found in outcomes.items():
    weights = max(outcome.n_parameters for outcome in found) / one.n_parameters
    kept = max(outcome.kept_bytes for outcome in found) / one.kept_bytes
    held[way] = (weights, kept)
    print(f"{way:9} weights {weights:.2f}, activations {kept:.2f}")
    assert max(abs(a - b) for a, b in zip(held[way], expected[way])) < 0.02
assert held["data"][0] == held["context"][0] == 1
assert max(held["sharded"]) < 0.3 < 0.4 < held["tensor"][1] < 0.5

# %% [markdown]
# Read the table as *what each way can't cut*. Data and context leave all weights on every rank. Tensor parallel leaves a part of both, because embeddings, norms and what lies between the layers are everywhere. Sharding and the pipeline divide both by about four. (The mask of a layer is everywhere as well, which is why data parallel and sharding keep a little more than a quarter of the activations. Context parallel keeps no mask, but copies what the heads have read.) But sharding sends most weights twice and their gradients once, and has each layer whole while it computes, which the table leaves out. The pipeline pays by waiting, has embeddings and logits on its first and last rank, which are fuller than the others, and can use no more ranks than there are layers. Each way has its limit, so large trainings combine several.

# %% [markdown]
# ## Break it
#
# **A rank that skips a message.** Ranks do not know what the others do, so they wait. Here rank 2 is busy with something else and leaves out one sum, and the group has a limit of three seconds (6 seconds):

# %%
told = ranks.call(trials.skipped_sum, 2, 6.0, limit=3.0)
waited = [seconds for seconds, said in told if said]
print("ranks that were told of an error:", len(waited))
print("told:", next(said for _, said in told if "Timed out" in said))
assert len(waited) == 3
assert min(waited) > 2  # seconds; how many more, says the machine

# %% [markdown]
# If rank 2 stayed busy, torch's own limit would let them wait for [half an hour, or ten minutes with NCCL](https://docs.pytorch.org/docs/stable/distributed.html) on GPUs. Until then there is no error and no progress. Note what the message does *not* say, which is who was missing, and at which step. So each rank should log its steps, and a test should run with a short limit. (To find out who, gloo has [`monitored_barrier`](https://docs.pytorch.org/docs/stable/distributed.html), which names the missing rank, and torch records what its ranks do with NCCL in a [flight recorder](https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html).)

# %% [markdown]
# **The mean of means.** This takes us back to the two lists, now in a real model. Some texts are shorter than others, and end in padding, which is no target. One way of adding up is right, and the other averages the ranks' means. The control is a batch in which every rank has equally many targets:

# %%
PAD = len(characters)  # an id that no character has
ragged = batches[0].clone()
ragged[::4, 8:] = PAD  # both texts of rank 0 are short
padded = LanguageModelConfig(**(vars(config) | {"vocab_size": PAD + 1}))


def gradient_off(way, tokens):
    """By how much a way's gradient differs from that of one process, as a share of its length."""
    right = trials.train_alone(padded, [tokens], PAD).gradients
    found = ranks.call(trials.train, way, padded, [tokens], PAD)[0].gradients
    gap = sum((found[name] - right[name]).square().sum() for name in right)
    return (gap / sum(gradient.square().sum() for gradient in right.values())).sqrt().item()


# %% tolerance=0.1
off = {}
for name, tokens in (("equal shares", batches[0]), ("unequal shares", ragged)):
    for way in ("data", "mean of means"):
        off[name, way] = gradient_off(way, tokens)
        print(f"{name}, {way}: gradient off by {off[name, way]:.2f} of its length")
assert off["unequal shares", "mean of means"] > 0.1
assert max(off["equal shares", "mean of means"], off["unequal shares", "data"]) < 1e-4

# %% [markdown]
# With equal shares the two agree, so a test on equal shares finds nothing. With unequal shares the gradient is a different one, although no error is raised, and in ten steps the loss falls as it should. A fault like this can live long. Hugging Face's trainer [had it until 2024](https://huggingface.co/blog/gradient_accumulation), where it added up the gradients of several small batches.

# %% [markdown]
# **Equal seeds.** Dropout should drop different features in each text. Here is what two texts on each of four ranks lose if all ranks have one seed, and if each has its own:

# %%
for alike in (True, False):
    patterns = [row for rank in ranks.call(trials.dropped_patterns, alike) for row in rank]
    print("one seed:  " if alike else "own seeds: ", " ".join(patterns))
    print("different patterns:", len(set(patterns)), "of", len(patterns))
    assert (len(set(patterns)) == 2) == alike

# %% [markdown]
# With one seed there are two patterns instead of eight, so the noise of the eight texts averages out less well. But own seeds are not always right. In tensor parallel all ranks hold the *same* activations between the layers, and these must be dropped alike, or the ranks would go on with different numbers. Each rank needs a seed of its own only inside its heads, which no other rank has. `distributed/tensor_parallel.py` does both.

# %% [markdown]
# **Exercise 5** (find the bug; 25 minutes, medium). Here is data parallel training with three defects. Rank r has every n-th row, and should drop features by a generator seeded with `seed` + r. The gradient is that of the mean over all rows, and all ranks must compute with the centre of rank 0. Three things were observed. With unequal shares, the gradient is not that of one process. All ranks drop the same features. And the model that rank 0 stores is worse than the ranks were in training.

# %% exercise="mend_data_parallel"
def mend_data_parallel(weight, inputs, targets, centres, drop, seed):
    n = len(centres)
    gradient = torch.zeros_like(weight)
    for rank in range(n):
        x, y = inputs[rank::n], targets[rank::n]
        generator = torch.Generator(x.device).manual_seed(seed)
        kept = torch.rand(x.shape, generator=generator) >= drop
        x = (x - centres[rank]) * kept / (1 - drop)
        errors = x @ weight - y
        gradient += (2 * x * errors[:, None]).mean(0) / n
    return gradient

# %%
exercises.mend_data_parallel.check(mend_data_parallel)

# %% [markdown]
# ## Same as torch
#
# Sharded training above *is* torch's own. Our data parallel, which is fifteen lines, has the gradients of torch's `DistributedDataParallel`, as long as all ranks have equally many targets:

# %%
gap = max(ranks.call(trials.against_torch, config, batches[0]))
print("ours = DistributedDataParallel, max difference < 1e-6:", gap < 1e-6)
ranks.close()

# %% [markdown]
# With unequal shares, torch's class makes the mean of means that you have seen above, because it averages the gradients of whatever losses the ranks have. So whoever trains on texts with padding must divide each rank's sum by the right number, and undo torch's division by $n$. The training commands of this package do so.
#
# `torchrun --nproc-per-node 4 -m transformer_lab.training.text` starts four ranks on one machine, and with `--nnodes` on many; each takes a share of every batch, rank 0 writes the checkpoint, and another number of ranks can go on from it. That is data parallel, where rank 0 has all there is to write. Where each rank holds a part, as in sharded training, each can write its own. `distributed/checkpoints.py` does that with torch's `distributed.checkpoint`, and its docstring holds a script to copy; what many ranks have written, one process can read.

# %% [markdown]
# ## A real cluster, on paper
#
# The same formulas predict what you can't run. The Llama 3 of 8 billion weights has 32 layers and $d = 4096$. Let eight GPUs train it with 65 536 tokens a step and numbers in bfloat16, once within one machine, and once with each GPU in a machine of its own.
#
# An H100 does [989 TFLOP/s](https://www.nvidia.com/en-us/data-center/h100/) with dense matrices, of which the training of the largest Llama 3 reached [about 40 %](https://arxiv.org/abs/2407.21783). Each GPU can send 450 GB/s to the others of its machine by NVLink, and 50 GB/s to other machines by a [400 Gbit/s link](https://docs.nvidia.com/dgx/dgxh100-user-guide/introduction-to-dgxh100.html).

# %% [markdown]
# A step costs about $6 P$ FLOPs a token ([Kaplan et al., 2020](https://arxiv.org/abs/2001.08361)). Forward, each weight costs one product and one sum. Backward it costs twice as much, for two gradients, its own and that of its input. Attention's own products are left out, which are few while the texts are short.

# %%
P, L, d, tokens, n = 8_030_261_248, 32, 4096, 65_536, 8
inside = costs.Cluster(flops=989e12, link=450e9)
outside = costs.Cluster(flops=989e12, link=50e9)
print(f"computing: {inside.seconds_computing(P, tokens, n):.2f} s a step")
years = inside.seconds_computing(P, 15e12, n_ranks=1) / (365 * 86_400)
print(f"one GPU for 15 trillion tokens: {years:.0f} years")
held = 16 * P  # 2 bytes for each weight, 2 for its gradient, 12 for a copy and Adam's two averages
print(f"weights, gradients, averages: {held / 1e9:.0f} GB, sharded {held / n / 1e9:.0f} GB")

# %% [markdown]
# These are ideal years. Meta itself counts [1.3 million GPU hours](https://github.com/meta-llama/llama3/blob/main/MODEL_CARD.md) for the model of 8 billion, which is 148 years, two and a half times as many.
#
# **Predict** before you read on: for which of the five ways do the slow links between machines cost more time than the arithmetic?

# %%
seconds = {"within a machine": [], "between machines": []}
for way in costs.WAYS:
    sent = costs.bytes_sent(way, n, P, L, tokens, d, n_bytes=2)
    for name, cluster in zip(seconds, (inside, outside)):
        seconds[name].append(cluster.seconds_sending(sent, n))
    both = [round(times[-1], 2) for times in seconds.values()]
    print(f"{way:9} {sent / n / 1e9:6.1f} GB a GPU: {both[0]} s within, {both[1]} s between")
plots.show(plots.plot_bars(seconds, costs.WAYS, y_label="seconds of sending"),
           alt="Between machines all take nine times as long; context and tensor take most")

# %% [markdown]
# Tensor and context parallel send activations in *every layer*, and between machines that takes longer than the second of arithmetic. More texts hardly help: work and messages both grow. *Longer* texts do help context parallel, because attention's own products, left out here, grow with the square of the length. If one causal text of 65 536 tokens is the whole step, they cost as much as all the rest, and with 262 144 tokens so much that computing takes 2.6 times as long as sending. In data and sharded parallel each GPU sends 1.75 and 2.6 times what the model weighs, however many tokens a step has. With a large batch, that can be hidden behind the arithmetic. A pipeline sends next to nothing, but waits.
#
# Is that a law, or a fact about this size? In a wider model the arithmetic grows with $d^2$, and an activation with $d$:

# %%
# weights, layers, d:
llamas = ((P, L, d), (70_553_706_496, 80, 8192), (405_000_000_000, 126, 16_384))
for weights, layers, width in llamas:
    sent = costs.bytes_sent("tensor", n, weights, layers, tokens, width, n_bytes=2)
    ratio = outside.seconds_sending(sent, n) / outside.seconds_computing(weights, tokens, n)
    print(f"{weights / 1e9:3.0f} billion: sends {ratio:.2f} times as long as it computes")

# %% [markdown]
# So the ratio falls with the width. But on the way forward, no token can enter the next half of a layer before its sum is there, so that sending is hard to hide even where it takes less time than the arithmetic. To hide it, the work must be cut more finely. PyTorch's [asynchronous tensor parallelism](https://discuss.pytorch.org/t/distributed-w-torchtitan-introducing-async-tensor-parallelism-in-pytorch/209487) sends the sums of some tokens while the products of others are computed. And on the way back, Megatron-LM computes the gradients of a weight matrix [while the gradients of its input are summed](https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/tensor_parallel/layers.py). All of this is easier on fast links. So tensor parallel is kept where the links are fast, which here means within one machine.

# %% [markdown]
# How are ways combined, then? Take two machines of eight such GPUs, and twice as many tokens, so that the arithmetic still takes a second. A ring of sixteen GPUs leaves each machine only once. So NVIDIA's library NCCL [makes several rings](https://github.com/NVIDIA/nccl-tests/issues/277), each of which leaves by another GPU's link and carries a part of the numbers. With eight rings, the machines send each other 400 GB/s.
#
# The last line of the next cell nests two ways. Each machine reads half of the tokens, and inside it, tensor parallel leaves an eighth of the weights to every GPU, because here it cuts the embeddings too, [as in Megatron](https://arxiv.org/abs/1909.08053). Then a GPU has only the gradients of its own eighth to add up between the machines, with one partner in the other machine, as in data parallel:

# %%
tokens, gpus = 131_072, 16
rings = costs.Cluster(flops=989e12, link=8 * 50e9)
for way, share in (("data", 1), ("sharded", gpus), ("tensor", gpus)):
    seconds = rings.seconds_sending(costs.bytes_sent(way, gpus, P, L, tokens, d, 2), gpus)
    print(f"{way + ' alone:':28} {seconds:.2f} s, {16 * P / share / 1e9:5.1f} GB a GPU")
both = inside.seconds_sending(costs.bytes_sent("tensor", 8, P, L, tokens // 2, d, 2), 8)
both += outside.seconds_sending(costs.bytes_sent("data", 2, P // 8, L, tokens, d, 2), 2)
print(f"tensor inside, data between: {both:.2f} s, {16 * P / 8 / 1e9:5.1f} GB a GPU")

# %% [markdown]
# Data parallel alone does not fit into the 80 GB of a GPU. Nested with tensor parallel it does, and sends for half as long as tensor parallel alone. But sharded training alone fits, too, and sends for a shorter time than both, so that a model of this size [needs no other way](https://arxiv.org/abs/2410.06511), even on 128 GPUs.
#
# Why nest, then? Ranks that share out texts can't be more than there are texts. The model of 405 billion was trained by [16 384 GPUs](https://arxiv.org/abs/2407.21783), with 16 million tokens a step in texts of 8192 tokens. These are about two thousand texts, and so eight GPUs at least had to work on each of them.

# %% [markdown]
# The [Llama 3 paper](https://arxiv.org/abs/2407.21783) (section 3.3.2) nests the ways like this: tensor innermost, where the links are fastest, then context, then pipeline, and data outermost. Our table explains only a part of it. In the model of 8 billion four heads share their keys, and with keys and values a quarter as large as here, context parallel sends less than tensor parallel. (Llama 3's ranks also gather all keys and values at once, instead of passing them round.) But a pipeline sends less than data parallel, and yet data is outermost. The reason that the paper gives is who waits: the weights that a sharded rank needs next, and the gradients, can travel while it computes something else.

# %% [markdown]
# What changes with the batch? The number of gradients does not grow with the tokens, but the arithmetic does. So here is data parallel between machines, with smaller and larger batches:

# %%
for tokens in (4096, 65_536, 1_048_576):
    sent = costs.bytes_sent("data", n, P, L, tokens, d, n_bytes=2)
    ratio = outside.seconds_sending(sent, n) / outside.seconds_computing(P, tokens, n)
    print(f"{tokens:7} tokens a step: sending takes {ratio:.2f} times as long as computing")

# %% [markdown]
# So data parallel wants many tokens a step on each GPU. All of these are predictions from data sheets. They leave out that each message takes some time however small it is, and that sending and computing can overlap.

# %% [markdown]
# ## Look: who waits for whom
#
# So far we know how *much* is sent. But *when* is it sent, and what do the others do meanwhile? A rank that waits for a message computes nothing. The view below therefore puts a step in time. It takes four layers of the width of Llama 3 8B, 65 536 tokens, and the slow links between machines, and it places each piece of arithmetic and each message as early as its way allows. A line stands for a rank, and a thread for a message. **Predict** before you look:

# %%
from transformer_lab import widgets

widgets.ranks().ask("17 overlap")

# %% [markdown]
# Now go through the five ways, and move the moment through a step. At the left you see which pieces a rank holds; in sharded training, watch a layer's weights being gathered and let go. Then let the ranks send while they compute, and slow down the last one. Here are the same steps in numbers:

# %%
from transformer_lab.analysis import rank_tasks
from transformer_lab.analysis.ranks import schedule


def milliseconds(way, **how):
    step = rank_tasks.Step(rank_tasks.Stack(), 4, outside, **how)
    return 1000 * max(task.end for task in schedule(way, step))


changes = ({}, {"overlap": True}, {"slow": 2})
times = {way: [milliseconds(way, **change) for change in changes] for way in costs.WAYS}
for way, (plain, overlapped, slow) in times.items():
    print(f"{way:9} {plain:4.0f} ms, sending while computing {overlapped:4.0f}", end=", ")
    print(f"one slow rank {slow:4.0f}")
assert times["tensor"][0] == times["tensor"][1]
assert all(plain > overlapped for way, (plain, overlapped, _) in times.items() if way != "tensor")
assert min(slow - plain for plain, _, slow in times.values()) > 150

# %% [markdown]
# In data and sharded training, the arithmetic of the moment does not need what is being sent, so most of the sending disappears behind it. A pipeline gains a little, context also a little, and tensor parallel nothing, because here each of its sums is needed at once. And in every way a single rank that takes twice as long makes the others wait, so that four ranks need about one and a half times as long, or almost twice as long, for the same work.

# %% [markdown]
# ## Back to the question
#
# Four processes, and in each step the same numbers: what must they tell each other, and how often? That follows from what is cut. Where a *sum* runs over what is cut, its parts must be added up. A gradient is a sum over texts, so that data and sharded training add up gradients, once a step (and a sharded rank asks for the weights that it no longer keeps). What a half of a layer puts out is a sum over features, so that tensor parallel adds up twice in each layer, on each way. A softmax sums over positions, so that in context parallel all keys and values must come by, in each layer. Only a pipeline has no sum between ranks. All that a layer needs is what the one before hands over, once for each micro-batch.

# %% [markdown]
# ## Remember
#
# - A gradient is a sum, and a sum can be made in parts: divide by the number of *all* targets, then add up.
# - A ring adds up in $2 (n - 1)$ steps, and no rank sends more than twice its numbers.
# - Data cuts the texts, sharding the weights, tensor the features, context the positions, pipeline the layers.
# - Activations sent in every layer need fast links. So where ways are nested, tensor is inside a machine, and data between machines.
# - Test with unequal shares, own seeds and a limit of time.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. Eight ranks instead of four: by how much does the number of bytes grow that each rank sends in an all-reduce?</summary>
# From 2 · 3/4 to 2 · 7/8 of its numbers, a sixth more.
# </details>
# <details><summary>2. Why does tensor parallel cut the first matrix by columns?</summary>
# Each rank then has whole features, and can take the relu of them without asking. Cut by rows, it would need a sum before the relu, and another after the second matrix.
# </details>

# %% [markdown]
# <details><summary>3. Backward, keys and values go round the ring once more. Why are they not kept from the forward pass?</summary>
# Keeping the keys of all ranks would take the memory that the cut was made to save.
# </details>
# <details><summary>4. A training hangs and no rank reports an error. What do you suspect first?</summary>
# That a rank took another path than the others, so that its messages do not match theirs: one step less, or a condition that was true on it alone.
# </details>

# %% [markdown]
# **Next:** this was the last lesson. What you can build on it stands in the [gallery](gallery.ipynb) of all views, and in `transformer_lab/distributed`, whose files are short enough to be read in one sitting.
