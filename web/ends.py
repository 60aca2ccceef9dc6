"""The end of a lesson's page: what to remember closes it, and its Extras follow, each folded behind its heading.

It is Sphinx's tree of the page that is rearranged, so that headings keep their addresses and count their levels anew.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

CLOSES, MORE = "<!-- the lesson closes -->", "<!-- and there is more -->"
EXTRA = "Extra: "
LINK = re.compile(r'(<summary>\s*<h3>.*?)<a class="headerlink".*?</a>', re.DOTALL)  # it would be a way within a way
SENTENCE = re.compile(r".{20,150}?[.?!:](?= |$)")
PLACE = 'data-place="{}"'
COUNTED = ("view", "exercise")


def arrange(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Put what is to be remembered at the end of a lesson, and its Extras after it, between marks."""
    whole = next(iter(doctree.findall(nodes.section)), None)
    parts = {} if whole is None else {one["ids"][0]: one for one in whole if isinstance(one, nodes.section)}
    if whole is None or "remember" not in parts:
        return
    extras = [one for id_, one in parts.items() if id_.startswith("extra-")]
    for one in (parts["remember"], *extras):
        whole.remove(one)
    whole += [as_html(CLOSES), parts["remember"], as_html(MORE)]
    if extras:
        more = nodes.section("", nodes.title("", "If you want more"), ids=["more"], classes=["extras"])
        more += extras
        whole += more
    for one in extras:
        fold(one)


def fold(extra: nodes.section) -> None:
    """Have an Extra behind one line: its heading, what it begins with, and how many views and exercises it has."""
    title, text = extra[0], extra[1]
    if isinstance(title[0], nodes.Text) and title[0].startswith(EXTRA):
        title[0] = nodes.Text(capitalised(title[0].removeprefix(EXTRA)))
    inside = "".join(one.astext() for one in extra.findall(nodes.raw))
    counts = [f"{n} {what}{'s' * (n > 1)}" for what in COUNTED if (n := inside.count(PLACE.format(what)))]
    summary = nodes.inline("", " · ".join(counts), classes=["counts"]) if counts else nodes.inline()
    begins = nodes.inline("", first_sentence(text), classes=["begins-with"])
    extra[:1] = [as_html("<details><summary>"), title, begins, summary, as_html("</summary>")]
    extra += as_html("</details>")


def first_sentence(text: nodes.Node) -> str:
    """The first sentence of a paragraph, if it is short and has no formula."""
    if not isinstance(text, nodes.paragraph):
        return ""
    until = next((i for i, one in enumerate(text) if isinstance(one, nodes.math)), len(text))
    found = SENTENCE.match("".join(one.astext() for one in text[:until]).replace("\n", " "))
    return re.sub(":$", ".", found[0]) if found else ""


def parted(body: str) -> dict[str, Any]:
    """The HTML of a page in its parts: the lesson, what closes it, and what there is more."""
    text, closes, rest = body.partition(CLOSES)
    if not closes:
        return {"body": body, "answer": "", "more": ""}
    answer, _, more = rest.partition(MORE)
    return {"body": f"{text}</section>", "answer": answer, "more": LINK.sub(r"\1", more.rpartition("</section>")[0])}


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def as_html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")
