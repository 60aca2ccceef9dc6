"""Speculative decoding, round by round: what the draft proposed, what the model kept, and the resulting text."""

import torch
from matplotlib.axes import Axes
from torch import Tensor

from transformer_lab.decoding.speculation import Round, Speculation
from transformer_lab.plots import plot_bars
from transformer_lab.plots.checks import Tokens, label
from transformer_lab.widgets.shared.view import View

MOST_ROUNDS, MOST_DRAFTED = 200, 12


def speculation(written: Speculation, names: Tokens) -> View:
    """Step through a recorded run of `speculative`, one pass of the model after another.

    `names` are those of the whole vocabulary. Of each round the page shows the drafted tokens, the probability that the
    draft and the model gave to each, and which of them stand.

    Raises:
        ValueError: there is no round, or more than 200; more than 12 tokens are drafted in one; no round drafts any;
            there is not one name for each token of the vocabulary.
    """
    rounds, vocabulary = written.rounds, list(map(str, names))
    if not 1 <= len(rounds) <= MOST_ROUNDS:
        raise ValueError(f"there must be 1 to {MOST_ROUNDS} rounds (got {len(rounds)})")
    if not 1 <= max(len(one.drafted) for one in rounds) <= MOST_DRAFTED:
        longest = max(len(one.drafted) for one in rounds)
        raise ValueError(f"the longest round must draft 1 to {MOST_DRAFTED} tokens (got {longest})")
    if len(vocabulary) != rounds[0].p.size(-1):
        size = rounds[0].p.size(-1)
        raise ValueError(f"there must be a name for each of the {size} tokens (got {len(vocabulary)})")
    n_new = sum(one.n_accepted + 1 for one in rounds)
    longest = max(len(one.drafted) for one in rounds)
    prompt = written.tokens[: len(written.tokens) - n_new].cpu()
    state = {"names": vocabulary, "prompt": prompt} | tables(rounds, n_new, longest)
    said = summary([vocabulary[i] for i in prompt.tolist()], longest)
    return View("speculation", state, said, lambda: fallback(rounds, vocabulary))


def tables(rounds: list[Round], n_rows: int, longest: int) -> dict[str, Tensor]:
    """The recorded rounds as tables, a row each, with -1 where nothing was drafted.

    There are as many rows as new tokens, so that the form does not depend on how many passes a machine needed.
    """
    found = {name: torch.full((n_rows, longest), -1.0) for name in ("drafted", "p", "q")}
    found |= {name: torch.full((n_rows,), -1.0) for name in ("accepted", "written")}
    for row, one in enumerate(rounds):
        n = len(one.drafted)
        found["drafted"][row, :n] = torch.tensor(one.drafted, dtype=torch.float32)
        found["p"][row, :n], found["q"][row, :n] = (
            torch.tensor(chances(table, one.drafted)) for table in (one.p, one.q)
        )
        found["accepted"][row], found["written"][row] = one.n_accepted, one.written
    return found


def chances(distributions: Tensor, drafted: list[int]) -> list[float]:
    """The probability of each drafted token."""
    return [float(distributions[i, token]) for i, token in enumerate(drafted)]


def summary(prompt: list[str], longest: int) -> str:
    """A one-line summary of the recorded run, without any number that training produced."""
    read = label("".join(prompt).replace("\n", "⏎"))
    return f"What a draft proposed after “{read}”, up to {longest} tokens a round, and what the model kept of it."


def fallback(rounds: list[Round], names: list[str]) -> Axes:
    """Draw the first round with drafted tokens: the probability of each under the draft and under the model."""
    first = next(one for one in rounds if one.drafted)
    stands = ["stands" if i < first.n_accepted else "" for i in range(len(first.drafted))]
    if first.n_accepted < len(stands):
        stands[first.n_accepted] = "rejected"
    seen = [names[i].replace("\n", "⏎").replace(" ", "␣") for i in first.drafted]
    labels = [f"{name} {verdict}".strip() for name, verdict in zip(seen, stands, strict=True)]
    bars = {"draft": chances(first.q, first.drafted), "model": chances(first.p, first.drafted)}
    return plot_bars(bars, labels)
