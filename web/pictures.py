"""The pictures that notebooks hold, as SVG inside their HTML: which fill a card."""

import re
from html import unescape
from urllib.parse import unquote

PICTURE = re.compile(r'<img [^>]*src="data:image/svg\+xml,([^"]+)"')
SIZE = re.compile(r"<svg [^>]*width=['\"](\d+)['\"] height=['\"](\d+)['\"]")


def pictures_in(html: str) -> list[str]:
    """Each follows the theme of the page around it."""
    return [unquote(unescape(data)) for data in PICTURE.findall(html)]


def is_tall_enough(svg: str) -> bool:
    """Whether a picture fills a card: a line of text does not."""
    found = SIZE.match(svg)
    return found is not None and int(found[2]) > int(found[1]) / 3
