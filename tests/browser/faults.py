"""What a person would see go wrong in a notebook that is open in a browser."""

import re
from pathlib import Path

from tests.browser.lab import DARK, LIGHT, OpenNotebook

CONTRAST = Path(__file__).with_name("contrast.js").read_text()
SHOWN_WITHOUT_MODEL = re.compile("Error displaying widget|[Mm]odel not found")
NOT_LIVE = "[...cell.node.querySelectorAll('*')].some(e => /^tl-/.test(e.localName) && !e.querySelector('.tl-view'))"


def faults(notebook: OpenNotebook, above: int | None = None) -> dict[str, list]:
    """What went wrong since this was last asked; the cells are counted from 1, and those `above` one must have run."""
    texts = notebook.cells("cell.node.innerText")
    errors = notebook.cells("cell.node.querySelector('[data-mime-type$=\"jupyter.error\"], [data-mime-type$=stderr]')")
    not_live = notebook.cells(NOT_LIVE)
    not_run = notebook.cells("cell.model.type === 'code' && !cell.model.executionCount")[:above]
    pictures = notebook.cells("[...cell.node.querySelectorAll('img')].map(image => [image.alt, image.naturalWidth])")
    found = {
        "error or stderr": [number for number, error in enumerate(errors, start=1) if error],
        "not run": [number for number, waits in enumerate(not_run, start=1) if waits],
        "widget without its model": [n for n, text in enumerate(texts, start=1) if SHOWN_WITHOUT_MODEL.search(text)],
        "view not live": [number for number, still in enumerate(not_live, start=1) if still],
        "picture not loaded": [alt for cell in pictures for alt, width in cell if not width],
        "console error": notebook.new_errors(),
        "request to another machine": notebook.new_strangers(),
    }
    return {fault: places for fault, places in found.items() if places}


def hard_to_read(notebook: OpenNotebook) -> dict[str, list[str]]:
    """For each theme the texts in outputs that are hard to read. The theme that is on comes first; the other stays."""
    found, on = {}, notebook.page.evaluate("document.body.dataset.jpThemeName")
    for theme in sorted((LIGHT, DARK), key=lambda theme: theme != on):
        notebook.use_theme(theme)
        found[theme] = notebook.page.evaluate(CONTRAST)
    return {theme: texts for theme, texts in found.items() if texts}
