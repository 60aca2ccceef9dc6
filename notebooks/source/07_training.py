# %% [markdown]
# # 07 · Training
#
# Ten thousand pairs of texts, less than a minute: what does a Transformer learn?
#
# **You will be able to**
# - cut any text into parts by byte-pair encoding,
# - say what the decoder reads in training, and what when it writes,
# - train a translator, and tell whether its score can be trusted.
#
# **You need** lessons 05 and 06. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 5. **Time:** 60 minutes.

# %%
import torch
import torch.nn.functional as F

from transformer_lab import default_device, exercises, plots, tasks, training, widgets
from transformer_lab.model import Transformer, TransformerConfig

torch.set_num_threads(1)  # for a model as small as this, more would only wait for each other

# %% [markdown]
# ## The question
#
# German says the small digit first: 21 is *ein-und-zwanzig*, one-and-twenty. Here are names of numbers below a million, in English and in German; some are kept for the test:

# %%
pairs = tasks.number_names("en", "de", seed=42)
print(len(pairs.train), "pairs to learn from,", len(pairs.test), "for the test")
for source, target in pairs.train[:3]:
    print(f"  {source}\n  → {target}")

twenty_one = ("twenty-one", tasks.number_name(21, pairs.target))
print("is 21 in the training?", twenty_one in pairs.train, "in the test?", twenty_one in pairs.test)

# %% [markdown]
# And here is a Transformer, a small one: 2 + 2 layers, $d_{model} = 64$. It reads and writes *tokens*, parts of words, which a **tokenizer** makes; you will build one in a moment. Ask the model:

# %%
from itertools import chain

from transformer_lab.tokenizer import Tokenizer

tokenizer = Tokenizer.train(chain.from_iterable(pairs.train), n_merges=120)
config = TransformerConfig(len(tokenizer), d_model=64, n_heads=4, d_ff=128, n_layers=2, max_len=32)
torch.manual_seed(2)
model = Transformer(config).to(default_device())
said = training.translate(model, tokenizer, ["twenty-one"])[0]
print("parameters:", sum(parameter.numel() for parameter in model.parameters()))
print("twenty-one →", said[:16], "…")

# %% [markdown]
# Nonsense, of course: its weights are random. **Can a laptop learn to say 21 as *einundzwanzig* in a minute?** It must find out the words, their order and their spelling from the pairs alone. Nobody tells it what a digit is.

# %% [markdown]
# ## By hand: from letters to parts
#
# What should a token be? With whole words, *einundzwanzig* has nothing in common with *zweiundzwanzig*, and a word that was not in the training has no token at all. With letters, every text is long. **Byte-pair encoding** ([Sennrich et al., 2016](https://arxiv.org/abs/1508.07909), §3.2) starts with letters, and joins the two neighbours that occur together most often:

# %%
from collections import Counter
from itertools import pairwise

words = ["einundzwanzig", "zweiundzwanzig", "dreiundzwanzig", "einunddreißig", "einundvierzig"]
spelled = [" ".join(word) for word in words]  # a space between two symbols
count = Counter()
for symbols in map(str.split, spelled):
    count.update(pairwise(symbols))
print(spelled[0])
print({" + ".join(pair): n for pair, n in count.most_common(3)})

# %% [markdown]
# Most often, *e* stands before *i*. That is the first **merge**: *ei* becomes one symbol. Count again, merge again. Of pairs that occur equally often, take the one whose symbols are oldest:

# %%
def commonest(spelled, known):
    """The pair of neighbours that occurs most often."""
    count = Counter()
    for symbols in map(str.split, spelled):
        count.update(pairwise(symbols))
    return max(count, key=lambda pair: (count[pair], [-known.index(symbol) for symbol in pair]))


spelled = [" ".join(word) for word in words]
known, merges = sorted(set("".join(words))), []
for _ in range(11):
    left, right = commonest(spelled, known)
    spelled = [text.replace(f"{left} {right}", left + right) for text in spelled]
    known.append(left + right)
    merges.append((left, right))
    print(f"{left + ' + ' + right:12} {spelled[0]}")

# %% [markdown]
# Nobody told it any grammar, and out come *einund* and *zwanzig*. The package's tokenizer finds the same merges. To encode a *new* word it replays them, in the order in which it learned them:

