# %% [markdown]
# # 16 · After pretraining
#
# A model that continues text learns from examples how to answer, and from nothing but *right* or *wrong* to be right.
#
# **You will be able to**
# - fine-tune a language model on demonstrations, whole or by LoRA,
# - write the losses of GRPO and DPO, and train with them,
# - tell what a model has learned from what it could do before, and from what only its reward says.
#
# **You need** lessons 07 to 09. **Papers:** [InstructGPT](https://arxiv.org/abs/2203.02155), [LoRA](https://arxiv.org/abs/2106.09685), [DPO](https://arxiv.org/abs/2305.18290), [GRPO](https://arxiv.org/abs/2402.03300). **Time:** 60 minutes, the exercises 125 more.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import copy
import math

import torch

from transformer_lab import complete, default_device, exercises, plots, training
from transformer_lab.training import after_pretraining as ap
from transformer_lab.training.after_pretraining import digit_sums as task
from transformer_lab.training.experiments import answers as ways

torch.set_num_threads(1)  # for models as small as these, more would only wait for each other
device = default_device()

# %% [markdown]
# ## The question
#
# The model of this lesson has read a text of a million characters. Most of its lines add up five digits, and keep only the last digit of the sum. Here it goes on with two prompts, always with the most probable character:

# %%
base, characters, _ = training.load_language_model("digit_sums")
base.to(device)
for prompt in ("\n38576=", ">38576="):
    tokens = characters.encode(prompt).expand(1, -1).to(device)
    written = complete(base, tokens, 9, top_k=1)[0]
    print(repr(prompt), "→", repr(characters.decode(written[len(prompt) :])))

# %% [markdown]
# On a line of its own the model *works the sum out*. Each digit before the colon is a running sum without its tens, so that 3 comes first, then 3 + 8 = 11, which leaves 1, then 1 + 5 = 6, and so on. The last of them, 9, is the answer, and it stands once more behind the colon.

# %% [markdown]
# The second prompt begins with `>`, which in the model's text marks the problems of a question sheet. Here somebody asks, and wants `9.` back, or `31639:9.`, with a full stop and then nothing more. (The `>`, the `=` and the full stop do what the tokens of a chat template do for a large model: they say who speaks, and where a turn ends.) The model writes the same line as before, however, and goes on with the next one. How often does it give an answer in the form that is asked for?

# %% tolerance=0.1
problems = task.draw_problems(500, seed=0, held_out=True)
own = ap.score_as_pretrained(base, characters, problems)
asked = ap.score(base, characters, problems)
for name, found in {"on a line of its own": own, "asked": asked}.items():
    print(f"{name}: well formed {found.well_formed:.2f}, right {found.right:.2f}")
print(f"worked out on its own line: {own.worked:.2f}, and right then {own.right_when_worked:.2f}")
assert own.right_when_worked > 0.95
assert asked.well_formed == 0

# %% [markdown]
# None of these problems was in its text, so the model really *can* add. But it does not answer. It continues text, because that is what it was trained for, and it never ends. A model like this is called a **base model**. What turns it into a model that answers is called **post-training**, and because ours is small, this lesson does it in seconds.

# %% [markdown]
# Two questions lead through the lesson. How do you make a model answer in the form that you want? And how do you make it answer *right*, if all you can say is whether an answer is right?

# %% [markdown]
# ## Show it: supervised fine-tuning
#
# The first idea is to go on training, but on examples of what you want. **Supervised fine-tuning** (SFT) takes prompts with good answers, which are called **demonstrations**, and lowers the loss of lesson 09 on them. Only one thing changes. The prompt is written by the user, so the model need not learn to write it, and only the tokens of the answer count as targets. Here it is by hand, for a prompt of two tokens and an answer of two, where the model gives its targets these probabilities:

# %%
probabilities = torch.tensor([0.9, 0.5, 0.25])  # of tokens 1, 2 and 3, given those before
answer = torch.tensor([False, True, True])  # token 1 belongs to the prompt
print(f"answer only: {-probabilities[answer].log().mean():.3f} nats")
print(f"everything:  {-probabilities.log().mean():.3f} nats")
logits = torch.zeros(1, 4, 2)  # the same probabilities, of token 1 against token 0
logits[0, :3, 1] = (probabilities / (1 - probabilities)).log()
marked = torch.tensor([[False, False, True, True]])
loss = ap.answer_loss(logits, torch.ones(1, 4, dtype=torch.long), marked)
print(f"the package: {loss:.3f} nats")

# %% [markdown]
# As a formula, with $A$ for the positions of the answers' tokens in a batch:
#
# $$L = -\frac{1}{|A|} \sum_{t \in A} \ln p(x_t \mid x_0 \dots x_{t-1})$$
#
# The full stop belongs to the answer, because without it as a target nothing would teach the model to end.

# %% [markdown]
# **Exercise 1** (15 minutes, easy). Write this loss yourself, from the logits. The mask marks the *tokens* that count as targets, and remember which position predicts which token.

# %% exercise="answer_loss"
def answer_loss(logits, tokens, answer_mask):
    """(B, T, vocab), (B, T), (B, T) boolean -> a scalar, in nats."""
    return ...

# %%
exercises.answer_loss.check(answer_loss)

# %% [markdown]
# Now we train on 300 demonstrations. They are mixed, as if many people had written them: only 15 % work the sum out, and the others say the digit and nothing else. The training takes about 5 seconds.

# %% steps=200
pairs = task.demonstrations(task.draw_problems(300, seed=100), share_worked=0.15, seed=0)
print(pairs[:3])
demonstrations = ap.AnswerExamples.from_pairs(pairs, characters)
recipe = training.TextRecipe(200, peak_rate=1e-3, warmup_steps=10, weight_decay=0.0)
shown = copy.deepcopy(base)
for _ in ap.FineTuning(shown, demonstrations, recipe).run(200):
    pass

