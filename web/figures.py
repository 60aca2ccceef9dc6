"""The figures of a lesson's page: each by day and by night, and its panels one below the other where there is no room.

A notebook holds a figure once, as a picture with its description. Here it becomes files, of which a browser loads those
that come into sight, in the colours of the page.
"""

import base64
import io
import re
from itertools import count
from pathlib import Path

from nbformat import NotebookNode
from night import of_night
from panels import Box, panels
from PIL import Image
from stacked import with_parts

STORED = re.compile(r'<img alt="([^"]*)" width="(\d+)" src="data:image/svg\+xml')
DRAWING = re.compile(r'<p><img alt="([^"]+)" src="[^"]+\.svg"[^>]*>\s*</p>')
CELLS_WITH_A_SIGN = "<clipPath id='c'"  # which the stored SVG leaves as they are
WIDE = 700  # pixels from which on one panel is wider than a phone can show


def hang_figures(page: NotebookNode, folder: Path, name: str) -> None:
    """Put each figure of the page `name`.html into files of `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    outputs = [output for cell in page.cells for output in cell.get("outputs", [])]
    figures = [one for one in outputs if "image/png" in one.get("data", {}) and "text/html" in one.data]
    number = 0
    for output in figures:
        if found := STORED.match(output.data["text/html"]):
            number += 1
            figure = Figure(output, folder / f"{name}-{number}", found[1], int(found[2]))
            output.data = NotebookNode({"text/html": plate(figure.html(), figure.alt, f"figure-{number}")})


def with_plates(body: str) -> str:
    """A page's HTML in which its drawings, too, say what is to be seen in them and are handed on."""
    numbers = count(1)
    return DRAWING.sub(lambda found: plate(with_parts(found[0]), found[1], f"drawing-{next(numbers)}"), body)


def plate(picture: str, alt: str, id_: str) -> str:
    """A picture with an address of its own, its description for those who see it, too, and ways to hand it on."""
    said = f'<figcaption aria-hidden="true">{alt}</figcaption>'
    ways = (("send", "Copy link"), ("keep", "Save as picture"))
    buttons = "".join(f'<button type="button" data-{way}="{id_}">{words}</button>' for way, words in ways)
    return f'<figure class="plate" id="{id_}">{picture}{said}<p class="hand-on">{buttons}</p></figure>'


class Figure:
    """A stored figure on its way to the page."""

    def __init__(self, output: NotebookNode, path: Path, alt: str, width: int):
        self.path, self.alt, self.width = path, alt, width
        self.day = Image.open(io.BytesIO(base64.b64decode(output.data["image/png"])))
        self.night = of_night(self.day, CELLS_WITH_A_SIGN in output.data["text/html"].replace("%3C", "<"))

    def html(self) -> str:
        parts, legend = panels(self.day)
        boxes = [*parts, *([legend] if legend else [])]
        inside = "".join(self.part(i, box) for i, box in enumerate(boxes))
        if len(parts) == 1:
            kind = " wide" if self.width > WIDE else ""
            hint = '<p class="swipe" aria-hidden="true">Swipe to see all of it →</p>' if kind else ""
            return f'<div class="drawn{kind}" style="--own:{self.width}px">{inside}</div>{hint}'
        columns = " ".join(f"{right - left}fr" for left, _, right, _ in parts)
        return (
            f'<div class="drawn panels" role="img" aria-label="{self.alt}" style="--own:{self.width}px;'
            f'--columns:{columns}">{inside}</div>'
        )

    def part(self, number: int, box: Box) -> str:
        """A part of it, in both colours: the description is that of the whole."""
        whole = box == (0, 0, *self.day.size)
        scale = self.width / self.day.width
        size = [round(scale * (box[2] - box[0])), round(scale * (box[3] - box[1]))]
        images = ""
        for when, picture in (("day", self.day), ("night", self.night)):
            name = f"{self.path.name}-{number}-{when}.png"
            picture.crop(box).save(self.path.with_name(name), optimize=True)
            images += (
                f'<img class="{when}" alt="{self.alt if whole else ""}" width="{size[0]}" height="{size[1]}" '
                f'loading="lazy" src="{self.path.parent.name}/{name}">'
            )
        return f'<div class="panel{" strip" * (number > 0 and box[0] == 0)}">{images}</div>'
