"""Lesson 08: write the test `is_top_p`."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.candidates import MOST, MOST_ROWS, need_few, need_tensor
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import WriteTheTest

Cut = Callable[[Tensor, float], Tensor]


DROPPED = float("-inf")


ALMOST = 1e-6  # a sum that comes as close to p reaches it, however it was rounded


def sorted_with_sums(logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The probabilities, the most probable first; where each stands; the sum of those before it."""
    probabilities, order = logits.double().softmax(-1).sort(dim=-1, descending=True)
    return probabilities, order, probabilities.cumsum(-1) - probabilities


def needed(before: Tensor, p: float) -> Tensor:
    """Whether a token is needed, if those before it have this sum."""
    return torch.ones_like(before, dtype=torch.bool) if p >= 1 else before < p - ALMOST


def by_sorting(logits: Tensor, p: float) -> Tensor:
    _, order, before = sorted_with_sums(logits)
    return logits.masked_fill(
        ~torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, needed(before, p)), DROPPED
    )


def back_in_order(logits: Tensor, p: float) -> Tensor:
    _, order, before = sorted_with_sums(logits)
    cut = logits.gather(-1, order).masked_fill(~needed(before, p), DROPPED)
    return cut.gather(-1, order.argsort(-1))


def by_comparing_all_pairs(logits: Tensor, p: float) -> Tensor:
    probabilities = logits.double().softmax(-1)
    row, column = probabilities[..., :, None], probabilities[..., None, :]
    return torch.where(needed(((column > row) * column).sum(-1), p), logits, DROPPED)


def by_the_smallest_that_is_kept(logits: Tensor, p: float) -> Tensor:
    probabilities, _, before = sorted_with_sums(logits)
    smallest = probabilities.masked_fill(~needed(before, p), 2.0).amin(-1, keepdim=True)
    return torch.where(logits.double().softmax(-1) >= smallest, logits, DROPPED)


def by_loop(logits: Tensor, p: float) -> Tensor:
    rows = []
    for row in logits.reshape(-1, logits.size(-1)):
        probabilities, total = row.double().softmax(-1).tolist(), 0.0
        kept = torch.full_like(row, DROPPED)
        for i in sorted(range(len(row)), key=lambda i: -probabilities[i]):
            if total < p - ALMOST or p >= 1:
                kept[i] = row[i]
            total += probabilities[i]
        rows.append(kept)
    return torch.stack(rows).reshape(logits.shape)


def keeping(choose: Callable[[Tensor, Tensor, float], Tensor]) -> Cut:
    """A filter that keeps what `choose(probabilities, sums before, p)` says, the most probable first."""

    def cut(logits: Tensor, p: float) -> Tensor:
        probabilities, order, before = sorted_with_sums(logits)
        kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, choose(probabilities, before, p))
        return logits.masked_fill(~kept, DROPPED)

    return cut


def of_the_right_ones(change: Callable[[Tensor, Tensor], Tensor]) -> Cut:
    """A filter that keeps the right tokens, and makes `change(logits, kept)` of them."""
    return lambda logits, p: change(logits, by_sorting(logits, p).isfinite())


def in_the_order_of_the_vocabulary(logits: Tensor, p: float) -> Tensor:
    probabilities = logits.double().softmax(-1)
    return logits.masked_fill(~needed(probabilities.cumsum(-1) - probabilities, p), DROPPED)


def not_put_back(logits: Tensor, p: float) -> Tensor:
    return logits.masked_fill(~needed(sorted_with_sums(logits)[2], p), DROPPED)


def first_row_decides(logits: Tensor, p: float) -> Tensor:
    rows = logits.reshape(-1, logits.size(-1))
    kept = by_sorting(rows[0], p).isfinite()
    return rows.masked_fill(~kept, DROPPED).reshape(logits.shape)


def logits_for_probabilities(logits: Tensor, p: float) -> Tensor:
    ordered, order = logits.double().sort(dim=-1, descending=True)
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, needed(ordered.cumsum(-1) - ordered, p))
    return logits.masked_fill(~kept, DROPPED)


def at_least_one(kept: Tensor) -> Tensor:
    return kept | (torch.arange(kept.size(-1)) == 0)


RIGHT_CUTS: dict[str, Cut] = {
    "sorted, and the choice scattered back": by_sorting,
    "sorted, cut, and put back in order": back_in_order,
    "every token compared with every other": by_comparing_all_pairs,
    "all that are as probable as the last one kept": by_the_smallest_that_is_kept,
    "a loop over rows and tokens": by_loop,
}


