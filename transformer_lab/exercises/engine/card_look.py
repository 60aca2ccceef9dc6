"""What cards look like: a seal in the margin that tells the state by its form, a label, a heading, a text.

As in the pages: ink in the colour of whatever page it stands on; a colour of its own only for what differs.
"""

import re
from collections.abc import Sequence
from html import escape

PASSED, OPEN, WRONG, INFO = "✓", "○", "✗", "→"
CHANGE = "#c0509a"  # at least 3 to 1 beside white and beside black
LINE = "1px solid rgba(127,127,127,.4)"
SERIF = "'Source Serif 4','Source Serif',Charter,Georgia,serif"
FILLS = {
    PASSED: "background:currentColor",
    WRONG: "background:linear-gradient(90deg,currentColor 50%,transparent 50%)",
    OPEN: "",
}
TICK = (
    "position:absolute;left:27%;top:24%;width:46%;height:24%;border:solid var(--jp-layout-color0,Canvas);"
    "border-width:0 0 .14em .14em;transform:rotate(-45deg)"
)
COMPARED = re.compile(r"(?:(?P<before>.*)\n)?expected (?P<expected>.*)\ngiven    (?P<given>.*)", re.DOTALL)
TITLE = re.compile(r"(?P<name>[\w.]+): (?P<state>[^()]+?)(?: \((?P<slip>.+)\))?")


def seal(mark: str, size: str = "1.9em") -> str:
    """A disc: empty while an exercise is open, half full once it was tried, full with a tick when it is solved."""
    if mark == INFO:
        return f'<span style="flex:none;width:{size};text-align:center" aria-hidden="true">{INFO}</span>'
    tick = f'<span style="{TICK};font-size:{size}"></span>' if mark == PASSED and size.endswith("9em") else ""
    disc = f"display:inline-block;position:relative;flex:none;width:{size};height:{size};border-radius:50%"
    return f'<span style="{disc};border:2px solid;{FILLS[mark]}" aria-hidden="true">{tick}</span>'


def frame(mark: str, title: str, body: str) -> str:
    """The frame of a card; `title` is HTML, and where it is "name: state (slip)", the slip is the heading."""
    found = TITLE.fullmatch(title)
    if found is None:
        label, heading = "", title
    else:
        told = found["slip"] or found["state"]
        label = f"{found['name']} · {found['state']}" if found["slip"] else found["name"]
        heading = told[:1].upper() + told[1:]
    above = f'<p style="margin:0;font-size:85%;opacity:.8">{label}</p>' if label else ""
    return (
        '<div class="tl-card" style="display:flex;gap:14px;max-width:50em;margin:6px 0;padding:12px 16px;'
        f'border:{LINE};border-radius:12px">{seal(mark)}<div style="flex:1;min-width:0">{above}'
        f'<p style="margin:0 0 6px;font:600 1.3em/1.25 {SERIF}"><strong>{heading}</strong></p>{body}</div></div>'
    )


def code(source: str) -> str:
    """Source or printed values; what was given stands beside what was expected, dashed and in the colour of change."""
    text = re.sub(r"^ {9}(?= )", "", source.rstrip(), flags=re.MULTILINE) if source.startswith("expected") else source
    found = COMPARED.fullmatch(text.rstrip())
    if found is None:
        return block(source)
    before = block(found["before"]) if found["before"] else ""
    yours, expected = (
        f'<div><span style="font-size:85%">{word}</span>{block(found[key], dashed=key == "given")}</div>'
        for word, key in (("yours", "given"), ("expected", "expected"))
    )
    return f'{before}<div style="display:flex;flex-wrap:wrap;gap:4px 24px">{yours}{expected}</div>'


def block(source: str, dashed: bool = False) -> str:
    edge = f"border:2px dashed {CHANGE}" if dashed else "background:rgba(127,127,127,.12)"
    style = f"margin:4px 0;padding:4px 8px;overflow-x:auto;{edge};border-radius:6px;color:inherit"
    return f'<pre style="{style}">{escape(source.rstrip(), quote=False)}</pre>'


def dots(marks: Sequence[str], said: str) -> str:
    """A row of small seals, one for each exercise, with its meaning in words."""
    row = "".join(seal(mark, ".7em") for mark in marks)
    style = "display:inline-flex;flex-wrap:wrap;gap:5px;align-items:center"
    return f'<span role="img" aria-label="{escape(said)}" style="{style}">{row}</span>'
