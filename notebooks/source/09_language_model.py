# %% [markdown]
# # 09 · A language model
#
# Half a Transformer, trained to say the next character, learns a surprising amount from text alone. In this lesson you train one, and find out how much.
#
# **You will be able to**
# - state the loss of a language model in nats and in bits per byte,
# - train one, and tell whether it has learned or only memorised,
# - predict what more text will bring, and test the prediction beside its rivals.
#
# **You need** lessons 05 to 08. **Paper:** [GPT-2](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf), sections 2 and 3. **Time:** 60 minutes, the exercises 60 more.

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

from transformer_lab import default_device, exercises, plots, training
from transformer_lab.data import tasks

torch.set_num_threads(1)  # for a model as small as this, more would only wait for each other
device = default_device()
# %% [markdown]
# ## The question
#
# A translator learns from pairs of sentences, which somebody has to write. A **language model** learns from plain text, because each character is the target of the characters before it. You have plenty of text on your disk already, since Python comes with its own source. We leave out its tests and its tables of data, and put each *file* into one part only:

# %% tolerance=0.25
corpus = tasks.python_source()
for part in ("train", "validation", "test"):
    n_files, n_characters = len(getattr(corpus, part)), len(corpus.text(part))
    print(f"{part:10} {n_files} files, {n_characters / 1e6:.2f} million characters")
# %% [markdown]
# **Can a model learn to write Python from the Python on your own disk?** A model that has learned nothing gives each of the 98 tokens (96 characters, one token for all others, one for padding) about the same probability. Here is what it writes after `def `:

# %%
from transformer_lab import LanguageModel, LanguageModelConfig
from transformer_lab.data.texts import PRINTABLE, Characters

characters = Characters(PRINTABLE)
config = LanguageModelConfig(
    *(len(characters), 64, 4, 256, 2), max_len=64, positions="rotary", activation="gelu",
    dropout=0.0, attention_dropout=0.0,
)  # fmt: skip
torch.manual_seed(0)
model = LanguageModel(config).to(device)
# %%
whole = corpus.text("test")
test_text = "".join(whole[i : i + 7_500] for i in range(0, len(whole), 60_000))  # pieces of it
train_ids, test_ids = characters.encode(corpus.text("train")), characters.encode(test_text)
whole_ids = characters.encode(whole)
# %%
from transformer_lab import complete


def write(model, prompt, n_tokens, copies=1, seed=0, **choice):
    ids = characters.encode(prompt).expand(copies, -1).to(device)
    generator = torch.Generator("cpu").manual_seed(seed)
    written = complete(model, ids, n_tokens, generator=generator, **choice)
    return [characters.decode(row.tolist()) for row in written]


def show_text(text, alt):
    figure, ax = plots.figure(8, 0.2 + 0.21 * (text.count("\n") + 1))
    ax.axis("off")
    ax.text(0, 1, text.replace("$", r"\$"), family="monospace", fontsize=9, va="top")
    return plots.show(figure, alt)
# %%
show_text(write(model, "def ", 60)[0].replace("\n", "⏎"), alt="Sixty random characters after def.")
# %% [markdown]
# ## By hand: what follows what
#
# Before we train a Transformer, we should know how far a much simpler model gets. A very simple language model is a table of pairs. Count how often each character follows each other one, and divide each row by its sum, which gives $p(\text{next} \mid \text{this})$. The more of the last characters a table looks at, the less is left to guess:
#
# ![Three panels count what follows in six lines of Python: six different characters after r, three after re, and only u after ret.](../img/09_context.svg)

# %%
from collections import Counter
from itertools import pairwise

text = "abcababca"
pairs, starts = Counter(pairwise(text)), Counter(text[:-1])
for (left, right), n in sorted(pairs.items()):
    print(f"p({right} | {left}) = {n}/{starts[left]} = {n / starts[left]:.2f}")
# %% [markdown]
# As in lesson 08, the probability of a text is the product of the probabilities of its characters, each given those before it. (A table of pairs looks only at the last of them.) The logarithm of the product is a sum. Divided by the number $n$ of predicted characters, it can be compared between texts of different lengths:
#
# $$\text{loss} = -\frac{1}{n} \sum_{t=1}^{n} \ln p(y_t \mid y_0 \dots y_{t-1})$$
#
# Its unit is the **nat**. The perplexity of lesson 07, $e^{\text{loss}}$, says among how many equally probable characters the model seems to choose.

