"""Exercises of lesson 07: a merge of byte-pair encoding, the shift, a softened loss, the learning rate's warm-up."""

from collections import Counter
from functools import partial
from itertools import pairwise

import torch
import torch.nn.functional as F

from transformer_lab import training
from transformer_lab.data import tokenizer
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise


def merge_case(label: str, symbols: str, pair: str) -> Case:
    """Symbols and a pair of them, written with bars between: "ab|c" is ["ab", "c"]."""
    return Case(label, {"symbols": symbols.split("|"), "pair": tuple(pair.split("|"))})


merge_pair = Exercise(
    tokenizer.merge_pair,
    lesson="07",
    minutes=5,
    difficulty=1,
    statement="""
    One merge of byte-pair encoding: wherever the two symbols of `pair` are neighbours, they become one symbol.

    `symbols` is a list of texts, `pair` a tuple of two. Go from left to right and use each symbol once: with the pair
    ("a", "a"), ["a", "a", "a"] becomes ["aa", "a"]. Return a new list.
    """,
    returns=("symbols",),
    cases=(
        merge_case("the pair occurs once", "u|n|d", "n|d"),
        merge_case("the pair occurs twice", "z|w|a|n|z|i|g|z|w|e|i", "z|w"),
        merge_case("the pair does not occur", "e|i|n|s", "u|n"),
        merge_case("both symbols occur, in the other order only", "d|u|n", "n|u"),
        merge_case("four equal symbols", "a|a|a|a", "a|a"),
        merge_case("three equal symbols", "a|a|a", "a|a"),
        merge_case("five equal symbols among others", "b|a|a|a|a|a|b|a", "a|a"),
        merge_case("longer symbols", "ein|und|zwan|zig", "und|zwan"),
        merge_case("the text contains the pair, the symbols do not", "xa|b|a|bx|ab", "a|b"),
        merge_case("a symbol that already is the joined pair", "ab|a|b|ab|b|a", "a|b"),
        merge_case("a symbol is a space", "a| |b| |a|b", " |b"),
        merge_case("one symbol", "a", "a|b"),
        Case("no symbol", {"symbols": [], "pair": ("a", "b")}),
    ),
    hints=(
        "Go through the symbols from left to right and build a new list. When do two symbols become one entry?",
        "Look back: if the last entry of your new list is the left half of the pair, the symbol may be the right half.",
        "A joined symbol is longer than either half, so it can't be mistaken for one of them.",
    ),
)


@merge_pair.mistake("The right half is left over: after a merge, continue *two* symbols further on.")
def right_half_left_behind(symbols, pair):
    merged = []
    for i, symbol in enumerate(symbols):
        merged.append("".join(pair) if tuple(symbols[i : i + 2]) == pair else symbol)
    return merged


@merge_pair.mistake(
    "A symbol is used twice: in a a a, the middle one is the right half of the first pair, and you also use it as the "
    "left half of a second pair."
)
def used_twice(symbols, pair):
    pairs = list(pairwise(symbols))
    merged = []
    for i, symbol in enumerate(symbols):
        if i < len(pairs) and pairs[i] == pair:
            merged.append("".join(pair))
        elif i == 0 or pairs[i - 1] != pair:
            merged.append(symbol)
    return merged


