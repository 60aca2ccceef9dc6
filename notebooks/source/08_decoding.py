# %% [markdown]
# # 08 · Decoding
#
# A model gives probabilities; a sentence is a choice. How to choose, and how to choose fast.
#
# **You will be able to**
# - cut and reshape a distribution by temperature, top-k and top-p,
# - say when greedy choice fails, and what a beam finds instead,
# - count what a key-value cache saves, before you measure it.
#
# **You need** lessons 05 to 07. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 6.1. **Time:** 60 minutes.

# %%
import torch
import torch.nn.functional as F

from transformer_lab import beam_search, default_device, exercises, greedy, plots, sample, widgets

torch.set_default_device(default_device())
torch.set_num_threads(1)  # for a model as small as this, more would only wait for each other

# %% [markdown]
# ## The question
#
# Here is the translator of lesson 07, trained and stored. It says English numbers in German:

# %%
from pathlib import Path

import transformer_lab
from transformer_lab import tasks
from transformer_lab.training import load_checkpoint

path = Path(transformer_lab.__file__).with_name("checkpoints") / "en_de.safetensors"
model, tokenizer, _ = load_checkpoint(path)
model = model.to(default_device())
PAD, BEGIN, END = tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id
special = {"bos_id": BEGIN, "eos_id": END}


def encode(texts):
    return tasks.pad([[*tokenizer.encode(text), END] for text in texts], PAD).to(default_device())


def decode(ids):
    return [tokenizer.decode(row) for row in ids.tolist()]


decode(greedy(model, encode(["twenty-seven"]), **special, max_length=40))

# %% [markdown]
# Now type in a hurry, and lose a letter. The same model, the same input, and three ways to choose the words:

# %%
typo = encode(["twenty-sevn"])
print("greedy:", *decode(greedy(model, typo, **special, max_length=40)))
print("beam:  ", *decode(beam_search(model, typo, **special, max_length=40, length_penalty=0.0)))

generator = torch.Generator("cpu").manual_seed(0)
drawn = sample(model, typo.expand(100, -1), **special, max_length=40, generator=generator)
print("sampling 100 times gives more than 10 sentences:", len(set(decode(drawn))) > 10)

# %% [markdown]
# **One distribution, many sentences.** One of these answers is right, one is a thousand times too large, and the model is the same for all. What is the difference, and what does each way cost?

# %% [markdown]
# ## By hand: one distribution
#
# *The cat sleeps on the …* Suppose that a model gives five words these probabilities. **Greedy** choice takes the largest, always. **Sampling** draws: *mat* four times in ten.

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
# Between the two lies **temperature**: all logits are divided by $T$ before the softmax. **Predict**: which way do the probabilities move at $T = 2$? Can the order change?

# %%
at = {f"T = {t}": softmax([logit / t for logit in logits]) for t in (0.5, 1, 2)}
for name, probabilities in at.items():
    show(name, probabilities)
bars = plots.plot_bars(at, words)
plots.show(bars, alt="Five words at three temperatures: the hotter, the more even.")

# %% [markdown]
# Below 1 the first word gains, above 1 the last ones do. The order stays. (Check one: $T = 0.5$ squares each probability, and $0.16 / 0.285 = 0.56$.) Hot or cold, *moon* can always be drawn. Two cuts prevent that. **Top-k** ([Fan et al., 2018](https://arxiv.org/abs/1805.04833)) keeps the $k$ most probable words:

# %%
def renormalised(probabilities, kept):
    total = sum(p for p, keep in zip(probabilities, kept) if keep)
    return [p / total if keep else 0.0 for p, keep in zip(probabilities, kept)]


def top_k(probabilities, k):  # they stand in order
    return renormalised(probabilities, [place < k for place in range(5)])


show("k = 2", top_k(softmax(logits), 2))
show("k = 3", top_k(softmax(logits), 3))

# %% [markdown]
# **Top-p**, or *nucleus* sampling ([Holtzman et al., 2020](https://arxiv.org/abs/1904.09751)), keeps the smallest set that reaches the probability $p$: a word stays if those before it have not reached $p$ yet.