# %%
sentence = "abab"
logs = [math.log(pairs[pair] / starts[pair[0]]) for pair in pairwise(sentence)]
loss = -sum(logs) / len(logs)
print("ln p:", [round(log, 3) for log in logs])
print(f"loss {loss:.3f} nats a character, perplexity {math.exp(loss):.2f}")
# %% [markdown]
# After `a` the table is sure of `b`, and after `b` it wavers. Now ask it for the probability of the text `acb`. The pair *ac* never occurred, so its probability is 0 and the loss infinite. Since no text should be impossible, some probability has to be kept for what was never seen, and this is called **smoothing**. The simplest way is to add 1 to each count:

# %%
def smoothed(left, right):
    return (pairs[left, right] + 1) / (starts[left] + 3)  # three characters: a, b and c


print("p(c | a), counted: ", pairs["a", "c"] / starts["a"])
print("p(c | a), smoothed:", round(smoothed("a", "c"), 3))
print("the row still sums to", round(sum(smoothed("a", right) for right in "abc"), 6))
# %% [markdown]
# A table of pairs is a **bigram** table, and an $n$-gram table looks at the last $n - 1$ characters. The longer the contexts, the more of them were never seen. The package's tables therefore use a better smoothing, that of Kneser and Ney ([Chen & Goodman, 1998](https://dash.harvard.edu/handle/1/25104739)), which relies more on the next shorter context where a context is rare. We count six tables in the training part (10 seconds), and measure their losses on pieces of the test, where we shall measure the models later:

# %% tolerance=0.2
from transformer_lab.data.ngrams import NGrams

tables = {order: NGrams(train_ids, len(characters), order) for order in (1, 2, 3, 4, 5, 6)}
nats = {}
for order, table in tables.items():
    loss = nats[f"{order}-gram"] = -table.token_log_probs(test_ids).mean().item()
    print(f"{order}-gram: {len(table) / 1e6:.2f} million entries, {loss:.2f} nats", end=", ")
    print(f"perplexity {math.exp(loss):.1f}")
assert nats["6-gram"] < nats["4-gram"] - 0.1 < nats["3-gram"] - 0.3 < nats["2-gram"] - 0.5
# %% [markdown]
# Each further character of context lowers the loss, but by less and less, and the table keeps growing.

# %% [markdown]
# **Exercise 1** (5 minutes, easy). From ln p of each token of a text, compute the perplexity.

# %% exercise="perplexity"
def perplexity(token_log_probs):
    """(n,) logarithms -> a number."""
    return ...
# %%
exercises.perplexity.check(perplexity)
# %% [markdown]
# ## What is a nat worth?
#
# Is 1.14 nats a good loss? We need something to compare it with. A bit is $\ln 2 = 0.69$ nats, and a model with a loss of $L$ nats could compress the text to $L / \ln 2$ bits a character, because encoding a symbol of probability $p$ takes $-\log_2 p$ bits ([Shannon, 1948](https://people.math.harvard.edu/~ctm/home/text/others/shannon/entropy/entropy.pdf)). So a model can be compared with a program that compresses files, and with models that use other tokens. The measure for this is **bits per byte**. A compression program needs a long text to get going, so this comparison is on the whole test:

# %% tolerance=0.15
import gzip

from transformer_lab import bits_per_byte

n_bytes = len(whole.encode())  # a character of this text is one byte
compressed = 8 * len(gzip.compress(whole.encode(), 9))  # bits
on_all = {"gzip": compressed / n_bytes * math.log(2)}
for order in (2, 6):
    on_all[f"{order}-gram"] = -tables[order].token_log_probs(whole_ids).mean().item()
for name, loss in on_all.items():
    bits = bits_per_byte(loss * n_bytes, n_bytes, n_bytes)
    print(f"{name}: {loss:.2f} nats a character, {bits:.2f} bits a byte (of 8)")

# %% [markdown]
# gzip comes to this text without having seen any Python, and learns it while it compresses. The tables have read millions of characters before, and the 6-gram table puts this to good use.

# %% [markdown]
# **Exercise 2** (5 minutes, easy). Write this measure, which does not depend on how a text is cut into tokens. `nats` is the loss of the whole text.

# %% exercise="bits_per_byte"
def bits_per_byte(nats, n_tokens, n_bytes):
    """Bits for each byte of the text."""
    return ...
# %%
exercises.bits_per_byte.check(bits_per_byte)