# %%
small = Tokenizer.train(words, n_merges=11)
print("same merges:", small.merges == merges)
for symbols in small.steps("vierundzwanzig"):
    print(" ".join(symbols))

# %% [markdown]
# It has never seen this word, and finds *und* and *zwanzig* in it. And a character that it has never seen at all? That falls apart into its *bytes*, and each byte is a token. So no text is too strange:

# %%
print("z€ →", [*small.steps("z€")][-1])
strange = "  21 € ≈ 二十一\n"
print("there and back:", tokenizer.decode(tokenizer.encode(strange)) == strange)

# %% [markdown]
# `text.replace` has a hole, though. It looks at letters, where it should look at symbols. With the symbols `xa` and `b`, no symbol is `a`, and nothing should be merged. (In exercise 1 you do it right.)

# %%
print("a + b in the symbols xa, b:", "xa b".replace("a b", "ab"))

# %% [markdown]
# The tokenizer of this lesson has learned 120 merges from both languages at once, as the paper does (§5.1), so that one table of embeddings serves both:

# %%
def parts(text):
    return [tokenizer.decode([i]) for i in tokenizer.encode(text)]


print(" | ".join(parts("twenty-one")), "   ", " | ".join(parts("einundzwanzig")))
print(" | ".join(parts("seven hundred and eighty-nine")))
print(" | ".join(parts("siebenhundertneunundachtzig")))
print(f"{len(tokenizer)} = 3 special + 256 bytes + {len(tokenizer.alphabet)} characters + merges")

# %% [markdown]
# ## The right answer, one place late
#
# ![Left, training: the targets ein, undzwan, zig, end stand above the decoder; below it the same targets, one place further right, behind begin. Right, writing: four steps, each of which appends one token to what was written before.](../img/07_shift.svg)
#
# In training, the decoder is given the *right* beginning and must say the next token: **teacher forcing**. Its input is the target, **shifted right** by one place, behind a token that means *begin*.

# %%
BEGIN, END, PAD = tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id


def row(ids):
    names = {BEGIN: "begin", END: "end", PAD: "pad"}
    return " ".join(f"{names.get(i) or tokenizer.decode([i]):>8}" for i in ids.tolist())


tgt = torch.tensor([[*tokenizer.encode("einundzwanzig"), END]])
print("target:", row(tgt[0]))
print("input: ", row(training.shift_right(tgt, BEGIN)[0]))

# %% [markdown]
# Read it column by column: each place sees its own input and all to the left of it, never the target above. So every place is a task of its own, and the causal mask (lesson 05) lets one pass through the decoder do them all. The same, one beginning after the other:

# %%
src = torch.tensor([[*tokenizer.encode("twenty-one"), END]]).to(default_device())
inputs = training.shift_right(tgt, BEGIN).to(default_device())
model.eval()
with torch.no_grad():
    at_once = model(src, inputs)[0]
    one_by_one = [model(src, inputs[:, : t + 1])[0, -1] for t in range(inputs.size(1))]
print("same logits:", torch.allclose(at_once, torch.stack(one_by_one), atol=1e-4))

# %% [markdown]
# When the model *writes*, there is no target and nothing to shift: it starts with *begin* and appends what it says, token by token. One of the five texts of lesson 06, the lecture notes, says the opposite: that the shift belongs to **inference**, to writing. Keep that in mind; further below you will train as they say.

# %% [markdown]
# ## By hand: the loss
#
# How wrong is an answer? Say there are four tokens, the first is right, and the model gives it 70 %. The **cross-entropy** is $-\sum_i t_i \ln p_i$, where $t$ is the truth and $p$ what the model says. If the truth is one token, only its own probability counts:

# %%
import math

p = [0.7, 0.1, 0.1, 0.1]
truth = [1.0, 0.0, 0.0, 0.0]
print("cross-entropy:", round(-sum(t * math.log(q) for t, q in zip(truth, p)), 4))

soft = [0.9 * t + 0.1 / 4 for t in truth]
print("softened truth:", [round(t, 3) for t in soft])
print("cross-entropy:", round(-sum(t * math.log(q) for t, q in zip(soft, p)), 4))

