"""The scripts of the views that a notebook has stored: each output of a view holds the whole script of its day."""

import re
from collections.abc import Iterator

from nbformat import NotebookNode

from transformer_lab.widgets.shared.view import script_of, tag_of

STORED = re.compile(r'(<script type="module">const TAG="(tl-(\w+)-[0-9a-f]{8})";).*?(?=</script>)', re.DOTALL)


def refresh(cell: NotebookNode) -> None:
    """Give the views in a cell's outputs the scripts that are built now; their pictures and states stay."""
    for output in outputs_with_views(cell):
        output.data["text/html"] = refreshed(output.data["text/html"])


def are_present(cell: NotebookNode) -> bool:
    """Whether the views in a cell's outputs have the scripts that are built now."""
    htmls = [output.data["text/html"] for output in outputs_with_views(cell)]
    return htmls == [refreshed(html) for html in htmls]


def outputs_with_views(cell: NotebookNode) -> Iterator[NotebookNode]:
    return (output for output in cell.get("outputs", []) if STORED.search(output.get("data", {}).get("text/html", "")))


def refreshed(html: str) -> str:
    """The HTML of an output with the present scripts. A tag tells one script from another, so it changes, too."""
    tags = {found[2]: tag_of(found[3]) for found in STORED.finditer(html)}
    html = STORED.sub(lambda found: found[1] + script_of(found[3]), html)
    for old, new in tags.items():
        html = html.replace(old, new)
    return html