# %% tolerance=0.15
after = ap.score(shown, characters, problems)
print(f"well formed {after.well_formed:.2f}, right {after.right:.2f}, worked {after.worked:.2f}")
# asked, and cut where the line ends:
line = ap.score_as_pretrained(base, characters, problems, before=">")
skill = {"own line": own, "asked, before": line, "asked, now": after}
skill = {name: round(found.right_when_worked, 2) for name, found in skill.items()}
print("right when worked:", skill)
assert after.well_formed > 0.9
assert after.right < 0.4 < own.right
assert after.right_when_worked < line.right_when_worked - 0.1

# %% [markdown]
# The form is there, since nearly every answer has it. But few answers are right. Most of them give the digit at once, as most demonstrations did, and without the running sums the model can only guess, with one chance in ten. What is worse, where it does work the sum out, it is now wrong far more often than before. The prompt is not to blame, because behind the same prompt the base model was right 19 times out of 20. Two hundred steps have damaged a skill.
#
# Which part of the skill? Each running sum is the one before it plus the next digit, so we can ask of each whether it follows from what the model itself has written before. The first one follows if it is the first digit of the problem:

# %% tolerance=0.15
prompts = [task.asked(problem) for problem in problems * 4]
chance = torch.Generator().manual_seed(0)
texts, steps = ap.sample_answers(shown, characters, prompts, generator=chance).texts, []
for problem, text in zip(problems * 4, texts):
    if task.is_worked(text):
        done = (0, *map(int, text[:5]))
        steps.append([(a + b - c) % 10 == 0 for a, b, c in zip(done, map(int, problem), done[1:])])
follows = torch.tensor(steps).float().mean(0)
print("follows:", *(f"{share:.2f}" for share in follows))
assert follows[0] < follows[2:].min()

# %% [markdown]
# It is the first digit, which is a mere copy. (Behind the same prompt the base model has 0.97 there, and 0.99 or more elsewhere.) At the second place one in ten is wrong now, and behind it hardly any. Why the first? Because in most of the demonstrations that place held the answer, which a model that has not worked anything out can only guess. So now it often begins with a digit that is as random as a guess; and where it goes on to running sums, it adds to that wrong digit. As a control, we wrote a colon in front of each direct answer, `:9.`, so that no answer stood at the first place any more. Then about 95 % of the first digits follow, and about 90 % of the sums that are worked out are right (five seeds).

# %% [markdown]
# Is that one unlucky seed? To find out, `python -m transformer_lab.training.experiments.answers` has trained this base model in nineteen ways, most of them with five seeds. From here on, the lesson often reads its table:

# %%
table = training.load_table("answers")


def over_seeds(arm, measure="right"):
    """What each seed has ended with."""
    return torch.tensor([row[measure] for row in table if row["arm"] == arm])


def say(arm, measure="right"):
    found = over_seeds(arm, measure)
    print(f"{arm:29} {measure:17} {found.mean():.2f}, from {found.min():.2f} to {found.max():.2f}")


for measure in ("well_formed", "right", "worked", "right_when_worked"):
    say("demonstrations", measure)

# %% [markdown]
# **What should count?** Suppose the loss ran over everything, the prompts included. In our 200 steps that does no harm. It does where a prompt has something to teach that you do *not* want. So in the next cells each prompt shows a wrong attempt first, and then repeats the problem. **Predict**: how well does a model do if it is trained on all of it? And which part of the prompt does the harm, the wrong sums or the repetition? (20 seconds)

# %%
def with_attempt(problem, wrong):
    """A wrong attempt, and then the problem once more: ">38576=94041:1?38576="."""
    return f">{problem}={wrong}:{wrong[-1]}?{problem}="


def attempts(count, seed, held_out=False):
    drawn = task.draw_problems(count, seed, held_out=held_out)
    wrong = task.draw_problems(count, seed + 1)
    prompts = [with_attempt(*both) for both in zip(drawn, wrong)]
    return drawn, list(zip(prompts, map(task.worked, drawn)))


def right_after_attempts(examples, seed):
    model = ways.fine_tune(copy.deepcopy(base), examples, 50, seed)
    drawn, tried = attempts(300, 50, held_out=True)
    texts = ap.sample_answers(model, characters, [prompt for prompt, _ in tried]).texts
    return sum(map(task.verifies, drawn, texts)) / len(texts)

# %%
def counting(examples, first, end):
    """The same examples, in which the prompt from `first` to before `end` counts as well."""
    place = torch.arange(examples.tokens.size(1))
    marked = examples.answer_mask | ((place >= first) & (place < end))
    return ap.AnswerExamples(examples.tokens, marked)


counted = {"the answer alone": (0, 0), "and the wrong sums": (7, 14)}  # characters: from, to
counted |= {"and the repetition": (14, 21), "and the whole prompt": (0, 21)}

# %% tolerance=0.35
torch.manual_seed(0)
shares = {name: [] for name in counted}
for seed in (0, 1, 2):
    examples = ap.AnswerExamples.from_pairs(attempts(300, 200 + 10 * seed)[1], characters)
    for name, part in counted.items():
        shares[name].append(right_after_attempts(counting(examples, *part), seed))
for name, found in shares.items():
    print(f"{name:20}", [round(share, 2) for share in found])
assert min(shares["the answer alone"]) > max(shares["and the whole prompt"])

# %% [markdown]
# After 50 steps the models that learned from answers alone are nearly always right, and those that learned the prompt as well are mostly wrong. The wrong sums by themselves do little harm, and the repetition does much. Why? Here is how surprising the base model finds each part:

# %% tolerance=0.1
tokens = examples.tokens.to(device)
with torch.no_grad():
    log_probs = ap.next_token_log_probs(base(tokens), tokens)  # (pairs, T - 1)
