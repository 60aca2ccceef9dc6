# %% [markdown]
# # 14 · The bug clinic
#
# A program of nearly four hundred lines runs without an error, its loss falls, and its answers are wrong. You learn to find out where.
#
# **You will be able to**
# - find a bug that raises no error, in five steps that go from cheap to precise,
# - say which kind of bug each step sees, and which it can't see,
# - tell a repair from a change that only hides a symptom.
#
# **You need** lessons 05 to 09, and rotary positions from lesson 11. **Time:** 45 minutes, the exercises 140 more.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import inspect
import math

import torch
from torch.nn import functional as F

from transformer_lab import exercises, plots
from transformer_lab.training.experiments.clinic import patients, table, tools
from transformer_lab.training.experiments.clinic.bugs import BUGS
from transformer_lab.training.experiments.clinic.tools import bench, invariants

torch.set_num_threads(1)  # for models as small as these, more would only wait for each other

# %% [markdown]
# ## The question
#
# The patient of this lesson is a small assistant. You write a number in digits, and it answers in words. It is trained on chats of one to three turns about 900 of the numbers below 1000, and asked about the other 100. Training takes about ten seconds:

# %% steps=250
names = [*BUGS]  # a bug's name says too much, so we take one by its number
patient = patients.load(names[22])
model, losses = table.trained(patient, seed=0, n_steps=250)
chats = table.test_chats(patient)

# %%
figure, ax = plots.figure(width=6, height=3.2)
plots.plot_lines(range(len(losses)), {"the patient": losses}, ax, x_label="step", y_label="loss")
plots.show(figure, alt="The patient's loss falls from 4.4 to nearly 0, as it should.")

# %% tolerance=0.3
tokenizer = patient.data.all_names()
right = patient.generation.share_right(model, tokenizer, chats)
print(f"first loss {losses[0]:.2f}, last loss {losses[-1]:.2f}, right answers {right:.2f}")
assert losses[-1] < 0.3
assert right < 0.75

# %% [markdown]
# The curve is one that you would like to see, and the shapes all fit, or PyTorch would have complained. With so small a loss, nearly every word should be right. But most of the answers are wrong. **The shapes are right, the loss falls, and the model is wrong: where?**
#
# More training might be your first idea, or another learning rate. Both would waste a day, because there is a bug. It changes a single line, and no error message will lead you to it. What leads you there is a method.

# %% [markdown]
# ## The program
#
# It has four files, and each is short enough to be read in a few minutes: `data` makes chats, tokens and packed rows, `model` is a decoder with rotary positions and a cache, `training` has the loss and the optimiser, and `generation` answers many chats at once. Without a name, `patients.load()` is the healthy program, and `print(patients.load().sources["generation"])` shows you one of its files. `patients.load(name)` makes a copy of it in which one function is changed. There are 27 such bugs:

# %%
for file in patients.FILES:
    there = [bug for bug in BUGS.values() if bug.file == file]
    length = len(patient.sources[file].splitlines())
    functions = {bug.function for bug in there}
    print(f"{file:10} {length:3} lines, {len(there):2} bugs, in {len(functions)} functions")

# %% [markdown]
# It is tempting to begin by reading every line with equal suspicion, but that is slow. We go through five steps instead, and begin with the cheapest. The first three compute for a moment, the fourth trains for a few seconds, and the fifth needs a second program, but tells you the function. In our case you could guess where the trouble is, but go through all five steps: the next patient will be caught by a different one.

# %% [markdown]
# ## Step 1: read the data back
#
# The cheapest step trains nothing and computes nothing. Turn what the model *gets* into text again, and read it. Here is a packed row, in which several chats stand one after another, with the tokens that the loss should count in square brackets:

# %%
rows = bench.packed(patient, 12, seed=3)
marked = zip(rows.tokens[0].tolist(), rows.answers[0].tolist())
print("".join(f"[{tokenizer.pieces[i]}]" if yes else tokenizer.pieces[i] for i, yes in marked))

# %% [markdown]
# An answer begins after `<assistant>` and ends with `<end>`, which belongs to it, because otherwise nothing would teach the model to stop. This row is fine. A person should read a few rows like it, and then let a tool read more. Our first tool, `texts`, asks three questions. Does every text survive the trip to tokens and back? Is the test new? And does what generation reads begin like a chat of the training?
#
# **Predict** before you run it: will it raise an alarm?

# %%
print(tools.texts(patient))

# %% [markdown]
# It is quiet, so we look for the bug somewhere else. What would have alarmed it? Here are three other patients. Each has a small loss after training, and in each something is wrong that the loss does not measure.

# %%
for number in (0, 1, 26):
    print(tools.texts(patients.load(names[number])), "\n")

