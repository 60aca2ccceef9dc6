# %% [markdown]
# # Gallery
#
# Every view of the lessons, alive on one page: move it, press it, paint on it.

# %%
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    raise ModuleNotFoundError(
        "This notebook needs the package transformer_lab: get the repository that it belongs to, "
        "and in its folder run `pip install -r requirements.txt`."
    )

import torch
from torch import nn

from transformer_lab import record_attention, widgets

seed = torch.manual_seed(0)
# %% [markdown]
# ## Attention
#
# **Where does a word look?** (lesson 01): point at one, and follow its arcs to what its vector becomes. The word *bank* stands in two sentences, and every word has two numbers, for *money* and *water*.

# %%
meanings = {"money": [4.5, 0.0], "river": [0.0, 4.5], "bank": [1.0, 1.0], "took": [1.0, 0.0]}
sentences = ["I took my money to the bank".split(), "We sat on the bank of the river".split()]
vectors = [torch.tensor([meanings.get(w, [0.0, 0.0]) for w in words]) for words in sentences]
looks = [(x @ x.T / 2**0.5).softmax(-1) for x in vectors]  # (T, T) each

# %%
widgets.arcs(sentences, looks, vectors, ["money", "water"], word="bank")

# %% [markdown]
# **How do scores become weights?** (lesson 01): follow them as they are divided by √d_k, masked, and made into weights by a softmax. Press the terms of the equation, or point at a word. The temperature sharpens the weights or flattens them.

# %%
words = "the bank of the river".split()
query, key = torch.randn(5, 16), torch.randn(5, 16)
widgets.attention_steps(query, key, words, words, causal=True)

# %% [markdown]
# **Why divide the scores?** (lesson 01): without the scale, wider vectors give one key nearly all the weight, and leave softmax next to no gradient.

# %%
widgets.saturation(torch.randn(20, 1024), torch.randn(8, 1024))

# %% [markdown]
# **Where does your own model look?** See its weights in any number of heads and layers. These are the encoder's of the translator that comes with the package, as it reads an English number:

# %%
from transformer_lab.analysis import token_names
from transformer_lab.training import load_checkpoint

model, tokenizer, _ = load_checkpoint("en_de")
ids = [*tokenizer.encode("seven hundred and forty-six"), tokenizer.eos_id]
tokens = token_names(tokenizer, ids)
with torch.no_grad(), record_attention(model) as maps:
    model.encode(torch.tensor([ids]))
weights = torch.stack([maps[f"encoder.layers.{i}.self_attention"][0] for i in range(2)])

# %%
widgets.attention(weights, tokens, tokens)

# %% [markdown]
# **What does each head look for?** (lesson 02): sort the heads by how widely they look, or take the difference of two.

# %%
widgets.heads(weights, tokens, tokens)

# %% [markdown]
# **Where does the future leak in?** (lesson 05): paint what each query may see, and stop the leaks. Every spark is a word that looks into the future: shut its window, or try a pattern that does.

# %%
six = ["I", "am", "a", "student", ".", "pad"]
widgets.mask_playground(torch.randn(6, 6), six, pattern="everything")

# %% [markdown]
# ## Positions and depth
#
# **How is a position written?** (lesson 03): see the table, the waves of a pair of features, and the dot product of two positions.

# %%
widgets.encoding((64, 32))

# %% [markdown]
# **What shifts every position by k?** (lesson 03): one matrix leads from any position to the one k further on. The second tab shows RoPE, which turns queries and keys instead.

# %%
widgets.shift(torch.randn(8), torch.randn(8))

# %% [markdown]
# **What is left after many layers?** (lesson 04): see how much of a signal arrives on the way up, and of a gradient on the way down.

# %%
from transformer_lab.analysis import norms_by_layer


def norms(depth, step):
    """Random vectors through `depth` linear layers; `step` says how a layer is used."""
    states = [torch.randn(8, 32, requires_grad=True)]
    for layer in [nn.Linear(32, 32) for _ in range(depth)]:
        states.append(step(states[-1], layer))
    return norms_by_layer(states, output=states[-1])


steps = {"alone": lambda x, f: f(x).relu(), "residual": lambda x, f: x + f(x).relu()}
depths = (2, 4, 8, 16, 24)
sweep = {kind: {n: norms(n, step) for n in depths} for kind, step in steps.items()}
widgets.depth(sweep)

# %% [markdown]
# ## A translator
#
# **What does the machine say without a part?** (lesson 06): watch the whole translator at work in the page, and break it. The English sentence is the field, and ribbons as thick as the attention lead from its words to the German ones. Open one of the six breakers and see what it says then; press a part to look inside it, or swap a vector for that of another number.

# %%
widgets.machine(model, tokenizer, "thirty-four thousand and twenty-one")

# %% [markdown]
# **Which token comes next?** (lesson 08): choose it greedily, by sampling or with beams, step by step. Here the translator writes the German for *twenty-one*.

# %%
source = torch.tensor([[*tokenizer.encode("twenty-one"), tokenizer.eos_id]])
names = token_names(tokenizer, range(len(tokenizer)))


@torch.no_grad()
def next_logits(ids):
    return model(source, torch.tensor([ids]))[0, -1]


special = {"bos_id": tokenizer.bos_id, "eos_id": tokenizer.eos_id}
widgets.decoding(next_logits, names, **special, depth=6, branching=3)

# %% [markdown]
# **Where does each German word come from?** (lesson 07): see which English words it was written from. In a notebook you can run the cell, and type a number of your own, below a million.

# %%
widgets.own_sentence(model, tokenizer, ["twenty-one", "three hundred and forty-five thousand"])

