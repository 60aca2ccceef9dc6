"""Lesson 10: write the test `head_matters`."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from transformer_lab.exercises.engine.candidates import need_few, need_tensor
from transformer_lab.exercises.engine.case_drawing import Arguments, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import WriteTheTest

TOKENS = 10  # in the vocabulary


Model = Callable[[Tensor, Sequence[int]], tuple[Tensor, Tensor]]


Head = tuple[Callable[[Tensor], Tensor], Tensor, Callable[[Tensor], Any]]  # where it looks, what it writes, and when


def table(seed: int) -> Tensor:
    """What a head adds to the logits, a row for each token that it sees."""
    generator = torch.Generator("cpu").manual_seed(seed)
    return torch.randn(TOKENS, TOKENS, generator=generator, dtype=torch.float64, device="cpu")


NEXT, OTHER = table(0), table(1)  # NEXT: the logits by the present token alone


COPY = 3 * torch.eye(TOKENS, dtype=torch.float64, device="cpu")


NOTHING = 0 * COPY


SAME_FOR_ALL = OTHER[:, :1] * torch.ones(TOKENS, dtype=torch.float64, device="cpu")  # rows of equal numbers


SAME_FROM_ALL = OTHER[:1].expand(TOKENS, -1).clone()  # equal rows


ON_NINE = OTHER * (torch.arange(TOKENS, device="cpu") == 9)[:, None]


SURER = F.one_hot(NEXT.argmax(-1), TOKENS).double()  # more for what is the most likely token anyway


def among(chosen: Tensor) -> Tensor:
    """Weights spread evenly over the chosen keys of the past; a query that has none looks at itself."""
    length = chosen.size(-1)
    past = chosen & torch.ones(length, length, dtype=torch.bool).tril()
    alone = ~past.any(-1, keepdim=True) & torch.eye(length, dtype=torch.bool)
    looked_at = (past | alone).double()
    return looked_at / looked_at.sum(-1, keepdim=True)


def at_all(tokens: Tensor) -> Tensor:
    return among(torch.ones(len(tokens), tokens.size(1), tokens.size(1), dtype=torch.bool))


def at_itself(tokens: Tensor) -> Tensor:
    return among(torch.zeros(len(tokens), tokens.size(1), tokens.size(1), dtype=torch.bool))


def back_one(tokens: Tensor) -> Tensor:
    return among(torch.eye(tokens.size(1)).roll(-1, 1).bool().expand(len(tokens), -1, -1))


def by_induction(tokens: Tensor) -> Tensor:
    """At what came after the present token when it stood there last."""
    previous = F.pad(tokens, (1, 0), value=-1)[:, :-1]  # (B, T): the token before each
    found = (tokens[:, :, None] == previous[:, None]).tril()
    return among(found & (found.flip(-1).cumsum(-1).flip(-1) == 1))  # the last of each row


def always(tokens: Tensor) -> float:
    return 1.0


def late(tokens: Tensor) -> Tensor:
    return (torch.arange(tokens.size(1)) >= 12)[:, None]  # (T, 1)


def at_the_start(tokens: Tensor) -> Tensor:
    return (torch.arange(tokens.size(1)) < 2)[:, None]


def seen_before(tokens: Tensor) -> Tensor:
    return (tokens[:, :, None] == tokens[:, None]).tril(-1).any(-1, keepdim=True)  # (B, T, 1)


def parts_of(heads: Sequence[Head], tokens: Tensor, without: Sequence[int]) -> tuple[list[Tensor], Tensor]:
    """What each head writes, (B, T, TOKENS) each, and where all look."""
    weights = [look(tokens) for look, _, _ in heads]
    written = [
        w @ values[tokens] * when(tokens) * (i not in without)
        for i, (w, (_, values, when)) in enumerate(zip(weights, heads, strict=True))
    ]
    return written, torch.stack(weights, 1).float()


def of_heads(*heads: Head) -> Model:
    """All heads side by side: what they write is added up. Computed in float64, so as to be equal everywhere."""

    def model(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        written, weights = parts_of(heads, tokens, without)
        return (NEXT[tokens] + sum(written)).float(), weights

    return model


def with_a_backup(*heads: Head) -> Model:
    """The first head that is there writes; the others are silent."""

    def model(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        written, weights = parts_of(heads, tokens, without)
        first = next((part for i, part in enumerate(written) if i not in without), 0 * NEXT[tokens])
        return (NEXT[tokens] + first).float(), weights

    return model


def in_two_layers(values: Tensor) -> Model:
    """Head 1 finds its place by what head 0 has written: without that it looks at all alike."""

    def model(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        second = (at_all if 0 in without else by_induction)(tokens)
        logits = NEXT[tokens] + second @ values[tokens] * (1 not in without)
        return logits.float(), torch.stack([back_one(tokens), second], 1).float()

    return model


COPIES, ADDS = (by_induction, COPY, always), (back_one, OTHER, always)


SILENT = (by_induction, NOTHING, always)


RIGHT_CLAIMS = {  # the head matters: (model, head)
    "an induction head that copies what it sees": (of_heads(COPIES, ADDS), 0),
    "it looks at all tokens alike, and writes what they are": (of_heads(SILENT, (at_all, COPY, always)), 1),
    "it looks at itself alone, and its values are not 0": (of_heads((at_itself, OTHER, always), SILENT), 0),
    "it writes the same whatever it sees, which makes some tokens likelier": (
        of_heads(COPIES, SILENT, (back_one, SAME_FROM_ALL, always)),
        2,
    ),
    "it writes only where the present token has come before": (of_heads((at_all, OTHER, seen_before), ADDS), 0),
    "it writes only from position 12 on": (of_heads(ADDS, (back_one, COPY, late)), 1),
    "it writes only at the first two positions": (of_heads((at_itself, OTHER, at_the_start), SILENT), 0),
    "it writes only where it sees token 9": (of_heads(SILENT, (back_one, ON_NINE, always)), 1),
    "it makes the model surer, and never changes its first choice": (
        of_heads((at_itself, SURER, always), SILENT),
        0,
    ),
    "what it changes is small: no probability by more than 0.03": (
        of_heads(ADDS, (by_induction, OTHER / 50, always)),
        1,
    ),
    "another head takes away what it adds: it is missed when it goes alone": (
        of_heads(COPIES, (by_induction, -COPY, always)),
        0,
    ),
    "it writes nothing into the logits, but another head finds its place by it": (in_two_layers(COPY), 0),
}


WRONG_CLAIMS = {  # it does not
    "it looks where an induction head looks, and writes nothing": (of_heads(SILENT, ADDS), 0),
    "it adds the same number to all logits, and no probability changes": (
        of_heads((by_induction, SAME_FOR_ALL, always), ADDS),
        0,
    ),
    "another head does the same as soon as it is gone": (with_a_backup(COPIES, COPIES), 0),
    "it is the other heads that matter": (of_heads(COPIES, ADDS, SILENT), 2),
    "it is the reserve, and silent while the first head is there": (with_a_backup(ADDS, COPIES), 1),
    "what it changes is of the size of rounding": (of_heads(ADDS, (by_induction, 1e-5 * OTHER, always)), 1),
    "without it another head looks elsewhere, but that one writes nothing": (in_two_layers(NOTHING), 0),
}


def claim_cases() -> Iterator[Case]:
    for label, (model, head) in (RIGHT_CLAIMS | WRONG_CLAIMS).items():
        yield Case(label, {"model": model, "head": head})


def model_takes(tokens: Tensor, without: Sequence[int] = ()) -> tuple:
    need_tensor("tokens", tokens, "(B, T)", lambda x: x.ndim == 2 and x.numel() > 0, floats=False)
    if tokens.min() < 0 or tokens.max() >= TOKENS:
        raise ValueError(f"tokens must be from 0 to {TOKENS - 1} (got {tokens.min()} to {tokens.max()})")
    if not isinstance(without, Sequence) or not all(isinstance(head, int) for head in without):
        raise ValueError(f"without must be a list of heads (got {without})")
    need_few(tokens.numel() * (3 * tokens.size(1) + TOKENS))  # the weights of three heads, and the logits
    return tokens.long(), [*without]


@partial(
    WriteTheTest,
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
    takes=model_takes,
    hints=(
        "Where a head looks is not what it does. Run the model twice, on the same tokens. What is it that may differ?",
        "Which two tensors do you compare, how closely, and at which positions? Logits that are all higher by the same "
        "amount are the same prediction.",
        "Which texts do you try? A head may act in long ones only, or where a token comes again, or on one token.",
        "Which heads do you take away? If you take away others as well, you learn something about these others.",
    ),
)
def head_matters(model, head):
    """Whether some probability changes by more than 0.001 when the head alone is taken away.

    Tried on random texts of several lengths, in which every token comes again sooner or later.
    """
    generator = torch.Generator().manual_seed(0)
    for length in (2, 40):
        tokens = torch.randint(10, (50, length), generator=generator)
        with_it, without_it = (model(tokens, gone)[0].softmax(-1) for gone in ([], [head]))
        if (with_it - without_it).abs().max() > 0.001:
            return True
    return False


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
    "You compare *logits*. A number that is added to all of them changes no probability: compare after the softmax."
)
def logits_compared(model, head):
    return bool((model(texts(), [])[0] - model(texts(), [head])[0]).abs().max() > 0.001)


@head_matters.mistake(
    "You compare the most likely tokens only. A head that makes the model surer, or less sure, changes probabilities."
)
def first_choices_compared(model, head):
    one, other = (model(texts(), without)[0].argmax(-1) for without in ([], [head]))
    return bool((one != other).any())


@head_matters.mistake("You ask whether both runs return *exactly* the same. Two runs may round differently.")
def compared_exactly(model, head):
    return bool(change(model, texts(), [], [head]) > 0)


@head_matters.mistake(
    "You ask for a large change. The claim is right as soon as one probability changes by more than 0.001."
)
def only_large_changes(model, head):
    return bool(change(model, texts(), [], [head]) > 0.1)


@head_matters.mistake(
    "You try short texts, or look at the first positions only: what a head does later in a text stays unseen."
)
def short_texts(model, head):
    return bool(change(model, texts()[:, :8], [], [head]) > 0.001)


@head_matters.mistake("No token comes twice in your texts, so that an induction head finds nothing to do.")
def no_token_twice(model, head):
    return bool(change(model, torch.stack([torch.arange(10), torch.arange(9, -1, -1)]), [], [head]) > 0.001)


@head_matters.mistake("You look at late positions only, or at the last. A head may act at the first ones.")
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


@head_matters.hidden_case
def hidden_late(generator: Generator) -> Arguments:
    start, seed = number(generator, 0, 24), number(generator, 2, 10_000)
    looks, head = pick(generator, at_itself, back_one, at_all), number(generator, 0, 2)

    def drawn_late(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        """It acts from some position on."""
        weights = torch.stack([by_induction(tokens), looks(tokens), back_one(tokens)], 1)
        acts = (torch.arange(tokens.size(1)) >= start)[:, None] * (head not in without)
        return (NEXT[tokens] + weights[:, head] @ table(seed)[tokens] * acts).float(), weights.float()

    return {"model": drawn_late, "head": head}


@head_matters.hidden_case
def hidden_idle(generator: Generator) -> Arguments:
    token, head = number(generator, 0, 9), number(generator, 0, 1)

    def drawn_idle(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        """Where it sees a certain token it adds the same to all logits; the other head copies."""
        weights = torch.stack([by_induction(tokens), back_one(tokens)], 1)
        seen = weights[:, head] @ (tokens == token).double()[..., None]  # (B, T, 1)
        copied = weights[:, 1 - head] @ COPY[tokens] * (1 - head not in without)
        return (NEXT[tokens] + copied + 2 * seen * (head not in without)).float(), weights.float()

    return {"model": drawn_idle, "head": head}


@head_matters.hidden_case
def hidden_reserve(generator: Generator) -> Arguments:
    head, seed = number(generator, 0, 2), number(generator, 2, 10_000)

    def drawn_reserve(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        """Three heads that do the same, of which one is enough."""
        weights = back_one(tokens)
        written = weights @ table(seed)[tokens] * any(i not in without for i in range(3))
        return (NEXT[tokens] + written).float(), torch.stack([weights] * 3, 1).float()

    return {"model": drawn_reserve, "head": head}