# %% [markdown]
# The second is **label smoothing** (§5.4): a tenth of the truth is spread over all tokens. What for? Without it the loss falls as long as the right logit grows, without end. With it, being too sure costs as well. Here are five degrees of being sure:

# %%
for sure in (0.7, 0.9, 0.925, 0.99, 0.9999):
    p = [sure, *[(1 - sure) / 3] * 3]
    plain, smooth = (-sum(t * math.log(q) for t, q in zip(target, p)) for target in (truth, soft))
    print(f"{sure:6}: plain {plain:.4f}, smoothed {smooth:.4f}")

# %% [markdown]
# The plain loss goes on falling; the smoothed one is least where $p$ *is* the softened truth. So it never gets to 0, even for a perfect model: the least it can reach is the entropy of the softened truth. For this tokenizer:

# %%
def floor(vocab, smoothing=0.1):
    right, other = 1 - smoothing + smoothing / vocab, smoothing / vocab
    return -right * math.log(right) - (vocab - 1) * other * math.log(other)


print("4 tokens:", round(floor(4), 4))
print(f"{len(tokenizer)} tokens: {floor(len(tokenizer)):.2f}")

# %% [markdown]
# Remember that number: a loss of 0.92 is *perfect* here. The package's loss and PyTorch's own, given the logits $\ln p$, say the same as your sum:

# %%
p = torch.tensor([0.7, 0.1, 0.1, 0.1])
ours = training.label_smoothing_loss(p.log()[None, None], torch.tensor([[0]]), 0.1, pad_id=3)
theirs = F.cross_entropy(p.log()[None], torch.tensor([0]), label_smoothing=0.1)
by_hand = -sum(t * math.log(q) for t, q in zip(soft, p.tolist()))
print("ours = by hand:  ", abs(ours.item() - by_hand) < 1e-6)
print("torch = by hand: ", abs(theirs.item() - by_hand) < 1e-6)

# %% [markdown]
# `pad_id` is for the padding behind short sentences. It is no answer to anything, so it is left out of the mean:

# %%
logits = torch.randn(1, 4, 9)
short, padded = torch.tensor([[5, 7]]), torch.tensor([[5, 7, PAD, PAD]])
without = training.label_smoothing_loss(logits[:, :2], short, 0.1, PAD)
with_padding = training.label_smoothing_loss(logits, padded, 0.1, PAD)
print("same loss:", torch.allclose(without, with_padding))

# %% [markdown]
# ## The rate
#
# How far should a step go? In the paper, the **learning rate** first climbs, for `warmup_steps` steps, and then falls (§5.3, equation 3):
#
# $$rate = d_{model}^{-0.5} \cdot \min\left(step^{-0.5},\; step \cdot warmup^{-1.5}\right)$$
#
# The smaller of two: one falls, one climbs. **Predict:** at which step do they meet?

# %%
steps = range(1, 301)
falling = [0.3 * 64**-0.5 * s**-0.5 for s in steps]
climbing = [0.3 * 64**-0.5 * s * 80**-1.5 for s in steps]
rate = [0.3 * training.warmup_rate(s, d_model=64, warmup_steps=80) for s in steps]
smaller = [min(pair) for pair in zip(falling, climbing)]
print("the smaller of the two:", all(abs(a - b) < 1e-12 for a, b in zip(rate, smaller)))
print("highest at step", 1 + rate.index(max(rate)))

# %%
curves = {"falling": falling, "climbing": climbing, "rate": rate}
ax = plots.plot_lines(steps, curves, x_label="step", y_label="rate", log_x=True, log_y=True)
plots.show(ax, alt="Learning rate by step, both logarithmic: it climbs to step 80, then falls.")

# %% [markdown]
# Both scales are logarithmic, so that powers are straight lines. This is the rate that we shall use: a warm-up of 80 steps (the paper: 4000), and 0.3 times the rate, since after so short a climb the peak is high.

# %% [markdown]
# ## The loop
#
# That is all; the rest is repetition. Take a batch, shift, ask, compare, follow the gradient. Adam with the paper's numbers ($\beta_2 = 0.98$, $\varepsilon = 10^{-9}$) does the steps; a gradient that is too long is cut back to length 1, of which the paper says nothing:

# %%
from torch.nn.utils import clip_grad_norm_

examples = training.Examples.encode(pairs.train, tokenizer)
PAPER_LOSS, PAPER_RATE = training.label_smoothing_loss, training.warmup_rate


def train(model, steps, shift=training.shift_right, loss_of=PAPER_LOSS, rate_of=PAPER_RATE):
    model.train()
    optimizer, losses = training.paper_adam(model), []
    for step, batch in enumerate(examples.batches(64, seed=0, epoch=0)[:steps], start=1):
        src, tgt = (tokens.to(default_device()) for tokens in examples.rows(batch))
        loss = loss_of(model(src, shift(tgt, BEGIN)), tgt, 0.1, PAD)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = 0.3 * rate_of(step, 64, 80)
        optimizer.step()
        losses.append(loss.item())
    return losses

# %% [markdown]
# The package has the same loop, with all that it takes to stop, store and resume. Two models with equal weights, one trained by each, and without dropout, so that chance plays no part:

# %%
from dataclasses import replace

recipe = training.Recipe(batch_size=64, warmup_steps=80)
certain = replace(config, dropout=0.0)
one, other = (Transformer(certain).to(default_device()) for _ in range(2))
other.load_state_dict(one.state_dict())

mine = train(one, 8)
reports = training.Training(other, examples, recipe).run(until=8)
theirs = [report.loss for report in reports]
print("same losses in 8 steps:", all(abs(a - b) < 1e-3 for a, b in zip(mine, theirs)))
print("and they fall:", mine[-1] < mine[0])

# %% [markdown]
# ## Live
#
# Now the model from above, for 300 steps of 64 pairs. **Predict:** how many of 200 unseen numbers will it translate right, to the letter, after 100 steps, and after 300? The monitor shows the loss, that share (*exact match*), two translations and where it looks. You may stop it (■) at any time and resume; in a terminal, `training.progress` draws a bar.

# %%
def evaluate():
    return training.exact_match(model, tokenizer, pairs.test[:200])


run = training.Training(model, examples, recipe)
samples = [twenty_one, ("ninety-eight", tasks.number_name(98, pairs.target))]
widgets.training_monitor(run.run(300, evaluate, every=50), 300, model, tokenizer, samples)

# %% [markdown]
# At step 50 it gets next to nothing right, at 100 a part, at 200 nearly all. The score on *all* thousand test numbers, none of which it has ever seen:

# %%
score = training.exact_match(model, tokenizer, pairs.test)
seen = {source for source, _ in pairs.train}
print("test numbers that were trained on:", sum(source in seen for source, _ in pairs.test))
print("right to the letter, above 90 %:", score > 0.9)

# %% [markdown]
# Did it learn the pairs by heart, or did it learn to count? Compare what it says of numbers that it knows, and of those that it does not:

# %%
of_known = training.exact_match(model, tokenizer, pairs.train[:1000])
print("known numbers right, above 90 %:", of_known > 0.9)
print("difference below 5 points:      ", abs(of_known - score) < 0.05)

# %% [markdown]
# A table of pairs would know the first and none of the second. So the answer to the question is *yes*: with ten thousand examples, and fewer than two hundred thousand parameters.

# %% [markdown]
# ## Look: it crosses
#
# English says the tens first, German the unit. To write *ein* of *einundzwanzig*, the decoder must look at *one*, at the end, and then back at *twenty*. Type a number of your own, and step through the output tokens, the layers (0 and 1) and the heads. **Predict first:** in which layer does it look at the words that it translates?

# %%
widgets.own_sentence(model, tokenizer, ["twenty-one"])

# %% [markdown]
# In layer 1, the last: *ein* looks at *one*, the tens at *twenty*. Is that one pretty picture, or what the model does? Measure it, on all test numbers that end in tens and a unit. The spelling tells which tokens belong together:

# %%
def places(text, word, behind=""):
    """The places of the tokens that hold a word; the text ends in it and in what is behind it."""
    end, at, found = len(text) - len(behind), 0, []
    for place, part in enumerate(parts(text)):
        if at < end and at + len(part) > end - len(word):
            found.append(place)
        at += len(part)
    return found


