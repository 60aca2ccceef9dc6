# %% [markdown]
# # 07 · Training
#
# So far our models came with their weights. In this lesson you start from random ones, train a small translator on your own machine, and find out whether you can trust the score that it gets.
#
# **You will be able to**
# - split any text into tokens by byte-pair encoding,
# - say what the decoder reads in training and what it reads when it writes,
# - train a translator, and tell whether its score can be trusted.
#
# **You need** lessons 05 and 06. **Paper:** [Attention Is All You Need](https://arxiv.org/abs/1706.03762), sections 5 and 6. **Time:** 60 minutes without *Extra*, the exercises 95 more.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import torch
import torch.nn.functional as F

from transformer_lab import default_device, exercises, plots, training, widgets
from transformer_lab.data import tasks
from transformer_lab.nn.transformer import Transformer, TransformerConfig

torch.set_num_threads(1)  # for a model as small as this, more would only wait for each other
# %% [markdown]
# ## The question
#
# In German the units come before the tens. 21 is *ein-und-zwanzig*, one-and-twenty, so whoever translates *twenty-one* word by word gets the order wrong. Can a machine pick up the right order from examples alone? Here are the names of numbers below a million in both languages, split into three parts. The model learns from the **training** pairs. The **validation** pairs let us watch it while it learns, and the **test** pairs stay untouched until the end:

# %%
pairs = tasks.number_names("en", "de", seed=44)
parts_of_it = {"training": pairs.train, "validation": pairs.validation, "test": pairs.test}
print({name: len(part) for name, part in parts_of_it.items()})
for source, target in pairs.train[:3]:
    print(f"  {source}\n  → {target}")

twenty_one = ("twenty-one", tasks.number_name(21, pairs.target))
print("21 is in:", [name for name, part in parts_of_it.items() if twenty_one in part])
longer_ones = sum("twenty-one" in source for source, _ in pairs.train)
print("training names that contain twenty-one:", longer_ones)
# %% [markdown]
# All these names come from a library, num2words. Our scores will therefore say how often the model agrees with that library, which makes a few mistakes of its own; an *Extra* shows some of them.
#
# And here is a small Transformer with 2 + 2 layers and $d_{model} = 64$. It reads and writes **tokens**, which are pieces of words, and a **tokenizer** splits texts into such pieces. In a moment you will build one. First we ask the model for its answer:

# %%
from itertools import chain

from transformer_lab.data.tokenizer import Tokenizer

tokenizer = Tokenizer.train(chain.from_iterable(pairs.train), n_merges=120)
config = TransformerConfig(len(tokenizer), d_model=64, n_heads=4, d_ff=128, n_layers=2, max_len=32)
torch.manual_seed(2)
model = Transformer(config).to(default_device())
said = training.translate(model, tokenizer, ["twenty-one"])[0]
print("parameters:", sum(parameter.numel() for parameter in model.parameters()))
print("twenty-one →", said[:16], "…")
# %% [markdown]
# The answer is nonsense, because the weights are still random. **Can a laptop learn to say 21 as *einundzwanzig* in a minute?** Since 21 is not among the training pairs, the model cannot learn this name by heart. It has to find the words, their order and their spelling from the names of other numbers. Some of the longer ones contain *twenty-one*, though, and we shall have to check whether the model needs them.

# %% [markdown]
# ## By hand: from letters to tokens
#
# Before a model can read a text, we have to decide what a token should be. If every word were one, *einundzwanzig* would have nothing in common with *zweiundzwanzig*, and a new word would have no token at all. If every letter were one, hardly any word would be unknown, but every text would be long. **Byte-pair encoding** ([Sennrich et al., 2016](https://arxiv.org/abs/1508.07909), §3.2) lies between the two. It starts with letters, and then joins the two neighbours that occur together most often. We count them in five words:

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
# The most frequent pair is *e* followed by *i*, so the first **merge** turns *e i* into one symbol, *ei*. Then we count again and merge again, as often as we like. When several pairs are equally frequent, we take the one whose left symbol was created first, and if several have this left symbol, the one whose right symbol was created first (letters count as created in alphabetical order):

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
# The merges follow counts and know no grammar, although they come close to it here, where *zwanzig* is a word and *einund* is made of two. The package's tokenizer finds the same merges. When it has to encode a *new* word, it replays them in the order in which it learned them:

# %%
small = Tokenizer.train(words, n_merges=11)
print("same merges:", small.merges == merges)
for symbols in small.steps("vierundzwanzig"):
    print(" ".join(symbols))
# %% [markdown]
# The tokenizer has never seen *vierundzwanzig*, and yet it finds *und* and *zwanzig* in it. What if a text contains a character that never occurred in training? It is split into its *bytes*, and since each of the 256 bytes is a token, every text can be encoded and decoded again. (This fallback is not in Sennrich's paper.)

# %%
print("z€ →", [*small.steps("z€")][-1])
strange = "  21 € ≈ 二十一\n"
print("there and back:", tokenizer.decode(tokenizer.encode(strange)) == strange)
# %% [markdown]
# Our loop has one flaw, which you can avoid in the first exercise: `text.replace` compares letters where it should compare symbols. The symbols `xa` and `b` contain no symbol `a`, so there is nothing to merge, but `replace` merges them all the same:

# %%
print("a + b in the symbols xa, b:", "xa b".replace("a b", "ab"))
# %% [markdown]
# **Exercise 1** (5 minutes, easy). Write one merge of byte-pair encoding, from left to right, without the flaw of `text.replace`. `pair` is a tuple of two symbols.

# %% exercise="merge_pair"
def merge_pair(symbols, pair):
    """A list of symbols, in which neighbours that are `pair` have become one symbol."""
    return ...
# %%
exercises.merge_pair.check(merge_pair)
# %% [markdown]
# **Exercise 2** (30 minutes, hard). Now write the whole learning of merges. `words` says how often each word occurs. Take the most frequent pair, merge it everywhere, and go on. Of equally frequent pairs take the one whose symbols were created first; characters come first of all, in the order of their code points.

# %% exercise="learn_merges"
def learn_merges(words, n_merges):
    """A list of pairs of symbols, in the order in which they were merged."""
    return ...
# %%
exercises.learn_merges.check(learn_merges)
# %% [markdown]
# The tokenizer of our model has learned 120 merges from the training pairs. It has three special tokens as well, which stand for *begin*, *end* and *padding*, and which you will meet below. "Sentences were encoded using byte-pair encoding, which has a shared source-target vocabulary", says §5.1. We do the same, and so one table of embeddings can serve both languages.

# %%
def parts(text):
    return [tokenizer.decode([i]) for i in tokenizer.encode(text)]


print(" | ".join(parts("twenty-one")), "   ", " | ".join(parts("einundzwanzig")))
print(" | ".join(parts("seven hundred and eighty-nine")))
print(" | ".join(parts("siebenhundertneunundachtzig")))
used = {i for pair in pairs.train for text in pair for i in tokenizer.encode(text)}
print(f"{len(tokenizer)} = 3 special + 256 bytes + {len(tokenizer.alphabet)} characters + merges")
print("tokens that occur in the training:", len(used))
# %% [markdown]
# Three things may surprise you. A token that begins a word in the middle of a text starts with a space, because this tokenizer counts the space as part of the word that follows. And some tokens, such as *undzwan*, run across the border between two words, because nothing but frequency decides what is merged. Lastly, only 99 of the 147 characters and merges are in use. The other 48 never appear alone, because in these names they are always merged into a longer token. The bytes are not in use either, so the model never learns what they mean: it could encode a text with a €, but not translate it.