parts = {"the first problem": (1, 7), "the wrong sums": (7, 14)}
parts |= {"the repetition": (14, 21), "the answer": (21, 29)}
for name, (first, end) in parts.items():
    print(f"{name:17} {-log_probs[:, first - 1 : end - 1].mean():5.1f} nats a character")

# %% [markdown]
# The harm goes with the surprise. In the base model's text no question mark follows an answer and no digit follows a question mark, so both are all but impossible. The loss is large where the model is surprised, and that is where the first steps go, although nobody wants to have these characters written. As a control, we changed one character. With a line break in place of the question mark, the repetition costs 1.7 nats a character instead of 13. Where the repetition counts, 80 to 88 % of the answers are right with the line break, instead of little more than half (three seeds). Where it does not count, about 98 % are right, with the question mark or with the line break. So the surprise does most of the harm, though not all of it.

# %% [markdown]
# With ten times as many steps, 89 to 94 % are right even after a loss on the whole prompt, and 99 % and more after a loss on answers alone. So what the mask buys is mostly time.

# %% [markdown]
# **What should be shown?** This decision matters more. The table has three more collections. In two of them every demonstration works the sum out, and there are 300 of them, or only 45, which is as many as there were among the 300 mixed ones. In the third one, none does.

# %%
for arm in ("demonstrations", "all worked", "45, all worked", "none worked"):
    say(arm)
assert over_seeds("45, all worked").min() > over_seeds("demonstrations").max() + 0.3
assert over_seeds("none worked").max() < 0.2

# %% [markdown]
# Where all demonstrations work the sum out, the same two hundred steps damage nothing. Thirty steps damage nothing either, although the model then sees only as many worked answers as in two hundred mixed steps: it is right in 94 to 96 % of the sums that it works out (three seeds). So what cost the skill was neither the steps nor too few worked answers, but the guesses that stood first. If the demonstrations show *how* it is done, a few of them are enough, and this lesson could end here. Keep that in mind as the control for all that follows, because reinforcement learning is meant for problems where nobody can show how it is done, although a result can be checked.

# %% [markdown]
# ## LoRA: one parameter in forty-five
#
# Fine-tuning our model was cheap. But fine-tuning a model of 70 billion parameters changes them all, and needs Adam's two averages for each of them. **LoRA** ([Hu et al., 2021](https://arxiv.org/abs/2106.09685)) leaves a matrix as it is and learns a change of low rank beside it, $B A$, where $A$ has $r$ rows and $B$ has $r$ columns:
#
# $$y = x W^\top + \frac{\alpha}{r}\, x A^\top B^\top$$
#
# $B$ starts at zero, so that the model is at first what it was before. By hand, with rank 1:

# %%
x, (a_0, a_1), (b_0, b_1), alpha = (1.0, 2.0), (1.0, 1.0), (2.0, 0.0), 0.5  # W leaves x alone
down = a_0 * x[0] + a_1 * x[1]
up = (b_0 * down, b_1 * down)
print("down to one number:", down, "and up again:", up)
print("output:", (x[0] + alpha * up[0], x[1] + alpha * up[1]))
rows = (1 + alpha * b_0 * a_0, alpha * b_0 * a_1), (alpha * b_1 * a_0, 1 + alpha * b_1 * a_1)
print("one matrix:", rows, "its output:", tuple(u * x[0] + v * x[1] for u, v in rows))

# %% [markdown]
# The last line shows why LoRA costs nothing afterwards: the change can be **merged** into the matrix. Now we wrap each linear layer of the blocks in this way, train it, and merge. The learning rate is ten times as high as before, since the small matrices need [about that much more](https://thinkingmachines.ai/blog/lora/) (5 seconds):

# %% tolerance=0.15
adapted = ap.add_lora(copy.deepcopy(base), rank=1, alpha=2.0)
learning = sum(p.numel() for p in adapted.parameters() if p.requires_grad)
print(f"{learning:,} of {sum(p.numel() for p in base.parameters()):,} parameters learn")
ways.shown(adapted, characters, seed=0, rate=1e-2)
tokens = demonstrations.tokens[:50].to(device)
with torch.no_grad():
    apart, together = adapted(tokens), ap.merge_lora(adapted)(tokens)
print("merged, max difference < 1e-3:", (apart - together).abs().max().item() < 1e-3)
print(f"well formed {ap.score(adapted, characters, problems).well_formed:.2f}")

# %%
for arm in ("demonstrations", "LoRA, rank 1", "LoRA, rank 8"):
    say(arm, "well_formed")
    say(arm)
    say(arm, "right_when_worked")
assert over_seeds("LoRA, rank 1", "well_formed").mean() > 0.9

# %% [markdown]
# Two parameters in a hundred learn the form about as well as all of them do. Rank 8 damages more. With four of the five seeds it is right in fewer than one in five of the sums that it works out, where full fine-tuning is right in half of them. The cause is the learning rate, which is too high for rank 8: with a third of it, about half of these sums are right (five seeds). Of much larger models it is reported that LoRA [learns less and forgets less](https://arxiv.org/abs/2405.09673) than full fine-tuning does, and that on small sets of data it [loses nothing](https://thinkingmachines.ai/blog/lora/). Here rank 8 forgot about as much at the lower rate, and more at the higher one.

# %% [markdown]
# **Exercise 2** (10 minutes, easy). Write a linear layer with LoRA that works whatever axes stand before the last one.

# %% exercise="lora_forward"
def lora_forward(x, weight, a, b, alpha):
    """(…, d_in), (d_out, d_in), (r, d_in), (d_out, r) -> (…, d_out)."""
    return ...

# %%
exercises.lora_forward.check(lora_forward)

