"""The decoding tree where no script runs, at the step at which the view opens: the greedy path, and what it passed by.

As in the page, a branch is as wide as all its tokens together are probable.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import matplotlib
import torch
from matplotlib.axes import Axes
from torch import Tensor

from transformer_lab.plots import figure
from transformer_lab.plots.checks import Tokens, label
from transformer_lab.plots.picture import INK, PAPER, THEME

OPENING, SHOWN = 3, 4  # the step, where the sentence goes on behind it; tokens of a step
WIDTH, HEIGHT = 6.8, 0.46  # of the figure in inches, and of a row in it
TRUNK, THIN = 0.8, 0.45  # of a row, how wide a certain branch is; one that is less wide has its word above it
Point = tuple[int | float, int | float]


@dataclass
class Node:
    """A prefix: its last token, its log probability, and its place from top to bottom, where the greedy path is 0."""

    name: str
    total: float
    place: int = 0
    children: list["Node"] = field(default_factory=list)


def tree(ids: Tensor, log_probs: Tensor, tokens: Tokens, eos_id: int) -> Axes:
    """Draw the tree of a table, with the probability of each prefix beside its last token."""
    root = grown(ids, log_probs, tokens, eos_id)
    rows = min(SHOWN, ids.size(1))
    with matplotlib.rc_context(THEME):
        ax = figure(WIDTH, 0.4 + HEIGHT * rows)[1]
        ax.set(xlim=(-0.15, depth_of(root) + 0.45), ylim=(rows - 0.5, -0.5))
        ax.set_axis_off()
        draw(ax, root, 0)
    return ax


def grown(ids: Tensor, log_probs: Tensor, tokens: Tokens, eos_id: int) -> Node:
    path = greedy_rows(ids, log_probs, eos_id)
    root = node = Node("begin", 0.0)
    for row in path[: min(max(len(path) - 1, 1), OPENING)]:
        for i in range(min(SHOWN, ids.size(1))):
            if (more := float(log_probs[row, i])) > -torch.inf:
                node.children.append(Node(label(tokens[int(ids[row, i])]), node.total + more, i))
        node = node.children[0]
    return root


def greedy_rows(ids: Tensor, log_probs: Tensor, eos_id: int) -> list[int]:
    """The rows of the table that greedy choice reads, one for each step."""
    going_on = (ids != eos_id) & (log_probs > -torch.inf)
    firsts = (1 + going_on.flatten().cumsum(0) - going_on.flatten().int()).view_as(ids)  # where each extension stands
    rows = [0]
    while ids[rows[-1], 0] != eos_id and firsts[rows[-1], 0] < len(ids):
        rows.append(int(firsts[rows[-1], 0]))
    return rows


def depth_of(node: Node) -> int:
    return max((1 + depth_of(child) for child in node.children), default=0)


def draw(ax: Axes, node: Node, depth: int) -> None:
    """The branches that leave a node, one below the other, and the node itself with its word."""
    wide = TRUNK * math.exp(node.total)
    top = node.place - wide / 2
    for child in node.children:
        branch = TRUNK * math.exp(child.total)
        ends = (depth + 0.12, top + branch / 2), (depth + 0.55, child.place)
        x, y = map(list, zip(*joined(*ends), strict=True))
        x, y = [*x, depth + 1.12], [*y, child.place]  # straight below its word
        is_greedy = child.place == 0
        edge = PAPER["amber-edge" if is_greedy else "thread"]
        below, above = ([height + side * branch / 2 for height in y] for side in (-1, 1))
        ax.fill_between(x, below, above, color=PAPER["amber"] if is_greedy else "none", linewidth=0)
        for one in (below, above):
            ax.plot(x, one, color=edge, linewidth=0.8, linestyle="-" if is_greedy else (0, (3, 2)))
        draw(ax, child, depth + 1)
        top += branch
    if depth:
        up = 0 if wide >= THIN else wide / 2 + 0.24
        weight = "normal" if node.place else "bold"
        words = f"{node.name}  {math.exp(node.total):.2f}"
        said = ax.text(depth - 0.16, node.place - up, words, ha="center", va="center", color=INK, parse_math=False)
        said.set(weight=weight, family=["serif", "sans-serif"])
    else:
        ax.fill_between([-0.06, 0.12], -wide / 2 + node.place, wide / 2 + node.place, color=PAPER["amber"], linewidth=0)


def joined(start: Point, end: Point) -> Iterator[Point]:
    """A curve that is horizontal at both ends."""
    for step in range(21):
        t = step / 20
        yield start[0] + (end[0] - start[0]) * t, start[1] + (end[1] - start[1]) * t * t * (3 - 2 * t)
