# %% [markdown]
# # 08 · Decoding
#
# A model gives probabilities, and you want a text. In this lesson you choose one in several ways, and find out what becomes of a text when you search for the most probable one.
#
# **You will be able to**
# - reshape and cut a distribution by temperature, top-k and top-p,
# - say when greedy choice misses the most probable sentence, and which errors a beam search can't repair,
# - choose a method of decoding for a task with one right answer, and for a task with many.
#
# **You need** lessons 05 to 07. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), §6.1. **Time:** 60 minutes, the exercises 95 more; the parts called *Extra* can wait.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import torch
import torch.nn.functional as F

from transformer_lab import beam, default_device, exercises, greedy, plots, sample, widgets

if default_device().type != "cpu":  # the CPU is the default; asking for it costs time
    torch.set_default_device(default_device())
torch.set_num_threads(1)  # a model as small as this gains nothing from a second thread
# %% [markdown]
# ## The question
#
# The package comes with a model that has read Python's own source, one character after the other. (Lesson 09 trains one like it.) You give it the beginning of a text, and it gives each character a probability of coming next. To write with it, choose a character, append it to the beginning, and ask again:

# %%
from transformer_lab import complete
from transformer_lab.training import load_language_model

writer, characters, _ = load_language_model("python")
writer = writer.to(default_device())


def continued(ids, n, seed=0, **how):
    """The texts (B, T) with n characters more; `how` says how to choose, as explained below."""
    generator = torch.Generator("cpu").manual_seed(seed)
    written = complete(writer, ids.to(default_device()), n, generator=generator, **how)
    return [characters.decode(row.tolist()) for row in written]

# %% [markdown]
# How should we choose? The obvious answer is to take the most probable character each time, since that is the model's best guess:

# %%
beginning = characters.encode("def read(self, size):\n")[None]
print(continued(beginning, 300, top_k=1)[0])

# %% [markdown]
# It starts like Python, and then it says the same thing again and again. If the best guess leads into a loop, we could instead roll dice, and choose each character as often as its probability says:

# %%
print(continued(beginning, 300)[0])

# %% [markdown]
# Now the text does not get caught in a loop, but it contains words that nobody has ever written. Both texts come from the same model, and neither is what we wanted. **How do you turn probabilities into text, and what does it give you to search for the most probable one?**

# %% [markdown]
# ## By hand: one distribution
#
# We begin with the choice of a single word. *The cat sleeps on the …* Suppose that a model gives five words these probabilities. **Greedy choice** always takes the most probable word, here *mat*. **Sampling** draws a word with these probabilities, so that *mat* comes four times in ten on average.

# %%
import math

words = ["mat", "sofa", "roof", "dog", "moon"]
logits = [math.log(p) for p in (0.40, 0.30, 0.15, 0.10, 0.05)]


def softmax(logits):
    exponentials = [math.exp(logit) for logit in logits]
    return [e / sum(exponentials) for e in exponentials]


def show(name, probabilities):
    print(f"{name:9}", *(f"{word} {p:.2f}  " for word, p in zip(words, probabilities)))
# %% [markdown]
# **Temperature** leads from one to the other, and beyond. All logits are divided by a positive number $T$ before the softmax. **Predict**: does *mat* become more or less probable at $T = 2$? Can two words change their order?

# %%
at = {f"T = {t}": softmax([logit / t for logit in logits]) for t in (0.5, 1, 2)}
for name, probabilities in at.items():
    show(name, probabilities)
bars = plots.plot_bars(at, words)
plots.show(bars, alt="Five words at three temperatures: the hotter, the more even.")
# %% [markdown]
# Below 1 the most probable words gain, and above 1 the least probable ones do. The order stays as it is, because dividing a logit by $T$ raises its exponential to the power $1/T$, and of two positive numbers the larger one stays the larger:
#
# $$\mathrm{softmax}(z / T)_i \;\propto\; e^{z_i / T} = (e^{z_i})^{1/T} \;\propto\; p_i^{1/T}$$
#
# You can check one of them by hand. $T = 0.5$ squares each probability, so *mat* gets $0.16 / (0.16 + 0.09 + 0.0225 + 0.01 + 0.0025) = 0.56$.

# %% [markdown]
# At every temperature *moon* can still be drawn. In a long text there are many draws, so sooner or later an improbable word comes, and the model has to go on from there. Two cuts prevent that. The first, **top-k** ([Fan et al., 2018](https://arxiv.org/abs/1805.04833)), keeps the $k$ most probable words, and divides by their sum, so that the probabilities add up to 1 again:

# %%
def renormalised(probabilities, kept):
    total = sum(p for p, keep in zip(probabilities, kept) if keep)
    return [p / total if keep else 0.0 for p, keep in zip(probabilities, kept)]


def top_k(probabilities, k):  # the words are sorted already
    return renormalised(probabilities, [rank < k for rank in range(5)])


show("k = 2", top_k(softmax(logits), 2))
show("k = 3", top_k(softmax(logits), 3))
# %% [markdown]
# The second, **top-p** or *nucleus* sampling ([Holtzman et al., 2020](https://arxiv.org/abs/1904.09751)), keeps the smallest set of words whose probabilities add up to at least $p$. Going from the most probable word down, a word is kept as long as the words before it have not reached $p$:

# %%
def top_p(probabilities, p):
    before = [sum(probabilities[:rank]) for rank in range(5)]
    return renormalised(probabilities, [b < p for b in before])


show("p = 0.6", top_p(softmax(logits), 0.6))
show("p = 0.8", top_p(softmax(logits), 0.8))
# %% [markdown]
# *mat* and *sofa* have 0.70 together, which is enough for $p = 0.6$ and too little for $p = 0.8$, so there *roof* is kept as well. Why do we need two cuts? **Predict** how many words top-k 3 and top-p 0.79 keep of three distributions: a sharp one (0.96, and four times 0.01), a middling one (that of the cat), and a flat one (five times 0.20).

# %%
shapes = {"sharp": [0.96, 0.01, 0.01, 0.01, 0.01], "middling": softmax(logits), "flat": [0.2] * 5}
for name, probabilities in shapes.items():
    by_k, by_p = top_k(probabilities, 3), top_p(probabilities, 0.79)  # just below 4 · 0.20
    print(f"{name:9} k = 3 keeps {5 - by_k.count(0)}, p = 0.79 keeps {5 - by_p.count(0)}")
# %% [markdown]
# Top-k keeps three words whatever the distribution looks like. Top-p follows its shape, because it keeps one word where the model is sure, and four where all words are equally probable.

# %% [markdown]
# **Exercise 1** (5 minutes, easy). Write the first cut. A dropped token gets the logit −∞, which the softmax turns into probability 0; the other logits stay as they are. Exactly $k$ are kept: of several equal logits, any will do.

# %% exercise="top_k_filter"
def top_k_filter(logits, k):
    """Keep the k largest of each row."""
    return ...
# %%
exercises.top_k_filter.check(top_k_filter)
# %% [markdown]
# **Exercise 2** (15 minutes, medium). Write the second cut, for logits in any order.

# %% exercise="top_p_filter"
def top_p_filter(logits, p):
    """Keep the smallest set whose probabilities reach p."""
    return ...
# %%
exercises.top_p_filter.check(top_p_filter)
# %% [markdown]
# **Exercise 3** (write the test; 20 minutes, medium). Is `cut(logits, p)` a right top-p filter? Your test is tried on right filters of several styles and on wrong ones, and it is scored. Begin with probabilities that you can add up in your head.

# %% exercise="is_top_p"
def is_top_p(cut):
    """Whether this function is a right top-p filter."""
    return ...
# %%
exercises.is_top_p.check(is_top_p)
# %% [markdown]
# ## On a real text
#
# What do temperature and cuts do to the two faults of the opening? To see that, we measure both. A text *repeats* itself where its next 30 characters stood in it before. A word of at least three letters is *strange* if it occurs nowhere in the training part, several million characters. And real files that the model has not read are the control, because real Python repeats itself as well and has new words:

# %%
import re

from transformer_lab.data import tasks

