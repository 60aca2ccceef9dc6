# %% [markdown]
# # 16 · After pretraining
#
# A model that continues text learns to answer, and to be right, from nothing but *right* or *wrong*.
#
# **You will be able to**
# - fine-tune a language model on demonstrations, whole or by LoRA,
# - write the losses of GRPO and DPO, and train with them,
# - tell what a model has learned from what it could do before, and from what only its reward says.
#
# **You need** lessons 07 to 09. **Papers:** [InstructGPT](https://arxiv.org/abs/2203.02155), [LoRA](https://arxiv.org/abs/2106.09685), [DPO](https://arxiv.org/abs/2305.18290), [GRPO](https://arxiv.org/abs/2402.03300). **Time:** 40 minutes, the exercises 125 more.

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
# The model of this lesson has read a million characters. Most of its lines are sums of five digits, of which only the last digit is kept. Here it goes on with two prompts, always with the most probable character:

# %%
base, characters, _ = training.load_language_model("digit_sums")
base.to(device)
for prompt in ("\n38576=", ">38576="):
    tokens = characters.encode(prompt).expand(1, -1).to(device)
    written = complete(base, tokens, 9, top_k=1)[0]
    print(repr(prompt), "→", repr(characters.decode(written[len(prompt) :])))

# %% [markdown]
# On a line of its own the model *works the sum out*. Each digit before the colon is a running sum without its tens: 3, then 3 + 8 = 11, which leaves 1, then 1 + 5 = 6, and so on. The last one, 9, is the answer, and it stands once more behind the colon.

# %% [markdown]
# The second prompt has the sign `>` in front, as the question sheets of its text have. Somebody asks, and wants to have `9.` back, or `31639:9.`, with a full stop, and then nothing more. The model writes the same line as before and goes on with the next one. How often does it give an answer in the form that is asked for?

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
# None of these problems was in its text. So the model *can* do it, and it does not answer: it continues text, because that is what it was trained for, and never ends. A model like this is called a **base model**. What turns it into one that answers is called **post-training**, and this lesson does it in seconds.

# %% [markdown]
# Two questions lead through it. How do you make it answer in the form you want? And how do you make it answer *right*, if you can only say whether an answer is right?

# %% [markdown]
# ## Show it: supervised fine-tuning
#
# The first idea is to go on training, on examples of what you want. **Supervised fine-tuning** (SFT) takes prompts with good answers, **demonstrations**, and lowers the loss of lesson 09 on them. One thing changes. The user wrote the prompt, and the model need not learn to write it. So only the tokens of the answer count as targets. By hand, for a prompt of two tokens and an answer of two, where the model gives its targets these probabilities:

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
# The stop belongs to the answer. Without it as a target, nothing would teach the model to end.
#
# Now 300 demonstrations. Like a collection that people have written, they are mixed: 15 % work the sum out, the others only say the digit. Training takes about 5 seconds.

# %%
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
print(f"right when worked: {own.right_when_worked:.2f} before, {after.right_when_worked:.2f} now")
assert after.well_formed > 0.9
assert after.right < 0.4 < own.right
assert after.right_when_worked < own.right_when_worked - 0.1

# %% [markdown]
# The form is there: nearly every answer has it. But few are right. Most answers give the digit at once, as most demonstrations did, and without the running sums the model can only guess, with one chance in ten. Worse, where it does work the sum out, it is wrong far more often than before. Two hundred steps have damaged a skill.
#
# Is that one unlucky seed? `python -m transformer_lab.training.experiments.answers` has trained this base in seventeen ways, most of them with five seeds. The lesson reads its table:

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
# **What should count?** Let the loss run over everything, prompts too. In our task that makes no difference, since prompts are random digits, of which nothing can be learned. It does where a prompt holds what you do *not* want. Here each prompt shows a wrong attempt, and then asks again. **Predict** what a model learns that is trained on the attempts as well (10 seconds):

# %%
def with_attempt(problem, wrong):
    """A prompt with an attempt that went wrong: running sums at random."""
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

# %% tolerance=0.35
torch.manual_seed(0)
shares = {"answer only": [], "everything": []}
for seed in (0, 1, 2):
    examples = ap.AnswerExamples.from_pairs(attempts(300, 200 + 10 * seed)[1], characters)
    counted = {"answer only": examples, "everything": examples.with_prompts(characters.pad_id)}
    for name, examples in counted.items():
        shares[name].append(right_after_attempts(examples, seed))
for name, found in shares.items():
    print(f"{name:11}", [round(share, 2) for share in found])
assert min(shares["answer only"]) > max(shares["everything"])

