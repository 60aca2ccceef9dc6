"""The machine as a picture: the paper's Figure 1 with the matrices of one translation in place."""

from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

from transformer_lab.analysis import token_names
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.decoding.inference import inference
from transformer_lab.nn.recording import record_attention
from transformer_lab.nn.transformer import Transformer
from transformer_lab.plots.picture import GREY, INK, THEME

COLUMN, GAP, PAD = 3.5, 0.7, 0.1  # inches
HEIGHTS = {"embedding": 1.1, "attention": 1.0, "feed": 0.55, "residual": 0.55, "output": 1.1}
HUES = {"embedding": "#cc79a7", "attention": "#e69f00", "feed": "#0072b2", "residual": "#566473", "output": "#009e73"}


def drawn(model: Transformer, tokenizer: Tokenizer, source: Tensor, target: Tensor) -> Figure:
    """Draw the encoder on the left and the decoder on the right, both from the bottom up."""
    written, maps, probabilities = recorded(model, source, target[:, :-1])
    names = [token_names(tokenizer, ids[0].tolist()) for ids in (source, target)]
    stacks = [stack_of(model, side) for side in ("encoder", "decoder")]
    height = sum(HEIGHTS[kind] + PAD for kind, *_ in stacks[1]) + 0.3
    with matplotlib.rc_context(THEME):
        figure = Figure(figsize=(2 * COLUMN + GAP, height))
        tops = []
        for column, (stack, tokens) in enumerate(zip(stacks, (names[0], names[1][:-1]), strict=True)):
            y = 0.0
            for kind, title, name in stack:
                box = [1.0 * column * (COLUMN + GAP), y, COLUMN, HEIGHTS[kind]]
                frame(figure, box, kind, title)
                if kind == "output":
                    bars(figure, box, probabilities, names[1], tokenizer)
                elif kind == "attention":
                    heads(figure, box, maps[name][0])
                else:
                    matrix(figure, box, written[name][0], tokens if kind == "embedding" else None)
                y += HEIGHTS[kind] + PAD
            tops.append(y - PAD)
        memory(figure, tops[0], [i for i, box in enumerate(stacks[1]) if "cross" in box[1]], stacks[1])
    return figure


def recorded(model: Transformer, source: Tensor, fed: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor], Tensor]:
    """The output of each module, the weights of the attentions, and the probabilities (T, vocab)."""
    written: dict[str, Tensor] = {}
    hooks = [
        module.register_forward_hook(lambda module, args, out, name=name: written.__setitem__(name, out))
        for name, module in model.named_modules()
        if name.endswith(("_embedding", "feed_forward", "residual_1", "residual_2", "residual_3"))
    ]
    with inference(model), record_attention(model) as maps:
        probabilities = model(source, fed)[0].softmax(-1)
    for hook in hooks:
        hook.remove()
    return written, maps, probabilities


def stack_of(model: Transformer, side: str) -> list[tuple[str, str, str]]:
    """The boxes of a stack from the bottom up: for each its kind, its title, and the module whose matrix is shown."""
    decoder = side == "decoder"
    boxes = [
        ("embedding", *(("output embedding", "tgt_embedding") if decoder else ("input embedding", "src_embedding")))
    ]
    for layer in range(model.config.n_layers):
        at = f"{side}.layers.{layer}"
        subs = [("attention", "masked self-attention" if decoder else "self-attention", f"{at}.self_attention")]
        subs += [("attention", "cross-attention", f"{at}.cross_attention")] * decoder
        subs += [("feed", "feed-forward", f"{at}.feed_forward")]
        for i, (kind, title, name) in enumerate(subs, start=1):
            boxes += [(kind, f"{title}, layer {layer}", name), ("residual", "add & norm", f"{at}.residual_{i}")]
    return boxes + [("output", "linear & softmax", "")] * decoder