# %% [markdown]
# ## The right answer, one position late
#
# Texts have become rows of tokens. What does the decoder do with them? When it writes, it reads what it has written so far and predicts the next token. In training we could let it write too, but its first attempts would be nonsense, and it would have to learn from continuing nonsense. So we give it the *right* beginning instead, and ask for the next token. This is called **teacher forcing**.
#
# ![Training: the targets ein, undzwan, zig, end stand above the decoder; below it the same targets, one position further right, behind begin. Writing: four steps, each of which appends one token to what was written before.](../img/07_shift.svg)
#
# The decoder's input is the target, **shifted right** by one position, after a token that means *begin*:

# %%
bos_id, eos_id, pad_id = tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id


def row(ids):
    names = {bos_id: "begin", eos_id: "end", pad_id: "pad"}
    return " ".join(f"{names.get(i) or tokenizer.decode([i]):>8}" for i in ids.tolist())


tgt = torch.tensor([[*tokenizer.encode("einundzwanzig"), eos_id]])
print("target:", row(tgt[0]))
print("input: ", row(training.shift_right(tgt, bos_id)[0]))
# %% [markdown]
# Read the two lines column by column. Each position sees its own input and everything to the left of it, but it never sees the target that stands above it. Every position is therefore a task of its own, and thanks to the causal mask of lesson 05 a single pass through the decoder solves all of them. To check this, we compare it with one pass for each beginning:

# %%
src = torch.tensor([[*tokenizer.encode("twenty-one"), eos_id]]).to(default_device())
inputs = training.shift_right(tgt, bos_id).to(default_device())
model.eval()
with torch.no_grad():
    at_once = model(src, inputs)[0]
    one_by_one = torch.stack([model(src, inputs[:, : t + 1])[0, -1] for t in range(inputs.size(1))])
print("passes:", len(one_by_one), "against 1")
print("max difference < 1e-4:", (at_once - one_by_one).abs().max().item() < 1e-4)
# %% [markdown]
# One pass gives the same logits as four, so all positions of a target can be learned at once. When the model *writes*, there is no target that could be shifted. It starts with *begin* and appends its own tokens one by one.
#
# The paper's Figure 1 calls the input of the decoder "Outputs (shifted right)", which sounds as if the model shifted what it puts out. Could the shift belong to **inference**, as writing is also called, and not to training? Further down we shall train a model without the shift, and see what becomes of it.

# %% [markdown]
# **Exercise 3** (5 minutes, easy). Write the decoder's input for a batch of targets.

# %% exercise="shift_right"
def shift_right(tokens, bos_id):
    """(B, T) target ids -> (B, T) input ids, with bos_id in front."""
    return ...
# %%
exercises.shift_right.check(shift_right)
# %% [markdown]
# ## By hand: the loss
#
# The model answers with probabilities. To improve it, we need one number that says how wrong they are. Say that there are four tokens, that the first is right, and that the model gives it 70 %. The **cross-entropy** is $-\sum_i t_i \ln p_i$, where $t$ is the truth and $p$ are the probabilities of the model. When the truth is a single token, only the probability of that token counts. The paper uses a *softened* truth instead, in which a tenth is spread evenly over all tokens:

# %%
import math

p = [0.7, 0.1, 0.1, 0.1]
truth = [1.0, 0.0, 0.0, 0.0]
print("cross-entropy:", round(-sum(t * math.log(q) for t, q in zip(truth, p)), 4))

soft = [0.9 * t + 0.1 / 4 for t in truth]
print("softened truth:", [round(t, 3) for t in soft])
print("cross-entropy:", round(-sum(t * math.log(q) for t, q in zip(soft, p)), 4))
# %% [markdown]
# This softening is called **label smoothing** (§5.4). Why would anyone make the truth less true? With the plain truth, the loss goes on falling as the right logit grows, without end, so that training rewards a model for being ever more certain. With the softened truth, being too sure costs something as well. Here are five degrees of being sure:

# %%
for sure in (0.7, 0.9, 0.925, 0.99, 0.9999):
    p = [sure, *[(1 - sure) / 3] * 3]
    plain, smooth = (-sum(t * math.log(q) for t, q in zip(target, p)) for target in (truth, soft))
    print(f"{sure:6}: plain {plain:.4f}, smoothed {smooth:.4f}")
# %% [markdown]
# Here is the whole range, from guessing to nearly certain, by the logit of the right token, while the other three logits are 0 (0.925 is reached at a logit of 3.6):

# %%
right = torch.arange(0, 9.05, 0.1)
log_p = F.pad(right[:, None], (0, 3)).log_softmax(-1)  # (logits, 4)
truths = {"plain": truth, "smoothed, least at 0.925": soft}
losses = {name: -log_p @ torch.tensor(t) for name, t in truths.items()}
ax = plots.plot_lines(right, losses, x_label="right logit, where the others are 0", y_label="loss")
smooth = ax.get_lines()[1]
ax.plot(math.log(0.925 / 0.025), min(smooth.get_ydata()), "o", color=smooth.get_color())
plots.show(ax, alt="Plain, the loss falls to 0; smoothed, it is least at 3.6, then rises.")
# %% [markdown]
# The plain loss falls all the way, while the smoothed one is least at 0.925 and then rises again. *Where* the least value lies can be derived. We add and subtract $\sum_i t_i \ln t_i$, which splits the cross-entropy into two terms:
#
# $$-\sum_i t_i \ln p_i = \underbrace{-\sum_i t_i \ln t_i}_{\text{entropy of the truth}} + \underbrace{\sum_i t_i \ln \frac{t_i}{p_i}}_{\text{divergence} \;\ge\; 0}$$
#
# The first term does not depend on the model. The second is at least 0, because $\ln x \le x - 1$ gives $-\sum_i t_i \ln \frac{p_i}{t_i} \ge \sum_i t_i - \sum_i p_i = 0$, and it is 0 when $p = t$. The entropy of the softened truth is therefore the **floor** of the loss, below which no model can get:

# %%
def floor(vocab, smoothing=0.1):
    right, other = 1 - smoothing + smoothing / vocab, smoothing / vocab
    return -right * math.log(right) - (vocab - 1) * other * math.log(other)


for sure in (0.7, 0.925, 0.9999):
    p = [sure, *[(1 - sure) / 3] * 3]
    divergence = sum(t * math.log(t / q) for t, q in zip(soft, p))
    loss = floor(4) + divergence
    print(f"{sure:6}: entropy {floor(4):.4f} + divergence {divergence:.4f} = {loss:.4f}")
print(f"floor for {len(tokenizer)} tokens: {floor(len(tokenizer)):.2f}")
# %% [markdown]
# Remember the last number, for with this vocabulary a loss of 0.92 is *perfect*.
#
# There is one more thing to settle. A batch holds short and long sentences, and the short ones are filled up with padding. Nothing is to be said at those positions, so they are left out of the mean:

# %%
logits = torch.randn(1, 4, 9)
short, padded = torch.tensor([[5, 7]]), torch.tensor([[5, 7, pad_id, pad_id]])
without = training.label_smoothing_loss(logits[:, :2], short, 0.1, pad_id)
with_padding = training.label_smoothing_loss(logits, padded, 0.1, pad_id)
print("max difference < 1e-6:", (without - with_padding).abs().item() < 1e-6)
# %% [markdown]
# What does smoothing cost? "This hurts perplexity, as the model learns to be more unsure, but improves accuracy and BLEU score" (§5.4; BLEU is a score for translations, which an *Extra* explains). **Perplexity** is $e^{loss}$ of the plain loss. It says among how many equally likely tokens the model seems to choose.

