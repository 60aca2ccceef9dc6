# %% [markdown]
# # 06 · The Transformer
#
# The whole model of 2017 on one page, from parts you have built.
#
# **You will be able to**
# - assemble the model, and say the shape of every tensor on the way,
# - count its parameters before you build it,
# - find out what is wrong with code whose tests are all green.
#
# **You need** lessons 01 to 05. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), sections 3.1 and 3.4, Table 3. **Time:** 60 minutes.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from transformer_lab import default_device, exercises, masks, plots, tasks, widgets

torch.set_default_device(default_device())

# %% [markdown]
# ## The question
#
# The model of the paper reads a sentence in one language and writes it in another. Table 3 gives its size: 65 million parameters. The paper's sizes are the defaults of the package's model. Build it, and count:

# %%
from transformer_lab import model as package

base = package.Transformer(package.TransformerConfig())
count = sum(parameter.numel() for parameter in base.parameters())
print(f"{count:,} parameters")

# %% [markdown]
# Two million are missing. Is a part left out? **The whole model on one page: does it count 65 million parameters as Table 3 says?** You will know where each of them lies, and what the table does not say.
#
# ![The Transformer of 2017, drawn from bottom to top. Left the encoder: embedding plus position, then layers of self-attention and feed-forward. Right the decoder: the same with a mask, and between the two a cross-attention to the encoder's output.](../img/00_map.svg)

# %% [markdown]
# The left tower, the **encoder**, reads; the right one, the decoder, writes. All boxes are old friends but two: the **embedding** at the bottom, a table with a learned vector for each token of the **vocabulary**, which is all the tokens there are; and the linear layer at the top, which gives each of them a **logit**: how well it would fit as the next token. A softmax makes probabilities of logits.

# %% [markdown]
# ## By hand
#
# The way in and the way out, for a vocabulary of three tokens and vectors of four features:

# %%
import math

words = ["the", "cat", "sleeps"]
table = [[0.5, 0.0, 0.0, 0.5], [0.0, 0.5, -0.5, 0.0], [0.5, -0.5, 0.5, 0.5]]
places = [[0.0, 1.0, 0.0, 1.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]

for place, word in zip(places, ["the", "cat"]):
    row = table[words.index(word)]
    vector = [math.sqrt(4) * feature + p for feature, p in zip(row, place)]
    print(f"{word:4} in:", [round(value, 2) for value in vector])

# %% [markdown]
# Look the word up, multiply it by $\sqrt{d_{model}} = 2$ (§3.4), add the place. Now the layers do their work. Suppose that the decoder puts out this vector for the last place. The logits are its dot products with the rows of the *same* table:

# %%
out = [1.0, -1.0, 0.5, 1.5]
logits = [sum(a * b for a, b in zip(out, row)) for row in table]
exponentials = [math.exp(logit) for logit in logits]
print("logits       ", dict(zip(words, logits)))
print("probabilities", [round(e / sum(exponentials), 3) for e in exponentials])

# %% [markdown]
# *sleeps* fits best. To use the table of the way in for the way out as well is called **weight tying** ([Press & Wolf, 2016](https://arxiv.org/abs/1608.05859)): one matrix for source, target and logits.

# %% [markdown]
# ## The equations
#
# A layer of the encoder has two sub-layers, one of the decoder three, each in a post-norm block (lesson 04). For the encoder:
#
# $$y = \mathrm{LayerNorm}(x + \mathrm{MultiHead}(x, x, x)), \qquad \mathrm{LayerNorm}(y + \mathrm{FFN}(y))$$
#
# In the decoder, between the two, stands a cross-attention: queries from the target, keys and values from the encoder's output, the **memory** $m$:
#
# $$z = \mathrm{LayerNorm}(y + \mathrm{MultiHead}(y, m, m))$$

# %%
from transformer_lab import FeedForward, MultiHeadAttention, Residual


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.residual_1, self.residual_2 = Residual(d_model), Residual(d_model)

    def forward(self, x, mask):
        x = self.residual_1(x, lambda y: self.self_attention(y, y, y, mask)[0])
        return self.residual_2(x, self.feed_forward)


class DecoderLayer(EncoderLayer):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__(d_model, n_heads, d_ff)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.residual_3 = Residual(d_model)

    def forward(self, x, memory, mask, memory_mask):
        x = self.residual_1(x, lambda y: self.self_attention(y, y, y, mask)[0])
        x = self.residual_2(x, lambda y: self.cross_attention(y, memory, memory, memory_mask)[0])
        return self.residual_3(x, self.feed_forward)

# %% [markdown]
# The rest is two stacks, with tokens in at the bottom and logits out at the top. Id 0 is padding, id 1 the beginning of a sentence:

# %%
from transformer_lab import decoder_mask, padding_mask, sinusoidal_encoding

PAD, BEGIN = 0, 1


class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model=512, n_heads=8, d_ff=2048, n_layers=6):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) / d_model**0.5)
        sizes, layers = (d_model, n_heads, d_ff), range(n_layers)
        self.encoder = nn.ModuleList([EncoderLayer(*sizes) for _ in layers])
        self.decoder = nn.ModuleList([DecoderLayer(*sizes) for _ in layers])

    def embed(self, tokens):
        places = sinusoidal_encoding(tokens.size(1), self.table.size(1))
        return self.table[tokens] * self.table.size(1) ** 0.5 + places

    def encode(self, x, mask=None):
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def decode(self, x, memory, mask=None, memory_mask=None):
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask)
        return x

    def forward(self, src, tgt):
        src_mask, tgt_mask = padding_mask(src, PAD), decoder_mask(tgt, PAD)
        memory = self.encode(self.embed(src), src_mask)
        return self.decode(self.embed(tgt), memory, tgt_mask, src_mask) @ self.table.T

