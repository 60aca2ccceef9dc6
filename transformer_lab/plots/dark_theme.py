"""Figures that follow the page's theme: a single image, and the way in which a dark page shows it.

In a dark page light and dark change places, and hues stay: paper is dark, and amounts run from it to amber. The cells
of other maps keep their colours, since these are numbers with a sign. The image is wrapped into an SVG, which is told
the theme of the page around it (`prefers-color-scheme`). So nothing is stored twice, and neither a script nor a style
of the page is needed.
"""

import base64
from collections.abc import Iterator
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.transforms import Bbox, BboxBase

INVERTED, PAPER = "invert(.96) hue-rotate(180deg)", "#100f0b"  # which is what becomes of paper, close to a dark page's
PAPER_TO_AMBER = ("amounts", "fading")  # colours that begin at paper, and so are inverted with it
EDGE = 3  # pixels of the picture, half of them outside of the cells


def svg(png: bytes, size: tuple[int, int], cells: list[Bbox], gaps: list[Bbox], drawn: list[Bbox]) -> str:
    """The image as an SVG of the given size.

    In a dark page all but the cells is inverted, the gaps are dark, and so are not what is drawn across them.
    """
    image = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    across = f'width="{size[0]}" height="{size[1]}"'
    image = f'<image id="p" {across} href="{image}"/>'
    kept = f'<clipPath id="c"><path id="o" d="{outlines(cells)}"/></clipPath>'
    # below the cells, a little wider: or else the inverted cells, which are pale, would shine through their soft edges
    below = f'<use href="#o" fill="{PAPER}" stroke="{PAPER}" stroke-width="{EDGE}"/>'
    above = f'<path fill="{PAPER}" d="{outlines(gaps)}"/>'
    only_dark = f'{below}<use href="#p" clip-path="url(#c)"/>{above}' if cells else ""
    if drawn:
        kept += f'<clipPath id="l"><path d="{outlines(drawn)}"/></clipPath>'
        only_dark += '<g clip-path="url(#l)"><use class="i" href="#p"/></g>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" {across}>'
        f"<style>.d{{display:none}}@media(prefers-color-scheme:dark){{.d{{display:inline}}.i{{filter:{INVERTED}}}}}"
        f"</style><defs>{image}{kept if cells else ''}</defs>"
        f'<use class="i" href="#p"/><g class="d">{only_dark}</g></svg>'
    )


def outlines(boxes: list[Bbox]) -> str:
    corners = [[f"{value:.1f}".removesuffix(".0") for value in box.extents] for box in boxes]
    return "".join(f"M{x} {y}H{right}V{bottom}H{x}z" for x, y, right, bottom in corners)


def as_address(text: str) -> str:
    """An SVG as a data URL for an image."""
    for letter, code in (("%", "%25"), ("#", "%23"), ("<", "%3C"), (">", "%3E"), ('"', "'")):
        text = text.replace(letter, code)
    return f"data:image/svg+xml,{text}"


def places(figure: Figure, crop: Bbox, scale: float) -> tuple[list[Bbox], list[Bbox], list[Bbox]]:
    """The positions of the maps' cells, of the gaps between them and of lines across, in pixels counted downwards.

    `crop` is what was saved, in inches, and `scale` the pixels of an inch. Cells begin and end with a pixel, as they
    are drawn.
    """

    def placed(box: BboxBase) -> Bbox:
        (left, bottom), (right, top) = box.get_points() / figure.dpi  # in inches
        start, end = (left - crop.x0, crop.y1 - top), (right - crop.x0, crop.y1 - bottom)
        return Bbox(scale * np.array([start, end]))

    def whole(box: BboxBase) -> Bbox:
        (left, top), (right, bottom) = placed(box).get_points()
        nearest = np.floor([left + 0.5, 0.5 - top, right + 0.5, 0.5 - bottom])  # a half goes up, in the figure's sense
        return Bbox.from_extents(*nearest * [1, -1, 1, -1])

    maps = [ax for ax in figure.axes if any(map(is_signed, ax.images))]
    bars = [ax for ax in figure.axes if any(isinstance(one, QuadMesh) and is_signed(one) for one in ax.collections)]
    cells = [box for ax in maps for image in ax.images for box in coloured(ax, image)]
    gaps = [box for ax in maps for box in between(ax)]
    lines = [box for ax in maps for box in across(ax)]
    return list(map(whole, [*cells, *(ax.bbox for ax in bars)])), list(map(placed, gaps)), list(map(placed, lines))


def is_signed(one: AxesImage | QuadMesh) -> bool:
    return one.get_cmap().name not in PAPER_TO_AMBER


def coloured(ax: Axes, image: AxesImage) -> Iterator[Bbox]:
    """The blocks of cells with a value: runs within a row, with equal rows joined."""
    values: np.ndarray = np.ma.filled(
        np.ma.asarray(image.get_array(), dtype=float), np.nan
    )  # (rows, columns) or (…, colours)
    known = np.isfinite(values).reshape(*values.shape[:2], -1).min(axis=-1)  # (rows, columns)
    left, right, *ends = image.get_extent()
    start, end = ends if image.origin == "lower" else ends[::-1]  # of the rows
    xs, ys = (np.linspace(*of) for of in ((left, right, known.shape[1] + 1), (start, end, known.shape[0] + 1)))
    row = 0
    for pattern, alike in groupby(map(tuple, known)):
        next_row, column = row + len(list(alike)), 0
        for is_known, run in groupby(pattern):
            next_column = column + len(list(run))
            if is_known:
                corners = ax.transData.transform([(xs[column], ys[row]), (xs[next_column], ys[next_row])])
                box = Bbox.intersection(Bbox([corners.min(axis=0), corners.max(axis=0)]), ax.bbox)
                yield from [box] if box else []
            column = next_column
        row = next_row


def between(ax: Axes) -> Iterator[Bbox]:
    """The lines that separate the cells of a map: its grid of minor ticks."""
    for direction, axis in enumerate((ax.xaxis, ax.yaxis)):
        for place in axis.get_minorticklocs() if has_minor_grid(axis) else ():
            middle = ax.transData.transform((place, place))[direction]
            half = axis.get_minor_ticks()[0].gridline.get_linewidth() * ax.figure.dpi / 72 / 2 + 0.8  # its soft edge
            corners = ax.bbox.get_points().copy()  # ((left, bottom), (right, top))
            corners[:, direction] = middle - half, middle + half
            yield Bbox(corners)


def across(ax: Axes) -> Iterator[Bbox]:
    """The straight lines that are drawn across a map."""
    for line in ax.get_lines():
        box = line.get_path().transformed(line.get_transform()).get_extents()
        if min(box.width, box.height) < 1:
            yield box.padded(line.get_linewidth() * ax.figure.dpi / 72 / 2)


def has_minor_grid(axis: Axis) -> bool:
    return bool(len(axis.get_minorticklocs())) and axis.get_minor_ticks()[0].gridline.get_visible()
