"""What a notebook shows as it is opened: not run yet, and trusted or not."""

import re
from pathlib import Path

import nbformat
from nbformat.sign import NotebookNotary
from playwright.sync_api import expect

from tests.browser.lab import OpenNotebook, until

SCRIPT, TAG, TEXT = re.compile("<script.*?</script>", re.DOTALL), re.compile("<([a-z][^>]*)>"), re.compile('"[^"]*"')
CHECK_OF_OWN_ANSWER = r"\bexercises\.(\w+)\.check\(\1\)"
UNFOLD = "(cell.outputHidden = false)"  # what is folded until it has been predicted
LOADED = "[...cell.node.querySelectorAll('img')].filter(image => image.naturalWidth).length"


def signed(path: Path, lab_folder: Path, trusted: bool) -> None:
    """Have the servers in the folder trust a notebook, or not."""
    notary = NotebookNotary(data_dir=str(lab_folder / "data"))
    (notary.sign if trusted else notary.unsign)(nbformat.read(path, as_version=4))


def as_stored(notebook: OpenNotebook, path: Path, trusted: bool) -> None:
    """Every picture is shown, each exercise says that it waits, and views are live if the notebook is trusted."""
    stored = nbformat.read(path, as_version=4)
    assert all(notebook.cells("cell.model.type !== 'code' || cell.model.trusted")) == trusted
    expect(notebook.page.locator(".tl-view")).to_have_count(trusted * str(stored).count("<tl-"))
    notebook.cells(UNFOLD)
    pictures = [i for i, cell in enumerate(stored.cells) if has_picture(cell)]
    until(notebook.page, lambda: all(map(notebook.cells(LOADED).__getitem__, pictures)))
    checks = [number for number, cell in enumerate(stored.cells) if re.search(CHECK_OF_OWN_ANSWER, cell.source)]
    shown = notebook.cells("cell.outputArea?.node.innerText")
    assert [number for number in checks if "Not attempted yet" not in shown[number]] == [], "each exercise waits"


def has_picture(cell: nbformat.NotebookNode) -> bool:
    data = [output.get("data", {}) for output in cell.get("outputs", [])]
    return any("image/png" in d or "<img" in d.get("text/html", "") for d in data) or "![" in cell.source


def kinds(path: Path) -> set[str]:
    """What stands in a notebook's outputs and texts: types, and tags, each with the names of its attributes."""
    cells = nbformat.read(path, as_version=4).cells
    data = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    pages = [SCRIPT.sub("", one) for one in (*texts, *(d.get("text/html", "") for d in data))]
    tags = {" ".join(sorted(TEXT.sub("", tag).split())) for page in pages for tag in TAG.findall(page)}
    return tags | {kind for d in data for kind in d}


def of_every_kind(paths: list[Path]) -> list[Path]:
    """So few notebooks that all that stands in any, tags and types, stands in one of them."""
    stands = {path: kinds(path) for path in paths}
    left, found = set().union(*stands.values()), []
    while left:
        found.append(max(stands, key=lambda path: len(stands[path] & left)))
        left -= stands[found[-1]]
    return found