corpus = tasks.python_source()
known_words = set(re.findall("[A-Za-z]{3,}", corpus.text("train")))


def repeats(text, n=30):
    """The share of the places whose next n characters stood in the text before."""
    places = range(1, len(text) - n + 1)
    return sum(text[at : at + n] in text[: at + n - 1] for at in places) / len(places)


def strange(texts):
    """The share of the words that the training part has nowhere; a text's last one may be cut."""
    words_ = [word for text in texts for word in re.findall("[A-Za-z]{3,}", text)[:-1]]
    return sum(word not in known_words for word in words_) / len(words_)

# %% [markdown]
# The model reads the first 100 characters from 16 places in the held-out files, and writes 150 more after each of them (12 seconds). Its context holds 256 characters, so it can see all it has written. **Predict**: which column falls when the temperature rises, and which one rises?

# %%
held_back = corpus.text("test")
places = [held_back.index("\n", at) + 1 for at in range(5_000, 245_000, 15_000)]
real = [held_back[at : at + 250] for at in places]
first_100 = torch.stack([characters.encode(text[:100]) for text in real])
settings_of = {"greedy": {"top_k": 1}}
settings_of |= {f"T = {t}": {"temperature": t} for t in (0.5, 0.8, 1, 1.5)}
settings_of["T = 1, top-p 0.9"] = {"top_p": 0.9}
texts = {"real code": real}
texts |= {name: continued(first_100, 150, **how) for name, how in settings_of.items()}

# %% tolerance=0.1
new = {name: [text[100:] for text in each] for name, each in texts.items()}
repeated = {name: sum(map(repeats, each)) / len(each) for name, each in new.items()}
unheard = {name: strange(each) for name, each in new.items()}
for name in texts:
    print(f"{name:16}  repeated {repeated[name]:.2f}  strange words {unheard[name]:.2f}")
assert repeated["greedy"] > repeated["T = 0.5"] > repeated["T = 1"]
assert unheard["greedy"] < unheard["T = 1"] < unheard["T = 1.5"]
for name in ("T = 0.8", "T = 1, top-p 0.9"):
    assert repeated[name] < repeated["T = 0.5"]
    assert unheard[name] < unheard["T = 1"] - 0.03

# %% [markdown]
# As the temperature rises, the repetitions go and the strange words come. Greedy choice has hardly a strange word, but more than a quarter of what it writes stood there before. At temperature 1.5 nothing is repeated, but about every second word is strange. Even at temperature 1, words are strange several times as often as in real code, and the cut shows why: top-p 0.9 takes away only the improbable characters, and most of the strange words are gone.

# %% [markdown]
# Two settings come near real code in both columns, the nucleus and temperature 0.8. Both keep most of the improbable characters out, the one by a cut and the other by making them rarer. Which of the two comes nearer differs from seed to seed and from place to place, so the table does not choose between them. It does speak against the two ends of the scale, greedy choice and temperature 1.5. We found the same at sixteen other places, and with the package's smaller model.
#
# Here is the beginning of the lesson once more, drawn from the nucleus:

# %%
print(continued(beginning, 300, top_p=0.9)[0])

# %% [markdown]
# It does not run into a loop, and nearly all of its words exist, although it makes no sense. That is the fault of the model, and no way of choosing can mend it. **So the way of choosing decides which of its faults a model shows.**

# %% [markdown]
# ## By hand: the most probable sentence
#
# Perhaps greedy choice loops because it is too short-sighted. It takes the most probable *character* at each step, which need not lead to the most probable *text*. To find out whether a search does better, we need the probability of a whole sentence, which is the product of the probabilities of its words, each given the words before it:
#
# $$P(y_1 \dots y_n \mid x) = \prod_{t=1}^{n} P(y_t \mid y_1 \dots y_{t-1}, x)$$
#
# Programs add logarithms instead, because a product of very many small numbers becomes 0 in floating point. Here is a tree of sentences that is small enough to be written out:
#
# ![A tree of sentences. It will: be 0.55, or rain 0.45. After be: sunny 0.40, windy 0.35, cold 0.25. After rain: the end 0.90, or again 0.10. The greedy path, be sunny, has 0.22 in all; the best, rain, 0.405.](../img/08_tree.svg)

# %%
tree = {
    "It will": {"be": 0.55, "rain": 0.45},
    "be": {"sunny": 0.40, "windy": 0.35, "cold": 0.25},
    "rain": {".": 0.90, "again": 0.10},
} | {word: {".": 1.0} for word in ("sunny", "windy", "cold", "again")}


def sentences(last="It will", so_far=(), probability=1.0):
    """Every sentence of the tree, with its probability."""
    if last == ".":
        return {" ".join(so_far): probability}
    found = {}
    for word, p in tree[last].items():
        found |= sentences(word, (*so_far, word), probability * p)
    return found


every = sentences()
for sentence, probability in every.items():
    print(f"It will {sentence:13} {probability:.4f}")
print("together:            ", round(sum(every.values()), 4))
# %% [markdown]
# The five sentences have probability 1 together, so none is missing. Greedy choice takes *be*, since 0.55 > 0.45, then *sunny*, and ends with 0.22. The best sentence starts with the *less* probable word, *rain*, and has 0.405, nearly twice as much. Greedy choice never goes back to a word that it has passed over.

# %% [markdown]
# **Beam search** keeps several beginnings alive. In each step it extends all of them by every word, and of all these extensions it keeps the most probable ones, as many as the **beam size** says. A sentence that has ended is set aside. Follow the search with a beam of two:

# %%
live, ended = [(("It will",), 1.0)], []
while live:
    extended = [((*text, word), p * q) for text, p in live for word, q in tree[text[-1]].items()]
    best = sorted(extended, key=lambda pair: -pair[1])[:2]
    print(" | ".join(f"{' '.join(text)}  {p:.3f}" for text, p in best))
    ended += [pair for pair in best if pair[0][-1] == "."]
    live = [pair for pair in best if pair[0][-1] != "."]
print("the winner:", *max(ended, key=lambda pair: pair[1])[0])
# %% [markdown]
# *rain* survived the first step as the second best, and won in the next one. Greedy choice is a beam of one.
#
# And sampling? It should find each sentence as often as its probability says. Here are 10 000 draws:

# %%
import random
from collections import Counter


def draw(generator):
    text, last = [], "It will"
    while last != ".":
        (last,) = generator.choices(list(tree[last]), weights=tree[last].values())
        text.append(last)
    return " ".join(text)


generator = random.Random(0)
counts = Counter(draw(generator) for _ in range(10_000))
for sentence, probability in every.items():
    print(f"{sentence:13} drawn {counts[sentence] / 10_000:.3f}, expected {probability:.3f}")
    assert abs(counts[sentence] / 10_000 - probability) < 0.02
# %% [markdown]
# **Exercise 4** (10 minutes, easy). Write the loop of greedy choice, for one sentence. The model is a function: `next_logits(ids)` takes the list of the ids so far, and returns the logits of the next token, of shape (vocab,).

# %% exercise="greedy_decode"
def greedy_decode(next_logits, bos_id, eos_id, max_length):
    """The list of ids, bos first; at most max_length, bos counted; eos ends it."""
    return ...
# %%
exercises.greedy_decode.check(greedy_decode)
# %% [markdown]
# **Exercise 5** (25 minutes, hard). Write the whole search. `next_log_probs(ids)` gives the log probabilities after a list of ids. A *hypothesis* is a beginning with its total. Each step keeps the `beam_size` best extensions of all live hypotheses; one that ends in `eos_id` is set aside. The search ends at `max_length` ids, bos counted, or when none is live. The best total wins.

# %% exercise="beam_search"
def beam_search(next_log_probs, bos_id, eos_id, beam_size, max_length):
    """(ids, total log probability) of the best sentence found."""
    return ...
# %%
exercises.beam_search.check(beam_search)
# %% [markdown]
# ## Look
#
# Here is the same tree to play with. **Predict** before you move anything: which sentences can still be drawn with top-k 1, and which with top-p 0.5? Which sentence comes most often at temperature 0.1, and is it the most probable one?

