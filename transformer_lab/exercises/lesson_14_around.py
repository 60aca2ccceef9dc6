"""Exercises of lesson 14, the bug clinic: six defects of what surrounds a model, from its loss to its validation."""

import torch
from torch.nn import functional as F

from transformer_lab.exercises import clinic_broken, clinic_mended
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.exercises.lesson_08 import chain, named, scattered

# ── 07: targets that are not shifted ──


def sentences_case(label: str, tokens: list[list[int]], vocab: int) -> Case:
    ids = torch.tensor(tokens, device="cpu")
    return Case(label, {"logits": 2 * normal(*ids.shape, vocab), "tokens": ids})


clinic_07 = FindTheBug(
    clinic_mended.clinic_07,
    broken=clinic_broken.clinic_07,
    lesson="14",
    minutes=8,
    difficulty=2,
    statement="""
    The loss of a language model. Its attention is causal: the logits at position t have seen the tokens up to t, and
    must predict the token after it.

    Symptom: on tokens that were drawn at random, which nobody can predict, the loss falls to 0. And what the model then
    writes is one word, again and again.
    """,
    returns=("loss",),
    cases=(
        sentences_case("two tokens", [[0, 1]], 3),
        sentences_case("three tokens", [[2, 0, 1]], 3),
        sentences_case("two sentences", [[1, 2, 3, 0], [3, 3, 1, 2]], 4),
        sentences_case("a batch", [[1, 5, 2, 4, 3], [0, 2, 2, 1, 5], [4, 4, 0, 3, 1]], 6),
    ),
    hints=(
        "Take one sentence of three tokens, and write for each row of `predicted` which token it is compared with.",
        "Which token would a model have to copy to make this loss 0?",
        "Logits and tokens both lose one position. Do they lose it at the same end?",
    ),
)


@clinic_07.mistake("Now each position must predict the token *before* it: the logits lose their first position.")
def shifted_the_other_way(logits, tokens):
    return F.cross_entropy(logits[:, 1:].flatten(0, 1), tokens[:, :-1].flatten())


@clinic_07.mistake(
    "The tokens are rolled: the last position must predict the *first* token of its sentence. Nothing follows the last "
    "token, so that position has no place in the loss."
)
def rolled(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1), tokens.roll(-1, 1).flatten())


@clinic_07.mistake(
    "You flatten the batch before you shift it: the last position of each sentence must predict the first token of the "
    "next sentence."
)
def flattened_before_the_shift(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1)[:-1], tokens.flatten()[1:])


@clinic_07.mistake(
    "You leave the first position out. The loss rises, but every other position is still compared with the token that "
    "it has just read."
)
def first_position_left_out(logits, tokens):
    return F.cross_entropy(logits[:, 1:].flatten(0, 1), tokens[:, 1:].flatten())


@clinic_07.mistake(
    "The shift is right, but the losses are added up: a longer batch has a larger loss, and larger gradients."
)
def added_up(logits, tokens):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum")


@clinic_07.mistake("Smoothing keeps the loss away from 0, and hides the symptom: the targets are still not shifted.")
def smoothed(logits, tokens):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, :-1].flatten(), label_smoothing=0.1)


# ── 08: padding in the loss ──


def targets_case(label: str, targets: list[list[int]], pad_id: int, vocab: int) -> Case:
    ids = torch.tensor(targets, device="cpu")
    return Case(label, {"logits": 2 * normal(*ids.shape, vocab), "targets": ids, "pad_id": pad_id})


clinic_08 = FindTheBug(
    clinic_mended.clinic_08,
    broken=clinic_broken.clinic_08,
    lesson="14",
    minutes=8,
    difficulty=2,
    statement="""
    The mean loss over all words of a batch. Padding is no word, and every batch has words.

    Symptom: the same sentence, with the same model, has a smaller loss when its batch holds a longer sentence. A loss
    curve looks best where the batches hold most padding.
    """,
    returns=("loss",),
    cases=(
        targets_case("one word and a pad", [[1, 0]], 0, 3),
        targets_case("no padding", [[1, 2, 3]], 0, 4),
        targets_case("two sentences", [[1, 2, 3, 4], [2, 0, 0, 0]], 0, 5),
        targets_case("another pad_id; 0 is a word", [[0, 5, 1, 3], [4, 2, 3, 3], [1, 3, 3, 3]], 3, 6),
    ),
    hints=(
        "Add one pad to a sentence and see by what factor the loss changes.",
        "A mean is a sum, divided by a count. What does the padding do to the sum, and what to the count?",
    ),
)


