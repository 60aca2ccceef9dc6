"""Exercises of lesson 07: a merge of byte-pair encoding, the shift, a softened loss, the learning rate's warm-up."""

from itertools import pairwise

import torch
import torch.nn.functional as F

from transformer_lab import training
from transformer_lab.exercises.exercise import Law, exercise
from transformer_lab.exercises.running import Case
from transformer_lab.exercises.samples import counting, normal


def merge_case(label: str, symbols: str, pair: str) -> Case:
    """Symbols and a pair of them, written with bars between: "ab|c" is ["ab", "c"]."""
    return Case(label, {"symbols": symbols.split("|"), "pair": tuple(pair.split("|"))})


@exercise(
    lesson="07",
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
        merge_case("the text has the pair, the symbols have not", "xa|b|a|bx|ab", "a|b"),
        merge_case("a symbol that is the pair already", "ab|a|b|ab|b|a", "a|b"),
        merge_case("a symbol is a space", "a| |b| |a|b", " |b"),
        merge_case("one symbol", "a", "a|b"),
        Case("no symbol", {"symbols": [], "pair": ("a", "b")}),
    ),
    hints=(
        "Go through the symbols from left to right and build a new list. When do two symbols become one entry?",
        "Look back: a symbol is the right half of the pair if the last entry of your new list is the left half.",
        "Whatever was joined is longer than either half, so that it cannot be taken for a half again.",
    ),
)
def merge_pair(symbols, pair):
    """One merge of byte-pair encoding: wherever the two symbols of `pair` are neighbours, they become one symbol.

    `symbols` is a list of texts, `pair` a tuple of two. Go from left to right and use each symbol once: with the pair
    ("a", "a"), ["a", "a", "a"] becomes ["aa", "a"]. Return a new list.
    """
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


@merge_pair.mistake("The right half stays behind: after a merge, go on *two* symbols further.")
def right_half_left_behind(symbols, pair):
    merged = []
    for i, symbol in enumerate(symbols):
        merged.append("".join(pair) if tuple(symbols[i : i + 2]) == pair else symbol)
    return merged