def placed(figure: Figure, x: float, y: float, width: float, height: float) -> Axes:
    """Axes at a position in inches from the lower left corner."""
    across, up = figure.get_size_inches()
    ax = figure.add_axes((x / across, y / up, width / across, height / up))
    ax.set_axis_off()
    return ax


def frame(figure: Figure, box: list[float], kind: str, title: str) -> None:
    x, y, width, height = box
    ax = placed(figure, x, y, width, height)
    ax.set(xlim=(0, width), ylim=(0, height))
    style = "round,pad=0,rounding_size=0.05"
    ax.add_patch(
        FancyBboxPatch((0.01, 0.01), width - 0.02, height - 0.02, style, facecolor="#fbfcfd", edgecolor="#a3afbb")
    )
    ax.plot([0.03, 0.03], [0.06, height - 0.06], color=HUES[kind], linewidth=4, solid_capstyle="butt")
    ax.text(0.13, height - 0.06, title, fontsize=8, va="top", color=INK)


def matrix(figure: Figure, box: list[float], values: Tensor, tokens: list[str] | None) -> None:
    """Draw a matrix with a row for each token, red below 0 and blue above."""
    x, y, width, height = box
    left = 0.75 if tokens else 0.13
    ax = placed(figure, x + left, y + 0.07, width - left - 0.1, height - 0.3)
    limit = 2.5 * values.square().mean().sqrt().item() or 1.0
    ax.imshow(values.numpy(), cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    for t, token in enumerate(tokens or []):
        size = min(7.0, 60 / len(tokens or []))
        ax.text(-2, t, token, fontsize=size, ha="right", va="center", color=INK, parse_math=False)


def heads(figure: Figure, box: list[float], weights: Tensor) -> None:
    """Draw the map of each head."""
    x, y, width, height = box
    each = (width - 0.23) / len(weights)
    for head, map_ in enumerate(weights):
        ax = placed(figure, x + 0.13 + head * each, y + 0.07, each - 0.08, height - 0.3)
        ax.imshow(map_.numpy(), cmap="cividis", vmin=0, vmax=1, aspect="auto", interpolation="nearest")


def bars(figure: Figure, box: list[float], probabilities: Tensor, names: list[str], tokenizer: Tokenizer) -> None:
    """Draw the probability of each token that was written, with its name."""
    x, y, width, height = box
    ax = placed(figure, x + 0.13, y + 0.25, width - 0.23, height - 0.52)
    chosen = probabilities.amax(-1)
    ax.bar(range(len(chosen)), chosen.tolist(), color=HUES["output"], width=0.7)
    ax.set(ylim=(0, 1), xlim=(-0.6, len(chosen) - 0.4))
    for t, token in enumerate(names[1:]):
        size = min(7.0, 60 / len(chosen))
        ax.text(t, -0.08, token, fontsize=size, ha="center", va="top", color=INK, parse_math=False)


def memory(figure: Figure, top: float, cross: list[int], stack: list[tuple[str, str, str]]) -> None:
    """Draw the arrow from the top of the encoder to each cross-attention."""
    across, up = figure.get_size_inches()
    ax = placed(figure, 0.0, 0.0, across, up)
    ax.set(xlim=(0, across), ylim=(0, up))
    line: dict[str, Any] = {"color": GREY, "linewidth": 1.2}
    middle = COLUMN + GAP / 2
    heights = [sum(HEIGHTS[kind] + PAD for kind, *_ in stack[:i]) + HEIGHTS["attention"] / 2 for i in cross]
    ax.plot([COLUMN / 2, COLUMN / 2, middle, middle], [top, top + 0.15, top + 0.15, heights[0]], **line)
    ax.plot([middle, middle], [heights[0], max(heights)], **line)
    for height in heights:
        ax.annotate("", (COLUMN + GAP, height), (middle, height), arrowprops={"arrowstyle": "-|>", **line})
    ax.text(COLUMN / 2 + 0.08, top + 0.2, "memory", fontsize=8, color=INK, style="italic")