@merge_pair.mistake(
    "You look at how the last entry *ends*. But xa, which ends in a, is a different symbol from a: the whole entry "
    "must be the left half."
)
def end_of_a_symbol_merged(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and merged[-1].endswith(pair[0]) and symbol == pair[1]:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


@merge_pair.mistake("Only the first occurrence is merged, but the pair may occur more than once.")
def first_place_only(symbols, pair):
    for i in range(len(symbols) - 1):
        if (symbols[i], symbols[i + 1]) == pair:
            return [*symbols[:i], "".join(pair), *symbols[i + 2 :]]
    return list(symbols)


@merge_pair.mistake(
    "You replace in the joined text, which ignores where longer symbols begin: the symbols xa and b have an a before "
    "the b in their text, although no symbol is a."
)
def replaced_in_the_text(symbols, pair):
    return "|".join(symbols).replace("|".join(pair), "".join(pair)).split("|") if symbols else []


@merge_pair.mistake("You go from right to left, so a a a becomes a aa. The convention is left to right: aa a.")
def right_to_left(symbols, pair):
    merged = []
    for symbol in reversed(symbols):
        if merged and (symbol, merged[0]) == pair:
            merged[0] = symbol + merged[0]
        else:
            merged.insert(0, symbol)
    return merged


@merge_pair.mistake("The last symbol is lost unless it is merged, because a loop over pairs ends one symbol early.")
def last_symbol_lost(symbols, pair):
    merged, i = [], 0
    while i < len(symbols) - 1:
        found = (symbols[i], symbols[i + 1]) == pair
        merged.append("".join(pair) if found else symbols[i])
        i += 2 if found else 1
    return merged


@merge_pair.mistake("The order matters: the pair (n, u) is not u n, but you merge both.")
def in_either_order(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) in (pair, pair[::-1]):
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


@merge_pair.mistake("Your list contains the pair itself, a tuple. It must contain one text, the two symbols joined.")
def not_joined(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] = pair
        else:
            merged.append(symbol)
    return merged


@merge_pair.mistake(
    "You look at every second position only, so that you miss a pair that begins in between. Go on by two after a "
    "merge, and otherwise by one."
)
def every_other_place(symbols, pair):
    merged = []
    for i in range(0, len(symbols), 2):
        two = symbols[i : i + 2]
        merged += ["".join(pair)] if tuple(two) == pair else two
    return merged


@merge_pair.mistake(
    "You return one text, with spaces between the symbols. Return a list, because a symbol may contain a space itself."
)
def one_text(symbols, pair):
    return " ".join(merge_pair.reference(symbols, pair))


BOS = 1


def shift_case(label: str, tokens: list, bos_id: int = BOS) -> Case:
    return Case(label, {"tokens": torch.tensor(tokens, device="cpu"), "bos_id": bos_id})


shift_right = Exercise(
    training.shift_right,
    lesson="07",
    minutes=5,
    difficulty=1,
    statement="""
    The input of the decoder for these targets: bos_id, then the targets, each one position further to the right.

    Targets and input are ids of shape (B, T). At position t the decoder then reads the token *before* target t, and
    predicts target t. The last token of each row, whether eos or padding, is left out.
    """,
    returns=("inputs",),
    cases=(
        shift_case("one sentence of three tokens and eos (2)", [[7, 8, 9, 2]]),
        shift_case("two sentences, the second is padded with 0", [[7, 8, 9, 2], [5, 2, 0, 0]]),
        shift_case("another bos_id", [[3, 6, 4], [8, 9, 3]], bos_id=5),
        shift_case("one token only", [[2], [9]]),
        shift_case("more sentences than tokens", [[4, 2], [5, 2], [6, 2], [2, 0], [7, 2]], bos_id=11),
    ),
    properties=(
        Property(
            "every sentence starts with bos_id",
            lambda given, inputs: bool((inputs[:, 0] == given["bos_id"]).all()),
        ),
        Property(
            "the input at position t + 1 is the target at position t",
            lambda given, inputs: torch.equal(inputs[:, 1:], given["tokens"][:, :-1]),
        ),
    ),
    hints=(
        "Write the targets of one sentence in a row, and under each of them the token before it. Which token comes "
        "before the first?",
        "The shape stays the same: one token is added on the left, and one is removed on the right.",
        "`torch.cat` joins two tensors along an axis. Which two are joined here, and along which axis?",
    ),
)


@shift_right.mistake(
    "You shift to the *left*: at position t the decoder would read target t + 1, which lies in the future and does not "
    "exist yet when the model writes. Each token must move one position to the right."
)
def shifted_left(tokens, bos_id):
    return torch.cat([tokens[:, 1:], torch.full_like(tokens[:, :1], bos_id)], dim=1)


@shift_right.mistake(
    "Input and target are the same. At each position the decoder reads the token that it must predict there, copies "
    "it, and learns nothing else."
)
def not_shifted(tokens, bos_id):
    return tokens.clone()


@shift_right.mistake(
    "bos_id was added and no token removed, so the input is one longer than the targets. Leave out the last column."
)
def one_too_long(tokens, bos_id):
    return torch.cat([torch.full_like(tokens[:, :1], bos_id), tokens], dim=1)


@shift_right.mistake("The last column was removed, but bos_id was not added: the input starts with the first target.")
def without_bos(tokens, bos_id):
    return tokens[:, :-1].clone()


@shift_right.mistake(
    "bos_id replaces the first token, and all others stay where they are. From the second position on, the decoder "
    "reads what it must predict."
)
def first_token_replaced(tokens, bos_id):
    inputs = tokens.clone()
    inputs[:, 0] = bos_id
    return inputs


@shift_right.mistake(
    "`roll` moves the tokens around in a ring: the last one, eos or padding, comes back on the left, where bos_id "
    "belongs."
)
def rolled(tokens, bos_id):
    return tokens.roll(1, dims=1)


@shift_right.mistake(
    "`roll` without `dims` moves the tokens through the whole batch: the last token of a sentence becomes the first of "
    "the next one, and bos_id stands in the first sentence alone."
)
def rolled_through_the_batch(tokens, bos_id):
    inputs = tokens.roll(1)
    inputs[0, 0] = bos_id
    return inputs


@shift_right.mistake(
    "You shift along the batch, so each sentence gets the one above it. The positions are the second axis, `dim=1`."
)
def shifted_over_sentences(tokens, bos_id):
    return torch.cat([torch.full_like(tokens[:1], bos_id), tokens[:-1]], dim=0)


@shift_right.mistake("The ids have become floating-point numbers. Give the column of bos_id the type of the tokens.")
def ids_became_floats(tokens, bos_id):
    return torch.cat([torch.ones(tokens.size(0), 1) * bos_id, tokens[:, :-1]], dim=1)


@shift_right.mistake("You add a 1, whatever bos_id is.")
def bos_is_one(tokens, bos_id):
    return torch.cat([torch.ones_like(tokens[:, :1]), tokens[:, :-1]], dim=1)


@shift_right.mistake("You add a 0, which is often padding. The first token is bos_id.")
def zero_in_front(tokens, bos_id):
    return torch.cat([torch.zeros_like(tokens[:, :1]), tokens[:, :-1]], dim=1)


def loss_case(label: str, logits, targets: list, smoothing: float, pad_id: int = 0) -> Case:
    tensors = {"logits": torch.as_tensor(logits, device="cpu"), "targets": torch.as_tensor(targets, device="cpu")}
    return Case(label, {**tensors, "smoothing": smoothing, "pad_id": pad_id})


label_smoothing_loss = Exercise(
    training.label_smoothing_loss,
    lesson="07",
    minutes=15,
    difficulty=2,
    statement="""
    Cross-entropy with a softened truth (label smoothing, §5.4): the mean over all targets of the batch that are not
    padding.

    logits has shape (B, T, vocab), targets (B, T). The truth gives 1 - smoothing to the target, and spreads the rest
    evenly over the whole vocabulary, target included. Build it from `log_softmax`: `F.cross_entropy` could do all of it
    in one call, and you would learn no more than the names of its arguments.
    """,
    returns=("loss",),
    cases=(
        loss_case("one target, no smoothing", [[[1.0, 2.0, 3.0]]], [[2]], 0.0),
        loss_case("one target, smoothing 0.3", [[[1.0, 2.0, 3.0]]], [[2]], 0.3),
        loss_case("two targets", [[[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]]], [[2, 1]], 0.3),
        loss_case("a target and a pad (0)", [[[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]]], [[2, 0]], 0.3),
        loss_case("logits far apart", [[[0.0, 300.0, 0.0]]], [[1]], 0.1),
        loss_case("all of the mass is spread", counting(1, 2, 3), [[1, 2]], 1.0),
        loss_case("sentences of different length", normal(2, 3, 5), [[4, 3, 1], [2, 0, 0]], 0.1),
        loss_case("another pad_id; 0 is a word", normal(2, 4, 7), [[0, 6, 3, 3], [5, 0, 4, 3]], 0.1, pad_id=3),
        loss_case("a batch", normal(3, 5, 7), [[1, 2, 3, 4, 5], [6, 1, 2, 0, 0], [5, 0, 0, 0, 0]], 0.2),
        loss_case("not contiguous", normal(2, 7, 3).mT, [[6, 4, 1], [2, 5, 0]], 0.1),
    ),
    properties=(Property("a cross-entropy is never negative", lambda given, loss: bool((loss >= 0).all())),),
    hints=(
        "Without smoothing, the loss is the mean of -log p(target). With smoothing, that is one of two parts: which "
        "share does it have, and what is the other part?",
        "Smoothing mixes the target with an even distribution over the *whole* vocabulary. The cross-entropy with an "
        "even distribution is minus the mean of the log probabilities.",
        "`log_softmax` stays finite where the logarithm of a softmax does not. `gather` picks the entry of the target.",
        "Leave padding out twice: out of the sum, and out of the number by which you divide.",
    ),
)


def loss_of(log_probabilities, targets, smoothing, pad_id):
    """The right loss of what may be wrong log probabilities."""
    of_targets = log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (-(1 - smoothing) * of_targets - smoothing * log_probabilities.mean(-1))[targets != pad_id].mean()


def loss_for(truth, logits, targets, pad_id):
    """The cross-entropy with any truth, (B, T, vocab), over the targets that are not padding."""
    return -(truth * logits.log_softmax(-1)).sum(-1)[targets != pad_id].mean()


def one_hot(targets, logits):
    return F.one_hot(targets, logits.size(-1)).to(logits.dtype)


@label_smoothing_loss.mistake("Nothing is smoothed: this is the plain cross-entropy. `smoothing` is never used.")
def not_smoothed(logits, targets, smoothing, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id)


@label_smoothing_loss.mistake(
    "Padding counts as a target. The model then learns to write padding, and short sentences teach it little else."
)
def padding_counts(logits, targets, smoothing, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing)


@label_smoothing_loss.mistake(
    "The losses at padding are left out of the sum, but you still divide by the number of *all* positions. So the more "
    "padding there is in a batch, the smaller is the loss."
)
def divided_by_all_places(logits, targets, smoothing, pad_id):
    losses = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="none"
    )
    return losses.mean()