@merge_pair.mistake(
    "A symbol is used twice: in a a a the middle one is the right half of the first pair, and you take it for the left "
    "half of a second."
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


@merge_pair.mistake("Only the first place is merged, where the pair may occur at many.")
def first_place_only(symbols, pair):
    for i in range(len(symbols) - 1):
        if (symbols[i], symbols[i + 1]) == pair:
            return [*symbols[:i], "".join(pair), *symbols[i + 2 :]]
    return list(symbols)


@merge_pair.mistake(
    "You replace in the joined text, where the borders of longer symbols are lost: with the symbols xa and b, the text "
    "has an a before the b, though no symbol is a."
)
def replaced_in_the_text(symbols, pair):
    return "|".join(symbols).replace("|".join(pair), "".join(pair)).split("|") if symbols else []


@merge_pair.mistake("You go from right to left: a a a becomes a aa. The convention is left to right: aa a.")
def right_to_left(symbols, pair):
    merged = []
    for symbol in reversed(symbols):
        if merged and (symbol, merged[0]) == pair:
            merged[0] = symbol + merged[0]
        else:
            merged.insert(0, symbol)
    return merged


@merge_pair.mistake("The last symbol is lost unless it is merged: a loop over pairs ends one symbol early.")
def last_symbol_lost(symbols, pair):
    merged, i = [], 0
    while i < len(symbols) - 1:
        found = (symbols[i], symbols[i + 1]) == pair
        merged.append("".join(pair) if found else symbols[i])
        i += 2 if found else 1
    return merged


@merge_pair.mistake("The order counts: the pair (n, u) is not u n. You merge either.")
def in_either_order(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) in (pair, pair[::-1]):
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


@merge_pair.mistake("The pair itself stands in your list, as a tuple. What is asked for is one text: the two joined.")
def not_joined(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] = pair
        else:
            merged.append(symbol)
    return merged


@merge_pair.mistake(
    "You return one text, in which spaces part the symbols. Return a list: a symbol may contain a space itself."
)
def one_text(symbols, pair):
    return " ".join(merge_pair.reference(symbols, pair))


BOS = 1


def shift_case(label: str, tokens: list, bos_id: int = BOS) -> Case:
    return Case(label, {"tokens": torch.tensor(tokens, device="cpu"), "bos_id": bos_id})


@exercise(
    lesson="07",
    returns=("inputs",),
    package=training.shift_right,
    cases=(
        shift_case("one sentence of three tokens and eos (2)", [[7, 8, 9, 2]]),
        shift_case("two sentences, the second is padded with 0", [[7, 8, 9, 2], [5, 2, 0, 0]]),
        shift_case("another bos_id", [[3, 6, 4], [8, 9, 3]], bos_id=5),
        shift_case("one token only", [[2], [9]]),
        shift_case("more sentences than tokens", [[4, 2], [5, 2], [6, 2], [2, 0], [7, 2]], bos_id=11),
    ),
    laws=(
        Law(
            "every sentence starts with bos_id",
            lambda given, inputs: bool((inputs[:, 0] == given["bos_id"]).all()),
        ),
        Law(
            "the input at place t + 1 is the target of place t",
            lambda given, inputs: torch.equal(inputs[:, 1:], given["tokens"][:, :-1]),
        ),
    ),
    hints=(
        "Write the targets of one sentence in a row, and under each the token that stands before it. Which stands "
        "before the first?",
        "The shape stays: one token comes in on the left, one goes out on the right.",
        "`torch.cat` along the axis of time puts a column of bos_id before the tokens without their last column.",
    ),
)
def shift_right(tokens, bos_id):
    """The input of the decoder for these targets, (B, T) ids each: the targets, one place further right, behind bos_id.

    At place t the decoder then reads what stands *before* target t, and predicts it. The last token of each row, be it
    eos or padding, drops out.
    """
    first = torch.full_like(tokens[:, :1], bos_id)
    return torch.cat([first, tokens[:, :-1]], dim=1)


@shift_right.mistake(
    "You shift to the *left*: at place t the decoder would read target t + 1, the future, and at inference, when there "
    "is no future yet, it would have nothing to read. Each token must move one place to the right."
)
def shifted_left(tokens, bos_id):
    return torch.cat([tokens[:, 1:], torch.full_like(tokens[:, :1], bos_id)], dim=1)


@shift_right.mistake(
    "Input and target are the same. The decoder reads at each place the token that it must predict there, copies it, "
    "and learns nothing."
)
def not_shifted(tokens, bos_id):
    return tokens.clone()


@shift_right.mistake(
    "bos_id came in, and no token went out: the input is one longer than the targets. Leave out the last column."
)
def one_too_long(tokens, bos_id):
    return torch.cat([torch.full_like(tokens[:, :1], bos_id), tokens], dim=1)


@shift_right.mistake("The last column went out, and bos_id did not come in: the input starts with the first target.")
def without_bos(tokens, bos_id):
    return tokens[:, :-1].clone()


@shift_right.mistake(
    "bos_id takes the place of the first token, and all others stay where they are: from the second on, the decoder "
    "reads at each place what it must predict there."
)
def first_token_replaced(tokens, bos_id):
    inputs = tokens.clone()
    inputs[:, 0] = bos_id
    return inputs


@shift_right.mistake(
    "`roll` turns the tokens in a ring: the last one, eos or padding, comes in again on the left, where bos_id belongs."
)
def rolled(tokens, bos_id):
    return tokens.roll(1, dims=1)


@shift_right.mistake(
    "You shift along the batch: each sentence gets the one above it. Time is the second axis, `dim=1`."
)
def shifted_over_sentences(tokens, bos_id):
    return torch.cat([torch.full_like(tokens[:1], bos_id), tokens[:-1]], dim=0)


@shift_right.mistake("The ids have become floating-point numbers. Make the column of bos_id of the type of the tokens.")
def ids_became_floats(tokens, bos_id):
    return torch.cat([torch.ones(tokens.size(0), 1) * bos_id, tokens[:, :-1]], dim=1)


@shift_right.mistake("You put in a 1, whatever bos_id is.")
def bos_is_one(tokens, bos_id):
    return torch.cat([torch.ones_like(tokens[:, :1]), tokens[:, :-1]], dim=1)


@shift_right.mistake("You put in a 0, which often is padding. The first token is bos_id.")
def zero_in_front(tokens, bos_id):
    return torch.cat([torch.zeros_like(tokens[:, :1]), tokens[:, :-1]], dim=1)


def loss_case(label: str, logits, targets: list, smoothing: float, pad_id: int = 0) -> Case:
    logits, targets = (torch.as_tensor(x, device="cpu") for x in (logits, targets))
    return Case(label, {"logits": logits, "targets": targets, "smoothing": smoothing, "pad_id": pad_id})


@exercise(
    lesson="07",
    returns=("loss",),
    package=training.label_smoothing_loss,
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
    laws=(Law("a cross-entropy is never negative", lambda given, loss: bool((loss >= 0).all())),),
    hints=(
        "Without smoothing, what you want is the mean of -log p(target). Which part of the loss does that become, and "
        "which is the other part?",
        "Smoothing mixes the target with an even distribution over the *whole* vocabulary. The cross-entropy with an "
        "even distribution is minus the mean of the log probabilities.",
        "`log_softmax` stays finite where the logarithm of a softmax does not. `gather` picks the target's entry.",
        "Padding is left out at the end: of the sum, and of the number that you divide by.",
    ),
)
def label_smoothing_loss(logits, targets, smoothing, pad_id):
    """Cross-entropy with a softened truth: the mean over all targets of the batch that are not padding.

    logits (B, T, vocab), targets (B, T). The truth keeps 1 - smoothing for the target and spreads the rest evenly over
    the whole vocabulary, target included, as `F.cross_entropy(…, label_smoothing=…)` does (§5.4).
    """
    log_probabilities = logits.log_softmax(dim=-1)
    of_targets = log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    losses = -(1 - smoothing) * of_targets - smoothing * log_probabilities.mean(dim=-1)
    return losses[targets != pad_id].mean()


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
    "Padding counts as a target: the model learns to write padding, and short sentences teach it that more than words."
)
def padding_counts(logits, targets, smoothing, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing)


