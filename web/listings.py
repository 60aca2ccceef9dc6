"""Code and what it prints on a page: each line is a box, so that it can go on below itself where a page is narrow.

What is no idea of the lesson is softer: an import, and an assertion that only holds a sentence to its number.
"""

import re

LISTING = re.compile(r"(<pre>)<span></span>(.*?)\n(</pre>)", re.DOTALL)
BEGINS = {
    "claim": re.compile(r'<span class="k(?:n|">assert)'),
    "print": re.compile(r'\s*<span class="nb">print<'),
}
TAG = re.compile(r"<[^>]+>")
COLUMNS = re.compile(r"\S {2,}\S|^\s*[\[(|].*\d", re.MULTILINE)  # which stand below each other


def with_lines(body: str) -> str:
    """A page's HTML in which each line of its code and prints is a box."""
    return LISTING.sub(lined, body)


def lined(found: re.Match[str]) -> str:
    opening, text, closing = found.groups()
    if "<span class" not in text and COLUMNS.search(text):  # a print
        opening = '<pre class="columns">'
    return opening + "".join(map(line, text.split("\n"))) + closing


def line(html: str) -> str:
    code = TAG.sub("", html)
    indented = len(code) - len(code.lstrip())
    style = f' style="--in:{indented}"' if indented and code.strip() else ""
    return f'<span class="{" ".join(["line", *kinds(html, code)])}"{style}>{html}\n</span>'


def kinds(html: str, code: str) -> list[str]:
    """What a line is beside code, if all of it stands on it: a claim or an import, which are soft, or a print."""
    if not all(code.count(one) == code.count(other) for one, other in ("()", "[]", "{}")):
        return []
    return [kind for kind, begins in BEGINS.items() if begins.match(html)]
