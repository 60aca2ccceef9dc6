"""The cache where no script runs: the shelf of a laptop that it fills, to scale; below it the bytes and the work."""

from math import ceil
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Polygon, Rectangle

from transformer_lab.analysis import DecoderSize, cache_bytes, flops_with_cache, flops_without_cache
from transformer_lab.plots.charts import Series, draw_curves, powers_of_ten
from transformer_lab.plots.picture import GREY, INK, MEANINGS, PAPER, PIXELS, THEME

LAPTOP, BOARDS = 16e9, 8  # bytes of its memory, and the boards of its shelf, with as many compartments on each
ROOM = BOARDS**2
WIDE, SHELF, TOP, TALL = 950, 336, 72, 210  # in pixels of the page
UNITS = {"Bytes of the cache, by KV heads": "B", "Work for the next token": "FLOP"}


def in_units(n_bytes: int) -> str:
    """Format a number with a unit: 18874368 -> "18.9 MB"."""
    units = ("B", "kB", "MB", "GB", "TB")
    step = min((len(str(n_bytes)) - 1) // 3, len(units) - 1)
    return f"{n_bytes / 1000**step:.{2 - (len(str(n_bytes)) - 1) % 3}f} {units[step]}"


def draw_cache(size: DecoderSize, lengths: list[int], at: int) -> Figure:
    """Draw what a text of `lengths[at]` tokens takes, and the costs of a text of any length."""
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(WIDE / PIXELS, 6.46), layout="constrained")
        rows: Any = drawing.subfigures(2, 1, height_ratios=(SHELF, 310))
        above, below = rows
        draw_kept(above.subplots(), size, lengths[at])
        for ax, (title, series) in zip(below.subplots(1, 2), costs(size, lengths, at).items(), strict=True):
            draw_curves(ax, title, series, "tokens")
            ax.set(xscale="log", yscale="log", xlim=(1, lengths[-1]))
            ax.set_xticks([1, 16, 256, 4096, 65536], ["1", "16", "256", "4,096", "65,536"])
            ticks = powers_of_ten([y for one in series for y in one.ys], UNITS[title])
            ax.set_yticks([value for value, _ in ticks], [text for _, text in ticks])
            ax.minorticks_off()
    return drawing