@label_smoothing_loss.mistake(
    "The losses at padding are left out of the sum, but you still divide by the number of *all* places: the more "
    "padding in a batch, the smaller the loss."
)
def divided_by_all_places(logits, targets, smoothing, pad_id):
    losses = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="none"
    )
    return losses.mean()


@label_smoothing_loss.mistake(
    "You take the mean of each sentence, then the mean of those: a word of a short sentence counts more than one of a "
    "long sentence. All targets of the batch count alike."
)
def mean_of_means(logits, targets, smoothing, pad_id):
    return torch.stack(
        [
            label_smoothing_loss.reference(logits[i : i + 1], targets[i : i + 1], smoothing, pad_id)
            for i in range(len(logits))
        ]
    ).mean()


@label_smoothing_loss.mistake("This is the sum of the losses. Take their mean, or the loss grows with the batch.")
def summed(logits, targets, smoothing, pad_id):
    return F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="sum"
    )


@label_smoothing_loss.mistake(
    "Softmax came twice: `F.cross_entropy` takes logits, and you hand it probabilities. Between 0 and 1 they differ so "
    "little that the loss stays high and the gradients small."
)
def softmax_before_cross_entropy(logits, targets, smoothing, pad_id):
    probabilities = logits.softmax(-1).flatten(0, 1)
    return F.cross_entropy(probabilities, targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing)


@label_smoothing_loss.mistake(
    "The logarithm of a softmax: where a probability is too small for its type it is 0, its logarithm -inf, and the "
    "loss infinite. `log_softmax` never leaves the logarithm."
)
def log_of_softmax(logits, targets, smoothing, pad_id):
    return loss_of(logits.softmax(-1).log(), targets, smoothing, pad_id)


@label_smoothing_loss.mistake(
    "The softmax runs over time. The probabilities of one place, along the last axis, sum to 1 over the vocabulary."
)
def softmax_over_time(logits, targets, smoothing, pad_id):
    return loss_of(logits.log_softmax(1), targets, smoothing, pad_id)


