# %% [markdown]
# # 06 · The Transformer
#
# You know all the parts by now. In this lesson you put them together into the whole model of 2017, send a sentence through it, and find out where its parameters are.
#
# **You will be able to**
# - assemble the model, and follow a sentence through every box,
# - say where its parameters lie, and count them to the last one,
# - measure what a trained model loses without a part.
#
# **You need** lessons 01 to 05. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), sections 3.1, 3.4, 5 and Table 3. **Time:** 60 minutes without *Extra*, the exercises 70 more.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import math

import torch
import torch.nn.functional as F
from torch import nn

from transformer_lab import default_device, exercises, plots, widgets
from transformer_lab.data import tasks
from transformer_lab.nn import masks

if default_device().type != "cpu":  # the CPU is the default; asking for it costs time
    torch.set_default_device(default_device())
torch.set_num_threads(1)  # for models as small as these, more would only wait for each other
# %% [markdown]
# ## The question
#
# The paper's model reads a sentence in one language and writes it in another. According to Table 3 of the paper it has 65 million parameters. The package's model has the paper's sizes as its defaults, so we can build it and count. (We build it on the device called *meta*, where tensors have a shape but hold no numbers, which is enough for counting and costs no memory.)

# %%
from transformer_lab.nn import transformer as package

with torch.device("meta"):
    base = package.Transformer(package.TransformerConfig())
count = sum(parameter.numel() for parameter in base.parameters())
print(f"{count:,} parameters")
# %% [markdown]
# That is two million fewer than the paper says. Is a part missing? **How do the parts make a model, and where are its 65 million parameters?** To find out, we shall write the model ourselves, part by part, until nothing in it is hidden.
#
# ![The Transformer of 2017, drawn from bottom to top. Left the encoder: embedding plus position, then layers of self-attention and feed-forward. Right the decoder: the same with a mask, and between the two a cross-attention to the encoder's output.](../img/00_map.svg)

# %% [markdown]
# The **encoder**, on the left, reads the source sentence. The **decoder**, on the right, writes the target, token by token. Of all these boxes only two kinds are new. At the bottom stands the **embedding**, a table with a learned vector for each token of the **vocabulary**, which is the list of all tokens that the model knows. At the top, a linear layer gives each token of the vocabulary a **logit**, which says how well this token would fit as the next one. A softmax turns logits into probabilities.

# %% [markdown]
# ## By hand: the way in and the way out
#
# We begin with the two new boxes. Take a vocabulary of three tokens and vectors of four features. On the way in, we look the word up in the table, multiply its vector by $\sqrt{d_{model}} = 2$ (§3.4), and add the encoding of its position (lesson 03):

# %%
words = ["the", "cat", "sleeps"]
table = [[0.5, 0.0, 0.0, 0.5], [0.0, 0.5, -0.5, 0.0], [0.5, -0.5, 0.5, 0.5]]
encoding = [[0.0, 1.0, 0.0, 1.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]

for position, word in zip(encoding, ["the", "cat"]):
    row = table[words.index(word)]
    vector = [math.sqrt(4) * feature + p for feature, p in zip(row, position)]
    print(f"{word:4} in:", [round(value, 2) for value in vector])
# %% [markdown]
# Between the way in and the way out, the layers do their work. Suppose that the decoder puts out the vector `out` below for its last position. On the way out, each logit is the dot product of this vector with a row of the *same* table:

# %%
out = [1.0, -1.0, 0.5, 1.5]
logits = [sum(a * b for a, b in zip(out, row)) for row in table]
exponentials = [math.exp(logit) for logit in logits]
print("logits       ", dict(zip(words, logits)))
print("probabilities", [round(e / sum(exponentials), 3) for e in exponentials])
# %% [markdown]
# *sleeps* fits best, with a probability of 0.651. It may seem odd that one table serves both ends, but the paper says so:
#
# > "In our model, we share the same weight matrix between the two embedding layers and the pre-softmax linear transformation" (§3.4)
#
# This is called **weight tying** ([Press & Wolf, 2016](https://arxiv.org/abs/1608.05859)). The way in and the way out can share a table, because at both ends tokens of similar use should have similar rows. The two languages can share one, because the paper gives them a common vocabulary, made of pieces of the words of both (§5.1; lesson 07 builds such a vocabulary).

# %% [markdown]
# Sharing saves parameters, too: three tables of 37 000 × 512 numbers would have 57 million, and one has 19 million.
#
# Why is the vector multiplied by $\sqrt{d_{model}}$ on the way in? The paper gives no reason. An *Extra* measures one: the table must hold small numbers, so that the logits are not too large, and the factor makes them large enough to count beside the encoding.

# %% [markdown]
# **Exercise 1** (5 minutes, easy). Write the way in, from token ids to vectors, for a whole batch. The encoding may have more rows than a sentence has tokens.

# %% exercise="embed"
def embed(tokens, table, encoding):
    """Embedding · √d_model + position: (B, T) ids to (B, T, d_model)."""
    return ...
# %%
exercises.embed.check(embed)
# %% [markdown]
# ## The layers
#
# Tokens have become vectors, and now they pass through the layers. What is a layer of the encoder?
#
# > "The encoder is composed of a stack of $N = 6$ identical layers. Each layer has two sub-layers. […] the output of each sub-layer is LayerNorm($x$ + Sublayer($x$))" (§3.1)
#
# The first sub-layer is self-attention, the second a feed-forward network, which gives
#
# $$y = \mathrm{LayerNorm}(x + \mathrm{MultiHead}(x, x, x)), \qquad \mathrm{LayerNorm}(y + \mathrm{FFN}(y))$$
#
# Let us work it out for one token of four features. Suppose that attention returns the vector `attended` for this token, and that the feed-forward network then returns `answer`:

# %%
def normed(numbers):
    mean = sum(numbers) / len(numbers)
    deviation = math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers))
    return [(number - mean) / deviation for number in numbers]


x, attended, answer = [1.0, 2.0, 0.0, 3.0], [2.0, -1.0, 1.0, 0.0], [2.0, 2.0, 0.0, 0.0]
y = normed([a + b for a, b in zip(x, attended)])
out = normed([a + b for a, b in zip(y, answer)])
print("y:      ", [round(number, 3) for number in y])
print("output: ", [round(number, 3) for number in out])
# %% [markdown]
# Attention brings in something from the other tokens, the feed-forward network works on each token by itself, and after each of the two a norm brings the sum back to a common size.

# %% [markdown]
# **Exercise 2** (10 minutes, medium). Write a layer of the encoder. All parts are handed in as functions that you call; `self_attention(query, key, value, mask)` returns its output alone.

# %% exercise="encoder_layer"
def encoder_layer(x, self_attention, feed_forward, norm_1, norm_2, mask):
    """Self-attention, then feed-forward, each in a post-norm block."""
    return ...
# %%
exercises.encoder_layer.check(encoder_layer)
# %% [markdown]
# The decoder has to look at the source as well, and so its layers have one sub-layer more:
#
# > "In addition to the two sub-layers in each encoder layer, the decoder inserts a third sub-layer, which performs multi-head attention over the output of the encoder stack." (§3.1)
#
# The encoder's output is called the **memory** $m$. The third sub-layer is the cross-attention of lesson 05. Its queries come from the target, and its keys and values from the memory:
#
# $$z = \mathrm{LayerNorm}(y + \mathrm{MultiHead}(y, m, m))$$
#
# It stands between the other two, so that the feed-forward network now starts from $z$. There is one more difference:
#
# > "We also modify the self-attention sub-layer in the decoder stack to prevent positions from attending to subsequent positions." (§3.1)
#
# This is the causal mask of lesson 05.

# %% [markdown]
# **Exercise 3** (10 minutes, medium). Write a layer of the decoder, with three sub-layers and two masks: `tgt_mask` is for the self-attention, `memory_mask` for the cross-attention. Both attentions are called as in exercise 2.

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
# ## The whole model on one page
#
# The functions of your exercises were handed their parts. A model has to own its parts, because they hold the numbers that are learned. So we write the layers once more, as modules, and import only what earlier lessons have built: `MultiHeadAttention` (lesson 02), and from lesson 04 the feed-forward network and the block `Residual`, which computes LayerNorm($x$ + Sublayer($x$)) with a norm of its own.

