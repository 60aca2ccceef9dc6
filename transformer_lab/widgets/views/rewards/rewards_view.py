"""Training from right and wrong, step by step: a group of answers, their rewards, and the probabilities that move."""

from collections.abc import Mapping, Sequence
from typing import Any

from transformer_lab.training.after_pretraining.digit_sums import running_sums
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.rewards.rewards_picture import draw_rewards

OF_ANSWERS = ("texts", "rewards", "exact", "before", "after")
Run = Mapping[str, Any]


def rewards(runs: Sequence[Run], arm: str = "digit anywhere", seed: int | None = None, step: int = 10) -> View:
    """Go step by step through recorded trainings by rewards, and see what each verifier makes likelier.

    `runs` are those of `python -m transformer_lab.training.experiments.rewarding`, which come with the package as the
    table "rewards": by reward and seed, for each step one group of answers with rewards and log-probabilities before
    and after the step, and the shares of all answers that were rewarded, right, worked out and well formed. It begins
    with the last of the arm's seeds if none is given.

    Raises:
        ValueError: there is no run of that arm and seed; the run has no such step; a group's lists differ in length.
    """
    chosen = [i for i, run in enumerate(runs) if run["arm"] == arm and seed in (None, run["seed"])]
    if not chosen:
        raise ValueError(f"there must be a run of that arm and seed (there is none of {arm!r} and {seed})")
    steps = runs[chosen[-1]]["steps"]
    if not 1 <= step <= len(steps):
        raise ValueError(f"step must be from 1 to {len(steps)} (got {step})")
    for run in runs:
        for one in run["steps"]:
            if len({len(one[name]) for name in OF_ANSWERS}) > 1:
                raise ValueError(f"all lists of a group must be equally long (not so in {run['arm']!r})")
    state = {
        "runs": [{"arm": run["arm"], "seed": run["seed"], "steps": run["steps"]} for run in runs],
        "run": chosen[-1],
        "step": step - 1,
    }
    run = runs[chosen[-1]]
    return View("rewards", state, summary(run, step), lambda: draw_rewards(run["steps"], step - 1))


def summary(run: Run, step: int) -> str:
    """A one-line summary of a step."""
    now = run["steps"][step - 1]
    n = len(now["texts"])
    return (
        f"Rewarded by “{run['arm']}”, seed {run['seed']}, step {step} of {len(run['steps'])}: of {n} answers to "
        f"{now['problem']} (right: {running_sums(now['problem'])[-1]}) {sum(now['rewards'])} are rewarded and "
        f"{sum(now['exact'])} right; of all answers {100 * now['rewarded']:.0f} % are rewarded and "
        f"{100 * now['right']:.0f} % right."
    )
