"""The decoding tree where no script runs: the likeliest prefixes, their possible next tokens, and the greedy path."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import matplotlib
import torch
from matplotlib.axes import Axes
from torch import Tensor

from transformer_lab.plots import figure
from transformer_lab.plots.checks import Tokens, label
from transformer_lab.plots.picture import COLOURS, GREY, INK, THEME

DEEPEST, GROWN, FOLLOWED = 3, 3, 3  # levels; beginnings of a level that are followed, and their tokens
WIDTH, HEIGHT = 6.8, 0.36  # of the figure in inches, and of a row in it
Point = tuple[int | float, int | float]


@dataclass
class Node:
    """A prefix: its last token, its log probability, and the row of the table for the token that follows."""

    name: str
    total: float
    row: int | None
    greedy: bool
    children: list["Node"] = field(default_factory=list)
    place: float = 0.0  # from top to bottom


def tree(ids: Tensor, log_probs: Tensor, tokens: Tokens, eos_id: int) -> Axes:
    """Draw the tree of a table, with the probability of each prefix beside its last token."""
    root = grown(ids, log_probs, tokens, eos_id)
    rows = placed(root, 0)
    with matplotlib.rc_context(THEME):
        ax = figure(WIDTH, 0.4 + HEIGHT * rows)[1]
        ax.set(xlim=(-0.15, depth_of(root) + 0.45), ylim=(rows - 0.5, -0.5))
        ax.set_axis_off()
        draw(ax, root, 0)
    return ax


def grown(ids: Tensor, log_probs: Tensor, tokens: Tokens, eos_id: int) -> Node:
    going_on = (ids != eos_id) & (log_probs > -torch.inf)
    firsts = (1 + going_on.flatten().cumsum(0) - going_on.flatten().int()).view_as(ids)  # where each extension stands
    root = Node("begin", 0.0, 0, True)
    level = [root]
    for _ in range(DEEPEST):
        for node in level:
            for i in range(min(FOLLOWED, ids.size(1))) if node.row is not None and node.row < len(ids) else ():
                if (more := float(log_probs[node.row, i])) > -torch.inf:
                    row = int(firsts[node.row, i]) if going_on[node.row, i] else None
                    name = label(tokens[int(ids[node.row, i])])
                    node.children.append(Node(name, node.total + more, row, node.greedy and i == 0))
        following = [child for node in level for child in node.children]
        best = sorted(following, key=lambda one: (not one.greedy, -one.total))[:GROWN]
        level = [child for child in following if child in best]
    return root


def placed(node: Node, start: int) -> int:
    """Place each node, parents in the middle of their children; returns the first free row."""
    if not node.children:
        node.place = start
        return start + 1
    for child in node.children:
        start = placed(child, start)
    node.place = (node.children[0].place + node.children[-1].place) / 2
    return start


def depth_of(node: Node) -> int:
    return max((1 + depth_of(child) for child in node.children), default=0)


def draw(ax: Axes, node: Node, depth: int) -> None:
    for child in node.children:
        x, y = zip(*joined((depth, node.place), (depth + 1, child.place)), strict=True)
        ax.plot(x, y, color=COLOURS[0] if child.greedy else GREY, linewidth=2.4 if child.greedy else 0.9)
        draw(ax, child, depth + 1)
    words = f"{node.name}  {math.exp(node.total):.2f}" if depth else node.name
    edge, fill, ink = (COLOURS[0], COLOURS[0], "white") if node.greedy else (GREY, "white", INK)
    box = {"boxstyle": "round,pad=0.35", "facecolor": fill, "edgecolor": edge}
    weight = "bold" if node.greedy else "normal"
    ax.text(depth, node.place, words, ha="center", va="center", color=ink, weight=weight, bbox=box, parse_math=False)


def joined(start: Point, end: Point) -> Iterator[Point]:
    """A curve that is horizontal at both ends."""
    for step in range(21):
        t = step / 20
        yield start[0] + (end[0] - start[0]) * t, start[1] + (end[1] - start[1]) * t * t * (3 - 2 * t)
