"""What a learner sees: a card with a mark, a title and a text, as HTML in a notebook and as plain text elsewhere."""

import re
from dataclasses import dataclass
from html import escape

PASSED, OPEN, WRONG, INFO = "✓", "○", "✗", "→"
COLOURS = {PASSED: "#009E73", OPEN: "#8a8a8a", WRONG: "#D55E00", INFO: "#0072B2"}  # Okabe & Ito; never colour alone


@dataclass(frozen=True)
class Card:
    """A mark, a title, and a text in which lines that start with two blanks are set as code, like `this`."""

    mark: str
    title: str
    text: str = ""

    def __repr__(self) -> str:
        return f"{self.mark} {self.title}\n{self.text}".strip()

    def _repr_html_(self) -> str:
        return frame(self.mark, self.title, html_text(self.text))


@dataclass(frozen=True, repr=False)
class Solution(Card):
    """A solution, folded away until it is clicked on."""

    source: str = ""

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n\n{self.source}"

    def _repr_html_(self) -> str:
        body = f"<details><summary>show it</summary>{code(self.source)}</details>"
        return frame(self.mark, self.title, html_text(self.text) + body)


@dataclass(frozen=True, repr=False)
class Verdict:
    """The answer to an answer.

    passed: right in every case; attempted: False for an untouched stub; mistake: the name of the mistake it was
    recognised as, if any; message: plain text saying what is wrong, on which smallest case, expected beside given.
    """

    exercise: str
    passed: bool
    attempted: bool
    mistake: str | None
    message: str

    @property
    def card(self) -> Card:
        mark = PASSED if self.passed else WRONG if self.attempted else OPEN
        state = "passed" if self.passed else "not yet" if self.attempted else "not attempted yet"
        recognised = f" ({self.mistake})" if self.mistake else ""
        return Card(mark, f"{self.exercise}: {state}{recognised}", self.message)

    def __repr__(self) -> str:
        return repr(self.card)

    def _repr_html_(self) -> str:
        return self.card._repr_html_()


def frame(mark: str, title: str, body: str) -> str:
    """The card's outline: text in the page's own colours, so that it is legible in light and dark themes."""
    colour = COLOURS[mark]
    return (
        f'<div style="border-left:4px solid {colour};padding:2px 12px;margin:4px 0;max-width:50em">'
        f'<p style="margin:4px 0"><span style="color:{colour};font-weight:bold" aria-hidden="true">{mark}</span> '
        f"<strong>{inline(title)}</strong></p>{body}</div>"
    )


def html_text(text: str) -> str:
    """Paragraphs; runs of lines that start with two blanks become one block of code."""
    parts = []
    for block in re.findall(r"(?:^  .*\n?)+|(?:^(?!  ).*\n?)+?", text, flags=re.MULTILINE):
        if block.startswith("  "):
            parts.append(code(re.sub(r"^  ", "", block, flags=re.MULTILINE)))
        elif block.strip():
            parts.append(f'<p style="margin:4px 0">{inline(block.strip())}</p>')
    return "".join(parts)


def code(source: str) -> str:
    style = "margin:4px 0;padding:4px 8px;overflow-x:auto;background:rgba(127,127,127,.12);color:inherit"
    return f'<pre style="{style}">{escape(source.rstrip(), quote=False)}</pre>'


def inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
