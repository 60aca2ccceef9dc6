"""The picture of the tiles: a large pale sheet of scores, a small bright desk with a tile, and both to scale.

As in the page, the walk is in its middle: some tiles have been read, and the sums of one row are mended.
"""

from itertools import product
from math import sqrt

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from torch import Tensor

from transformer_lab.analysis import tile_bytes
from transformer_lab.plots.picture import COLOURS, GREY, INK, PAPER, THEME
from transformer_lab.widgets.views.cache.cache_picture import in_units

SIDE, GAP = 6.0, 3.4  # of the square of all scores, and from the sheet to the desk, in scores
Names = list[str]
Colour = tuple[float, float, float]
Tile = tuple[range, range]  # its queries and its keys
HERE, READ, COMING = 1, 0.42, 0.17  # how much of its colour a score has on the sheet (as in tiles_picture.js)


def draw_tiles(
    scores: Tensor, names: tuple[Names, Names], *, tile: int, d_head: int, causal: bool, text: int
) -> Figure:
    """Draw the sheet cut into tiles, one of them on the desk with what its queries remember; both to scale."""
    (T, S), (rows, columns) = scores.shape, names
    walk = walk_of((T, S), tile, causal)
    step = amid(walk)
    here, keys = walk[step]
    seen = torch.full((T, S), True, device="cpu")
    seen = seen.tril() if causal else seen
    with matplotlib.rc_context(THEME | {"hatch.color": PAPER["edge"]}):
        drawing = Figure(figsize=(9.5, 3.8), layout="constrained")
        ax = drawing.subplots()
        draw_sheet(ax, scores, names, walk, step, causal)
        left, wide = S + GAP, len(keys)
        draw_desk(ax, left, len(here), wide + 5.2, tile_bytes(tile, d_head))
        for y, t in enumerate(here):
            write_name(ax, left - 0.2, y, "●", rows[t], COLOURS[0])
            for x, s in enumerate(keys):
                draw_score(ax, left + x, y, scores[t, s].item() if seen[t, s] else None, scores.abs().max().item())
            draw_memory(ax, left + wide, y, [scores[t, :n][seen[t, :n]] for n in (keys.start, keys.stop)])
        for x, s in enumerate(keys):
            write_name(ax, left + x + 0.5, -0.5, "■", columns[s], COLOURS[1], above=True)
        draw_scale(ax, left + wide + 6.2, tile_bytes(tile, d_head), text)
        ax.set(xlim=(-2, left + wide + 6.4 + SIDE), ylim=(max(T, SIDE + 0.8) + 0.6, -2.4), aspect="equal")
        ax.set_axis_off()
    return drawing


def walk_of(size: tuple[int, int], tile: int, causal: bool) -> list[Tile]:
    """The tiles in the order of the walk, those of the future left out."""
    rows, columns = ([range(n)[i : i + tile] for i in range(0, n, tile)] for n in size)
    return [(here, keys) for here in rows for keys in columns if not causal or keys.start < here.stop]