# %%
names = ["It will", ".", "be", "rain", "sunny", "windy", "cold", "again"]


def next_logits(ids):
    return torch.tensor([tree[names[ids[-1]]].get(name, 0.0) for name in names]).log()


widgets.decoding(next_logits, names, bos_id=0, eos_id=1, depth=3)
# %% [markdown]
# Sampling with top-k 1 *is* greedy choice, so only *be sunny* is left. Top-p 0.5 leaves *be sunny* and *be windy*. For temperature 0.1, raise each probability to the power $1/T = 10$, and divide by the sum:

# %%
def at_low_temperature(last):
    powers = {word: p**10 for word, p in tree[last].items()}
    return {word: power / sum(powers.values()) for word, power in powers.items()}


low = {}
for first, second in (("be", "sunny"), ("rain", ".")):
    low[first] = at_low_temperature("It will")[first] * at_low_temperature(first)[second]
    usual = tree["It will"][first] * tree[first][second]
    print(f"{first} {second:6} at T = 1: {usual:.2f}, at T = 0.1: {low[first]:.2f}")
assert low["be"] > 0.5 > low["rain"]
# %% [markdown]
# A low temperature comes close to greedy choice. It prefers the more probable *word* at each step, and so it prefers *be sunny*, although *rain* is nearly twice as probable as a sentence. So none of these settings looks for the most probable *sentence*; only a search does. (Even a beam promises nothing: an *Extra* below shows one that ends with a worse sentence than greedy choice.)

# %% [markdown]
# ## A translator's loop, line for line
#
# What does a search gain with a trained model? The fairest case for it is a task with one right answer. Here is the translator that comes with the package; it was trained as in lesson 07, and turns English number names into German ones:

# %%
from transformer_lab.data import tasks
from transformer_lab.training import load_checkpoint

model, tokenizer, _ = load_checkpoint("en_de")
model = model.to(default_device())
pad_id, bos_id, eos_id = tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id
settings = {"bos_id": bos_id, "eos_id": eos_id, "max_length": 24}  # an unseen name takes up to 11


def to_ids(texts):
    ids = [[*tokenizer.encode(text), eos_id] for text in texts]
    return tasks.pad(ids, pad_id).to(default_device())


def to_texts(ids):
    return [tokenizer.decode(row) for row in ids.tolist()]


to_texts(greedy(model, to_ids(["twenty-seven"]), **settings))
# %% [markdown]
# In training, the target was shifted to the right, and the model predicted all its tokens at once (lesson 07). *Now* there is no target. The paper says in §3 what happens instead: "At each step the model is auto-regressive, consuming the previously generated symbols as additional input when generating the next."

# %%
from transformer_lab import decoder_mask, padding_mask


def most_probable(logits):
    return logits.argmax(-1)


@torch.no_grad()
def generate(
    src, choose=most_probable, max_length=40, tgt_mask=decoder_mask, memory_mask=padding_mask
):
    memory = model.encode(src, padding_mask(src, pad_id))
    visible = memory_mask(src, pad_id)  # what the decoder may see of the source
    ids = torch.full_like(src[:, :1], bos_id)
    ended = torch.zeros_like(ids[:, 0], dtype=torch.bool)
    while ids.size(1) < max_length and not ended.all():  # early stop
        logits = model.decode(ids, memory, tgt_mask(ids, pad_id), visible)[:, -1]  # last position
        chosen = choose(logits).masked_fill(ended, pad_id)
        ids = torch.cat([ids, chosen[:, None]], dim=1)
        ended |= chosen == eos_id
    return ids
# %% [markdown]
# What `choose` returns is the only difference between greedy choice and sampling. **Early stop** (§6.1: "terminate early when possible") ends the loop when the longest sentence of the batch has ended; the shorter ones are filled up with padding. We translate 300 numbers that the model has never seen:

# %% tolerance=0.03
held_out = tasks.number_names().test
pairs = held_out[:300]
unseen, wanted = to_ids([source for source, _ in pairs]), [target for _, target in pairs]


def share_right(ids):
    return sum(text == right for text, right in zip(to_texts(ids), wanted)) / len(wanted)


written = generate(unseen, max_length=120)
whole = share_right(written)
print(f"right to the letter: {whole:.3f}")
print("steps, of at most 119:", written.size(1) - 1)
print("steps for “one” alone:", generate(to_ids(["one"]), max_length=120).size(1) - 1)
assert whole > 0.97
# %% [markdown]
# The package's `greedy`, `sample` and `beam` are this loop with a cache (an *Extra* below) and a choice of their own. Where only one token is left to choose from, all of them must write the same sentences:

# %%
expected = to_texts(written)
others = {
    "greedy": greedy(model, unseen, **settings),
    "sampling, top-k 1": sample(model, unseen, **settings, top_k=1),
    "sampling, top-p 0.01": sample(model, unseen, **settings, top_p=0.01),
    "beam of one": beam(model, unseen, **settings, beam_size=1),
}
for name, ids in others.items():
    print(f"our loop = {name:20} {to_texts(ids) == expected}")
# %% [markdown]
# So we may use the package's functions from here on. Before we search, one more look at sampling, because with one right answer you can compute beforehand how often it is right. Sampling writes a sentence as often as the sentence is probable, so the share that it gets right must be about the mean probability of the right sentences. **Predict** what top-p 0.9 makes of that.

# %%
@torch.no_grad()
def log_prob(src, ids):
    log_probs = model(src, ids[:, :-1]).log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    return (log_probs * (ids[:, 1:] != pad_id)).sum(1)


def search(src, size=4, alpha=0.0):
    return beam(model, src, **settings, beam_size=size, length_penalty=alpha)
# %% tolerance=0.1
ids = to_ids(wanted)
right_ids = torch.cat([torch.full_like(ids[:, :1], bos_id), ids], dim=1)
forecast = log_prob(unseen, right_ids).exp().mean().item()
generator = torch.Generator("cpu").manual_seed(0)
plain = share_right(sample(model, unseen, **settings, generator=generator))
nucleus = share_right(sample(model, unseen, **settings, top_p=0.9, generator=generator))
print(f"right: sampled {plain:.2f}, expected {forecast:.2f}")
print(f"       from the nucleus {nucleus:.2f}, greedy {whole:.2f}")
assert abs(plain - forecast) < 0.1
assert nucleus > max(plain + 0.1, whole - 0.05)
# %% [markdown]
# Plain sampling spoils three in ten of the translations that greedy choice gets right. In each step there is a small chance of drawing one of the many improbable tokens, and one such token spoils the sentence. A right token has a probability of about 0.95, a name has about 7 tokens, and $0.95^7 = 0.70$. The nucleus leaves the improbable tokens out. **Where one answer is right, don't roll dice, or cut first.**

# %% [markdown]
# ## What does the search give a translator?
#
# Now the search. `log_prob` above adds up the log probabilities of a sentence, token by token. **Predict**: on how many of the 300 names does a beam of four find a more probable sentence than greedy choice?

# %% tolerance=0.02
by_search = search(unseen)
agree = sum(a == b for a, b in zip(expected, to_texts(by_search)))
print(f"greedy and beam agree on {agree} of {len(expected)}")
sure = log_prob(unseen, by_search).exp().mean().item()
print(f"mean probability of the sentence: {sure:.2f}")
assert agree >= 0.98 * len(expected)
# %% [markdown]
# Where the model is sure, the search finds nothing better. So we need inputs on which it is unsure. If you type in a hurry, you drop a character, double one, or exchange two neighbours. The model has never seen such an error. We take 300 different ones of each kind, in names that it was not trained on:

# %%
from itertools import chain

short_names = [pair for pair in held_out if len(pair[0]) < 32]  # up to 31 characters
damages = {
    "dropped": lambda name, at: name[:at] + name[at + 1 :],
    "doubled": lambda name, at: name[: at + 1] + name[at:],
    "exchanged": lambda name, at: name[:at] + name[at + 1] + name[at] + name[at + 2 :],
}