numbers = [*range(1, 10), *range(20, 100, 10)]
german = {tasks.number_name(n, "en"): tasks.number_name(n, "de") for n in numbers} | {"one": "ein"}


def truth_of(source, target):
    """For unit and tens: the target place that begins the word, and the source places of it."""
    tens, unit = source.split()[-1].split("-")
    behind = "und" + german[tens]
    return {
        "unit": (places(target, german[unit], behind)[0], places(source, unit)),
        "tens": (places(target, german[tens])[0], places(source, tens, "-" + unit)),
    }


print(" | ".join(parts("twenty-one")), "→", " | ".join(parts("einundzwanzig")))
print(truth_of(*twenty_one))

# %% [markdown]
# To write the unit, target place 0 must look at source place 2, *one*. The tens begin in place 1, which must look at places 0 and 1. Now let the model read the test, and ask each head of each layer for its *largest* weight:

# %%
from transformer_lab import record_attention

crossing = [(source, target) for source, target in pairs.test if "-" in source.split()[-1]]
test = training.Examples.encode(crossing, tokenizer)
src, tgt = (tokens.to(default_device()) for tokens in (test.src, test.tgt))
model.eval()
with record_attention(model) as maps, torch.no_grad():
    model(src, training.shift_right(tgt, BEGIN))
cross = torch.stack([maps[f"decoder.layers.{i}.cross_attention"].cpu() for i in (0, 1)])
looks = cross.argmax(-1)  # (layers, B, heads, T): a source place

# %%
hits, straight = {"unit": [], "tens": []}, {"unit": [], "tens": []}  # heads, and a diagonal
for b, (source, target) in enumerate(crossing):
    slope = (len(parts(source)) - 1) / (len(parts(target)) - 1)
    for word, (at, right) in truth_of(source, target).items():
        hits[word].append(torch.isin(looks[:, b, :, at], torch.tensor(right)))
        straight[word].append(round(at * slope) in right)

for word in hits:
    best = torch.stack(hits[word]).float().mean(0)[-1].max().item()  # of the last layer's heads
    diagonal = sum(straight[word]) / len(crossing)
    print(f"{word}: best head above 90 %: {best > 0.9}; a diagonal: {100 * diagonal:.0f} %")

# %% [markdown]
# It crosses: in more than nine of ten unseen numbers, the unit looks at the end and the tens before it. If both languages had one order, the largest weights would lie on a **diagonal**; that one misses every unit. (The tens it often hits by accident: *twenty-* and *undzwan* are both the last but one.) Nobody gave the model this alignment: it was the way to a low loss.

# %% [markdown]
# ## Break it: training as the notes say
#
# Shifted in inference, and not in training: then input and target are the same. **Predict** the loss. How much does the model get right with the answer before it (*told*), and how much alone?

# %%
def fresh(kind=Transformer):
    torch.manual_seed(0)
    return kind(config).to(default_device())


held_out = training.Examples.encode(pairs.test[:200], tokenizer)
test_src, test_tgt = (tokens.to(default_device()) for tokens in (held_out.src, held_out.tgt))
is_token = test_tgt != PAD


@torch.no_grad()
def told(model, shift=training.shift_right):
    """The share of tokens that are right, given the answer as the input; and the plain loss."""
    model.eval()
    logits = model(test_src, shift(test_tgt, BEGIN))
    right = (logits.argmax(-1) == test_tgt)[is_token].float().mean().item()
    return right, PAPER_LOSS(logits, test_tgt, 0.0, PAD).item()


def alone(model):
    return training.exact_match(model, tokenizer, pairs.test[:200])

# %%
def not_shifted(tgt, begin):
    return tgt


copier = fresh()
losses = train(copier, 40, shift=not_shifted)
right, plain_loss = told(copier, not_shifted)
print("told:  above 99 % of tokens right:", right > 0.99)
print("       plain loss below 0.2:      ", plain_loss < 0.2)
print("alone: numbers right of 200:      ", round(200 * alone(copier)))
said = training.translate(copier, tokenizer, ["twenty-one"])[0]
print("it repeats itself:", said[:3] in said[3:])