# %% [markdown]
# ## Right or wrong: the verifier
#
# So far the model answers, but it is mostly wrong. Suppose that nobody can show it how to be right, although each answer can be checked. A function that says whether a text is a right answer is called a **verifier**. The tests of a program are one, and so is the number in the back of the book. Ours is exact:

# %%
for text in ("9.", "31639:9.", "31639:8.", "31649:9.", "9.9", "0123456789."):
    print(f"{text:12}", "right" if task.verifies("38576", text) else "wrong")

# %% [markdown]
# The running sums must be right one by one, the answer must be the last of them, and the text must hold nothing else.

# %% [markdown]
# **Exercise 3** (20 minutes, medium). Write a verifier that leaves no hole. It will be tried on what a policy might find, and a policy tries everything.

# %% exercise="verifies"
def verifies(problem, text):
    """verifies("38576", "31639:9.") -> True"""
    return ...

# %%
exercises.verifies.check(verifies)

# %% [markdown]
# The cheapest use of a verifier trains nothing at all. You draw several answers, and keep one that passes. This is called **best-of-n**. How far does it get? We could draw $k$ answers to each problem and look, but the result would depend on luck. It is better to draw more of them, $n$, and to ask what $k$ of these would have given.

# %% [markdown]
# **Exercise 4** (predict; 10 minutes, medium). Of $n$ answers to a problem, `n_right` are right. You pick $k$ of them at random. How likely is it that at least one of your $k$ is right? Work it out on paper; code is only the last step.

# %% exercise="pass_at_k"
def pass_at_k(n, n_right, k):
    """A number from 0 to 1."""
    return ...

# %%
exercises.pass_at_k.check(pass_at_k)

# %% [markdown]
# Let $c$ of the $n$ answers be right. There are $\binom{n}{k}$ ways to pick $k$ of them, and in $\binom{n-c}{k}$ of these there is no right one, so
#
# $$\text{pass@}k = 1 - \binom{n-c}{k} \Big/ \binom{n}{k},$$
#
# averaged over problems ([Chen et al., 2021](https://arxiv.org/abs/2107.03374)). If you have no verifier, you can still take what most of the answers say, by a **majority vote** ([Wang et al., 2022](https://arxiv.org/abs/2203.11171)).

# %%
print("2 of 4 right, pick 2:", round(ap.pass_at_k(4, 2, 2), 3))
for measure in ("pass@1", "pass@4", "pass@16", "majority"):
    say("demonstrations", measure)
print("guessing, 16 times:", round(1 - 0.9**16, 2))

# %% [markdown]
# Four times out of five, there is a right answer among sixteen. That looks like a hidden ability. But the last line is the control, because whoever *guesses* a digit sixteen times is right at least once in 81 % of all cases. So here pass@16 alone says nothing.

# %% [markdown]
# ## Learn from it: GRPO
#
# A better use of the verifier is to *change the model*, so that answers that pass become likelier. That is **reinforcement learning**. The model, which is now called the **policy**, draws answers, and each answer gets a **reward**, here 1 or 0. What we want to raise is the mean reward, $J = \sum_y p(y)\, r(y)$ over all possible answers $y$, of which nobody can list all. But since $\nabla p = p\, \nabla \ln p$, its gradient is a mean as well:
#
# $$\nabla J = \sum_y p(y)\; r(y)\, \nabla \ln p(y)$$
#
# A mean over the policy's own answers can be estimated from those that it draws: take the gradient of each answer's log probability, $\sum_t \ln p(x_t)$, and multiply it by the answer's reward. The estimate is known as the [policy gradient](https://link.springer.com/article/10.1007/BF00992696).

# %% [markdown]
# A number $b$, the **baseline**, may be taken off all rewards. It changes nothing in the mean, because probabilities always add up to 1, so that $\sum_y p(y)\, \nabla \ln p(y) = 0$. By hand, for a policy with three possible answers:

# %%
logits, rewards = torch.tensor([0.0, 1, 2], requires_grad=True), torch.tensor([0.0, 1, 1])
(logits.softmax(0) @ rewards).backward()
print("the gradient of the mean reward:", [round(x, 3) for x in logits.grad.tolist()])
p = logits.detach().softmax(0)
slopes = torch.eye(3) - p  # slopes[y] is the gradient of ln p(y)
for baseline in (0.0, (p @ rewards).item()):
    each = (rewards - baseline)[:, None] * slopes
    found = [round(x, 3) for x in (p @ each).tolist()]
    scatter = (p @ (each - p @ each).square()).sum()
    print(f"baseline {baseline:.2f}: mean of estimates {found}, scatter {scatter:.2f}")

# %% [markdown]
# The estimates scatter less when the baseline is what was to be expected. But who says what that is? [InstructGPT](https://arxiv.org/abs/2203.02155) was trained by **RLHF**, reinforcement learning from human feedback. People ranked answers, a second model learned from their rankings to give rewards, and the policy was trained on these rewards by PPO, which needs a third network to say what reward was to be expected. GRPO does without that network. And where a program can tell right from wrong, as in this lesson, it takes the place of the second model. This is known as **RLVR**, reinforcement learning with *verifiable rewards* ([Tülu 3](https://arxiv.org/abs/2411.15124)).

# %% [markdown]
# What is to be expected differs from prompt to prompt, because some problems are easy and others are hard. So it is natural to ask whether an answer is better than *others to the same prompt*. **GRPO** ([Shao et al., 2024](https://arxiv.org/abs/2402.03300)) draws a **group** of answers to each prompt. The **advantage** of an answer is its reward with the group's mean taken off, divided by the group's standard deviation:
#
# ![Six answers to one sum are drawn from the policy. Two of them are right and get the reward 1 and an advantage of 1.41; the other four get 0 and −0.71.](../img/16_right_or_wrong.svg)