# %% [markdown]
# The first is a tokenizer that trims: it takes away the spaces, so `six hundred` comes back as `sixhundred`, and no loss can tell. The second lets the test's numbers into the training. The third puts a `<bos>` in front of a template that has one already, which happens with [real chat templates](https://huggingface.co/docs/transformers/chat_templating), too.

# %% [markdown]
# The second deserves an exercise, because it can make any score too good, and nobody looks for a bug in good news.

# %% [markdown]
# **Exercise 1** (find the bug; 10 minutes, hard). A table that knows its training sentences by heart, and nothing else, has a high score in validation.

# %% exercise="clinic_12"
def clinic_12(sentences, n_training):
    """Split sentences (N, T): the first n_training train; of the rest, the unseen validate."""
    training, rest = sentences[:n_training], sentences[n_training:]
    same = (rest[:, None] == training).all(-1)  # (rest, training)
    seen = same.all(1)
    return training, rest[~seen]


# %%
exercises.clinic_12.check(clinic_12)

# %% [markdown]
# ## Step 2: what must come out?
#
# So the data look right. But the loss may still ask for the wrong thing, so the second step computes a few numbers that you know beforehand. Before the first step of training a model knows nothing. If its first logits are small, its loss must be near that of a guess among all tokens, $\ln V$:

# %% tolerance=0.1
print(f"ln {len(tokenizer.pieces)} = {math.log(len(tokenizer.pieces)):.2f}")
print("the patient:", tools.first_loss(patient))
for number in (11, 16):
    print(f"number {number}:  ", tools.first_loss(patients.load(names[number])))

# %% [markdown]
# Number 11 has an embedding table with numbers as large as PyTorch draws them, and because the table is the output layer as well, the first logits are enormous. Number 16 divides the loss of the answers by the number of all places, including those of the questions and of the padding. At the end of a training you would see neither, because their losses become as small as they should, and nearly all of their answers are right. What gives them away is the height at which their curves *begin*.
#
# The next question is *which* tokens the loss asks for. You could read the indices, and that is where mistakes are made. It is safer to ask the loss itself. Its gradient is negative for exactly those logits that it wants to grow. By hand, with two positions and three tokens:

# %%
logits = torch.zeros(1, 3, 3, requires_grad=True)
tokens = torch.tensor([[0, 2, 1]])
F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()).backward()
for position, gradient in enumerate(logits.grad[0].tolist()):
    wanted = [token for token, x in enumerate(gradient) if x < 0]
    print(position, [round(x, 2) for x in gradient], "asks for", wanted)

# %% [markdown]
# Position 0 is asked for token 2 and position 1 for token 1, as it should be, and nothing is asked of the last. The tool `targets` does this with packed rows and compares it with the text. **Predict** again: will it be quiet for our patient?

# %%
print(tools.targets(patient))
for number in (12, 13):
    print(f"\nnumber {number}:", tools.targets(patients.load(names[number])))

# %% [markdown]
# Our patient passes. Number 12 asks each position for the token that it has just read, and number 13 shifts the labels twice.

# %% [markdown]
# **Exercise 2** (find the bug; 8 minutes, medium). A loss of 0 on tokens that were drawn at random.

# %% exercise="clinic_07"
def clinic_07(logits, tokens):
    """The mean loss of a language model: logits (B, T, vocab) for ids (B, T)."""
    n_steps = tokens.size(1) - 1  # nothing follows the last token
    predicted = logits[:, :n_steps].flatten(0, 1)
    wanted = tokens[:, :n_steps].flatten()
    return F.cross_entropy(predicted, wanted)


# %%
exercises.clinic_07.check(clinic_07)

# %% [markdown]
# ## Step 3: what must not matter?
#
# Data and loss look right, so what about the model? You don't know what its outputs should be. But you do know what must *not* change them. An **invariant** is a statement that holds for every input, and that you know without running the code. Change what must not matter, and measure what happens. By hand, with the healthy model's attention mask: the third token may not influence the first two.

# %%
healthy = patients.load()
torch.manual_seed(1)
query, key, value = torch.randn(3, 1, 1, 3, 4)
mask = healthy.model.may_attend(torch.ones(1, 3, dtype=torch.long), 3)
before = healthy.model.attention(query, key, value, mask)
key[:, :, 2] += 1
gap = (healthy.model.attention(query, key, value, mask) - before).abs().amax(-1)
print("changed by", [round(x, 2) for x in gap.flatten().tolist()])

# %% [markdown]
# Four tools test invariants of the whole program. They draw all weights at random and large, so that an influence that should not be there is easy to see.
#
# - `later`: another later token must not matter to the tokens before it.
# - `alone`: a chat must be read as if it were alone, although another one stands before it in its row.
# - `generation`: what is written in a padded batch, with a cache, must be what each prompt gives alone, without one.
# - `portions`: the gradient must be the same whether a batch is read at once or in five portions.
#
# **Predict** which of the four will raise the alarm. The loss was small, and the answers are wrong.