@label_smoothing_loss.mistake(
    "You take the mean of each sentence, and then the mean of these. So a token of a short sentence counts more than "
    "one of a long sentence, but all targets of the batch must count alike."
)
def mean_of_means(logits, targets, smoothing, pad_id):
    return torch.stack(
        [
            label_smoothing_loss.reference(logits[i : i + 1], targets[i : i + 1], smoothing, pad_id)
            for i in range(len(logits))
        ]
    ).mean()


@label_smoothing_loss.mistake("This is the sum of the losses, which grows with the batch. Take their mean.")
def summed(logits, targets, smoothing, pad_id):
    return F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="sum"
    )


@label_smoothing_loss.mistake(
    "The softmax is applied twice: `F.cross_entropy` takes logits, and you hand it probabilities. These differ by at "
    "most 1, so the loss stays high and the gradients small."
)
def softmax_before_cross_entropy(logits, targets, smoothing, pad_id):
    probabilities = logits.softmax(-1).flatten(0, 1)
    return F.cross_entropy(probabilities, targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing)


@label_smoothing_loss.mistake(
    "You take the logarithm of a softmax. Where a probability is too small for its type, it is 0, its logarithm -inf, "
    "and the loss infinite. `log_softmax` computes the logarithm without that detour."
)
def log_of_softmax(logits, targets, smoothing, pad_id):
    return loss_of(logits.softmax(-1).log(), targets, smoothing, pad_id)