# %% [markdown]
# After 50 steps the model that learned from answers alone is nearly always right, and the other one is not, because a good part of its loss was spent on writing wrong sums. (With four times the steps it gets nearly as far: what the mask buys is time, and a cleaner aim.)
#
# **What should be shown?** The other decision is larger. Here are three more collections from the table: all demonstrations work it out, 300 of them or only 45; or none does.

# %%
for arm in ("demonstrations", "all worked", "45, all worked", "none worked"):
    say(arm)
assert over_seeds("45, all worked").min() > over_seeds("demonstrations").max() + 0.3
assert over_seeds("none worked").max() < 0.2

# %% [markdown]
# If the demonstrations show *how*, a few of them are enough, and this lesson could end here. Keep that in mind as the control for all that follows: reinforcement learning is for where nobody can show how it is done, but a result can be checked.

# %% [markdown]
# ## LoRA: one parameter in forty-five
#
# Fine-tuning a model of 70 billion parameters changes them all, and needs Adam's two averages for each. **LoRA** ([Hu et al., 2021](https://arxiv.org/abs/2106.09685)) leaves a matrix as it is and learns a change of low rank beside it, $B A$, where $A$ has $r$ rows and $B$ has $r$ columns:
#
# $$y = x W^\top + \frac{\alpha}{r}\, x A^\top B^\top$$
#
# $B$ starts at zero, so that the model starts as it was. By hand, with rank 1:

# %%
x, weight = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
a, b, alpha = torch.tensor([[1.0, 1.0]]), torch.tensor([[2.0], [0.0]]), 0.5
print("down to one number:", (x @ a.T).item(), "and up again:", (x @ a.T @ b.T).tolist())
print("output:", ap.lora_forward(x, weight, a, b, alpha).tolist())
print("as one matrix:", (x @ (weight + alpha / 1 * b @ a).T).tolist())

# %% [markdown]
# The last line is the reason why LoRA costs nothing afterwards: the change can be **merged** into the matrix. Wrap each linear layer of the base, train, and merge (5 seconds):

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
assert over_seeds("LoRA, rank 1", "well_formed").mean() > 0.9

# %% [markdown]
# Two parameters in a hundred learn the form as well as all of them do, and a rank of 8 brings nothing more. The files are small too, since `ap.save_lora` writes nothing but $A$ and $B$. On much larger models LoRA is reported to [learn less and forget less](https://arxiv.org/abs/2405.09673) than full fine-tuning. What was forgotten here we have not measured.

# %% [markdown]
# ## Right or wrong: the verifier
#
# So far the model answers, and is mostly wrong. Suppose nobody can show it how to be right, but each answer can be checked. A function that says whether a text is a right answer is called a **verifier**. Tests of a program are one, and so is the number in the back of the book. Ours is exact:

# %%
for text in ("9.", "31639:9.", "31639:8.", "31649:9.", "9.9", "0123456789."):
    print(f"{text:12}", task.verifies("38576", text))

# %% [markdown]
# The cheapest use of a verifier trains nothing: draw several answers, and keep one that passes. This is **best-of-n**. How far does it get? Let $c$ of $n$ answers to a problem be right. Of all ways to pick $k$ of them, those without a right one are $\binom{n-c}{k}$, so
#
# $$\text{pass@}k = 1 - \binom{n-c}{k} \Big/ \binom{n}{k},$$
#
# averaged over problems ([Chen et al., 2021](https://arxiv.org/abs/2107.03374)). Without a verifier you can still take what most answers say, a **majority vote**.

# %%
print("2 of 4 right, pick 2:", round(ap.pass_at_k(4, 2, 2), 3))
for measure in ("pass@1", "pass@4", "pass@16", "majority"):
    say("demonstrations", measure)
print("guessing, 16 times:", round(1 - 0.9**16, 2))

# %% [markdown]
# Sixteen answers hold a right one four times out of five. That looks like a hidden ability. But the last line is the control: whoever *guesses* a digit sixteen times is right once or more in 81 % of all cases. pass@16 alone says nothing here.

# %% [markdown]
# ## Learn from it: GRPO
#
# A better use of the verifier is to *change the model*, so that answers that pass become likelier. That is **reinforcement learning**. The model, now called the **policy**, draws answers, each gets a **reward**, here 1 or 0, and the gradient of $\sum_t \ln p(x_t)$, the log probability of an answer, is taken with a weight that says how good the answer was.