# %% tolerance=0.3
for tool in (tools.later, tools.alone, tools.generation, tools.portions):
    reading = tool(patient)
    print(f"{tool.__name__:11}", "ALARM" if reading.alarm else "quiet")
print(tools.generation(patient).says.split(" by ")[0])
assert tools.generation(patient).alarm
assert not tools.later(patient).alarm

# %% [markdown]
# Here it is. Nothing speaks against the reading or the gradient, but the program writes with other logits than the model has. That explains how a small loss goes with wrong answers. Still, the two ways of writing that the tool compares differ in two things: one has padding and a cache, the other has neither. To tell them apart, change only one of them. First a cache without padding, which means that each batch holds prompts of one length:

# %% tolerance=0.3
lengths = [len(prompt) for prompt in bench.prompts_of(patient, chats)]
unpadded = 0.0
for length in sorted(set(lengths)):
    some = [chat for chat, its_length in zip(chats, lengths) if its_length == length]
    unpadded += len(some) / len(chats) * patient.generation.share_right(model, tokenizer, some)
print(f"right in one batch {right:.2f}, in {len(set(lengths))} without padding {unpadded:.2f}")
assert unpadded > right + 0.2

# %% [markdown]
# Without padding, with the same cache and still in batches, the model is much better. So the cache alone is not to blame. What about the padding alone? The first pass reads the whole prompt and writes the first word, and nothing has been cached before it; only the second pass needs the cache. So we write one word in a padded batch, then two and three, and compare each time with what the prompt gives alone:

# %% tolerance=0.3
prompts = bench.prompts_of(patient, bench.some_chats(patient, 20, seed=4))
for length in (1, 2, 3):
    together = patient.generation.generate(model, prompts, max_new=length)
    alone = [patient.generation.generate(model, [prompt], max_new=length)[0] for prompt in prompts]
    equal = sum(a == b for a, b in zip(together, alone))
    print(f"{length} tokens written: {equal} of 20 prompts are answered as they are alone")

# %% [markdown]
# The first word is always that of the prompt alone, so while the prompt is read, the padding does no visible harm. From the second word on, more and more prompts get another answer. So the bug needs both, the padding and a pass that uses the cache. Which values depend on both? There are two. The *mask* must go on hiding the padding, which is in the cache now, and each new token's *position* must not count it.

# %% [markdown]
# ## Step 4: one step, and one batch by heart
#
# You have two suspects, but let us finish the round, because other bugs pass everything so far. Step 4 trains, though only a little. `step` takes a single step and looks at all parameters. `by_heart` trains a model on eight chats for 80 steps, and then lets it write the answers. A healthy program, if its model is wide enough, must be able to learn eight chats by heart:

# %% tolerance=0.5
print("step:", tools.step(patient), "\n")
for number in (4, 15, 19):
    print(f"number {number}:", tools.by_heart(patients.load(names[number])), "\n")

# %% [markdown]
# Number 15 applies a softmax twice, and the loss of probabilities between 0 and 1 can't become small. Number 19 erases its gradients before it uses them. Number 4 is of another kind: its loss becomes small, and then it can't *say* what it has learned. Its softmax runs over the queries, and a pass that uses the cache has only one, so every weight is 1. Even without a cache it would make mistakes, because in training the later queries took their share of each key, and in writing there are none.
#
# So `by_heart` catches what doesn't learn, and if you let the model *write*, it also catches much of what a small loss hides. The loss alone does not.

# %% [markdown]
# How wide should a model be for this test? At width 32 even the healthy program still has a loss above the tool's limit after so few steps. A tool that cries wolf is soon ignored, so we use width 64, at which no tool raises an alarm about the healthy program. Try a test of your own on a program that you trust before you believe its alarms.

# %% [markdown]
# **Exercise 3** (find the bug; 5 minutes, easy). Attention that learns by heart, and whose output is not a weighted mean.

# %% exercise="clinic_01"
def clinic_01(query, key, value):
    """Attention: (B, T, d), (B, S, d), (B, S, d_v) to output (B, T, d_v), weights (B, T, S)."""
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    weights = F.softmax(scores, dim=1)
    return weights @ value, weights


# %%
exercises.clinic_01.check(clinic_01)

# %% [markdown]
# ## Step 5: compare with a twin
#
# The last step is the most precise, and the most expensive, because you need a **twin**: the same computation by somebody else. It may be a published implementation, yesterday's version, or your own code written differently. Here it is the healthy program. Give both the same seeds, and compare them in the middle. If they agree there, the bug comes later, otherwise earlier. So each comparison halves what remains, and ten of them are enough for a thousand places.
#
# This works only if a difference, once it is there, does not vanish again: each place must use what came before it. So we run our program as a chain of five stages. Before the last stage, the writing, we move the weights a step against the gradient, so that what is written depends on the gradient as well.