# %%
from transformer_lab import FeedForward, MultiHeadAttention, Residual


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.residual_1, self.residual_2 = Residual(d_model), Residual(d_model)

    def attend(self, x, mask=None):
        return self.self_attention(x, x, x, mask)[0]  # the output, without the weights

    def forward(self, x, mask=None):
        y = self.residual_1(x, lambda x: self.attend(x, mask))
        return self.residual_2(y, self.feed_forward)

# %% [markdown]
# In the decoder's layer a second attention, `cross_attention`, reads the memory, in a block of its own:

# %%
class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.residual_1, self.residual_2 = Residual(d_model), Residual(d_model)
        self.residual_3 = Residual(d_model)

    def attend(self, x, mask=None):
        return self.self_attention(x, x, x, mask)[0]

    def read(self, y, memory, mask=None):
        return self.cross_attention(y, memory, memory, mask)[0]

    def forward(self, x, memory, mask=None, memory_mask=None):
        y = self.residual_1(x, lambda x: self.attend(x, mask))
        z = self.residual_2(y, lambda y: self.read(y, memory, memory_mask))
        return self.residual_3(z, self.feed_forward)

# %% [markdown]
# The rest of the model is two stacks of such layers, with tokens going in at the bottom and logits coming out at the top. Id 0 is padding, and id 1 marks the beginning of a sentence. `decoder_mask` combines the causal mask with the mask of the padding:

# %%
from transformer_lab import decoder_mask, padding_mask, sinusoidal_encoding

pad_id, bos_id = 0, 1


class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model=512, n_heads=8, d_ff=2048, n_layers=6):
        super().__init__()
        sizes = d_model, n_heads, d_ff
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) / d_model**0.5)
        self.encoder = nn.ModuleList([EncoderLayer(*sizes) for _ in range(n_layers)])
        self.decoder = nn.ModuleList([DecoderLayer(*sizes) for _ in range(n_layers)])

    def embed(self, tokens):  # (B, T) → (B, T, d_model)
        length, d_model = tokens.size(1), self.table.size(1)
        rows = F.embedding(tokens, self.table)  # looks each token up in the table
        return rows * d_model**0.5 + sinusoidal_encoding(length, d_model)

    def encode(self, x, mask=None):
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def decode(self, x, memory, mask=None, memory_mask=None):
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask)
        return x

    def forward(self, src, tgt):  # (B, S) and (B, T) token ids → (B, T, vocab) logits
        src_mask, tgt_mask = padding_mask(src, pad_id), decoder_mask(tgt, pad_id)
        memory = self.encode(self.embed(src), src_mask)  # (B, S, d_model)
        return self.decode(self.embed(tgt), memory, tgt_mask, src_mask) @ self.table.T

# %% [markdown]
# That is the whole model, in three classes. (In training, the paper also drops out 10 % of each sub-layer's output and of the sums of embedding and encoding, §5.4; so does the package's model.) To see the shapes, we send 64 sentences of 32 vectors through the encoder and 64 of 16 through the decoder, at the paper's size:

# %%
with torch.device("meta"):
    page = Transformer(vocab_size=37_000)
    memory = page.encode(torch.empty(64, 32, 512))
    out = page.decode(torch.empty(64, 16, 512), memory)
print("encoder: 64 sentences of 32 positions →", tuple(memory.shape))
print("decoder: 64 sentences of 16 positions →", tuple(out.shape))
# %% [markdown]
# The output is as long as the target and as wide as the model, however long the source is.

# %% [markdown]
# ## One sentence through every box
#
# With random weights a model shows nothing but shapes. To see it at work, we put trained weights into our page. They are those of the small translator that comes with the package, which was trained as in lesson 07. It reads English names of numbers and writes German ones, and its tokens are pieces of words.

# %%
from transformer_lab.analysis import token_names
from transformer_lab.training import load_checkpoint

shipped, tokenizer, _ = load_checkpoint("en_de")
count_shipped = sum(parameter.numel() for parameter in shipped.parameters())
print(f"{count_shipped:,} parameters, {len(tokenizer)} tokens in the vocabulary")
# %%
sizes = shipped.config
translator = Transformer(sizes.vocab_size, sizes.d_model, sizes.n_heads, sizes.d_ff, sizes.n_layers)
translator.encoder.load_state_dict(shipped.encoder.layers.state_dict())
translator.decoder.load_state_dict(shipped.decoder.layers.state_dict())
translator.table = nn.Parameter(shipped.to_logits.weight.detach())
_ = translator.requires_grad_(False)

# %%
def named(ids):
    return token_names(tokenizer, ids.flatten().tolist())


src = torch.tensor([[*tokenizer.encode("twenty-one"), tokenizer.eos_id]])
tgt = torch.tensor([[bos_id, *tokenizer.encode("einundzwanzig")]])
print("source:                ", named(src))
print("target written so far: ", named(tgt))
# %% [markdown]
# Suppose that the translator has already written *einundzwanzig*. A single forward pass shows what it predicts after each of these tokens. We follow the vectors box by box, first through the encoder. Each line shows a shape, and the first four features of one position, which is that of the source token *one*.

# %% tolerance=0.02
def show(box, x, position=-2):
    numbers = " ".join(f"{value:5.2f}" for value in x[0, position, :4].tolist())
    print(f"{box:33} {tuple(x.shape)!s:12} {numbers} …")


x = translator.embed(src)
show("embedding · √d + encoding", x)
for i, layer in enumerate(translator.encoder):
    show(f"layer {i}, brought by attention", layer.attend(x))
    y = layer.residual_1(x, layer.attend)
    show(f"layer {i}, y = norm of the sum", y)
    show(f"layer {i}, inside the feed-forward", layer.feed_forward.w_1(y))
    x = layer.residual_2(y, layer.feed_forward)
    show(f"layer {i}, output = norm of the sum", x)
memory = x

# %% [markdown]
# As many vectors come out as went in, and they are as wide as before. Only the feed-forward network widens them for a moment. (The paper's widens them fourfold, §3.3, this small one twofold.) What leaves the last layer is the memory.
#
# Now the decoder, whose layers have one box more. This time we *read* each vector: we turn it into logits, as on the way out, and print the token that the model would write if it ended there. **Predict** for the first position, whose input is `begin` and whose answer is *ein*: behind which box does its vector first read as the answer?

# %%
from functools import partial

x, causal = translator.embed(tgt), masks.causal_mask(tgt.size(1))
written = {"embedding + encoding": x}
for i, layer in enumerate(translator.decoder):
    x = layer.residual_1(x, partial(layer.attend, mask=causal))
    written[f"layer {i}, self-attention"] = x
    x = layer.residual_2(x, partial(layer.read, memory=memory))
    written[f"layer {i}, cross-attention"] = x
    x = layer.residual_3(x, layer.feed_forward)
    written[f"layer {i}, feed-forward"] = x

# %%
reads = {box: named((x @ translator.table.T).argmax(-1)) for box, x in written.items()}
for box, x in written.items():
    print(f"{box:24} {tuple(x.shape)}  reads: {' | '.join(reads[box])}")
# %% [markdown]
# At the bottom each vector reads as the token that went in, and at the top it reads as the *next* one. Somewhere in between, each vector has turned from the token that is there into the token that comes. For the first position this takes until the second cross-attention. One box earlier its vector reads as another number, *acht*:

# %%
first, *_, last = reads.values()
print("at the bottom:", first == named(tgt), " at the top:", last == [*named(tgt)[1:], "end"])
print(reads["layer 1, self-attention"][0], "→", reads["layer 1, cross-attention"][0])
assert reads["layer 1, cross-attention"][0] == "ein" != reads["layer 1, self-attention"][0]
# %% [markdown]
# The answer thus comes in where it should, through the attention to the source. But is it really this attention that decides? To find out, we let one of the two cross-attentions read *another* number, the next one of the test, while the other still reads the right one:

# %%
def first_token(*memories):
    """The first token written, if the cross-attention of each layer reads a memory of its own."""
    x = translator.embed(torch.tensor([[bos_id]]))
    for layer, memory in zip(translator.decoder, memories):
        x = layer(x, memory)
    return (x[0, 0] @ translator.table.T).argmax().item()


memories = []
for english, _ in tasks.number_names("en", "de").test[:201]:
    ids = torch.tensor([[*tokenizer.encode(english), tokenizer.eos_id]])
    memories.append(translator.encode(translator.embed(ids)))