# %% [markdown]
# Which weight? With the reward itself, an answer to an easy problem is pushed as hard as a lucky one to a hard problem. It is better to ask whether an answer is better than *others to the same prompt*. **GRPO** ([Shao et al., 2024](https://arxiv.org/abs/2402.03300)) draws a **group** of answers to each prompt, and its **advantage** is the reward with the group's mean taken off, divided by its standard deviation:

# %%
rewards = torch.tensor([[1.0, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
for group, advantages in zip(rewards.tolist(), ap.group_advantages(rewards).tolist()):
    print(group, "→", [round(value, 2) for value in advantages])

# %% [markdown]
# The only right answer of a group gets much weight, one of three gets little, and a group in which all are alike says nothing.
#
# Drawing answers is slow, so you may want to take several steps with the same ones. After the first, the policy is no longer the one that drew them. The ratio $\rho = p / p_{old}$ corrects for that, and clipping it keeps the policy from running away ([PPO](https://arxiv.org/abs/1707.06347)). What is made large is the mean over all tokens of
#
# $$\min\big(\rho A,\; \text{clip}(\rho, 1 - \epsilon, 1 + \epsilon)\, A\big)$$

# %%
for ratio, advantage in ((1.0, 1.0), (1.5, 1.0), (0.5, 1.0), (0.5, -1.0), (1.5, -1.0)):
    log_prob = torch.tensor([math.log(ratio)], requires_grad=True)
    gain = ap.clipped_objective(log_prob, torch.zeros(1), torch.tensor([advantage]), 0.2)
    gain.backward()
    slope = log_prob.grad.item()
    print(f"ρ {ratio}, A {advantage:4}: gain {gain.item():5.2f}, gradient {slope:5.2f}")

# %% [markdown]
# A good token that is likelier by more than 20 % already, or a bad one that is less likely by that much, gets no gradient any more. One that went the *wrong* way still does: for that the minimum is there.

# %% [markdown]
# Now train. Thirty steps, each with 32 problems and 8 answers to each. Nothing tells the model how to answer; there is the verifier and nothing else. **Predict**: how many of the answers will be right in the end, and what will they look like? (10 to 20 seconds)

# %%
policy = copy.deepcopy(shown)
questions = ap.Problems(task.draw_problems(960, seed=200), characters)
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
ax = plots.plot_lines(range(1, 31), curve, x_label="step", y_label="share, or nats")
plots.show(ax, alt="The shares of right and of worked answers rise together to 1; nats fall.")

# %% [markdown]
# In a few seconds it went from one right answer in seven to nearly all, on problems that it has never seen. And it found out *how*: it now works out every problem before it answers, because only those answers were rewarded reliably. Nobody asked for that. The damage of the fine-tuning is healed as well.
#
# The third curve shows the price. The **entropy**, how undecided the model is about each token, falls nearly to zero. Whoever samples sixteen answers now gets sixteen times the same.

# %% [markdown]
# ## The same samples, used otherwise
#
# Was it GRPO, or would any use of equally many answers, 7 680, do? **Rejection sampling** fine-tunes on those that passed. How far that leads can be reckoned beforehand: if a share $q$ of the answers is worked out, and of those $p_w$ are right, of the others $p_d$, then among the kept ones
#
# $$q' = \frac{q\, p_w}{q\, p_w + (1 - q)\, p_d}$$
#
# are worked out. **Predict** by it what one round gives, and what four smaller ones give, each of which samples from the model of the last:

# %%
q, p_w = (over_seeds("demonstrations", name).mean() for name in ("worked", "right_when_worked"))
p_d = 0.1  # a guess
print(f"kept after one round: {q * p_w / (q * p_w + (1 - q) * p_d):.2f} worked out")
for arm in ("rejection", "four rounds"):
    say(arm, "worked")

# %% [markdown]
# One round moves the model towards the worked form, and no further than the kept answers show it. Rounds add up. Four of them, known as **expert iteration**, come near to GRPO, which takes thirty rounds, and also learns from what went *wrong*.

# %% [markdown]
# **DPO** ([Rafailov et al., 2023](https://arxiv.org/abs/2305.18290)) uses wrong answers as well, in pairs: a chosen one and a rejected one to the same prompt. It needs no samples on the way and no reward, only the log probabilities of whole answers, compared with the **reference**, the model that it starts as:
#
# $$L = -\ln \sigma\big(\beta\,[(\ln p_c - \ln p_c^{ref}) - (\ln p_r - \ln p_r^{ref})]\big)$$

# %%
gains = torch.tensor([0.0, 1.0, 4.0])  # by how much more the chosen answer has gained
zero = torch.zeros(1)
for gain in gains:
    print(f"gain {gain:.0f}: loss {ap.dpo_loss(gain[None], zero, zero, zero, beta=0.5):.3f}")

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
# With equally many samples GRPO gets furthest, if only a little further than four rounds, whose best seeds reach it. DPO lies between: all its pairs come from the first model, which it leaves behind. (Each method has rates and numbers of steps of its own, and these were tried only a little. So the order is a fact about these runs, not a law.)

# %% [markdown]
# ## Something new, or a better choice?
#
# Has the model learned to add? Compare how often *one of sixteen* answers is right, before and after, and add the base on a line of its own:

# %% tolerance=0.1
for arm in ("demonstrations", "rewards"):
    for measure in ("pass@1", "pass@16"):
        say(arm, measure)
right = [ap.score_as_pretrained(base, characters, problems, seed).right for seed in range(16)]
print(f"base, on a line of its own: pass@1 {sum(right) / 16:.2f}")

# %% [markdown]
# The base, on its own line, already got most sums right with a single answer. So GRPO did not teach it to add. It made the model *choose* what it could do, in the form that was asked for. The control is a model that has nothing to choose from: after demonstrations of which none works it out, it never does. Then the same rewards:

# %%
for arm in ("none worked", "none worked, then rewards"):
    say(arm)
    say(arm, "worked")
assert over_seeds("none worked, then rewards").max() < 0.2

# %% [markdown]
# It still guesses. An answer that is never sampled is never rewarded, and here no chance leads from a lone digit to five running sums.
#
# Of large models similar things are *reported*: [DeepSeek-R1](https://arxiv.org/abs/2501.12948) works problems out at greater length the longer it is trained on right and wrong, and [Yue et al. (2025)](https://arxiv.org/abs/2504.13837) find that with many samples the base models catch up, so that much of what is gained is choice. Whether that holds for longer trainings is disputed.

# %% [markdown]
# ## Break it: what is rewarded is what you get
#
# Make the verifier a little lazier. **Digit anywhere** accepts every text that contains the right digit. **Length** accepts any text of eight characters or more, since good answers are that long. Both say "right" of every right worked answer. **Predict** what the model becomes, by the lazy verifier and by the exact one:

# %%
for arm in ("digit anywhere", "length"):
    say(arm, "proxy")
    say(arm)
assert over_seeds("digit anywhere", "proxy").min() > 0.9
assert over_seeds("length", "proxy").min() > 0.9
assert over_seeds("length").max() < 0.1

# %% [markdown]
# By its own measure each training succeeds, with every seed. By ours, *length* leaves nothing at all: the model fills eight places with anything. *Digit anywhere* costs from a few answers to most of them, by seed. Working it out is one way to name the digit, but texts with many digits are another. This is **reward hacking**. It takes no ill will, only a hole and a gradient. Which hole is found, and when, is a matter of luck.

# %% [markdown]
# A leash may help. Each nat by which the policy diverges from the reference, the model at first, can be given a price. An estimate of this **KL divergence** for each token is $p_{ref}/p - \ln(p_{ref}/p) - 1$, which is 0 where both agree. The reference hardly ever leaves the form, so what leads away from it becomes dear:

# %%
for arm in ("digit anywhere", "digit anywhere, KL 0.05"):
    for measure in ("well_formed", "proxy", "right"):
        say(arm, measure)
assert over_seeds("digit anywhere, KL 0.05").min() > 0.8 > over_seeds("digit anywhere").mean()

# %% [markdown]
# On the leash nearly all answers keep the form, with every seed. The lazy verifier gives a little less reward, since its hole stays unused, and the exact one finds more to be right. The hole is still there; what changed is the way to it.

# %% [markdown]
# Now the control for this whole part of the lesson. If *any* push made the model work its sums out, the verifier would deserve no credit. So reward at random, by a coin:

# %%
say("random rewards")
say("random rewards", "well_formed")
assert over_seeds("random rewards").max() < 0.3

# %% [markdown]
# Nothing is learned, and what was there gets lost, in some seeds even the form. So it was the verifier. (For some large models [random rewards are reported to help](https://arxiv.org/abs/2506.10947), by strengthening what they did most often anyway. The control is worth running.)
#
# And clipping? With one step on each batch of answers the ratio is always 1, and nothing is clipped. With four steps it has something to do (three seeds):

# %%
for arm in ("four inner steps", "four inner steps, not clipped"):
    say(arm)

# %% [markdown]
# Here it makes no difference that three seeds could show. Clipping is an insurance: it is for the step that goes much too far, and in these short runs there was none.

# %% [markdown]
# ## Remember
#
# - Fine-tuning brings the form in seconds, and can damage a skill. What is shown decides what is learned.
# - LoRA learns a small change beside each matrix; merged, it costs nothing.
# - GRPO makes likelier what is better than the other answers to the same prompt. It mostly *chooses* what the model can do.
# - pass@k needs its control: what would guessing give?
# - A model learns what is rewarded, not what is meant. A price on divergence helps, and so does looking at answers.

# %% [markdown]
# ## Extra: do it from the command line
#
# The same three stages, with checkpoints, going on after Ctrl-C, and other rewards to try:
#
# ```
# python -m transformer_lab.training.answers --stage base --out base.safetensors
# python -m transformer_lab.training.answers --stage demonstrations --out form.safetensors
# python -m transformer_lab.training.answers --stage rewards --from form.safetensors --reward digit
# ```
#
# The first one takes a minute or two. Watch its lines: for a thousand steps the share of right answers stays where guessing is, and within two hundred more it rises to more than half.

# %% [markdown]
# ## Exercises
#
# **1.** (15 minutes, easy) The loss of supervised fine-tuning. The mask marks the *tokens* that count as targets.

# %% exercise="answer_loss"
def answer_loss(logits, tokens, answer_mask):
    """(B, T, vocab), (B, T), (B, T) boolean -> a scalar, in nats."""
    return ...

# %%
exercises.answer_loss.check(answer_loss)

# %% [markdown]
# **2.** (10 minutes, easy) A linear layer with LoRA, whatever axes stand before the last one.

# %% exercise="lora_forward"
def lora_forward(x, weight, a, b, alpha):
    """(…, d_in), (d_out, d_in), (r, d_in), (d_out, r) -> (…, d_out)."""
    return ...

# %%
exercises.lora_forward.check(lora_forward)

# %% [markdown]
# **3.** (20 minutes, medium) A verifier that leaves no hole. It will be tried on what a policy might find.

# %% exercise="verifies"
def verifies(problem, text):
    """verifies("38576", "31639:9.") -> True"""
    return ...

# %%
exercises.verifies.check(verifies)

# %% [markdown]
# **4.** (Predict; 10 minutes, medium) Of n answers n_right are right. How likely is it that k of them, picked at random, hold a right one? Work it out on paper; the cell is the last step.

# %% exercise="pass_at_k"
def pass_at_k(n, n_right, k):
    """A number from 0 to 1."""
    return ...

# %%
exercises.pass_at_k.check(pass_at_k)

# %% [markdown]
# **5.** (15 minutes, medium) The advantages of GRPO. A row holds the rewards of one prompt's samples.

# %% exercise="group_advantages"
def group_advantages(rewards):
    """(prompts, samples) -> the same shape."""
    return ...

# %%
exercises.group_advantages.check(group_advantages)

# %% [markdown]
# **6.** (15 minutes, medium) The objective that is made as large as possible, as a mean over all tokens.

# %% exercise="clipped_objective"
def clipped_objective(log_probs, old_log_probs, advantages, epsilon):
    """Three tensors of one shape, and a number -> a scalar."""
    return ...

# %%
exercises.clipped_objective.check(clipped_objective)

# %% [markdown]
# **7.** (15 minutes, medium) The loss of DPO, from the log probabilities of whole answers. It must stay finite.

# %% exercise="dpo_loss"
def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta):
    """(B,) four times, and a number -> a scalar."""
    return ...

# %%
exercises.dpo_loss.check(dpo_loss)

# %% [markdown]
# **8.** (Find the bug; 25 minutes, hard) A whole loss of GRPO, with a price of divergence. It has three defects. Before the first step $\rho$ is not 1. Behind a longer prompt the same answers teach less. And however far the model drifts from the reference, it hardly pays.

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
# ## Quiz
#
# <details><summary>1. After fine-tuning, pass@16 is 0.83. Can the model solve five problems out of six?</summary>
# Not if it guesses: one of ten answers, sixteen times, gives 0.81. Compare with guessing, or look at how the answers come about.
# </details>
# <details><summary>2. In a group all eight answers are right. What does GRPO learn from them?</summary>
# Nothing: all advantages are 0. Problems that are always solved, or never, cost time and teach nothing.
# </details>

# %% [markdown]
# <details><summary>3. The reward rises to 1, and users complain. What do you look at first?</summary>
# At the answers. The reward measures what it checks; whether that is what you meant, only the texts show.
# </details>
# <details><summary>4. You have fifty worked solutions, and a verifier. Which do you use first?</summary>
# The solutions: here 45 were enough. Then the verifier, for what they leave over.
# </details>
