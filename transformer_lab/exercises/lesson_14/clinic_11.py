"""Lesson 14: find the bug in `clinic_11`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.exercises.lesson_08.shared import a_model, chain, named, scattered


def broken_clinic_11(next_logits, bos_id, width, length):
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


@partial(
    FindTheBug,
    broken=broken_clinic_11,
    defect=(
        "The inner loop calls the log probability of one token `score`, and so loses the score of the beam. Each "
        "sentence is ranked by its last token alone, and the wider the beam, the more improbable sentences get a "
        "chance to end in a likely one."
    ),
    lesson="14",
    minutes=12,
    difficulty=3,
    statement="""
    Beam search in a model that writes sentences of a fixed length. `next_logits(ids)` gives the logits of the token
    after a list of ids.

    Symptom: a wide beam often finds a *less* probable sentence than a narrow one. With width 1 it is a greedy search,
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
def clinic_11(next_logits, bos_id, width, length):
    """Beam search for a sentence of `length` ids: each step keeps the `width` likeliest."""
    beams = [([bos_id], 0.0)]
    while len(beams[0][0]) < length:
        candidates = []
        for ids, score in beams:
            log_probs = next_logits(ids).log_softmax(-1)
            for token, log_prob in enumerate(log_probs.tolist()):
                candidates.append(([*ids, token], score + log_prob))
        beams = sorted(candidates, key=lambda beam: beam[1], reverse=True)[:width]
    return beams[0][0]


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
    "The score of every sentence stays 0, and all of them tie: the first score is 0, and it is either multiplied, or "
    "handed on with nothing added to it."
)
def scores_multiplied(next_logits, bos_id, width, length):
    return beams_by(next_logits, bos_id, width, length, lambda old, one, ids: old * one, log_probabilities)


@clinic_11.mistake("The *least* probable sentences are kept: the order of the scores is turned round.")
def least_probable_kept(next_logits, bos_id, width, length):
    return beams_by(next_logits, bos_id, width, length, lambda old, one, ids: old - one, log_probabilities)


@clinic_11.mistake(
    "The old score is halved in each step, as a running mean does: the last tokens weigh most, and the first least."
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


@clinic_11.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    model, bos_id, _ = a_model(generator)
    model = pick(generator, model, loud(model))
    return {"next_logits": model, "bos_id": bos_id, "width": number(generator, 2, 5), "length": number(generator, 3, 7)}