def losses_of(logits, targets):
    return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")


@clinic_08.mistake("Now padding is counted like any word: the model is trained to predict it.")
def padding_counted(logits, targets, pad_id):
    return losses_of(logits, targets).mean()


@clinic_08.mistake(
    "You average each sentence, then the sentences. Padding no longer counts, but a word of a short sentence weighs"
    " more than a word of a long one. Asked for is the mean over all words of the batch."
)
def mean_of_sentences(logits, targets, pad_id):
    words = targets != pad_id
    return ((losses_of(logits, targets) * words).sum(1) / words.sum(1)).mean()


@clinic_08.mistake(
    "You add up the losses and do not divide. Padding makes no difference now, but the number of words does: the "
    "loss of a large batch is large."
)
def words_added_up(logits, targets, pad_id):
    return (losses_of(logits, targets) * (targets != pad_id)).sum()


@clinic_08.mistake("The sum is divided by the number of sentences, and not by the number of words.")
def divided_by_the_sentences(logits, targets, pad_id):
    return (losses_of(logits, targets) * (targets != pad_id)).sum() / len(targets)


@clinic_08.mistake("The token 0 is left out, whatever `pad_id` is. That is right as long as the padding has the id 0.")
def pad_is_zero(logits, targets, pad_id):
    return losses_of(logits, targets)[targets != 0].mean()


@clinic_08.mistake(
    "The *logits* of the padding are set to 0 and it is counted: each pad costs the logarithm of the vocabulary's "
    "size. No gradient comes from it, but the loss is still diluted."
)
def logits_of_padding_are_zero(logits, targets, pad_id):
    words = targets != pad_id
    return losses_of(logits * words[..., None], targets).mean()


@clinic_08.mistake(
    "The mean is taken over all losses that are above the mean or at it. That hides the symptom: good predictions drop "
    "out together with the padding."
)
def small_losses_dropped(logits, targets, pad_id):
    losses = losses_of(logits, targets) * (targets != pad_id)
    return losses[losses >= losses.mean()].mean()


@clinic_08.mistake(
    "You divide by the number of words now, but the sum still holds the losses of the padding: the loss grows with it."
)
def padding_in_the_sum(logits, targets, pad_id):
    return losses_of(logits, targets).sum() / (targets != pad_id).sum()


# ── 09: a cache with wrong positions ──


def step_case(label: str, batch: int, past: int, width: int) -> Case:
    return Case(label, {"x": normal(batch, 1, width), "past": normal(batch, past, width), "encoding": normal(9, width)})


clinic_09 = FindTheBug(
    clinic_mended.clinic_09,
    broken=clinic_broken.clinic_09,
    lesson="14",
    minutes=10,
    difficulty=2,
    statement="""
    One step of decoding with a cache, with the projections left out. `x` holds the new token alone, its position not
    yet added.

    Symptom: without the cache the model writes good sentences. With it the first output is the same, and from the
    second on every output differs.
    """,
    returns=("output", "past"),
    cases=(
        step_case("the first token", 1, 0, 2),
        step_case("the second token", 1, 1, 2),
        step_case("the fourth token", 1, 3, 4),
        step_case("a batch", 3, 5, 6),
    ),
    hints=(
        "Compare the cached outputs with those of the whole sentence, position by position: where is the first "
        "difference?",
        "What does `x.size(1)` say in each step of the loop?",
        "How many tokens stand before the new one? Which argument knows?",
    ),
)


def attend_once(new, past):
    return F.scaled_dot_product_attention(new, past, past), past


@clinic_09.mistake("One too many: the first token gets position 1. With an empty past its position is 0.")
def one_too_many(x, past, encoding):
    new = x + encoding[past.size(1) + 1]
    return attend_once(new, torch.cat([past, new], dim=1))