# %%
def top_p(probabilities, p):
    before = [sum(probabilities[:place]) for place in range(5)]
    return renormalised(probabilities, [b < p for b in before])


show("p = 0.6", top_p(softmax(logits), 0.6))
show("p = 0.8", top_p(softmax(logits), 0.8))

# %% [markdown]
# *mat* and *sofa* reach 0.7: enough for 0.6, too little for 0.8, so *roof* comes in. Why two cuts? **Predict** how many words each keeps of a sharp, a middling and a flat distribution:

# %%
shapes = {"sharp": [0.96, 0.01, 0.01, 0.01, 0.01], "middling": softmax(logits), "flat": [0.2] * 5}
for name, probabilities in shapes.items():
    by_k, by_p = top_k(probabilities, 3), top_p(probabilities, 0.79)
    print(f"{name:9} k = 3 keeps {5 - by_k.count(0)}, p = 0.79 keeps {5 - by_p.count(0)}")

# %% [markdown]
# Top-k keeps three, needed or not. Top-p follows the shape: one word where the model is sure, many where it is not.

# %% [markdown]
# ## By hand: a sentence
#
# The probability of a sentence is the product of its words', each given those before it:
#
# $$P(y_1 \dots y_n \mid x) = \prod_{t=1}^{n} P(y_t \mid y_1 \dots y_{t-1}, x)$$
#
# Programs add logarithms instead: a product of a thousand small numbers is 0 in floating point. A small tree that can be written out:
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

# %% [markdown]
# Together they have 1, so nothing is left out. Greedy takes *be*, since 0.55 > 0.45, then *sunny*: 0.22. The best sentence starts with the *second* word: 0.405. Greedy never looks back, and here that costs nearly half of the probability.

# %% [markdown]
# A **beam** keeps several beginnings alive. Each step extends all of them, and the `beam_size` best survive; what has ended is set aside. Follow it with two:

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
# *rain* survived the first step as the second best, and won in the next. Greedy choice is a beam of one. And sampling? It finds each sentence as often as its probability says. 10 000 draws:

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
print("every share within 0.02:", all(abs(counts[s] / 10_000 - p) < 0.02 for s, p in every.items()))

# %% [markdown]
# ## Look
#
# The same tree, to play with. **Predict** before you move: at which beam size does the winner change? Which sentences are left at top-k 1? Which comes most often when you draw cold, at temperature 0.1?

# %%
names = ["It will", ".", "be", "rain", "sunny", "windy", "cold", "again"]


def next_logits(ids):
    return torch.tensor([tree[names[ids[-1]]].get(name, 0.0) for name in names]).log()


widgets.decoding(next_logits, names, bos_id=0, eos_id=1, depth=3)

# %% [markdown]
# A beam of 2 is enough here. Sampling with top-k 1 *is* greedy choice, and the colder it draws, the nearer it comes.
#
# How wide must a beam be? Make 200 random trees with four symbols, five steps deep, and compare with the best of *all* $4^5$ sentences:

# %%
def random_tree(seed):
    """A table for each step: the log probabilities (beginnings, 4) of the next symbol."""
    g = torch.Generator("cpu").manual_seed(seed)
    return [torch.randn(4**t, 4, generator=g, device="cpu").log_softmax(-1) for t in range(5)]


