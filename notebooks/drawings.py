"""The drawings of a lesson as attachments, so that they are there wherever its notebook is opened, and alone.

A text names the SVG (`![alt](../img/00_map.svg)`), a notebook holds a PNG: a path is lost with the folder around it,
and JupyterLab shows no SVG that is attached. JupyterLab, Notebook 7 and nbconvert show a PNG, from whatever folder.
It has two pixels for each of the SVG's, its words in the letters of the figures, and its own paper, on which it can be
read in the dark, too.
"""

import base64
import hashlib
import io
import re
from pathlib import Path

import matplotlib
from nbformat import NotebookNode
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from transformer_lab.plots.picture import FONTS, LETTERING

IMG = Path(__file__).resolve().parents[1] / "img"
OTHERS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"  # for the signs that the figures' font lacks
IN_A_TEXT, BY_PATH = re.compile(r"^!\[([^]]*)\]\(\.\./img/(\w+)\.svg\)$", re.MULTILINE), r"![\1](../img/\2.svg)"
# Where a front-end takes the style away, a drawing is as wide as the page.
AS_ATTACHMENT = '<div style="max-width: 800px">\n\n![{}](attachment:{}.png)\n\n</div>'
IN_A_NOTEBOOK = re.compile(re.escape(AS_ATTACHMENT).replace(r"\{\}", "([^]]*)", 1).replace(r"\{\}", r"(\w+)"))
ATTACHED = re.compile(r"\(attachment:(\w+)\.png\)")
COLOURS, PIXELS = 63, 2


def with_attachments_named(markdown: str) -> str:
    """A text as its notebook has it."""
    return IN_A_TEXT.sub(lambda found: AS_ATTACHMENT.format(*found.groups()), markdown)


def with_paths_named(markdown: str) -> str:
    """What a notebook has, as its text."""
    return IN_A_NOTEBOOK.sub(BY_PATH, markdown)


def attach(notebook: NotebookNode) -> None:
    """Draw and attach what the cells name."""
    for cell in notebook.cells:
        if names := ATTACHED.findall(cell.source):
            pngs = {f"{name}.png": png(IMG / f"{name}.svg") for name in names}
            cell.attachments = {name: {"image/png": base64.b64encode(data).decode()} for name, data in pngs.items()}


def are_attached(cell: NotebookNode) -> bool:
    """Whether a cell holds the drawings that it names, each made from the SVG as it is now, and no others."""
    held = {name: base64.b64decode(data["image/png"]) for name, data in cell.get("attachments", {}).items()}
    return {name: made_from(data) for name, data in held.items()} == {
        f"{name}.png": digest(IMG / f"{name}.svg") for name in ATTACHED.findall(cell.source)
    }


def png(svg: Path) -> bytes:
    """The picture of an SVG, the same on every machine; it says what it was made from."""
    made, about = io.BytesIO(), PngInfo()
    about.add_text("Source", digest(svg))
    in_few_colours(picture(svg)).save(made, "PNG", optimize=True, pnginfo=about, transparency=COLOURS)
    return made.getvalue()


def in_few_colours(picture: Image.Image) -> Image.Image:
    """The picture with a palette of COLOURS, and behind these one that nobody sees, around the corners of its card."""
    card = picture.getchannel("A")
    opaque = Image.new("RGB", picture.size, "white")
    opaque.paste(picture, mask=card)
    few = opaque.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.putpalette([*few.getpalette()[: 3 * COLOURS], 255, 255, 255])
    few.paste(COLOURS, mask=card.point(lambda alpha: 255 * (alpha < 128)))
    return few


def picture(svg: Path) -> Image.Image:
    """The pixels of an SVG, in all their colours."""
    import resvg_py  # only who builds a lesson with drawings needs it

    fonts = [str(path) for path in (*FONTS, *sorted(OTHERS.glob("DejaVuSans*.ttf")))]
    drawn = resvg_py.svg_to_bytes(
        svg_path=str(svg), zoom=PIXELS, skip_system_fonts=True, font_files=fonts, sans_serif_family=LETTERING[0]
    )
    return Image.open(io.BytesIO(drawn))


def made_from(data: bytes) -> str:
    """The digest of the SVG that a PNG was made from."""
    return Image.open(io.BytesIO(data)).text.get("Source", "")


def digest(svg: Path) -> str:
    return hashlib.sha256(svg.read_bytes()).hexdigest()