# %% [markdown]
# ## The model, line for line
#
# A table looks back only a few characters. A Transformer can look back much further, so let us build one. A language model needs no encoder and no cross-attention. What remains of a decoder layer is self-attention and a feed-forward network, which is the *encoder's* layer with a causal mask. As in GPT-2, three more things differ from the paper. The norms come first (lesson 04), with one more after the last layer; embeddings are not multiplied by $\sqrt{d_{model}}$; and a smooth function, **GELU**, takes the place of ReLU ([Hendrycks & Gimpel, 2016](https://arxiv.org/abs/1606.08415)). Here is the whole forward pass, with this model's own parts:

# %%
from transformer_lab import causal_mask


def logits_of(tokens):
    x = F.embedding(tokens, model.tokens.weight)  # (B, T, d_model)
    mask = causal_mask(tokens.size(1), tokens.device)
    for layer in model.layers:
        x = x + layer.self_attention(*[layer.residual_1.norm(x)] * 3, mask)[0]
        x = x + layer.feed_forward(layer.residual_2.norm(x))
    return model.norm(x) @ model.tokens.weight.T  # the table of the embedding, once more


model.eval()
some = train_ids[:128].view(2, 64).to(device)
with torch.no_grad():
    ours, theirs = logits_of(some), model(some)
print("max difference < 1e-4:", (ours - theirs).abs().max().item() < 1e-4)
# %% [markdown]
# Where are the positions? This model turns queries and keys inside each attention (`rotate`, lesson 03). GPT-2 adds a learned vector for each position instead; `positions="learned"` does that, and `tests/models/test_language_model.py` copies weights from Hugging Face's GPT-2 into this class and back, and finds the same logits.
#
# Nothing is shifted on the way in. It is the *loss* that compares position $t$ with token $t + 1$:

# %%
from transformer_lab import next_token_loss

logits = theirs.cpu()
by_hand = []
for row, tokens in zip(logits, some.tolist()):
    for t in range(63):  # the last position has no next token
        by_hand.append(-row[t].log_softmax(-1)[tokens[t + 1]].item())
loss = next_token_loss(logits, some.cpu(), pad_id=characters.pad_id).item()
print("same loss:", abs(loss - sum(by_hand) / len(by_hand)) < 1e-4)
print(f"it is {loss:.1f}; an even guess among 98 would be ln 98 = {math.log(98):.1f}")
# %% [markdown]
# **Exercise 3** (15 minutes, medium). Write the loss of a batch of texts, padded on the right. Nothing follows the last token of a row.

# %% exercise="next_token_loss"
def next_token_loss(logits, tokens, pad_id):
    """(B, T, vocab) logits and (B, T) tokens -> a number."""
    return ...
# %%
exercises.next_token_loss.check(next_token_loss)
# %% [markdown]
# ## Train it
#
# The text is cut into windows of 64 characters. Each step reads 16 of them, in random order, and all 63 next characters of a window are learned at once, as in lesson 07. The optimizer is **AdamW**, which is Adam (lesson 07) with one addition: it also shrinks the weights a little at each step ([Loshchilov & Hutter, 2019](https://arxiv.org/abs/1711.05101)). The rate climbs for 50 steps, then falls to 0. In 800 steps the model reads as many characters as an eighth of the training part holds.

# %%
from transformer_lab import token_log_probs, widgets

validation_ids = characters.encode(corpus.text("validation"))[:6_000]


def loss_on(ids, model):
    return -token_log_probs(model, ids).mean().item()
# %% [markdown]
# The training takes 20 seconds on a quiet machine. The monitor shows the loss of each batch, that of held-out files every 100 steps (*validation*), and as lines those of three tables on the same files. Below the curves you see how the model goes on with `def `, and the slider brings back what it wrote before. You may stop it (■) at any time and resume. **Predict**: which of the lines will it pass?

# %%
recipe = training.TextRecipe(n_steps=800, batch_size=16, peak_rate=1e-2, seed=0)
run = training.TextTraining(model, training.TextExamples(train_ids, length=64), recipe)
reports = run.run(800, lambda: loss_on(validation_ids, model), every=100)
levels = {n: -tables[n].token_log_probs(validation_ids).mean().item() for n in (2, 3, 4)}
levels = {f"{n}-gram": loss for n, loss in levels.items()}
widgets.text_training_monitor(reports, 800, model, characters, ["def "], levels=levels)
# %% tolerance=0.15
nats["yours"] = loss_on(test_ids, model)
n_parameters = sum(parameter.numel() for parameter in model.parameters())
print(f"your model, {n_parameters / 1e6:.2f} million parameters", end=": ")
print(f"{nats['yours']:.2f} nats a character, perplexity {math.exp(nats['yours']):.1f}")
print(f"the bigram table {nats['2-gram']:.2f}, the trigram table {nats['3-gram']:.2f}")
assert nats["yours"] < nats["3-gram"] - 0.05 < nats["2-gram"] - 0.5
# %% [markdown]
# Less than a minute is enough to pass the tables of pairs and of triples, and in the monitor you can see when. The tables with longer contexts are still ahead. An $n$-gram table is built to look at the last $n - 1$ characters, whereas the model has to learn where to look. Once it can, it has up to 63 characters to look at. And what does it write?