# %% [markdown]
# After 40 steps the score is nearly perfect, and the model is worthless: it has learned to say what it reads. Alone it reads *begin*, says something, reads *that* and says it again. **The shift belongs in training.** In inference nothing is shifted; the model's own words stand where the targets stood.

# %% [markdown]
# ## Break it: a validation that cheats
#
# Some code masks the future in training only, some nowhere. Does the **validation**, the score on pairs kept back, notice? Two models, both validated by *told* without a causal mask: yours, which was trained with one, and one that never had any.

# %%
from transformer_lab import padding_mask


class NoMask(Transformer):
    def forward(self, src, tgt):
        src_mask, tgt_mask = padding_mask(src, PAD), padding_mask(tgt, PAD)
        return self.decode(tgt, self.encode(src, src_mask), tgt_mask, src_mask)


unmasked = fresh(NoMask)
unmasked.load_state_dict(model.state_dict())  # your model, the mask off
cheater = fresh(NoMask)
losses = train(cheater, 120)

# %%
print("your model   told with the mask: above 95 %:", told(model)[0] > 0.95)
print("             told without it:    below 90 %:", told(unmasked)[0] < 0.9)
print("             alone:              above 90 %:", alone(model) > 0.9)
print("never masked told without it:    above 90 %:", told(cheater)[0] > 0.9)
print("             alone:              below 10 %:", alone(cheater) < 0.1)

# %% [markdown]
# Without the mask, the score says nothing in either direction. It calls the good model bad, since each place is suddenly shown words that it never saw in training. And it calls the bad one good: that one copies the next word from the future, and alone there is no future. **Validate the computation that you will use**: let the model write, and count.

# %% [markdown]
# ## Break it: softmax before the loss
#
# `F.cross_entropy` takes logits. Some models end in a softmax, and hand it probabilities (lesson 06). Then the softmax comes twice. How low can that loss get, with a model that is *certain* and right?

# %%
vocab = len(tokenizer)
certainly_right = F.one_hot(torch.tensor([7]), vocab).float()  # all probability on token 7
bound = F.cross_entropy(certainly_right, torch.tensor([7])).item()
print(f"lowest loss: {bound:.2f}; of pure guessing: {math.log(vocab):.2f}")
print("ln(vocab - 1 + e) - 1:", round(math.log(vocab - 1 + math.e) - 1, 2))

# %% [markdown]
# From guessing to certainty, the loss can fall by one unit only: even then $e^{1}$ stands against 405 times $e^{0}$. What does that cost? The same model, batches and steps, once with logits and once with probabilities:

# %%
def of_probabilities(logits, targets, smoothing, pad_id):
    return PAPER_LOSS(logits.softmax(-1), targets, smoothing, pad_id)


with_logits, with_probabilities = fresh(), fresh()
train(with_logits, 100)
losses = train(with_probabilities, 100, loss_of=of_probabilities)
print("the loss never gets below the bound:", min(losses) > bound)
print("logits:        above 50 % of tokens right:", told(with_logits)[0] > 0.5)
print("probabilities: above 30 % of tokens right:", told(with_probabilities)[0] > 0.3)

# %% [markdown]
# The same hundred steps, and one of the two has learned next to nothing. There is no error and no warning: the loss falls a little, and looks like a hard problem. **Models return logits.**

# %% [markdown]
# ## Break it: no warm-up
#
# What is the climb good for? Leave it out, and start on the falling branch, $d_{model}^{-0.5} \cdot step^{-0.5}$, at once:

# %%
def without_warm_up(step, d_model, warmup_steps):
    return d_model**-0.5 * step**-0.5


hasty = fresh()
losses = train(hasty, 100, rate_of=without_warm_up)
times = without_warm_up(1, 64, 80) / training.warmup_rate(1, 64, 80)
print(f"the first step is {times:.0f} times as large")
print("with warm-up:    above 50 % of tokens right:", told(with_logits)[0] > 0.5)
print("without warm-up: above 30 % of tokens right:", told(hasty)[0] > 0.3)

# %% [markdown]
# A few steps that are too large, at the very start, and the model is stuck. Lesson 04 looked for the reason: in a post-norm stack the first gradients are large. Is it the climb, then, or only the size of the first steps? **Try it** with the highest rate from the start: `rate_of=lambda step, d, w: training.warmup_rate(w, d, w)`.

