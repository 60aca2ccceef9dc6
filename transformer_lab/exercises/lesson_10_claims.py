"""An exercise of lesson 10: a test whether a head matters, by taking it away."""

from collections.abc import Iterator

import torch

from transformer_lab.exercises import lesson_10_models as models
from transformer_lab.exercises import references
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import WriteTheTest
from transformer_lab.exercises.lesson_10_models import (
    always,
    at_all,
    at_itself,
    at_the_start,
    back_one,
    by_induction,
    in_two_layers,
    late,
    of_heads,
    seen_before,
    with_a_backup,
)

COPIES, ADDS = (by_induction, models.COPY, always), (back_one, models.OTHER, always)
SILENT = (by_induction, models.NOTHING, always)

RIGHT_CLAIMS = {  # the head matters: (model, head)
    "an induction head that copies what it sees": (of_heads(COPIES, ADDS), 0),
    "it looks at all tokens alike, and writes what they are": (of_heads(SILENT, (at_all, models.COPY, always)), 1),
    "it looks at itself alone, and its values are not 0": (of_heads((at_itself, models.OTHER, always), SILENT), 0),
    "it writes the same whatever it sees, which makes some tokens likelier": (
        of_heads(COPIES, SILENT, (back_one, models.SAME_FROM_ALL, always)),
        2,
    ),
    "it writes only where the present token has come before": (of_heads((at_all, models.OTHER, seen_before), ADDS), 0),
    "it writes only from position 12 on": (of_heads(ADDS, (back_one, models.COPY, late)), 1),
    "it writes only at the first two positions": (of_heads((at_itself, models.OTHER, at_the_start), SILENT), 0),
    "it writes only where it sees token 9": (of_heads(SILENT, (back_one, models.ON_NINE, always)), 1),
    "it makes the model surer, and never changes its first choice": (
        of_heads((at_itself, models.SURER, always), SILENT),
        0,
    ),
    "another head takes away what it adds: it is missed when it goes alone": (
        of_heads(COPIES, (by_induction, -models.COPY, always)),
        0,
    ),
    "it writes nothing into the logits, but another head finds its place by it": (in_two_layers(models.COPY), 0),
}
WRONG_CLAIMS = {  # it does not
    "it looks where an induction head looks, and writes nothing": (of_heads(SILENT, ADDS), 0),
    "it adds the same number to all logits, and no probability changes": (
        of_heads((by_induction, models.SAME_FOR_ALL, always), ADDS),
        0,
    ),
    "another head does the same as soon as it is gone": (with_a_backup(COPIES, COPIES), 0),
    "it is the other heads that matter": (of_heads(COPIES, ADDS, SILENT), 2),
    "it is the reserve, and silent while the first head is there": (with_a_backup(ADDS, COPIES), 1),
    "what it changes is of the size of rounding": (of_heads(ADDS, (by_induction, 1e-5 * models.OTHER, always)), 1),
    "without it another head looks elsewhere, but that one writes nothing": (in_two_layers(models.NOTHING), 0),
}


def claim_cases() -> Iterator[Case]:
    for label, (model, head) in (RIGHT_CLAIMS | WRONG_CLAIMS).items():
        yield Case(label, {"model": model, "head": head})


head_matters = WriteTheTest(
    references.head_matters,
    lesson="10",
    minutes=20,
    difficulty=2,
    statement="""
    Somebody claims that a head matters. Write a test: True if the claim is right.

    `model(tokens, without)` takes tokens (B, T), whole numbers from 0 to 9, and a list of heads to take away, which may
    be empty. It returns `(logits, weights)`: (B, T, 10), and where each head looks, (B, h, T, T). `head` is a number,
    counted from 0.

    The head matters if, for some text of at most 40 tokens, the probability of some next token changes by more than
    0.001 when that head *alone* is taken away. Your test is tried on right claims and on wrong ones. It scores the
    share of wrong claims that it catches, less the share of right ones that it refuses.
    """,
    returns=("matters",),
    cases=tuple(claim_cases()),
    says_of_right=True,
    candidate="claim",
    hints=(
        "Where a head looks is not what it does. Run the model twice, on the same tokens. What is it that may differ?",
        "Which two tensors do you compare, how closely, and at which positions? Logits that are all higher by the same "
        "amount are the same prediction.",
        "Which texts do you try? A head may act in long ones only, or where a token comes again, or on one token.",
        "Which heads do you take away? If you take away others as well, you learn something about these others.",
    ),
)