# %%
sample = write(model, "def ", 300, temperature=0.7, seed=1)[0]
show_text("\n".join(line[:90] for line in sample.split("\n")), alt="What your model writes.")
# %% [markdown]
# Compare this with the sixty random characters at the beginning. There are words of English and of Python, brackets that often close, and lines that begin with blanks. None of it means anything yet.

# %% [markdown]
# Now write together. The view below holds the model that you have trained; it computes in the page and needs no kernel. But its weights are rounded to 8 bits each, so that they take a quarter of the space. Does that cost anything? We measure the rounded model on the same pieces of the test:

# %% tolerance=0.15
from transformer_lab.widgets.shared.sent_model import as_sent

rounded = loss_on(test_ids, as_sent(model))
print(f"32 bits a weight: {nats['yours']:.2f} nats a character, 8 bits: {rounded:.2f}")
assert abs(nats["yours"] - rounded) < 0.02
# %% [markdown]
# Type the beginning of a line, such as `for i in `, and press *write 40*. The stronger the colour behind a character, the less probable it was. Point at one, and the bars show what else it could have been. **Predict**, then look: is the model less sure at the beginning of a word or at its end? Take random characters, and see what the temperature does to the whole text.

# %%
widgets.completer(model, characters, "def ")
# %% tolerance=0.2
is_letter = torch.tensor([character.isalpha() for character in characters.decode(test_ids)])
before, now = is_letter[:-1], is_letter[1:]
surprise = -token_log_probs(model, test_ids).cpu()
first, later = (surprise[now & kind].mean().item() for kind in (~before, before))
print(f"the first letter of a word {first:.1f} nats, the later ones {later:.1f}")
assert first > later + 0.5
# %% [markdown]
# The first letter of a word costs far more than the others, because once a word has begun, fewer letters are probable. (In the package's larger model, which comes next, nearly all of a first letter's cost is doubt about *which* letter comes, and little is doubt about *whether* one does.)

# %% [markdown]
# ## With more patience
#
# What would patience bring? The package has a larger model, made by one command in about an hour with one thread: four layers, $d_{model} = 144$, 256 characters of context, 8 000 steps. Does it beat the six tables?

# %%
larger, its_characters, facts = training.load_language_model("python")
larger = larger.to(device)
print(f"{sum(p.numel() for p in larger.parameters()):,} parameters, {facts['steps']} steps")
print(f"{training.checkpoint_path('python').stat().st_size / 1e6:.1f} MB")
print("the same characters:", its_characters.alphabet == PRINTABLE)
# %% tolerance=0.12
nats["larger"] = loss_on(test_ids, larger)
for name in ("6-gram", "yours", "larger"):
    print(f"{name}: {nats[name]:.3f} nats a character, {nats[name] / math.log(2):.2f} bits a byte")
assert nats["larger"] < min(nats[f"{order}-gram"] for order in tables) - 0.1

# %% [markdown]
# It does, with 1.0 million numbers in 2 MB, where the 6-gram table has 1.6 million entries. It is ahead on the whole test, too: gzip has 1.46 nats there, the 6-gram table 1.22, a 9-gram table with its six million entries 1.14, and this model 0.87. The package's smaller model (three layers, $d_{model} = 128$, 128 characters at a time, 6 000 steps) has 1.18 there, more than the 9-gram table. Size, steps, context and learning rate all differ, so this doesn't tell which of them made the difference.

# %%
print(write(larger, "def read(self, size):\n", 400, temperature=0.5, seed=2)[0])
# %% [markdown]
# Names, brackets, colons and indentation are mostly in their places, and yet the code makes no sense; a part of it is one line, written again and again. How much of it *is* Python? We give each line that a model writes to Python's parser, `ast.parse`, and put a `pass` behind a line that ends in a colon. Not all lines of real files pass that test either, because many are part of a longer string or expression, so real files are the control:

# %%
import ast
import warnings


def is_python(line):
    line = line.strip()
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(line + " pass" if line.endswith(":") else line)
        return True
    except (SyntaxError, ValueError):
        return False