def misspelled(damage, seed=0):
    """300 different damaged names, each with the right translation of the whole name."""
    places = ((pair, at) for pair in short_names for at in range(len(pair[0]) - 1))
    damaged = {damage(name, at): (name, right) for (name, right), at in places}
    real = [(text, right) for text, (name, right) in damaged.items() if text != name]
    return random.Random(seed).sample(real, 300)

# %%
errors = {name: misspelled(damage) for name, damage in damages.items()}
typos, truths = zip(*chain(*errors.values()))
src = to_ids(typos)
by_greedy, by_beam = greedy(model, src, **settings), search(src)
answers = to_texts(by_greedy), to_texts(by_beam)
gain = log_prob(src, by_beam) - log_prob(src, by_greedy)

# %% tolerance=3
more, less = (gain > 0.01).sum().item(), (gain < -0.01).sum().item()
unsure = log_prob(src, by_beam).exp().mean().item()
print(f"mean probability of the sentence: {unsure:.2f}")
print(f"of {len(typos)}: the beam's sentence is more probable {more} times, less {less} times")
right = [[text == truth for text, truth in zip(each, truths)] for each in answers]
lost, gained = (right[i].count(True) - sum(map(all, zip(*right))) for i in (0, 1))
print(f"right: greedy {sum(right[0])}, beam {sum(right[1])}", end="; ")
print(f"by the beam alone {gained}, by greedy alone {lost}")
assert more > 10 * max(less, 2)
assert gained + lost < more / 4

# %% [markdown]
# The search does what it was made for: where the two differ, the beam's sentence is almost always the more probable one. But it is not more often the *right* one. Why does the better search not help? There are two kinds of error. In a **search error**, the right sentence is more probable than the one that was found; in a **model error**, it is less probable. Count both among the beam's wrong answers:

# %% tolerance=3
ids = to_ids(truths)
of_truth = log_prob(src, torch.cat([torch.full_like(ids[:, :1], bos_id), ids], dim=1))
wrong = torch.tensor([not ok for ok in right[1]])
missed = (of_truth > log_prob(src, by_beam) + 0.01) & wrong
search_errors, model_errors = missed.sum().item(), (wrong & ~missed).sum().item()
print(f"wrong: {search_errors} search errors, {model_errors} model errors")
assert model_errors > 20 * search_errors

# %% [markdown]
# All of them, or nearly all, are model errors: the model itself gives the wrong sentence the higher probability. **A better search mends search errors, never model errors.** Here is the tree of one search in which greedy choice is right and the beam is not. **Predict**, with the view, in which step the two separate, and which of the two sentences the model considers more probable.

# %%
from transformer_lab.analysis import token_names

differ = [i for i, (one, other) in enumerate(zip(*answers)) if one != other]
shown = min(differ, key=lambda i: (not right[0][i], len(truths[i])))  # greedy is right, and short
typo, truth = typos[shown], truths[shown]
opening = to_ids([typo])
read = model.encode(opening, padding_mask(opening, pad_id)).detach()  # once for all beginnings


@torch.no_grad()
def next_logits(ids):
    ids = torch.tensor([ids])
    return model.decode(ids, read, decoder_mask(ids, pad_id))[0, -1]


token_list = token_names(tokenizer, range(len(tokenizer)))
ends = {"bos_id": bos_id, "eos_id": eos_id}
widgets.decoding(next_logits, token_list, **ends, depth=5, branching=4)

# %% tolerance=0.02
print(f"typed: {typo}, meant: {truth}")
for size in (1, 2, 3, 4):
    ids = search(opening, size)
    print(f"beam of {size}: ln P = {log_prob(opening, ids).item():.2f}  {to_texts(ids)[0]}")

# %% [markdown]
# Greedy choice gives *vierhundertacht*, which is right although a letter is missing in the question. A beam of two is enough to find *vierhundert*, which is shorter, wrong, and to the model the more probable of the two. A wider beam could bring the right sentence back only by accident, since the search has done its work, and it is the model that is mistaken.

# %% [markdown]
# ## Which sentences does a search favour?
#
# If more probable does not mean more often right, what *do* the more probable sentences have in common? The last one was shorter. Let us take the uncertainty to the extreme, give the model gibberish, and let the beam grow. **Predict**: do the sentences get longer, shorter, or neither? And those for real names? Lengths are counted in tokens, the end included; ± is the standard error of a mean.

# %%
letters = random.Random(0)
gibberish = to_ids(["".join(letters.choices("bcdfghjklmnpqrstvwxz", k=30)) for _ in range(120)])


def lengths_of(ids):
    return (ids[:, 1:] != pad_id).sum(1).float()


def mean_and_spread(values):
    return f"{values.mean().item():5.2f} ± {values.std().item() / len(values) ** 0.5:.2f}"
# %% tolerance=0.1
answers = {size: search(gibberish, size) for size in (1, 4, 16)}
by_size = {size: lengths_of(ids) for size, ids in answers.items()}
of_names = {size: lengths_of(search(unseen[:60], size)) for size in (1, 4, 16)}
for size, lengths in by_size.items():
    names, shorter = mean_and_spread(of_names[size]), mean_and_spread(by_size[1] - lengths)
    print(f"beam {size:2}: gibberish {mean_and_spread(lengths)}   names {names}", end="   ")
    print(f"gibberish is shorter than at beam 1 by {shorter}")
assert by_size[1].mean() - 0.2 > by_size[4].mean() > by_size[16].mean()
assert (of_names[1] - of_names[16]).abs().mean() < 0.1
# %% [markdown]
# Where the model is sure, the beam changes nothing. Where it is not, a better search finds shorter sentences. One reason is that each further token multiplies $P(Y)$ by a number below 1. The shortest sentence of all is silence, the end at once. How probable is it? Label smoothing (lesson 07) teaches 0.9 for the right token, and shares 0.1 among all tokens, the end included. Here is what that asks for, and what the model gives, with the dropout of its training and without it:

# %% tolerance=0.15
empty = torch.tensor([[bos_id, eos_id]]).expand(len(unseen), 2)


def prices(dropout):
    """ln P of the end at once, and of a token of the right names, with dropout or without."""
    torch.manual_seed(0)
    model.train(dropout)
    at_once, whole = log_prob(unseen, empty), log_prob(unseen, by_search)
    model.eval()
    return at_once.mean().item(), (whole / lengths_of(by_search)).mean().item()


taught = math.log(0.1 / len(tokenizer)), math.log(0.9 + 0.1 / len(tokenizer))
given = {"taught": taught, "with dropout": prices(True), "without": prices(False)}
for name, (end, token) in given.items():
    print(f"{name:12} the end at once: ln P = {end:.1f}, a right token: {token:.2f}", end="; ")
    print(f"equal at {end / token:.0f} tokens")
assert given["with dropout"][1] < given["without"][1] - 0.02

# %% [markdown]
# With the dropout of its training, the model comes near what it was taught. Without dropout, as it is used, the model is surer: a right token costs only 0.05 in $\ln P$, where label smoothing asks for 0.11. The last number of each line is the length at which a sentence of right tokens becomes less probable than silence. At the model's own cost of a little more than 0.05 for each token, this length is 189 tokens, and the names are far shorter. But what if the model is unsure, as it is on gibberish? Then each token costs more, and silence may cost less. We compare the two:

# %% tolerance=3
sources = {"names": (unseen, by_search), "gibberish": (gibberish, answers[1])}
gap = {}
for name, (source, ids) in sources.items():
    lead = log_prob(source, ids) - log_prob(source, empty[: len(source)])
    gap[name], below = lead.mean().item(), (lead < 0).sum().item()
    a_token = (log_prob(source, ids) / lengths_of(ids)).mean().item()
    print(f"{name:9} ln P of a token {a_token:.2f}; of the sentence {gap[name]:.1f}", end=" ")
    print(f"above that of silence, below it in {below} of {len(source)}")
assert gap["gibberish"] < gap["names"] / 2