firsts = [first_token(memory, memory) for memory in memories]
# %% tolerance=0.02
cases = [i for i in range(200) if firsts[i] != firsts[i + 1]]  # two numbers that begin differently
kept = sum(first_token(memories[i + 1], memories[i]) == firsts[i] for i in cases)
followed = sum(first_token(memories[i], memories[i + 1]) == firsts[i + 1] for i in cases)
print(f"layer 0 reads another number: {kept} of {len(cases)} keep their own first token")
print(f"layer 1 reads another number: {followed} of {len(cases)} write that one's first token")
assert min(kept, followed) > 0.9 * len(cases)
# %% [markdown]
# The model nearly always writes the first token of the number that the cross-attention of layer 1 reads, whatever that of layer 0 reads.

# %% [markdown]
# One thing about the shapes may still seem odd. The decoder has four positions here and the source has three tokens, so how can the one read the other? The shapes of the weights show it. Self-attention compares a sentence with itself, while the cross-attention has a row for each token of the target and a column for each of the source:

# %%
from transformer_lab import record_attention

with record_attention(translator) as maps, torch.no_grad():
    logits = translator(src, tgt)
for name, weights in maps.items():
    print(f"{name:26} weights (B, h, T, S) = {tuple(weights.shape)}")
print("logits (B, T, vocab) =", tuple(logits.shape), "next:", named(logits[:, -1].argmax(-1)))
# %% [markdown]
# The output of an attention is as long as its queries, since there is one weighted sum for each of them, however many keys there are. That is how a decoder at four positions can read a source of three.

# %% [markdown]
# ## Break it: switch off a part
#
# We have followed one sentence by hand. Below, the same translator works in your browser. At the left stand the tokens that it reads, at the right those that it writes. A ribbon joins two tokens, and the more one of them attends to the other, the thicker it is. Type a number of your own, and press a ribbon or a slab to see the matrices behind it. *Every matrix* shows the paper's Figure 1 with all of them in their places; press a number in one to see the sum that made it.
#
# What happens if a part is missing? **Predict**, then try: open the breaker *positions*, under the clocks. Which word of the translation changes?

# %%
widgets.machine(shipped, tokenizer, "thirty-four thousand and twenty-one")
# %% [markdown]
# <details><summary>After you have tried</summary>
# The word behind <i>tausend</i> becomes <i>vierundzwanzig</i>, so that the <i>four</i> is written where the <i>one</i> belongs. Without the encoding, self-attention does not know the order of its tokens (lesson 03).
# </details>
#
# Is this the rule, or was it the bad luck of one number? And do other parts matter as much? We let torch switch off this part and three others, each alone, for a hundred numbers of the test:

# %%
from transformer_lab.analysis import switched_off
from transformer_lab.training import exact_match

parts = {
    "the input's encoding": "src_embedding.positions",
    "a residual connection": "encoder.layers.0.residual_1.skip",
    "a norm": "encoder.layers.0.residual_1.norm",
    "a head": "decoder.layers.1.cross_attention.head.0",
}
# %% tolerance=0.05
hundred = tasks.number_names("en", "de").test[:100]
right = {"nothing": exact_match(shipped, tokenizer, hundred)}
for name, part in parts.items():
    with switched_off(shipped, part):
        right[name] = exact_match(shipped, tokenizer, hundred)
for name, share in right.items():
    print(f"without {name:22} {share:.2f} are right")
assert right["the input's encoding"] < right["a residual connection"] < right["a head"]
# %% [markdown]
# Without the encoding hardly a number is right, and without this residual connection only about half of them are. The model can do without this norm and this head, at least on these numbers. Such a test tells us what a *finished* model leans on. It does not tell us whether a model could have learned without the part, for which we would have to train it anew; an *Extra* does so.

# %% [markdown]
# Try some more parts in the picture: which single residual connection does the decoder need most?
#
# <details><summary>After you have tried</summary>
# It is the one around the first cross-attention. Without it, 7 of the hundred numbers are right, and without the one around the second cross-attention 47 are. In these two places, what attention brings from the source is not enough, and the vector has to keep what it was as well. Without any single one of the other four, all hundred numbers are right.
# </details>

# %% [markdown]
# ## Is it right?
#
# We have written three classes of our own. How do we know that they compute what the paper says? The shapes were right everywhere, but a wrong model can have right shapes as well. A better test compares numbers. The package's model puts the same parts together in its own code. With the same weights, it and our page should give the same logits, also for a sentence with padding:

# %%
names = ["twenty-one", "seven hundred and sixty-five thousand"]
encoded = [torch.tensor([*tokenizer.encode(name), tokenizer.eos_id]) for name in names]
padded = nn.utils.rnn.pad_sequence(encoded, batch_first=True, padding_value=pad_id)
start = tgt.expand(2, -1)
with torch.no_grad():
    difference = (translator(padded, start) - shipped.eval()(padded, start)).abs().max().item()
print("tokens of the sources:", *map(len, encoded))
print("max difference < 1e-4:", difference < 1e-4)

# %% [markdown]
# The two agree. (An *Extra* compares with `nn.Transformer` as well.) But such a comparison needs a second implementation that you trust. What if you have none? Then you need properties that every right implementation must have, and you can test those. In the next exercise you write such a test for attention, and another *Extra* tries such tests on five layers that all have the right shape.

# %% [markdown]
# **Exercise 4** (write the test; 25 minutes, hard). Somebody hands you a function `attend(query, key, value, mask)` that returns `(output, weights)`. Is it scaled dot-product attention? Your test is tried on right versions in several styles and on wrong ones, each with a symptom of its own, and it is scored.

# %% exercise="is_attention"
def is_attention(attend):
    """Whether this function is scaled dot-product attention with a mask."""
    return ...
# %%
exercises.is_attention.check(is_attention)
# %% [markdown]
# ## Where are the 65 million?
#
# Nothing in the model is hidden any more, so we can count. A linear layer from $a$ to $b$ features has $ab$ weights and, in most code, $b$ biases; a norm has $2\,d_{model}$ parameters. **Predict** before you count: with $d_{model} = 512$ and $d_{ff} = 2048$, which is larger, an attention or a feed-forward network?

# %%
def n_of(module):
    return sum(parameter.numel() for parameter in module.parameters())


for name in ("self_attention", "feed_forward", "residual_1"):
    print(f"{name:16} {n_of(getattr(page.decoder[0], name)):>10,}")
for name, stack in (("encoder layer", page.encoder[0]), ("decoder layer", page.decoder[0])):
    print(f"{name:16} {n_of(stack):>10,}")
print(f"{'table':16} {page.table.numel():>10,}")
print(f"this page {n_of(page):,}, package {n_of(base):,}")
assert n_of(page) == count
# %% [markdown]
# The feed-forward network is about twice as large as an attention. It has $8\,d_{model}^2$ weights, if $d_{ff} = 4\,d_{model}$, and an attention has $4\,d_{model}^2$. A layer thus has $12\,d_{model}^2$ in the encoder and $16\,d_{model}^2$ in the decoder. Twelve layers of 512 features make 44 million, and the table makes 19 million.

# %% [markdown]
# **Exercise 5** (predict; 20 minutes, medium). How many numbers does the package's `Transformer` learn, with tied weights? Work it out from the five sizes, box by box: whoever builds the model and counts predicts nothing.

# %% exercise="count_parameters"
def count_parameters(vocab_size, d_model, n_heads, d_ff, n_layers):
    """How many numbers the Transformer learns."""
    return ...
# %%
exercises.count_parameters.check(count_parameters)
# %% [markdown]
# Every box is there, and still we are 2 million short. Which of the sizes could be different? Table 3 gives all those of the layers. It does not give the vocabulary's: the text says "about 37000 tokens" (§5.1). So we turn the question round. Table 3 rounds to whole millions; how large must the vocabulary be, if the count is to round to 65?

# %%
in_layers = count - page.table.numel()
low = math.ceil((64.5e6 - in_layers) / 512)
high = math.floor((65.5e6 - in_layers) / 512)
print(f"in the layers {in_layers:,}, left for the table about {65e6 - in_layers:,.0f}")
print(f"vocabularies that round to 65 million: {low:,} to {high:,} tokens")
assert low > 37_000

# %% [markdown]
# With about 41 000 tokens the count fits, and with 37 000 it does not. Is this a guess that happens to suit one number? Table 3 gives ten more counts, and an *Extra* works out the vocabulary for each. Nine of them fit about 41 000 tokens as well. Only the *big* model, with 213 million, asks for about 36 000, so the table was probably not counted in one way throughout.