def share_of_python(texts):
    """The share in percent, and the number, of the lines that are neither empty nor comments.

    The first and the last line of a text may be cut, so they do not count.
    """
    lines = [line for text in texts for line in text.split("\n")[1:-1]]
    lines = [line for line in lines if line.strip() and not line.strip().startswith("#")]
    return 100 * sum(map(is_python, lines)) / max(1, len(lines)), len(lines)
# %% [markdown]
# Now let the tables and the models go on from 32 places in the held-out files. Each of them is given 100 characters and writes 200 more (20 seconds), a model at two temperatures and a table at 1. The control is what stands at the same places in the files. **Predict**: whose lines are Python as often as those of the files?

# %%
starts = [whole.index("\n", at) + 1 for at in range(5_000, 245_000, 7_500)]
given = torch.stack([characters.encode(whole[at : at + 100]) for at in starts])


def by_table(table, ids, n, generator):
    for _ in range(n):
        p = table.next_probabilities(ids[-8:])
        ids = torch.cat([ids, p.multinomial(1, generator=generator)])
    return ids


def texts_of(writer, temperature):
    generator = torch.Generator("cpu").manual_seed(0)
    if isinstance(writer, LanguageModel):
        how = {"generator": generator, "temperature": temperature}
        rows = complete(writer, given.to(device), 200, **how)
    else:
        rows = [by_table(writer, ids, 200, generator) for ids in given]
    return [characters.decode(row.tolist())[100:] for row in rows]
# %% tolerance=30
writers = {"3-gram": tables[3], "6-gram": tables[6], "yours": model, "larger": larger}
share = {}
for name, writer in writers.items():
    for t in (0.5, 1.0) if isinstance(writer, LanguageModel) else (1.0,):
        share[name, t], n = share_of_python(texts_of(writer, t))
        print(f"{name} at {t}: {share[name, t]:.0f} % of {n} lines")
in_files, n = share_of_python([whole[at + 100 : at + 300] for at in starts])
print(f"the files: {in_files:.0f} % of {n} lines")
# %%
assert share["larger", 0.5] > share["larger", 1.0] > share["6-gram", 1.0] + 20
assert max(abs(share["larger", t] - in_files) for t in (0.5, 1.0)) < 25
# %% [markdown]
# The larger model's lines are Python about as often as those of the files, somewhat more often at 0.5 and somewhat less often at 1 (82 and 54 % with another seed). Few of the tables' lines are. Your own model's share at 0.5 says little, since it wrote only a handful of lines: after a line end and some blanks it often goes on with nothing but blanks, which is the loop of lesson 08. All this is no praise yet for the larger model, because the parser checks grammar, not sense, and you have seen above what the model writes: one line again and again.

# %% [markdown]
# **So can a model learn to write Python from the Python on your disk? It learns the form of the language, letter by letter: its words, its brackets, its indentation, and so much of its grammar that its lines are Python about as often as those of real files. What a program is for, it has not learned at this size.**

# %% [markdown]
# ## Break it: a text that is too short
#
# All this took millions of characters. What if there were only 5 000 to learn from? We train a second model of the same size on them, and watch its loss there and on the validation part (10 seconds). **Predict** both curves.

# %%
few_ids = train_ids[:5_000]
torch.manual_seed(1)
memoriser = LanguageModel(config).to(device)
few = training.TextTraining(
    memoriser, training.TextExamples(few_ids, 64), training.TextRecipe(250, peak_rate=1e-2, seed=1)
)
# %%
seen = {"these characters": [], "validation": []}
for report in few.run(250):
    if report.step % 25 == 0:
        seen["these characters"].append(loss_on(few_ids[:3_000], memoriser))
        seen["validation"].append(loss_on(validation_ids[:3_000], memoriser))
# %%
ax = plots.plot_lines(range(25, 251, 25), seen, x_label="step", y_label="nats a character")
plots.show(ax, alt="On its own text the loss falls on; on the validation it falls, then rises.")
# %% tolerance=0.4
own, other = seen["these characters"][-1], seen["validation"]
print(f"on its own text {own:.2f}")
print(f"on the validation {other[-1]:.2f}, at its lowest {min(other):.2f}")
assert other[-1] > own + 1
assert other[-1] > min(other) + 0.3
# %% [markdown]
# On its own text it keeps getting better, and after some time it gets worse on another, which is the overfitting of lesson 07. The model that you trained above hardly had a chance to overfit. In 800 steps it reads 0.8 million of more than six million characters, none of them twice, so each batch is new to it.