def costs(size: DecoderSize, lengths: list[int], at: int) -> dict[str, list[Series]]:
    """The curves of both charts."""
    names = {size.n_heads: "MHA", 1: "MQA"}
    heads = [size.n_kv_heads, *(kv for kv in names if kv != size.n_kv_heads)]
    kept = []
    for i, kv in enumerate(heads):
        values = [cache_bytes(size, n) * kv // size.n_kv_heads for n in lengths]
        kept.append(Series(f"{kv} {names.get(kv, 'GQA')}", lengths, values, PAPER["thread"] if i else INK, i, at))
    work = [
        Series("with cache", lengths, [flops_with_cache(size, n) for n in lengths], MEANINGS["with"], 0, at),
        Series("without", lengths, [flops_without_cache(size, n) for n in lengths], MEANINGS["without"], 1, at),
    ]
    return dict(zip(UNITS, (kept, work), strict=True))


def shelves(n_bytes: float) -> list[tuple[float, float]]:
    """(capacity, full compartments) of the laptop's shelf; where less than one is full, it is opened as the next."""
    levels = [(LAPTOP, n_bytes / LAPTOP * ROOM)]
    while levels[-1][1] < 1 and len(levels) < 3:
        capacity, full = levels[-1]
        levels.append((capacity / ROOM, full * ROOM))
    return levels


def draw_kept(ax: Axes, size: DecoderSize, length: int) -> None:
    """Draw the cache on the shelf of a laptop, or of as many as it takes."""
    n_bytes = cache_bytes(size, length)
    words: dict[str, Any] = {"va": "center", "size": 10}
    ax.text(0, 12, "The cache in a laptop of 16 GB, to scale", weight="bold", **words)
    ax.text(0, 34, "■ keys", color=MEANINGS["key"], **words)
    ax.text(64, 34, "▲ values", color=MEANINGS["value"], **words)
    many = f"{size.n_layers} × {size.n_kv_heads} × 2 matrices, each of {length:,} × {size.d_head} numbers"
    ax.text(142, 34, many, **words)
    if n_bytes > LAPTOP:
        draw_laptops(ax, n_bytes / LAPTOP)
    else:
        right = draw_levels(ax, shelves(n_bytes)) + 28
        ax.text(right, TOP + TALL - 31, in_units(n_bytes), va="center", size=44, family=["serif", "sans-serif"])
        ax.text(right, TOP + TALL + 10, f"for {length:,} tokens", color=GREY, **words)
    ax.set(xlim=(-8, WIDE), ylim=(SHELF, 0), aspect="equal", anchor="W")
    ax.set_axis_off()


def draw_levels(ax: Axes, levels: list[tuple[float, float]]) -> float:
    """Draw a shelf for each level; the place where the last one ends."""
    words: dict[str, Any] = {"va": "center", "size": 10}
    left = 14.0
    for k, (capacity, full) in enumerate(levels):
        across = TALL if k else 1.5 * TALL
        draw_shelf(ax, (left, TOP, across, TALL), full)
        if not k:
            draw_foot(ax, (left, TOP, across, TALL))
        share = 100 * full / ROOM
        percent = f"{share:.2g} %" if share >= 0.1 else "under 0.1 %"
        ax.text(left, TOP + TALL + 28, in_units(int(capacity)) if k else f"16 GB: {percent}", **words)
        if k:
            ax.text(left, TOP + TALL + 44, f"{percent} full", **words)
        if k < len(levels) - 1:  # from its first compartment to the shelf that this is when it is opened
            far, wide, high = left + across + 46, across / BOARDS, TALL / BOARDS
            for start, end in ((TOP + TALL - high, TOP), (TOP + TALL, TOP + TALL)):
                ax.plot([left + wide, far], [start, end], color=GREY, linewidth=0.8, linestyle=(0, (3, 3)))
            ax.add_patch(Rectangle((left, TOP + TALL - high), wide, high, fill=False, edgecolor=INK, linewidth=1.5))
            left = far
    return left + across


def draw_laptops(ax: Axes, laptops: float) -> None:
    """Draw as many laptops as the cache needs, 60 at most, the last one filled as far as it is."""
    shown = min(ceil(laptops), 60)
    rows = 1 if shown <= 4 else 2 if shown <= 20 else 3
    across = ceil(shown / rows)
    room = min((WIDE - 28) / across, 2 * TALL / rows)
    wide, tall = room * 0.72, min(room * 0.48, TALL / rows - 24)
    for i in range(shown):
        box = 14 + (i % across) * room, TOP + i // across * ((TALL + 36) / rows), wide, tall
        draw_shelf(ax, box, ROOM * min(1.0, laptops - i))
        if rows < 3:
            draw_foot(ax, box)
    more = f", {shown} of them drawn" if shown < laptops else ""
    said = f"{laptops:.1f}" if laptops < 10 else f"{laptops:,.0f}"
    ax.text(14, TOP + TALL + 46, f"It takes {said} such laptops{more}.", weight="bold", va="center", size=10)


def draw_shelf(ax: Axes, box: tuple[float, float, float, float], full: float) -> None:
    """Draw a shelf whose compartments are filled from its lowest board up, each from left to right."""
    left, top, across, tall = box
    wide, high = across / BOARDS, tall / BOARDS
    gap = 2 if high > 6 else 0
    ax.add_patch(Rectangle((left, top), across, tall, facecolor=PAPER["slab"]))
    for i in range(1, BOARDS if gap else 0):
        ax.plot([left, left + across], [top + i * high] * 2, color=PAPER["line"], linewidth=0.8)
        ax.plot([left + i * wide] * 2, [top, top + tall], color=PAPER["line"], linewidth=0.8)
    each = 1 if gap else BOARDS  # where they can't be told apart, a board is drawn at once
    for i in range(0, ceil(full), each):
        x, y = left + i % BOARDS * wide + gap / 2, top + tall - (i // BOARDS + 1) * high + gap / 2
        filled = (wide - gap) * min(each, full - i), (high - gap) / 2
        ax.add_patch(Rectangle((x, y), *filled, facecolor=MEANINGS["value"]))
        ax.add_patch(Rectangle((x, y + filled[1]), *filled, facecolor=MEANINGS["key"]))
    outline = FancyBboxPatch((left - 1, top - 1), across + 2, tall + 2, "round,pad=0,rounding_size=4")
    outline.set(facecolor="none", edgecolor=INK, linewidth=1.5)
    ax.add_patch(outline)


def draw_foot(ax: Axes, box: tuple[float, float, float, float]) -> None:
    """Draw what makes a shelf a laptop."""
    left, top, across, tall = box
    edges = [(left - 2, 4), (left + across + 2, 4), (left + across + 12, 16), (left - 12, 16)]
    corners = [(x, top + tall + y) for x, y in edges]
    ax.add_patch(Polygon(corners, facecolor=PAPER["slab"], edgecolor=INK, linewidth=1.5))