# %% [markdown]
# ## The answer
#
# No part is missing. A table turns tokens into vectors, and the same table turns vectors back into logits. Six layers read the source, and six more write the target while they look at what the others have read. Of the 63 million parameters, 25 million lie in the twelve feed-forward networks, 19 million in the eighteen attentions and 19 million in the table; all the norms together have 31 thousand.
#
# The two million that were missing at the beginning lie in no part of the model. They lie in the size of its vocabulary, which the text of the paper gives as about 37 000 and its Table 3 seems to count as about 41 000. With 41 000 tokens, the model that you have written has 65 million parameters.

# %% [markdown]
# ## Your own Transformer
#
# So far the parts were the package's. Now put *yours* together. `exercises.mine()` holds the functions that you have passed, in this lesson and in those before it, and `or_package()` fills in the package's for those that you have not solved yet. The learned weights come from the package's translator, and the functions that compute with them are yours.

# %% own=true
from transformer_lab.training import load_checkpoint

trained, tokenizer, _ = load_checkpoint("en_de")
trained = trained.to(default_device())
parts = exercises.mine().or_package()
# %% [markdown]
# An attention takes its four matrices from the trained model. Where its mask hides nothing, your attention of lesson 01 serves; elsewhere, your masked softmax of lesson 05.

# %% own=true
def attention_with(own):
    def attend(query, key, value, mask):
        q = parts.split_heads(own.w_q(query), own.n_heads)
        k = parts.split_heads(own.w_k(key), own.n_heads)
        v = parts.split_heads(own.w_v(value), own.n_heads)
        if mask.all():
            heads, _ = parts.scaled_dot_product_attention(q, k, v)
        else:
            heads = parts.masked_softmax(q @ k.mT / q.size(-1) ** 0.5, mask) @ v
        return own.w_o(parts.merge_heads(heads))

    return attend


def norm_with(own):
    return lambda x: parts.layer_norm(x, own.norm.weight, own.norm.bias, own.norm.eps)


def embedded(tokens):
    table = trained.to_logits.weight  # the one table, used three times
    return parts.embed(tokens, table, parts.sinusoidal_encoding(tokens.size(1), table.size(1)))
# %% own=true
def encode(src, mask):
    x = embedded(src)
    for own in trained.encoder.layers:
        norms = norm_with(own.residual_1), norm_with(own.residual_2)
        attention = attention_with(own.self_attention)
        x = parts.encoder_layer(x, attention, own.feed_forward, *norms, mask)
    return x


def decode(tgt, memory, mask, memory_mask):
    x = embedded(tgt)
    for own in trained.decoder.layers:
        attentions = map(attention_with, (own.self_attention, own.cross_attention))
        norms = map(norm_with, (own.residual_1, own.residual_2, own.residual_3))
        sublayers = *attentions, own.feed_forward, *norms
        x = parts.decoder_layer(x, memory, *sublayers, mask, memory_mask)
    return trained.to_logits(x)
# %% [markdown]
# The loop that writes the answer, always taking the most probable token, is the first exercise of lesson 08. Until you have written your own, we take the package's:

# %% own=true
@torch.no_grad()
def translate(text):
    src = torch.tensor([[*tokenizer.encode(text), tokenizer.eos_id]])
    src_mask = parts.padding_mask(src, tokenizer.pad_id)
    memory = encode(src, src_mask)

    def next_logits(ids):
        tgt = torch.tensor([ids])
        return decode(tgt, memory, parts.decoder_mask(tgt, tokenizer.pad_id), src_mask)[0, -1]

    ids = parts.greedy_decode(next_logits, tokenizer.bos_id, tokenizer.eos_id, 24)
    theirs = trained(src, torch.tensor([ids[:-1]]))[0, -1]
    assert (next_logits(ids[:-1]) - theirs).abs().max() < 1e-3, "not the package's model"
    return tokenizer.decode(ids)


for text in ("twenty-one", "three hundred and twelve"):
    print(f"{text} → {translate(text)}")
print(parts)
# %% [markdown]
# The list says which parts are yours. Solve one more, run this section again, and one more line will say so, while the translation stays the same, because a function that has passed its check computes what the package's does.

# %% [markdown]
# ## Remember
#
# - In: embedding $\cdot \sqrt{d_{model}}$ + encoding. Out: logits, from the same table, without a softmax.
# - Cross-attention takes its queries from the target, and its keys and values from the memory.
# - On its way up, a vector turns from its own token into the next one.
# - With $d_{ff} = 4\,d_{model}$ an encoder layer has $12\,d_{model}^2$ weights, a decoder layer $16\,d_{model}^2$.
# - A right shape says nothing about the numbers.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. You double the number of heads, with the same d_model. How many parameters are added?</summary>
# None are added, because each head gets half as many features.
# </details>
# <details><summary>2. The encoder has read 7 tokens, the decoder has written 4. What is the shape of the cross-attention's weights, with 8 heads?</summary>
# It is (B, 8, 4, 7), with a row for each token that was written and a column for each that was read.
# </details>

# %% [markdown]
# <details><summary>3. Why is there no causal mask in the cross-attention?</summary>
# The source is known from the start, so none of it lies in the future. Only its padding is hidden.
# </details>
# <details><summary>4. A model of d_model = 512 with 10 000 tokens: what share of its 49 million parameters lies in the table?</summary>
# The table has 5.12 of 49.3 million, about a tenth.
# </details>

# %% [markdown]
# **Next:** you have the whole model, but so far its weights came with the package. [Lesson 07](07_training.ipynb) trains one from the start: can a laptop learn in a minute to say 21 as *einundzwanzig*?

# %% [markdown]
# ## Extra: why are embeddings multiplied by √d_model?
#
# > "In the embedding layers, we multiply those weights by $\sqrt{d_{model}}$." (§3.4)
#
# The paper gives no reason, but here is one that we can measure. On the way out, a logit is the dot product of a row with 512 features of size 1. If the numbers in the row have a standard deviation of $s$, the logit has $s\sqrt{512}$ (lesson 01). So the table must hold small numbers if the logits are to have size 1.
#
# On the way in, the encoding is added to the row. Its numbers have a size of 0.7, so that a row of much smaller numbers would hardly count in the sum. Here are three ways to start a table of 1000 tokens, and the loss before any training:

# %% tolerance=0.1
def start(deviation, factor, vocab_size=1000, d_model=512):
    table = deviation * torch.randn(vocab_size, d_model)
    out = F.layer_norm(torch.randn(100, d_model), (d_model,))  # the decoder ends in a norm
    logits = out @ table.T
    loss = F.cross_entropy(logits, torch.randint(vocab_size, (100,)))
    return [(factor * table).std().item(), logits.std().item(), loss.item()]


torch.manual_seed(0)
root, starts = 512**0.5, {}
for name, deviation, factor in (("1/√d, times √d", 1 / root, root), ("1, no factor", 1, 1),
                                ("1/√d, no factor", 1 / root, 1)):
    starts[name] = start(deviation, factor)
    print("deviation {:16} feature {:.2f}  logit {:5.2f}  loss {:6.2f}".format(name, *starts[name]))
guessing = math.log(1000)
print(f"guessing among 1000 tokens: loss {guessing:.2f}")
assert starts["1/√d, times √d"][2] < guessing + 1
assert starts["1, no factor"][2] > 5 * guessing
# %% [markdown]
# With a deviation of 1 the fresh model bets everything on random tokens, and its loss is far above that of guessing. With $1/\sqrt{d_{model}}$ and no factor, a token's features have a size of 0.04 beside those of the encoding with 0.7. With the factor both ends are right: the numbers are small in the table, for the logits, and about 1 on the way in. This is how the model *starts*. Whether the factor still matters once it has learned is measured in the *Extra* on ablations.

# %% [markdown]
# ## Extra: all of Table 3
#
# Do the other counts of Table 3 ask for 41 000 tokens, too? Each of them rounds to whole millions, and so allows a range of vocabularies. `d_k` is the width of one head's queries and keys. We count with biases in the attentions' projections, as in this code, and without, as §3.2.2 writes them:

# %%
base_and_b = {"base": (65, {}), "(B) d_k 16": (58, {"d_k": 16}), "(B) d_k 32": (60, {"d_k": 32})}
table_3 = base_and_b | {
    "(C) 2 layers": (36, {"n_layers": 2}),
    "(C) 4 layers": (50, {"n_layers": 4}),
    "(C) 8 layers": (80, {"n_layers": 8}),
    "(C) d_model 256": (28, {"d_model": 256}),
    "(C) d_model 1024": (168, {"d_model": 1024}),
    "(C) d_ff 1024": (53, {"d_ff": 1024}),
    "(C) d_ff 4096": (90, {"d_ff": 4096}),
}
# %%
def in_layers(sizes, biases):
    """The parameters of all layers, counted in a model; the attentions with biases, or without."""
    config = package.TransformerConfig(1, **{name: n for name, n in sizes.items() if name != "d_k"})
    with torch.device("meta"):
        layers = nn.ModuleList([package.Encoder(config), package.Decoder(config)])
        for attention in layers.modules():
            if "d_k" in sizes and isinstance(attention, MultiHeadAttention):
                for name in ("w_q", "w_k"):  # narrower queries and keys
                    narrower = nn.Linear(config.d_model, config.n_heads * sizes["d_k"])
                    setattr(attention, name, narrower)
    named = layers.named_parameters()
    return sum(
        p.numel() for name, p in named if biases or "attention" not in name or "bias" not in name
    )


def allowed(millions, sizes, biases):
    """The smallest and the largest vocabulary that rounds to so many million parameters."""
    d_model, counted = sizes.get("d_model", 512), in_layers(sizes, biases)
    low, high = ((millions + half) * 1e6 - counted for half in (-0.5, 0.5))
    return math.ceil(low / d_model), math.floor(high / d_model)
# %%
big = 213, {"d_model": 1024, "d_ff": 4096, "n_heads": 16}


def say(name, low, high):
    print(f"{name:17} {low:,} to {high:,} tokens")


for biases in (True, False):
    print("with" if biases else "without", "biases in the attentions")
    ranges = {name: allowed(*row, biases) for name, row in table_3.items()}
    low, high = max(low for low, _ in ranges.values()), min(high for _, high in ranges.values())
    say("the ten rows", low, high)
    say("big", *allowed(*big, biases))
    assert 37_000 < min(low for low, _ in ranges.values()) <= low < high
    assert 35_000 < allowed(*big, biases)[0] < allowed(*big, biases)[1] < 37_000
for name, row in ranges.items():
    say(name, *row)
# %% [markdown]
# Ten of the eleven counts fit one narrow range around 41 000 tokens, with the biases or without them, so the count can't tell these two apart. But 37 000 tokens fit none of the ten, which were therefore probably counted with a larger vocabulary than the text names. The eleventh, *big*, asks for about 36 000. Either the big model differs in a size that the table does not name, or the entries were not all counted in the same way. The paper does not say.

# %% [markdown]
# ## Extra: how much arithmetic?
#
# Parameters cost memory, but how much *time* does the model cost? A **floating-point operation** (FLOP) is one addition or one multiplication of two numbers. To multiply a $(T, a)$ matrix by an $(a, b)$ matrix, you compute $T \cdot b$ numbers, each a sum of $a$ products, which counts as $a$ multiplications and $a$ additions and makes $2\,T a b$ FLOPs. These are the matrix products of an attention with $T$ queries and $S$ keys, for $d = d_{model}$:

# %% [markdown]
# | step | product | FLOPs |
# |---|---|---|
# | queries, output | $(T, d)\,(d, d)$, twice | $4\,T d^2$ |
# | keys, values | $(S, d)\,(d, d)$, twice | $4\,S d^2$ |
# | scores | in each head $(T, d_{head})\,(d_{head}, S)$ | $h \cdot 2\,T S\,d_{head} = 2\,T S d$ |
# | weighted sum | in each head $(T, S)\,(S, d_{head})$ | $2\,T S d$ |
# | **attention** | | $4\,(T + S)\,d^2 + 4\,T S d$ |
# | **feed-forward** | $(T, d)\,(d, d_{ff})\,(d_{ff}, d)$ | $4\,T d\,d_{ff}$ |
# | **logits** | $(T, d)\,(d, vocab)$ | $2\,T d \cdot vocab$ |

# %% [markdown]
# Softmax, norms, biases, ReLU and residual sums take a handful of operations for each number, where a matrix product takes hundreds, so the formula leaves them out. PyTorch can count the matrix products that a model really does:

# %%
from torch.utils.flop_counter import FlopCounterMode


def flops(S, T, vocab=37_000, d=512, d_ff=2048, n_layers=6):
    def attention(T, S):
        return 4 * (T + S) * d**2 + 4 * T * S * d

    def feed_forward(T):
        return 4 * T * d * d_ff

    in_encoder = attention(S, S) + feed_forward(S)
    in_decoder = attention(T, T) + attention(T, S) + feed_forward(T)
    return n_layers * (in_encoder + in_decoder) + 2 * T * d * vocab


for S, T in ((25, 25), (32, 16), (512, 500)):
    counter = FlopCounterMode(display=False)
    with torch.device("meta"), torch.no_grad(), record_attention(page), counter:
        page(torch.empty(1, S, dtype=torch.long), torch.empty(1, T, dtype=torch.long))
    print(f"S = {S:3}, T = {T:3}: formula {flops(S, T):,}, counted {counter.get_total_flops():,}")
    assert flops(S, T) == counter.get_total_flops()
# %% [markdown]
# Formula and count agree to the last digit. What can we read off the formula? Only $4\,T S d$ grows with the *square* of the length, while everything else grows with the length itself. **Predict:** in a layer of the encoder, at which length $S$ do the scores and weighted sums cost as much as all its weight matrices?

# %% tolerance=0.01
def share_of_pairs(S):
    matrices, pairs = 8 * S * 512**2 + 4 * S * 512 * 2048, 4 * S**2 * 512
    return pairs / (pairs + matrices)


for S in (25, 250, 2500, 25_000):
    print(f"S = {S:6,}: scores and sums are {100 * share_of_pairs(S):4.1f} % of a layer")
# %% [markdown]
# For sentences of 25 tokens, the part that grows with the square is below 1 % of a layer, and it becomes expensive only in long texts. It costs as much as the weight matrices where $4 S^2 d = 24\,S d^2$, which is at $S = 6\,d_{model} = 3072$:

# %%
print(f"S = 3,072: {100 * share_of_pairs(3072):.1f} %")
assert share_of_pairs(6 * 512) == 0.5
# %% [markdown]
# What did the paper's training cost? For each matrix product of the forward pass the backward pass does two, one for the gradient of each factor, so a training step costs as much as three forward passes. §5 gives 100 000 steps, each on about 25 000 source and 25 000 target tokens. We assume sentences of 25 tokens, and the 37 000 tokens of the text; the larger vocabulary that Table 3 suggests changes little:

# %% tolerance=0.01
training = 3 * 100_000 * 1000 * flops(25, 25)  # 1000 sentences of 25 tokens a step
table_2 = 12 * 3600 * 8 * 9.5e12  # hours of 8 GPUs, each 9.5 TFLOPS (§5.2, §6.1)
print(f"by the formula {training:.1e} FLOPs, by Table 2's method {table_2:.1e}")
print(f"ratio {training / table_2:.2f}")
print(f"with 41,000 tokens {100 * (flops(25, 25, vocab=41_000) / flops(25, 25) - 1):.1f} % more")

# %% [markdown]
# Table 2 says $3.3 \cdot 10^{18}$. The authors did not count operations. They multiplied "the training time, the number of GPUs used, and an estimate of the sustained single-precision floating-point capacity of each GPU" (§6.1). By our count, the matrix products of the training used 29 % of that capacity; padding and everything outside the matrix products come on top.

# %% [markdown]
# ## Extra: what survives a box?
#
# Each box *adds* to the vector that comes in, and yet at the top that vector stands for another token. How much of it survives each box? The cosine of the angle between the vectors before and after is 1 if they have the same direction, and 0 if they are at right angles:

# %% tolerance=0.05
from itertools import pairwise

boxes = [x[0] for x in written.values()]
kept = [F.cosine_similarity(a, b, dim=-1).mean().item() for a, b in pairwise(boxes)]
print("from each box to the next:", " ".join(f"{cosine:.2f}" for cosine in kept))
print(f"from the first to the last: {F.cosine_similarity(boxes[0], boxes[-1]).mean():.2f}")
assert min(kept) > 0.4

# %% [markdown]
# No box starts anew, and yet after six of them nothing of the old direction is left. What has the vector become instead? We compare it with the table's rows for the token that went in and for the one that comes next:

# %% tolerance=0.05
for name, ids in (("its own", tgt[0]), ("the next", [*tgt[0, 1:].tolist(), tokenizer.eos_id])):
    closeness = F.cosine_similarity(boxes[-1], translator.table[ids], dim=-1).mean().item()
    print(f"from the last box to the row of {name} token: {closeness:.2f}")
