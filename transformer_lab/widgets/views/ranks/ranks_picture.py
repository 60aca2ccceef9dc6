"""The picture of a training step: what each rank holds, what it computes when, and the messages between the ranks.

As in the page, a rank is a machine with a lane in time, which is filled where it computes and empty where it waits;
where it sends, the wire below the lane is amber, and a thread goes for each message.
"""

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from transformer_lab.analysis.rank_tasks import FORWARD, Step, Task
from transformer_lab.analysis.ranks import held, reads, schedule, use_of_time
from transformer_lab.plots.picture import GREY, INK, PAPER, THEME, eased

HIGH, WIRE = 0.36, 0.54  # of a rank's bar, and how far below its top messages leave
PALE, BARS = "#b3b4b2", 3  # the colour of what goes backward, and how far up bars are: threads pass behind them
CURVE = np.linspace(0, 1, 17)


def draw_step(scheme: str, step: Step) -> Figure:
    """Draw who holds what at the left, and at the right the step in time."""
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(9, 0.8 * step.n + 1.2), layout="constrained")
        machines, time = drawing.subplots(1, 2, width_ratios=[1, 2.4])
        tasks = schedule(scheme, step)
        draw_machines(machines, scheme, step)
        draw_time(time, tasks, step.n)
        whole = max(task.end for task in tasks)
        uses = use_of_time(tasks, step.n)
        computing, sending, waiting = (
            f"{100 * sum(getattr(use, name) for use in uses) / step.n / whole:.0f} %"
            for name in ("computing", "sending", "waiting")
        )
        says = f"{scheme} parallel: computes {computing} (filled), sends {sending} (threads), waits {waiting} (empty)"
        time.set_title(says, loc="left", size=10)
    return drawing


def draw_machines(ax: Axes, scheme: str, step: Step) -> None:
    """Draw, for each rank, its part of the batch and its piece of the first and last matrix of each layer."""
    n, layers = step.n, step.stack.n_layers
    for rank in range(n):
        box = FancyBboxPatch(
            (-0.2, rank - 0.1),
            1.3 + layers * 1.15,
            0.66,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=PAPER["slab"],
            edgecolor=PAPER["edge"],
            linewidth=1.2,
        )
        ax.add_patch(box)
        place(ax, 0, rank + 0.04, 0.6, reads(scheme, rank, n), high=0.38)
        for i, both in enumerate(held(scheme, rank, n, layers)):
            left = 1.1 + i * 1.15
            place(ax, left, rank + 0.04, 0.6, [both[0]] if both else [], high=0.16)
            place(ax, left + 0.7, rank + 0.04, 0.25, [both[1]] if both else [], high=0.38)
    ax.set(xlim=(-0.25, 1.15 + layers * 1.15), ylim=(n - 0.1, -0.4), yticks=[])
    ax.set_xticks([0.3, *(1.6 + i * 1.15 for i in range(layers))], ["batch", *map(str, range(layers))])
    ax.tick_params(length=0)
    ax.set_xlabel("matrices of layer")
    for side in ax.spines.values():
        side.set_visible(False)


def place(ax: Axes, left: float, top: float, wide: float, boxes: list, high: float) -> None:
    """Draw a matrix as an outline, and the boxes of it that are held."""
    ax.add_patch(Rectangle((left, top), wide, high, facecolor=PAPER["paper"], edgecolor=GREY, linewidth=0.8))
    for x0, y0, x1, y1 in boxes:
        ax.add_patch(Rectangle((left + wide * x0, top + high * y0), wide * (x1 - x0), high * (y1 - y0), facecolor=GREY))


def draw_time(ax: Axes, tasks: list[Task], n: int) -> None:
    """Draw a lane for each rank: bars where it computes, and threads from wire to wire where it sends."""
    whole = 1000 * max(task.end for task in tasks)
    for rank in range(n):
        ax.add_patch(Rectangle((0, rank - 0.08), whole, HIGH + 0.34, facecolor=PAPER["slab"], zorder=0))
        ax.plot([0, whole], [rank + WIRE] * 2, color=PAPER["thread"], linewidth=0.8, zorder=1)
    for task in tasks:
        if task.computes:
            draw_bar(ax, task, whole)
        else:
            draw_messages(ax, task)
    ax.set(ylim=(n - 0.1, -0.4), xlabel="milliseconds", xlim=(0, whole))
    ax.set_yticks([rank + HIGH / 2 for rank in range(n)], [f"rank {rank}" for rank in range(n)], color=INK)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def draw_bar(ax: Axes, task: Task, whole: float) -> None:
    """Draw what a rank computes as a bar, full forward and pale with an edge backward, named where there is room."""
    start, wide, rank = 1000 * task.start, 1000 * task.seconds, task.ranks[0]
    forward = task.kind == FORWARD
    bar = ax.broken_barh([(start, wide)], (rank, HIGH), facecolor=GREY if forward else PALE, zorder=BARS)
    bar.set(edgecolor=PAPER["slab"] if forward else GREY, linewidth=0.8)
    if wide > 0.055 * whole:
        name, colour = task.name.split("@")[0].split(" ")[0], PAPER["paper"] if forward else INK
        ax.text(start + wide / 2, rank + HIGH / 2, name, color=colour, size=8, ha="center", va="center", zorder=BARS)


def draw_messages(ax: Axes, task: Task) -> None:
    """Draw the wires of those who send in amber, and a thread for each message; in a ring, one to the next rank."""
    for rank in task.ranks:
        ax.broken_barh([(1000 * task.start, 1000 * task.seconds)], (rank + WIRE - 0.02, 0.04), facecolor=PAPER["amber"])
    pairs = [task.ranks] if task.kind == "send" else [(rank, (rank + 1) % len(task.ranks)) for rank in task.ranks]
    seconds = task.seconds / task.rounds
    for i in range(task.rounds):
        for sender, receiver in pairs:
            time = 1000 * (task.start + (i + CURVE) * seconds)
            height = eased(sender, receiver, CURVE) + WIRE
            back = task.kind != "send" and sender > receiver  # around the ring, across all lanes
            ax.plot(time, height, color=PAPER["amber-edge"], linewidth=0.8, alpha=0.45 if back else 1, zorder=2)