# %% [markdown]
# **Exercise 4** (find the bug; 20 minutes, medium). This table of pairs has three defects. With a vocabulary of 98 tokens and a training text of 10 000, a test of 1 000 has a lower loss when it is written ten times in a row. The probabilities of a row add up to more than 1. And on a long text of four tokens in random order, the loss is 2 instead of 1.39. Mend it.

# %% exercise="mend_bigram_loss"
def mend_bigram_loss(train, test, vocab_size):
    text = torch.cat([train, test])
    counts = torch.zeros(vocab_size, vocab_size)
    for left, right in zip(text[:-1].tolist(), text[1:].tolist(), strict=True):
        counts[left, right] += 1
    probabilities = (counts + 1) / counts.sum(1, keepdim=True)
    return -probabilities[test[:-1], test[1:]].log2().mean()
# %%
exercises.mend_bigram_loss.check(mend_bigram_loss)
# %% [markdown]
# ## Predict before you pay
#
# Training costs time and money, so you would like to know what more of it would bring *before* you pay. Suppose that you have counted 5-gram tables only in a 32nd, in a 16th and in an eighth of the training part. What loss will a table have that is counted in all of it, in eight times as much text? The loss depends on which files a small share happens to contain. So we put blocks of 1 000 characters into random order, cut the text into 32, 16 and 8 pieces, count a table in each piece, and take the mean for each size (25 seconds). All are measured on the whole test.

# %%
import random

blocks = train_ids.split(1000)
mixed = torch.cat(random.Random(0).sample(blocks, len(blocks)))


def table_loss(n_pieces, order=5):
    """The mean loss, on the whole test, of the tables of all pieces of the training part."""
    pieces = mixed.tensor_split(n_pieces)
    some = (NGrams(piece, len(characters), order) for piece in pieces)
    losses = [-table.token_log_probs(whole_ids).mean().item() for table in some]
    return sum(losses) / n_pieces
# %% tolerance=0.1
known = [table_loss(n_pieces) for n_pieces in (32, 16, 8)]
print("a 32nd, a 16th, an eighth:", ", ".join(f"{loss:.3f}" for loss in known))
print(f"differences {known[0] - known[1]:.3f} and {known[1] - known[2]:.3f}")
# %% [markdown]
# Each doubling brings less than the one before. Losses often follow a **power law** with a floor, $c + a \cdot n^{-b}$, where $n$ is the amount of text or of training, and $c$ is the floor, which the loss comes near but never reaches. The law has three unknowns, and we have three points, so they determine it. If the law holds, you know the next loss before you pay for it. How to compute it is the next exercise; think of what the law says about one doubling and the next.

# %% [markdown]
# **Exercise 5** (predict; 15 minutes, medium). Here is the same law for the steps of a training. Three trainings of $n$, $2n$ and $4n$ steps ended at these losses. If loss $= c + a \cdot \text{steps}^{-b}$, where will $8n$ steps end? Derive it on paper before you read on.

# %% exercise="predict_loss"
def predict_loss(losses):
    """Three losses -> the fourth."""
    return ...
# %%
exercises.predict_loss.check(predict_loss)
# %% [markdown]
# From $n$ to $2n$ the loss falls by $a n^{-b} (1 - 2^{-b})$, and from $2n$ to $4n$ by $2^{-b}$ times that. So each doubling takes off the same share of what the one before took off, and from three losses you can compute the fourth. From an eighth to the whole there are three doublings, so we apply the law three times.
#
# A forecast that everybody would have made proves nothing when it comes true. So we write down beforehand what three rivals say: that each doubling multiplies the *whole* loss by the same factor, which is the law without a floor; that each gains as much as the last one did; and that nothing more will be gained. (`exercises.mine()` holds the functions that you have passed, and `or_package()` fills in the package's where you have not solved an exercise yet.)

# %% own=true tolerance=0.1
rules = {
    "power law with a floor": exercises.mine().or_package().predict_loss,
    "the same factor": lambda losses: losses[2] ** 2 / losses[1],
    "the same gain": lambda losses: 2 * losses[2] - losses[1],
    "no more gain": lambda losses: losses[2],
}


def forecast(losses, rule, doublings):
    """The losses, followed by those that the rule forecasts after so many more doublings."""
    losses = [*losses]
    for _ in range(doublings):
        losses.append(float(rule(losses[-3:])))
    return losses


paths = {name: forecast(known, rule, doublings=3) for name, rule in rules.items()}
for name, path in paths.items():
    print(f"{name:22} forecasts {path[-1]:.3f}")
# %% [markdown]
# Commit yourself to an interval *before* you look. Ours reaches 0.04 nats to either side of the law's forecast. That leaves room for chance, since the forecast moved by less than 0.01 when we put the blocks into another order. And it is narrow enough to leave out all three rivals:

# %%
by_law, *rivals = [path[-1] for path in paths.values()]
low, high = by_law - 0.04, by_law + 0.04
assert not any(low < rival < high for rival in rivals)
axes = {"x_label": "share of the training part", "y_label": "nats a character", "log_x": True}
ax = plots.plot_lines([2.0**n for n in range(-5, 1)], paths, **axes)
plots.show(ax, alt="Four forecasts from an eighth on: the law with a floor is between its rivals.")
# %% [markdown]
# Then pay for the whole training part:

# %% tolerance=0.1
paid = table_loss(1)
print(f"interval {low:.3f} to {high:.3f}, measured {paid:.3f}")
nearest = min(abs(rival - paid) for rival in rivals)
print(f"the law missed it by {abs(by_law - paid):.3f}, the nearest rival by {nearest:.3f}")
assert low < paid < high
# %% [markdown]
# The measurement could have refuted the law, and it refuted the three rivals instead. Nor is this one lucky table. We have also forecast tables of order 3, 4, 6 and 7, on the test and on the validation text, with each size averaged over several pieces. The law came nearer than each of its rivals in all eight cases. Small shares have to be averaged, though. With a single piece of each size, the law's forecasts for the 5-gram table can differ by more than 0.3 nats.

# %% [markdown]
# Does the law also hold for the *model*, as the number of its steps grows? Before you pay for a long training, test the rules where you already know the answer. The package has a table of small trainings, made by `python -m transformer_lab.training.experiments.sweep`: two widths, four numbers of steps, the mean of three seeds. Each rule sees the losses after 50, 100 and 200 steps. **Predict**: which of them comes nearest to the loss after 400?

# %%
sweep = training.load_table("sweep")
mean = {(row["d_model"], row["steps"]): sum(row["losses"]) / 3 for row in sweep}
for width in (32, 64):
    *three, fourth = [mean[width, n] for n in (50, 100, 200, 400)]
    print(f"d_model {width}:", ", ".join(f"{loss:.2f}" for loss in three), f"then {fourth:.2f}")
    for name, rule in rules.items():
        after = forecast(three, rule, doublings=1)[-1]
        print(f"  {name:22} forecasts {after:.2f}")
        assert after > fourth + 0.04
# %% [markdown]
# All four rules predict too high a loss, because the doubling from 200 to 400 steps took off *more* than the one before it, at both widths and with each of the three seeds. No law of this form allows that, with a floor or without, as long as $b$ is positive.

# %% [markdown]
# So for these models you have no law yet, and you have found that out before you paid. Suppose that you go on all the same, and predict the loss of the smaller model after 800 steps from its losses after 100, 200 and 400. The rule that was right about the tables says 1.76, the same factor 1.99, and the same gain 1.94. Five seeds ended at 1.91 to 1.98. So the same gain would have been right this time; but at 400 steps it had missed, so you had no reason to believe it. **Test a law on points that it was not fitted to, before you pay for the point that you want.** With models and texts many times larger, such curves decide what is built ([Kaplan et al., 2020](https://arxiv.org/abs/2001.08361); [Hoffmann et al., 2022](https://arxiv.org/abs/2203.15556)).

# %% [markdown]
# ## Remember
#
# - A language model is a decoder without cross-attention; its loss compares position $t$ with token $t + 1$.
# - Perplexity is $e^{\text{loss}}$; bits per byte compare models with different tokens, and programs that compress.
# - Judge a model on held-out *files*, and compare it with tables and gzip on the same text; the parser sees grammar, not sense.
# - Too short a text is memorised: the loss falls there, and rises elsewhere.
# - Losses can follow a power law, but not in every range. Test it on points that you know, and write down an interval and the rivals' forecasts before you pay.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. A model has 1.2 nats a character, another one 3.0 nats a token, with 4 bytes in a token. Which is better on ASCII text?</summary>
# The second is better: 3.0 / ln 2 / 4 = 1.08 bits a byte against 1.2 / ln 2 = 1.73.
# </details>
# <details><summary>2. The loss of your language model falls to 0.01 within a minute. What do you look for first?</summary>
# A leak: the loss compares a position with the token that it has read, or the causal mask is missing.
# </details>

# %% [markdown]
# <details><summary>3. Why is the corpus split by file, and not by line?</summary>
# Lines of one file repeat each other's names. If the test had lines of files that were trained on, it would partly measure memory.
# </details>
# <details><summary>4. The differences of three losses, each after twice as many steps, are 0.4 and 0.3. How far below the last loss is the floor?</summary>
# The doublings to come take off 0.3 · (0.75 + 0.75² + …) = 0.9, if the law holds.
# </details>