assert closeness > 0.5
# %% [markdown]
# It has come close to the row of the *next* token. (For comparison, two random directions in 128 dimensions typically have a cosine of ±0.09.)

# %% [markdown]
# ## Extra: let it learn
#
# The page above can also be trained. We make it small enough for a few seconds, with one layer in each stack, $d_{model} = 32$ and a *single* head. The task is to read six different digits and write them backwards. `tasks` also says from which source position each digit of the target comes:

# %%
def examples(n, seed):
    with torch.device("cpu"):  # the same digits on every machine
        data = tasks.random_sequences(tasks.reverse_alignment, n, length=6, n_symbols=10, seed=seed)
    return tasks.Sequences(*(part.to(default_device()) for part in data))


digits = tasks.Vocabulary(list("0123456789"))
example = examples(1, seed=1)
print("source   ", digits.decode(example.src[0].tolist()))
print("target   ", digits.decode(example.tgt[0].tolist()))
print("comes from position", example.alignment[0].tolist())
# %% [markdown]
# In training, the decoder is given the right answer *shifted right* by one position, so that at each position it has read what comes before and must predict what comes next. The causal mask keeps it from looking ahead. (Lesson 07 explains this.) A training takes about a second:

# %% steps=220
from transformer_lab.training import shift_right


def train(model, seed, steps=220, rate=0.003):
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    data = examples(32 * steps, seed)
    for step, (src, tgt) in enumerate(zip(data.src.split(32), data.tgt.split(32)), start=1):
        optimizer.param_groups[0]["lr"] = rate * min(1, step / 30)  # warm-up: lesson 07
        loss = F.cross_entropy(model(src, shift_right(tgt, bos_id)).flatten(0, 1), tgt.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


sizes = {"vocab_size": len(digits), "d_model": 32, "n_heads": 1, "d_ff": 64, "n_layers": 1}
torch.manual_seed(0)
small = train(Transformer(**sizes), seed=0)

# %% [markdown]
# Once trained, the model must write alone. It reads *begin*, takes the token with the largest logit, appends it to what is written, and asks again. (Lesson 08 knows better ways.)

# %% tolerance=0.05
@torch.no_grad()
def generate(model, src):
    written = torch.full_like(src[:, :1], bos_id)
    for _ in range(src.size(1)):
        logits = model(src, written)[:, -1:]  # of the last position
        written = torch.cat([written, logits.argmax(-1)], dim=1)
    return written[:, 1:]


test = examples(500, seed=99)
right = (generate(small, test.src) == test.tgt).float().mean().item()
print(f"digits right in 500 freshly drawn sentences: {100 * right:.1f} %")
assert right > 0.7
# %% [markdown]
# Where did it look while it wrote? In the view, rows are the positions of the target, named by the digit that is to be written there, and columns are the source. **Predict first:** what pattern will the cross-attention show? And what becomes of it at a high temperature?

# %%
with record_attention(small) as maps, torch.no_grad():
    small(example.src, shift_right(example.tgt, bos_id))
src_tokens, tgt_tokens = (digits.decode(ids[0].tolist()).split() for ids in example[:2])
widgets.attention(maps["decoder.0.cross_attention"][0], tgt_tokens, src_tokens)
# %% [markdown]
# It is the diagonal from the bottom left to the top right, because to write the first digit, the model has to look at the last of the source. Nobody told it to; it had only pairs of sequences. (As you raise the temperature the rows flatten out, but the largest weight in each row remains the largest.) How often is the largest weight at the right position, over all test sentences?

# %% tolerance=0.05
@torch.no_grad()
def looks_right(model, data):
    """For each head of the last layer: how often it looks most at the position that it should."""
    with record_attention(model) as maps:
        model(data.src, shift_right(data.tgt, bos_id))
    hits = list(maps.values())[-1].argmax(-1) == data.alignment[:, None]  # (B, h, T)
    return hits.float().mean(dim=(0, 2)).tolist()


(share,) = looks_right(small, test)
print(f"the head looks most at the right position in {100 * share:.0f} % of all cases")
assert share > 0.7
# %% [markdown]
# ## Extra: what is each part worth?
#
# In the core of this lesson we took parts away from a finished model. An **ablation** asks more. It takes a part away, trains again from the start, and compares. We use the small model that reverses digits, change one thing at a time, and train each variant with three seeds, because a difference means something only if it is larger than the spread among the seeds.
#
# First the parts that are switched off by one line, in the masks and in the embedding:

# %%
class NoMask(Transformer):
    def decode(self, x, memory, mask, memory_mask):
        return super().decode(x, memory, None, memory_mask)


class NoPositions(Transformer):
    def embed(self, tokens):
        return F.embedding(tokens, self.table) * self.table.size(1) ** 0.5


class NoRoot(Transformer):
    def embed(self, tokens):
        encoding = sinusoidal_encoding(tokens.size(1), self.table.size(1))
        return F.embedding(tokens, self.table) + encoding

# %% [markdown]
# Then come the parts of a sub-layer and of the block around it. A block that passes $x$ on without asking its sub-layer takes the sub-layer away:

# %%
class NoResidual(Transformer):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        for block in self.modules():
            if isinstance(block, Residual):
                block.forward = lambda x, sublayer, norm=block.norm: norm(sublayer(x))


class NoNorm(Transformer):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        for block in self.modules():
            if isinstance(block, Residual):
                block.norm = nn.Identity()


def pass_on(x, sublayer):
    return x
# %%
class NoFeedForward(Transformer):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        for layer in self.encoder:
            layer.residual_2.forward = pass_on
        for layer in self.decoder:
            layer.residual_3.forward = pass_on


class NoCrossAttention(Transformer):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        for layer in self.decoder:
            layer.residual_2.forward = pass_on
# %% [markdown]
# The last two variants have two layers in each stack instead of one. **Predict** for each variant: does the loss still fall? Can the model still write? The cell trains 32 models, which takes about half a minute (a minute on a busy machine); a line appears when the three seeds of a variant are done.

# %%
def deeper(kind):
    return lambda **sizes: kind(**sizes | {"n_layers": 2})


variants = {
    "the whole": Transformer,
    "four heads": lambda **sizes: Transformer(**sizes | {"n_heads": 4}),
    "no √d_model": NoRoot,
    "no feed-forward": NoFeedForward,
    "no norms": NoNorm,
    "no residuals": NoResidual,
    "no positions": NoPositions,
    "no cross-attention": NoCrossAttention,
    "no mask": NoMask,
    "2 + 2 layers: the whole": deeper(Transformer),
    "2 + 2 layers: no residuals": deeper(NoResidual),
}

# %%
trained = {}
for name, build in variants.items():
    trained[name] = [small] if name == "the whole" else []
    for seed in range(len(trained[name]), 3):
        torch.manual_seed(seed)
        trained[name].append(train(build(**sizes), seed))
    print(f"trained: {name}", flush=True)
# %% [markdown]
# We take two measurements on 500 freshly drawn sentences. *Told*: the decoder is given the right beginning, as in training. *Alone*: it reads what it has written itself. For both we count the sentences without a single mistake, and for *told* we take the loss, too.

# %% [markdown]
# Which loss should we compare with? A model that knows which six digits occur, but not their order, can at best guess among $6! = 720$ orders, which gives $\ln 720 / 6 = 1.10$ for each digit. One that only knows that no digit repeats has $(\ln 10 + \ln 9 + … + \ln 5) / 6 = 1.99$.

# %% tolerance=45
@torch.no_grad()
def measure(model):
    logits = model(test.src, shift_right(test.tgt, bos_id))
    loss = F.cross_entropy(logits.flatten(0, 1), test.tgt.flatten()).item()
    answers = logits.argmax(-1), generate(model, test.src)
    return [loss, *((answer == test.tgt).all(1).float().mean().item() for answer in answers)]


loss, told, alone = {}, {}, {}
for name, models in trained.items():
    loss[name], told[name], alone[name] = zip(*(measure(model) for model in models))
    right = [" ".join(f"{100 * share:3.0f}" for share in shares[name]) for shares in (told, alone)]
    print(f"{name:27} told {right[0]} %   alone {right[1]} %")
# %%
floors = {"order unknown": math.log(720) / 6, "no digit repeats": math.log(151_200) / 6}
figure, ax = plots.figure(width=8, height=4.6)
plots.plot_runs(loss, ax, x_label="loss, if told the right beginning", log_x=True, lines=floors)
plots.show(figure, alt="Loss of each variant, three seeds: below 1 in eight, 1 to 2.4 in three.")

# %% tolerance=0.4
mean = {name: sum(three) / 3 for name, three in loss.items()}
print("mean loss:", ", ".join(f"{name} {value:.2f}" for name, value in mean.items()))
# %%
middle = {name: sorted(three)[1] for name, three in loss.items()}  # of three seeds
learned = "the whole", "four heads", "no √d_model", "no feed-forward", "no norms"
assert all(middle[name] < floors["order unknown"] / 2 for name in learned)
assert min(loss["no positions"]) > floors["order unknown"] - 0.05
assert min(loss["no cross-attention"]) > floors["no digit repeats"] - 0.05
assert mean["no mask"] < 0.3
assert mean["no residuals"] < 1 < min(loss["2 + 2 layers: no residuals"])
assert mean["2 + 2 layers: the whole"] < 1

# %% [markdown]
# **What this task needs.** Without *cross-attention* the decoder never reads the source, and without *positions* it can learn at best which digits occur. So no training, however long, can bring their losses below 1.99 and 1.10, apart from the chance of the draw.

# %% [markdown]
# **What it can do without.** The model also learns without the factor $\sqrt{d_{model}}$, without the feed-forward networks, without the norms and, at this depth, even without the residual connections. But three seeds are few. With eight in place of three (0 to 7, on one machine), the picture is less even:
#
# | layers | left out | sentences right, if told the beginning |
# |---|---|---|
# | 1 + 1 | nothing | 92 to 100 % |
# | 1 + 1 | √d_model | 100 % |
# | 1 + 1 | norms | 45 to 100 % |
# | 1 + 1 | residual connections | 18 to 100 % |
# | 1 + 1 | feed-forward networks | 95 to 100 % with seven seeds, 1 % with one |
# | 2 + 2 | nothing | 97 to 100 % |
# | 2 + 2 | residual connections | none |
#
# After ten times as many steps (`steps=2200`), the first two of the models without residual connections get 99 and 100 %.

# %% [markdown]
# Are these parts useless? Look at the last two rows. With twice the layers, the model learns with residual connections and does not learn without them. Ten times the steps, a third of the learning rate and twice the width, each tried alone, did not change that: without residual connections the loss stayed above 1.7.

# %% [markdown]
# Besides, to reverse digits is to *fetch* them, and nothing has to be computed from what was fetched. In translation the feed-forward networks may well matter more: with half of $d_{ff}$ the paper's model loses 0.4 points of BLEU, a score for translations (Table 3, row C; lesson 07). But that model is also 12 million parameters smaller. The table does not say whether it lacks this network in particular, or just parameters.
#
# So **an ablation answers for its task, its size and its training**, and for nothing else. That holds for the four heads, too: where one position is to be fetched at a time, one head is enough. (Lesson 02 has a task that two heads learn much faster than one.)

# %% [markdown]
# **No mask** is the odd one out. Its loss is low, and yet it can't be trusted to write. Compare the two columns:

# %% tolerance=0.6
def gap(name):
    return max(abs(a - b) for a, b in zip(told[name], alone[name]))


print(f"told - alone, largest of three seeds: without the mask {gap('no mask'):.2f},", end=" ")
print(f"all others {max(gap(name) for name in told if name != 'no mask'):.3f}")
assert gap("no mask") > 0.05
assert max(gap(name) for name in told if name != "no mask") < 0.01
# %% [markdown]
# With the mask the two columns *must* agree. As long as every token is right, the model that writes alone reads exactly what it would be told, so a sentence is right alone if and only if it is right when told. A difference therefore proves that the model was told too much: in training it could copy the next token, and alone there is none to copy. (After 2200 steps the loss of six such models was 0.00, and yet one of them got only 1 % of the sentences right when it wrote alone.) Never trust a loss whose mask you have not tested.

# %% [markdown]
# ## Extra: the same five times
#
# Here are the page above, the package's model with torch's fused kernel and with explicit weights, and `nn.Transformer` with our weights, there and back again. All get the weights that we trained with four heads, and sentences with padding:

# %%
from transformer_lab.weights.torch_nn import copy_from_torch, copy_to_torch

whole = trained["four heads"][0]
config = package.TransformerConfig(len(digits), 32, 4, 64, n_layers=1, dropout=0)
ours, back = package.Transformer(config), package.Transformer(config)
for one in (ours, back):
    one.encoder.layers.load_state_dict(whole.encoder.state_dict())
    one.decoder.layers.load_state_dict(whole.decoder.state_dict())
    one.to_logits.load_state_dict({"weight": whole.table})  # tied: the embeddings, too
# %%
src, tgt = test.src[:4].clone(), shift_right(test.tgt[:4], bos_id)
src[2:, 4:] = tgt[1:, 3:] = pad_id
print("source", digits.decode(src[3].tolist()), "| target", digits.decode(tgt[3].tolist()))
# %% [markdown]
# `nn.Transformer` has neither embeddings nor logits. With dropout off, it differs in two more ways: True in its masks means *hidden* (lesson 05), and it puts one more norm on top of each stack, which the paper does not have. We take these norms off:

# %%
theirs = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True)
theirs.encoder.norm = theirs.decoder.norm = None
for stack in ("encoder", "decoder"):
    copy_to_torch(getattr(ours, stack), getattr(theirs, stack))
    copy_from_torch(getattr(theirs, stack), getattr(back, stack))

