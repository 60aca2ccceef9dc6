"""Lesson 14: find the bug in `clinic_12`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_12(sentences, n_training):
    """Split sentences (N, T): the first n_training train; of the rest, the unseen validate."""
    training, rest = sentences[:n_training], sentences[n_training:]
    same = (rest[:, None] == training).all(-1)  # (rest, training)
    seen = same.all(1)
    return training, rest[~seen]


def split_case(label: str, sentences: list[list[int]], n_training: int) -> Case:
    return Case(label, {"sentences": torch.tensor(sentences, device="cpu"), "n_training": n_training})


@partial(
    FindTheBug,
    broken=broken_clinic_12,
    defect=(
        "`all` asks whether a sentence equals *every* training sentence. As soon as training holds two different "
        "sentences, none does: nothing counts as seen, and whatever repeats a training sentence validates."
    ),
    lesson="14",
    minutes=10,
    difficulty=3,
    statement="""
    A split into training and validation. Small data sets repeat themselves, so whatever stands in training must not
    validate. Both parts keep their order. Training keeps all of its sentences, and validation keeps all those that
    training does not hold, even if they are repeated in validation itself.

    Symptom: a table that knows the training sentences by heart, and nothing else, has a high score in validation, even
    where each sentence was given its label at random, and keeps it wherever it is repeated.
    """,
    returns=("training", "validation"),
    cases=(
        split_case("one sentence is repeated", [[1, 2], [3, 4], [1, 2], [5, 6]], 2),
        split_case("one training sentence", [[1, 1], [1, 1], [1, 2]], 1),
        split_case("nothing is repeated", [[1, 2], [2, 3], [3, 1], [2, 1], [1, 1]], 3),
        split_case("everything is repeated", [[1, 2], [3, 4], [3, 4], [1, 2], [1, 2]], 2),
        split_case("repeated in training", [[1, 2], [1, 2], [4, 5], [1, 3], [1, 2], [3, 5]], 3),
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
def clinic_12(sentences, n_training):
    """Split sentences (N, T): the first n_training train; of the rest, the unseen validate."""
    training, rest = sentences[:n_training], sentences[n_training:]
    same = (rest[:, None] == training).all(-1)  # (rest, training)
    seen = same.any(1)
    return training, rest[~seen]


@clinic_12.mistake(
    "A sentence is left out as soon as it shares *one* token with a training sentence in the same position. The "
    "score is honest now, but unseen sentences are thrown out, and with few words there is hardly one left."
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
    "sentences, and validation was to lose those that repeat them."
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


@clinic_12.mistake("The condition is turned round: only what *was* in training validates.")
def only_what_was_seen(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    return training, rest[(rest[:, None] == training).all(-1).any(1)]


@clinic_12.mistake(
    "The condition is turned round, and it still asks for *every* training sentence: only what equals all of them "
    "validates."
)
def only_what_equals_all(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    return training, rest[(rest[:, None] == training).all(-1).all(1)]


@clinic_12.mistake("Nothing is left out any more: whatever repeats a training sentence validates, too.")
def nothing_left_out(sentences, n_training):
    return sentences[:n_training], sentences[n_training:]


@clinic_12.mistake("Only the last training sentence counts: what repeats an earlier one still validates.")
def compared_with_the_last(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    return training, rest[~(rest == training[-1]).all(-1)]


@clinic_12.mistake(
    "A sentence counts as seen if each of its tokens occurs in *some* training sentence, each perhaps in a different "
    "one. New combinations are thrown out, and those are what validation is for."
)
def token_by_token(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    return training, rest[~(rest[:, None] == training).any(1).all(-1)]


@clinic_12.mistake("Repeated sentences are removed everywhere, and the rest is sorted: training has lost sentences.")
def made_unique_first(sentences, n_training):
    unique = sentences.unique(dim=0)
    return unique[:n_training], unique[n_training:]


@clinic_12.mistake(
    "You also drop what repeats *within* validation, and sort the rest. A sentence that is frequent may be frequent in "
    "validation, too."
)
def validation_made_unique(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    return training, rest[~(rest[:, None] == training).all(-1).any(1)].unique(dim=0)


@clinic_12.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    count, length = number(generator, 8, 16), number(generator, 2, 4)
    sentences = torch.randint(3, (count, length), generator=generator, device="cpu")
    return {"sentences": sentences, "n_training": number(generator, 2, count // 2)}
