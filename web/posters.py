"""The poster at the head of a lesson: its question, its time, its exercises, and a picture that leads to its view.

The picture asks and does not answer, because nothing above a prediction may give the answer away. It is drawn in the
page itself, so that it is there without a script and follows the theme.
"""

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import sketches
import strokes
from guesses import guess
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from transformer_lab.exercises.engine.cards import inline

TIME = re.compile(r" \*\*Time:\*\* [^.;]*[.;] ?(.*)", re.DOTALL)  # which the poster has said
LONG = 75  # letters of a question from which on it is written smaller
# Of each lesson: where its picture leads, what one does there, what the picture shows, and what draws it.
POSTERS: dict[str, tuple[str, str, str, Callable[[], str]]] = {
    "00": ("view-attention", "See a view at work", "Three seals on a thread: predict, run, check", sketches.start_here),
    "01": (
        "view-arcs",
        "See where bank looks",
        "Thin arcs, all alike, from the word bank to every word of its sentence",
        sketches.attention,
    ),
    "02": (
        "view-heads",
        "Look through four heads",
        "A thick thread parts into four heads and is one again",
        sketches.heads,
    ),
    "03": (
        "view-encoding",
        "Turn the clocks",
        "dog bites man, and man bites dog, each word with a clock",
        sketches.clocks,
    ),
    "04": (
        "view-depth",
        "Send a gradient down",
        "A gradient on top of two stacks of twelve layers, one of which has a way past each layer",
        sketches.depth,
    ),
    "05": (
        "view-masks",
        "Paint a mask",
        "A window for each two words: some are lit, some are shut, and through two of them the future leaks",
        sketches.masks,
    ),
    "06": (
        "view-machine",
        "Cut a part, see it fail",
        "Four threads through an encoder, ribbons, a decoder; what it writes is open",
        sketches.machine,
    ),
    "07": (
        "view-training-monitor",
        "See it learn",
        "twenty-one and einundzwanzig, and every way between their parts",
        sketches.training,
    ),
    "08": (
        "view-decoding",
        "Grow the tree",
        "A tree with three twigs and nine leaves, all branches alike",
        sketches.decoding,
    ),
    "09": (
        "view-completer",
        "Type, and let it go on",
        "The beginning of a line of Python, and four ways to go on",
        sketches.language_model,
    ),
    "10": ("view-induction", "Cut an arc", "the cat sat on the mat, the cat: and then?", sketches.induction),
    "11": (
        "view-swaps",
        "Put in a part of today",
        "Four parts of 2017, and opposite each an empty place",
        sketches.swaps,
    ),
    "12": (
        "view-heads",
        "Look into its heads",
        "The word bank in two sentences, and the bars of a vector for each, all of them empty",
        sketches.weights,
    ),
    "13": ("view-tiles", "Go from tile to tile", "A large sheet of cells, of which four are in reach", sketches.tiles),
    "14": (
        "the-program",
        "Read the program",
        "Four lines of a training and its falling loss, and a magnifying glass that asks",
        sketches.clinic,
    ),
    "15": (
        "view-designs",
        "Watch the memory fill",
        "Four layers, of which the lowest looks at every token",
        sketches.designs,
    ),
    "16": (
        "view-rewards",
        "Watch it learn",
        "One problem, four answers, and a scale for each on which nothing is weighed yet",
        sketches.rewards,
    ),
    "17": (
        "view-ranks",
        "Run one step on four machines",
        "Four machines in a ring, each a quarter full",
        sketches.ranks,
    ),
}


def hang(page: NotebookNode, lesson: Mapping[str, Any], colab: str) -> None:
    """Put the poster of a lesson below the heading of its page, and make an opening of the text that follows."""
    heading, _, rest = page.cells[0].source.partition("\n")
    rest = TIME.sub(lambda found: f" {found[1][:1].upper()}{found[1][1:]}", rest.strip())
    opening = f'<div class="begins">\n\n{rest}\n\n</div>'
    page.cells[:1] = [new_markdown_cell(one) for one in (heading, poster(lesson, colab), opening)]


def poster(lesson: Mapping[str, Any], colab: str) -> str:
    """The poster as HTML; `colab` is where Colab opens lessons, if their repository's address is known."""
    place, act, _, _ = POSTERS[lesson["number"]]
    notebook = f"{lesson['name']}.ipynb"
    take = [f'<a href="{colab}{notebook}">Open in Colab</a>'] * bool(colab)
    take.append(f'<a href="{notebook}" download>Download</a>')
    return (
        f'<div class="poster" {progress_of(lesson)}>'
        f'<div class="poster-words"><p class="label">{time_of(lesson)}</p>'
        f'<p class="poster-question{" long" * is_long(lesson)}">{inline(lesson["question"])}</p></div>'
        f'<div class="poster-acts"><p><a class="button primary" href="#{place}">{escape(act)}&nbsp;↓</a></p>'
        f'{done(lesson)}<p class="take">{"".join(take)}</p></div>'
        f'<a class="poster-picture" href="#{place}">{picture(lesson)}</a>{guess(lesson["number"])}</div>'
    )


def time_of(lesson: Mapping[str, Any]) -> str:
    lasts, _, more = lesson["minutes"].partition(" + ")
    return f"{lasts} minutes" + (f", and {more} for the exercises" if more else "")


def is_long(lesson: Mapping[str, Any]) -> bool:
    """Whether a question is written smaller."""
    return len(lesson["question"]) > LONG


def picture(lesson: Mapping[str, Any], answered: Callable[[], str] | None = None) -> str:
    """The sketch of a lesson's question, or what draws its answer."""
    _, _, alt, asked = POSTERS[lesson["number"]]
    size = f"0 0 {strokes.ACROSS} {strokes.DOWN}"
    return f'<svg class="sketch" viewBox="{size}" role="img" aria-label="{escape(alt)}">{(answered or asked)()}</svg>'


def progress_of(lesson: Mapping[str, Any]) -> str:
    """What `progress.js` goes by."""
    return f'data-knot="{lesson["name"]}" data-exercises="{" ".join(lesson["exercises"])}"'


def done(lesson: Mapping[str, Any]) -> str:
    """A dot for each exercise, and how many there are; `progress.js` says how many are solved."""
    count = len(lesson["exercises"])
    said = f"{count} exercise{'s' * (count != 1)}"
    dots = f'<span class="dots" role="img" aria-label="{said}">{"<i class=dot></i>" * count}</span>'
    return f'<p class="poster-done">{dots} <span class="label" data-done>{said}</span></p>'
