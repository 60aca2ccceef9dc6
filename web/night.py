"""A stored figure in the colours of a dark page: paper becomes the dark ground, ink the light ink, and each colour with
a meaning the one that means the same there. What lies between them (soft edges, areas that show through) lies between
their counterparts, as near to each as it was, in OKLab.

The dark colours are those of the views, so that a figure and a view on one page agree.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from PIL import Image, ImageFilter

from transformer_lab.plots.picture import AMOUNTS, PAPER

PALETTE = Path(__file__).resolve().parents[1] / "transformer_lab" / "widgets" / "shared" / "palette.js"
COLOUR = re.compile(r'"?([\w-]+)"?: "(#[0-9a-f]{6})"')
SHARES = np.linspace(0, 1, 9)[:, None]  # of a colour that shows through
BRIGHT = 0.5  # lightness from which on what is written in a cell with a sign is black
MIDDLE = 0.179  # luminance from which on black is easier to read than white
STROKE = 9  # pixels, wider than any stroke of a letter
BLACK, SOFT = 8, 0.1  # the darkest of 255 that is no ink; the share of black from which on a pixel is written
ALIKE = 4e-4  # the square of how far colours lie apart that are one
# From sRGB to OKLab: https://bottosson.github.io/posts/oklab
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def oklab(rgb: np.ndarray) -> np.ndarray:
    """(n, 3) colours from 0 to 255 as lightness, green to red, blue to yellow."""
    return np.cbrt(linear(rgb) @ TO_CONES.T) @ TO_LAB.T


def linear(rgb: np.ndarray) -> np.ndarray:
    """Colours from 0 to 255 as amounts of light from 0 to 1."""
    share = rgb / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def srgb(lab: np.ndarray) -> np.ndarray:
    light = ((lab @ np.linalg.inv(TO_LAB).T) ** 3 @ np.linalg.inv(TO_CONES).T).clip(0, 1)
    share = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
    return (share * 255).round().astype(np.uint8)


def rgb_of(name: str) -> np.ndarray:
    return np.array([int(name[i : i + 2], 16) for i in (1, 3, 5)], dtype=float)


@cache
def dark_paper() -> dict[str, str]:
    """The colours of a dark page by their names."""
    return dict(COLOUR.findall(PALETTE.read_text("utf-8").partition("  dark: {")[2].partition("};")[0]))


@cache
def dark_signed() -> np.ndarray:
    """The colours of numbers with a sign, from the lowest to the highest, in a dark page."""
    ramp = PALETTE.read_text("utf-8").partition("const SIGNED")[2].partition("dark: ramp(")[2].partition("),")[0]
    return np.array([rgb_of(name) for name in re.findall("#[0-9a-f]{6}", ramp)])


@cache
def pairs(is_signed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Colours by day, and what each is by night, in OKLab: those of the page, and each as it shows over its grounds."""
    dark = dark_paper()
    known = {name: (rgb_of(PAPER[name]), rgb_of(dark[name])) for name in PAPER}
    day, night = [], []
    for ground in ("paper", "slab"):
        for mine, theirs in known.values():
            day.append(SHARES * mine + (1 - SHARES) * known[ground][0])
            night.append(SHARES * theirs + (1 - SHARES) * known[ground][1])
    for under, below in [known["paper"], known["slab"], *(cells_with_a_sign() if is_signed else ())]:
        is_dark = oklab(under)[0] < BRIGHT  # what is written in such a cell is white
        day.append(SHARES * (255 if is_dark else 0) + (1 - SHARES) * under)
        night.append(SHARES * known["paper" if is_dark else "ink"][1] + (1 - SHARES) * below)
    return oklab(np.concatenate(day)), oklab(np.concatenate(night))


def cells_with_a_sign() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Colours of the cells of such maps by day and by night, from the lowest to the highest."""
    ramp = dark_signed()
    for place in np.linspace(0, 1, 33):
        below = [np.interp(place, np.linspace(0, 1, len(ramp)), of) for of in ramp.T]
        yield np.array(colormaps["RdBu"](place)[:3]) * 255, np.array(below)


def by_night(rgb: np.ndarray, is_signed: bool = False) -> np.ndarray:
    """(n, 3) colours of a light page as those of a dark one: the mean of the nearest that are known."""
    day, night = pairs(is_signed)
    far = ((oklab(rgb.astype(float))[:, None] - day) ** 2).sum(-1)
    near = 1 / (far + 1e-9) ** 2
    return srgb(near @ night / near.sum(-1, keepdims=True))


def of_night(picture: Image.Image, is_signed: bool = False) -> Image.Image:
    """A picture of few colours, by night."""
    colours = np.array(picture.getpalette()).reshape(-1, 3)
    dark = picture.copy()
    dark.putpalette(by_night(colours, is_signed).tobytes())
    return dark if is_signed else with_numbers(picture, dark)


def with_numbers(picture: Image.Image, dark: Image.Image) -> Image.Image:
    """The same with what is written in cells, which is black by day, black or white, whichever is easier to read."""
    if np.array(picture.getpalette()).reshape(-1, 3).max(-1).min() > BLACK:
        return dark
    light = picture.convert("RGB")
    cell = np.asarray(light.filter(ImageFilter.MaxFilter(STROKE)), dtype=float)  # what a letter is written on
    written = 1 - (np.asarray(light) / cell.clip(1)).max(-1)  # how much of it is black
    scale = AMOUNTS(np.linspace(0, 1, 33))[:, :3] * 255
    pixels = np.array(dark.convert("RGB"))
    rows, columns = np.nonzero(written > SOFT)
    colours, which = np.unique(cell[rows, columns], axis=0, return_inverse=True)
    is_cell = ((oklab(colours)[:, None] - oklab(scale)) ** 2).sum(-1).min(-1) < ALIKE
    for i in np.flatnonzero(is_cell):
        below = by_night(colours[i : i + 1]).astype(float)
        at = rows[which.ravel() == i], columns[which.ravel() == i]
        share = written[at][:, None]
        pixels[at] = (1 - share) * below + share * (0 if luminance(below[0]) > MIDDLE else 255)
    return Image.fromarray(pixels).quantize(256)


def luminance(rgb: np.ndarray) -> float:
    """That of WCAG 2, to which its contrasts refer."""
    return float(linear(rgb) @ [0.2126, 0.7152, 0.0722])