def amid(walk: list[Tile]) -> int:
    """In the middle of a walk the first tile before which one of its row was read: there are sums to be mended."""
    return next((i for i in range(len(walk) // 2, len(walk)) if walk[i][1].start), 0)


def draw_sheet(ax: Axes, scores: Tensor, names: tuple[Names, Names], walk: list[Tile], step: int, causal: bool) -> None:
    """Draw the pale sheet: its scores, hatched where the future is, ticked where they were read, and the window."""
    T, S = scores.shape
    ax.add_patch(Rectangle((0, 0), S, T, facecolor=PAPER["slab"], linewidth=0))
    for t in range(T if causal else 0):
        ax.add_patch(Rectangle((t + 1, t), S - t - 1, 1, fill=False, hatch="////", linewidth=0))
    for i, tile in enumerate(walk):
        draw_tile(ax, scores, tile, HERE if i == step else READ if i < step else COMING, causal)
    for t, name in enumerate(names[0]):
        ax.text(-0.2, t + 0.5, brief(name), ha="right", va="center", family="serif", size=9, parse_math=False)
    for s, key in enumerate(names[1]):
        written = ax.text(s + 0.5, -0.2, brief(key), ha="left", va="center", family="serif", size=9, parse_math=False)
        written.set(rotation=90, rotation_mode="anchor")
    rows, keys = walk[step]
    for y, end in ((rows.start, 0), (rows.stop, len(rows))):
        ax.plot([keys.stop, S + GAP - 2.2], [y, end], color=INK, linewidth=0.8)


def draw_tile(ax: Axes, scores: Tensor, tile: Tile, strength: float, causal: bool) -> None:
    """Draw a tile of the sheet, with so much of the colours of those scores that are not of the future."""
    here, keys = tile
    for t, s in product(here, keys):
        if not causal or s <= t:
            colour = mixed(colour_of(scores[t, s].item(), scores.abs().max().item()), strength)
            ax.add_patch(Rectangle((s, t), 1, 1, facecolor=colour, linewidth=0, gid="score"))
    box = ax.add_patch(Rectangle((keys.start, here.start), len(keys), len(here), fill=False, linewidth=0.8))
    box.set_edgecolor(PAPER["edge"])
    if strength == HERE:
        box.set(edgecolor=INK, linewidth=2.5, zorder=2)
    if strength == READ:
        ax.text(keys.start + len(keys) / 2, here.start + len(here) / 2, "✓", ha="center", va="center", color=GREY)


def colour_of(score: float, most: float) -> Colour:
    """Red below 0 and blue above."""
    return to_rgb(matplotlib.colormaps["RdBu"](0.5 + score / (most or 1) / 2))


def mixed(colour: Colour, share: float) -> Colour:
    """Paper with a share of a colour."""
    red, green, blue = (c + (part - c) * share for c, part in zip(to_rgb(PAPER["paper"]), colour, strict=True))
    return red, green, blue


def draw_desk(ax: Axes, left: float, rows: int, wide: float, bytes_: int) -> None:
    """Draw the desk, and how many bytes lie on it."""
    box = FancyBboxPatch(
        (left - 2.1, -1.9), wide + 2.0, rows + 3.2, boxstyle="round,pad=0,rounding_size=0.3", linewidth=2
    )
    box.set(facecolor=PAPER["paper"], edgecolor=INK)
    ax.add_patch(box)
    ax.text(left - 1.8, -1.35, "The desk: fast memory", weight="bold", va="center")
    ax.text(left - 1.8, rows + 0.75, f"{bytes_:,} bytes, for any length of text", weight="bold", va="center")


def write_name(ax: Axes, x: float, y: float, mark: str, name: str, colour: str, above: bool = False) -> None:
    """Write the name of a query or a key beside its mark."""
    if above:
        ax.plot([x - 0.38], [y + 0.15], marker="s", color=colour, markersize=4)
        ax.text(x - 0.22, y + 0.15, brief(name, 3), ha="left", va="center", family="serif", size=9, parse_math=False)
        return
    ax.plot([x - 1.55], [y + 0.5], marker="o", color=colour, markersize=5)
    ax.text(x, y + 0.5, brief(name, 5), ha="right", va="center", family="serif", size=9, parse_math=False)


def draw_score(ax: Axes, x: float, y: float, score: float | None, most: float) -> None:
    """Draw a score on the desk, red below 0 and blue above; hatched if it is of the future."""
    if score is None:
        ax.add_patch(Rectangle((x, y), 0.97, 0.97, fill=False, hatch="////", linewidth=0))
        return
    colour = colour_of(score, most)
    ax.add_patch(Rectangle((x, y), 0.97, 0.97, facecolor=colour, linewidth=0))
    light = sum(part * share for part, share in zip(colour, (0.3, 0.59, 0.11), strict=True)) > 0.5
    text = f"{score:.2f}".replace("-", "−")
    ax.text(x + 0.48, y + 0.5, text, ha="center", va="center", size=7, color="black" if light else "white")


def draw_memory(ax: Axes, x: float, y: float, seen: list[Tensor]) -> None:
    """Write what a query remembers, of the scores that it had seen before this tile and of those that it has seen.

    The largest score, the sum of exponentials measured from it, and the factor by which that sum was mended.
    """
    before, now = (torch.cat([torch.tensor([-torch.inf], device="cpu"), one]) for one in seen)
    if now.max() == -torch.inf:
        return
    numbers = (now.max().item(), (now - now.max()).exp().sum().item(), (before.max() - now.max()).exp().item())
    for name, number, at in zip(("m", "ℓ", "×"), numbers, (1.5, 3.0, 4.5), strict=True):
        if y == 0:
            ax.text(x + at, -0.35, name, ha="right", va="center", color=GREY, style="italic")
        ax.text(x + at, y + 0.5, f"{number:.2f}".replace("-", "−"), ha="right", va="center", size=9)


def draw_scale(ax: Axes, left: float, desk: int, text: int) -> None:
    """Draw all scores of a long text and the desk as squares, with areas as their bytes are."""
    sheet = 4 * text**2
    unit = SIDE / sqrt(max(desk, sheet))
    ax.add_patch(Rectangle((left, 0), *[unit * sqrt(sheet)] * 2, facecolor=PAPER["slab"], edgecolor=PAPER["edge"]))
    small = max(unit * sqrt(desk), 0.05)
    ax.add_patch(Rectangle((left + 0.6, 0.6), small, small, facecolor=INK, linewidth=0))
    if small < 1:
        middle = 0.6 + small / 2
        ax.plot([left + middle], [middle], marker="o", markersize=16, fillstyle="none", color=INK, markeredgewidth=0.8)
        ax.text(left + 1.1 + small, middle, "the desk", va="center", size=9)
    ax.text(left, -0.5, f"To scale: a text of {text:,} tokens", weight="bold", va="center")
    said = f"all scores: {in_units(sheet)}; the desk: {in_units(desk)}"
    ax.text(left, SIDE + 0.5, said, va="center", color=GREY, size=9)


def brief(name: str, most: int = 8) -> str:
    """A name as there is room for it."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
