"""The style of the figures, and how a notebook shows them: as an image with a description."""

import base64
import html
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.rcsetup import cycler
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from transformer_lab.plots.dark_theme import as_address, places, svg

# Paper, ink and thread: the colours of a light page in the views, too (widgets/shared/palette.js).
PAPER = {
    "paper": "#fbfaf6",
    "slab": "#f0ede3",
    "ink": "#16202b",
    "soft": "#55606c",
    "line": "#e3dfd5",
    "edge": "#808992",
    "amber": "#e0a02e",
    "amber-edge": "#bf7c00",
    "amber-ink": "#8a5a00",
    "thread": "#6b7885",
    "change": "#a8337e",
    "query": "#0067a5",
    "key": "#b84a00",
    "value": "#007a58",
}
INK, GREY, NOTHING = PAPER["ink"], PAPER["soft"], PAPER["line"]
# Of series, in their order; the first three are query, key and value in the drawn figures.
COLOURS = tuple(PAPER[name] for name in ("query", "key", "value", "change", "amber-edge", "thread"))
# What a colour stands for wherever it is seen: `with` is the method as it is used, `without` the one that lacks a part;
# `chosen` is what was chosen by the reader or by the method, and `cursor` what is read.
MEANINGS = {
    "query": COLOURS[0],
    "key": COLOURS[1],
    "value": COLOURS[2],
    "with": COLOURS[0],
    "without": COLOURS[1],
    "chosen": INK,
    "cursor": INK,
    "change": PAPER["change"],
}
# Amounts run from paper, which is none, to amber, the most.
AMOUNTS = LinearSegmentedColormap.from_list("amounts", [PAPER["slab"], PAPER["amber"]])
# Words and numbers are set as on the pages: in Inter, whose licence lies beside widgets/static/fonts. matplotlib's own
# font has the signs that it lacks, such as arrows and Greek letters.
FONTS = sorted((Path(__file__).parent / "fonts").glob("*.ttf"))
LETTERING = ["Transformer Lab Inter", "DejaVu Sans"]
for path in FONTS:
    fontManager.addfont(path)
PIXELS, SHARPNESS = 100, 1.6  # how wide a page shows an inch, and stored pixels for each of those
THEME: dict[Any, Any] = {  # matplotlib's type for its keys is a list of all of them
    "figure.facecolor": PAPER["paper"],
    "savefig.facecolor": PAPER["paper"],
    "axes.facecolor": PAPER["paper"],
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
    "font.family": LETTERING,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=COLOURS),
    "grid.color": PAPER["line"],
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "lines.markersize": 5,
    "hatch.color": PAPER["paper"],
}


class Picture:
    """A snapshot of a figure with its alt text, as a notebook displays them: an image with a description.

    JupyterLab and nbconvert give an image/png output no `alt`, whatever its metadata says. So the output is also an
    HTML `<img>` that has one, and that follows the theme of the page; image/png remains for PDF and print, and the
    plain text is the alt text itself.
    """

    def __init__(self, figure: Figure, alt: str, sharpness: float = SHARPNESS, colours: int = 256):
        if not alt.strip():
            raise ValueError("alt must say what the figure shows (it is empty)")
        self.alt = alt
        self.png, self.size, crop = render(figure, sharpness, colours)
        self.width = round(self.size[0] / sharpness)  # pixels across, as a page shows it
        self.svg = svg(self.png, self.size, *places(figure, crop, PIXELS * sharpness))

    def __repr__(self) -> str:
        return self.alt

    def html(self) -> str:
        """The picture as an `<img>` that contains its own data."""
        return f'<img alt="{html.escape(self.alt)}" width="{self.width}" src="{as_address(self.svg)}">'

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict, dict]:
        image = base64.b64encode(self.png).decode()
        data = {"text/plain": self.alt, "text/html": self.html(), "image/png": image}
        return data, {"image/png": {"alt": self.alt, "width": self.width}}


@matplotlib.rc_context(THEME)
def render(figure: Figure, sharpness: float, colours: int) -> tuple[bytes, tuple[int, int], Bbox]:
    """Render a figure as a PNG with so many colours and without empty margins.

    Returns it, its width and height in pixels, and the part of the figure that it shows, in inches.

    256 colours are a third of the full size, 48 a fifth, and none is wrong by more than one can see. Figures drawn
    alike give equal bytes.
    """
    full, small = io.BytesIO(), io.BytesIO()
    for text in figure.findobj(Text):
        if text.get_fontfamily() == ["sans-serif"]:  # which is what a notebook writes on its axes by itself
            text.set_fontfamily(LETTERING)
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
        place_alike(figure)
    dots = PIXELS * sharpness  # of an inch
    needed = (dots * figure.get_tightbbox().padded(0.1).get_points()).round(6)  # no pixel more for a rounding error
    crop = Bbox(np.array([np.floor(needed[0]), np.ceil(needed[1])]) / dots)  # whole pixels: cells are found by theirs
    with laid_out(figure):
        figure.savefig(full, format="rgba", dpi=dots, bbox_inches=crop)
    size = round(dots * crop.width), round(dots * crop.height)
    image = Image.frombytes("RGBA", size, full.getvalue()).convert("RGB")
    method = Image.Quantize.MEDIANCUT if colours == 256 else Image.Quantize.MAXCOVERAGE  # of few, none may be far off
    image.quantize(colours, method).save(small, "png", optimize=True)
    return small.getvalue(), image.size, crop


def place_alike(figure: Figure) -> None:
    """Round all places, which the layout's solver finds anew each time, with other rounding errors."""
    for part in figure.subfigs:
        part.bbox_relative.set_points(part.bbox_relative.get_points().round(6))
    for ax in figure.axes:
        ax.set_position(Bbox(ax.get_position(original=True).get_points().round(6)), which="original")
        ax.set_in_layout(True)


@contextmanager
def laid_out(figure: Figure) -> Iterator[None]:
    """Within the block, the parts of a figure stay in place, so that `savefig` draws it once instead of twice."""
    engine = figure.get_layout_engine()
    figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


def show(figure: Figure | Axes, alt: str, sharpness: float = SHARPNESS, colours: int = 256) -> Picture:
    """Return a figure, or the figure of given axes, as a picture with alt text.

    `sharpness` is the number of pixels stored for each that a page shows; `colours`, how many there may be.

    Raises: ValueError if alt is empty.
    """
    whole = figure.figure.figure  # the figure of axes may be a part of another one
    return Picture(whole, alt, sharpness, colours)


@matplotlib.rc_context(THEME)
def figure(width: int | float = 6.4, height: int | float = 3.6, columns: int = 1) -> tuple[Figure, Any]:
    """Return a new figure, sized in inches of 100 pixels, and its axes: one, or an array of `columns` side by side."""
    new = Figure(figsize=(width, height), layout="constrained")
    return new, new.subplots(1, columns)


def bare(across: float, width: float, height: float) -> Axes:
    """Return the axes of a new figure for a drawing from 0 to `across`: paper without ticks and frame."""
    ax = figure(width, height)[1]
    ax.set_axis_off()
    ax.set_xlim(0, across)
    return ax


def eased(start: float, end: float, at: np.ndarray) -> np.ndarray:
    """Where a curve is after these shares of its way from start to end, with no slope at either (smoothstep)."""
    return start + (end - start) * (at**2 * (3 - 2 * at))