# %% [markdown]
# ## Your language
#
# Which language shall it learn? One line decides, and the cells above train it. `tasks.languages()` lists all that there are:

# %%
french = tasks.number_names("en", target="fr", n_train=300, n_test=20)
print(french.test[0])
languages = tasks.languages()
print("more than 40:", len(languages) > 40, "with da, fi, tr:", {"da", "fi", "tr"} <= {*languages})

# %% [markdown]
# Write `"fr"` for `"de"` in the first cell of *The question*, and run the cells from there to the view of *Look: it crosses*. **Predict** what its map shows for *ninety-nine*, which is *quatre-vingt-dix-neuf*. The command line trains a larger model, for longer:
#
# ```
# python -m transformer_lab.training --target fr --out fr.safetensors
# ```

# %% [markdown]
# One that was made so, of 0.7 million parameters and for German, comes with the package. How good is it, on the numbers that *it* has never seen?

# %%
from pathlib import Path

import transformer_lab

path = Path(transformer_lab.__file__).with_name("checkpoints") / "en_de.safetensors"
sister, its_tokenizer, facts = training.load_checkpoint(path)
unseen = tasks.number_names("en", "de").test[:300]
its_score = training.exact_match(sister, its_tokenizer, unseen)
print("steps:", facts["steps"], "  right, at least 98 %:", its_score >= 0.98)

# %% [markdown]
# ## Exercises
#
# **1.** One merge of byte-pair encoding, from left to right, without the hole of `text.replace`. `pair` is a tuple of two symbols.

# %% exercise="merge_pair"
def merge_pair(symbols, pair):
    """A list of symbols, in which neighbours that are `pair` have become one symbol."""
    return ...

# %%
exercises.merge_pair.check(merge_pair)

# %% [markdown]
# **2.** The input of the decoder for a batch of targets.

# %% exercise="shift_right"
def shift_right(tokens, bos_id):
    """(B, T) target ids -> (B, T) input ids, with bos_id in front."""
    return ...

# %%
exercises.shift_right.check(shift_right)

# %% [markdown]
# **3.** The loss of a batch: smoothed over the whole vocabulary, as the mean over all targets that are not padding.

# %% exercise="label_smoothing_loss"
def label_smoothing_loss(logits, targets, smoothing, pad_id):
    """(B, T, vocab) logits and (B, T) targets -> a number."""
    return ...

# %%
exercises.label_smoothing_loss.check(label_smoothing_loss)

# %% [markdown]
# **4.** Equation 3. Steps are counted from 1.

# %% exercise="warmup_rate"
def warmup_rate(step, d_model, warmup_steps):
    """The learning rate of a step."""
    return ...

# %%
exercises.warmup_rate.check(warmup_rate)

# %% [markdown]
# ## Remember
#
# - Byte-pair encoding joins the commonest neighbours; encoding replays the merges, bytes catch the rest.
# - Teacher forcing: the input is the target, shifted right; all places learn at once.
# - With label smoothing a perfect loss is not 0; with softmax before the loss it never gets low.
# - A score counts if the model had to write alone, on what it has never seen.
# - Learned attention can be measured: it must beat a straight diagonal.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. The targets are 7 8 9 end. What does the decoder read in training, and what in the third step of writing?</summary>
# begin 7 8 9. In the third step begin and the two tokens that it has said itself, right or wrong.
# </details>
# <details><summary>2. A loss of 0.95 with 406 tokens and smoothing 0.1: is there much left to learn?</summary>
# Hardly: the least possible is 0.92.
# </details>

# %% [markdown]
# <details><summary>3. Your validation is at 100 % after a minute. Name two bugs of this lesson that do this.</summary>
# Targets that are not shifted, and a causal mask that is missing. Both let the model read the answer; both are found by letting it write.
# </details>
# <details><summary>4. Why can the tokenizer encode a word in any script?</summary>
# What is not in its alphabet becomes bytes, and all 256 bytes are tokens.
# </details>

# %% [markdown]
# **Next:** at each step you took the most probable token. Is that the most probable *sentence*? [Lesson 08](08_decoding.ipynb) takes the decoder apart: greedy, sampling, beam search, and what a cache saves.