# %%
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def stages(program):
    """What each stage hands to the next, from the same seeds."""
    rows, chats = bench.packed(program, 6, seed=0), bench.some_chats(program, 6, seed=0)
    model = bench.loud_model(program, seed=0, dropout=0.1).eval()
    with torch.no_grad():
        logits = model(rows.tokens, rows.documents)
        loss = program.training.token_losses(logits, rows).sum()
    gradient = invariants.gradients_after(program, chats, portions=3, steps=2)
    weights = parameters_to_vector(model.parameters()).detach()
    vector_to_parameters(weights - gradient / 10, model.parameters())
    recorder = bench.Recorder(model, model)  # it keeps the logits of every word that is written
    program.generation.answers(recorder, program.data.all_names(), chats)
    return {
        "rows": torch.stack([rows.tokens, rows.answers]),
        "logits": logits,
        "loss": loss,
        "gradient": gradient,
        "writing": torch.stack(recorder.logits),
    }


# %% [markdown]
# The search itself is short. It looks at the end first, because if the two programs agree there, no stage is to blame:

# %%
def bisect(one, other):
    """The first stage in which two programs differ, found by halving; None if they end alike."""

    def same(what):
        agree = torch.allclose(one[what], other[what], atol=1e-4)
        print(f"after {what:8}", "they agree" if agree else "they differ")
        return agree

    names = [*one]
    if same(names[-1]):
        return None
    agree, differ = -1, len(names) - 1
    while differ - agree > 1:
        middle = (agree + differ) // 2
        agree, differ = (middle, differ) if same(names[middle]) else (agree, middle)
    return names[differ]


# %% [markdown]
# After the look at the end, two or three comparisons decide among five stages. **Predict** which one the bisection will name.

# %%
found = bisect(stages(patient), stages(healthy))
print("look at:", found)
assert found == "writing"

# %% [markdown]
# The patient reads as the healthy program does, and computes the same loss and the same gradient, but it writes differently. For 22 of the 27 bugs the bisection names the first stage that differs. For number 3 it names the loss, although the rows differ already: only the marks of the answers are wrong there, and the logits don't read them, so the two programs agree once more in the middle. For the four others it finds nothing, because none of our stages does what is wrong in them: splitting the numbers, drawing the first weights, choosing what decays, and setting the rate.

# %% [markdown]
# A tool can go on comparing inside each stage, down to single functions. `twin` writes down the beginning and the end of every call in both programs, in a run that does a little of everything. At the first event that differs, there are two cases. If a call *began* with the same numbers and *ends* with others, the bug is in the function that was called. If it already *begins* with other numbers, the bug is in the function that made the call.

# %%
print(tools.twin(patient))
print(inspect.getsource(patient.generation.generate))

# %% [markdown]
# Among some seven hundred events, the first that differs names the function, and in it stands a line about one of our two suspects, the position: `torch.full_like(tokens, cache.documents.size(1))`. The position of a new token is the length of the cache, and that counts the padding. For a prompt without padding it is right. And the first word is right for every prompt, because it comes out of the pass over the prompt itself, whose positions are counted from its first real token. From the second pass on, each new token stands too far from its prompt, by as many places as the prompt has pads before it.

# %%
print(BUGS[names[22]].difference())

# %% [markdown]
# ### Mend, or hide?
#
# `patients.mend` makes a copy of a program with some lines replaced. Here are two changes. The first lets the evaluation answer its prompts one by one, and the second counts positions from the last one. **Predict**: after which of them are the answers right, and after which are all tools quiet?

# %% tolerance=0.3
wrong = "torch.full_like(tokens, cache.documents.size(1))"
one = "generate(model, prompts)]", "[generate(model, [prompt])[0] for prompt in prompts]]"
changes = {"one by one": one, "positions + 1": (wrong, "positions[:, -1:] + 1")}
for what, lines in changes.items():
    changed = patients.mend(patient, "generation", *lines)
    share = changed.generation.share_right(model, tokenizer, chats)
    quiet = not any(tool(changed, 0).alarm for tool in tools.TOOLS.values())
    print(f"{what:13} right {share:.2f}, before {right:.2f}, all tools quiet: {quiet}")
    assert share > right + 0.2
    assert quiet == (what == "positions + 1")

# %% [markdown]
# Both bring the right answers back, and only after the second are all tools quiet. The first only hides the symptom, and leaves the bug to the next person who generates in a batch. So after a repair, repeat *all* the steps, and not only the measurement that made you look.