@clinic_09.mistake("Each new token gets the position of the one before it, so that two tokens share position 0.")
def one_too_few(x, past, encoding):
    new = x + encoding[max(0, past.size(1) - 1)]
    return attend_once(new, torch.cat([past, new], dim=1))


@clinic_09.mistake(
    "All the tokens of the cache get their positions again in each step. Those before have theirs already, and collect "
    "one more with each step."
)
def positions_added_again(x, past, encoding):
    together = torch.cat([past, x], dim=1)
    together = together + encoding[: together.size(1)]
    return attend_once(together[:, -1:], together)


@clinic_09.mistake("The token asks with its right position, but is stored without one: every later step sees it so.")
def stored_without_position(x, past, encoding):
    new = x + encoding[past.size(1)]
    return attend_once(new, torch.cat([past, x], dim=1))


@clinic_09.mistake("The token is stored with its right position, but asks without one.")
def asks_without_position(x, past, encoding):
    new = x + encoding[past.size(1)]
    return attend_once(x, torch.cat([past, new], dim=1))


@clinic_09.mistake(
    "The new token stands *before* the past. The output of this step does not show it, since attention knows no order; "
    "but what is returned as the past is no longer in the order of the sentence."
)
def new_token_first(x, past, encoding):
    new = x + encoding[past.size(1)]
    return attend_once(new, torch.cat([new, past], dim=1))


@clinic_09.mistake(
    "The past is thrown away: the token sees itself alone. Wrong positions no longer show, and neither does the "
    "sentence."
)
def past_thrown_away(x, past, encoding):
    new = x + encoding[past.size(1)]
    return attend_once(new, new)


@clinic_09.mistake(
    "You count from the end of the encoding: a negative index. The longer the sentence, the *earlier* the position."
)
def counted_from_the_end(x, past, encoding):
    new = x + encoding[-past.size(1) - 1]
    return attend_once(new, torch.cat([past, new], dim=1))


@clinic_09.mistake("The new token gets no position at all. That is wrong from the first token on.")
def no_position(x, past, encoding):
    return attend_once(x, torch.cat([past, x], dim=1))


@clinic_09.mistake(
    "One too few: each token gets the position of the one before it, and the first, whose number is then -1, gets the "
    "*last* row of the table."
)
def counted_from_minus_one(x, past, encoding):
    new = x + encoding[past.size(1) - 1]
    return attend_once(new, torch.cat([past, new], dim=1))


@clinic_09.mistake(
    "The new token gets *all* the positions so far, a copy of it for each. A slice that begins at 0 has as many rows "
    "as the sentence has tokens; the new one needs the last of them."
)
def all_positions_at_once(x, past, encoding):
    new = x + encoding[: past.size(1) + 1]
    return attend_once(new, torch.cat([past, new], dim=1))


# ── 10: tied weights that a load tears apart ──


def table_case(label: str, vocab: int, width: int, tokens: list[int], targets: list[int], rate: float) -> Case:
    ids = {"tokens": torch.tensor(tokens, device="cpu"), "targets": torch.tensor(targets, device="cpu")}
    return Case(label, {"saved": normal(vocab, width), **ids, "rate": rate})


clinic_10 = FindTheBug(
    clinic_mended.clinic_10,
    broken=clinic_broken.clinic_10,
    lesson="14",
    minutes=12,
    difficulty=3,
    statement="""
    A tiny model with tied weights: one table is both the embedding and the output. The function loads the table from a
    file and goes on training for one step.

    Symptom: right after the load all outputs are right. But after one more step of training embedding and output are no
    longer the same table, and the model has twice as many parameters.
    """,
    returns=("embedding", "output"),
    cases=(
        table_case("two tokens", 2, 2, [0], [1], 1.0),
        table_case("three tokens", 3, 2, [0, 2], [1, 0], 0.5),
        table_case("a larger table", 5, 4, [0, 3, 3, 1], [2, 4, 1, 1], 0.1),
        table_case("a small rate", 7, 3, [6, 5, 2], [0, 1, 6], 0.01),
    ),
    properties=(Property("both tables are the same", lambda given, embedding, output: torch.equal(embedding, output)),),
    hints=(
        'Print `model["embedding"] is model["output"]` after each line. Where does it become False?',
        "To assign a new tensor to a name does not write into the old tensor: it gives the name another one.",
        "In a tied table two gradients meet, one from each use, and they are added up. Do yours?",
    ),
)


