"""The panels of a figure: where a stored picture can be cut, so that a phone shows one below the other.

A cut runs through paper alone, near where panels of equal width meet, and each part must hold a line of most of its
width, which is an axis or a row of cells. A strip below all panels, such as their legend, is a part of its own.
"""

from itertools import pairwise

import numpy as np
from PIL import Image

PAPER_DIFFERS = 8  # of 255 in each colour
GUTTER = 8  # pixels of paper in a row
NEAR = 0.07  # of the width, how far from its place a cut may lie
LINE = 0.5  # of the width of a part
STRIP = 0.2  # of the height: the highest legend
COLOURED = 60  # of 255 between the colours of what is no ink
MOST = 4

Box = tuple[int, int, int, int]


def panels(picture: Image.Image) -> tuple[list[Box], Box | None]:
    """The parts of a picture from left to right, as (left, top, right, bottom), and the strip below them, if any."""
    pixels = np.asarray(picture.convert("RGB"), dtype=int)
    inked = (abs(pixels - pixels[0, 0]) > PAPER_DIFFERS).any(-1)  # (rows, columns)
    height, width = inked.shape
    bottom = legend_from(inked, np.ptp(pixels, axis=-1) > COLOURED)
    for count in range(MOST, 1, -1):
        if cuts := cut(inked[:bottom], count):
            parts = [(left, 0, right, bottom) for left, right in pairwise([0, *cuts, width])]
            return parts, (0, bottom, width, height) if bottom < height else None
    return [(0, 0, width, height)], None


def legend_from(inked: np.ndarray, coloured: np.ndarray) -> int:
    """The row where a legend below all panels begins, or the last: labels of an axis have no colour."""
    height = len(inked)
    for start, end in blank(inked.any(1)):
        if start > (1 - STRIP) * height and coloured[end:].any():
            return (start + end) // 2
    return height


def cut(inked: np.ndarray, count: int) -> list[int]:
    """Where so many panels meet, or nothing."""
    width = inked.shape[1]
    gutters = blank(inked.any(0))
    cuts = []
    for k in range(1, count):
        near = [(end - start, (start + end) // 2) for start, end in gutters if is_near(start, end, k / count, width)]
        cuts += [max(near)[1]] if near else []
    parts = [*pairwise([0, *cuts, width])]
    return cuts if len(parts) == count and all(has_line(inked[:, left:right]) for left, right in parts) else []


def is_near(start: int, end: int, share: float, width: int) -> bool:
    return abs((start + end) / 2 - share * width) < NEAR * width


def has_line(inked: np.ndarray) -> bool:
    return bool((inked.mean(1) > LINE).any())


def blank(inked: np.ndarray) -> list[tuple[int, int]]:
    """The runs of paper along rows or columns, as (start, end)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[1], inked.astype(int), [1]])))
    return [(start, end) for start, end in edges.reshape(-1, 2).tolist() if end - start >= GUTTER]