def best_total(steps, beam_size):
    beginnings = torch.zeros(1, dtype=torch.long, device="cpu")
    totals = torch.zeros(1, device="cpu")
    for log_probs in steps:
        extended = (totals[:, None] + log_probs[beginnings]).flatten()
        totals, picked = extended.topk(min(beam_size, len(extended)))
        beginnings = 4 * beginnings[picked // 4] + picked % 4
    return totals.max().item()


trees, found = [random_tree(seed) for seed in range(200)], {}
for beam_size in (1, 2, 4, 8, 256):
    hits = [best_total(t, beam_size) > best_total(t, 1024) - 1e-5 for t in trees]
    found[beam_size] = sum(hits) / len(trees)
print("greedy finds the best in less than 3 of 4:", found[1] < 0.75)
print("a beam of 4 finds more:                   ", found[4] > found[1])
print("a beam of 256 = 4⁴ finds all:             ", found[256] == 1)

# %% [markdown]
# A beam as wide as the tree is exhaustive search. Narrow ones come close at a small part of the cost, and promise nothing.

# %% [markdown]
# ## The loop, line for line
#
# Training shifted the target to the right, and the model said all its words at once (lesson 07). *Now* there is no target: each word that is chosen is appended, and the model asked again.

# %%
from transformer_lab import decoder_mask, padding_mask


def most_probable(logits):
    return logits.argmax(-1)


@torch.no_grad()
def write(src, choose=most_probable, max_length=40, tgt_mask=decoder_mask, src_mask=padding_mask):
    hidden = src_mask(src, PAD)
    memory = model.encode(src, hidden)
    ids = torch.full_like(src[:, :1], BEGIN)
    ended = torch.zeros_like(ids[:, 0], dtype=torch.bool)
    while ids.size(1) < max_length and not ended.all():  # early stop
        logits = model.decode(ids, memory, tgt_mask(ids, PAD), hidden)[:, -1]  # of the last place
        chosen = choose(logits).masked_fill(ended, PAD)
        ids = torch.cat([ids, chosen[:, None]], dim=1)
        ended |= chosen == END
    return ids

# %% [markdown]
# The choice alone makes the method. **Early stop** ends the loop with the longest sentence of the batch; the others are filled up. (The package's beam stops when no unfinished sentence can overtake the best one.) On 300 numbers that the model has never seen:

# %%
held_out = tasks.number_names().test
pairs = held_out[:300]
unseen, wanted = encode([source for source, _ in pairs]), [target for _, target in pairs]


def share_right(ids):
    return sum(text == right for text, right in zip(decode(ids), wanted)) / len(wanted)


written = write(unseen, max_length=120)
whole = share_right(written)
print("right, at least 97 %: ", whole >= 0.97)
print("steps taken, of 119: ", written.size(1) - 1)
print("steps for “one” alone:", write(encode(["one"]), max_length=120).size(1) - 1)

# %% [markdown]
# ## Same as the package
#
# `greedy`, `sample` and `beam_search` are this loop with a cache (further below), and their own choices. Where only one word is left to choose, all must agree:

# %%
settings = {**special, "max_length": 40}
expected = decode(written)
others = {
    "greedy": greedy(model, unseen, **settings),
    "sampling, top-k 1": sample(model, unseen, **settings, top_k=1),
    "sampling, top-p 0.01": sample(model, unseen, **settings, top_p=0.01),
    "beam of one": beam_search(model, unseen, **settings, beam_size=1),
}
for name, ids in others.items():
    print(f"our loop = {name:20} {decode(ids) == expected}")

# %% [markdown]
# And the cuts by hand are the package's filters:

# %%
from transformer_lab import top_k_filter, top_p_filter

five = torch.tensor(logits)
for ours, theirs in (
    (top_k(softmax(logits), 2), top_k_filter(five, 2)),
    (top_p(softmax(logits), 0.8), top_p_filter(five, 0.8)),
):
    difference = (theirs.softmax(-1) - torch.tensor(ours)).abs().max().item()
    print("max difference < 1e-6:", difference < 1e-6)

# %% [markdown]
# What must *not* matter: who else is in the batch, and how much padding that brings. Each of 20 sentences alone, and all together:

# %%
twenty = encode([source for source, _ in pairs[:20]])
together = decode(greedy(model, twenty, **settings))
alone = [decode(greedy(model, encode([source]), **settings))[0] for source, _ in pairs[:20]]
print("the same sentences:", together == alone)

padded = F.pad(typo, (0, 7), value=PAD)
answer = torch.tensor([[BEGIN, *tokenizer.encode("siebenundzwanzig")]])
difference = (model(padded, answer) - model(typo, answer)).abs().max().item()
print("logits with 7 more padding tokens: max difference < 1e-3:", difference < 1e-3)

# %% [markdown]
# ## Break it
#
# Three mistakes in the loop that run without an error. **Predict** what each costs. First, nobody looks for the end:

# %%
@torch.no_grad()
def write_on(src, steps):
    ids = torch.full_like(src[:, :1], BEGIN)
    for _ in range(steps):
        ids = torch.cat([ids, model(src, ids)[:, -1:].argmax(-1)], dim=1)
    return ids


endless = write_on(encode(["twenty-one"]), 10)[0].tolist()
after = endless[endless.index(END) + 1 :]
print("written up to the end:", tokenizer.decode(endless[: endless.index(END)]))
print("tokens written after the end:", len(after))

# %% [markdown]
# It writes on: what follows an end was never trained. Second, "there is no future yet, so no mask is needed". Third, the source's padding is not hidden:

# %%
def nothing_hidden(ids, pad_id):
    return None


no_causal = share_right(write(unseen, tgt_mask=nothing_hidden, max_length=16))
no_padding = share_right(write(unseen, src_mask=nothing_hidden, max_length=16))
print("without the causal mask at least 2 points fewer are right:", no_causal < whole - 0.02)
print("without the padding mask at least 10 points fewer:        ", no_padding < whole - 0.10)

# %% [markdown]
# The last place may see all anyway. But in the layer below, the *earlier* places now hear of later ones, which they never did in training. **The masks of training hold when you write**, too. With a cache (below) earlier places are computed before later ones exist: its causal mask comes for free.

# %% [markdown]
# ## On the trained model: when is a beam worth it?
#
# First where the model is sure, on the 300 unseen numbers. `log_prob` adds up the log probabilities of a sentence, word by word:

# %%
@torch.no_grad()
def log_prob(src, ids):
    log_probs = model(src, ids[:, :-1]).log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    return (log_probs * (ids[:, 1:] != PAD)).sum(1)


def beam(src, size=4, alpha=0.0):
    return beam_search(model, src, **settings, beam_size=size, length_penalty=alpha)


agree = [a == b for a, b in zip(expected, decode(beam(unseen)))]
print("greedy and beam agree in at least 98 %:", sum(agree) >= 0.98 * len(agree))

# %% [markdown]
# A sure model needs no search. So make it unsure: take every unseen number with a short name, and drop each character in turn. The model never saw a typing error.

# %%
short = [pair for pair in held_out if len(pair[0]) < 26]
typos = {name[:i] + name[i + 1 :]: right for name, right in short for i in range(len(name))}
src = encode(list(typos))
by_greedy, by_beam = greedy(model, src, **settings), beam(src)
gain = log_prob(src, by_beam) - log_prob(src, by_greedy)

print(f"{len(typos)} typing errors")
higher, lower = (gain > 0.01).sum().item(), (gain < -0.01).sum().item()
print("the beam's sentence is more probable in at least 3 %:", higher > 0.03 * len(typos))
print("it is less probable in:", lower)

# %% [markdown]
# Here greedy choice misses the model's own favourite again and again; the beam never did worse. Did it also find the *truth*?

# %%
answers = zip(typos, decode(by_greedy), decode(by_beam), typos.values(), gain.tolist())
for name, first, second, right, more in answers:
    if more > 0.05 and right in (first, second):
        marks = ["✓" if text == right else "✗" for text in (first, second)]
        print(f"{name}: greedy {first} {marks[0]}, beam {second} {marks[1]}")


def hits(ids):
    return sum(text == right for text, right in zip(decode(ids), typos.values()))


more = hits(by_beam) - hits(by_greedy)
print("shares of right answers within 2 points:", abs(more) < 0.02 * len(typos))

# %% [markdown]
# Twice greedy fails and the beam wins, and once it is the other way round. A beam mends **search errors**: the best sentence was missed. It can't mend **model errors**: the most probable sentence is wrong. Here is the search for *twenty-sevn*, as a tree. Which beam size does it take to find *siebenundzwanzig*, and in which step do smaller ones lose it?

# %%
from transformer_lab.widgets.own_sentence import token_names


@torch.no_grad()
def next_logits(ids):
    return model(typo, torch.tensor([ids]))[0, -1]


token_list = token_names(tokenizer, range(len(tokenizer)))
widgets.decoding(next_logits, token_list, **special, depth=5, branching=4)

# %% [markdown]
# It takes 4. In step 3 *sieben undzwan zig* is only the fourth: three beginnings with *zigtausend* are more probable. In step 4 its end is nearly certain, theirs are not, and it wins.

# %% [markdown]
# ## Too short: length normalisation
#
# Every further word lowers $P(Y)$. Give the model gibberish, and let the beam grow. **Predict**: does the sentence get longer or shorter?

# %%
letters = random.Random(0)
gibberish = encode(["".join(letters.choices("bcdfghjklmnpqrstvwxz", k=30)) for _ in range(150)])


def mean_length(ids):
    return (ids[:, 1:] != PAD).sum(1).float().mean().item()


lengths = {size: mean_length(beam(gibberish, size)) for size in (1, 4, 16)}
print("a beam of 4 writes less than greedy:     ", lengths[4] < lengths[1] - 0.2)
print("a beam of 16 writes less than a beam of 4:", lengths[16] < lengths[4] - 0.2)

# %% [markdown]
# The better the search, the shorter the sentence. The shortest of all is the empty one, an end right after the begin:

# %%
empty = torch.tensor([[BEGIN, END]]).expand(len(gibberish), 2)
chosen = greedy(model, gibberish, **settings)
missed = log_prob(gibberish, empty) > log_prob(gibberish, chosen) + 0.01
print("saying nothing beats greedy's sentence for some:", missed.any().item())

sure, floor = math.log(0.9 + 0.1 / len(tokenizer)), math.log(0.1 / len(tokenizer))
print(f"perfect under smoothing: a right token ln P = {sure:.3f}, an end at once {floor:.2f}")
print(f"beyond {floor / sure:.0f} tokens, saying nothing is the most probable")

# %% [markdown]
# Label smoothing teaches 0.1 / 406 for the end, everywhere, and 0.9 for each right token. So a long sentence, perfectly learned, loses to silence. This is no toy effect. For more than half of a test set a Transformer base prefers the empty translation ([Stahlberg & Byrne, 2019](https://arxiv.org/abs/1908.10090)); smoothing is one of the reasons ([Shi et al., 2020](https://arxiv.org/abs/2012.13454)).

# %% [markdown]
# The cure of §6.1, from [Wu et al., 2016](https://arxiv.org/abs/1609.08144), equation 14 (which has one more term, for coverage), compares sentences by
#
# $$s(Y) = \frac{\log P(Y \mid X)}{lp(Y)}, \qquad lp(Y) = \left(\frac{5 + |Y|}{6}\right)^{\alpha}$$
#
# With $\alpha = 0$ nothing changes, with $\alpha = 1$ long sentences are ranked nearly by their mean per token. The paper uses a beam of 4 and $\alpha = 0.6$:

# %%
by_alpha = {alpha: beam(gibberish, 4, alpha) for alpha in (0.0, 0.6, 1.0)}
lengths = [mean_length(ids) for ids in by_alpha.values()]
print("the length rises with alpha:", lengths[0] < lengths[1] < lengths[2])
worth = [log_prob(gibberish, ids).mean().item() for ids in by_alpha.values()]
print("the log probability falls:  ", worth[0] > worth[1] > worth[2])

# %% [markdown]
# It trades probability for length: a repair of the *goal*, not of the search.

# %% [markdown]
# ## Many answers: sampling
#
# A translator should give the best answer; a story-teller should not give the same one each time. How many different sentences come out of 100 draws for *twenty-sevn*?

# %%
def different(**how):
    generator = torch.Generator("cpu").manual_seed(0)
    ids = sample(model, typo.expand(100, -1), **settings, generator=generator, **how)
    return len(set(decode(ids)))


counts = [different(temperature=temperature) for temperature in (0.1, 0.5, 1.0, 2.0)]
print("temperature 0.1, 0.5, 1, 2: more and more:", counts == sorted(set(counts)))
print("top-k 2 gives fewer:  ", different(top_k=2) < different())
print("top-p 0.5 gives fewer:", different(top_p=0.5) < different())

# %% [markdown]
# And where the model is sure? Label smoothing taught it to leave nearly a tenth to all the wrong tokens together, at every step. **Predict** what that costs over a whole sentence, and what top-p makes of it:

# %%
generator = torch.Generator("cpu").manual_seed(0)
plain = share_right(sample(model, unseen, **settings, generator=generator))
nucleus = share_right(sample(model, unseen, **settings, top_p=0.9, generator=generator))
print("drawn from all tokens, at least 10 points fewer right than greedy:", plain < whole - 0.10)
print("drawn from the nucleus of 0.9, within 5 points of greedy:         ", nucleus > whole - 0.05)

# %% [markdown]
# Each step draws from the tail with a small probability; one such draw spoils the sentence. The nucleus has no tail.

# %% [markdown]
# ## What a KV cache saves
#
# Our loop runs the decoder over the whole beginning for each new word. But the keys and values of old words don't change, for these words see no later ones. So keep them, and compute those of the new word alone:
#
# ![Keys and values computed in five steps. Without a cache step t computes t of them, 15 in all. With a cache each step computes one and keeps the others, 5 in all.](../img/08_cache.svg)

# %%
from transformer_lab import CachedDecoder


def predict(src_length, n, vocab, d=128, d_ff=256, layers=2):
    """FLOPs of the decoder for n new tokens, without and with a cache; a multiply-add is 2."""
    position = layers * (6 * 2 * d * d + 2 * 2 * d * d_ff) + 2 * d * vocab
    memory = layers * 2 * 2 * d * d * src_length  # its keys and values
    pair = layers * 2 * 2 * d  # a score and its share of the sum
    without = [t * position + memory + pair * (t * t + t * src_length) for t in range(1, n + 1)]
    cached = [position + pair * (t + src_length) for t in range(1, n + 1)]
    return sum(without), memory + sum(cached)


one = encode(["three hundred and twelve"])
without, cached = predict(one.size(1), 100, len(tokenizer))
print(f"without {without / 1e6:,.0f} million, with {cached / 1e6:,.0f} million")
print(f"saved: a factor of {without / cached:.0f}")

# %% [markdown]
# That was the prediction. Torch can count what is really done. The two loops write 100 tokens, whatever they say:

# %%
def all_anew(model, memory, hidden, n):
    ids = torch.full_like(memory[:, :1, 0], BEGIN, dtype=torch.long)
    for _ in range(n):
        logits = model.decode(ids, memory, decoder_mask(ids, PAD), hidden)[:, -1:]
        ids = torch.cat([ids, logits[..., 3:].argmax(-1) + 3], dim=1)  # no padding, no end
    return ids, logits


def with_cache(model, memory, hidden, n):
    ids = torch.full_like(memory[:, :1, 0], BEGIN, dtype=torch.long)
    decoder = CachedDecoder(model, memory, hidden)
    for _ in range(n):
        logits = decoder(ids[:, -1:])
        ids = torch.cat([ids, logits[..., 3:].argmax(-1) + 3], dim=1)
    return ids, logits

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

with torch.no_grad():
    hidden = padding_mask(one, PAD)
    memory = model.encode(one, hidden)
    for loop, predicted in ((all_anew, without), (with_cache, cached)):
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            loop(model, memory, hidden, 100)
        counted = counter.get_total_flops()
        print(f"{loop.__name__:10} as predicted, to the last one: {counted == predicted}")

# %% [markdown]
# Is time saved in proportion? **Predict**, then measure, with 8 sentences and on the processor:

# %%
from time import perf_counter

mates = encode([source for source, _ in pairs[:8]]).cpu()
seconds, results, cpu = {}, {}, model.cpu()
with torch.no_grad(), torch.device("cpu"):
    hidden = padding_mask(mates, PAD)
    memory = cpu.encode(mates, hidden)
    for loop in (all_anew, with_cache, all_anew, with_cache):
        start = perf_counter()
        results[loop] = loop(cpu, memory, hidden, 100)
        seconds[loop] = min(perf_counter() - start, seconds.get(loop, math.inf))

# %%
model = model.to(default_device())
ratio = seconds[all_anew] / seconds[with_cache]
print("more than twice as fast:", ratio > 2)
print("as many times as FLOPs are saved:", ratio >= without / cached)
(ids, logits), (same_ids, same_logits) = results.values()
print("the same tokens:", torch.equal(ids, same_ids))
print("last logits: max difference < 1e-3:", (logits - same_logits).abs().max().item() < 1e-3)

# %% [markdown]
# The same sentences, faster, but not 50 times: one token at a time is too little work to fill a processor, and each step must read all weights. The price is memory. Two numbers per feature, layer and token:

# %%
widgets.cache_cost("GPT-2 small", length=1024)

# %% [markdown]
# **Predict**, then move: what does twice the length cost in bytes? What do 12 query heads save if they share *one* key-value head (multi-query attention, [Shazeer, 2019](https://arxiv.org/abs/1911.02150)), or a few ([Ainslie et al., 2023](https://arxiv.org/abs/2305.13245))?

# %% [markdown]
# ## Three families, three tasks
#
# Lesson 06 drew the families. Here they work. Encoder-only and decoder-only are the *same* blocks; a mask makes the difference:

# %%
from torch import nn

from transformer_lab import Embedding, Encoder, TransformerConfig, causal_mask


class Tower(nn.Module):
    def __init__(self, vocab=11):
        super().__init__()
        config = TransformerConfig(vocab, d_model=32, n_heads=4, d_ff=64, n_layers=2, dropout=0.0)
        self.embedding, self.stack = Embedding(config), Encoder(config)
        self.to_logits = nn.Linear(32, vocab)

    def forward(self, tokens, mask=None):
        return self.to_logits(self.stack(self.embedding(tokens), mask))


def train(make, mask, steps, seed=0):
    torch.manual_seed(seed)
    tower, generator = Tower(), torch.Generator("cpu").manual_seed(seed)
    optimizer = torch.optim.Adam(tower.parameters())
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.006 * min(1, (step + 1) / 30)
        tokens, answers = (part.to(default_device()) for part in make(64, generator))
        loss = F.cross_entropy(tower(tokens, mask).flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return tower

# %% [markdown]
# **Encoder-only**, as [BERT](https://arxiv.org/abs/1810.04805): fill in what is masked. Eight digits read the same both ways; one of the left half is hidden, so the answer stands on its *right*. Token 10 is the mask, and −100 marks places without a question:

# %%
def palindromes(n, generator):
    left = torch.randint(10, (n, 4), generator=generator, device="cpu")
    digits = torch.cat([left, left.flip(1)], dim=1)
    place = torch.randint(4, (n, 1), generator=generator, device="cpu")
    answers = torch.full_like(digits, -100).scatter(1, place, digits.gather(1, place))
    return digits.scatter(1, place, 10), answers


@torch.no_grad()
def filled_in(tower, mask):
    new = palindromes(500, torch.Generator("cpu").manual_seed(99))
    tokens, answers = (part.to(default_device()) for part in new)
    return (tower(tokens, mask).argmax(-1) == answers)[answers >= 0].float().mean().item()


both_ways = filled_in(train(palindromes, None, 300), None)
past_only = filled_in(train(palindromes, causal_mask(8), 300), causal_mask(8))
print("sees everything:   above 80 % right:", both_ways > 0.8)
print("sees the past only: below 30 % right:", past_only < 0.3)

# %% [markdown]
# With a causal mask, no training could help: the answer lies in the future. **Decoder-only**, as [GPT-2](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf): go on with what is there. It learns to count in steps, modulo 10, each place predicting the next, and then writes by the loop above:

# %%
def counting(n, generator):
    start, step = torch.randint(10, (2, n, 1), generator=generator, device="cpu")
    digits = (start + step * torch.arange(9, device="cpu")) % 10
    return digits[:, :-1], digits[:, 1:]


tower = train(counting, causal_mask(8), 200)
right = counting(500, torch.Generator("cpu").manual_seed(99))[0].to(default_device())
text = right[:, :2]  # the prompt: two numbers
for _ in range(6):
    text = torch.cat([text, tower(text, causal_mask(text.size(1)))[:, -1:].argmax(-1)], dim=1)
print("prompt", right[2, :2].tolist(), "should go on", right[2, 2:].tolist())
print("all six right in more than 80 %:", (text == right).all(1).float().mean().item() > 0.8)

# %% [markdown]
# **Encoder-decoder**, as this paper, [BART](https://arxiv.org/abs/1910.13461) and [T5](https://arxiv.org/abs/1910.10683): one text into another, of another length and order. You have had it in your hands all the time:

# %%
translated = greedy(model, unseen, **settings)
print("translated without a mistake, at least 97 %:", share_right(translated) >= 0.97)

# %% [markdown]
# ## Exercises
#
# **1.** The loop, for one sentence. The model is a function: `next_logits(ids)` takes the list of ids so far and gives the logits of the next, of shape (vocab,).

# %% exercise="greedy_decode"
def greedy_decode(next_logits, bos_id, eos_id, max_length):
    """The list of ids, bos first; at most max_length, bos counted; eos ends it."""
    return ...

# %%
exercises.greedy_decode.check(greedy_decode)

# %% [markdown]
# **2.** Two cuts. What is dropped gets the logit −∞; what is kept is not touched.

# %% exercise="top_k_filter"
def top_k_filter(logits, k):
    """Keep the k largest of each row."""
    return ...

# %%
exercises.top_k_filter.check(top_k_filter)

# %% exercise="top_p_filter"
def top_p_filter(logits, p):
    """Keep the smallest set whose probabilities reach p."""
    return ...

# %%
exercises.top_p_filter.check(top_p_filter)

# %% [markdown]
# **3.** One step of attention with a cache, which holds keys and values as one tensor of shape $(2, B, h, S, d_{head})$.

# %% exercise="cached_attention"
def cached_attention(query, key, value, cache):
    """(output, cache): the cache grows by one along time, then attention over all of it."""
    return ...

# %%
exercises.cached_attention.check(cached_attention)

# %% [markdown]
# **4.** The whole search, without length normalisation. `next_log_probs(ids)` gives the log probabilities after a list of ids. Each step keeps the `beam_size` best extensions of all live beginnings; one that ends in `eos_id` is set aside. At `max_length` ids, bos counted, or when none is live, the best total wins, ended or not.

# %% exercise="beam_search"
def beam_search(next_log_probs, bos_id, eos_id, beam_size, max_length):
    """(ids, total log probability) of the best sentence found."""
    return ...

# %%
exercises.beam_search.check(beam_search)

# %% [markdown]
# ## Remember
#
# - Temperature reshapes, top-k and top-p cut; top-p follows the shape.
# - Greedy is a beam of one. A wider beam mends search errors, never the model.
# - Without length normalisation, better search writes shorter sentences.
# - The masks of training hold when you write; batch mates and padding must not matter.
# - A KV cache saves a factor that grows with the length, and pays in memory.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. Temperature 0.5, then top-p 0.8: does it keep more words than top-p 0.8 alone, or fewer?</summary>
# Fewer, or as many: a sharper distribution reaches 0.8 earlier.
# </details>
# <details><summary>2. A beam of 4 over 1000 words: how many extensions are compared in each step?</summary>
# 4000; in the first step 1000, since all beams would start alike.
# </details>

# %% [markdown]
# <details><summary>3. The beam's sentence is more probable than greedy's, and wrong. Will a wider beam help?</summary>
# Not if the right one is less probable still: that is an error of the model.
# </details>
# <details><summary>4. Why are keys and values cached, and not queries?</summary>
# A query is used once, by its own place. Keys and values are asked for by all that come later.
# </details>

# %% [markdown]
# **What comes next** was written after 2017, and you can read it now: pre-training for all tasks ([BERT](https://arxiv.org/abs/1810.04805), [GPT-3](https://arxiv.org/abs/2005.14165)), how size pays ([Kaplan et al., 2020](https://arxiv.org/abs/2001.08361)), rotary positions ([RoFormer](https://arxiv.org/abs/2104.09864)), attention without storing its weights ([FlashAttention](https://arxiv.org/abs/2205.14135)), two models that decode faster together ([speculative decoding](https://arxiv.org/abs/2211.17192)), and images as words ([ViT](https://arxiv.org/abs/2010.11929)). The series ends here. Build something.
