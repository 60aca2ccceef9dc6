"""The poster at the head of a lesson: its question, its time, its exercises, and a picture that leads to its view.

The picture asks and does not answer, because nothing above a prediction may give the answer away. It is drawn in the
page itself, so that it is there without a script and follows the theme.
"""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import sketches
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from transformer_lab.exercises.engine.cards import inline

# Of each lesson: where its picture leads, what the picture shows, and what draws it.
POSTERS: dict[str, tuple[str, str, Callable[[], str]]] = {
    "00": ("view-attention", "Three seals on a thread: predict, run, check", sketches.start_here),
    "01": ("view-arcs", "Thin arcs, all alike, from the word bank to every word of its sentence", sketches.attention),
    "02": ("view-heads", "A thick thread parts into four heads and is one again", sketches.heads),
    "03": ("view-encoding", "dog bites man, and man bites dog, each word with a clock", sketches.clocks),
    "04": ("view-depth", "Two stacks of twelve layers, one with a way past each layer", sketches.depth),
    "05": ("view-masks", "A grid of words by words, every window of it undecided", sketches.masks),
    "06": (
        "view-machine",
        "Four threads through an encoder, ribbons, a decoder; what it writes is open",
        sketches.machine,
    ),
    "07": ("view-own-sentence", "twenty-one and einundzwanzig, and every way between their parts", sketches.training),
    "08": ("view-decoding", "A tree with three twigs and nine leaves, all branches alike", sketches.decoding),
    "09": ("view-completer", "The beginning of a line of Python, and ten empty places", sketches.language_model),
    "10": ("view-induction", "the cat sat on the mat, the cat: and then?", sketches.induction),
    "11": ("view-swaps", "Four parts of 2017, and opposite each an empty place", sketches.swaps),
    "12": ("view-heads", "The word bank in two sentences, each with an empty vector", sketches.weights),
    "13": ("view-tiles", "A large sheet of cells, of which four are in reach", sketches.tiles),
    "14": ("the-program", "Lines of code below a magnifying glass", sketches.clinic),
    "15": ("view-designs", "Four layers, of which the lowest looks at every token", sketches.designs),
    "16": ("view-rewards", "One problem, four answers, none judged yet", sketches.rewards),
    "17": ("view-ranks", "Four machines in a ring, each a quarter full", sketches.ranks),
}


def hang(page: NotebookNode, lesson: Mapping[str, Any], colab: str) -> None:
    """Put the poster of a lesson below the heading of its page."""
    heading, _, rest = page.cells[0].source.partition("\n")
    page.cells[:1] = [new_markdown_cell(one) for one in (heading, poster(lesson, colab), rest.strip())]


def poster(lesson: Mapping[str, Any], colab: str) -> str:
    """The poster as HTML; `colab` is where Colab opens lessons, if their repository's address is known."""
    place, alt, draw = POSTERS[lesson["number"]]
    names = lesson["exercises"]
    said = f"{len(names)} exercise{'s' * (len(names) != 1)}"
    lasts, _, more = lesson["minutes"].partition(" + ")
    time = f"{lasts} minutes" + (f", and {more} for the exercises" if more else "")
    notebook = f"{lesson['name']}.ipynb"
    take = [f'<a href="{colab}{notebook}">Open in Colab</a>'] * bool(colab)
    take.append(f'<a href="{notebook}" download>Download</a>')
    view = "Open the view" if place.startswith("view-") else "Begin"
    return (
        f'<div class="poster" data-knot="{lesson["name"]}" data-exercises="{" ".join(names)}">'
        f'<div class="poster-words"><p class="label">{time}</p>'
        f'<p class="poster-question">{inline(lesson["question"])}</p>'
        f'<p class="poster-done"><span class="dots" role="img" aria-label="{said}">'
        f'{"".join("<i class=dot></i>" for _ in names)}</span> <span class="label" data-done>{said}</span></p>'
        f'<p class="take">{"".join(take)}</p></div>'
        f'<a class="poster-picture" href="#{place}">'
        f'<svg viewBox="0 0 {sketches.ACROSS} {sketches.DOWN}" role="img" aria-label="{escape(alt)}">{draw()}</svg>'
        f'<span class="label">{view}&nbsp;↓</span></a></div>'
    )