@label_smoothing_loss.mistake(
    "The softmax runs over the positions. It must run over the vocabulary, the last axis, so that the probabilities at "
    "each position sum to 1."
)
def softmax_over_time(logits, targets, smoothing, pad_id):
    return loss_of(logits.log_softmax(1), targets, smoothing, pad_id)


@label_smoothing_loss.mistake(
    "The mass is spread over all tokens *but* the target, smoothing / (vocab - 1) each. Some programs do that; here it "
    "is spread over the whole vocabulary, and the target gets its share too."
)
def spread_over_the_others(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits)
    truth = truth * (1 - smoothing) + (1 - truth) * smoothing / (logits.size(-1) - 1)
    return loss_for(truth, logits, targets, pad_id)


@label_smoothing_loss.mistake(
    "The mass is spread over all tokens but the target and padding: smoothing / (vocab - 2) each, as in The Annotated "
    "Transformer. Here it is spread over the whole vocabulary."
)
def spread_without_padding(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits)
    truth = truth * (1 - smoothing) + (1 - truth) * smoothing / (logits.size(-1) - 2)
    truth[..., pad_id] = 0
    return loss_for(truth, logits, targets, pad_id)


@label_smoothing_loss.mistake(
    "Every token gets the whole `smoothing`: you take a sum over the vocabulary instead of its mean. The truth must "
    "sum to 1."
)
def sum_over_the_vocabulary(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits) * (1 - smoothing) + smoothing
    return loss_for(truth, logits, targets, pad_id)