def gradients_of_both(saved, tokens, targets):
    """The gradients of the embedding and of the output table, as if they were two tables."""
    embedding, output = (saved.detach().clone().requires_grad_() for _ in range(2))
    F.cross_entropy(embedding[tokens] @ output.T, targets).backward()
    return embedding.grad, output.grad


@clinic_10.mistake(
    "You average the two tables after the step. They are equal again, which hides the symptom, but each step is "
    "half as long as it should be: in a tied table both gradients are *added up*."
)
def averaged_afterwards(saved, tokens, targets, rate):
    of_embedding, of_output = gradients_of_both(saved, tokens, targets)
    table = (saved - rate * (of_embedding + of_output) / 2).detach()
    return table, table


@clinic_10.mistake(
    "You copy the embedding to the output after the step. They are equal again, which hides the symptom, but all that "
    "the output has learned is lost."
)
def embedding_copied_afterwards(saved, tokens, targets, rate):
    table = (saved - rate * gradients_of_both(saved, tokens, targets)[0]).detach()
    return table, table


@clinic_10.mistake(
    "You copy the output to the embedding after the step. They are equal again, which hides the symptom, but all that "
    "the embedding has learned is lost."
)
def output_copied_afterwards(saved, tokens, targets, rate):
    table = (saved - rate * gradients_of_both(saved, tokens, targets)[1]).detach()
    return table, table


@clinic_10.mistake("No step is taken: both tables are as they were loaded. They are equal, and nothing is learned.")
def no_step(saved, tokens, targets, rate):
    return saved.detach().clone(), saved.detach().clone()


@clinic_10.mistake(
    "The table is tied, but nothing was loaded into it: it starts at zero, the gradient there is zero, and it never"
    " moves."
)
def nothing_loaded(saved, tokens, targets, rate):
    return torch.zeros_like(saved), torch.zeros_like(saved)


@clinic_10.mistake(
    "The optimizer counts the tied table twice, and takes its step twice. One table is updated once in each step."
)
def two_steps_on_one_table(saved, tokens, targets, rate):
    of_embedding, of_output = gradients_of_both(saved, tokens, targets)
    table = (saved - 2 * rate * (of_embedding + of_output)).detach()
    return table, table


@clinic_10.mistake("The step has the wrong sign: it climbs, and the loss grows.")
def uphill(saved, tokens, targets, rate):
    of_embedding, of_output = gradients_of_both(saved, tokens, targets)
    table = (saved + rate * (of_embedding + of_output)).detach()
    return table, table


# ── 11: scores of a beam that are not summed ──

# 0 leads to 1 rather than 2, but from 1 nothing is likely, and from 2 one token is
garden_path = chain(
    "garden_path", [0.05, 0.5, 0.4, 0.05], [0.26, 0.25, 0.3, 0.19], [0.03, 0.02, 0.05, 0.9], [0.4, 0.3, 0.2, 0.1]
)
late_surprise = chain(
    "late_surprise", [0.1, 0.6, 0.25, 0.05], [0.4, 0.1, 0.45, 0.05], [0.08, 0.02, 0.2, 0.7], [0.95, 0.01, 0.02, 0.02]
)


def loud(model):
    """The same probabilities, from logits that are larger after a larger id, and in longer sentences."""
    return named(model.__name__, lambda ids: model(ids) + 0.5 * int(ids[-1]) + 0.1 * len(ids))


def beam_case(label: str, next_logits, width: int, length: int, bos_id: int = 0) -> Case:
    return Case(label, {"next_logits": next_logits, "bos_id": bos_id, "width": width, "length": length})