WRONG_CUTS: dict[str, Cut] = {
    "the token that reaches p is dropped": keeping(lambda q, before, p: before + q <= p),
    "the token that reaches p is dropped, unless it is the only one": keeping(
        lambda q, before, p: at_least_one(before + q <= p)
    ),
    "one token more than needed is kept": keeping(lambda q, before, p: needed(before - q.roll(1, -1), p)),
    "tokens are taken in the order of the vocabulary": in_the_order_of_the_vocabulary,
    "the choice is made in sorted order, and not put back": not_put_back,
    "the least probable tokens are kept": keeping(lambda q, before, p: needed(1 - before - q, p)),
    "every token whose own probability is below p is dropped": keeping(lambda q, before, p: q >= p),
    "the share p of the vocabulary is kept": keeping(
        lambda q, before, p: torch.arange(q.size(-1)).expand(q.shape) < max(1, round(p * q.size(-1)))
    ),
    "p is taken for 0.9, whatever it is": keeping(lambda q, before, p: needed(before, 0.9)),
    "logits are added up in place of probabilities": logits_for_probabilities,
    "the first row decides for all rows of a batch": first_row_decides,
    "dropped tokens get the logit 0": of_the_right_ones(lambda logits, kept: logits * kept),
    "probabilities come back in place of logits": of_the_right_ones(
        lambda logits, kept: logits.masked_fill(~kept, DROPPED).softmax(-1)
    ),
    "what is kept has other logits: their exponentials sum to 1": of_the_right_ones(
        lambda logits, kept: logits.masked_fill(~kept, DROPPED).log_softmax(-1)
    ),
    "dropped tokens get a logit that is only lower by 5": of_the_right_ones(lambda logits, kept: logits - 5.0 * ~kept),
}


