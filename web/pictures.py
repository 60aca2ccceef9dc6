"""The pictures that notebooks hold, as PNG inside their HTML: which are maps, which fill a card."""

import base64
import io
import re
import struct

from PIL import Image

PICTURE = re.compile(r'<img (?=[^>]*src="data:image/png;base64,([^"]+)")')
DARK, SHARE_OF_A_MAP = 120, 0.1  # the darkest colour of a line is lighter; a tenth of a map is darker


def pictures_in(html: str) -> list[bytes]:
    return [base64.b64decode(data) for data in PICTURE.findall(html)]


def with_maps_marked(html: str) -> str:
    """The same HTML, with a class for pictures whose colours are numbers: in a dark theme these must not change."""
    return PICTURE.sub(lambda found: found[0] + 'class="map" ' * is_map(base64.b64decode(found[1])), html)


def is_map(png: bytes) -> bool:
    """Whether a large part of a picture is dark, as in maps (cividis begins with a dark blue) and in no plot."""
    small = Image.open(io.BytesIO(png)).convert("RGB").resize((80, 60))
    return sum(max(small.getpixel((x, y))) < DARK for x in range(80) for y in range(60)) > SHARE_OF_A_MAP * 80 * 60


def is_tall_enough(png: bytes) -> bool:
    """Whether a picture fills a card: a line of text does not."""
    width, height = struct.unpack(">II", png[16:24])
    return height > width / 3
