# %% [markdown]
# # 12 · Published weights
#
# In this lesson you bring weights that others have trained into the classes that you have built, and ask the model a question.
#
# **You will be able to**
# - read a published checkpoint by hand, and say where each tensor belongs,
# - tell a model that was loaded correctly from one that only looks right,
# - test what a model's vectors hold, against chance and against a rival explanation.
#
# **You need** lessons 06 and 10. **Papers:** [Devlin et al., 2018](https://arxiv.org/abs/1810.04805) (BERT); [Reimers & Gurevych, 2019](https://arxiv.org/abs/1908.10084) (Sentence-BERT). **Time:** 60 minutes, the exercises 70 more; the part called *Extra* can wait.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import torch
import torch.nn.functional as F

from transformer_lab import analysis, default_device, exercises, plots
from transformer_lab.data import word_senses
from transformer_lab.weights import published, tensor_names

device = default_device()
# %% [markdown]
# ## The question
#
# Lesson 01 opened with a word that means two things, and with a table of vectors that was written by hand. Here is a real model: [all-MiniLM-L6-v2](https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), an encoder that was trained to give sentences of similar meaning similar vectors. Its weights came with the requirements. One line brings them into the project's own classes, and no other library runs the model:

# %%
model, tokenizer = published.load("all-MiniLM-L6-v2")
model = model.to(device)
size = sum(parameter.numel() for parameter in model.parameters())
print(f"{type(model).__name__}: {size:,} parameters, {len(model.layers)} layers of 12 heads")
print(tokenizer.encode("I took my money to the bank.").tokens)
# %% [markdown]
# The tokenizer cuts a text into words, and rare words into pieces. It puts *[CLS]* before the first of them and *[SEP]* after the last. We take the vector of *bank* in three sentences, before the first layer and after the last one, and compare their directions:

# %%
def padded(texts):
    """(B, T) token ids, with 0 after shorter texts, and the tokens as text."""
    encoded = [tokenizer.encode(text) for text in texts]
    rows = [torch.tensor(one.ids[:512]) for one in encoded]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return ids.to(device), [one.tokens for one in encoded]


@torch.no_grad()
def vectors_of(word, sentences, reader=model):
    """(layers + 1, N, d_model): the word in each sentence, between all layers, of length 1."""
    ids, tokens = padded(sentences)
    with analysis.record_states(reader) as states:
        reader(ids)
    at = [one.index(word) for one in tokens]
    return F.normalize(torch.stack(states)[:, range(len(at)), at], dim=-1).cpu()
# %% tolerance=0.01
sentences = ["I took my money to the bank.", "The bank refused to give us a loan."]
sentences += ["We sat on the bank of the river."]
bank = vectors_of("bank", sentences)
for name, x in (("before the first layer", bank[0]), ("after the last layer", bank[-1])):
    print(f"{name}: money and loan {x[0] @ x[1]:.2f}, money and river {x[0] @ x[2]:.2f}")
# %% [markdown]
# After the last layer the vectors are further apart than before the first. But money and loan are hardly closer than money and river. Is that the answer? One pair of sentences shows nothing, whichever way it falls. So **does *bank* mean two things in a real model, run by your own code?** We begin with the code, because a question to a model that was loaded wrongly has no answer.

# %% [markdown]
# ## By hand
#
# A file of **safetensors** begins with eight bytes that say how long the header is. The header is JSON, and says for each tensor its name, its type, its shape, and where its numbers lie. Everything else is numbers, so nothing in such a file can run, while an older format of checkpoints [can hold code](https://docs.pytorch.org/docs/stable/generated/torch.load.html).

# %%
import json

folder = published.found("all-MiniLM-L6-v2")
with (folder / "model.safetensors").open("rb") as file:
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
print(len(header) - 1, "tensors")
for name in ("embeddings.word_embeddings.weight", "encoder.layer.0.attention.self.query.weight"):
    print(name, header[name]["shape"])
# %% [markdown]
# What goes into the first layer is a sum. Each position has the vector of its token, that of its position, and that of its **type**: BERT reads pairs of texts, and the type says which of the two a token belongs to. A text that comes alone is of type 0. A norm follows. Here is all of this on the raw tensors, and then the model beside it:

# %%
from safetensors.torch import load_file

raw = load_file(folder / "model.safetensors")
ids, _ = padded(sentences[:1])
x = raw["embeddings.word_embeddings.weight"][ids[0].cpu()]  # (T, 384)
x = x + raw["embeddings.position_embeddings.weight"][: len(x)]
x = x + raw["embeddings.token_type_embeddings.weight"][0]
norm = raw["embeddings.LayerNorm.weight"], raw["embeddings.LayerNorm.bias"]
x = F.layer_norm(x, (384,), *norm, eps=1e-12)
# %%
with torch.no_grad(), analysis.record_states(model) as states:
    model(ids)