# %%
vocab = len(tokenizer)
chances = {"guessing": 1 / vocab, "70 % sure": 0.7, "perfect, smoothed": 0.9 + 0.1 / vocab}
for name, right in chances.items():
    print(f"{name:18} perplexity {math.exp(-math.log(right)):6.2f}")
# %% [markdown]
# A model that predicts exactly the softened truth thus has a perplexity of 1.11 instead of 1, because it keeps almost a tenth of its probability for other tokens. You have now derived the first half of the sentence that we quoted; the second half is something the authors found by experiment. Keep the 1.11 in mind, since your own model will seem to beat it.

# %% [markdown]
# **Exercise 4** (15 minutes, medium). Write the loss of a batch, smoothed over the whole vocabulary and averaged over all targets that are not padding. Build it from `log_softmax`. `F.cross_entropy` can do it all, and would teach you no more than the names of its arguments.

# %% exercise="label_smoothing_loss"
def label_smoothing_loss(logits, targets, smoothing, pad_id):
    """(B, T, vocab) logits and (B, T) targets -> a number."""
    return ...
# %%
exercises.label_smoothing_loss.check(label_smoothing_loss)
# %% [markdown]
# ## The step
#
# The loss has a gradient, which says in which direction to change each weight. How far should we go? "We used the Adam optimizer with $\beta_1 = 0.9$, $\beta_2 = 0.98$ and $\epsilon = 10^{-9}$" (§5.3). **Adam** ([Kingma & Ba](https://arxiv.org/abs/1412.6980)) keeps two running means for each weight, $m$ of the gradient and $v$ of its square, and changes the weight by $-rate \cdot m / \sqrt{v}$. Both means start at 0 and would be too small at first, so they are divided by $1 - \beta^{step}$:

# %%
def adam(gradients, rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """Where a weight that starts at 0 is after each gradient."""
    weight, m, v, path = 0.0, 0.0, 0.0, []
    for step, gradient in enumerate(gradients, start=1):
        m = beta_1 * m + (1 - beta_1) * gradient
        v = beta_2 * v + (1 - beta_2) * gradient**2
        m_hat, v_hat = m / (1 - beta_1**step), v / (1 - beta_2**step)
        weight = weight - rate * m_hat / (v_hat**0.5 + eps)
        path.append(weight)
    return path


gradients = [3.0, 1.0, -2.0, 4.0]
tiny = [gradient / 1000 for gradient in gradients]
print("path:             ", [round(weight, 4) for weight in adam(gradients, rate=0.01)])
print("gradients × 0.001:", [round(weight, 4) for weight in adam(tiny, rate=0.01)])
# %% [markdown]
# Two things are worth noticing. The size of the gradients cancels, so that gradients a thousand times as small take the same path. And the first step is a full `rate` long, because at step 1 the corrected $m / \sqrt{v}$ is $\pm 1$ (unless the gradient is as small as $\epsilon$).
#
# So it is the rate that decides how far we go, and it should not stay the same. "We varied the learning rate over the course of training" (§5.3, equation 3):
#
# $$rate = d_{model}^{-0.5} \cdot \min\left(step^{-0.5},\; step \cdot warmup^{-1.5}\right)$$
#
# **Predict:** one of the two terms climbs and the other falls. At which step do they meet, if the warm-up takes 80 steps?

# %%
def paper_rate(step):
    return 0.3 * training.warmup_rate(step, d_model=64, warmup_steps=80)


highest = max(range(1, 301), key=paper_rate)
print(f"highest at step {highest}: {paper_rate(highest):.4f}")
# %%
steps = range(1, 301)
curves = {
    "rate": [paper_rate(s) for s in steps],
    "falling": [0.3 * 64**-0.5 * s**-0.5 for s in steps],
    "climbing": [0.3 * 64**-0.5 * s * 80**-1.5 for s in steps],
}
ax = plots.plot_lines(steps, curves, x_label="step", y_label="rate", log_x=True, log_y=True)
ax.get_lines()[0].set(linewidth=7, alpha=0.4)  # the rate, below the terms
ax.legend(frameon=False)
plots.show(ax, alt="Learning rate by step, both logarithmic: it climbs to step 80, then falls.")
# %% [markdown]
# They meet where $step^{-0.5} = step \cdot warmup^{-1.5}$, which is at $step = warmup$. Before that step the rate is proportional to the step, and afterwards to one over its square root, so on logarithmic scales both parts are straight lines. This is the rate of our training. Its warm-up takes 80 steps, where the paper's takes 4000, and we multiply the formula by 0.3, because after so short a climb its own peak would be 0.014. What the climb is good for is measured in an *Extra*.

# %% [markdown]
# **Exercise 5** (5 minutes, easy). Write equation 3. Steps are counted from 1.

# %% exercise="warmup_rate"
def warmup_rate(step, d_model, warmup_steps):
    """The learning rate of a step."""
    return ...
# %%
exercises.warmup_rate.check(warmup_rate)
# %% [markdown]
# **Exercise 6** (predict; 10 minutes, medium). Every learning rate of the warm-up but the peak is reached once more on the way down. When? Give the later step that has the rate of `step`, as a float.

# %% exercise="same_rate_again"
def same_rate_again(step, warmup_steps):
    """The later step that has the learning rate of this step."""
    return ...
# %%
exercises.same_rate_again.check(same_rate_again)
# %% [markdown]
# ## The loop
#
# Now we have all the parts, and a training is nothing but a loop over them. Take a batch, shift its targets, compute the loss, and take a step against its gradient. Two details are new. A gradient longer than 1 is cut back to that length, which the paper does not mention. And as long as a model is in *train* mode, dropout sets a tenth of the features to 0, at random, in what each sub-layer puts out and in the sums of embedding and encoding (§5.4):

# %%
from itertools import count

from torch.nn.utils import clip_grad_norm_

examples = training.Examples.from_pairs(pairs.train, tokenizer)
PAPER_LOSS, SHIFT = training.label_smoothing_loss, training.shift_right


def train(model, steps, shift=SHIFT, loss_of=PAPER_LOSS, rate_of=paper_rate, data=examples, seed=0):
    """The losses of so many steps."""
    model.train()
    optimizer, losses = training.paper_adam(model), []
    batches = chain.from_iterable(data.batches(64, seed, epoch) for epoch in count())
    for step, batch in zip(range(1, steps + 1), batches):
        src, tgt = (tokens.to(default_device()) for tokens in data.rows(batch))
        loss = loss_of(model(src, shift(tgt, bos_id)), tgt, 0.1, pad_id)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = rate_of(step)
        optimizer.step()
        losses.append(loss.item())
    return losses
# %% [markdown]
# **Exercise 7** (find the bug; 25 minutes, medium). This training step has three defects. The loss climbs from step to step. When somebody had made it fall, the model said one word again and again. And the same sentences, in a batch with a longer one, have a different loss. Mend the step.

# %% exercise="mend_training_step"
def mend_training_step(weights, tokens, rate, pad_id):
    inputs, targets = tokens, tokens
    weights = weights.detach().requires_grad_()
    logits = weights[inputs]  # (B, T, vocab)
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    loss = losses.mean()
    (gradient,) = torch.autograd.grad(loss, weights)
    return weights.detach() + rate * gradient, loss.detach()
# %%
exercises.mend_training_step.check(mend_training_step)
# %% [markdown]
# ## Live
#
# It is time to train. The package's `Training` runs the same loop, as an *Extra* checks, and it can also stop and resume. We give it the model from above, for 300 steps of 64 pairs, which takes 10 to 20 seconds. **Predict:** how many of the 200 validation names will the model get right, to the letter, after 100 steps, and how many after 300?
#
# The monitor shows the loss above its floor, that share (*exact match*), two translations, and where the decoder looks. You may stop it (■) at any time and resume. We also keep some states of the weights, for the experiments to come.

# %% steps=300
from copy import deepcopy


def evaluate():
    return training.exact_match(model, tokenizer, pairs.validation)


def keep(reports, states):
    """The same reports; kept are the weights after steps 60 and 200, and at last five times."""
    for report in reports:
        late = report.step > 300 - 125 and report.step % 25 == 0
        if late or report.step in (60, 200):
            states[report.step] = deepcopy(model.state_dict())
        yield report


states = {}
recipe = training.Recipe(batch_size=64, warmup_steps=80)
run = training.Training(model, examples, recipe)
reports = keep(run.run(300, evaluate, every=50), states)
samples = [twenty_one, ("ninety-nine", tasks.number_name(99, pairs.target))]
widgets.training_monitor(reports, 300, model, tokenizer, samples, floor=floor(len(tokenizer)))

# %% [markdown]
# Within seconds the nonsense has turned into German. After 100 steps about one name in five was right to the letter, after 150 steps most of them were, and after 300 steps all or nearly all. The training is over now, so the test can no longer influence any of our choices. Only at this point is it safe to look at it.

# %% [markdown]
# We ask for the score by **slice**, because an average can hide what matters: of all numbers below a million 90 % have six digits, and the hundred shortest names would not show at all. The slices are *short* (below 100, or one digit before zeros), *round* (other multiples of 100), *and* (no hundreds after the thousands, as in *two thousand and one*), and the others by the number of their digits.

# %% tolerance=0.15
def by_slice(model, slices):
    return {kind: training.exact_match(model, tokenizer, slice) for kind, slice in slices.items()}


scores = by_slice(model, pairs.slices)
for kind, score in scores.items():
    print(f"{kind:9} {100 * score:5.1f} % of {len(pairs.slices[kind])}")
score = sum(scores[kind] * len(pairs.slices[kind]) for kind in scores) / len(pairs.test)
assert min(scores.values()) > 0.6
assert score > 0.9
# %% [markdown]
# None of these names was among the training pairs, so the score cannot come from the memory of whole names. But could the model know *einundzwanzig* by heart, as a piece of longer names? We left out all 123 names that contain *twenty-one*, and trained again with four seeds (0 to 3) and the same tokenizer. All four models still said 21 as *einundzwanzig*, and of 140 longer names that end in it, such as 7021, they got about 98 % or more right. So the model has learned words, and how they are put together, from ten thousand pairs and with fewer than two hundred thousand parameters.

# %% [markdown]
# Is it really as good as it looks? Two more measurements will help us to judge scores from now on. *Told* gives the decoder the right beginning, as in training, and counts the tokens that it gets right. *Alone* lets the model write, and counts whole names:

# %%
validation = training.Examples.from_pairs(pairs.validation, tokenizer)
val_src, val_tgt = (tokens.to(default_device()) for tokens in (validation.src, validation.tgt))
is_token = val_tgt != pad_id


@torch.no_grad()
def told(model, shift=training.shift_right, dropout=False):
    """The share of tokens right if the model is told all tokens before, and the plain loss."""
    model.train(dropout)
    logits = model(val_src, shift(val_tgt, bos_id))
    right = (logits.argmax(-1) == val_tgt)[is_token].float().mean().item()
    return right, PAPER_LOSS(logits, val_tgt, 0.0, pad_id).item()


def alone(model):
    """The share of names that are right if the model writes alone."""
    return training.exact_match(model, tokenizer, pairs.validation)

# %% tolerance=0.1
torch.manual_seed(0)
perplexity = {dropout: math.exp(told(model, dropout=dropout)[1]) for dropout in (False, True)}
print(f"told: {100 * told(model)[0]:.0f} % of tokens, alone: {100 * alone(model):.0f} % of names")
print(f"perplexity {perplexity[False]:.2f}, with dropout as in training {perplexity[True]:.2f}")
assert perplexity[False] < 1.1 < perplexity[True]

# %% [markdown]
# A perplexity of 1.06 lies *below* the 1.11 of a model that predicts the softened truth exactly. Did your model ignore the smoothing? No: it was trained with dropout, and with dropout it stays above 1.11. Training fits the predictions of a model that is missing a tenth of its features. When we evaluate, dropout is off, and the same model, which now has all of its features, is surer than the softened truth asks it to be.
#
# If that is the cause, a model trained *without* dropout should end near 1.11, and it does: four trainings without dropout ended at 1.11 to 1.13, where three with dropout ended at 1.06 to 1.07.

# %% [markdown]
# ## Look: it crosses
#
# English says the tens first and German the unit. To write *ein* of *einundzwanzig*, the decoder needs *one*, which stands at the end of the source, and after it *twenty*, which stands before. In the view you can step through the output tokens, the layers (0 and 1) and the heads. **Predict first:** in which layer does the decoder look at the words that it translates?

# %%
widgets.own_sentence(model, tokenizer, ["twenty-one"])
# %% [markdown]
# <details><summary>After you have looked</summary>
# All four heads of layer 1, the last, look at them: <i>ein</i> looks at <i>one</i>, and <i>undzwan</i>, where the tens begin, looks at <i>twenty</i>. In layer 0 some heads do so, too, and others look elsewhere.
# </details>
#
# The two lines of sight cross, and nobody has told the model which words belong together. But a single picture could be a lucky one, so an *Extra* measures all test numbers of this kind, and hides the unit from the decoder to see whether it needs it. Both confirm the picture.

# %% [markdown]
# ## Break it: training without the shift
#
# Now we can come back to the question about Figure 1. Suppose that the shift belonged to inference and not to training, so that the decoder's input and its target are the same. **Predict:** how many tokens will this model get right when it is *told* the beginning, and how many names when it writes *alone*? (5 seconds)

# %%
def fresh(kind=Transformer, seed=0):
    torch.manual_seed(seed)
    return kind(config).to(default_device())


def not_shifted(tgt, begin):
    return tgt
# %% tolerance=0.15 steps=40
copier = fresh()
losses = train(copier, 40, shift=not_shifted)
right, plain_loss = told(copier, not_shifted)
print(f"told:  {100 * right:.0f} % of tokens right, plain loss {plain_loss:.2f}")
print(f"alone: {100 * alone(copier):.0f} % of names right")
assert right > 0.95
assert alone(copier) < 0.05

# %%
said = training.translate(copier, tokenizer, ["twenty-one"])[0]
print("it repeats itself:", said[:3] in said[3:])
# %% [markdown]
# After 40 steps the score is nearly perfect, and the model is worthless, because all it has learned is to repeat what it reads. When it writes alone it reads *begin*, says some token, reads *that* one, and says it again. More training would not help, because its loss rewards nothing but the copy.
#
# **So the shift belongs in training.** In inference nothing is shifted, since the model's own tokens already stand where the shifted targets stood.

# %% [markdown]
# ## Break it: a validation that cheats
#
# The copier betrayed itself as soon as we let it write. Would a validation by *told* have found it? Only if the validation did not make the same mistake. To see this with a subtler bug, suppose that the causal mask is missing in training, in validation, or in both. We take two models that began with the same weights and saw the same batches: your own as it was after 200 steps, and one that is trained for 200 steps without the mask. Both are then validated by *told*, with the mask and without it. (10 seconds)

# %% steps=200
from transformer_lab import padding_mask


class NoMask(Transformer):
    def forward(self, src, tgt):
        src_mask, tgt_mask = padding_mask(src, pad_id), padding_mask(tgt, pad_id)
        return self.decode(tgt, self.encode(src, src_mask), tgt_mask, src_mask)


def with_weights(state, kind=Transformer):
    one = fresh(kind)
    one.load_state_dict(state)
    return one


cheater = fresh(NoMask, seed=2)  # the weights with which your model began
losses = train(cheater, 200)

# %% tolerance=0.4
print("in training   told, with mask   told, without   alone (names)")
rows = {}
for name, state in {"with mask": states[200], "without": cheater.state_dict()}.items():
    told_right = [told(with_weights(state, kind))[0] for kind in (Transformer, NoMask)]
    rows[name] = *told_right, alone(with_weights(state))
    print(f"{name:12} {100 * rows[name][0]:13.0f} % {100 * rows[name][1]:13.0f} %", end="")
    print(f" {100 * rows[name][2]:13.0f} %")
assert rows["without"][1] > rows["with mask"][0] - 0.02
assert rows["with mask"][1] < rows["with mask"][0] - 0.2
assert rows["without"][2] < 0.2 < rows["with mask"][2]
# %% [markdown]
# A validation without the mask is wrong in both directions. It calls the good model bad, because each position is suddenly shown tokens that it never saw in training. And it gives full marks to a model that cannot write: this one has learned to copy the next token from the future, and when it writes alone there is no future to copy from.
#
# A validation *with* the mask does notice the difference, and so does letting the model write. Hence the rule: **validate the computation that you will use.**

# %% [markdown]
# ## Break it: a test with a blind spot
#
# Even a validation that computes the right thing can only see what is in its data. In this lesson the pairs were drawn by the *kind* of their names, and each short name of the training occurs in it ten times (*zero* a hundred times). Suppose that you only see to it that each *length* occurs, from one digit to six. We train on such a split for 200 steps (10 seconds), and test the new model on its own test first. Then we test it on short names and on whole thousands, beside your own model after 200 steps. **Predict** where the new one fails.

# %%
blind = tasks.number_names("en", "de", kinds=tasks.lengths_of_numbers, seed=44)
blind_model = fresh(seed=2)  # the weights with which your model began
losses = train(blind_model, 200, data=training.Examples.from_pairs(blind.train, tokenizer))
for name, part in {"training": blind.train, "test": blind.test}.items():
    round_ones = sum(source.endswith("thousand") for source, _ in part)
    print(f"names that end in thousand, in the {name}: {round_ones} of {len(part)}")

# %% tolerance=8
def right_of(model, numbers):
    names = [(tasks.number_name(n, "en"), tasks.number_name(n, "de")) for n in numbers]
    return 100 * training.exact_match(model, tokenizer, names)


by_kind_model = Transformer(config).to(default_device())
by_kind_model.load_state_dict(states[200])  # after 200 steps, too
simple = {"0 to 20": range(21), "whole thousands": range(1000, 1_000_000, 7000)}
own_test = 100 * training.exact_match(blind_model, tokenizer, blind.test)
print(f"the model of the split by length, on its own test: {own_test:.0f} %")
for name, numbers in simple.items():
    by_length, by_kind = (right_of(one, numbers) for one in (blind_model, by_kind_model))
    print(f"{name:15} split by length {by_length:.0f} %, by kind {by_kind:.0f} %")
assert own_test > 80
assert by_length < by_kind - 10  # of whole thousands
assert by_length < own_test - 10
# %% [markdown]
# By its own test nearly every name comes out right, and yet the model gets only a small share of the whole thousands. Among its ten thousand training names only five are that round, and each name up to 20 occurs once. The test could not notice this, because it was drawn in the same way and asks for no whole thousand at all.

# %% [markdown]
# This shows what each model *can* say, not what it can infer, because all names up to 20 are in both trainings, and 24 of the 143 whole thousands are in that of the split by kind.
#
# **A test cannot see what its data leave out.** So think of the slices that matter *before* you draw it.

# %% [markdown]
# ## The answer
#
# Can a laptop learn to say 21 as *einundzwanzig* in a minute? Yes. In a few hundred steps a model with fewer than two hundred thousand parameters has learned the words, their spelling and their order from fewer than nine thousand other names. We have a right to say so for three reasons. The names of the test were not in the training, the model wrote them alone, and we counted slice by slice. Each experiment that followed dropped one of the last two: the model was told the beginning, or the slices were not counted. Each time a model that could not do its job got a fine score.

# %% [markdown]
# ## Remember
#
# - Byte-pair encoding joins the most frequent neighbours; encoding replays the merges, and bytes catch the rest.
# - In teacher forcing the input is the target, shifted right, so that all positions learn at once.
# - With label smoothing a perfect loss is not 0, but the entropy of the softened truth.
# - Adam cancels the size of the gradients, so the rate decides how far a step goes.
# - A score counts if the model wrote alone, on names it has never seen, slice by slice.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. The targets are 7 8 9 end. What does the decoder read in training, and what does it read in the third step of writing?</summary>
# In training it reads begin 7 8 9. In the third step of writing it reads begin and the two tokens that it has written itself, whether they are right or wrong.
# </details>
# <details><summary>2. A loss of 0.95 with 406 tokens and smoothing 0.1: is there much left to learn?</summary>
# There is hardly anything left, because the floor, which is the entropy of the softened truth, is 0.92.
# </details>

# %% [markdown]
# <details><summary>3. Your validation is at 100 % after a minute. Name two bugs of this lesson that can cause this.</summary>
# The targets may not be shifted, or the causal mask may be missing. Both let the model read the answer, and both are found by letting it write.
# </details>
# <details><summary>4. Why can the tokenizer encode a word in any script?</summary>
# A character that is not in its alphabet becomes bytes, and all 256 bytes are tokens.
# </details>

# %% [markdown]
# **Next:** at each step the model wrote the most probable token. Is that the most probable *sentence*? [Lesson 08](08_decoding.ipynb) takes the decoder apart: greedy, sampling, beam search, and what a cache saves.

# %% [markdown]
# ## Extra: does it really cross?
#
# In the view above the attention crossed for one number. Does it cross for all? We measure it on all test numbers that end in tens and a unit. The spelling of a number tells us which of its tokens belong together:

# %%
def positions(text, word, behind=""):
    """Positions of the tokens that hold a word; the text ends in it and in what is behind it."""
    end, at, found = len(text) - len(behind), 0, []
    for position, part in enumerate(parts(text)):
        if at < end and at + len(part) > end - len(word):
            found.append(position)
        at += len(part)
    return found


numbers = [*range(1, 10), *range(20, 100, 10)]
german = {tasks.number_name(n, "en"): tasks.number_name(n, "de") for n in numbers} | {"one": "ein"}


def truth_of(source, target):
    """For unit and tens: the target position where the word begins, its source positions."""
    tens, unit = source.split()[-1].split("-")
    behind = "und" + german[tens]
    return {
        "unit": (positions(target, german[unit], behind)[0], positions(source, unit)),
        "tens": (positions(target, german[tens])[0], positions(source, tens, "-" + unit)),
    }


print(" | ".join(parts("twenty-one")), "→", " | ".join(parts("einundzwanzig")))
print(truth_of(*twenty_one))
# %% [markdown]
# To write the unit, target position 0 should look at source position 1, *one*. The tens begin at target position 1, which should look at source position 0. Now we let the model read the test, and ask each head of each layer for its *largest* weight. For comparison there is a **diagonal**, along which the largest weights would lie if both languages had the same order:

# %%
from transformer_lab import record_attention

crossing = [(source, target) for source, target in pairs.test if "-" in source.split()[-1]]
test = training.Examples.from_pairs(crossing, tokenizer)
src, tgt = (tokens.to(default_device()) for tokens in (test.src, test.tgt))
model.eval()
with record_attention(model) as maps, torch.no_grad():
    model(src, training.shift_right(tgt, bos_id))
cross = torch.stack([maps[f"decoder.layers.{i}.cross_attention"].cpu() for i in (0, 1)])
looks = cross.argmax(-1)  # (layers, B, heads, T): a source position
# %%
hits, straight = {"unit": [], "tens": []}, {"unit": [], "tens": []}  # heads, and a diagonal
for b, (source, target) in enumerate(crossing):
    slope = (len(parts(source)) - 1) / (len(parts(target)) - 1)
    for word, (at, right) in truth_of(source, target).items():
        hits[word].append(torch.isin(looks[:, b, :, at], torch.tensor(right)))
        straight[word].append(round(at * slope) in right)
# %% tolerance=0.15
best, diagonal = {}, {}
for word in hits:
    best[word] = torch.stack(hits[word]).float().mean(0)[-1].max().item()  # of layer 1's heads
    diagonal[word] = sum(straight[word]) / len(crossing)
    print(f"{word}: best head {100 * best[word]:.0f} %, a diagonal {100 * diagonal[word]:.0f} %")
assert best["unit"] > diagonal["unit"] + 0.5
# %% [markdown]
# The diagonal misses nearly every unit, and the model's best head finds nearly all of them, so the attention does cross. (The diagonal hits three quarters of the tens, which stand near the end in both languages.)

# %% [markdown]
# But weights only show where the decoder looks. Does it *need* to look there? We hide the tokens of the unit from it, and for comparison those of the tens, in the 72 names from *twenty-one* to *ninety-nine*. How often is the first token, which should be the unit's, still right?

# %%
from transformer_lab import decoder_mask


def first_right(hidden):
    right = 0
    for tens in range(20, 100, 10):
        for unit in range(1, 10):
            source, target = (tasks.number_name(tens + unit, language) for language in ("en", "de"))
            src = torch.tensor([[*tokenizer.encode(source), eos_id]]).to(default_device())
            visible = padding_mask(src, pad_id).clone()
            if hidden:
                visible[..., truth_of(source, target)[hidden][1]] = False
            with torch.no_grad():
                memory = model.encode(src, padding_mask(src, pad_id))
                begin = torch.full((1, 1), bos_id, device=src.device)
                logits = model.decode(begin, memory, decoder_mask(begin, pad_id), visible)
            right += logits.argmax(-1).item() == tokenizer.encode(target)[0]
    return right

# %% tolerance=2
found = {hidden: first_right(hidden) for hidden in (None, "tens", "unit")}
for hidden, right in found.items():
    print(f"{hidden or 'nothing':7} hidden: first token right in {right} of 72")
assert found["unit"] < found["tens"] - 20
# %% [markdown]
# Without the tens the decoder still says the unit. Without the unit it gets most of them wrong, although not all; guessing among nine digits would get 8 of 72 right. So the decoder does use what it looks at.

# %% [markdown]
# Which parts does the model need for this? Here is the whole model, with the weights that you have just trained, running in your browser without a kernel. Type a number of your own, press a ribbon to see the heads behind it, and press a number in one of their matrices to see the sum that made it.
#
# **Predict**, then press *every matrix*, and there *switch off*, and try: in each layer of the decoder, four heads of cross-attention read the source. Which four can it do without, those of layer 0 or those of layer 1?

# %%
widgets.machine(model, tokenizer, "twenty-one")
# %% [markdown]
# One number proves little, so we let torch switch off the same heads for all 200 validation numbers. We also switch off the encoding of the input, without which the encoder does not know the order of the words:

# %%
from transformer_lab.analysis import switched_off

cross_heads = [[f"decoder.layers.{i}.cross_attention.head.{j}" for j in range(4)] for i in (0, 1)]
without = {"nothing": [], "layer 0's": cross_heads[0], "layer 1's": cross_heads[1]}
without["the encoding"] = ["src_embedding.positions"]
# %% tolerance=0.4
right = {}
for name, off in without.items():
    with switched_off(model, *off):
        right[name], kinds = alone(model), by_slice(model, pairs.slices)
    print(f"without {name:12} {right[name]:.2f} are right", end="; ")
    print(f"of the test below 100 {kinds['short']:.2f}, of 6 digits {kinds['6 digits']:.2f}")
assert right["layer 1's"] < 0.05 < right["layer 0's"] < right["nothing"]
assert right["the encoding"] < 0.3
assert kinds["6 digits"] < 0.1 < 0.5 < kinds["short"]  # without the encoding
# %% [markdown]
# Without layer 1's four heads no name is right. Without the four of layer 0 most names still are here, but how many depends on the seed of the training. Without the encoding the source is a bag of tokens. Below 100 the tokens alone tell the number in most cases, but hardly any name of six digits comes out right.

# %% [markdown]
# ## Extra: the average of the last weights
#
# The paper did not translate with the last weights of its training: "we used a single model obtained by averaging the last 5 checkpoints" (§6.1). We average the last five states of your training, weight by weight:

# %% tolerance=0.1
averaged = Transformer(config).to(default_device())
averaged.load_state_dict(training.average_weights([*states.values()][-5:]))
for name, one in {"last weights": model, "average of 5": averaged}.items():
    loss, right = told(one)[1], 100 * alone(one)
    print(f"{name}: plain loss {loss:.3f}, perplexity {math.exp(loss):.2f}, {right:.0f} % right")
assert told(averaged)[1] < told(model)[1]
# %% [markdown]
# The average has the lower loss. A likely reason is the one that [Izmailov et al. (2018)](https://arxiv.org/abs/1803.05407) give for such means. Late in training the weights move to and fro around a good point, and their mean lies nearer to it.

# %% [markdown]
# ## Extra: one wrong token
#
# Teacher forcing has a price. In training the decoder only ever reads right beginnings, but when it writes alone it also reads its own mistakes. This difference is called **exposure bias** ([Ranzato et al., 2016](https://arxiv.org/abs/1511.06732)). How much does it cost? We replace the first token that your model is told with the first token of another number, and count how many of the *later* tokens it still gets right, by their distance from the wrong one:

# %%
inputs = training.shift_right(val_tgt, bos_id)
wrong = inputs.clone()
wrong[:, 1] = inputs[:, 1].roll(1)  # the first token of the number above it
changed = (wrong[:, 1] != inputs[:, 1])[:, None] & is_token
with torch.no_grad():
    said = [model(val_src, read).argmax(-1) for read in (inputs, wrong)]
# %% tolerance=0.6
shares = {}
for name, at in {"next": slice(1, 2), "second": slice(2, 3), "later": slice(3, None)}.items():
    right = [(tokens == val_tgt)[:, at][changed[:, at]].float().mean().item() for tokens in said]
    shares[name] = right[1]
    print(f"{name:6} token right: {100 * right[0]:.0f} %, after a wrong one {100 * right[1]:.0f} %")
assert shares["next"] < shares["second"] - 0.2
assert shares["later"] > 0.9

# %% [markdown]
# Nearly all of the errors are in the token directly after the wrong one. After that the model recovers almost completely. This task makes it easy, since the source still names the whole number. In other tasks an early mistake may be harder to repair, so this says little about the cost of exposure bias elsewhere.

# %% [markdown]
# ## Extra: a softmax too many
#
# `F.cross_entropy` takes logits, because it contains a softmax itself. If a model ends in a softmax and hands over probabilities, there are two of them. How low can the loss then get, with a model that is *certain* and right?

# %%
vocab = len(tokenizer)
certainly_right = F.one_hot(torch.tensor([7]), vocab).float()  # all probability on token 7
bound = F.cross_entropy(certainly_right, torch.tensor([7])).item()
print(f"lowest loss: {bound:.2f}; of pure guessing: {math.log(vocab):.2f}")
print("ln(vocab - 1 + e) - 1:", round(math.log(vocab - 1 + math.e) - 1, 2))
# %% [markdown]
# Between guessing and certainty the loss falls by less than 1, because even at certainty $e^{1}$ competes with 405 times $e^{0}$. The gradient suffers as well. We draw 200 first guesses among 1000 tokens at random, and ask for each how many times smaller a second softmax makes its gradient:

# %% tolerance=0.3
def times_smaller(seed):
    generator = torch.Generator("cpu").manual_seed(seed)
    logits = torch.randn(1, 1000, generator=generator, device="cpu").requires_grad_()
    answer = torch.tensor([7], device="cpu")
    losses = (F.cross_entropy(guess, answer) for guess in (logits, logits.softmax(-1)))
    right, wrong = (torch.autograd.grad(loss, logits)[0].norm() for loss in losses)
    return (right / wrong).item()


factors = sorted(times_smaller(seed) for seed in range(200))
low, half, high = factors[0], factors[100], factors[-1]
print(f"smaller {low:.0f} to {high:.0f} times; half of them {half:.0f} or more")
assert low > 20
assert half > 500

# %% [markdown]
# For a single guess at the start of training, the gradient is about a hundred to many thousands of times too small. But Adam cancels the size of the gradients, as you have seen. So what does the second softmax cost in a real training? We have kept your model as it was after 60 steps. Now we train a twin of it with probabilities, from the same weights and on the same batches (3 seconds):

# %% tolerance=0.2
def of_probabilities(logits, targets, smoothing, pad_id):
    return PAPER_LOSS(logits.softmax(-1), targets, smoothing, pad_id)


with_logits, with_probabilities = with_weights(states[60]), fresh(seed=2)
losses = train(with_probabilities, 60, loss_of=of_probabilities)
shares = [told(one)[0] for one in (with_logits, with_probabilities)]
print(f"logits:        {100 * shares[0]:.0f} % of tokens right")
print(f"probabilities: {100 * shares[1]:.0f} % of tokens right")
print(f"lowest loss of probabilities: {min(losses):.2f}")
assert min(losses) > bound
assert shares[0] > shares[1] + 0.1
# %% [markdown]
# After the same 60 steps, one of the two has learned far less. Why, if Adam cancels the size of the gradients? Because their *direction* has changed, too. For the probability $p$ of the right token the new loss is $\ln \sum_j e^{p_j} - p$ (smoothing aside), and its first term is about 6.01 whatever the probabilities are. What is left, $-p$, rewards a model that can't yet tell the positions apart for betting everything on one common token, whereas $-\ln p$ makes it pay dearly for each bet that it loses. With each of three seeds, the model had done so after 60 steps: it gave the same answer at every position, with a probability above 0.99. Two models that were trained on $-p$ alone did the same.

# %% [markdown]
# There is no error and no warning: the loss falls a little, and the problem only looks hard. That is why **models return logits**, and the softmax belongs to the loss, or to whoever needs probabilities.

# %% [markdown]
# ## Extra: no warm-up
#
# What is the climb of the rate good for? Two things are often mixed up here, *that* the rate climbs and *how high* it gets, so we change one at a time. We take a rate and either keep it from the first step on, or climb to it in 20 steps and keep it then. To save time, the model learns short names only, in 40 steps with three seeds each (10 to 15 seconds). **Predict** what the climb changes.

# %%
def constant(peak):
    return lambda step: peak


def climb(peak):
    return lambda step: peak * min(1, step / 20)


short_names = [(source, target) for source, target in pairs.train if "thousand" not in source]
short = training.Examples.from_pairs(short_names, tokenizer)
final = {}
for peak, schedule in ((0.003, constant), (0.003, climb), (0.01, constant), (0.01, climb)):
    final[schedule.__name__, peak] = [
        sum(train(fresh(seed=s), 40, rate_of=schedule(peak), data=short, seed=s)[-10:]) / 10
        for s in (0, 1, 2)
    ]
# %% tolerance=0.35
mean = {key: sum(losses) / 3 for key, losses in final.items()}
for (name, peak), losses in final.items():
    listed = "  ".join(f"{loss:.2f}" for loss in losses)
    print(f"{name:8} {peak:5}: loss {listed}  mean {mean[name, peak]:.2f}")
assert mean["climb", 0.01] < mean["constant", 0.01] - 0.1
assert mean["constant", 0.003] < mean["climb", 0.003] + 0.1
assert mean["constant", 0.003] < mean["climb", 0.01] + 0.1
# %% [markdown]
# At 0.01, which is too high for the first steps, the climb undoes part of the harm. At 0.003 it gains nothing, since the constant rate of 0.003 ends about as low as either climb, or lower. (Two rates and 40 steps are not much.)

# %% [markdown]
# A climb does two things at once. It begins with short steps, and it makes the *mean* rate lower. Which of them helps? As a control, we gave the model the same 40 rates in another order, in which ten steps at 0.01 come first and the climb only then. From five seeds it ended about as high as with the constant rate. So the lower mean alone brings little as long as the first steps are long, and what helps is that the *first* steps are short. A warm-up need not help at every rate, and it can make a rate that is too high less harmful.

# %% [markdown]
# Large first gradients cannot make the first steps too long, because Adam cancels the size of the gradients. So what sets the first steps apart? Suppose that the gradients are nothing but noise, in which no direction is right. How far does Adam go all the same? We hand noise to the `adam` that we wrote by hand, with a rate of 1:

# %% tolerance=0.1
noise = torch.randn(1000, 100, generator=torch.Generator("cpu").manual_seed(0), device="cpu")
paths = torch.tensor([[0.0, *adam(one_weight, rate=1.0)] for one_weight in noise.tolist()])
lengths = paths.diff(dim=1).square().mean(0).sqrt().tolist()  # root mean square of 1000 weights
for step in (1, 3, 10, 30, 100):
    print(f"step {step:3}: {lengths[step - 1]:.2f} of the rate")
assert lengths[0] > 0.99 > 0.5 > lengths[9] > lengths[99]
# %% [markdown]
# The first step follows the noise of a single batch over the full length of the rate. Later $m$ averages the noise as well as a plain mean of 19 gradients would ($\sqrt{0.1/1.9} = 1/\sqrt{19} = 0.23$), so that the step is a quarter as long. (A direction that all gradients share does not cancel, and keeps its full length.) The first steps thus follow chance more than any others do, and a climb makes these steps short.
#
# Besides, $\sqrt{v}$ is a rough estimate as long as it rests on a few gradients, which is where [Liu et al. (2020)](https://arxiv.org/abs/1908.03265) see the reason for a warm-up. In larger models the climb can decide whether anything is learned at all: for a Transformer that translates German into English, they report that the training loss ends near 10 instead of 3 without it.

# %% [markdown]
# ## Extra: too few pairs
#
# What the model learned in this lesson held for new names as well. That is not always so. We train on 64 pairs only, without smoothing and with a shorter climb of the rate, and watch the plain loss on these pairs and on the validation pairs (5 to 10 seconds). **Predict** both curves:

# %% steps=120
from dataclasses import replace

few = training.Examples.from_pairs(pairs.train[:64], tokenizer)
few_recipe = replace(recipe, smoothing=0.0, warmup_steps=20, rate_factor=0.15)
memoriser = fresh()
seen = {"training": [], "validation": []}
for report in training.Training(memoriser, few, few_recipe).run(until=120):
    if report.step % 10 == 0:
        seen["training"].append(report.loss)
        seen["validation"].append(told(memoriser)[1])

# %%
every_ten = range(10, 10 * len(seen["training"]) + 1, 10)
ax = plots.plot_lines(every_ten, seen, x_label="step", y_label="plain loss")
plots.show(ax, alt="Plain loss by step: training falls near 0; validation falls, then rises.")

# %% tolerance=1
last = seen["validation"][-1]
print(f"training loss {seen['training'][-1]:.2f}")
print(f"validation loss {last:.2f}, at its lowest {min(seen['validation']):.2f}")
known = training.exact_match(memoriser, tokenizer, pairs.train[:64])
print(f"known names right {100 * known:.0f} %, new names right {100 * alone(memoriser):.0f} %")
assert last > seen["training"][-1] + 0.5
assert last > min(seen["validation"]) + 0.05
assert known > alone(memoriser) + 0.3
# %% [markdown]
# This is **overfitting**. The training loss goes on falling, while the validation loss stays far above it and, after some time, rises again. The model knows its 64 pairs by heart and can do little else. You could stop when the validation loss is at its lowest, but it is high even there.

# %% [markdown]
# ## Extra: your language
#
# Which language should the model learn? One line decides, and the cells above train it. `tasks.languages()` lists all languages that num2words can count in, although not all of them reach a million (`am` does not).

# %%
french = tasks.number_names("en", target="fr", n_train=300, n_test=20)
print(french.test[0])
print(", ".join(language for language in tasks.languages() if len(language) == 2))
# %% [markdown]
# Write `"fr"` for `"de"` in the first cell of *The question*, and run the cells from there to the view of *Look: it crosses*. **Predict** what its map shows for *ninety-nine*, which is *quatre-vingt-dix-neuf* (four-twenty-ten-nine). The command line trains a larger model, for longer:
#
# ```
# python -m transformer_lab.training --target fr --out fr.safetensors
# ```

# %% [markdown]
# A larger model, made by this command for German with `--seed 1 --lean`, comes with the package. It has 0.7 million parameters, which are the average of its last five checkpoints. How good is it on the slices of *its* test, none of which it was trained on?

# %%
larger, its_tokenizer, facts = training.load_checkpoint("en_de")
print({kind: f"{100 * share:.1f} %" for kind, share in facts["slices"].items()})
names = [(tasks.number_name(n, "en"), tasks.number_name(n, "de")) for n in range(1000)]
its_score = training.exact_match(larger, its_tokenizer, names)
print(f"all names from 0 to 999, many of them from its training: {100 * its_score:.1f} % right")
assert its_score == 1
# %% [markdown]
# Its seed was chosen, though: the same command with seed 0 gets one of the 1000 test names wrong. Lesson 08 starts from this model.

# %% [markdown]
# ## Extra: BLEU
#
# A sentence has many right translations, so for most texts exact match would be too strict. The paper reports **BLEU** instead (§6.1; [Papineni et al., 2002](https://aclanthology.org/P02-1040)). BLEU takes the share of the translation's n-grams (runs of n tokens) that also occur in the reference, for n from 1 to 4, and then their geometric mean. A translation that is too short is punished by $e^{1 - r/c}$, where $r$ and $c$ are the lengths of reference and translation:

# %%
def bleu(pairs):
    """BLEU of (translation, reference) pairs of token lists: counts of all pairs together."""
    found, possible = [0] * 4, [0] * 4
    for said, wanted in pairs:
        for n in range(1, 5):
            grams = [Counter(zip(*[words[i:] for i in range(n)])) for words in (said, wanted)]
            found[n - 1] += sum((grams[0] & grams[1]).values())  # each at most as often as there
            possible[n - 1] += sum(grams[0].values())
    length, reference = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
    precisions = [share / most for share, most in zip(found, possible)]
    shortness = min(1, math.exp(1 - reference / length))
    return 100 * shortness * math.prod(precisions) ** 0.25


wanted = "the bank of the river is green".split()
for said in ("the river bank is green", "the bank of the river is red"):
    print(f"{said:32} BLEU {bleu([(said.split(), wanted)]):.0f}")
# %% [markdown]
# The first is a good translation and scores 0, as no run of four words agrees; the second is wrong and scores high. BLEU is therefore meant for whole test sets, not for single sentences, and it rewards words rather than meaning. For the names of numbers, which have one right answer, exact match is stricter:

# %% tolerance=0.1
said = training.translate(model, tokenizer, [source for source, _ in pairs.validation])
lists = [(parts(ours), parts(wanted)) for ours, (_, wanted) in zip(said, pairs.validation)]
one_wrong = [([*parts(wanted)[:-1], "?"], parts(wanted)) for _, wanted in pairs.validation]
equal = sum(said == wanted for said, wanted in one_wrong) / len(one_wrong)
print(f"your model: BLEU {bleu(lists):.0f}, exact match {100 * alone(model):.0f} %")
print(f"every last token wrong: BLEU {bleu(one_wrong):.0f}, exact match {100 * equal:.0f} %")
assert bleu(one_wrong) > 40
# %% [markdown]
# ## Extra: where the names are wrong
#
# A model learns the mistakes of its data as faithfully as everything else. In Dutch a space must follow *duizend*, and in Spanish *uno* loses its *o* before *mil*; num2words does neither, and both mistakes have been reported to its authors ([628](https://github.com/savoirfairelinux/num2words/issues/628), [515](https://github.com/savoirfairelinux/num2words/issues/515)). In German *eins* loses its *s* before *tausend*. The library knows that for 1000, but not for 101 000:

# %%
should_be = "tweeduizend tweehonderdtweeëntwintig", "treinta y un mil", "einhunderteintausend"
for (language, number), right in zip((("nl", 2222), ("es", 31000), ("de", 101_000)), should_be):
    print(f"{number:6} in {language}: {tasks.number_name(number, language)}, should be {right}")
wrong = sum("einstausend" in target for _, target in pairs.train)
print(f"names with einstausend: {wrong} of {len(pairs.train)}")
# %% [markdown]
# ## Extra: the same as the package and PyTorch
#
# The package's loss and PyTorch's own, given the logits $\ln p$, agree with the sum that we worked out by hand, and torch's Adam takes the path of ours:

# %%
p = torch.tensor([0.7, 0.1, 0.1, 0.1])
ours = training.label_smoothing_loss(p.log()[None, None], torch.tensor([[0]]), 0.1, pad_id=3).item()
theirs = F.cross_entropy(p.log()[None], torch.tensor([0]), label_smoothing=0.1).item()
by_hand = -sum(t * math.log(q) for t, q in zip(soft, p.tolist()))
print(f"ours {ours:.4f}, torch {theirs:.4f}, by hand {by_hand:.4f}")
print("max difference < 1e-6:", max(abs(ours - by_hand), abs(theirs - by_hand)) < 1e-6)
# %%
weight = torch.nn.Parameter(torch.zeros(()))
optimizer, path = torch.optim.Adam([weight], lr=0.01, betas=(0.9, 0.98), eps=1e-9), []
for gradient in gradients:
    weight.grad = torch.tensor(gradient)
    optimizer.step()
    path.append(weight.item())
print("max difference < 1e-6:", max(abs(a - b) for a, b in zip(path, adam(gradients, 0.01))) < 1e-6)
# %% [markdown]
# The package's loop is the same as ours. To see it, we train two models with equal weights, one with each loop, and without dropout, so that chance plays no part:

# %% tolerance=0.2
certain = replace(config, dropout=0.0)
one, other = (Transformer(certain).to(default_device()) for _ in range(2))
other.load_state_dict(one.state_dict())

mine = train(one, 8)
theirs = [report.loss for report in training.Training(other, examples, recipe).run(until=8)]
print("max difference < 1e-3:", max(abs(a - b) for a, b in zip(mine, theirs)) < 1e-3)
print(f"loss from {mine[0]:.1f} to {mine[-1]:.1f} in 8 steps")