# %% [markdown]
# That is all of it. (In training the paper also drops out 10 % of each sub-layer's output and of the sums of embedding and place, §5.4; the package's model does so, too.) Does it run? 64 sentences of 32 vectors go in on the left, 64 of 16 on the right:

# %%
torch.manual_seed(0)
page = Transformer(vocab_size=37_000)
source, target = torch.randn(64, 32, 512), torch.randn(64, 16, 512)

with torch.no_grad():
    memory = page.encode(source)
    out = page.decode(target, memory)
print("encoder:", tuple(source.shape), "→", tuple(memory.shape))
print("decoder:", tuple(target.shape), "→", tuple(out.shape))

# %% [markdown]
# ## Two lengths
#
# What comes out has the target's length. Where do the 32 go? A target of 4 tokens asks a memory of 7:

# %%
from transformer_lab import record_attention

layer = page.decoder[0]
with record_attention(layer) as maps, torch.no_grad():
    out = layer(torch.randn(2, 4, 512), torch.randn(2, 7, 512), None, None)
for name, weights in maps.items():
    print(f"{name:15} weights (B, h, T, S) = {tuple(weights.shape)}")
print("out", tuple(out.shape))

# %% [markdown]
# | | self-attention of the target | cross-attention |
# |---|---|---|
# | queries | $(B, h, T, d_{head})$ | $(B, h, T, d_{head})$ |
# | keys, values | $(B, h, T, d_{head})$ | $(B, h, S, d_{head})$ |
# | weights | $(B, h, T, T)$ | $(B, h, T, S)$ |
# | output | $(B, T, d_{model})$ | $(B, T, d_{model})$ |
#
# The sum over the keys takes $S$ away. That is how a sentence of seven words becomes one of four.

# %% [markdown]
# ## Where are the 65 million?
#
# **Predict** before you count: with $d_{model} = 512$ and $d_{ff} = 2048$, which is larger, an attention or a feed-forward network? A linear layer from $a$ to $b$ has $ab + b$ parameters, a norm has $2\,d_{model}$:

# %%
def parts(d_model=512, d_ff=2048):
    attention = 4 * (d_model * d_model + d_model)  # W_Q, W_K, W_V, W_O
    feed_forward = (d_model * d_ff + d_ff) + (d_ff * d_model + d_model)
    return attention, feed_forward, 2 * d_model


def predict(vocab_size, d_model=512, d_ff=2048, n_layers=6):
    attention, feed_forward, norm = parts(d_model, d_ff)
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder_layer + decoder_layer)


print("attention {:,}, feed-forward {:,}, norm {:,}".format(*parts()))
for name, one in (("this page", page), ("package", base)):
    counted = sum(parameter.numel() for parameter in one.parameters())
    print(f"{name:10} {counted:,} as predicted: {counted == predict(37_000)}")

# %% [markdown]
# The feed-forward network is about twice as large as an attention: $8\,d_{model}^2$ weights against $4\,d_{model}^2$, if $d_{ff} = 4\,d_{model}$. And nothing is left out: the prediction is exact. The open number is the vocabulary. The paper says "about 37000 tokens" (§5.1). Table 3 rounds to whole millions, so that its first row, and each of the rows (C), allows a *range* of vocabularies:

# %%
table_3 = {
    "base": (65, {}),
    "2 layers": (36, {"n_layers": 2}),
    "4 layers": (50, {"n_layers": 4}),
    "8 layers": (80, {"n_layers": 8}),
    "d_model 256": (28, {"d_model": 256}),
    "d_model 1024": (168, {"d_model": 1024}),
    "d_ff 1024": (53, {"d_ff": 1024}),
    "d_ff 4096": (90, {"d_ff": 4096}),
}

# %%
ranges = {}
for name, (millions, sizes) in table_3.items():
    without = predict(0, **sizes)  # all but the table
    d_model = sizes.get("d_model", 512)
    ranges[name] = [round((millions + half) * 1e6 - without) // d_model for half in (-0.5, 0.5)]
    print(f"{name:13} {millions:4} million: {ranges[name][0]:,} to {ranges[name][1]:,} tokens")

lowest, highest = max(low for low, _ in ranges.values()), min(high for _, high in ranges.values())
print(f"fit all rows:  {lowest:,} to {highest:,} tokens")
big = predict(0, d_model=1024, d_ff=4096)
print(f"big, 213 million: {(212.5e6 - big) / 1024:,.0f} to {(213.5e6 - big) / 1024:,.0f} tokens")

# %% [markdown]
# Eight rows, and one narrow range fits them all: about 41 000 tokens; 37 000 fits none. It looks as if the table was counted with a larger vocabulary than the text names. (The *big* model is another riddle: it would have about 36 000.) The layers are not in doubt: the rows for 2, 4, 6 and 8 of them agree.

# %% [markdown]
# ## Let it learn
#
# A small sister: 2 + 2 layers, $d_{model} = 32$, and for a start a *single* head. The task: six different digits, to be said backwards. `tasks` knows which digit of the source each one of the target comes from:

# %%
reverse, sort = tasks.reverse_alignment, tasks.sort_alignment


def examples(align, n, seed):
    with torch.device("cpu"):  # the same digits on every machine
        data = tasks.random_sequences(align, n, length=6, n_symbols=10, seed=seed)
    return tasks.Sequences(*(part.to(default_device()) for part in data))


digits = tasks.Vocabulary(list("0123456789"))
example = examples(reverse, 1, seed=1)
print("source   ", digits.decode(example.src[0].tolist()))
print("target   ", digits.decode(example.tgt[0].tolist()))
print("comes from place", example.alignment[0].tolist())

# %% [markdown]
# In training the decoder is given the right answer, *shifted right* by one place: at each place it has read what comes before, and must say what comes next. The mask keeps it honest. (Lesson 07 says more.)

# %%
def shift_right(tgt):
    return torch.cat([torch.full_like(tgt[:, :1], BEGIN), tgt[:, :-1]], dim=1)


def train(model, align, steps=250):
    torch.set_num_threads(1)  # for a model as small as this, more would only wait for each other
    optimizer = torch.optim.Adam(model.parameters())
    data = examples(align, 32 * steps, seed=0)
    for step, (src, tgt) in enumerate(zip(data.src.split(32), data.tgt.split(32)), start=1):
        optimizer.param_groups[0]["lr"] = 0.003 * min(1, step / 30)  # warm-up, as in lesson 04
        loss = F.cross_entropy(model(src, shift_right(tgt)).flatten(0, 1), tgt.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


torch.manual_seed(0)
small = train(Transformer(len(digits), d_model=32, n_heads=1, d_ff=64, n_layers=2), reverse)

# %% [markdown]
# Once trained, it must write alone: begin, take the token with the largest logit, append it, ask again. (Lesson 08 knows better ways.)

# %%
@torch.no_grad()
def write(model, src):
    written = torch.full_like(src[:, :1], BEGIN)
    for _ in range(src.size(1)):
        logits = model(src, written)[:, -1:]  # of the last place
        written = torch.cat([written, logits.argmax(-1)], dim=1)
    return written[:, 1:]


print("source ", digits.decode(example.src[0].tolist()))
print("written", digits.decode(write(small, example.src)[0].tolist()))

test = examples(reverse, 500, seed=99)
right = (write(small, test.src) == test.tgt).float().mean().item()
print("digits right in 500 freshly drawn sentences, above 90 %:", right > 0.9)

# %% [markdown]
# ## Look
#
# Where did it look while it wrote? Rows are the places of the target, named by the digit that is to be written there; columns are the source. **Predict first:** what pattern must the cross-attention of the last layer show? And what becomes of it at a high temperature?

# %%
with record_attention(small) as maps, torch.no_grad():
    small(example.src, shift_right(example.tgt))
src_tokens, tgt_tokens = (digits.decode(ids[0].tolist()).split() for ids in example[:2])
widgets.attention(maps["decoder.1.cross_attention"][0], tgt_tokens, src_tokens)

# %% [markdown]
# The other diagonal: the first digit to write is the last of the source. Nobody told the model; it had only pairs of sequences. (The hotter, the more even the rows; the largest weights stay where they are.) Over all test sentences:

# %%
@torch.no_grad()
def looks_right(model, data):
    """For each layer and head: how often cross-attention looks most at the place it should."""
    with record_attention(model) as maps:
        model(data.src, shift_right(data.tgt))
    cross = [weights for name, weights in maps.items() if "cross" in name]
    hits = torch.stack(cross).argmax(-1) == data.alignment[:, None]  # (layers, B, h, T)
    return hits.float().mean(dim=(1, 3))


print("last layer, above 90 %:", looks_right(small, test)[-1].item() > 0.9)

# %% [markdown]
# ## Break it: what is each part worth?
#
# An **ablation** takes one part away and trains again. Four heads are the whole; then without the mask, without positions, without residuals, with one head, and without the scale of attention:

# %%
class NoMask(Transformer):
    def decode(self, x, memory, mask, memory_mask):
        return super().decode(x, memory, None, memory_mask)


class NoPositions(Transformer):
    def embed(self, tokens):
        return self.table[tokens] * self.table.size(1) ** 0.5


class NoResidual(Transformer):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        for block in self.modules():
            if isinstance(block, Residual):
                block.forward = lambda x, sublayer, norm=block.norm: norm(sublayer(x))


class NoScale(Transformer):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        for name, linear in self.named_modules():
            if name.endswith("w_q"):  # d_head = 8: a query √8 times as long undoes the scale
                linear.register_forward_hook(lambda linear, given, query: query * 8**0.5)

# %% [markdown]
# For two of them a second task, *sort*: the same digits in rising order. **Predict** for each: does the loss still fall? Can the model still write? A line appears whenever a model is trained, which takes a second or two:

# %%
variants = {
    "the whole": lambda: Transformer(13, 32, 4, 64, 2),
    "no mask": lambda: NoMask(13, 32, 4, 64, 2),
    "no positions": lambda: NoPositions(13, 32, 4, 64, 2),
    "no residuals": lambda: NoResidual(13, 32, 4, 64, 2),
    "one head": lambda: Transformer(13, 32, 1, 64, 2),
    "no scale": lambda: NoScale(13, 32, 4, 64, 2),
}
runs = [("reverse", name) for name in variants] + [("sort", "no mask"), ("sort", "no positions")]

# %%
align = {"reverse": reverse, "sort": sort}
trained = {("reverse", "one head"): small}
for task, name in runs:
    if (task, name) not in trained:
        torch.manual_seed(0)
        trained[task, name] = train(variants[name](), align[task])
    print(f"trained: {task}, {name}", flush=True)

# %% [markdown]
# Two measurements on freshly drawn sentences. *Told*: the decoder is given the right beginning, as in training. *Alone*: it reads what it has written itself. For both, the share of sentences without a single mistake:

# %%
@torch.no_grad()
def measure(model, align):
    data = examples(align, 500, seed=99)
    logits = model(data.src, shift_right(data.tgt))
    loss = F.cross_entropy(logits.flatten(0, 1), data.tgt.flatten()).item()
    answers = logits.argmax(-1), write(model, data.src)
    return [loss, *((answer == data.tgt).all(1).float().mean().item() for answer in answers)]


measured = {f"{task}, {name}": measure(trained[task, name], align[task]) for task, name in runs}
columns = ["loss", "told", "alone"]
ax = plots.plot_matrix(list(measured.values()), list(measured), columns, ax=plots.figure(6, 5)[1])
ax.set_xlabel("loss, and share that is right")
plots.show(
    ax,
    alt="Loss and share right. No mask: right if told, wrong alone. No residuals: wrong in both.",
)

# %%
print(" " * 23 + "told: half are right    alone: within 25 points of told")
for name, (_, told, alone) in measured.items():
    print(f"{name:22} {told > 0.5!s:>20} {alone > told - 0.25!s:>33}")

# %% [markdown]
# **No mask**: the loss is low, and yet the model can't write. Told the right answers, it copies the next one; alone, there is none to copy. Never trust a loss whose mask you have not tested.
#
# **No positions**: *reverse* fails, *sort* does not care. The set of digits is all it needs, and the tokens written so far tell how far it is.

# %% [markdown]
# **No residuals**: ten sub-layers on top of each other, and hardly anything is learned. **One head** and **no scale** still learn it: more than half is right. That does not make heads and scale useless: heads matter where two things are to be fetched at once (lesson 02), the scale where vectors are wide (lesson 01). *An ablation answers for its task and its size.*

# %% [markdown]
# One thing did change with the heads. Is there, among the four of a layer, one that does the reversing?

# %%
four, one = (looks_right(trained["reverse", name], test) for name in ("the whole", "one head"))
best = four.max().item()  # of two layers with four heads each
print("the one head of the last layer looks right above 90 %:  ", one[-1].item() > 0.9)
print("it does so more often than the best of the eight heads:", one[-1].item() > best)

# %% [markdown]
# No. Four heads share the work, none of them looks the right way as often, and the model is right all the same. A map of one head is not the model's reason.

# %% [markdown]
# ## Break it: a softmax too many
#
# Some implementations end the model in a softmax and train it with `F.cross_entropy`, which contains one. Give the second softmax a *perfect* answer, probability 1 for the right one of 1000 tokens:

# %%
perfect = F.one_hot(torch.tensor([7]), 1000).float()
best = F.cross_entropy(perfect, torch.tensor([7])).item()
print(f"the best loss it can reach: {best:.2f}")
print(f"ln(e + 999) - 1 =           {math.log(math.e + 999) - 1:.2f}")

torch.manual_seed(0)
logits, answer = torch.randn(1, 1000, requires_grad=True), torch.tensor([7])
(right,) = torch.autograd.grad(F.cross_entropy(logits, answer), logits)
(wrong,) = torch.autograd.grad(F.cross_entropy(logits.softmax(-1), answer), logits)
print("gradient less than 1 % of what it should be:", (wrong.norm() < 0.01 * right.norm()).item())

# %% [markdown]
# However well it learns, its loss does not fall below 5.91, and that looks like a hard problem. The rule: **models return logits**; the softmax belongs to the loss, or to whoever needs probabilities.

# %% [markdown]
# ## Five implementations, one table
#
# Five teaching texts from the net: a lab sheet, an article, a repository, lecture notes and a draft. Here is what each of them makes of places, self-attention and feed-forward, in few lines of our own, and repaired only so far that it runs; where a text lacks a part, ours stands in. First ours, in the same form:

# %%
class Ours(EncoderLayer):
    def __init__(self):
        super().__init__(d_model=12, n_heads=3, d_ff=24)

    def places(self, x):
        return x + sinusoidal_encoding(x.size(1), 12)

    def attend(self, x, mask):
        return self.self_attention(x, x, x, mask)[0]

    def forward(self, x, mask):
        x = self.residual_1(self.places(x), lambda y: self.attend(y, mask))
        return self.residual_2(x, self.feed_forward)

    def split(self, x):
        own = self.self_attention
        return [w(x).unflatten(-1, (3, 4)).transpose(1, 2) for w in (own.w_q, own.w_k, own.w_v)]

    def merge(self, heads):
        return self.self_attention.w_o(heads.transpose(1, 2).flatten(2))

# %% [markdown]
# Read each with care before you go on. **What is wrong?** In the lab sheet you will find three things, in the article one, in the repository four:

# %%
one_clock = exercises.sinusoidal_encoding.mistakes["floor_division"].function


class LabSheet(Ours):
    def places(self, x):
        x += one_clock(x.size(1), 12).to(x)
        return x

    def attend(self, x, mask):
        return self.self_attention(x, x, x)[0]


class Article(Ours):
    def attend(self, x, mask):
        q, k, v = self.split(x)
        scores = (q @ k.mT / 4**0.5).masked_fill(~mask, -1e9)
        return self.merge(scores.softmax(-1) @ v)

# %%
class Repository(Ours):
    def attend(self, x, mask):
        q, k, v = self.split(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / 12**0.5
        weights = scores.masked_fill(~mask, 1e-20).softmax(-1)
        return self.merge(torch.einsum("bhqk,bhvd->bhqd", weights, v))

    def forward(self, x, mask):
        x = self.residual_1(self.places(x), lambda y: self.attend(y, mask))
        x = self.feed_forward(x)
        return self.residual_2.norm(x + x)

# %% [markdown]
# The notes keep the three projections in one matrix, head by head (lesson 02). In the draft True means *hidden*, so it is handed `~mask`; batch and heads share an axis:

# %%
class Notes(Ours):
    def attend(self, x, mask):
        assert mask.ndim > 2, "a mask must have at least 2 axes"
        own = [self.self_attention.w_q, self.self_attention.w_k, self.self_attention.w_v]
        weight, bias = torch.cat([w.weight for w in own]), torch.cat([w.bias for w in own])
        q, k, v = F.linear(x, weight, bias).unflatten(-1, (3, 12)).transpose(1, 2).chunk(3, -1)
        scores = (q @ k.mT / 4**0.5).masked_fill(~mask, -9e15)
        return self.merge(scores.softmax(-1) @ v)


class Draft(Ours):
    def __init__(self):
        super().__init__()
        own = self.self_attention
        own.w_q, own.w_k, own.w_v = (nn.Linear(12, 4) for _ in range(3))

    def attend(self, x, mask):
        own = self.self_attention
        q, k, v = (w(x).repeat_interleave(3, dim=0) for w in (own.w_q, own.w_k, own.w_v))
        hidden = ~mask.expand(len(x), 3, x.size(1), x.size(1)).flatten(0, 1)
        weights = (q @ k.mT).masked_fill(hidden, -math.inf).softmax(dim=0)
        return self.merge((weights @ v).unflatten(0, (len(x), 3)))

# %% [markdown]
# First the easiest test: does the right *shape* come out? And how many of their lines does it run? A line that no test runs is not tested, so a **coverage** of 100 % is often asked for. Python can tell which lines it runs:

# %%
five = [LabSheet, Article, Repository, Notes, Draft]
torch.manual_seed(0)
x, causal = torch.randn(2, 5, 12), torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()


def shape_test(kind):
    return kind()(x.clone(), causal).shape == x.shape


for kind in five:
    print(f"{kind.__name__:11} right shape: {shape_test(kind)}")

# %%
import inspect
import sys


def coverage(kind, test):
    """The share of the lines in a class's own functions that a test of it runs."""
    codes = {f.__code__ for f in vars(kind).values() if inspect.isfunction(f)}
    lines = {(c, line) for c in codes for *_, line in c.co_lines() if line}
    passed, before = set(), sys.gettrace()

    def note(frame, event, argument):
        passed.add((frame.f_code, frame.f_lineno))
        return note if frame.f_code in codes else None

    sys.settrace(note)
    try:
        test(kind)
    finally:
        sys.settrace(before)
    return len(lines & passed) / len(lines)


for kind in five:
    print(f"{kind.__name__:11} lines covered: {100 * coverage(kind, shape_test):.0f} %")

# %% [markdown]
# All green. Now **invariants**: sentences that hold for every right layer, whatever its weights. You have met most of them; `same` compares two tensors:

# %%
def same(a, b):
    return torch.allclose(a, b, atol=1e-4)


def leaves_its_input_alone(layer):
    given = x.clone()
    layer(given, causal)
    return torch.equal(given, x)


def tells_50_places_apart(layer):
    table = layer.places(torch.zeros(1, 50, 12))[0]
    return ((table[:, None] - table).norm(dim=-1) + 9 * torch.eye(50)).min() > 0.5


def does_not_see_the_future(layer):
    changed = x.clone()
    changed[:, 4] = 3
    return same(layer(x.clone(), causal)[:, :4], layer(changed, causal)[:, :4])

# %%
def reads_a_batch_as_it_reads_alone(layer):
    words = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None, None]
    alone = layer(x[1:, :3].clone(), causal[..., :3, :3])
    return same(layer(x.clone(), causal & words)[1:, :3], alone)


def averages_equals_to_the_same(layer):
    many = layer.attend(torch.ones(1, 5, 12), causal)
    return same(many, layer.attend(torch.ones(1, 1, 12), causal[..., :1, :1]).expand(1, 5, 12))


def every_matrix_hears_of_the_loss(layer):
    everything = torch.ones_like(causal)
    (layer(x.clone(), everything) * torch.randn(2, 5, 12)).sum().backward()
    matrices = [p for p in layer.parameters() if p.ndim == 2]
    return all(p.grad is not None and p.grad.norm() > 1e-4 for p in matrices)

# %%
from transformer_lab.interop import copy_to_torch


def equals_torch(layer):
    sizes = package.TransformerConfig(d_model=12, n_heads=3, d_ff=24, dropout=0)
    right = package.EncoderLayer(sizes)
    theirs = nn.TransformerEncoderLayer(12, 3, 24, dropout=0.0, batch_first=True)
    copy_to_torch(right, theirs)
    layer.load_state_dict(right.state_dict())
    by_torch = theirs(x + sinusoidal_encoding(5, 12), src_mask=~causal[0, 0])
    return same(layer(x.clone(), causal), by_torch)


def takes_a_table_of_two_axes(layer):
    return same(layer(x.clone(), causal[0, 0]), layer(x.clone(), causal))


def works_in_half_precision(layer):
    return layer.half().attend(x.half(), causal).isfinite().all()


def hears_nothing_if_all_is_hidden(layer):
    nothing = torch.zeros_like(causal)
    return same(layer.attend(x, nothing), layer.attend(x + 1, nothing))

# %% [markdown]
# Ten sentences, six layers. `!` stands for an error. (*Averages equals to the same*: if all tokens are equal, every average of them is the same.)

# %%
def verdict(holds, kind):
    torch.manual_seed(0)
    try:
        return "✓" if holds(kind()) else "✗"
    except (RuntimeError, AssertionError):
        return "!"


invariants = [leaves_its_input_alone, tells_50_places_apart, does_not_see_the_future,
              reads_a_batch_as_it_reads_alone, averages_equals_to_the_same,
              every_matrix_hears_of_the_loss, equals_torch, takes_a_table_of_two_axes,
              works_in_half_precision, hears_nothing_if_all_is_hidden]
print(" " * 32, *(f"{kind.__name__:10}" for kind in [Ours, *five]))
for holds in invariants:
    marks = [f"{verdict(holds, kind):10}" for kind in [Ours, *five]]
    print(f"{holds.__name__.replace('_', ' '):32}", *marks)

# %% [markdown]
# Only our column is clean. The last row flags all five; *what* is wrong, the others tell:
#
# - **Lab sheet:** writes into its input, has one clock (lesson 03), ignores the mask.
# - **Article:** right, but for −1e9 (lesson 05): too low for half precision, not low enough where all is hidden.
# - **Repository:** two letters for one axis in `einsum`, so that no weight counts; the fill 1e-20; √12 for √4; a sum without the input.

# %% [markdown]
# - **Notes:** refuse a mask of two axes, fill with −9e15, and keep the projections head by head: right by themselves, wrong with weights from elsewhere.
# - **Draft:** no scale, one projection for all heads, and a softmax over sentences and heads, where a masked place is $-\infty$ for all: NaN.
#
# **Why did the shape test see nothing?** It runs every line and looks at none of the numbers. Coverage counts what was *run*, not what was *checked*.

# %% [markdown]
# ## Three families
#
# The two towers are also used alone:
#
# ![Three models from the same blocks. Encoder-only: embedding, then layers of self-attention and feed-forward without a causal mask. Decoder-only: the same blocks with a causal mask. Encoder-decoder: both towers, joined by cross-attention.](../img/06_families.svg)

# %% [markdown]
# | family | sees | known from | good for |
# |---|---|---|---|
# | **encoder-only** | everything | [BERT](https://arxiv.org/abs/1810.04805) | reading: labels, search |
# | **decoder-only** | itself and the past | [GPT-2](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf), [GPT-3](https://arxiv.org/abs/2005.14165) | going on with a text |
# | **encoder-decoder** | the source, and its own past | this paper, [BART](https://arxiv.org/abs/1910.13461), [T5](https://arxiv.org/abs/1910.10683) | one text into another: translate, summarise |
#
# A "decoder-only" layer has nobody to ask: no memory, no cross-attention. So it is the *encoder's* layer, with a causal mask. Who hears of whom, measured as in lesson 05:

# %%
def hears(model, x):
    """(T, S): 1 where output t depends on input s."""
    jacobian = torch.autograd.functional.jacobian(model, x)  # (1, T, d_model, 1, S, d_model)
    return (jacobian[0, :, :, 0].norm(dim=(1, 3)) > 0).int().tolist()


torch.manual_seed(0)
tiny, causal = Transformer(13, 12, 3, 24, 2), masks.causal_mask(3)
source, target = torch.randn(1, 4, 12), torch.randn(1, 3, 12)
models = {
    "encoder-only": (tiny.encode, target),
    "decoder-only": (lambda x: tiny.encode(x, causal), target),
    "encoder-decoder, target": (lambda x: tiny.decode(x, source, causal), target),
    "encoder-decoder, source": (lambda x: tiny.decode(target, tiny.encode(x), causal), source),
}
for name, (model, x) in models.items():
    print(f"{name:24}", hears(model, x))

# %% [markdown]
# ## The same five times
#
# The page above, the package's model with torch's fused kernel and with explicit weights, and `nn.Transformer` with our weights, there and back again. All get the trained weights, and sentences with padding:

# %%
from transformer_lab.interop import copy_from_torch

whole = trained["reverse", "the whole"]
config = package.TransformerConfig(13, 32, 4, 64, n_layers=2, dropout=0)
ours, back = package.Transformer(config), package.Transformer(config)
for one in (ours, back):
    one.encoder.layers.load_state_dict(whole.encoder.state_dict())
    one.decoder.layers.load_state_dict(whole.decoder.state_dict())
    one.to_logits.load_state_dict({"weight": whole.table})  # tied: the embeddings, too

src, tgt = test.src[:4].clone(), shift_right(test.tgt[:4])
src[2:, 4:] = tgt[1:, 3:] = PAD

# %% [markdown]
# `nn.Transformer` holds two surprises: its masks mean the opposite (lesson 05), and it puts one more norm on top of each stack, which the paper does not have. We take it off:

# %%
theirs = nn.Transformer(32, 4, 2, 2, 64, dropout=0.0, batch_first=True)
theirs.encoder.norm = theirs.decoder.norm = None
for stack in ("encoder", "decoder"):
    copy_to_torch(getattr(ours, stack), getattr(theirs, stack))
    copy_from_torch(getattr(theirs, stack), getattr(back, stack))

padding = {"src_key_padding_mask": src == PAD, "memory_key_padding_mask": src == PAD}
vectors = theirs(whole.embed(src), whole.embed(tgt), tgt_mask=~masks.causal_mask(6), **padding)

# %%
expected = whole(src, tgt)
others = {"package, fused kernel": ours(src, tgt), "nn.Transformer": vectors @ whole.table.T,
          "and back": back(src, tgt)}
with record_attention(ours):
    others["package, explicit weights"] = ours(src, tgt)

is_word = tgt != PAD  # what comes out at padding is used by nobody
for name, logits in others.items():
    difference = (logits - expected)[is_word].abs().max().item()
    print(f"this page = {name:26} max difference < 1e-3: {difference < 1e-3}")

# %% [markdown]
# ## Exercises
#
# **1.** The way in: token ids to vectors, for a whole batch. The encoding may have more rows than a sentence has tokens.

# %% exercise="embed"
def embed(tokens, table, encoding):
    """Embedding · √d_model + position: (B, T) ids to (B, T, d_model)."""
    return ...

# %%
exercises.embed.check(embed)

# %% [markdown]
# **2.** A layer of the encoder. All parts are handed in as functions that you call; `self_attention(query, key, value, mask)` returns its output alone.

# %% exercise="encoder_layer"
def encoder_layer(x, self_attention, feed_forward, norm_1, norm_2, mask):
    """Self-attention, then feed-forward, each in a post-norm block."""
    return ...

# %%
exercises.encoder_layer.check(encoder_layer)

# %% [markdown]
# **3.** A layer of the decoder, with three sub-layers and two masks. Both attentions are called as in exercise 2.

# %% exercise="decoder_layer"
def decoder_layer(
    x, memory, self_attention, cross_attention, feed_forward,
    norm_1, norm_2, norm_3, tgt_mask, memory_mask,
):
    """Self-attention, cross-attention to the memory, feed-forward."""
    return ...

# %%
exercises.decoder_layer.check(decoder_layer)

# %% [markdown]
# ## Remember
#
# - In: embedding $\cdot \sqrt{d_{model}}$ + place. Out: logits, no softmax, by the same table.
# - Cross-attention: the target asks, the memory answers; the output is as long as the target.
# - A layer has $12\,d_{model}^2$ weights in the encoder and $16\,d_{model}^2$ in the decoder, if $d_{ff} = 4\,d_{model}$.
# - A falling loss proves nothing about the mask: let the model write.
# - Shapes and coverage prove nothing: test invariants, and equality with what you trust.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. You double the number of heads. How many parameters are added?</summary>
# None: each head gets half as many features.
# </details>
# <details><summary>2. The encoder has read 7 tokens, the decoder has written 4. What is the shape of the cross-attention's weights, with 8 heads?</summary>
# (B, 8, 4, 7): a row for each token that was written, a column for each that was read.
# </details>

# %% [markdown]
# <details><summary>3. Why is there no causal mask in the cross-attention?</summary>
# The source is known from the start; nothing in it is future. Only its padding is hidden.
# </details>
# <details><summary>4. A model of d_model = 512 with 10 000 tokens: which share of its 49 million parameters lies in the table?</summary>
# 5.12 of 49.3 million, about a tenth.
# </details>

# %% [markdown]
# **Next:** you have the whole model, and it has learned to turn six digits round. [Lesson 07](07_training.ipynb) trains it on a language: can a laptop learn to say 21 as *einundzwanzig* in a minute?