difference = (states[0][0].cpu() - x).abs().max().item()
print("by hand = the model, max difference < 1e-5:", difference < 1e-5)
# %% [markdown]
# ## What goes where
#
# The rest is the encoder of lesson 06, post-norm, with GELU in place of ReLU and a different $\varepsilon$ in its norms.
#
# $$x \leftarrow \mathrm{LN}(x + \mathrm{Attention}(x)), \qquad x \leftarrow \mathrm{LN}(x + W_2\, \mathrm{GELU}(W_1 x + b_1) + b_2)$$
#
# So loading is a matter of names:
#
# ![Six tensors of a layer in the file, with their shapes; an arrow leads from each to its part of the encoder layer.](../img/12_loading.svg)
#
# Here are the names that follow the three tables of embeddings, Hugging Face's on the left, the project's on the right:

# %%
for theirs, ours in list(tensor_names.BERT.items())[3:]:
    print(f"{theirs:46} {ours}")
# %% [markdown]
# With this table, a loader is a loop. (Three of the 104 tensors are not needed: a list of positions, and the weight and bias of a layer on top that we don't use.) `published.load` adds little: it also reads the sizes and the tokenizer from the folder, refuses a tensor that it does not know, and checks that the file is the one that was published.

# %%
from transformer_lab.models import text_encoder

mine = text_encoder.TextEncoder(text_encoder.TextEncoderConfig())
tensors = {}
for name, tensor in raw.items():
    if name.startswith(("embeddings.", "encoder.")) and tensor.is_floating_point():
        tensors[tensor_names.renamed(name, tensor_names.BERT, str)] = tensor
mine.load_state_dict(tensors)
mine = mine.eval().to(device)
with torch.no_grad():
    print("the same:", torch.equal(mine(ids), model(ids)))
# %% [markdown]
# Other families need more than names:
#
# | family | what differs |
# |---|---|
# | BERT | each projection is that of an `nn.Linear`; post-norm; types; $\varepsilon = 10^{-12}$ |
# | GPT-2 | the matrix of every projection is the transpose of an `nn.Linear`'s, applied as `x @ weight`; queries, keys and values come out of one of them |
# | Llama, in Hugging Face's files | the two features that RoPE turns together lie half a head apart, not side by side as in lesson 03 |
#
# If the matrix is square, a forgotten transpose raises no error. The next two exercises are about these families.

# %% [markdown]
# **Exercise 1** (15 minutes, medium). GPT-2 holds W_Q, W_K and W_V side by side in one matrix, which is applied as `x @ weight + bias`. Take it apart into `n_parts` of equal size, each as an `nn.Linear` has it.

# %% exercise="split_fused_projection"
def split_fused_projection(weight, bias, n_parts):
    """(d_in, n_parts · d_out), (n_parts · d_out,) -> (n_parts, d_out, d_in), (n_parts, d_out)."""
    return ...
# %%
exercises.split_fused_projection.check(split_fused_projection)
# %% [markdown]
# **Exercise 2** (find the bug; 25 minutes, hard). This is the first layer of a published model up to its first norm, computed out of its tensors for one text. No shape is wrong, but it was loaded wrongly in three ways. To each `word` vector belongs that of its type (a text that comes alone is of type 0). `x @ w_qkv` gives all queries, then all keys, then all values. The published model turns the features $i$ and $i + d_{head}/2$ of a head together; `rotate` turns $2i$ and $2i + 1$.

# %% [markdown]
# What was observed, compared with the original:
# - before the layer, each vector is off by one and the same vector;
# - with a table of types that is all zero and one head, a text of one token agrees, and one of two tokens does not;
# - with such a table and two heads, even a text of one token does not agree.