def cut_takes(logits: Tensor, p: float) -> tuple:
    need_tensor("logits", logits, "(…, vocab)", lambda x: 1 <= x.ndim <= 3 and x.numel() > 0, floats=True)
    if isinstance(p, bool) or not isinstance(p, int | float | Tensor) or not 0 < (p := float(p)) <= 1:
        raise ValueError(f"p must be a number above 0 and at most 1 (got {p})")
    need_few(logits.numel() * max(logits.size(-1), MOST // MOST_ROWS))
    return logits, p


@partial(
    WriteTheTest,
    lesson="08",
    minutes=20,
    difficulty=2,
    statement="""
    Write a test: True if `cut(logits, p)` is a right top-p filter, and False if not.

    logits (…, vocab) in float32, in any order, with up to two axes before them; p from above 0 to 1. Right is what
    keeps the smallest set of tokens of each row whose probabilities reach p, with their logits as they are, and gives
    all others the logit -inf; p = 1 keeps every token. (Equal logits leave a choice: do not test with them.)

    Your test is tried on right filters of several styles and on wrong ones, each wrong in its own way. Its score is the
    share of wrong ones that it catches, less the share of right ones that it refuses.
    """,
    returns=("is_right",),
    cases=tuple(Case(label, {"cut": one}) for label, one in (RIGHT_CUTS | WRONG_CUTS).items()),
    says_of_right=True,
    candidate="filter",
    takes=cut_takes,
    hints=(
        "Take probabilities that you can add up in your head, such as 0.5, 0.3 and 0.2. Their logarithms are logits: "
        "what must come back for p = 0.6?",
        "In which order do the tokens stand? A filter may be right for sorted logits alone.",
        "Which values of p do you try? A small one keeps a single token, and a filter must not keep none.",
        "Compare the *logits* that come back, not only which tokens are kept; and try several rows at once.",
    ),
)
def is_top_p(cut):
    """Whether `cut` keeps the smallest set of tokens whose probabilities reach p: compare it with a few lines that do.

    A token is kept if all that are more probable do not reach p together.
    """
    generator = torch.Generator().manual_seed(0)
    for shape in ((7,), (3, 5), (2, 3, 12)):
        for p in (0.05, 0.35, 0.6, 0.93):
            logits = 2 * torch.randn(shape, generator=generator) + 1
            probabilities = logits.double().softmax(-1)
            row, column = probabilities[..., :, None], probabilities[..., None, :]
            before = torch.where(column > row, column, 0.0).sum(-1)  # of all that are more probable
            right = logits.masked_fill(before >= p, float("-inf"))
            try:
                given = cut(logits, p)
            except Exception:
                return False
            if given.shape != right.shape or not torch.allclose(given, right):
                return False
    return True


TEST_P = (0.05, 0.35, 0.6, 0.93)


def examples(*shapes):
    generator = torch.Generator().manual_seed(1)
    return [2 * torch.randn(*shape, generator=generator) + 1 for shape in shapes]


SHAPES = ((7,), (3, 5), (2, 3, 12))


def returned(cut, logits, p):
    """What it returns, or a tensor that is like no other."""
    try:
        return cut(logits, p)
    except Exception:
        return torch.empty(0)


def agrees(cut, logits, p):
    given = returned(cut, logits, p)
    return given.shape == logits.shape and torch.allclose(given, by_loop(logits, p))


@is_top_p.mistake("Every filter is right for your test: what it looks at, if anything, is alike in all of them.")
def accepts_every_filter(cut):
    return True


@is_top_p.mistake("Every filter is wrong for your test.")
def refuses_every_filter(cut):
    return False


@is_top_p.mistake(
    "You ask whether what is kept reaches p. That is necessary, and not enough: it must be the *smallest* such set, "
    "and its logits as they were."
)
def reaches_p(cut):
    for logits in examples(*SHAPES):
        for p in TEST_P:
            given = returned(cut, logits, p)
            kept = given.isfinite() if given.shape == logits.shape else torch.zeros_like(logits)
            if ((logits.softmax(-1) * kept).sum(-1) < p).any():
                return False
    return True


@is_top_p.mistake(
    "Your logits are sorted, the largest first, or what must be kept stands first. A filter that needs that, or never "
    "puts the tokens back in their order, stays unseen."
)
def sorted_logits_only(cut):
    ordered = [logits.sort(dim=-1, descending=True).values for logits in examples(*SHAPES)]
    return all(agrees(cut, logits, p) for logits in ordered for p in TEST_P)


@is_top_p.mistake(
    "You try one row at a time, or rows of which the same places are kept. What is wrong with a batch alone stays "
    "unseen."
)
def one_row_only(cut):
    return all(agrees(cut, logits, p) for logits in examples((7,), (5,), (12,)) for p in TEST_P)


@is_top_p.mistake(
    "A filter that keeps the right tokens, and gives them other logits, stays unseen: you look at *which* are kept, or "
    "how probable they are. The logits of what is kept must be as they were, and those of all others -inf."
)
def choice_only(cut):
    for logits in examples(*SHAPES):
        for p in TEST_P:
            given, right = returned(cut, logits, p), by_loop(logits, p)
            if given.shape != right.shape or not torch.equal(given > -1000, right > -1000):
                return False
    return True


@is_top_p.mistake(
    "You try p = 0.9 alone, or values that keep the same tokens as 0.9. A filter may be right there, and wrong for a "
    "small p."
)
def one_p_only(cut):
    return all(agrees(cut, logits, 0.9) for logits in examples(*SHAPES))


@is_top_p.hidden_case
def hidden_right(generator: Generator) -> Arguments:
    order = torch.randperm(200, generator=generator)

    def drawn_right(logits: Tensor, p: float) -> Tensor:
        """The tokens in another order, which must not matter, and back."""
        tokens = order[order < logits.size(-1)]
        q = logits.double().softmax(-1)[..., tokens]
        before = ((q[..., None, :] > q[..., :, None]) * q[..., None, :]).sum(-1)[..., tokens.argsort()]
        return logits.masked_fill((before >= p - 1e-6) & (p < 1), float("-inf"))

    return {"cut": drawn_right}


@is_top_p.hidden_case
def hidden_share(generator: Generator) -> Arguments:
    share = number(generator, 20, 75) / 100

    def drawn_share(logits: Tensor, p: float) -> Tensor:
        """It stops too early: at a share of p."""
        q = logits.double().softmax(-1)
        before = ((q[..., None, :] > q[..., :, None]) * q[..., None, :]).sum(-1)
        return logits.masked_fill(before >= share * p, float("-inf"))

    return {"cut": drawn_share}


@is_top_p.hidden_case
def hidden_lift(generator: Generator) -> Arguments:
    amount = number(generator, 3, 40) / 10

    def drawn_lift(logits: Tensor, p: float) -> Tensor:
        """The right tokens, with logits that are all higher by as much."""
        q = logits.double().softmax(-1)
        before = ((q[..., None, :] > q[..., :, None]) * q[..., None, :]).sum(-1)
        return logits.masked_fill((before >= p - 1e-6) & (p < 1), float("-inf")) + amount

    return {"cut": drawn_lift}
