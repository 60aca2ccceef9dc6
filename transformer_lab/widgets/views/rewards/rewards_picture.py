"""The picture of a step of a training by rewards: its group of answers, and the shares of all steps."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_lab.plots import plot_lines
from transformer_lab.plots.picture import COLOURS, INK, THEME

SHARES = {"rewarded": "rewarded", "right": "right", "worked": "worked out", "formed": "well formed"}


def draw_rewards(steps: Sequence[Mapping[str, Any]], at: int) -> Figure:
    """Draw the answers of a step and how their probabilities moved; beside them, the shares of all steps."""
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(9.6, 3.8), layout="constrained")
        group, curves = drawing.subplots(1, 2)
        draw_group(group, steps[at])
    series = {name: [step[key] for step in steps] for key, name in SHARES.items()}
    plot_lines(range(1, len(steps) + 1), series, curves, x_label="step", y_label="share of all answers")
    curves.axvline(at + 1, color=INK, linewidth=1)
    return drawing


def draw_group(ax: Axes, step: Mapping[str, Any]) -> None:
    """Draw a line for each answer, from its probability before the step to that after it."""
    for row, (before, after) in enumerate(zip(step["before"], step["after"], strict=True)):
        colour = COLOURS[0] if after >= before else COLOURS[1]
        ends = [math.exp(before), math.exp(after)]
        ax.plot(ends, [row, row], color=colour)
        ax.plot(ends[:1], [row], "o", color=colour, markerfacecolor="white")
        ax.plot(ends[1:], [row], ">" if after >= before else "<", color=colour)
    marks = ["✓" if reward else "✗" for reward in step["rewards"]]
    texts = [text.replace("\n", "⏎").replace(" ", "␣") for text in step["texts"]]
    wrong = [" (wrong)" if reward and not exact else ""
             for reward, exact in zip(step["rewards"], step["exact"], strict=True)]  # fmt: skip
    labels = [f"{text} {mark}{note}" for text, mark, note in zip(texts, marks, wrong, strict=True)]
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set(xlabel="probability, before (○) and after the step", title=f"answers to {step['problem']}")