# %% [markdown]
# **Exercise 4** (find the bug; 20 minutes, hard). The same disease, more advanced: this generation has three bugs. What was observed:
# - in a batch with a longer prompt, even the first word of a short one is wrong;
# - a model with rotary positions, which sees nothing but distances, answers even such a batch well; once the positions of the prompts are mended, and nothing else, its second word is wrong;
# - where `pad_id` is `end_id`, prompts of several turns are answered wrong, even alone.

# %% exercise="mend_generation"
def mend_generation(model, prompts, pad_id, end_id, max_new):
    """Prompts, lists of ids, to what is written after each of them, (B, max_new)."""
    longest = max(len(prompt) for prompt in prompts)
    tokens = torch.tensor([[pad_id] * (longest - len(prompt)) + prompt for prompt in prompts])
    mask = tokens != pad_id
    positions = torch.arange(longest).expand_as(tokens)
    cache, written = None, []
    for _ in range(max_new):
        logits, cache = model(tokens, positions, mask, cache)
        tokens = logits.argmax(-1, keepdim=True)
        written.append(tokens)
        mask = F.pad(mask, (0, 1), value=True)
        positions = torch.full_like(tokens, mask.size(1) - 1)
    written = torch.cat(written, dim=1)
    return written.masked_fill((written == end_id).cumsum(1) > 0, end_id)


# %%
exercises.mend_generation.check(mend_generation)

# %% [markdown]
# ## A second case: the first word
#
# The second patient shows its symptom in step 4 already, so we begin there: it is to learn eight chats by heart, and then to say them. Three of the cheaper tools are asked as well:

# %% tolerance=0.5
second = patients.load(names[14])
for tool in (tools.by_heart, tools.texts, tools.first_loss, tools.later):
    print(f"{tool.__name__:11}", tool(second))

# %% [markdown]
# The loss is as small as in a healthy program, and not one answer is right. What it gets is fine, its first loss is that of a guess, and nothing sees the future. **Predict** which tool will speak. A hint: the loss falls, so the model learns *something*. Is it what you wanted?

# %%
print(tools.targets(second))

# %% [markdown]
# The loss asks for what follows the `<end>` of an answer, and doesn't ask for the answer's first word. So the model learns to continue an answer that it was never taught to begin. In packed rows it is even asked for the beginning of the *next chat*. Let the bisection confirm it:

# %%
found = bisect(stages(second), stages(healthy))
print("look at:", found, "and there at:", tools.twin(second).says.split("look at ")[1])
print(BUGS[names[14]].difference())
assert found == "loss"

# %% [markdown]
# One slice is wrong. The labels are shifted, and the mask, which belongs to the labels, is not. Is it really the first word that is missing? The control gives the patient the first word and lets it go on from there:

# %%
def goes_on(program, n_given, steps=80):
    """The share of eight chats that are said right, with some words of each answer given."""
    chats, training = bench.some_chats(program, 8, seed=0), program.training
    tokenizer, recipe = program.data.all_names(), training.Recipe(n_steps=steps, warmup=10)
    learner = bench.new_model(program, seed=0)
    optimizer = training.make_optimizer(learner, recipe)
    batches = training.micro_batches(tokenizer, chats, recipe)
    for i in range(steps):
        training.train_step(learner.train(), optimizer, batches, i, recipe)
    prompts = [tokenizer.encode(program.data.prompt_text(c[:-1], c[-1][0])) for c in chats]
    wanted = [tokenizer.encode(chat[-1][1]) for chat in chats]
    given = [prompt + words[:n_given] for prompt, words in zip(prompts, wanted)]
    written = program.generation.generate(learner, given)
    return sum(words[n_given:] == said for words, said in zip(wanted, written)) / 8


# %% tolerance=0.3
torch.manual_seed(2)
shares = {n_given: goes_on(second, n_given) for n_given in (0, 1)}
print(f"right with no word given {shares[0]:.2f}, with the first word given {shares[1]:.2f}")
assert shares[0] < 0.2 < 0.8 < shares[1]

# %% [markdown]
# With the first word given, the patient says all the rest (with three more seeds, too). So the first word is what it lacks.

# %% [markdown]
# ## A third case: nobody complains
#
# The third patient has no symptom that you would notice: its loss falls, and its answers are good. For comparison we print the first patient's numbers as well. Its training was healthy, and we let it answer without padding. Of the nine tools only `portions` raises an alarm. Training takes another ten seconds:

# %% steps=250 tolerance=0.4
third = patients.load(names[17])
third_model, third_losses = table.trained(third, seed=0, n_steps=250)
share = third.generation.share_right(third_model, tokenizer, chats)
print(f"last loss {third_losses[-1]:.2f}, right answers {share:.2f}")
print(f"the first patient: {losses[-1]:.2f}, without padding {unpadded:.2f}")
print(tools.portions(third))
assert share > 0.75

