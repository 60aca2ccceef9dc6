"""The picture of a training step: what each rank holds, what it computes when, and the messages between the ranks."""

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from transformer_lab.analysis.rank_tasks import FORWARD, Step, Task
from transformer_lab.analysis.ranks import held, reads, schedule
from transformer_lab.plots.picture import COLOURS, GREY, INK, THEME

HIGH, WIRE = 0.3, 0.62  # of a rank's bar, and how far below its top messages leave


def draw_step(scheme: str, step: Step) -> Figure:
    """Draw who holds what at the left, and at the right the step in time."""
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(9, 0.8 * step.n + 1.2), layout="constrained")
        pieces, time = drawing.subplots(1, 2, width_ratios=[1, 2.6])
        draw_pieces(pieces, scheme, step)
        draw_time(time, schedule(scheme, step), step.n)
        looks = [
            Patch(label="forward", facecolor=GREY),
            Patch(label="backward", facecolor=GREY, alpha=0.35, hatch="///"),
        ]
        time.legend(handles=looks, ncols=2, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)
        time.set_title(f"{scheme} parallel", loc="left")
    return drawing


def draw_pieces(ax: Axes, scheme: str, step: Step) -> None:
    """Draw, for each rank, its part of the batch and its piece of the first and last matrix of each layer."""
    n, layers = step.n, step.stack.n_layers
    for rank in range(n):
        place(ax, 0, rank, 0.6, reads(scheme, rank, n), COLOURS[rank])
        for i, both in enumerate(held(scheme, rank, n, layers)):
            left = 1.1 + i * 1.15
            place(ax, left, rank, 0.6, [both[0]] if both else [], COLOURS[rank], high=0.25)
            place(ax, left + 0.7, rank, 0.25, [both[1]] if both else [], COLOURS[rank], high=0.6)
    ax.set(xlim=(-0.1, 1.1 + layers * 1.15), ylim=(n - 0.1, -0.4), yticks=[])
    ax.set_xticks([0.3, *(1.6 + i * 1.15 for i in range(layers))], ["batch", *map(str, range(layers))])
    ax.tick_params(length=0)
    ax.set_xlabel("matrices of layer")
    for side in ax.spines.values():
        side.set_visible(False)


def place(ax: Axes, left: float, top: float, wide: float, boxes: list, colour: str, high: float = 0.6) -> None:
    """Draw a matrix as an outline, and the boxes of it that are held."""
    for x0, y0, x1, y1 in boxes:
        ax.add_patch(
            Rectangle((left + wide * x0, top + high * y0), wide * (x1 - x0), high * (y1 - y0), facecolor=colour)
        )
    ax.add_patch(Rectangle((left, top), wide, high, fill=False, edgecolor=GREY, linewidth=0.8))


def draw_time(ax: Axes, tasks: list[Task], n: int) -> None:
    """Draw a line for each rank: bars where it computes, and threads from rank to rank where it sends."""
    for task in tasks:
        if task.computes:
            forward, start, rank = task.kind == FORWARD, 1000 * task.start, task.ranks[0]
            bar = [(start, 1000 * task.seconds)]
            alpha, hatch = (1, "") if forward else (0.35, "///")
            ax.broken_barh(bar, (rank, HIGH), facecolor=COLOURS[rank], alpha=alpha, hatch=hatch)
            ax.broken_barh(bar, (rank, HIGH), facecolor="none", edgecolor="white")
        else:
            draw_messages(ax, task)
    whole = 1000 * max(task.end for task in tasks)
    for rank in range(n):
        ax.plot([0, whole], [rank + HIGH / 2] * 2, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    ax.set(ylim=(n - 0.1, -0.4), xlabel="milliseconds", xlim=(0, whole))
    ax.set_yticks([rank + HIGH / 2 for rank in range(n)], [f"rank {rank}" for rank in range(n)], color=INK)


def draw_messages(ax: Axes, task: Task) -> None:
    """Draw each message from the rank that sends it to the next one, in each round of a task."""
    pairs = [task.ranks] if task.kind == "send" else [*zip(task.ranks, (*task.ranks[1:], 0), strict=True)]
    for step in range(task.rounds):
        times = [1000 * (task.start + task.seconds * (step + end) / task.rounds) for end in (0, 1)]
        for sender, receiver in pairs:
            ax.plot(times, [sender + WIRE, receiver + WIRE], color=COLOURS[sender], linewidth=1)