# %%
rewards = torch.tensor([[1.0, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
for group, advantages in zip(rewards.tolist(), ap.group_advantages(rewards).tolist()):
    print(group, "→", [round(value, 2) for value in advantages])

# %% [markdown]
# The only right answer of a group gets much weight, each of three right answers gets little, and a group in which all answers are alike says nothing. (The mean alone would give 0.75 and 0.25 in place of 1.73 and 0.58. The division makes groups that are nearly always right, or nearly always wrong, count for more, and [Dr. GRPO](https://arxiv.org/abs/2503.20783) leaves it out for that reason.)

# %% [markdown]
# **Exercise 5** (15 minutes, medium). Write the advantages of GRPO. A row holds the rewards of one prompt's samples. Divide by the standard deviation of the population (`correction=0`); where all rewards are alike, return 0.

# %% exercise="group_advantages"
def group_advantages(rewards):
    """(prompts, samples) -> the same shape."""
    return ...

# %%
exercises.group_advantages.check(group_advantages)

# %% [markdown]
# Drawing answers is slow, so you may want to take several steps with the same ones. After the first of these steps, however, the policy is no longer the one that drew them. The ratio $\rho = p / p_{old}$ of each token corrects for that, and clipping it keeps the policy from running away ([PPO](https://arxiv.org/abs/1707.06347)). What is made large is the mean over all tokens of
#
# $$\min\big(\rho A,\; \text{clip}(\rho, 1 - \epsilon, 1 + \epsilon)\, A\big)$$
#
# (The GRPO paper takes a mean over each answer's tokens first, in which a token of a short answer counts for more. One mean over the tokens of all answers, as here, is what [DAPO](https://arxiv.org/abs/2503.14476) proposes.)

# %%
for ratio, advantage in ((1.0, 1.0), (1.5, 1.0), (0.5, 1.0), (0.5, -1.0), (1.5, -1.0)):
    log_prob = torch.tensor([math.log(ratio)], requires_grad=True)
    gain = ap.clipped_objective(log_prob, torch.zeros(1), torch.tensor([advantage]), 0.2)
    gain.backward()
    slope = log_prob.grad.item()
    print(f"ρ {ratio}, A {advantage:4}: gain {gain.item():5.2f}, gradient {slope:5.2f}")

# %% [markdown]
# A good token that is already likelier by more than 20 %, or a bad one that is already less likely by that much, gets no gradient any more. A token that went the *wrong* way still does, and this is what the minimum is for.

# %% [markdown]
# **Exercise 6** (15 minutes, medium). Write the objective that is made as large as possible, as a mean over all tokens.

# %% exercise="clipped_objective"
def clipped_objective(log_probs, old_log_probs, advantages, epsilon):
    """Three tensors of one shape, and a number -> a scalar."""
    return ...

# %%
exercises.clipped_objective.check(clipped_objective)

# %% [markdown]
# Now we train for thirty steps, each with 32 problems and 8 answers to each of them. Nothing tells the model how to answer, for there is nothing but the verifier. **Predict**: how many of the answers will be right in the end, and what will they look like? (10 to 20 seconds)

# %% steps=30
policy = copy.deepcopy(shown)
questions = ap.Problems(task.draw_problems(32 * 30, seed=200), characters)
learner = ap.RewardTraining(policy, questions, ap.RewardRecipe(30, n_samples=8), task.verifies)
curve = {"right": [], "worked out": [], "nats a token": []}
for _ in learner.run(30):
    texts = learner.rollouts.samples.texts
    curve["right"].append(learner.mean_reward)
    curve["worked out"].append(sum(map(task.is_worked, texts)) / len(texts))
    curve["nats a token"].append(learner.surprise)

# %% tolerance=0.15
rewarded = ap.score(policy, characters, problems)
print(f"well formed {rewarded.well_formed:.2f}, right {rewarded.right:.2f}")
print(f"worked {rewarded.worked:.2f}, right when worked {rewarded.right_when_worked:.2f}")
first, *_, last = curve["nats a token"]
print(f"nats a token: {first:.2f} at first, {last:.2f} at last")
assert rewarded.right > 0.9 > 0.4 > after.right
assert rewarded.worked > 0.9

# %%
nats = {"nats a token": curve.pop("nats a token")}
figure, (left, right) = plots.figure(width=9.6, height=3.4, columns=2)
steps = range(1, len(nats["nats a token"]) + 1)
plots.plot_lines(steps, curve, left, x_label="step", y_label="share of the answers")
plots.plot_lines(steps, nats, right, x_label="step", y_label="entropy, nats a token")
plots.show(figure, alt="The shares of right and of worked answers rise to 1; entropy falls.")

# %% [markdown]
# In a few seconds the model went from one right answer in seven to nearly all, on problems that it has never seen. It also found out *how*, for it now works out every problem before it answers, since answers of that kind were rewarded far more often. Nobody asked for that. The damage of the fine-tuning is healed as well.
#
# The curve on the right shows the price. The **entropy**, which says how undecided the model is about each token, falls nearly to zero. (It is estimated by the mean of $-\ln p$ over the tokens that were drawn.) Only one text is right and worked out, and 98 % of the answers are this text. So whoever draws sixteen answers now gets nearly the same one sixteen times.

# %% [markdown]
# ## Equally many samples, used otherwise
#
# Was it GRPO that did this, or would any use of equally many answers, 7 680, have done it? **Rejection sampling** fine-tunes the model on those answers that passed. How far that leads can be reckoned beforehand. If a share $q$ of the answers is worked out, of which a share $p_w$ is right, while of the others a share $p_d$ is right, then among the kept ones a share of
#
# $$q' = \frac{q\, p_w}{q\, p_w + (1 - q)\, p_d}$$
#
# is worked out. **Predict** by this formula what one round gives, and what four smaller rounds give, each of which samples from the model that the last one left:

# %%
q, p_w = (over_seeds("demonstrations", name).mean() for name in ("worked", "right_when_worked"))
p_d = 0.1  # a guess
print(f"kept after one round: {q * p_w / (q * p_w + (1 - q) * p_d):.2f} worked out")
for arm in ("rejection", "four rounds"):
    say(arm, "worked")

# %% [markdown]
# After one round the model works out a third, which is less than the formula says. Was the formula wrong about the kept answers, or is the model not like them? Each problem has two right answers, one of them worked out, and the model that draws the answers can say how likely each of the two is:

# %% tolerance=0.1
def likely(answer):
    """How likely this answer to each problem was before the round."""
    pairs = zip(map(task.asked, problems), map(answer, problems))
    examples = ap.AnswerExamples.from_pairs(pairs, characters)
    tokens, marked = examples.tokens.to(device), examples.answer_mask.to(device)
    with torch.no_grad():
        return ap.answer_log_probs(shown(tokens), tokens, marked).exp()


worked = likely(task.worked)  # (problems,)
kept = worked + likely(task.direct)
print(f"of all kept answers, worked out: {worked.sum() / kept.sum():.2f}")
print(f"a mean over the problems:        {(worked / kept).mean():.2f}")
assert (worked / kept).mean() < worked.sum() / kept.sum() - 0.03

# %% [markdown]
# The formula was right about the kept answers. But some problems tempt the model to work them out more often than others do, and as more of *their* answers pass, they have more than their share of the kept ones. What the model learns is how to answer *each problem*, so that the mean over the problems is the better forecast.

# %% [markdown]
# So one round moves the model towards the worked form, but no further than the kept answers show it. Rounds add up, however. Four of them, which are known as **expert iteration** ([STaR](https://arxiv.org/abs/2203.14465) does it with a language model's explanations), come near to GRPO, which takes thirty rounds and also learns from what went *wrong*. (A control at the end will show which of the two matters.)

# %% [markdown]
# **DPO** ([Rafailov et al., 2023](https://arxiv.org/abs/2305.18290)) uses wrong answers as well, in pairs of a chosen one and a rejected one to the same prompt. It needs neither samples on the way nor a reward, but only the log probabilities of whole answers, compared with those of the **reference**, which is the model that it starts as. RLHF would train a second model on the same pairs first. The loss of DPO:
#
# $$L = -\ln \sigma\big(\beta\,[(\ln p_c - \ln p_c^{ref}) - (\ln p_r - \ln p_r^{ref})]\big)$$

# %%
gains = torch.tensor([0.0, 1.0, 4.0])  # by how much more the chosen answer has gained
zero = torch.zeros(1)
for gain in gains:
    print(f"gain {gain:.0f}: loss {ap.dpo_loss(gain[None], zero, zero, zero, beta=0.5):.3f}")

# %% [markdown]
# **Exercise 7** (15 minutes, medium). Write this loss from the log probabilities of whole answers. It must stay finite even where one answer has gained a thousand nats.

# %% exercise="dpo_loss"
def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta):
    """(B,) four times, and a number -> a scalar."""
    return ...

# %%
exercises.dpo_loss.check(dpo_loss)

# %% [markdown]
# Here are all four uses beside each other, with the demonstrations that they started from. Each has drawn 7 680 answers: rejection and DPO all of them from the first model, four rounds and GRPO also from the later models of their own training.

# %%
same_samples = ("rewards", "four rounds", "preferences", "rejection", "demonstrations")
for arm in same_samples:
    say(arm)
means = [over_seeds(arm).mean() for arm in same_samples]
assert means[0] > means[2] > means[3] > means[4]
assert over_seeds("rewards").min() > over_seeds("preferences").max()

# %%
runs = {arm: over_seeds(arm) for arm in same_samples}
label = "share of right answers, a dot for each seed"
ax = plots.plot_runs(runs, x_label=label, lines={"guess": 0.1})
plots.show(ax, alt="Rewards, near 1; then four rounds, preferences, rejection, demonstrations.")

# %% [markdown]
# With equally many samples GRPO gets furthest, although only a little further than four rounds of rejection sampling, which come just as far with one seed of five. DPO lies between them and a single round, and like that round it has learned from answers of the first model alone. (Each method has rates and numbers of steps of its own, and we have tried only a few of them, so the order is a fact about these runs and not a law.)

# %% [markdown]
# ## Something new, or a better choice?
#
# Has GRPO taught the model to add? To see this, compare how often *one of sixteen* answers is right, before and after, and put the base model beside it, on a line of its own:

# %% tolerance=0.1
for arm in ("demonstrations", "rewards"):
    for measure in ("pass@1", "pass@16"):
        say(arm, measure)
prompts, chance = [f"\n{problem}=" for problem in problems], torch.Generator().manual_seed(0)
texts = ap.sample_answers(base, characters, prompts, 16, generator=chance, stop="\n").texts
right = [task.verifies(problems[i // 16], text.replace("\n", ".")) for i, text in enumerate(texts)]
right = torch.tensor(right).view(-1, 16).float()  # (problems, samples)
print(f"base, on its own line: pass@1 {right.mean():.2f}, pass@16 {right.amax(1).mean():.2f}")

# %% [markdown]
# The base model, on its own line, already got most sums right with a single answer, and with sixteen as many as the model that was rewarded. So GRPO did not teach it to add. It made the model *choose* what it could do, in the form that was asked for. The control is a model that has nothing to choose from. After demonstrations of which none works the sum out, the model never does so either. Then it gets the same rewards:

# %%
for arm in ("none worked", "none worked, then rewards"):
    say(arm)
    say(arm, "worked")
assert over_seeds("none worked, then rewards").max() < 0.2

# %% [markdown]
# It still guesses, even after ten times as many steps (one seed). An answer that is never sampled is never rewarded, and there is hardly a chance that a model that writes a lone digit stumbles on five running sums.
#
# Similar things are *reported* of large models. [DeepSeek-R1-Zero](https://arxiv.org/abs/2501.12948) works problems out at greater length the longer it is trained on right and wrong, and [Yue et al. (2025)](https://arxiv.org/abs/2504.13837) find that with many samples the base models catch up, so that much of what is gained is choice. Whether that holds for longer trainings [is disputed](https://arxiv.org/abs/2505.24864).

# %% [markdown]
# ## Break it: what is rewarded is what you get
#
# What if the verifier is a little lazier? **Digit anywhere** accepts every text that contains the right digit. **Length** accepts any text of eight characters or more, since good answers are that long. Both of them say "right" to every answer that is right and worked out. **Predict** what becomes of the model, by the lazy verifier and by the exact one:

# %%
for arm in ("digit anywhere", "length"):
    say(arm, "proxy")
    say(arm)
assert over_seeds("digit anywhere", "proxy").min() > 0.9
assert over_seeds("length", "proxy").min() > 0.9
assert over_seeds("length").max() < 0.1

# %% [markdown]
# By its own measure each training succeeds, with every seed. By ours, *length* leaves next to nothing, because a text of eight characters is enough, whatever they are. Even of the answers that still look worked out nearly all have wrong sums. *Digit anywhere* costs between a few answers and most of them, depending on the seed, because working the sum out is one way to name the digit, but a text with many digits is another. This is called **reward hacking**. It takes no ill will, only a hole and a gradient, and which hole is found, and when, is a matter of luck.

# %% [markdown]
# What does it look like while a hole is being found? Here are trainings that were recorded, with two of the five seeds. Each row is one answer of one of the step's groups, and a thread shows where its probability went. **Predict** before you look:

# %%
from transformer_lab import widgets

widgets.rewards(training.load_table("rewards"), "digit anywhere", seed=3, step=8).ask("16 moved")

# %% [markdown]
# A reward is a push on an answer, but all answers of a step move the same weights, and what lifts one may lower another. Now go through the steps and look for answers at the side door, which are rewarded although they are wrong. They come up in the first steps with both seeds. With seed 1 nearly all of them are gone in the end. With seed 3 the model still writes the running sums, which contain the digit that is asked for, but what it writes behind them is in many answers no longer a colon and the digit.

# %% [markdown]
# A leash may help. Each nat by which the policy diverges from the reference, which is the model as it was at first, can be given a price. An estimate of this **KL divergence** for each token is $p_{ref}/p - \ln(p_{ref}/p) - 1$ ([Schulman, 2020](http://joschu.net/blog/kl-approx.html)), which is 0 where both agree. (Its mean is this divergence, but the mean of its gradient is not the gradient of the divergence. [DeepSeek-V3.2](https://arxiv.org/abs/2512.02556) corrects that.) The reference hardly ever leaves the form, so everything that leads away from the form becomes expensive:

# %%
for arm in ("digit anywhere", "digit anywhere, KL 0.05"):
    for measure in ("well_formed", "proxy", "right"):
        say(arm, measure)
assert over_seeds("digit anywhere, KL 0.05").min() > 0.8 > over_seeds("digit anywhere").mean()

# %% [markdown]
# On the leash nearly all answers keep the form, with every seed, and on average the exact verifier finds more of them to be right. The hole is still there. What has changed is the price of the way to it. The leash itself has a cost, since even the lazy verifier's reward is a little lower with it. That is not only because the hole is used less. Under the exact verifier, which has no hole, the same leash leaves 94 % of the answers right on average, where 98 % are right without it (five seeds). (Where the verifier is thought to have no hole, many go without a leash. [DAPO](https://arxiv.org/abs/2503.14476) does, and in Hugging Face's [trl](https://huggingface.co/docs/trl/grpo_trainer) its price is 0 unless one sets it.)

# %% [markdown]
# **Exercise 8** (find the bug; 25 minutes, hard). This is a whole loss of GRPO, with a price of divergence, and it has three defects. Before the first step $\rho$ is not 1. Behind a longer prompt, the same answers teach less. And whatever the reference says, the loss is the same.

# %% exercise="mend_grpo"
def mend_grpo(logits, old_log_probs, ref_log_probs, tokens, answer_mask, advantages, epsilon, kl):
    log_probs = logits[:, 1:].log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    ratio = (log_probs - old_log_probs).exp()
    clipped = ratio.clamp(1 - epsilon, 1 + epsilon)
    gain = torch.minimum(ratio * advantages[:, None], clipped * advantages[:, None])
    away = old_log_probs - log_probs
    divergence = away.exp() - away - 1
    return -(gain - kl * divergence).mean()

# %%
exercises.mend_grpo.check(mend_grpo)

# %% [markdown]
# One control is missing for this whole part of the lesson. If *any* push made the model work its sums out, the verifier would deserve no credit. So let the reward be random, by the toss of a coin:

# %%
say("random rewards")
say("random rewards", "well_formed")
assert over_seeds("random rewards").max() < 0.3

# %% [markdown]
# Nothing is learned, and what was there gets lost. Four of the five seeds end without the form. The fifth works most problems out, but with sums that are wrong. So it was the verifier. (Of some large models it is reported that [random rewards help](https://arxiv.org/abs/2506.10947). The authors find the cause in clipping. Here there is one step on each batch of answers, so that nothing is ever clipped, and this control does not speak about their case. [Others](https://arxiv.org/abs/2507.10532) find that those models had met the test problems before, and that on sums drawn afresh random rewards do not help, as here.)
#
# And what does clipping do? With four steps on each batch of answers, the ratio moves away from 1. Here are such trainings with $\epsilon = 0.2$, and with one so large that it clips nothing (three seeds):

# %%
for arm in ("four inner steps", "four inner steps, not clipped"):
    say(arm)

# %% [markdown]
# In these thirty steps it makes no difference that three seeds could show. Clipping is an insurance against steps that together go much too far.
#
# What does the baseline do? Without it, the weight of a right answer is 1 and that of a wrong one 0. But GRPO does two things to a reward. It takes off the group's mean and divides by the standard deviation. So the table also has *not divided*, where the mean is taken off and that is all. **Predict** what each of them costs:

# %%
for arm in ("rewards", "not divided", "no baseline"):
    say(arm)
assert over_seeds("no baseline").min() > over_seeds("not divided").max()

# %% [markdown]
# Leaving out the division changes nothing here, and leaving out the baseline costs nothing. On the contrary, with each of the five seeds the model ends a little better without it, at 0.991 or more, where the others reach 0.988 at most.

# %% [markdown]
# By the reckoning above, estimates of the gradient scatter more without a baseline. Do they here? We measured it over 24 batches of answers, with three seeds. At first the baseline makes hardly a difference. After thirty steps, estimates with a baseline even scatter *more*. Nearly every answer is right by then, and the few wrong ones have no weight without a baseline, but a large one with it. (The reckoning above was for one policy, and is no law. The [best baseline](https://www.jmlr.org/papers/v5/greensmith04a.html) is a mean in which each answer counts by the square of its gradient.)

# %% [markdown]
# So it was not by learning from what went wrong that GRPO got further than four rounds of rejection sampling. With rewards of 0 and 1, a training without a baseline *is* rejection sampling, in thirty rounds, and of large models it is reported as well that it comes [close to GRPO](https://arxiv.org/abs/2504.11343).

# %% [markdown]
# ## Back to the two questions
#
# Here are all nineteen trainings in one table, with the means of their seeds, and the lowest and the highest share of right answers in brackets:

# %%
told = []


def summary(title, *arms):
    print(title)
    for arm in arms:
        formed, worked = (over_seeds(arm, measure).mean() for measure in ("well_formed", "worked"))
        right = over_seeds(arm)
        print(f"  {arm:30} {formed:11.2f} {worked:7.2f}   {right.mean():.2f}", end=" ")
        print(f"({right.min():.2f}-{right.max():.2f})")
    told.extend(arms)


print(" " * 33 + "well formed  worked  right")
summary("shown", "demonstrations", "LoRA, rank 1", "LoRA, rank 8")
summary("shown otherwise", "all worked", "45, all worked", "none worked")
summary("as many samples, used", "rejection", "four rounds", "preferences", "rewards")
summary("GRPO, changed", "not divided", "no baseline")
summary("GRPO, several steps", "four inner steps", "four inner steps, not clipped")
summary("GRPO, other rewards", "random rewards", "length")
summary("GRPO, a hole", "digit anywhere", "digit anywhere, KL 0.05")
summary("GRPO, with nothing to choose", "none worked, then rewards")
assert set(told) == {row["arm"] for row in table}
mostly_right = [arm for arm in told if over_seeds(arm).mean() > 0.9]
assert min(over_seeds(arm, "worked").mean() for arm in mostly_right) > 0.9

# %% [markdown]
# More than nine in ten answers are right only where more than nine in ten are worked out. So each training can be judged by one question: did it make the model work its sums out, and leave the sums correct?

# %% [markdown]
# How do you make a model answer in the form that you want? A few hundred demonstrations do it in seconds, whether all its weights learn or one in forty-five. But a model learns all that it is shown, and so demonstrations without work damaged a skill.
#
# How do you make it answer *right*, if all you can say is whether an answer is right? Let it try, and make likelier what passes. Every way of doing so made our model, which could already work problems out, do it more often, and those ways got furthest that drew new answers most often. GRPO found what the model could do already, and where the verifier had a hole, it found that as well.

# %% [markdown]
# ## Remember
#
# - Fine-tuning brings the form in seconds, and can damage a skill. What is shown decides what is learned.
# - LoRA learns a small change beside each matrix; merged, it costs nothing.
# - GRPO makes an answer likelier if it is better than the others to the same prompt. Here it *chose* among what the model could do already.
# - pass@k needs its control: what would guessing give?
# - A model learns what is rewarded, not what is meant. A price on divergence helps, and so does looking at answers.

# %% [markdown]
# ## Extra: do it from the command line
#
# The same three stages, with checkpoints, going on after Ctrl-C, and other rewards to try:
#
# ```
# python -m transformer_lab.training.answers --stage base --out base.safetensors
# python -m transformer_lab.training.answers --stage demonstrations --from base.safetensors --out form.safetensors
# python -m transformer_lab.training.answers --stage rewards --from form.safetensors --reward digit
# ```
#
# The first one takes a minute or two. Watch its lines: for hundreds of steps the share of right answers is no better than guessing, and then it rises within a few hundred.

# %% [markdown]
# ## Quiz
#
# <details><summary>1. After fine-tuning, pass@16 is 0.83. Can the model solve five problems out of six?</summary>
# Not if it guesses: one of ten answers, sixteen times, gives 0.81. Compare with guessing, or look at how the answers come about.
# </details>
# <details><summary>2. In a group all eight answers are right. What does GRPO learn from them?</summary>
# Nothing (without a leash): all advantages are 0. Problems that are always solved, or never, cost time and teach nothing.
# </details>

# %% [markdown]
# <details><summary>3. The reward rises to 1, and users complain. What do you look at first?</summary>
# At the answers. The reward measures what it checks; whether that is what you meant, only the texts show.
# </details>
# <details><summary>4. You have fifty worked solutions, and a verifier. Which do you use first?</summary>
# The solutions: here 45 were enough. Then the verifier, for what they leave over.
# </details>

# %% [markdown]
# **Next:** our models are small enough for one process. [Lesson 17](17_many_machines.ipynb) trains one in many.