# %% [markdown]
# A batch that is too large for the memory is read in **portions**, whose gradients add up. The gradient should not depend on how it was cut, but here it does, by a good part of its length. What could make it depend on that? **Predict**: with which portions would it be right in spite of the bug?
#
# The suspicion is that each portion's loss is a mean of its own. Then a token counts for more where the answers of its portion have few tokens. If that is so, the gap must vanish when the same chats come in another order, in which both portions have equally many tokens to be learned:

# %% tolerance=0.5
short, long = [1, 2, 3, 4, 5, 6], [21, 22, 23, 24, 31, 32]  # "one", but "twenty-one"
orders = {"the short answers first": short + long}
orders["as many short in each"] = short[:3] + long[:3] + short[3:] + long[3:]
for what, numbers in orders.items():
    asked = [[third.data.turn(number)] for number in numbers]
    whole, parts = (invariants.gradients_after(third, asked, n) for n in (1, 2))
    off = ((parts - whole).norm() / whole.norm()).item()
    print(f"{what:23}: off by {off:.2f} of its length")
    assert (off > 0.05) == (what == "the short answers first")

# %% [markdown]
# So it is. The chats are the same twelve, and in the second order, where both portions have equally many tokens to be learned, the gradient is right. In the first it is not, because the mean of the two means is not the mean of all tokens. The bisection agrees, for it names the gradient:

# %%
found = bisect(stages(third), stages(healthy))
print("look at:", found, "and there at:", tools.twin(third).says.split("look at ")[1])
print(BUGS[names[17]].difference())
assert found == "gradient"

# %% [markdown]
# The bug of this third patient was in [widely used training code](https://huggingface.co/blog/gradient_accumulation) until October 2024. [It had been reported in 2021](https://unsloth.ai/blog/gradient), and it stayed for years: the loss fell, and few people compared two ways of cutting a batch.

# %% [markdown]
# **Exercise 5** (find the bug; 20 minutes, medium). Here a batch is read in portions, and there are two bugs. With one portion the gradient is right. With two of unequal numbers of answers it points elsewhere, even where nothing is shortened; a portion in which no token counts makes all of it NaN; and with a small `max_norm` the last portions count for more than the first ones.

