"""Code and what it prints on a page: each line is a box, so that it can go on below itself where a page is narrow.

It does so at a space, after a bracket or a comma and before the method of what a call gave, but never within a name.

What is no idea of the lesson is softer: an import, and an assertion that only holds a sentence to its number. A long
function that says in a sentence what it does, and of which the prose does not speak, is folded to this sentence. What
is long on a phone is folded there.
"""

import re
from collections.abc import Iterator
from functools import partial
from html import unescape

from prints import MARGIN, SLIM, typeset
from walls import way_to_all

LISTING = re.compile(
    r'(?P<said>output (?:stream|text_plain)[^>]*>\s*<div class="highlight">)?<pre><span></span>(?P<text>.*?)\n</pre>',
    re.DOTALL,
)
BEGINS = {
    "claim": re.compile(r'<span class="k(?:n|">assert)'),
    "print": re.compile(r'\s*<span class="nb">print<'),
}
DEFINED = re.compile(r"(?:def|class) (\w+)")
ONE_LINE = re.compile(r'\s+""".*"""$')  # a docstring
BESIDE_TEXT = 86  # letters of code that is no wider than the text, so that what it prints can stand in the margin
WIDEST = 80  # letters of a line in columns: what is longer is a text
APART = re.compile(r"\S {2,}\S")
TRAINS = re.compile(r"\boptimizer\.step\(\)")
LONG = 7  # lines of a function below what it says of itself
NEW_LINE = "\n"
WORD = re.compile(r"\w+")
TAG = re.compile(r"<[^>]+>")
INLINE = re.compile(r'<code class="[^"]*literal[^"]*">.*?</code>', re.DOTALL)
IN_A_NAME = re.compile(r"(?<=[\w)])([_.])(?=[A-Za-z])(?![^<]*>)")  # after which inline code may go on below
BRACKET = re.compile(r'(<span class="p">[^<]*[(\[{,]</span>)(?=\S)')
CHAIN = re.compile(r'(?<=[)\]]</span>)(?=<span class="o">\.</span>)')  # a method of what a call gave


def with_lines(body: str) -> str:
    """A page's HTML in which each line of its code and prints is a box."""
    prose = words(re.sub("<pre>.*?</pre>", " ", body, flags=re.DOTALL))
    named = words(" ".join(INLINE.findall(body)))
    body = INLINE.sub(lambda found: IN_A_NAME.sub(r"\1<wbr>", found[0]), body)
    return LISTING.sub(partial(lined, prose=prose, named=named), body)


def words(html: str) -> set[str]:
    return set(WORD.findall(TAG.sub(" ", html).lower()))


def lined(found: re.Match[str], prose: set[str], named: set[str]) -> str:
    said, text = found["said"] or "", found["text"]
    if said:
        return said + (typeset(text) or kept(text))
    html, at = "", 0
    lines = text.split(NEW_LINE)
    code = [unescape(TAG.sub("", one)) for one in lines]
    pre = f'<pre class="{SLIM}">' if widest(lines) <= BESIDE_TEXT else "<pre>"
    for name, begin, end, is_told in long_bodies(code):
        if name.lower() not in (prose if is_told else named):
            count = sum(bool(TAG.sub("", one).strip()) for one in lines[begin:end])
            summary = f'<summary aria-label="{count} more lines of {name}" data-more="{count} more lines"></summary>'
            body = f'<details class="rest">{summary}{pre}{boxes(lines[begin:end])}</pre></details>'
            html, at = f"{html}{pre}{boxes(lines[at:begin])}</pre>{body}", end
    if at == 0:
        return f"{pre}{boxes(lines)}</pre>{way_to_all(code)}"
    return html + (f"{pre}{boxes(lines[at:])}</pre>" if at < len(lines) else "")


def kept(text: str) -> str:
    """A print in the letters of code: in columns, where letters stand below others, else as lines that may wrap."""
    lines = text.split(NEW_LINE)
    is_table = widest(lines) <= WIDEST and any(APART.search(one.strip()) for one in lines)
    kinds = ["columns"] if is_table else []
    kinds += [SLIM] if widest(lines) <= MARGIN else []
    return f'<pre class="{" ".join(kinds)}">{boxes(lines)}</pre>'


def widest(lines: list[str]) -> int:
    return max(len(unescape(TAG.sub("", one))) for one in lines)


def long_bodies(code: list[str]) -> Iterator[tuple[str, int, int, bool]]:
    """The functions and classes that go on for long below what says what they do: name, from, to, whether a docstring.

    That is a docstring of a line, or the signature of a function that trains.
    """
    for at, text in enumerate(code):
        if not (found := DEFINED.match(text)):
            continue
        after = range(at + 1, len(code))
        end = next((i for i in after if code[i] and code[i][0] not in " )"), len(code))
        begin = next((i for i in after if code[i - 1].endswith(":")), end)
        is_told = begin < end and bool(ONE_LINE.match(code[begin]))
        body = code[begin + is_told : end]
        if (is_told or TRAINS.search(NEW_LINE.join(body))) and sum(bool(one.strip()) for one in body) >= LONG:
            yield found[1], begin + is_told, end, is_told


def boxes(lines: list[str]) -> str:
    return "".join(map(line, lines))


def line(html: str) -> str:
    code = TAG.sub("", html)
    indented = len(code) - len(code.lstrip())
    style = f' style="--in:{indented}"' if indented and code.strip() else ""
    breaking = CHAIN.sub("<wbr>", BRACKET.sub(r"\1<wbr>", html))
    return f'<span class="{" ".join(["line", *kinds(html, code)])}"{style}>{breaking}\n</span>'


def kinds(html: str, code: str) -> list[str]:
    """What a line is beside code, if all of it stands on it: a claim or an import, which are soft, or a print."""
    if not all(code.count(one) == code.count(other) for one, other in ("()", "[]", "{}")):
        return []
    return [kind for kind, begins in BEGINS.items() if begins.match(html)]
