"""Speculative decoding, round by round: what a draft proposed, what the model kept, and the text that came of it."""

from matplotlib.axes import Axes
from torch import Tensor

from transformer_lab.plots import plot_bars
from transformer_lab.plots.checks import Tokens, label
from transformer_lab.speculation import Round, Speculation
from transformer_lab.widgets.view import View

MOST_ROUNDS, MOST_DRAFTED = 200, 12


def speculation(written: Speculation, names: Tokens) -> View:
    """Step through a text that `speculative` has written: a recorded run, one pass of the model after the other.

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
    n_prompt = len(written.tokens) - sum(one.n_accepted + 1 for one in rounds)
    state = {
        "prompt": [vocabulary[i] for i in written.tokens[:n_prompt].tolist()],
        "drafted": [[vocabulary[i] for i in one.drafted] for one in rounds],
        "accepted": [one.n_accepted for one in rounds],
        "written": [vocabulary[one.written] for one in rounds],
        "p": [chances(one.p, one.drafted) for one in rounds],
        "q": [chances(one.q, one.drafted) for one in rounds],
    }
    return View("speculation", state, summary(state), lambda: fallback(rounds, vocabulary))


def chances(distributions: Tensor, drafted: list[int]) -> list[float]:
    """What each drafted token was given."""
    return [float(distributions[i, token]) for i, token in enumerate(drafted)]


def summary(state: dict) -> str:
    """One line that says what is stepped through; no number that a training has made."""
    prompt = label("".join(state["prompt"]).replace("\n", "⏎"))
    longest = max(map(len, state["drafted"]))
    return f"What a draft proposed after “{prompt}”, up to {longest} tokens a round, and what the model kept of it."


def fallback(rounds: list[Round], names: list[str]) -> Axes:
    """The first round in which anything was drafted: what draft and model give to each drafted token."""
    first = next(one for one in rounds if one.drafted)
    stands = ["stands" if i < first.n_accepted else "" for i in range(len(first.drafted))]
    if first.n_accepted < len(stands):
        stands[first.n_accepted] = "rejected"
    seen = [names[i].replace("\n", "⏎").replace(" ", "␣") for i in first.drafted]
    labels = [f"{name} {verdict}".strip() for name, verdict in zip(seen, stands, strict=True)]
    bars = {"draft": chances(first.q, first.drafted), "model": chances(first.p, first.drafted)}
    return plot_bars(bars, labels)