padding = {"src_key_padding_mask": src == pad_id, "memory_key_padding_mask": src == pad_id}
vectors = theirs(whole.embed(src), whole.embed(tgt), tgt_mask=~masks.causal_mask(6), **padding)
# %%
expected = whole(src, tgt)
others = {"package, fused kernel": ours(src, tgt), "nn.Transformer": vectors @ whole.table.T,
          "and back": back(src, tgt)}
with record_attention(ours):
    others["package, explicit weights"] = ours(src, tgt)

is_word = tgt != pad_id  # what comes out at padding is used by nobody
for name, logits in others.items():
    difference = (logits - expected)[is_word].abs().max().item()
    print(f"this page = {name:26} max difference < 1e-4: {difference < 1e-4}")
# %% [markdown]
# ## Extra: five implementations, one table
#
# Here is the encoder's layer as it might stand in five places: a lab sheet, an article, a repository, lecture notes and a draft. All five were written for this lesson. First comes the right one, in the same form:

# %%
class Ours(package.EncoderLayer):
    def __init__(self):
        sizes = package.TransformerConfig(d_model=12, n_heads=3, d_ff=24, dropout=0.0)
        super().__init__(sizes)

    def with_positions(self, x):
        return x + sinusoidal_encoding(x.size(1), 12)

    def self_attend(self, x, mask):
        return self.self_attention(x, x, x, mask)[0]

    def forward(self, x, mask):
        x = self.residual_1(self.with_positions(x), lambda y: self.self_attend(y, mask))
        return self.residual_2(x, self.feed_forward)

    def queries_keys_values(self, x):
        own = self.self_attention
        return [w(x).unflatten(-1, (3, 4)).transpose(1, 2) for w in (own.w_q, own.w_k, own.w_v)]

    def merged(self, heads):
        return self.self_attention.w_o(heads.transpose(1, 2).flatten(2))


def stacked(layer):
    """The weights and the biases of the three projections, one below the other."""
    own = layer.self_attention
    parts = own.w_q, own.w_k, own.w_v
    return torch.cat([w.weight for w in parts]), torch.cat([w.bias for w in parts])

# %% [markdown]
# **What is wrong?** Read each with care, and write down what you find before you go on. There are three mistakes in the lab sheet, one in the article and four in the repository:

# %%
one_clock = exercises.sinusoidal_encoding.mistakes["floor_division"].function


class LabSheet(Ours):
    def with_positions(self, x):
        x += one_clock(x.size(1), 12).to(x)
        return x

    def self_attend(self, x, mask):
        return self.self_attention(x, x, x)[0]


class Article(Ours):
    def self_attend(self, x, mask):
        q, k, v = self.queries_keys_values(x)
        scores = (q @ k.mT / 4**0.5).masked_fill(~mask, -1e9)
        return self.merged(scores.softmax(-1) @ v)
# %%
class Repository(Ours):
    def self_attend(self, x, mask):
        q, k, v = self.queries_keys_values(x)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / 12**0.5
        weights = scores.masked_fill(~mask, 1e-20).softmax(-1)
        return self.merged(torch.einsum("bhqk,bhvd->bhqd", weights, v))

    def forward(self, x, mask):
        x = self.residual_1(self.with_positions(x), lambda y: self.self_attend(y, mask))
        x = self.feed_forward(x)
        return self.residual_2.norm(x + x)