@label_smoothing_loss.mistake("The two parts are exchanged: the target gets `smoothing`, and 1 - smoothing is spread.")
def parts_swapped(logits, targets, smoothing, pad_id):
    return loss_of(logits.log_softmax(-1), targets, 1 - smoothing, pad_id)


@label_smoothing_loss.mistake(
    "The target keeps its whole weight, and `smoothing` is added to it, so that the truth sums to more than 1. What is "
    "spread must be taken from the target, which keeps 1 - smoothing."
)
def smoothing_on_top(logits, targets, smoothing, pad_id):
    return loss_for(one_hot(targets, logits) + smoothing / logits.size(-1), logits, targets, pad_id)


@label_smoothing_loss.mistake(
    '`kl_div` with `reduction="batchmean"` divides by the first axis alone, by the sentences instead of the '
    "targets. And a divergence is the cross-entropy minus the entropy of the softened truth."
)
def divergence_by_sentences(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits) * (1 - smoothing) + smoothing / logits.size(-1)
    truth = truth * (targets != pad_id).unsqueeze(-1)
    return F.kl_div(logits.log_softmax(-1), truth, reduction="batchmean")


@label_smoothing_loss.mistake("The sign is wrong: a log probability is negative, and the loss is minus its mean.")
def sign_forgotten(logits, targets, smoothing, pad_id):
    return -label_smoothing_loss.reference(logits, targets, smoothing, pad_id)


@label_smoothing_loss.mistake(
    "This is the Kullback-Leibler divergence, the cross-entropy minus the entropy of the softened truth. Its gradients "
    "are the same, but its value differs."
)
def divergence(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits) * (1 - smoothing) + smoothing / logits.size(-1)
    entropy = torch.special.entr(truth).sum(-1)[targets != pad_id].mean()
    return loss_for(truth, logits, targets, pad_id) - entropy


def rate_case(label: str, step: int, d_model: int, warmup_steps: int) -> Case:
    return Case(label, {"step": step, "d_model": d_model, "warmup_steps": warmup_steps})


warmup_rate = Exercise(
    training.warmup_rate,
    lesson="07",
    minutes=5,
    difficulty=1,
    statement="""
    The learning rate at a step, counted from 1: it climbs for warmup_steps steps, then falls as 1/√step.

    rate = d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5)        (§5.3, equation 3)
    """,
    returns=("rate",),
    cases=(
        rate_case("the first of four steps of warm-up", 1, 4, 4),
        rate_case("half-way up", 2, 4, 4),
        rate_case("the peak", 4, 4, 4),
        rate_case("after four times as many steps, half the peak", 16, 4, 4),
        rate_case("a wider model", 4, 16, 4),
        rate_case("a warm-up of one step", 9, 25, 1),
        rate_case("step 1 of the paper's base model", 1, 512, 4000),
        rate_case("step 4 000, its peak", 4000, 512, 4000),
        rate_case("step 100 000, its last", 100_000, 512, 4000),
    ),
    hints=(
        "The rate is the smaller of two numbers: one grows with the step, the other falls as 1/√step. Where do they "
        "meet?",
        "x to the power of -0.5 is 1/√x.",
        "At the last step of the warm-up both are 1/√warmup_steps. What slope takes the growing one from 0 to there?",
    ),
)


@warmup_rate.mistake("You take the *larger* of the two, so the rate starts high, falls, and then climbs without end.")
def larger_of_the_two(step, d_model, warmup_steps):
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake(
    "The rate is highest at step 1, so nothing climbs. Either the term that grows with the step is missing, or it is "
    "never the smaller of the two: its factor must be small, warmup_steps to the power of *minus* 1.5."
)
def without_warm_up(step, d_model, warmup_steps):
    return d_model**-0.5 * step**-0.5


@warmup_rate.mistake("The rate climbs and never falls. After the warm-up it must fall as 1/√step.")
def never_falls(step, d_model, warmup_steps):
    return d_model**-0.5 * step * warmup_steps**-1.5