def texts():
    return torch.randint(10, (32, 40), generator=torch.Generator().manual_seed(1))


def change(model, tokens, first, second):
    """The largest change of a probability between two runs."""
    one, other = (model(tokens, without)[0].softmax(-1) for without in (first, second))
    return (one - other).abs().max()


@head_matters.mistake("Your test says of every head that it matters.")
def every_head_matters(model, head):
    return True


@head_matters.mistake("Your test says of every head that it does not matter.")
def no_head_matters(model, head):
    return False


@head_matters.mistake(
    "You judge by where the head *looks*. What it does with what it sees is in its values: take it away, and see what "
    "becomes of the probabilities."
)
def judged_by_weights(model, head):
    weights = model(texts(), [])[1][:, head]
    return bool(weights.amax(-1).mean() > 0.9)


@head_matters.mistake(
    "You compare the *weights* of both runs. Another head may look elsewhere without writing anything, and a head may "
    "write into the logits without moving any other."
)
def weights_compared(model, head):
    return bool((model(texts(), [])[1] - model(texts(), [head])[1]).abs().max() > 0.001)


@head_matters.mistake(
    "You compare *logits*. A number that is added to all of them changes no probability: compare behind the softmax."
)
def logits_compared(model, head):
    return bool((model(texts(), [])[0] - model(texts(), [head])[0]).abs().max() > 0.001)


@head_matters.mistake(
    "You compare the most likely tokens only. A head that makes the model surer, or less sure, changes probabilities."
)
def first_choices_compared(model, head):
    one, other = (model(texts(), without)[0].argmax(-1) for without in ([], [head]))
    return bool((one != other).any())


@head_matters.mistake("You ask for probabilities that are *exactly* equal. Two runs may round differently.")
def compared_exactly(model, head):
    return bool(change(model, texts(), [], [head]) > 0)


@head_matters.mistake("You try short texts only: what a head does later in a text stays unseen.")
def short_texts(model, head):
    return bool(change(model, texts()[:, :8], [], [head]) > 0.001)


@head_matters.mistake("No token comes twice in your texts, so that an induction head finds nothing to do.")
def no_token_twice(model, head):
    return bool(change(model, torch.stack([torch.arange(10), torch.arange(9, -1, -1)]), [], [head]) > 0.001)


@head_matters.mistake("You look at the last position only. A head may act at others.")
def last_position_only(model, head):
    one, other = (model(texts(), without)[0][:, -1].softmax(-1) for without in ([], [head]))
    return bool((one - other).abs().max() > 0.001)


@head_matters.mistake(
    "You take away all *other* heads, and see what the one can do alone. That is another question: a head that does "
    "much alone may not be missed, and one that works through others does nothing alone."
)
def kept_alone(model, head):
    n_heads = model(texts(), [])[1].size(1)
    others = [other for other in range(n_heads) if other != head]
    return bool(change(model, texts(), others, [*others, head]) > 0.001)


@head_matters.mistake("You take away *all* heads, and learn whether some head matters, not which.")
def all_taken_away(model, head):
    n_heads = model(texts(), [])[1].size(1)
    return bool(change(model, texts(), [], [*range(n_heads)]) > 0.001)


@head_matters.mistake("You count the heads from 1, and take away the one before.")
def counted_from_one(model, head):
    return bool(change(model, texts(), [], [head - 1]) > 0.001)
