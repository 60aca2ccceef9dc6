"""Four ranks in a training step: who holds which piece of which matrix, and who computes, sends or waits when."""

from matplotlib.figure import Figure

from transformer_lab.analysis.rank_tasks import Stack, Step
from transformer_lab.analysis.ranks import schedule, use_of_time
from transformer_lab.distributed.costs import WAYS, Cluster, check_way
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.ranks.ranks_picture import draw_step

LINKS = [1e9 * speed for speed in (1, 2, 5, 12.5, 25, 50, 100, 200, 450, 900)]  # bytes a second
MOST_RANKS, MOST_LAYERS, DOUBLED = 4, 8, 7
MICRO = [1, 2, 4, 8, 16, 32]


def ranks(
    scheme: str = "data",
    n: int = 4,
    stack: Stack | None = None,
    cluster: Cluster | None = None,
    overlap: bool = False,
) -> View:
    """Watch 2 to 4 ranks through one training step, in any of five ways, and see who computes, sends and waits.

    The page can change the way, the number of ranks, the link, the tokens of a step, the micro-batches, a slow rank,
    and whether ranks send while they compute. It begins at the link of the view that is nearest to the cluster's; the
    tokens of the stack can be doubled up to seven times, and halved while a whole text is left. By default four layers
    of the width of Llama 3 8B are trained on H100s with links of 50 GB/s, as lesson 17 reckons.

    Raises:
        ValueError: an unknown scheme; not 2 to 4 ranks; not 4 to 8 layers; a number of tokens that is no power of 2
            times the length of a text.
    """
    check_way(scheme)
    stack, cluster = stack or Stack(), cluster or Cluster(flops=989e12, link=50e9)
    if not 2 <= n <= MOST_RANKS:
        raise ValueError(f"n ({n}) must be 2 to {MOST_RANKS}")
    if not MOST_RANKS <= stack.n_layers <= MOST_LAYERS:
        raise ValueError(f"n_layers ({stack.n_layers}) must be {MOST_RANKS} to {MOST_LAYERS}")
    tokens = [stack.length * 2**i for i in range(DOUBLED + 1)]
    if stack.n_tokens not in tokens:
        raise ValueError(
            f"n_tokens ({stack.n_tokens}) must be length ({stack.length}) times a power of 2 up to {2**DOUBLED}"
        )
    link = min(LINKS, key=lambda one: abs(one - cluster.link))
    state = {
        "sizes": {name: getattr(stack, name) for name in ("d_model", "n_layers", "length", "n_bytes")},
        "speed": cluster.reached * cluster.flops,
        "links": LINKS,
        "tokens": tokens,
        "micro": MICRO,
        "first": {
            "way": WAYS.index(scheme),
            "n": n,
            "link": LINKS.index(link),
            "tokens": tokens.index(stack.n_tokens),
            "overlap": overlap,
        },
    }
    step = Step(stack, n, Cluster(cluster.flops, link, cluster.reached), overlap)
    return View("ranks", state, summary(scheme, step), lambda: fallback(scheme, step))


def summary(scheme: str, step: Step) -> str:
    """A one-line summary of what the step takes, and what the ranks do with it."""
    tasks = schedule(scheme, step)
    whole = max(task.end for task in tasks)
    uses = use_of_time(tasks, step.n)
    parts = ", ".join(
        f"{100 * sum(getattr(use, name) for use in uses) / step.n / whole:.0f} % {name}"
        for name in ("computing", "sending", "waiting")
    )
    sent = sum(task.n_bytes for task in tasks) / 1e9
    return (
        f"{step.n} ranks, {scheme} parallel: a step of {step.stack.n_tokens:,} tokens takes {1000 * whole:.0f} ms, "
        f"on average {parts}; together the ranks send {sent:.1f} GB."
    )


def fallback(scheme: str, step: Step) -> Figure:
    """Draw the whole step: a line for each rank, and the messages between them."""
    return draw_step(scheme, step)