clinic_11 = FindTheBug(
    clinic_mended.clinic_11,
    broken=clinic_broken.clinic_11,
    lesson="14",
    minutes=12,
    difficulty=3,
    statement="""
    Beam search in a model that writes sentences of a fixed length. `next_logits(ids)` gives the logits of the token
    after a list of ids.

    Symptom: the wider the beam, the *less* probable is the sentence that it finds. With width 1 it is a greedy search,
    and right.
    """,
    returns=("ids",),
    cases=(
        beam_case("width 1", garden_path, 1, 3),
        beam_case("width 2", loud(garden_path), 2, 3),
        beam_case("width 2, another model", late_surprise, 2, 4),
        beam_case("width 3, from 3", loud(late_surprise), 3, 5, 3),
        beam_case("width 4, five ids", loud(scattered(5, 1, 1.0, 364)), 4, 5),
        beam_case("width 3, five ids", loud(scattered(5, 1, 1.0, 99)), 3, 5),
        beam_case("the sentence is bos alone", garden_path, 2, 1),
    ),
    hints=(
        "Follow two beams by hand for two steps: what is the score of a sentence, and what of its last token?",
        "The probability of a sentence is the product of its tokens' probabilities. What becomes of a product when you "
        "take the logarithm?",
        "Two things in this function have one name.",
    ),
)


def beams_by(next_logits, bos_id, width, length, score_of, scores_of_tokens):
    """Beam search with any score: score_of(old, one, ids so far) for each of the tokens' scores."""
    beams = [([bos_id], 0.0)]
    while len(beams[0][0]) < length:
        candidates = []
        for ids, old in beams:
            for token, one in enumerate(scores_of_tokens(next_logits(ids)).tolist()):
                candidates.append(([*ids, token], score_of(old, one, ids)))
        beams = sorted(candidates, key=lambda beam: beam[1], reverse=True)[:width]
    return beams[0][0]


def log_probabilities(logits):
    return logits.log_softmax(-1)


@clinic_11.mistake(
    "Now the *probabilities* are added up, not their logarithms. One token that is nearly certain outweighs several "
    "that are nearly impossible."
)
def probabilities_added(next_logits, bos_id, width, length):
    return beams_by(next_logits, bos_id, width, length, lambda old, one, ids: old + one, lambda x: x.softmax(-1))


@clinic_11.mistake(
    "The width is ignored: at each step the single best token is taken. A wider beam is no worse than a greedy search "
    "now, since it is one. That hides the symptom."
)
def width_ignored(next_logits, bos_id, width, length):
    return beams_by(next_logits, bos_id, 1, length, lambda old, one, ids: old + one, log_probabilities)


@clinic_11.mistake(
    "The scores are multiplied: the product of two negative numbers is positive, and in the first step, where the "
    "score is 0, all sentences get the same."
)
def scores_multiplied(next_logits, bos_id, width, length):
    return beams_by(next_logits, bos_id, width, length, lambda old, one, ids: old * one, log_probabilities)


@clinic_11.mistake("The *least* probable sentences are kept: the order of the scores is turned round.")
def least_probable_kept(next_logits, bos_id, width, length):
    return beams_by(next_logits, bos_id, width, length, lambda old, one, ids: old - one, log_probabilities)


@clinic_11.mistake(
    "The old score is halved in each step, as a running mean does: the last tokens weigh most, and the first hardly"
    " count."
)
def running_mean(next_logits, bos_id, width, length):
    return beams_by(next_logits, bos_id, width, length, lambda old, one, ids: (old + one) / 2, log_probabilities)


@clinic_11.mistake(
    "The *logits* are added up. Logits say which of the next tokens is more probable than another; only their "
    "log-softmax can be compared between two beams."
)
def logits_added(next_logits, bos_id, width, length):
    return beams_by(next_logits, bos_id, width, length, lambda old, one, ids: old + one, lambda x: x)


@clinic_11.mistake("The sentence is one token too long: `length` counts `bos_id` as well.")
def one_token_too_long(next_logits, bos_id, width, length):
    return beams_by(next_logits, bos_id, width, length + 1, lambda old, one, ids: old + one, log_probabilities)


@clinic_11.mistake(
    "The sum is written back into `score`, so that each candidate of a beam begins with the sum of the candidates "
    "before it. Give the sum another name."
)
def summed_over_the_candidates(next_logits, bos_id, width, length):
    beams = [([bos_id], 0.0)]
    while len(beams[0][0]) < length:
        candidates = []
        for ids, score in beams:
            for token, one in enumerate(log_probabilities(next_logits(ids)).tolist()):
                score = score + one
                candidates.append(([*ids, token], score))
        beams = sorted(candidates, key=lambda beam: beam[1], reverse=True)[:width]
    return beams[0][0]