@warmup_rate.mistake("After the warm-up the rate stays at its peak. It must fall as 1/√step.")
def stays_at_the_peak(step, d_model, warmup_steps):
    return d_model**-0.5 * min(warmup_steps**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake("The factor 1/√d_model, for the width of the model, is missing.")
def width_ignored(step, d_model, warmup_steps):
    return min(step**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake(
    "You multiply by √d_model instead of 1/√d_model: in the formula, wider models get a *smaller* rate."
)
def grows_with_the_width(step, d_model, warmup_steps):
    return d_model**0.5 * min(step**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake(
    "You count the steps from 0 and add one. Here the first step is already number 1, as in the paper."
)
def counted_from_zero(step, d_model, warmup_steps):
    return d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup_steps**-1.5)


@warmup_rate.mistake(
    "The exponent of warmup_steps must be -1.5. With -0.5 the climb is warmup_steps times too steep and ends too early."
)
def climbs_too_fast(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


@warmup_rate.mistake(
    "The climb ends at 1/√d_model, far above where the fall begins: the rate jumps down after the warm-up. Both must "
    "meet at 1/√(d_model · warmup_steps)."
)
def climb_and_fall_do_not_meet(step, d_model, warmup_steps):
    return d_model**-0.5 * (step / warmup_steps if step <= warmup_steps else step**-0.5)


@warmup_rate.mistake(
    "The peak is 1. That would be a factor for a scheduler with a base rate of its own, but the rate itself is wanted."
)
def relative_to_the_peak(step, d_model, warmup_steps):
    return min(step / warmup_steps, (warmup_steps / step) ** 0.5)


@warmup_rate.mistake(
    "After the warm-up the rate falls as 1/step, so that four times as many steps quarter it. They should halve it."
)
def falls_too_fast(step, d_model, warmup_steps):
    return (d_model * warmup_steps) ** -0.5 * min(step / warmup_steps, warmup_steps / step)


# ── all merges ──


def words_case(label: str, words: dict[str, int], n_merges: int) -> Case:
    return Case(label, {"words": words, "n_merges": n_merges})


learn_merges = Exercise(
    tokenizer.learn_merges,
    lesson="07",
    minutes=30,
    difficulty=3,
    statement="""
    Learn the merges of byte-pair encoding: find the pair of neighbours that occurs most often, merge it in every word,
    and again, until there are `n_merges` merges or each word is a single symbol. Returns the list of pairs.

    `words` is a dict from words to how often each occurs; at first the symbols of a word are its characters. Of equally
    frequent pairs, take the one whose left symbol was created first, and among these the one whose right symbol was.
    The characters count as created first, in the order of their code points; then come the merged symbols, in the
    order in which they were made.
    """,
    returns=("merges",),
    cases=(
        words_case("one word, one merge", {"ab": 1}, 1),
        words_case("a word that occurs twice", {"ab": 1, "cd": 2}, 1),
        words_case("a merge of a merge", {"abc": 3, "ab": 1}, 2),
        words_case("fewer merges than asked for", {"ab": 2, "c": 1}, 5),
        words_case("no merges asked for", {"ab": 2}, 0),
        words_case("no words", {}, 3),
        words_case("equally frequent: the left symbols differ", {"cd": 1, "ab": 1}, 2),
        words_case("equally frequent: the right symbols differ", {"ac": 1, "ab": 1}, 2),
        words_case("equally frequent: one symbol is a merged one", {"ab": 3, "abz": 2, "cz": 2}, 3),
        words_case("equally frequent: one right symbol is a merged one", {"ab": 3, "zab": 2, "zc": 2}, 3),
        words_case("equal letters side by side", {"aaaaa": 1, "baa": 2}, 4),
        words_case("a pair within a word counts each time", {"ababab": 1, "cd": 2}, 2),
        words_case("the paper's words", {"low·": 5, "lower·": 2, "newest·": 6, "widest·": 3}, 10),
    ),
    hints=(
        "Keep for each word the list of its symbols. Each round counts all pairs, picks one, merges it in each list.",
        "A pair in a word that occurs five times counts five times. And `pairwise` gives the neighbours of a list.",
        "To pick a pair, take the minimum by three things in turn: the negative count, the number of the left symbol "
        "in the order of creation, and that of the right one. Which number does a new symbol get?",
        "To merge a pair within a word is an exercise of its own: `merge_pair`.",
    ),
)


def joined(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


def by_age(counts, known, pair):
    return -counts[pair], known.index(pair[0]), known.index(pair[1])


def learned(words, n_merges, times=lambda n: n, rank=by_age, join=joined, most=None):
    """The right loop, one part of which may be another: how words count, how pairs are ranked, how they are joined."""
    split, known, merges = {word: list(word) for word in words}, sorted(set().union(*words)), []
    while len(merges) < n_merges:
        counts = Counter()
        for word, symbols in split.items():
            for pair in pairwise(symbols):
                counts[pair] += times(words[word])
        if not counts or (most and max(counts.values()) < most):
            break
        best = min(counts, key=partial(rank, counts, known))
        merges.append(best)
        known.append("".join(best))
        split = {word: join(symbols, best) for word, symbols in split.items()}
    return merges


@learn_merges.mistake("Each word counts once, however often it occurs: add `words[word]`, not 1.")
def words_counted_once(words, n_merges):
    return learned(words, n_merges, times=lambda n: 1)


@learn_merges.mistake(
    "You count the pairs once and take the most frequent of these. Each merge makes new pairs and takes others away: "
    "count again after each."
)
def counted_once_for_all(words, n_merges):
    counts = Counter()
    for word, times in words.items():
        for pair in pairwise(word):
            counts[pair] += times
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:n_merges]


@learn_merges.mistake(
    "Of equally frequent pairs you take the one that you met first. Take the one whose symbols were created first."
)
def first_met(words, n_merges):
    return learned(words, n_merges, rank=lambda counts, known, pair: -counts[pair])


@learn_merges.mistake(
    "Of equally frequent pairs you take the first in the alphabet. For characters that is right; but a merged "
    "symbol was created after all of them, whatever its letters are."
)
def in_alphabetical_order(words, n_merges):
    return learned(words, n_merges, rank=lambda counts, known, pair: (-counts[pair], *pair))


@learn_merges.mistake(
    "Of equally frequent pairs you take the one whose symbols were created *last*. Take the one whose symbols were "
    "created first."
)
def youngest_first(words, n_merges):
    rank = lambda counts, known, pair: (-counts[pair], -known.index(pair[0]), -known.index(pair[1]))  # noqa: E731
    return learned(words, n_merges, rank=rank)


@learn_merges.mistake("You take the pair that is rarest. Take the most frequent one.")
def rarest_first(words, n_merges):
    return learned(words, n_merges, rank=lambda counts, known, p: (counts[p], known.index(p[0]), known.index(p[1])))


@learn_merges.mistake(
    "The merges come back as texts. Each must be a pair, the left symbol and the right one: from the text alone nobody "
    "can tell where it was joined."
)
def texts_in_place_of_pairs(words, n_merges):
    return ["".join(pair) for pair in learned(words, n_merges)]


@learn_merges.mistake(
    "You stop when the most frequent pair occurs once. Go on merging until each word is a single symbol or there are "
    "`n_merges`."
)
def stops_at_single_pairs(words, n_merges):
    return learned(words, n_merges, most=2)


@learn_merges.mistake("You do not stop when no pair is left: each word may be a single symbol before `n_merges`.")
def never_out_of_pairs(words, n_merges):
    merges = learned(words, n_merges)
    if len(merges) < n_merges:
        max([])
    return merges


@learn_merges.mistake("One merge too many: there must be `n_merges` of them.")
def one_too_many(words, n_merges):
    return learned(words, n_merges + 1)


@learn_merges.mistake(
    "You merge only the first place of a pair in each word. It must be merged wherever it occurs, or it is found again."
)
def merged_once_in_a_word(words, n_merges):
    def join(symbols, pair):
        found = [i for i, two in enumerate(pairwise(symbols)) if two == pair]
        return [*symbols[: found[0]], "".join(pair), *symbols[found[0] + 2 :]] if found else symbols

    return learned(words, n_merges, join=join)


@learn_merges.mistake(
    "A pair counts once in a word, however often it occurs there: in ababab, (a, b) must count three times."
)
def once_in_a_word(words, n_merges):
    split, known, merges = {word: list(word) for word in words}, sorted(set().union(*words)), []
    while len(merges) < n_merges:
        counts = Counter()
        for word, symbols in split.items():
            for pair in set(pairwise(symbols)):
                counts[pair] += words[word]
        if not counts:
            break
        best = min(counts, key=partial(by_age, counts, known))
        merges.append(best)
        known.append("".join(best))
        split = {word: joined(symbols, best) for word, symbols in split.items()}
    return merges