# %% [markdown]
# **Next:** what has such a model learned, and which of its parts do the work? [Lesson 10](10_inside.ipynb) opens one.

# %% [markdown]
# ## Extra: a wider model, or more steps?
#
# Suppose that you can pay for a fixed amount of arithmetic. Would you spend it on a wider model or on more steps? A training step costs about 6 FLOPs for each parameter and each token that it reads: one multiplication and one addition in the forward pass, and twice as many in the backward pass. (This leaves out the pairs of queries and keys, which lesson 06 counts. Here they add 15 % at width 64 and 29 % at width 32.) The table of small trainings has an answer for its sizes. **Predict**: which is better, a model of width 64, or one of width 32 with twice the steps?

# %%
from dataclasses import replace

shapes = {64: config, 32: replace(config, d_model=32, n_heads=2, d_ff=128)}
size = {w: sum(p.numel() for p in LanguageModel(shape).parameters()) for w, shape in shapes.items()}
for of_the_wide in (50, 100, 200):
    for width, n in ((64, of_the_wide), (32, 2 * of_the_wide)):
        flops = 6 * size[width] * 16 * 64 * n  # 16 windows of 64 characters a step
        print(f"d_model {width}, {n:3} steps: {flops / 1e9:5.1f} GFLOPs, loss {mean[width, n]:.2f}")
    assert mean[32, 2 * of_the_wide] < mean[64, of_the_wide] + 0.01
# %% [markdown]
# Half the width and twice the steps cost little more than half as much (with the pairs counted, 60 %), and end as low or lower all three times. At these budgets, and with the one schedule of the learning rate that was tried, more steps are worth more than more width. That need not stay so: for models of 70 million to 16 billion parameters, [Hoffmann et al. (2022)](https://arxiv.org/abs/2203.15556) found that size and text should grow in equal proportion.
#
# **Go on by yourself** (nobody checks this one). From which number of steps on does the wider model win? Write down a guess and the reason for it. Then pay for the trainings that could prove you wrong. After `from transformer_lab.training.experiments import sweep as small_trainings`, `small_trainings.train(corpus, 64, 800, seed=0)` is one of them, and `small_trainings.nats` measures it.

# %% [markdown]
# ## Extra: does it copy?
#
# A model that has read a file may write down what it remembers. So we look for the longest run of characters, in what a model wrote, that also stands in its training text. But how long is *long*, when real Python repeats itself as well? The control is real code that neither model has learned from: pieces of the test files, each as long as a sample.

# %%
def longest_copy(text, source):
    """The length of the longest piece of the text that stands in the source, or up to 2 less."""
    longest = 0
    for start in range(0, len(text), 3):
        while text[start : start + longest + 1] in source and start + longest < len(text):
            longest += 1
    return longest
# %%
all_seen, few_seen = corpus.text("train"), corpus.text("train")[:5_000]
samples = write(larger, "\n", 300, copies=8, temperature=0.8, seed=3)
by_heart = write(memoriser, "\n", 300, copies=8, temperature=0.8, seed=3)
real = [corpus.text("test")[start : start + 300] for start in range(5_000, 250_000, 30_000)][:8]
# %% tolerance=25
copied = {}
for name, texts, source in (
    *(("larger model", samples, all_seen), ("unseen code", real, all_seen)),
    *(("memoriser", by_heart, few_seen), ("unseen code, in its text", real, few_seen)),
):
    copied[name] = sum(longest_copy(text, source) for text in texts) / len(texts)
    print(f"{name}: on average {copied[name]:.0f} characters")
assert copied["larger model"] < 1.5 * copied["unseen code"]
assert copied["memoriser"] > 1.3 * copied["unseen code, in its text"]
# %% [markdown]
# The larger model's longest runs are about as long as those that unseen files share with the training files. The memoriser copies much longer pieces of its short text than unseen code shares with it. GPT-2 can repeat passages of its training text word for word, and its largest version repeats more of them than the smaller ones ([Carlini et al., 2021](https://arxiv.org/abs/2012.07805)).

# %% [markdown]
# ## Extra: your own text
#
# The command that trained the larger model can also train on a file of your own. It needs at least ten thousand characters, and a few hundred thousand are better. Ctrl-C stops it, and `--resume` continues.
#
# ```
# python -m transformer_lab.training.text --text my_book.txt --out book.safetensors
# ```