# %% [markdown]
# ## Learning
#
# **What does it write while it learns?** (lesson 09): a language model reads the names of ten thousand numbers, letter by letter, for a few seconds. The green curve is its loss on names that are held out, the dashed line that of a table of triples, and the slider brings back what it wrote before.

# %%
from transformer_lab import LanguageModel, LanguageModelConfig, token_log_probs
from transformer_lab.data import ngrams, tasks
from transformer_lab.data.texts import Characters
from transformer_lab.training import TextExamples, TextRecipe, TextTraining

names = [tasks.number_name(n, "en") for n in torch.randperm(10_000).tolist()]
characters = Characters.of("\n".join(names))
read, held_out = (characters.encode("\n".join(part)) for part in (names[100:], names[:100]))
size = {"max_len": 48, "positions": "rotary", "dropout": 0.0, "attention_dropout": 0.0}
writer = LanguageModel(LanguageModelConfig(len(characters), 48, 4, 192, 2, **size))
reading = TextTraining(writer, TextExamples(read, 48), TextRecipe(200))

# %%
def on_held_out():
    return -token_log_probs(writer, held_out).mean().item()


triples = ngrams.NGrams(read, len(characters), 3)
levels = {"3-gram": -triples.token_log_probs(held_out).mean().item()}
reports = reading.run(200, on_held_out, every=40)
widgets.text_training_monitor(reports, 200, writer, characters, ["four ", "nine"], levels=levels)

# %% [markdown]
# **When does it get the answer right?** (lesson 07): press play, or go to any step, and see a small model learn to reverse five letters. In a notebook you can stop it, and resume it.

# %%
from transformer_lab import Transformer, TransformerConfig
from transformer_lab.data.tasks import Vocabulary, random_sequences, reverse_alignment
from transformer_lab.training import Examples, Recipe, Training, exact_match

letters = Vocabulary("abcdefgh")
made = random_sequences(reverse_alignment, n=640, length=5, n_symbols=8)
texts = [[letters.decode(ids) for ids in side.tolist()] for side in (made.src, made.tgt)]
pairs = list(zip(*texts))
size = TransformerConfig(len(letters), d_model=32, n_heads=2, d_ff=64, n_layers=1, max_len=8)
learner = Transformer(size)
training = Training(learner, Examples.from_pairs(pairs[:512], letters), Recipe(64, warmup_steps=60))

# %%
reports = training.run(240, lambda: exact_match(learner, letters, pairs[512:]), every=40)
widgets.training_monitor(reports, 240, learner, letters, pairs[512:515])

# %% [markdown]
# **What does a reward teach?** (lesson 16): see recorded training runs with five different rewards. Go from step to step, and see which answers are rewarded, which of their probabilities move, and how a hole in a verifier is found.

# %%
from transformer_lab.training import load_table

widgets.rewards(load_table("rewards"), "digit anywhere", seed=3, step=8)

# %% [markdown]
# ## Inside a language model
#
# **How would it go on?** (lesson 09): type a few letters, and see what the reader of names would write next.

# %%
widgets.completer(writer, characters, "four thousand and ")

# %% [markdown]
# **What would it say half-way?** (lesson 10): see through the logit lens what the reader of names would say next, if it ended at its embedding, or after its first layer.

# %%
from transformer_lab import causal_mask
from transformer_lab.analysis import logit_lens

said = characters.encode("two thousand and seventy-two")
with torch.no_grad():
    states = [writer.embedded(said[None], 0)]
    for layer in writer.layers:
        states.append(layer(states[-1], causal_mask(len(said))))
    logits = logit_lens(torch.cat(states), writer.norm, writer.to_logits.weight)
widgets.lens(logits, said, characters.symbols)

# %% [markdown]
# **What is lost without a head?** (lesson 10): choose a head, ablate it, and see what the loss of each next token becomes, and where the other heads look now.

# %%
widgets.induction(writer, characters.encode("seventy-two and seventy-two"), characters.symbols)

# %% [markdown]
# ## Since 2017
#
# **What did each swap buy?** (lesson 11): choose among six parts that have been replaced since 2017. The losses are those of the table that comes with the package.

# %%
from transformer_lab.training.experiments.swaps import losses_of

widgets.swaps(losses_of(load_table("swaps")))

# %% [markdown]
# **What does each design remember?** (lesson 15): see to scale what multi-head, grouped and latent attention, a sliding window, and the state of a delta rule keep of a text. Play, and see what each still knows of the token that you point at.

# %%
widgets.designs()

# %% [markdown]
# **What does a key-value cache cost?** (lesson 08): see how much of your laptop it fills, and how much arithmetic it saves.

# %%
widgets.cache_cost("GPT-3", length=2048)

# %% [markdown]
# **Can attention be done in tiles?** (lesson 13): it reads the scores tile by tile; each query keeps its largest score and a sum. Step, choose another size, and hide the future.

# %%
torch.manual_seed(3)
eight = "the cat sat on a mat and slept".split()
widgets.tiles(2 * torch.randn(8, 8), eight, eight)

# %% [markdown]
# **Who writes, the draft or the model?** (lesson 13): a table of letters drafts, and a small model judges four letters in one pass.

# %%
from transformer_lab import speculative
from transformer_lab.data.ngrams import NGrams

beginning = characters.encode("four thousand and ")
table = NGrams(read, len(characters), 3)
chance = torch.Generator("cpu").manual_seed(0)
drafted = speculative(writer, table, beginning, 25, generator=chance)
widgets.speculation(drafted, characters.symbols)

# %% [markdown]
# **Who waits for whom?** (lesson 17): see one training step of four ranks in five ways, and who computes, sends or waits when. Go through the step, slow down a rank or the links, and let the ranks send while they compute.

# %%
widgets.ranks("sharded")
