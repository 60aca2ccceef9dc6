"""The parts of a drawing that stand beside each other, so that a phone shows one below the other.

A part is a window of (left, top, width, height) onto the drawing, in its own pixels, and loses nothing but the card
around it and the lines between the parts.
"""

import re

Part = tuple[int, int, int, int]

PARTS: dict[str, tuple[Part, ...]] = {
    "01_attention": ((16, 8, 382, 245), (398, 8, 394, 252), (16, 275, 344, 232), (362, 275, 416, 232)),
    "01_bank": (
        *((69, 8, 411, 202), (573, 8, 192, 202)),
        *((69, 218, 411, 200), (573, 218, 192, 200), (64, 422, 416, 42)),
    ),
    "01_lookup": ((16, 8, 384, 362), (400, 8, 384, 362)),
    "01_paths": ((8, 8, 404, 222), (412, 8, 380, 222)),
    "02_heads": ((20, 8, 184, 420), (204, 8, 384, 420), (597, 8, 195, 420)),
    "04_blocks": ((8, 8, 248, 396), (260, 8, 280, 396), (543, 8, 250, 396)),
    "05_masks": ((8, 8, 392, 242), (400, 8, 392, 242), (290, 250, 220, 28)),
    "06_families": ((8, 8, 200, 500), (222, 8, 198, 500), (428, 8, 364, 500), (200, 512, 400, 44)),
    "07_shift": ((8, 8, 405, 300), (415, 8, 378, 300)),
    "08_cache": ((8, 8, 391, 320), (401, 8, 391, 320), (146, 330, 310, 26), (462, 330, 250, 26)),
    "09_context": (
        (8, 8, 262, 332),
        *((273, 8, 256, 180), (273, 312, 256, 28)),
        *((531, 8, 262, 110), (531, 312, 262, 28), (270, 350, 260, 28)),
    ),
    "11_swaps": ((34, 8, 290, 470), (437, 8, 308, 470)),
    "12_loading": ((14, 8, 412, 336), (502, 8, 290, 336), (180, 350, 186, 24), (366, 350, 256, 24)),
    "13_tiles": ((68, 30, 298, 344), (458, 60, 330, 284)),
    "14_steps": ((20, 24, 330, 338), (362, 24, 392, 338), (112, 376, 297, 26), (409, 376, 279, 26)),
    "15_caches": ((22, 16, 304, 372), (330, 16, 302, 372), (636, 16, 156, 372), (190, 396, 416, 26)),
    "16_right_or_wrong": ((22, 20, 320, 34), (22, 56, 356, 310), (388, 56, 396, 352)),
    "17_ways": (
        *((14, 14, 308, 444), (322, 14, 308, 444), (636, 14, 146, 444)),
        *((150, 468, 219, 24), (370, 468, 280, 24)),
    ),
}
IMAGE = re.compile(r'<p><img alt="(?P<alt>[^"]+)" src="(?P<src>[^"]*?(?P<name>\w+)\.svg)"[^>]*>\s*</p>')
WIDTH = 800  # of every drawing


def with_parts(html: str) -> str:
    """A drawing as it is and, if it has parts, these, of which a page shows the one or the others."""
    found = IMAGE.fullmatch(html.strip())
    if not found or found["name"] not in PARTS:
        return html
    parts = "".join(part(found["src"], *window) for window in PARTS[found["name"]])
    return f'{html}<div class="stacked" role="img" aria-label="{found["alt"]}">{parts}</div>'


def part(src: str, left: int, top: int, width: int, height: int) -> str:
    """A window onto a drawing, by shares of its own width and height, so that it may have any size."""
    style = f"--own:{width}px;aspect-ratio:{width}/{height}"
    moved = f"width:{100 * WIDTH / width:.3f}%;left:{-100 * left / width:.3f}%;top:{-100 * top / height:.3f}%"
    return f'<div style="{style}"><img alt="" loading="lazy" src="{src}" style="{moved}"></div>'