# ── 12: a validation that cheats ──


def split_case(label: str, sentences: list[list[int]], n_training: int) -> Case:
    return Case(label, {"sentences": torch.tensor(sentences, device="cpu"), "n_training": n_training})


clinic_12 = FindTheBug(
    clinic_mended.clinic_12,
    broken=clinic_broken.clinic_12,
    lesson="14",
    minutes=10,
    difficulty=3,
    statement="""
    A split into training and validation. Small data repeat themselves, so whatever stands in training must not
    validate. Both parts keep their order, and training keeps all of its sentences.

    Symptom: a table that knows the training sentences by heart, and nothing else, has a high score in validation, even
    where the labels were drawn at random.
    """,
    returns=("training", "validation"),
    cases=(
        split_case("one sentence is repeated", [[1, 2], [3, 4], [1, 2], [5, 6]], 2),
        split_case("one training sentence", [[1, 1], [1, 1], [1, 2]], 1),
        split_case("nothing is repeated", [[1, 2], [2, 1], [1, 1], [2, 2]], 3),
        split_case("everything is repeated", [[1, 2], [3, 4], [3, 4], [1, 2], [1, 2]], 2),
        split_case("repeated in training", [[1, 2], [1, 2], [4, 5], [1, 3]], 3),
        split_case("repeated in validation", [[1, 2], [4, 4], [4, 4], [1, 2], [0, 1]], 1),
        split_case(
            "longer sentences", [[1, 2, 3], [3, 2, 1], [1, 1, 3], [1, 2, 3], [3, 2, 3], [1, 2, 1], [3, 2, 1]], 3
        ),
    ),
    hints=(
        "Print `same` for the smallest case: what does each of its rows and columns say?",
        "When has a sentence been seen: if it equals *every* training sentence?",
        "With a single training sentence the function is right. Which two functions agree on a single value?",
    ),
)


@clinic_12.mistake(
    "A sentence is left out as soon as it shares *one* token with a training sentence in the same position. The "
    "score is honest now, but hardly a sentence is left to validate with."
)
def one_token_is_enough(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    seen = (rest[:, None] == training).any(-1).any(1)
    return training, rest[~seen]


@clinic_12.mistake(
    "Repeated sentences are removed within validation only. A sentence that stands in training still validates."
)
def repeats_within_validation(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    seen = (rest[:, None] == rest).all(-1).tril(-1).any(1)
    return training, rest[~seen]


@clinic_12.mistake(
    "You remove the repeated sentences from *training*. The overlap is gone, but training was to keep all of its "
    "sentences, and what validates are the sentences that repeat."
)
def taken_from_training(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    repeated = (training[:, None] == rest).all(-1).any(1)
    return training[~repeated], rest


@clinic_12.mistake(
    "What occurs more than once anywhere no longer validates. A sentence that stands twice in validation and never in "
    "training has not been seen, and must stay."
)
def once_in_all_data(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    return training, rest[(rest[:, None] == sentences).all(-1).sum(1) == 1]


@clinic_12.mistake("The sign is lost: only what *was* in training validates.")
def only_what_was_seen(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    return training, rest[(rest[:, None] == training).all(-1).any(1)]


@clinic_12.mistake("Only the last training sentence is looked at: what repeats an earlier one still validates.")
def compared_with_the_last(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    return training, rest[~(rest == training[-1]).all(-1)]


@clinic_12.mistake(
    "A sentence counts as seen if each of its tokens occurs in the same position of *some* training sentence, and not "
    "all of them in one. New combinations are thrown out, and those are what validation is for."
)
def token_by_token(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    return training, rest[~(rest[:, None] == training).any(1).all(-1)]


@clinic_12.mistake("Repeated sentences are removed everywhere, and the rest is sorted: training has lost sentences.")
def made_unique_first(sentences, n_training):
    unique = sentences.unique(dim=0)
    return unique[:n_training], unique[n_training:]


@clinic_12.mistake(
    "What stands in training no longer validates, but you also drop what repeats *within* validation, and sort the "
    "rest. A sentence that is frequent may be frequent in validation, too."
)
def validation_made_unique(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    return training, rest[~(rest[:, None] == training).all(-1).any(1)].unique(dim=0)
