"""What is alive in a lesson, below its opening: a card for each kind of its views, which leads to the first of them."""

import re
from collections.abc import Mapping

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from wall import PLACE, card, views

AGAIN = re.compile(r"-\d+$")
AT_THE_HEAD = 3  # cells, those of the poster


def titles_of(gallery: NotebookNode) -> dict[str, str]:
    """What the gallery calls each of its views, by the place that it has there."""
    return {place: called[0] for _, called, place, _ in views(gallery)}


def hang_strip(page: NotebookNode, titles: Mapping[str, str]) -> None:
    """Put the strip below the opening of a lesson, if it has a view."""
    outputs = [output for cell in page.cells for output in cell.get("outputs", [])]
    found = [PLACE.search(output.get("data", {}).get("text/html", "")) for output in outputs]
    places = [one[1] for one in found if one and not AGAIN.search(one[1])]
    if places:
        cards = "".join(card(place, f"#{place}", titles[place]) for place in places)
        label = '<p class="label">Alive in this lesson: touch, drag, cut</p>'
        strip = f'<div class="strip">{label}<ul class="cards" aria-label="Views of this lesson">{cards}</ul></div>'
        page.cells.insert(AT_THE_HEAD, new_markdown_cell(strip))