# %% exercise="mend_accumulation"
def mend_accumulation(weight, inputs, targets, answers, portion, max_norm):
    """A batch, read in portions, to the gradient of its loss, (d,)."""
    n_portions = -(-len(inputs) // portion)
    gradient = torch.zeros_like(weight)
    for start in range(0, len(inputs), portion):
        x, y, counts = (part[start : start + portion] for part in (inputs, targets, answers))
        errors = x @ weight - y
        gradient = gradient + (2 * errors[..., None] * x)[counts].mean(0) / n_portions
        gradient = gradient * (max_norm / gradient.norm()).clamp(max=1)
    return gradient


# %%
exercises.mend_accumulation.check(mend_accumulation)

# %% [markdown]
# ## What sees what?
#
# You have seen nine tools and a twin at work on a few patients. How do they do on all 27? The table was made by `python -m transformer_lab.training.experiments.clinic --steps 0 --seeds 2`, so with one seed, the number 2. Yellow is an alarm. **Predict** first: is there a bug that only the twin sees?

# %%
from transformer_lab import training

stored = training.load_table("clinic")
seeds = {row["seed"] for row in stored}
share_of = {(name, tool): 0.0 for name in names for tool in tools.TOOLS}
for row in stored:
    for tool in row["alarms"]:
        share_of[row["bug"], tool] += 1 / len(seeds)

# %%
figure, ax = plots.figure(width=7, height=8.4)
values = torch.tensor([[share_of[name, tool] for tool in tools.TOOLS] for name in names])
words = [f"{number}: {name.replace('_', ' ')}" for number, name in enumerate(names)]
plots.plot_amounts(values.clamp(max=1), words, [*tools.TOOLS], ax=ax)
plots.show(figure, alt="Bugs against tools: each tool sees 2 to 16 bugs, the twin all 27.")

# %%
for tool in tools.TOOLS:
    print(f"{tool:11} sees {sum(share_of[name, tool] > 0.99 for name in names):2} of {len(names)}")
only = [name for name in names if sum(share_of[name, tool] > 0 for tool in tools.TOOLS) == 1]
print("seen by the twin alone:", [words[names.index(name)] for name in only])
assert all(share_of[name, "twin"] > 0.99 for name in names)
assert only == ["scale_lost"]

# %% [markdown]
# The tools of steps 1 to 3 see two to seven bugs each, but what they say leads to the place. Learning by heart sees the most of the nine, and says the least about the place. One bug is seen by the twin alone. Its scores are not divided by $\sqrt{d}$, and it *is* a proper attention, only too sharp. Of our tools only the twin can tell you that. (A number known beforehand would tell you as well: for random queries and keys, the scores of lesson 01 have a standard deviation of 1, and these have $\sqrt d$.)
#
# ![For each of the five steps, and for each of the four files, a disc for every bug, filled if the step sees it. None of the first four steps sees all the bugs of any file, and the twin sees all 27.](../img/14_steps.svg)
#
# So take the five steps in the order of their price. The first three are nearly free, the fourth is the widest single net without a twin, and the fifth, with one, says where.

# %% [markdown]
# ## Remember
#
# - A shape that fits and a loss that falls say little about whether a model is right.
# - Read the data back, know what must come out, change what must not matter, learn a batch by heart and let the model *write* it, and compare with a twin.
# - Ask the loss itself what it wants: its gradient is negative there.
# - To tell two causes apart, change only one of them.
# - A repair removes the cause. Repeat every step after it.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. A model learns one batch by heart, and its loss is 0. Which bugs can it still have?</summary>
# Those that make the task easier, such as targets that are not shifted or a future that is seen, and those that damage only the writing: let it write what it has learned. Besides, those that a batch by heart doesn't touch, such as a test number in the training, or portions of unequal weight.
# </details>
# <details><summary>2. Answers are right one by one, and wrong in a batch. Where do you look first?</summary>
# At whatever the padding touches: the mask, the positions of the prompt, and the positions of the new tokens.
# </details>
#
# <details><summary>3. How many comparisons does bisection need for 24 layers?</summary>
# Five at most, once you know that the ends differ, because each halves what remains, and 2 to the power of 5 is 32.
# </details>

# %% [markdown]
# <details><summary>4. Your validation loss is better than the training loss. Name two suspects, one of them harmless.</summary>
# Sentences that stand in both parts; or dropout, which makes training harder than evaluation and is no bug.
# </details>
# <details><summary>5. You change how a batch is cut into portions, and the loss curve changes a little. Is that rounding?</summary>
# Compare the gradients, in float32: there rounding is a matter of millionths of their length, and a hundredth is a bug. (In bfloat16, rounding alone can reach that.)
# </details>

# %% [markdown]
# ## Where you are now
#
# This is the end of the second part. You have built the Transformer of 2017 and the parts that came later, you have trained it, looked inside, loaded published weights and made it fast. And you can now say, of a program that you did not write, whether it does what it should.
#
# What could you build next? Take a model of your own, a task that you care about, and write the five steps for it *before* you train. Or take [nanochat](https://github.com/karpathy/nanochat), read it with this lesson's questions, and try to break one of its invariants. [A recipe for training neural networks](https://karpathy.github.io/2019/04/25/recipe/) is the classic text about silent bugs.

# %% [markdown]
# Part III is about what models are today, and it needs all of this. [Lesson 15](15_since_llama.ipynb) asks what they gave up to read long texts. In [lesson 16](16_after_pretraining.ipynb) a model that continues text learns to answer, and learns to be right from nothing but *right* or *wrong*. In [lesson 17](17_many_machines.ipynb) four processes train one model, where a mean of means comes back as a bug of four machines.

# %% [markdown]
# ## Extra: a patient of your own
#
# Nobody leads you now. Choose a number from 0 to 26 (you have met 0, 1, 3 to 5, 11 to 17, 19, 22 and 26), and go through the steps. First ask all tools but the twin:

# %% tolerance=1e-5
number = 8
yours = patients.load(names[number])
for name, tool in [*tools.TOOLS.items()][:-1]:
    print(f"{name:11}", tool(yours))

# %% [markdown]
# Before you go on, write down the function that you suspect, and what you would change in it. `print(yours.sources["model"])` shows you one of the four files.
#
# <details><summary>Number 8 is a hard one. A hint, if you want it.</summary>
# Two things could make a chat be read differently when another one stands before it: it sees that other one, or the place where it begins matters, and not only the distances between its tokens. To exclude one of them, give a model of <code>bench.loud_model</code> a chat that is alone in its row, once with the positions 0, 1, 2, … and once with 7, 8, 9, … (the third argument). The logits of the healthy model stay, but for 0.00001. What do those of your patient do?
# </details>

# %%
print("look at:", bisect(stages(yours), stages(healthy)))
print(tools.twin(yours))

# %% [markdown]
# Now mend it, with `patients.mend(yours, file, wrong, right)`, and ask all the tools again. `print(BUGS[names[number]].difference())` shows what was changed.

# %% [markdown]
# ## Extra: more patients
#
# Here are nine more functions, each broken in a way that happens easily. To read a patient's symptom, print its exercise, such as `exercises.clinic_02`. Then say what should hold instead, and change as little as you can.

# %% [markdown]
# **02.** Padding that is heard, and words that are not. *(5 minutes)*

# %% exercise="clinic_02"
def clinic_02(query, key, value, lengths):
    """Attention over padded sentences; sentence b is lengths[b] words, then padding."""
    positions = torch.arange(key.size(1))
    padding = positions >= lengths[:, None]  # (B, S)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=padding[:, None, :])


# %%
exercises.clinic_02.check(clinic_02)

# %% [markdown]
# **03.** Heads that see one key only. *(5 minutes)*

# %% exercise="clinic_03"
def clinic_03(query, key):
    """The weights of every head: (B, h, T, d_head) and (B, h, S, d_head) to (B, h, T, S)."""
    scale = query.size(-1) ** -0.5
    scores = query @ key.transpose(-2, -1)
    scores.mul(scale)
    return scores.softmax(-1)


# %%
exercises.clinic_03.check(clinic_03)

# %% [markdown]
# **04.** A model that does not know the order of the words. *(8 minutes)*

# %% exercise="clinic_04"
def clinic_04(tokens, table, encoding):
    """Vectors (B, T, d) for ids (B, T): table (vocab, d), encoding (max_len, d)."""
    vectors = table[tokens] * table.size(1) ** 0.5
    length = vectors.size(0)
    positions = encoding[:length].unsqueeze(1)
    return vectors + positions


# %%
exercises.clinic_04.check(clinic_04)

# %% [markdown]
# **05.** An evaluation that changes from call to call. *(8 minutes)*

# %% exercise="clinic_05"
def clinic_05(x, output, noise, rate, training):
    """A residual connection with dropout; `noise` is uniform between 0 and 1."""
    if training:
        output = output / (1 - rate)  # so that the mean stays
    kept = noise >= rate
    return x + output * kept


# %%
exercises.clinic_05.check(clinic_05)

# %% [markdown]
# **06.** A gain that never moves. *(8 minutes)*

# %% exercise="clinic_06"
def clinic_06(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    """A post-norm decoder layer: self-attention, attention to the memory, feed-forward."""

    def normalised(y, gain):
        return gain * F.layer_norm(y, y.shape[-1:])

    x = normalised(x + attend(x, x), gain_1)
    x = normalised(x + attend(x, memory), gain_2)
    return normalised(x + feed_forward(x), gain_2)


# %%
exercises.clinic_06.check(clinic_06)

# %% [markdown]
# **08.** A loss that padding makes smaller. *(8 minutes)*

# %% exercise="clinic_08"
def clinic_08(logits, targets, pad_id):
    """The mean loss over the words of a batch: logits (B, T, vocab), targets (B, T)."""
    losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    words = targets != pad_id
    return (losses * words).mean()


# %%
exercises.clinic_08.check(clinic_08)

# %% [markdown]
# **09.** A cache that is right for one token. *(10 minutes)*

# %% exercise="clinic_09"
def clinic_09(x, past, encoding):
    """One decoding step: the new token x (B, 1, d) attends to the past and itself.

    `past` (B, S, d) has its positions added, x has not. Returns output and new past.
    """
    new = x + encoding[: x.size(1)]
    past = torch.cat([past, new], dim=1)
    return F.scaled_dot_product_attention(new, past, past), past


# %%
exercises.clinic_09.check(clinic_09)

# %% [markdown]
# **10.** A tied table that comes apart after a load. *(12 minutes)*

# %% exercise="clinic_10"
def clinic_10(saved, tokens, targets, rate):
    """Load a saved table (vocab, d) into a model with tied weights; take one gradient step.

    Returns the embedding and the output table after the step.
    """
    model = {"embedding": torch.zeros_like(saved)}
    model["output"] = model["embedding"]  # tied: one table for both
    for name in model:
        model[name] = saved.detach().clone().requires_grad_()
    logits = model["embedding"][tokens] @ model["output"].T
    F.cross_entropy(logits, targets).backward()
    return tuple((table - rate * table.grad).detach() for table in model.values())


# %%
exercises.clinic_10.check(clinic_10)

# %% [markdown]
# **11.** A wider beam that finds worse sentences. *(12 minutes)*

# %% exercise="clinic_11"
def clinic_11(next_logits, bos_id, width, length):
    """Beam search for a sentence of `length` ids: each step keeps the `width` likeliest."""
    beams = [([bos_id], 0.0)]
    while len(beams[0][0]) < length:
        candidates = []
        for ids, score in beams:
            log_probs = next_logits(ids).log_softmax(-1)
            for token, score in enumerate(log_probs.tolist()):
                candidates.append(([*ids, token], score))
        beams = sorted(candidates, key=lambda beam: beam[1], reverse=True)[:width]
    return beams[0][0]


# %%
exercises.clinic_11.check(clinic_11)