# %% [markdown]
# The notes keep the three projections in one matrix, head by head (lesson 02). In the draft, True means *hidden*, so its `self_attend` inverts the mask first; batch and heads share an axis:

# %%
class Notes(Ours):
    def self_attend(self, x, mask):
        assert mask.ndim > 2, "a mask must have at least 2 axes"
        q, k, v = F.linear(x, *stacked(self)).unflatten(-1, (3, 12)).transpose(1, 2).chunk(3, -1)
        scores = (q @ k.mT / 4**0.5).masked_fill(~mask, -9e15)
        return self.merged(scores.softmax(-1) @ v)


class Draft(Ours):
    def __init__(self):
        super().__init__()
        own = self.self_attention
        own.w_q, own.w_k, own.w_v = (nn.Linear(12, 4) for _ in range(3))

    def self_attend(self, x, mask):
        own = self.self_attention
        q, k, v = (w(x).repeat_interleave(3, dim=0) for w in (own.w_q, own.w_k, own.w_v))
        hidden = ~mask.expand(len(x), 3, x.size(1), x.size(1)).flatten(0, 1)
        weights = (q @ k.mT).masked_fill(hidden, -math.inf).softmax(dim=0)
        return self.merged((weights @ v).unflatten(0, (len(x), 3)))
# %% [markdown]
# And for comparison the function behind `nn.MultiheadAttention`, with our weights:

# %%
class PyTorch(Ours):
    def self_attend(self, x, mask):
        hidden = ~mask.expand(len(x), 3, x.size(1), x.size(1)).flatten(0, 1)
        own, given = self.self_attention.w_o, x.transpose(0, 1)  # its first axis is the length
        out, _ = F.multi_head_attention_forward(
            given, given, given, 12, 3, *stacked(self), None, None, False, 0.0,
            own.weight, own.bias, attn_mask=hidden,
        )
        return out.transpose(0, 1)
# %% [markdown]
# First the easiest test: does the right *shape* come out?

# %%
five = [LabSheet, Article, Repository, Notes, Draft]
torch.manual_seed(0)
x, causal = torch.randn(2, 5, 12), torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()


def shape_of_output(kind):
    return tuple(kind()(x.clone(), causal).shape)


for kind in five:
    print(f"{kind.__name__:11} in {tuple(x.shape)}, out {shape_of_output(kind)}")
# %% [markdown]
# All five pass. None of these classes branches, so this test has also run every line of them, and a measurement of **coverage**, the share of lines that a test runs, would report 100 %. Now look at the numbers.
#
# We begin with the **laws**, which are sentences that follow from the equations, so that they hold for every right layer with random weights. (*Averages equals to the same*: if all tokens are equal, every average of them is the same.)

# %%
def same(a, b):
    return torch.allclose(a, b, atol=1e-4)


def tells_50_positions_apart(layer):
    table = layer.with_positions(torch.zeros(1, 50, 12))[0]
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
    many = layer.self_attend(torch.ones(1, 5, 12), causal)
    return same(many, layer.self_attend(torch.ones(1, 1, 12), causal[..., :1, :1]).expand(1, 5, 12))


def every_matrix_gets_a_gradient(layer):
    everything = torch.ones_like(causal)
    (layer(x.clone(), everything) * torch.randn(2, 5, 12)).sum().backward()
    matrices = [p for p in layer.parameters() if p.ndim == 2]
    return all(p.grad is not None and p.grad.norm() > 1e-4 for p in matrices)
# %% [markdown]
# Then come **conventions**, which say what a caller may or may not rely on. No equation asks for them, and well-made libraries differ. The first is PyTorch's layout of the weights: a right layer that has it gives PyTorch's output with PyTorch's weights.

# %%
from transformer_lab.weights.torch_nn import copy_to_torch


def equals_torch(layer):
    sizes = package.TransformerConfig(d_model=12, n_heads=3, d_ff=24, dropout=0)
    right = package.EncoderLayer(sizes)
    theirs = nn.TransformerEncoderLayer(12, 3, 24, dropout=0.0, batch_first=True)
    copy_to_torch(right, theirs)
    layer.load_state_dict(right.state_dict())
    by_torch = theirs(x + sinusoidal_encoding(5, 12), src_mask=~causal[0, 0])
    return same(layer(x.clone(), causal), by_torch)
# %%
def leaves_its_input_alone(layer):
    given = x.clone()
    layer(given, causal)
    return torch.equal(given, x)


def takes_a_mask_of_two_axes(layer):
    return same(layer(x.clone(), causal[0, 0]), layer(x.clone(), causal))


def works_in_half_precision(layer):
    return layer.half().self_attend(x.half(), causal).isfinite().all()


def ignores_a_hidden_input(layer):  # if all is hidden, nothing may depend on x, and nothing be NaN
    nothing = torch.zeros_like(causal)
    return same(layer.self_attend(x, nothing), layer.self_attend(x + 1, nothing))
# %%
def verdict(holds, kind):
    torch.manual_seed(0)
    try:
        return "✓" if holds(kind()) else "✗"
    except (RuntimeError, AssertionError):
        return "!"


laws = [tells_50_positions_apart, does_not_see_the_future, reads_a_batch_as_it_reads_alone,
        averages_equals_to_the_same, every_matrix_gets_a_gradient]
conventions = [equals_torch, leaves_its_input_alone, takes_a_mask_of_two_axes,
               works_in_half_precision, ignores_a_hidden_input]
kinds = [Ours, PyTorch, *five]
for title, sentences in (("laws", laws), ("conventions", conventions)):
    print(f"{title.upper():32}", *(f"{kind.__name__:10}" for kind in kinds))
    for holds in sentences:
        marks = [f"{verdict(holds, kind):10}" for kind in kinds]
        print(f"{holds.__name__.replace('_', ' '):32}", *marks)
# %% [markdown]
# `!` stands for an error. Our layer and PyTorch's keep all laws. They differ in one convention, the average over nothing: if everything is hidden, ours returns zeros, and the function behind `nn.MultiheadAttention` returns NaN. (Called with `need_weights=False`, it would return zeros as well.)

# %% [markdown]
# - **Lab sheet:** it writes into its input, has one frequency only (lesson 03), and ignores the mask.
# - **Article:** it is right, but for its fill of −1e9, which half precision can't hold. And where all is hidden, every score is −1e9, so that the weights come out even. Whatever value you fill in, you can't get a row of zeros this way; you have to zero it afterwards.

# %% [markdown]
# - **Repository:** it uses two letters for one axis in `einsum`, so that the weights have no effect; its fill of 1e-20 hides nothing; it divides by √12 where √4 belongs; and its residual sum leaves out the input.
# - **Notes:** they refuse a mask of two axes, fill with −9e15, and keep the projections head by head, which is right by itself and wrong with weights from elsewhere.
# - **Draft:** it has no scale, one projection for all heads, and a softmax over sentences and heads.

# %% [markdown]
# **Why did the shape test see nothing?** It ran every line and looked at none of the numbers. Coverage counts what was *run*, not what was *checked*.

# %% [markdown]
# ## Extra: three families
#
# Encoder and decoder are also used alone:
#
# ![Three models from the same blocks, each block with a residual connection. Encoder-only: embedding, then layers of self-attention and feed-forward without a causal mask. Decoder-only: the same blocks with a causal mask. Encoder-decoder: both towers, joined by cross-attention.](../img/06_families.svg)

# %% [markdown]
# | family | a position sees | known from | good for |
# |---|---|---|---|
# | **encoder-only** | all positions | [BERT](https://arxiv.org/abs/1810.04805) | reading a text: to classify it, to search for it |
# | **decoder-only** | itself and earlier positions | [GPT-2](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf), [GPT-3](https://arxiv.org/abs/2005.14165) | continuing a text |
# | **encoder-decoder** | all of the source, and the target so far | this paper, [BART](https://arxiv.org/abs/1910.13461), [T5](https://arxiv.org/abs/1910.10683) | turning one text into another: to translate, to summarise |
#
# A decoder-only model has no memory, and so no cross-attention. What is left of the decoder's layer is the *encoder's* layer with a causal mask. Which output has a gradient with respect to which input? (1: it has one. As in lesson 05, a gradient finds a dependence; it can't exclude one.)

# %%
def depends(model, x):
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
    print(f"{name:24}", depends(model, x))