# %% exercise="mend_loading"
def mend_loading(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    x = word[tokens]  # (T, d_model)
    parts = (x @ w_qkv).unflatten(-1, (n_heads, 3, -1))  # (T, h, 3, d_head)
    query, key, value = parts.permute(2, 1, 0, 3)  # (h, T, d_head) each
    weights = (rotate(query) @ rotate(key).mT / query.size(-1) ** 0.5).softmax(-1)
    heads = (weights @ value).transpose(0, 1).flatten(-2)  # (T, d_model)
    return F.layer_norm(x + heads @ w_out.T, x.shape[-1:], eps=eps)
# %%
exercises.mend_loading.check(mend_loading)
# %% [markdown]
# ## Same as the original
#
# Does our model compute what its authors' library computes? `transformers` reads the same folder. We compare 24 sentences, padded to one length and each alone (5 seconds; the library takes most of that to start):

# %%
from transformers import BertModel
from transformers.utils import logging

logging.disable_progress_bar()
original = BertModel.from_pretrained(folder).eval().to(device)
texts = [one for sense in word_senses.SENSES["bank"].values() for one in sense]
texts += [question for _, question in word_senses.QUESTIONS[:8]]
ids, _ = padded(texts)
real = ids != 0  # where no padding is
# %%
with torch.no_grad():
    ours, theirs = model(ids), original(ids, attention_mask=real.long()).last_hidden_state
    alone = torch.cat([model(row[row != 0][None])[0] for row in ids])
print("padded, max difference < 1e-4:", (ours - theirs)[real].abs().max().item() < 1e-4)
print("each alone, max difference < 1e-4:", (alone - theirs[real]).abs().max().item() < 1e-4)
# %% [markdown]
# And the other two families? Small random models will do: write each to a folder, as its authors would, and load it from there. In a new model all biases are 0 and the weights of all norms are 1, so two biases or the weights of two norms could be swapped, and nothing would change. That is why we add noise to every parameter first.

# %%
from tempfile import TemporaryDirectory

from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
gpt2 = {"n_embd": 24, "n_layer": 2, "n_head": 4, "bos_token_id": None, "eos_token_id": None}
llama = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
llama |= {"num_key_value_heads": 2, "intermediate_size": 40}
originals = [GPT2LMHeadModel(GPT2Config(vocab_size=50, **gpt2))]
originals += [LlamaForCausalLM(LlamaConfig(vocab_size=50, **llama))]
# %%
tokens = torch.arange(60).reshape(3, 20) * 7 % 50
for theirs in originals:
    with torch.no_grad(), TemporaryDirectory() as place:
        for parameter in theirs.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
        theirs.eval().save_pretrained(place)
        ours = published.load(place).model
        difference = (ours(tokens) - theirs(tokens).logits).abs().max().item()
    print(f"{type(theirs).__name__}, max difference < 1e-4:", difference < 1e-4)
# %% [markdown]
# All of them agree, so from here on the vectors that we look at are those of the published model. With an Internet connection, `published.load("gpt2", download=True)` brings GPT-2 itself: 548 MB, once, with a progress bar, and an interrupted download goes on where it stopped.

# %% [markdown]
# **Exercise 3** (write the test; 20 minutes, medium). Somebody loaded an encoder. `ours(tokens, types)` and `theirs(tokens, types)` give (B, T, 4). They take tokens (B, T), which are 1 to 9, or 0 for the padding after a text, and types of 0 or 1. A text has 1 to 40 tokens. The loading is right if the vector of every token differs by at most 0.0001, in every batch. Your test is scored on right loadings and wrong ones.

# %% exercise="loaded_right"
def loaded_right(ours, theirs):
    """Whether the loading is right."""
    return ...
# %%
exercises.loaded_right.check(loaded_right)
# %% [markdown]
# ## Does *bank* mean two things?
#
# Take eight sentences for each sense, and compare all pairs. The **gap** is the mean cosine within a sense minus the mean cosine across. If the sense does not matter, it is about 0. And in case *bank* is a lucky choice, we take five more words:

# %%
for word, senses in word_senses.SENSES.items():
    one, other = (sense[4] for sense in senses.values())
    print(f"{word}: {one} — {other}")
# %%
def gap(x, sense):
    """(…, N, d) vectors of length 1 and (N,) senses -> (…,): cosine within a sense minus across."""
    cosine = x @ x.mT
    same = sense[:, None] == sense
    itself = torch.eye(len(sense), dtype=torch.bool)
    return cosine[..., same & ~itself].mean(-1) - cosine[..., ~same].mean(-1)


sense = torch.arange(16) // 8  # eight of one sense, eight of the other
heaps = {word: sum(senses.values(), ()) for word, senses in word_senses.SENSES.items()}
words = {word: vectors_of(word, heap) for word, heap in heaps.items()}
# %% [markdown]
# Suppose that a gap is 0.03. Is that much? Ask **chance**. Deal the sixteen sentences into two heaps of eight at random, a thousand times, and count how often the gap of such heaps is at least as large. This is a **permutation test**. **Predict**: for which of the six words will the gap be larger than chance would give?

# %%
def by_chance(x, deals=1000):
    """(layers + 1,): the share of random deals whose gap is as large as that of the senses."""
    generator = torch.Generator("cpu").manual_seed(0)
    order = [torch.randperm(len(sense), generator=generator, device="cpu") for _ in range(deals)]
    dealt = torch.stack([gap(x, sense[one]) for one in order])
    as_large = (dealt >= gap(x, sense) - 1e-6).sum(0)
    return (as_large + 1) / (deals + 1)  # the senses themselves are one deal of all
# %%
gaps = {word: gap(x, sense) for word, x in words.items()}
places = ["in", *map(str, range(6))]
ax = plots.plot_lines(range(7), gaps)
ax.set(xlabel="before the first layer, after layers 0 to 5", ylabel="cosine, within minus across")
ax.set_xticks(range(7), places)
plots.show(ax, alt="All begin at 0. Spring, match and bank rise most, crane stays near 0.")
# %% tolerance=0.015
for word, x in words.items():
    p = by_chance(x)
    said = [f"{places[i]:>2} {gaps[word][i]:+.3f} (p {p[i]:.3f})" for i in (0, 3, 6)]
    print(f"{word:7}", ", ".join(said))
    assert p[6] < 0.05
    assert p[0] > 0.02
assert gaps["bank"][3] > 10 * gaps["bank"][0] > 0
assert gaps["crane"][3] < 0.02 < gaps["bank"][3]
# %% [markdown]
# Before the first layer only the positions differ, and the gap is no larger than chance would give. After the last layer every word passes the test. How *far apart* the senses are is another matter: they are much further apart for *bank*, *spring* and *match* than for *crane*. (The vectors of *crane* are more alike overall, which leaves less room for a gap. But even as a share of that room, its gap is about a third of theirs or less.) A small p says that there is a difference, and not that it is large.

# %% [markdown]
# ## Is it the word, or the sentence?
#
# So the vectors go with the senses. But do they hold the sense of the *word*? The two heaps also differ in what the *sentences* are about. The control leaves the sentences as they are and replaces the word alone: in every sentence we put *thing* in its place, then *it*, and then *[MASK]*, the tokenizer's sign for a word that is hidden. None of the three has these two senses. If their vectors tell the heaps apart as well, the rest of the sentence is enough for that.

# %%
import re


def exchanged(word, sentences, other):
    """The sentences, with another word in the place of one."""
    return [re.sub(rf"\b{word}\b", other, one, flags=re.IGNORECASE) for one in sentences]


others = {}
for other in ("thing", "it", "[MASK]"):
    others[other] = {w: vectors_of(other, exchanged(w, heap, other)) for w, heap in heaps.items()}
    print(*exchanged("bank", heaps["bank"][:9:8], other), sep=" | ")
# %% [markdown]
# The gaps of two words can't be compared as they are, because the vectors of one may be more alike than those of the other, which leaves less room for a gap. So we ask something that can be compared. Take one sentence out, and compute the mean of each sense from the others. Is the vector of the one that you took out nearer to the mean of its own sense? With six words there are 96 such questions.

# %% [markdown]
# How many could chance get right? Throws of a coin would be the wrong measure, because the sixteen questions about a word are answered by the same few vectors and therefore tend to be right or wrong together. Instead we have dealt the sentences of each word into heaps at random, 20 000 times. On average about half of the answers were right, and in 95 % of the deals between 30 and 61, whichever layer the vectors came from. So only a count above 61 means something. **Predict** how many *thing* gets right.

# %%
def leave_one_out(x):
    """(layers + 1,): how many of the vectors are nearer to the mean of their own sense's others."""
    right = torch.zeros(len(x), dtype=torch.int64)
    for i in range(16):
        rest = torch.arange(16) != i
        means = torch.stack([x[:, rest & (sense == s)].mean(1) for s in (0, 1)], 1)
        right += (F.normalize(means, dim=-1) @ x[:, i, :, None])[..., 0].argmax(-1) == sense[i]
    return right
# %% tolerance=3
counted = {"itself": words} | others
told = {name: sum(map(leave_one_out, x.values())) for name, x in counted.items()}
for i, place in enumerate(places):
    print(f"{place:>2}, right of 96:", ", ".join(f"{name} {told[name][i]}" for name in told))
assert min(told["itself"][6], told["thing"][6], told["it"][6]) > 75
assert told["[MASK]"][6] > 65
assert told["itself"][1] > 6 + max(told[name][1] for name in others)

# %% [markdown]
# Before the first layer nothing but the position differs, and all four counts are what chance gives. After the last layer *thing* and *it* are right about as often as the words themselves. Even *[MASK]*, where no word stands at all, is right more often than chance would be. So the heaps can be told apart without the word, by the rest of the sentence. After layer 0 the words themselves are ahead, and not only of these three: even if each word gives its place to whichever of the other five does best there, only 76 answers are right. So there the word does add something.

# %% [markdown]
# In these sentences the sense of the word and the topic go together. What if they don't? In the following pairs *bank* has the money sense among words about the river, and the river sense among words about money. It stands at the same position in both sentences of a pair, so that position can't help.

# %%
for money, river in word_senses.CROSSED[:3]:
    print(money, "|", river)
crossed = [money for money, _ in word_senses.CROSSED] + [river for _, river in word_senses.CROSSED]
# %% [markdown]
# We measure how far each vector **leans** towards money: its cosine with the mean of the usual money sentences, minus its cosine with the mean of the river's. Then we compare the two sentences of a pair, and count the pairs in which the one with the money sense leans further towards money. (The vectors of the crossed sentences may all lean to the same side. Within a pair, that cancels.) If the vectors hold the sense of *bank*, the count is nearly eight. If they reflect the words around it, you may expect nearly none. But that is only an expectation, so we measure it: the control is again another word in the place of *bank*. **Predict** both.

# %%
def leans(x, y, left_out=()):
    """(layers + 1, N): how much nearer the vectors y are to the mean of sense 0 in x than of 1."""
    kept = torch.tensor([i not in left_out for i in range(16)])
    means = torch.stack([x[:, kept & (sense == s)].mean(1) for s in (0, 1)], 1)
    cosine = y @ F.normalize(means, dim=-1).mT
    return cosine[..., 0] - cosine[..., 1]


def right_pairs(x, y):
    """(layers + 1,) twice: in how many pairs of x, and of y, the first leans further."""
    usual = torch.empty(7, 16)
    for pair in ([i, i + 8] for i in range(8)):  # each pair beside the means of the others
        usual[:, pair] = leans(x, x[:, pair], left_out=pair)
    return [(lean[:, :8] > lean[:, 8:]).sum(-1) for lean in (usual, leans(x, y))]
# %% tolerance=1.1
further = {"bank": right_pairs(words["bank"], vectors_of("bank", crossed))}
for other, x in others.items():
    y = vectors_of(other, exchanged("bank", crossed, other))
    further[other] = right_pairs(x["bank"], y)
for name, (usual, mixed) in further.items():
    for i in (3, 6):
        print(f"{name:6} after layer {places[i]}: usual {usual[i]}, crossed {mixed[i]} of 8 pairs")
assert further["bank"][0][1:].min() >= 7
assert 2 <= further["bank"][1][1:].min() <= further["bank"][1][1:].max() <= 6
assert max(further[name][1][3] for name in others) >= 5
# %% [markdown]
# In its usual company *bank* is right in all eight pairs (before the first layer, by its position alone, in six), and after the last layer each of the others is right in all eight, too. In the company of the other sense *bank* is right in about half of them, as often as a coin would be. (Eight coins show 2 to 6 heads in 93 % of all runs.) And our expectation was wrong: without *bank*, the rest of such a sentence gives two to seven, and not nearly none. A sentence in which something raised its interest rates speaks of money, whatever stands beside the river. So these eight pairs can't tell the sense from the company, although they were written for it, and only the control shows that.

# %% [markdown]
# Does *bank* mean two things, then? **Its vectors differ between money and river, but so do those of *thing* or *it* in its place: a vector picks up what the sentence around it is about.** In everyday sentences that is enough to tell the two senses apart. It is not the same as knowing them, and in our crossed sentences, which speak of both, it does not even tell them apart. (These are six words, eight pairs and a small model. They say nothing about larger models.)

# %% [markdown]
# ## Break it
#
# Weights that are loaded wrongly rarely raise an error. We load them wrongly in five ways, and look at three things: how far the vectors of the tokens are off, what becomes of the gap of *bank* after layer 2, and what the counts of 96 after the last layer would have been, for the words and for *thing* (5 seconds). **Predict**: with which of the five would our answer have been different?

# %%
from copy import deepcopy


def loaded(change):
    """A copy of the model, changed."""
    other = deepcopy(model)
    with torch.no_grad():
        change(other)
    return other


def another_eps(model):
    for part in model.modules():
        if hasattr(part, "eps"):
            part.eps = 1e-3


def queries_transposed(model):
    for layer in model.layers:
        layer.self_attention.w_q.weight.copy_(layer.self_attention.w_q.weight.T.clone())


def norms_exchanged(model):
    for layer in model.layers:
        one, two = layer.residual_1, layer.residual_2
        one.norm, two.norm = two.norm, one.norm
# %%
def without_types(model):
    model.types.weight.zero_()


def relu(model):
    for layer in model.layers:
        layer.feed_forward.activation = F.relu


wrong = [another_eps, without_types, relu, norms_exchanged, queries_transposed]
bank_ids, _ = padded(heaps["bank"])
with torch.no_grad():
    right_states = model(bank_ids)


def counts_with(reader):
    """How many of 96 are right after the last layer, for the words and for *thing*."""
    itself = [vectors_of(w, heap, reader) for w, heap in heaps.items()]
    thing = [vectors_of("thing", exchanged(w, heap, "thing"), reader) for w, heap in heaps.items()]
    return [sum(leave_one_out(x)[6].item() for x in xs) for xs in (itself, thing)]
# %% tolerance=4
off, parted, counts = {}, {}, {}
for change in wrong:
    other, name = loaded(change), change.__name__
    with torch.no_grad():
        off[name] = (other(bank_ids) - right_states)[bank_ids != 0].abs().max().item()
    parted[name] = gap(vectors_of("bank", heaps["bank"], other), sense)[3].item()
    counts[name] = counts_with(other)
    print(f"{name:18} off by {off[name]:5.2f}, gap {parted[name]:.3f}, right", *counts[name])
print(f"{'the right one':18} off by  0.00, gap {gaps['bank'][3]:.3f}, right", *counts_with(model))
# %%
assert min(off.values()) > 1e-2  # a comparison with the original finds each of them
assert min(parted[name] for name in ("another_eps", "without_types")) > 0.7 * gaps["bank"][3]
assert counts["without_types"][0] > 75 > 61 > counts["without_types"][1]
ahead = {name for name, (itself, thing) in counts.items() if itself > thing + 6}
assert ahead == {"relu", "without_types", "norms_exchanged"}
# %% [markdown]
# All of them run, and all leave *bank* a gap. With a different ε, and with transposed queries, *thing* is still right as often as the words. With the other three it is not. Without types, for example, the words themselves are right nearly as often as before, but *thing* has only 51 of 96, which is what chance gives. From this control we would have concluded the opposite: that it is the word that makes the difference. (Another control might have warned us, since *it* has 74 and *paper* 75 without types.) What finds every one of the five is the comparison with the original, number by number. That is why it comes *before* the question in this lesson.

# %% [markdown]
# ## Search by meaning
#
# What are such vectors good for? One use is a search. A text's vector is the mean of its tokens' vectors, and a question finds the paragraphs whose vectors point in its direction. Here the search runs over the paragraphs of lessons 01 to 10 themselves, which come with the package:

# %%
library = word_senses.paragraphs()  # pairs of a lesson and a paragraph of it
print("more than 300 paragraphs:", len(library) > 300)
# %% [markdown]
# We read all paragraphs once (15 seconds), sorted by length, so that little padding is computed:

# %%
@torch.no_grad()
def read(texts, batch=32):
    """Of each batch: the numbers of its texts, what the model gives for them, and the mask."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    batches = []
    for start in range(0, len(texts), batch):
        numbers = order[start : start + batch]
        ids, _ = padded([texts[i] for i in numbers])
        batches.append((numbers, model(ids), ids != 0))
    return batches


paragraph_states = read([part for _, part in library])
sets = {
    "in the lessons' words": word_senses.QUESTIONS,
    "in other words": word_senses.IN_OTHER_WORDS,
}
question_states = {name: read([text for _, text in asked]) for name, asked in sets.items()}
# %%
def pooled(batches, pool):
    """(N, d_model): a vector of length 1 for each text, in the order in which they came."""
    numbers = [i for batch, _, _ in batches for i in batch]
    vectors = torch.cat([pool(hidden, mask) for _, hidden, mask in batches])
    return F.normalize(vectors[torch.tensor(numbers, device=device).argsort()], dim=-1).cpu()


def search(pool):
    """For each set, (questions, paragraphs): how well each paragraph fits each question."""
    found = pooled(paragraph_states, pool)
    return {name: pooled(states, pool) @ found.mT for name, states in question_states.items()}


by_meaning = search(text_encoder.mean_pool)
# %% tolerance=10
for name, asked in sets.items():
    for number in (2, 8, 15):
        lesson, question = asked[number]
        found = library[by_meaning[name][number].argmax().item()][0]
        print(f"{question}  (written for lesson {lesson}, found in {found})")
# %% [markdown]
# Now rank the lessons by the best paragraph of each. In which place does the right one come? There are 23 questions in words that the lessons use, written before any search was tried. Another 23 ask the same in the words of somebody who has not read the lessons. They were written after the first set had been tried, and all of them are counted.

# %% [markdown]
# The control is a search that knows nothing of meaning: **TF-IDF** adds up the words that a question and a paragraph share, and the fewer paragraphs contain a word, the more it counts. **Predict** for both kinds of questions and both searches how often the right lesson comes first; a blind guess is right two or three times. It is better to find the right lesson in second place than in ninth, so the **mean reciprocal rank**, which is the mean of 1/place, is printed too.

# %%
from collections import Counter
from math import comb, log


def words_in(text):
    return Counter(re.findall(r"[a-z]+", text.lower()))


bags = [words_in(part) for _, part in library]
appears = Counter(word for bag in bags for word in bag)  # in how many paragraphs


def weighted(bag):
    """The words of a text, rare ones more, with a sum of squares of 1."""
    rare = {word: log(len(bags) / appears[word]) for word in bag if appears[word]}
    length = sum((bag[word] * x) ** 2 for word, x in rare.items()) ** 0.5
    return {word: bag[word] * x / length for word, x in rare.items()}
# %%
weighted_bags = [weighted(bag) for bag in bags]


def shared_words(question):
    """(paragraphs,): how much the question shares with each."""
    asked = weighted(words_in(question))
    fits = [sum(x * bag.get(word, 0.0) for word, x in asked.items()) for bag in weighted_bags]
    return torch.tensor(fits)


by_words = {name: torch.stack([shared_words(q) for _, q in asked]) for name, asked in sets.items()}
# %%
def place(lesson, fits):
    """The place of the lesson among all, each ranked by its best paragraph."""
    ranked = dict.fromkeys(library[i][0] for i in fits.argsort(descending=True).tolist())
    return 1 + list(ranked).index(lesson)


ways = {"by meaning": by_meaning, "by shared words": by_words}
ways["by meaning, padding counted"] = search(lambda hidden, mask: hidden.mean(1))
places = {
    (name, way): torch.tensor([place(lesson, row) for (lesson, _), row in zip(asked, fits[name])])
    for name, asked in sets.items()
    for way, fits in ways.items()
}
# %% tolerance=3
reciprocal = {key: (1 / found).mean().item() for key, found in places.items()}
for name in sets:
    print(f"asked {name}, of 23:")
    for way in ways:
        first = (places[name, way] == 1).sum().item()
        print(f"  {way}: right lesson first {first}, mean of 1/place {reciprocal[name, way]:.2f}")
# %%
other = {way: reciprocal["in other words", way] for way in ways}
assert other["by meaning"] > other["by shared words"]
# %% [markdown]
# In both sets the vectors find the right lesson more often than the shared words do. (More than half of their first answers are wrong even so.)
#
# Is it a mistake to count the padding in the mean? The first set gains by it and the second loses, so these 46 questions can't tell. But such a mean has a fault that shows without statistics, because the vector of a text then depends on the texts beside it. Here is one sentence, alone and in a batch with a longer text:

# %% tolerance=0.05
@torch.no_grad()
def beside(others, pool):
    """(d_model,): the vector of the first sentence, in a batch with others."""
    ids, _ = padded([sentences[0], *others])
    return pool(model(ids), ids != 0)[0]


pools = {"mean of the tokens": text_encoder.mean_pool, "padding counted": lambda x, mask: x.mean(1)}
for name, pool in pools.items():
    alone, in_a_batch = (beside(others, pool) for others in ([], [" ".join(3 * sentences)]))
    alike = F.cosine_similarity(alone, in_a_batch, dim=0).item()
    print(f"{name}: cosine of the two vectors {alike:.2f}")
    assert (alike > 0.999) == (name == "mean of the tokens")

# %% [markdown]
# Now back to meaning against shared words: is the difference between these two searches chance? Take the questions for which one of the two searches puts the right lesson further up. If both were equally good, each of these would fall on either side like a coin. Here p is the probability that coins favour the *model* at least as often; to count both directions, double it. Since 23 questions are few, p is computed for both sets together:

# %% tolerance=6
def coins(a, b):
    """The probability of `a` heads or more among a + b throws."""
    return sum(comb(a + b, k) for k in range(a, a + b + 1)) / 2 ** (a + b)


further_up = torch.zeros(2, dtype=torch.long)
for name in sets:
    meaning, words_alone = places[name, "by meaning"], places[name, "by shared words"]
    better = torch.stack([(meaning < words_alone).sum(), (meaning > words_alone).sum()])
    further_up += better
    print(f"{name}: further up by meaning {better[0]}, by shared words {better[1]}")
print(f"together {further_up.tolist()}; coins: p = {coins(*further_up.tolist()):.3f}")
assert coins(*further_up.tolist()) < 0.15

# %% [markdown]
# Both sets lean towards the vectors, and if we count the two together, coins would seldom lean so far. But how seldom depends on the paragraphs that are searched. When a random fifth of them is left out, p is often above 0.05. So the questions speak for the model, but 46 of them are too few to be sure.

# %% [markdown]
# **Exercise 4** (10 minutes, easy). `hidden` is what a model gives for texts of different lengths, `mask` is True for a token and False for padding. Return the mean of each text's own tokens; a text without any gets zeros.

# %% exercise="mean_pool"
def mean_pool(hidden, mask):
    """(B, T, d) and boolean (B, T) -> (B, d)."""
    return ...
# %%
exercises.mean_pool.check(mean_pool)
# %% [markdown]
# ## A search of your own
#
# Once your `mean_pool` has passed, the search is yours. Until then the package's does the pooling.

# %% own=true
parts = exercises.mine().or_package()
own = search(parts.mean_pool)
difference = max((own[name] - by_meaning[name]).abs().max().item() for name in sets)
print("the search of your own = the one above, max difference < 1e-4:", difference < 1e-4)
print(parts)
# %% [markdown]
# ## Remember
#
# - A checkpoint is a table of names and numbers. Loading is renaming, and sometimes transposing, splitting and reordering.
# - A model that was loaded wrongly still runs. Compare it with the original, number by number, before you ask it anything.
# - A small p says that chance alone would seldom give such a difference. What makes it is another question, and needs a control of its own.
# - The vector of a word picks up the company that the word keeps, and so would that of another word in its place.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. Your loader takes a square projection without transposing it. Which checks will pass?</summary>
# All checks of shapes and names will pass, and often a look at results as well. A comparison with the original will not.
# </details>
# <details><summary>2. The vectors of <i>bank</i> differ by sense with p = 0.001. Why doesn't that show that the model knows the senses?</summary>
# The sentences also differ in their other words. Put <i>thing</i> in the place of <i>bank</i>, and its vectors tell the two heaps apart as well.
# </details>

# %% [markdown]
# <details><summary>3. The same text gets a different vector when it is in a batch with a longer one. Name two suspects.</summary>
# Either attention sees the padding, or the mean counts it.
# </details>
# <details><summary>4. How would you load GPT-2 itself?</summary>
# With an Internet connection: <code>published.load("gpt2", download=True)</code>. It takes 548 MB, once, and becomes the <code>LanguageModel</code> of lesson 09.
# </details>

# %% [markdown]
# **Next:** a real model runs in your own code, slowly. [Lesson 13](13_fast_and_equal.ipynb) makes attention and writing faster, and measures what stays equal.

# %% [markdown]
# ## Extra: what single heads do
#
# Lesson 10 found heads by a score, and took them away before it believed anything. A real model has 72 heads in six layers, and here are those of the first two, on one sentence. **Predict**: will you recognise any from lesson 02? Sort them, and look.

# %%
from transformer_lab import widgets
from transformer_lab.nn.recording import record_attention

ids, (tokens,) = padded(["We sat on the bank of the river."])
with torch.no_grad(), record_attention(model) as maps:
    model(ids)
weights = torch.cat(list(maps.values()))  # (layers, heads, T, T)
widgets.heads(weights[:2], tokens, tokens)
# %% [markdown]
# One sentence is only an example. So we compute four scores on paragraphs of the lessons, each the mean weight that a token gives: to the token before it, to the one after it, to *[CLS]*, and to the same word elsewhere in the text. (What the special tokens look at is not counted, nor is a neighbour that is itself a special token.)

# %%
@torch.no_grad()
def scores_on(text):
    """(4, layers, heads): before, after, [CLS], same word."""
    ids, _ = padded([text])
    with record_attention(model) as maps:
        model(ids)
    weights = torch.cat(list(maps.values())).cpu()  # (layers, heads, T, T)
    same = (ids[0][:, None] == ids[0]).cpu() & ~torch.eye(ids.size(1), dtype=torch.bool)
    twice = same.any(-1)
    return torch.stack([
        weights.diagonal(-1, -2, -1)[..., 1:-1].mean(-1),
        weights.diagonal(1, -2, -1)[..., 1:-1].mean(-1),
        weights[..., 1:-1, 0].mean(-1),
        (weights * same).sum(-1)[..., twice].mean(-1),
    ])
# %%
some = [part for _, part in library if 30 <= len(part.split()) <= 50][::8]
scores = torch.stack([scores_on(part) for part in some]).mean(0)
names = ["the token before", "the token after", "[CLS]", "the same word"]
figure, axes = plots.figure(width=8, height=2.6, columns=2)
for ax, name, score in zip(axes, names[::2], scores[::2]):
    plots.plot_amounts(score, [f"layer {i}" for i in range(6)], [*range(12)], ax=ax)
    ax.set(title=name, xlabel="head")
plots.show(figure, alt="The token before: one head of layer 0. [CLS]: many heads of layers 1 to 4.")
# %% tolerance=0.1
heads = {}
for name, score in zip(names, scores):
    layer, head = divmod(score.argmax().item(), 12)
    heads[name] = layer, head
    print(f"{name}: head {layer}.{head} {score.max():.2f}, the median head {score.median():.2f}")
assert scores[0].max() > 0.9 > 0.5 > scores[0].flatten().sort().values[-2]
# %% [markdown]
# In one head each token looks at the one before it and at almost nothing else, so this head's score is nearly 1. Other heads rest on *[CLS]*, as BERT's rest on *[SEP]* ([Clark et al., 2019](https://arxiv.org/abs/1906.04341)), and one gives about a third of its attention to the same word elsewhere. It is tempting to tell a story now: head 0.2 reads the order of the words. If so, it should be missed where order is all that differs. **Predict** what its ablation does to the distance between these sentences:

# %%
print(*word_senses.REVERSED[0], "|", *word_senses.REVERSED[1])


@torch.no_grad()
def embedded(texts):
    """(N, d_model): the mean vectors of texts, of length 1."""
    ids, _ = padded(texts)
    return F.normalize(text_encoder.mean_pool(model(ids), ids != 0), dim=-1)


def order_distance():
    """1 - cosine of two sentences of the same words, on average."""
    one, other = (embedded(list(column)) for column in zip(*word_senses.REVERSED))
    return (1 - (one * other).sum(-1)).mean().item()
# %% tolerance=0.05
layer, head = heads["the token before"]
whole, without = order_distance(), []
for other in range(12):
    with analysis.ablate(model, f"layers.{layer}.self_attention", other, mean=True):
        without.append(order_distance() / whole)
others = [share for i, share in enumerate(without) if i != head]
print(f"distance {whole:.3f}; without head {layer}.{head} {without[head]:.2f} of it")
print(f"without one of the others of its layer {min(others):.2f} to {max(others):.2f}")
assert abs(without[head] - 1) < max(abs(share - 1) for share in others) < 0.3
# %% [markdown]
# Would this distance show it at all if the order were lost? There is a control that must come out as 0, because without its vectors of positions an encoder, which has no causal mask, can't see any order:

# %%
positions = model.positions.encoding.detach().clone()
with torch.no_grad():
    model.positions.encoding.zero_()
    print("without positions, distance < 1e-5:", order_distance() < 1e-5)
    model.positions.encoding.copy_(positions)
# %% [markdown]
# The distance itself is tiny: for this model, a dog that bites a man and a man who bites a dog are nearly one and the same. And without the head that has the perfect score nearly all of the distance is left. Does that show that the head has nothing to do with order? Lesson 10 warned that it does not, since another head may stand in for the one that is missing. So we take away the head with the second-best score as well, and then all heads of a layer:

# %%
from contextlib import ExitStack


def distance_without(*gone):
    """The share of the distance that is left without these pairs of a layer and its heads."""
    with ExitStack() as stack:
        for layer, heads in gone:
            block = f"layers.{layer}.self_attention"
            stack.enter_context(analysis.ablate(model, block, *heads, mean=True))
        return order_distance() / whole

# %% tolerance=0.05
second = divmod(scores[0].flatten().argsort(descending=True)[1].item(), 12)
pair = (layer, [head]), (second[0], [second[1]])
alone, both = distance_without(pair[1]), distance_without(*pair)
print(f"without head {second[0]}.{second[1]} {alone:.2f} of the distance, without both {both:.2f}")
of_layer = [distance_without((i, range(12))) for i in range(6)]
print("without all heads of a layer, 0 to 5:", ", ".join(f"{share:.2f}" for share in of_layer))
assert both < without[head] - 0.03

# %% [markdown]
# Without both heads more is lost than the two single losses add up to. Does that hold for any two heads, or only for these two? The control puts each other head of layer 0 in the place of head 0.2:

# %% tolerance=0.02
beyond = []  # what is lost without both, less what is lost without either
for other in range(12):
    both = distance_without((layer, [other]), pair[1])
    beyond.append(without[other] + alone - 1 - both)
rest = [abs(loss) for i, loss in enumerate(beyond) if i != head]
print(f"beyond the sum: with head {layer}.{head} {beyond[head]:.3f}", end=", ")
print(f"with another of its layer at most {max(rest):.3f}")
assert beyond[head] > 3 * max(rest)

# %% [markdown]
# With any other head of layer 0 the losses add up, to within 0.01. So in these sentences other heads stand in for head 0.2, and the first ablation made it look more dispensable than it is. (Head 2.11 is not the only one: with head 1.8, which looks at the token *after*, the loss beyond the sum is 0.04. In longer sentences it need not be so.) But even without both heads most of the distance is left, and layer 2 is missed far more than layer 0, the layer of the head with the perfect score.
#
# So a score says where a head looks. What the model would lose without it must be measured, and one head at a time can show too little.
