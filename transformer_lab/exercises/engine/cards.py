"""Cards, which a learner sees: a mark, a title and a text, as HTML in a notebook and as plain text elsewhere."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape

from transformer_lab.exercises.engine.card_look import INFO, OPEN, PASSED, WRONG, code, frame

__all__ = ["INFO", "OPEN", "PASSED", "WRONG", "Card", "Picture", "Solution", "Verdict", "code", "folded", "frame"]

EMPHASIS = re.compile(r"(?<![\w*])\*([^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])")


@dataclass(frozen=True)
class Card:
    """A mark, a title, and a text in which lines that start with two spaces are set as code, like `this`.

    `figure` is HTML that stands below the text where there is HTML.
    """

    mark: str
    title: str
    text: str = ""
    figure: str = ""

    def __repr__(self) -> str:
        return f"{self.mark} {self.title}\n{plain_text(self.text)}".strip()

    def _repr_html_(self) -> str:
        return frame(self.mark, inline(self.title), html_text(self.text) + self.figure)


@dataclass(frozen=True, repr=False)
class Solution(Card):
    """A solution that stays folded until it is clicked."""

    source: str = ""

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n\n{self.source}"

    def _repr_html_(self) -> str:
        return frame(self.mark, inline(self.title), html_text(self.text) + folded("show it", code(self.source)))


@dataclass(frozen=True, repr=False)
class Verdict:
    """The verdict on an answer.

    passed: right in every case; attempted: False for an untouched stub; mistake: the name of the mistake it was
    recognised as, if any; message: plain text saying what is wrong, on which simplest case, expected beside given;
    score: how much is right, from 0 to 1; figure: HTML that shows the case, if a picture helps; cause: what is
    wrong, where it is no mistake with a name; help: makes the HTML that stands below, folded, and is called when the
    card is shown.
    """

    exercise: str
    passed: bool
    attempted: bool
    mistake: str | None
    message: str
    score: float = 0.0
    figure: str = ""
    cause: str | None = None
    help: Callable[[], str] | None = field(default=None, compare=False)

    @property
    def card(self) -> Card:
        mark = PASSED if self.passed else WRONG if self.attempted else OPEN
        state = "passed" if self.passed else "not yet" if self.attempted else "not attempted yet"
        recognised = f" ({readable(self.mistake)})" if self.mistake else ""
        return Card(mark, f"{self.exercise}: {state}{recognised}", self.message, self.figure)

    def __repr__(self) -> str:
        return repr(self.card)

    def _repr_html_(self) -> str:
        help = self.help() if self.help else ""
        return replace(self.card, figure=self.figure + help)._repr_html_()


def folded(summary: str, body: str) -> str:
    """Text that unfolds when it is clicked, without a kernel or a script."""
    button = (
        "display:list-item;list-style-position:inside;width:max-content;cursor:pointer;line-height:24px;padding:0 10px;"
        "border:1px solid rgba(127,127,127,.55);border-radius:4px"
    )
    return f'<details style="margin:6px 0"><summary style="{button}">{summary}</summary>{body}</details>'


def folded_hints(hints: Sequence[str]) -> str:
    """The first hint, folded; each hint contains the next one."""
    within = ""
    for number, hint in reversed(list(enumerate(hints, start=1))):
        within = folded(f"hint {number} of {len(hints)}", html_text(hint) + within)
    return within


def html_text(text: str) -> str:
    """Format paragraphs as HTML: lines that start with two spaces become a code block, those with a dot a list."""
    parts = []
    for block in re.findall(r"(?:^  .*\n?)+|(?:^- .*\n?)+|(?:^(?!  |- ).*\n?)+?", text, flags=re.MULTILINE):
        if block.startswith("  "):
            parts.append(code(re.sub(r"^  ", "", block, flags=re.MULTILINE)))
        elif block.startswith("- "):
            items = "".join(f"<li>{inline(line.removeprefix('- '))}</li>" for line in block.splitlines())
            parts.append(f'<ul style="margin:4px 0;padding-left:1.5em">{items}</ul>')
        elif block.strip():
            parts.append(f'<p style="margin:4px 0">{inline(block.strip())}</p>')
    return "".join(parts)


@dataclass(frozen=True)
class Picture:
    """A small table of numbers from 0 to 1, with a name for each row and each column."""

    caption: str
    corner: str  # what rows and columns are
    rows: Sequence[str]
    columns: Sequence[str]
    numbers: Sequence[Sequence[float]]

    @property
    def html(self) -> str:
        """The table as HTML: the larger a number, the darker its cell; the text keeps the colour of the page."""
        cell = "padding:2px 6px;text-align:right;font-variant-numeric:tabular-nums"
        head = "".join(f'<th scope="col" style="{cell}">{name}</th>' for name in self.columns)
        lines = [f'<tr><th scope="row" style="{cell}">{self.corner}</th>{head}</tr>']
        for name, row in zip(self.rows, self.numbers, strict=True):
            shaded = "".join(
                f'<td style="{cell};background:rgba(224,160,46,{0.7 * min(max(x, 0.0), 1.0):.2f})">{x:.2f}</td>'
                for x in row
            )
            lines.append(f'<tr><th scope="row" style="{cell}">{name}</th>{shaded}</tr>')
        table = f'<table style="border-collapse:collapse;margin:4px 0">{"".join(lines)}</table>'
        figure = '<figure style="display:inline-block;vertical-align:top;margin:0 16px 0 0">'
        return f"{figure}<figcaption>{self.caption}</figcaption>{table}</figure>"


def inline(text: str) -> str:
    """A text with `code` and *emphasis* as HTML."""
    parts = re.split(r"`([^`]+)`", escape(text, quote=False))  # every other one is code
    return "".join(f"<code>{s}</code>" if i % 2 else EMPHASIS.sub(r"<em>\1</em>", s) for i, s in enumerate(parts))


def plain_text(text: str) -> str:
    """A text without the marks of emphasis; code stays as it is."""
    code_or_emphasis = rf"(^  .*$|`[^`\n]+`)|{EMPHASIS.pattern}"
    return re.sub(code_or_emphasis, lambda found: found[1] or found[2], text, flags=re.MULTILINE)


def readable(name: str) -> str:
    """The name of a mistake in words: "scaled by d_model" for scaled_by_d_model."""
    return re.sub(r"\bd (model|head|k|v)\b", r"d_\1", name.replace("_", " "))
