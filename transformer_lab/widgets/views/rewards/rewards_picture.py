"""The picture of a step of a training by rewards: its group of answers, and the shares of all steps.

As in the page, each answer is a thread, as thick as the answer is probable before and after the step, that ends at a
door of the verifier: the main one for what is right, the side door for what is rewarded though it is wrong.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from transformer_lab.plots import plot_lines
from transformer_lab.plots.picture import GREY, INK, PAPER, THEME, eased

SHARES = {"rewarded": "rewarded", "right": "right", "worked": "worked out", "formed": "well formed"}
LOOKS = {"rewarded": "amber-edge", "right": "ink", "worked out": "thread", "well formed": "edge"}
FROM, TO, DOOR, WIDTH = 3.0, 4.4, 6.0, 1.5  # where threads begin, have changed and end; how wide a door is
THICKEST, GAP = 0.72, 0.3  # rows that a certain answer takes, and rows between two doors
CURVE = np.linspace(0, 1, 21)


def draw_rewards(steps: Sequence[Mapping[str, Any]], at: int) -> Figure:
    """Draw the answers of a step and how their probabilities moved; beside them, the shares of all steps."""
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(9.6, 4.2), layout="constrained")
        group, curves = drawing.subplots(1, 2, width_ratios=[1.45, 1])
        draw_group(group, steps[at])
    xs = range(1, len(steps) + 1)
    series = {name: [step[key] for step in steps] for key, name in SHARES.items()}
    plot_lines(xs, series, curves, x_label="step", y_label="share of all answers")
    for line, name in zip(curves.lines, series, strict=True):
        line.set_color(PAPER[LOOKS[name]])
    low = np.minimum(series["right"], series["rewarded"])
    curves.fill_between(xs, low, series["rewarded"], color=PAPER["amber"], alpha=0.4, linewidth=0, zorder=0)
    curves.legend()
    curves.axvline(at + 1, color=INK, linewidth=1)
    return drawing


def draw_group(ax: Axes, step: Mapping[str, Any]) -> None:
    """Draw each answer with its thread, and the doors."""
    n = len(step["texts"])
    ends = draw_doors(ax, step)
    for row, text in enumerate(step["texts"]):
        shown = text.replace("\n", "⏎").replace(" ", "␣")
        right, weight = ("✓", "bold") if step["exact"][row] else ("✗", "normal")
        words = ax.text(0, row - 0.16, shown, ha="left", va="center", parse_math=False, weight=weight)
        words.set_fontfamily(["serif", "sans-serif"])
        colour = INK if right == "✓" else PAPER["change"]
        ax.text(FROM - 0.2, row - 0.16, right, ha="right", va="center", color=colour, weight="bold")
        before, after = math.exp(step["before"][row]), math.exp(step["after"][row])
        ax.text(0, row + 0.22, f"{before:.3g} → {after:.3g}", ha="left", va="center", color=GREY, size=8)
        draw_thread(ax, (row, ends[row]), (before, after), bool(step["rewards"][row]))
    ax.set(xlim=(-0.1, DOOR + WIDTH + 0.1), ylim=(n - 0.4, -0.7))
    ax.set_title(f"{step['problem']} = ?", loc="left", weight="bold", family=["serif", "sans-serif"])
    ax.set_axis_off()


def draw_thread(ax: Axes, ends: tuple[float, float], chances: tuple[float, float], rewarded: bool) -> None:
    """Draw a thread from its row, where it gets as thick as the answer becomes probable, to its place at a door."""
    thin, thick = (THICKEST * chance for chance in chances)
    x = np.concatenate([FROM + (TO - FROM) * CURVE, TO + (DOOR - TO) * CURVE])
    middle = np.concatenate([np.full_like(CURVE, ends[0]), eased(*ends, CURVE)])
    half = np.concatenate([eased(thin, thick, CURVE), np.full_like(CURVE, thick)]) / 2
    face, edge = ("amber", "amber-edge") if rewarded else ("line", "edge")
    ax.fill_between(x, middle - half, middle + half, facecolor=PAPER[face], edgecolor=PAPER[edge], linewidth=1)
    for sign in (-1, 1):
        ax.plot([FROM, TO], [ends[0] + sign * thin / 2] * 2, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))


def draw_doors(ax: Axes, step: Mapping[str, Any]) -> dict[int, float]:
    """Draw each door as high as it has answers, and return where each answer's thread ends."""
    doors: dict[str, list[int]] = {"✓ right": [], "✗ side door": [], "no reward": []}
    for i, (reward, exact) in enumerate(zip(step["rewards"], step["exact"], strict=True)):
        doors["no reward" if not reward else "✓ right" if exact else "✗ side door"].append(i)
    n, used = len(step["rewards"]), sum(bool(inside) for inside in doors.values())
    slot = (n - (used - 1) * GAP) / n
    top = -0.5
    ends: dict[int, float] = {}
    for name, inside in doors.items():
        if not inside:
            continue
        high = slot * len(inside)
        face, edge = {"✓ right": ("slab", "ink"), "no reward": ("slab", "edge")}.get(name, ("amber", "change"))
        round_ends = f"round,pad=0,rounding_size={min(0.25, high / 3)}"
        door = FancyBboxPatch((DOOR, top), WIDTH, high, boxstyle=round_ends, facecolor=PAPER[face])
        door.set(edgecolor=PAPER[edge], linewidth=1.8, linestyle="--" if edge == "change" else "-")
        ax.add_patch(door)
        said = f"{name}\n{len(inside)} of {n}"
        ax.text(DOOR + WIDTH / 2, top + high / 2, said, ha="center", va="center", size=9, color=INK)
        ends |= {i: top + (k + 0.5) * slot for k, i in enumerate(inside)}
        top += high + GAP
    return ends