# %% [markdown]
# On gibberish the distance shrinks from both sides. The sentence loses about 3: its ln P is −3.3, and that of a name is −0.35. And silence gains about 2.5: it has −7.3 here, and −9.8 for names. Still, silence wins for very few of these texts.
#
# With translators of real sentences it wins often. For more than half of a test set, a Transformer base gives its highest probability to the empty translation ([Stahlberg & Byrne, 2019](https://arxiv.org/abs/1908.10090)); label smoothing is one of the reasons ([Shi et al., 2020](https://arxiv.org/abs/2012.13454)). The paper's remedy, a length penalty, is an *Extra* below.

# %% [markdown]
# ## And a writer?
#
# Back to the text that loops. A beam for the language model is a short loop, since its texts have no end. (It keeps what it has read in a cache, which an *Extra* below explains.) Does the more thorough search get out of the loop? We compare four continuations of each of eight beginnings: the real one, and those by sampling, by greedy choice and by a beam of four (10 seconds). **Predict**: which of the four has the most probable characters, and which repeats itself most?

# %%
from transformer_lab.nn.kv_cache import KVCache

vocab = len(characters)


@torch.no_grad()
def by_beam_of(size, ids, n):
    """The most probable of the texts with n characters more that a beam finds."""
    ids, cache = ids[None].to(default_device()), KVCache()
    logits, totals = writer(ids, cache), torch.zeros(1, device=default_device())
    for _ in range(n):
        extended = (totals[:, None] + logits[:, -1].log_softmax(-1)).flatten()
        totals, picked = extended.topk(size)
        rows = picked // vocab  # which of the beginnings each of the new ones goes on from
        ids = torch.cat([ids[rows], picked[:, None] % vocab], dim=1)
        cache.select(rows)
        logits = writer(ids[:, -1:], cache)
    return characters.decode(ids[0].tolist())