@label_smoothing_loss.mistake(
    "The mass is spread over all tokens *but* the target: smoothing / (vocab - 1) each. Some do so; here it is "
    "spread over the whole vocabulary, and the target keeps its share."
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
    "Every token gets the whole `smoothing`: a sum over the vocabulary where its mean belongs. The truth must sum to 1."
)
def sum_over_the_vocabulary(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits) * (1 - smoothing) + smoothing
    return loss_for(truth, logits, targets, pad_id)


@label_smoothing_loss.mistake(
    "The two parts have changed places: the target gets `smoothing`, and 1 - smoothing is spread."
)
def parts_swapped(logits, targets, smoothing, pad_id):
    return loss_of(logits.log_softmax(-1), targets, 1 - smoothing, pad_id)


@label_smoothing_loss.mistake("The sign: a log probability is negative, and the loss is minus its mean.")
def sign_forgotten(logits, targets, smoothing, pad_id):
    return -label_smoothing_loss.reference(logits, targets, smoothing, pad_id)


@label_smoothing_loss.mistake(
    "This is the Kullback-Leibler divergence: the cross-entropy less the entropy of the softened truth. Its gradients "
    "are the same; its value is not what is asked for."
)
def divergence(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits) * (1 - smoothing) + smoothing / logits.size(-1)
    entropy = torch.special.entr(truth).sum(-1)[targets != pad_id].mean()
    return loss_for(truth, logits, targets, pad_id) - entropy


def rate_case(label: str, step: int, d_model: int, warmup_steps: int) -> Case:
    return Case(label, {"step": step, "d_model": d_model, "warmup_steps": warmup_steps})


@exercise(
    lesson="07",
    returns=("rate",),
    package=training.warmup_rate,
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
        "The rate is the smaller of two: one grows with the step, the other falls with its square root. Where do they "
        "meet?",
        "x to the power of -0.5 is 1/√x.",
        "At the last step of the warm-up both are 1/√warmup_steps. What slope takes the growing one there from 0?",
    ),
)
def warmup_rate(step, d_model, warmup_steps):
    """The learning rate of a step, counted from 1: it climbs for warmup_steps steps, then falls with 1/√step.

    rate = d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5)        (§5.3, equation 3)
    """
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake("You take the *larger* of the two: the rate starts high, falls, and then climbs without end.")
def larger_of_the_two(step, d_model, warmup_steps):
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake(
    "There is no warm-up: the rate is highest at step 1. The first steps, when Adam's averages rest on a few batches, "
    "then are the largest."
)
def without_warm_up(step, d_model, warmup_steps):
    return d_model**-0.5 * step**-0.5


@warmup_rate.mistake("It climbs and never falls: after the warm-up the rate is 1/√step.")
def never_falls(step, d_model, warmup_steps):
    return d_model**-0.5 * step * warmup_steps**-1.5


@warmup_rate.mistake("After the warm-up the rate stays at its peak. It must fall with 1/√step.")
def stays_at_the_peak(step, d_model, warmup_steps):
    return d_model**-0.5 * min(warmup_steps**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake("The width of the model is left out: the factor 1/√d_model.")
def width_ignored(step, d_model, warmup_steps):
    return min(step**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake("√d_model instead of 1/√d_model: wider models need a *smaller* rate.")
def grows_with_the_width(step, d_model, warmup_steps):
    return d_model**0.5 * min(step**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake(
    "You take steps to be counted from 0 and add one. Here the first step is number 1, as in the paper."
)
def counted_from_zero(step, d_model, warmup_steps):
    return d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup_steps**-1.5)


@warmup_rate.mistake(
    "The exponent of warmup_steps must be -1.5: with -0.5 the climb is warmup_steps times too steep and ends too early."
)
def climbs_too_fast(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


@warmup_rate.mistake(
    "The peak is 1. That is a factor for a scheduler with a base rate of its own; asked for is the rate itself."
)
def relative_to_the_peak(step, d_model, warmup_steps):
    return min(step / warmup_steps, (warmup_steps / step) ** 0.5)


@warmup_rate.mistake(
    "After the warm-up the rate falls with 1/step: four times as many steps quarter it, and should halve it."
)
def falls_too_fast(step, d_model, warmup_steps):
    return (d_model * warmup_steps) ** -0.5 * min(step / warmup_steps, warmup_steps / step)