@torch.no_grad()
def log_probs_of_new(texts):
    """ln P of each character from the 101st on, for each text: (texts, 150)."""
    ids = torch.stack([characters.encode(text) for text in texts]).to(default_device())
    log_probs = writer(ids)[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    return log_probs[:, 99:]

# %%
eight = {name: texts[name][:8] for name in ("real code", "T = 1", "greedy")}
eight["a beam of 4"] = [by_beam_of(4, ids, 150) for ids in first_100[:8]]
# %% tolerance=0.1
by_character = {name: log_probs_of_new(each) for name, each in eight.items()}
total = {name: log_probs.sum(1) for name, log_probs in by_character.items()}
again = {name: sum(repeats(text[100:]) for text in each) / 8 for name, each in eight.items()}
for name in eight:
    print(f"{name:12} ln P of a character {total[name].mean() / 150:.2f}", end=", ")
    print(f"repeated {again[name]:.2f}")
print("the beam's text is more probable than greedy's in", end=" ")
print((total["a beam of 4"] > total["greedy"] + 0.01).sum().item(), "of 8")
assert total["a beam of 4"].mean() > total["greedy"].mean() > total["real code"].mean() + 30

# %% [markdown]
# The search is again better at its own task, since its texts are mostly more probable than those of greedy choice. But it repeats itself no less. And look at the real code: its characters are about as improbable as those of sampling, and far less probable than those of either search. What people write is far from the most probable text. You can see this character by character. Here are the real code and the beam's text behind the first beginning:

# %%
figure, axes = plots.figure(width=9, height=3.4, columns=2)
for ax, name in zip(axes, ("real code", "a beam of 4")):
    curve = {name: by_character[name][0].exp().tolist()}
    plots.plot_lines(range(1, 151), curve, ax, x_label="character", log_y=True)
    ax.set(title=name, ylim=(1e-5, 1.5))
axes[0].set(ylabel="probability")
alt = "Probability of 150 characters: real code often falls below 0.1, the beam's text hardly ever."
plots.show(figure, alt)
# %% tolerance=0.05
unexpected = {name: (each.exp() < 0.1).float().mean().item() for name, each in by_character.items()}
print("less probable than 0.1:", ", ".join(f"{name} {n:.2f}" for name, n in unexpected.items()))
assert min(unexpected["real code"], unexpected["T = 1"]) > 0.08
assert max(unexpected["greedy"], unexpected["a beam of 4"]) < 0.03
# %% [markdown]
# Real code is easy to foresee for a while, and then comes a character that the model did not expect. Sampling has such moments about as often as real code. The search has hardly any, because each of them would cost it dearly. Here is what the beam made of the first beginning:

# %%
print(eight["a beam of 4"][0])

# %% [markdown]
# A much larger model does the same. With GPT-2 Large, which has more than 700 times as many parameters, [Holtzman et al. (2020)](https://arxiv.org/abs/1904.09751) found that beam search loops, that a phrase becomes more probable each time it is repeated, and that human text is much less probable than what a beam finds. So the loop of the opening is no accident of a short-sighted choice. A search that looks further finds texts that the model rates higher still, and they repeat themselves no less.

# %% [markdown]
# **So how do you turn probabilities into text?** You choose one token after the other, and how you should choose depends on how many answers are right. A search for the most probable text gives you what the *model* rates highest. Where it is sure of the one right answer, greedy choice has found that already. Where it is unsure, the search prefers what is short, and is right no more often. And where many continuations are good, it prefers what has been said before. So take the most probable tokens for a task with one answer. When you want a text, draw, and keep improbable tokens out, by the nucleus or by a temperature a little below 1.

# %% [markdown]
# ## Remember
#
# - Temperature reshapes a distribution; top-k and top-p cut it, and top-p follows its shape.
# - Greedy choice is a beam of one. A better search mends search errors, never model errors.
# - Where a translator is unsure, a better search tends to find shorter sentences; for a writer it finds texts that repeat themselves.
# - With one right answer, take the most probable tokens; with many, sample, and keep improbable tokens out.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. Temperature 0.5 and then top-p 0.8: does that keep more words than top-p 0.8 alone, or fewer?</summary>
# It keeps fewer, or as many, because the distribution is sharper, so that fewer words reach 0.8 together.
# </details>
# <details><summary>2. A beam of 4 over 1000 words: how many extensions are compared in a step?</summary>
# At most 4000 are. In the first step there is one beginning, which gives 1000; and each hypothesis that ended in the step before leaves one beginning fewer.
# </details>

# %% [markdown]
# <details><summary>3. The beam's sentence is more probable than greedy's, and wrong. Will a wider beam find the right one?</summary>
# If the right one is less probable than that, it is an error of the model, and a wider beam finds it by accident at best.
# </details>
# <details><summary>4. A chat program repeats a paragraph word for word. Would you give it a wider beam?</summary>
# No. A loop is very probable to the model, so a better search holds on to it. Sampling can leave it.
# </details>

# %% [markdown]
# **Next:** half of this model is enough to write text. [Lesson 09](09_language_model.ipynb) trains a language model on the Python that is on your own disk.
#
# **What came after 2017**, and what you can read now: pre-training ([BERT](https://arxiv.org/abs/1810.04805), [GPT-3](https://arxiv.org/abs/2005.14165)), how the loss falls with size ([Kaplan et al., 2020](https://arxiv.org/abs/2001.08361)), rotary positions ([RoFormer](https://arxiv.org/abs/2104.09864)), attention that never stores its weights ([FlashAttention](https://arxiv.org/abs/2205.14135)), decoding with two models ([speculative decoding](https://arxiv.org/abs/2211.17192)), images as sequences of patches ([ViT](https://arxiv.org/abs/2010.11929)).

# %% [markdown]
# ## Extra: what a KV cache saves
#
# Our loop runs the decoder over the whole beginning for each new token. But the keys and values of earlier positions don't change, because these positions see no later one. A **KV cache** keeps them, so that each step computes those of the new position alone:
#
# ![Keys and values computed in five steps. Without a cache step t computes t of them, 15 in all. With a cache each step computes one and keeps the others, 5 in all.](../img/08_cache.svg)

# %% [markdown]
# Predict the work in **FLOPs**, multiplications and additions. A vector times an $n \times m$ matrix takes $2nm$. In each layer, a position costs six $d \times d$ projections (four of self-attention, two of cross-attention) and the two matrices of the feed-forward network. A pair of query and key costs $2d$ for the score and $2d$ for the sum. A source token costs a key and a value, once with a cache and in every step without. The logits come last.

# %%
config = model.config


def predict(src_length, n):
    """FLOPs of the decoder for n new tokens, without and with a cache."""
    d, layers = config.d_model, config.n_layers
    position = layers * (6 * 2 * d * d + 2 * 2 * d * config.d_ff) + 2 * d * config.vocab_size
    memory = layers * 2 * 2 * d * d * src_length
    pair = layers * 2 * 2 * d
    without = [t * position + memory + pair * (t * t + t * src_length) for t in range(1, n + 1)]
    cached = [position + pair * (t + src_length) for t in range(1, n + 1)]
    return sum(without), memory + sum(cached)


one = to_ids(["three hundred and twelve"])
without, cached = predict(one.size(1), 100)
print(f"FLOPs of 100 tokens: {without:,} without a cache, {cached:,} with one")
print(f"saved: a factor of {without / cached:.0f}")
# %% [markdown]
# That was the prediction. Torch can count what is really done. Here are both loops; they write $n$ tokens, whatever these are, and 20 are enough to compare. (`SDPBackend.MATH` makes attention plain products of matrices, all of which the counter sees.)

# %%
from transformer_lab import CachedDecoder


def all_anew(model, memory, visible, n):
    ids = torch.full_like(memory[:, :1, 0], bos_id, dtype=torch.long)
    for _ in range(n):
        logits = model.decode(ids, memory, decoder_mask(ids, pad_id), visible)[:, -1:]
        ids = torch.cat([ids, logits[..., 3:].argmax(-1) + 3], dim=1)  # no padding, no end
    return ids, logits


def with_cache(model, memory, visible, n):
    ids = torch.full_like(memory[:, :1, 0], bos_id, dtype=torch.long)
    decoder = CachedDecoder(model, memory, visible)
    for _ in range(n):
        logits = decoder(ids[:, -1:])  # the newest token alone
        ids = torch.cat([ids, logits[..., 3:].argmax(-1) + 3], dim=1)
    return ids, logits
# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

with torch.no_grad():
    visible = padding_mask(one, pad_id)
    memory = model.encode(one, visible)
    for loop, predicted in zip((all_anew, with_cache), predict(one.size(1), 20)):
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            loop(model, memory, visible, 20)
        counted = counter.get_total_flops()
        print(f"{loop.__name__:10} counted {counted:,}, as predicted: {counted == predicted}")
# %% [markdown]
# The prediction is right to the last FLOP. Is time saved in proportion? **Predict**, then measure with 8 sentences, on the processor. As a control, measure a model with hardly any parameters as well: if the arithmetic takes the time, that one must be faster in proportion.

# %%
from dataclasses import replace
from time import process_time

from transformer_lab import Transformer

tiny = Transformer(replace(config, d_model=16, n_heads=config.n_heads, d_ff=16)).cpu().eval()
mates = to_ids([source for source, _ in pairs[:8]]).cpu()


@torch.no_grad()
def timed(loop, model, n=100):
    """The shorter of two times in seconds, and what the loop returns."""
    with torch.device("cpu"):
        visible = padding_mask(mates, pad_id)
        memory, seconds = model.encode(mates, visible), []
        for _ in range(2):
            start = process_time()
            result = loop(model, memory, visible, n)
            seconds.append(process_time() - start)
    return min(seconds), result
# %% tolerance=1.5
cpu = model.cpu()
slow, (ids, logits) = timed(all_anew, cpu)
fast, (same_ids, same_logits) = timed(with_cache, cpu)
of_tiny, _ = timed(with_cache, tiny)
model = model.to(default_device())
fewer = sum(p.numel() for p in cpu.parameters()) / sum(p.numel() for p in tiny.parameters())
print(f"with the cache {slow / fast:.1f} times as fast")
print(f"a model of {fewer:.0f} times fewer parameters is {fast / of_tiny:.1f} times as fast")
assert 1.5 < slow / fast < without / cached
assert fast / of_tiny < fewer / 5
# %% [markdown]
# The cache makes the loop faster, but by far less than the FLOPs promise. The control says where the time does *not* go, because a model with 46 times fewer parameters is nowhere near 46 times as fast. So a large part of a step's time doesn't depend on the size of the model; it probably goes into the many calls, of Python and of torch's functions, that each step makes. Is it still the same computation?

# %%
print("the same tokens:", torch.equal(ids, same_ids))
print("last logits: max difference < 1e-3:", (logits - same_logits).abs().max().item() < 1e-3)
# %% [markdown]
# The price is memory: for each layer and position a key and a value of $d_{model}$ numbers, and the same once for each source token. **Predict** the bytes for one sentence after 100 tokens, with 4 bytes a number; then look into the cache:

# %%
with torch.no_grad():
    visible = padding_mask(one, pad_id)
    decoder = CachedDecoder(model, model.encode(one, visible), visible)
    decoder(torch.full((1, 100), bos_id))
    stored = sum(tensor.nbytes for tensor in decoder.cache.tensors.values())
tokens = 100 + one.size(1)
predicted = 4 * 2 * config.n_layers * config.d_model * tokens
print(f"predicted {predicted:,} bytes, stored {stored:,}")
# %% [markdown]
# The same for a language model, which has no source. **Predict**, then move: what does twice the length cost in bytes? What do 12 query heads save if they share *one* key-value head (multi-query attention, [Shazeer, 2019](https://arxiv.org/abs/1911.02150)), or a few ([Ainslie et al., 2023](https://arxiv.org/abs/2305.13245))?

# %%
widgets.cache_cost("GPT-2 small", length=1024)
# %%
from transformer_lab.analysis import PRESETS, cache_bytes

gpt2 = PRESETS["GPT-2 small"]
for length in (1024, 2048):
    sizes = {kv: cache_bytes(replace(gpt2, n_kv_heads=kv), length) / 1e6 for kv in (12, 4, 1)}
    said = ", ".join(f"{kv:2} → {size:4.1f} MB" for kv, size in sizes.items())
    print(f"{length} tokens; key-value heads: {said}")
# %% [markdown]
# Bytes grow in proportion to the length and to the number of key-value heads. (These are numbers of two bytes.) A query is used once, by its own position, so there is no reason to keep it.

# %% [markdown]
# **Exercise 6** (10 minutes, medium). Write one step of attention with a cache, which holds keys and values as one tensor of shape $(2, B, h, S, d_{head})$.

# %% exercise="cached_attention"
def cached_attention(query, key, value, cache):
    """(output, cache): the cache grows by one position, then attention over all of it."""
    return ...
# %%
exercises.cached_attention.check(cached_attention)
# %% [markdown]
# **Exercise 7** (predict; 10 minutes, medium). A decoder-only model reads a prompt, and writes `new` tokens behind it. How many positions does it compute in all, with a cache and without? Is the last token ever read?

# %% exercise="positions_computed"
def positions_computed(prompt, new, cached):
    """The number of positions that are computed to write new tokens behind a prompt."""
    return ...
# %%
exercises.positions_computed.check(positions_computed)
# %% [markdown]
# ## Extra: the length penalty
#
# §6.1 of the paper: "We used beam search with a beam size of 4 and length penalty α = 0.6." The **length penalty** is that of [Wu et al., 2016](https://arxiv.org/abs/1609.08144), equation 14, without its second term, which rewards attention to every source token. Sentences are compared by
#
# $$s(Y) = \frac{\log P(Y \mid X)}{lp(Y)}, \qquad lp(Y) = \frac{(5 + |Y|)^{\alpha}}{(5 + 1)^{\alpha}}$$
#
# A log probability is negative, so dividing it by a larger number makes it *better*. Which wins, at which $\alpha$: a sentence of 3 tokens with $\ln P = -2.0$, or one of 8 with $-2.6$?

# %%
two = {"3 tokens, ln P = -2.0": (3, -2.0), "8 tokens, ln P = -2.6": (8, -2.6)}
for alpha in (0.0, 0.6, 1.0):
    scores = {name: total / ((5 + n) / 6) ** alpha for name, (n, total) in two.items()}
    said = "   ".join(f"{name}: {score:.2f}" for name, score in scores.items())
    print(f"α = {alpha}   {said}   best: {max(scores, key=scores.get)[:8]}")
# %% [markdown]
# With $\alpha = 0$ the more probable sentence wins. With $\alpha = 1$, long sentences are compared nearly by their mean per token, since $5 + |Y|$ is close to $|Y|$, and the 6 is the same for all. And on the gibberish, with a beam of four?

# %% tolerance=0.1
by_alpha = {alpha: search(gibberish, 4, alpha) for alpha in (0.0, 0.6, 1.0)}
lengths, worth = [], []
for alpha, ids in by_alpha.items():
    lengths.append(lengths_of(ids).mean().item())
    worth.append(log_prob(gibberish, ids).mean().item())
    print(f"α = {alpha}: length {mean_and_spread(lengths_of(ids))}, mean ln P {worth[-1]:.2f}")
assert lengths == sorted(lengths)
assert worth == sorted(worth, reverse=True)

# %% [markdown]
# The penalty trades probability for length. It doesn't repair the search; it changes what is searched for.

# %% [markdown]
# ## Extra: how wide must a beam be?
#
# **Predict**: can a wider beam find a *worse* sentence than a narrower one? We make 400 random trees with four symbols and five steps, and compare each beam with the best of all $4^5$ sentences. (± is the standard error of a share $q$ of $n$, which is $\sqrt{q (1 - q) / n}$.)

# %%
def random_tree(seed):
    """A table for each step: the log probabilities (beginnings, 4) of the next symbol."""
    g = torch.Generator("cpu").manual_seed(seed)
    return [torch.randn(4**t, 4, generator=g, device="cpu").log_softmax(-1) for t in range(5)]


def tree_search(steps, beam_size):
    """After each step: the beginnings in the beam, numbered in base 4, and their totals."""
    beginnings = torch.zeros(1, dtype=torch.long, device="cpu")
    totals = torch.zeros(1, device="cpu")
    for log_probs in steps:
        extended = (totals[:, None] + log_probs[beginnings]).flatten()
        totals, picked = extended.topk(min(beam_size, len(extended)))
        beginnings = 4 * beginnings[picked // 4] + picked % 4
        yield beginnings, totals


def best_total(steps, beam_size):
    *_, (_, totals) = tree_search(steps, beam_size)
    return totals.max().item()


trees = [random_tree(seed) for seed in range(400)]
of_all, of_greedy = ([best_total(t, size) for t in trees] for size in (1024, 1))
found, worse = {}, {}
# %% tolerance=0.02
for size in (1, 2, 4, 8, 256):
    totals = of_greedy if size == 1 else [best_total(t, size) for t in trees]
    found[size] = sum(a > b - 1e-5 for a, b in zip(totals, of_all)) / 400
    worse[size] = sum(a < b - 1e-5 for a, b in zip(totals, of_greedy))
    spread = (found[size] * (1 - found[size]) / 400) ** 0.5
    print(f"beam {size:3}: finds the best in {found[size]:.2f} ± {spread:.2f}", end=", ")
    print(f"ends below greedy {worse[size]} times")
assert found[1] < 0.6 < found[2] < found[4] - 0.05
assert found[256] == 1
# %% [markdown]
# Greedy choice finds the best sentence in about half of the trees, and a beam of four in nearly all of them. Only a beam of $4^4 = 256$ is sure to find it, since it never has to drop a beginning. A narrower one promises nothing. Now and then, a beam of two even ends *below* greedy choice, because two extensions of the other beginning have pushed greedy's path out. Here is the first tree where it does, step by step:

# %% tolerance=0.001
for seed in range(10_000):
    steps = random_tree(seed)
    if best_total(steps, 2) < best_total(steps, 1) - 1e-5:
        break


def spelt(beginnings, totals, length):
    """Each beginning of the beam in letters, with its total."""
    digits = [[b // 4**k % 4 for k in reversed(range(length))] for b in beginnings.tolist()]
    texts = ["".join("abcd"[digit] for digit in each) for each in digits]
    return "  ".join(f"{text:5} {total:.3f}" for text, total in zip(texts, totals.tolist()))


print(f"tree {seed}, the best of all: ln P {best_total(steps, 1024):.3f}")
for length, (one, two) in enumerate(zip(tree_search(steps, 1), tree_search(steps, 2)), start=1):
    print("greedy", spelt(*one, length), "   beam of two", spelt(*two, length))
assert best_total(steps, 2) < best_total(steps, 1)
# %% [markdown]
# As long as greedy's beginning is in the beam, nothing can rank above its best extension except extensions of the *other* beginning. As soon as two of them do (here in step 3), greedy's beginning has left the beam, and what would have followed is never seen.

# %% [markdown]
# ## Extra: the same in the package
#
# The cuts that you made by hand are the package's filters, which give a dropped token the logit $-\infty$:

# %%
import transformer_lab

probabilities = at["T = 1"]
five = torch.tensor(probabilities).log()
for ours, theirs in (
    (top_k(probabilities, 2), transformer_lab.top_k_filter(five, 2)),
    (top_p(probabilities, 0.8), transformer_lab.top_p_filter(five, 0.8)),
):
    difference = (theirs.softmax(-1) - torch.tensor(ours)).abs().max().item()
    print("max difference < 1e-6:", difference < 1e-6)

# %% [markdown]
# Two things must *not* matter for a translator: which other sentences are in the batch, and how much padding they bring. We translate 20 sentences one by one, and all together; then we add seven padding tokens to the typing error above:

# %%
twenty = to_ids([source for source, _ in pairs[:20]])
together = to_texts(greedy(model, twenty, **settings))
alone = [to_texts(greedy(model, to_ids([source]), **settings))[0] for source, _ in pairs[:20]]
print("the same sentences:", together == alone)

one = to_ids([typo])
padded = F.pad(one, (0, 7), value=pad_id)
answer = torch.tensor([[bos_id, *tokenizer.encode(truth)]])
difference = (model(padded, answer) - model(one, answer)).abs().max().item()
print("logits with 7 more padding tokens: max difference < 1e-3:", difference < 1e-3)
# %% [markdown]
# ## Extra: three mistakes in the loop
#
# Here are three mistakes in the loop that run without an error. In the first one, nobody looks for the end. **Predict** what the model writes after it:

# %%
@torch.no_grad()
def generate_without_end(src, steps):
    ids = torch.full_like(src[:, :1], bos_id)
    for _ in range(steps):
        ids = torch.cat([ids, model(src, ids)[:, -1:].argmax(-1)], dim=1)
    return ids


endless = generate_without_end(to_ids(["twenty-one"]), 12)[0].tolist()
end = endless.index(eos_id)
print("up to the end:     ", tokenizer.decode(endless[:end]))
print("tokens after it:   ", len(endless[end + 1 :]))
print("of these, the end: ", endless[end + 1 :].count(eos_id))
# %% [markdown]
# The loop never stops by itself. No training example says what follows an end, so these tokens mean nothing, whatever they are. Second mistake: "There is no future yet, so I need no causal mask." Third mistake: the source's padding is not hidden from the decoder. **Predict** what each of the two costs:

# %% tolerance=0.05
def nothing_hidden(ids, pad_id):
    return None


no_causal = share_right(generate(unseen, tgt_mask=nothing_hidden, max_length=16))
no_padding = share_right(generate(unseen, memory_mask=nothing_hidden, max_length=16))
print(f"right with both masks:          {whole:.3f}")
print(f"right without the causal mask:  {no_causal:.3f}")
print(f"right without the padding mask: {no_padding:.3f}")
assert no_causal < whole - 0.01
assert no_padding < whole - 0.01
# %% [markdown]
# The last position may see everything anyway, so why does the causal mask matter while you write? In the next layer it reads what the *earlier* positions have computed, and without the mask these have read later tokens, which they never did in training. (Lesson 05 showed that a single layer doesn't care, and that two do.) So **the masks of training also hold while you write**. With a cache you get the causal mask for free, because the earlier positions are computed before the later ones exist.

# %% [markdown]
# ## Extra: does the model need what it looks at?
#
# English says *twenty-one*, German *einundzwanzig*, so the unit comes first. The first word that the decoder writes translates the *last* word of the source. Where does it look at that moment? For all 72 numbers from 21 to 99 with a unit, we add up the weights of each head on the tens, the unit and the end:

# %%
from transformer_lab import record_attention

numbers = [n for n in range(21, 100) if n % 10]
english = [tasks.number_name(n, "en") for n in numbers]
units = [tasks.number_name(n, "de").partition("und")[0] for n in numbers]  # ein, zwei, …
source = to_ids(english)
hyphen = [name.index("-") + 1 for name in english]


def mask_of(part):
    """(72, S): True for the tokens that hold a letter of the tens or the unit, or for the end."""
    mask = torch.zeros_like(source, dtype=torch.bool)
    for row, (name, middle) in enumerate(zip(english, hyphen)):
        start, stop = {"tens": (0, middle), "unit": (middle, len(name))}.get(part, (0, 0))
        at = 0
        for position, token in enumerate(tokenizer.encode(name)):
            after = at + len(tokenizer.decode([token]))
            mask[row, position] = at < stop and after > start
            at = after
    return source == eos_id if part == "end" else mask


parts = {part: mask_of(part) for part in ("tens", "unit", "end")}
# %% tolerance=0.1
with record_attention(model) as maps, torch.no_grad():
    model(source, torch.full_like(source[:, :1], bos_id))

weight = {}
for layer in (0, 1):
    weights = maps[f"decoder.layers.{layer}.cross_attention"][:, :, 0]  # (72, heads, S)
    for part, mask in parts.items():
        heads = weight[layer, part] = (weights * mask[:, None]).sum(-1).mean(0).tolist()
        print(f"layer {layer}, on the {part}:", *(f"{share:.2f}" for share in heads))
assert min(weight[1, "unit"]) > 0.8
assert max(weight[0, "tens"]) > 0.5
# %% [markdown]
# In layer 1 nearly all weight lies on the unit; in layer 0 at least one head reads mostly the tens. A weight says where a head *reads*. To find out whether the model *needs* what it reads, take that away, and nothing else. **Predict**: if the cross-attention can't see the unit, the tens, the end, or all but the unit, how many of the 72 translations begin with the right unit? How many are right as a whole?

# %% tolerance=0.1
def without(mask):
    """A mask for the loop that hides padding, and these tokens as well."""
    return lambda src, pad_id: padding_mask(src, pad_id) & ~mask[:, None, None]


truths = [tasks.number_name(n, "de") for n in numbers]
hidden = {"nothing": torch.zeros_like(parts["unit"])} | parts
hidden["all but the unit"] = ~parts["unit"]
begins = {}
for name, mask in hidden.items():
    said = to_texts(generate(source, memory_mask=without(mask), max_length=16))
    begins[name] = sum(text.startswith(unit) for text, unit in zip(said, units))
    right = sum(text == truth for text, truth in zip(said, truths))
    print(f"hidden: {name:17} right unit {begins[name]:2}, right number {right:2} of 72")
assert begins["nothing"] == 72
assert begins["unit"] < 20
assert min(begins["tens"], begins["end"], begins["all but the unit"]) > 60
# %% [markdown]
# Without the unit's tokens, the right unit is gone; with nothing but them, it is there. The model never met hidden tokens in training, but that is not the cause: if you hide the tens, the first word stays right, although a head of layer 0 read mostly there. So for the first word the decoder needs the unit, and can do without the tens. Only the rest of the number needs these.

# %% [markdown]
# **What attention weights can say** is where each head read, for this input, at this step. **What they can't say** is that the model needed it. Nor do they say what was read, since after the encoder a position holds more than its own token. Whether weights *explain* a model is a debate of its own ([Jain & Wallace, 2019](https://arxiv.org/abs/1902.10186); [Wiegreffe & Pinter, 2019](https://arxiv.org/abs/1908.04626)). To test it, take away what the head reads; as a control, take away something else.

# %% [markdown]
# ## Extra: three families, three tasks
#
# Lesson 06 drew three families of Transformers. Here each of them does what it is made for. Encoder-only and decoder-only models consist of the *same* blocks; the mask makes the difference:

# %%
from torch import nn

from transformer_lab import Embedding, Encoder, TransformerConfig, causal_mask


class Tower(nn.Module):
    def __init__(self, vocab=11):
        super().__init__()
        config = TransformerConfig(vocab, d_model=32, n_heads=4, d_ff=64, n_layers=1, dropout=0.0)
        self.embedding, self.stack = Embedding(config), Encoder(config)
        self.to_logits = nn.Linear(32, vocab)

    def forward(self, tokens, mask=None):
        return self.to_logits(self.stack(self.embedding(tokens), mask))


def train(make, mask, steps, seed):
    torch.manual_seed(seed)
    tower, generator = Tower(), torch.Generator("cpu").manual_seed(seed)
    optimizer = torch.optim.Adam(tower.parameters())
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.01 * min(1, (step + 1) / 20)
        tokens, answers = (part.to(default_device()) for part in make(64, generator))
        loss = F.cross_entropy(tower(tokens, mask).flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return tower
# %% [markdown]
# **Encoder-only**, as in [BERT](https://arxiv.org/abs/1810.04805), means to fill in what is masked. Eight digits read the same both ways, and one of the left half is hidden, so that the answer stands in the *right* half. Token 10 is the mask, and −100 marks positions without a question. We train three models that see everything, and one with a causal mask:

# %%
def palindromes(n, generator):
    left = torch.randint(10, (n, 4), generator=generator, device="cpu")
    digits = torch.cat([left, left.flip(1)], dim=1)
    position = torch.randint(4, (n, 1), generator=generator, device="cpu")
    answers = torch.full_like(digits, -100).scatter(1, position, digits.gather(1, position))
    return digits.scatter(1, position, 10), answers


@torch.no_grad()
def filled_in(tower, mask):
    new = palindromes(500, torch.Generator("cpu").manual_seed(99))
    tokens, answers = (part.to(default_device()) for part in new)
    return (tower(tokens, mask).argmax(-1) == answers)[answers >= 0].float().mean().item()
# %% tolerance=0.15
everything = [filled_in(train(palindromes, None, 160, seed), None) for seed in range(3)]
past = [filled_in(train(palindromes, causal_mask(8), 160, 0), causal_mask(8))]
for name, shares in {"everything": everything, "the past only": past}.items():
    print(f"right, seeing {name}:", *(f"{share:.2f}" for share in shares))
assert min(everything) > 0.4
assert max(past) < 0.25
# %% [markdown]
# With a causal mask the answer lies in the future, so no training can help: the model can only guess, with one chance in ten.
#
# **Decoder-only**, as in [GPT-2](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf), means to continue a text. Three models learn to count in steps modulo 10, where each position predicts the next one. Then they write six more numbers, one at a time, with greedy choice:

# %% tolerance=0.15
def counting(n, generator):
    start, step = torch.randint(10, (2, n, 1), generator=generator, device="cpu")
    digits = (start + step * torch.arange(9, device="cpu")) % 10
    return digits[:, :-1], digits[:, 1:]


right = counting(500, torch.Generator("cpu").manual_seed(99))[0].to(default_device())
continued = []
for seed in range(3):
    tower, text = train(counting, causal_mask(8), 120, seed), right[:, :2]  # two numbers are given
    for _ in range(6):
        logits = tower(text, causal_mask(text.size(1)))
        text = torch.cat([text, logits[:, -1:].argmax(-1)], dim=1)
    continued.append((text == right).all(1).float().mean().item())
print("all six numbers right:", *(f"{share:.2f}" for share in continued))
assert min(continued) > 0.5
# %% [markdown]
# **Encoder-decoder**, as in this paper, [BART](https://arxiv.org/abs/1910.13461) and [T5](https://arxiv.org/abs/1910.10683), means to turn one text into another, of another length and in another order. That is the translator of this lesson.
