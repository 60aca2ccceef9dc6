"""Examples of every view, as a reader would make them; the tests of all views, in Python and in a browser, use them.

A module here is named after the view's kind and defines

- SET_UP: code that a first cell runs,
- SHOW: for each example its name and the expression that shows it,
- START: for each example a function that computes, with torch, what it must show at first, as the script's `el.values`
  gives it back.

Nothing is computed at import: some examples train a model.
"""

import functools
import importlib
from pathlib import Path

from transformer_lab.widgets import View

MODULES = {
    path.stem: importlib.import_module(f"{__name__}.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))
}
SET_UP = "\n".join(module.SET_UP.strip() for module in MODULES.values())
SHOW: dict[str, str] = {name: code for module in MODULES.values() for name, code in module.SHOW.items()}


@functools.cache
def data() -> dict:
    """What the set-up defines."""
    names: dict = {}
    exec(SET_UP, names)
    return names


def make(name: str) -> View:
    """The view of an example, made anew."""
    return eval(SHOW[name], data())


@functools.cache
def html(name: str) -> str:
    """The output of an example: drawing its picture takes the longest of all that the tests do with it."""
    return make(name).html()


@functools.cache
def start(name: str):
    """What an example must show at first."""
    return next(module.START[name]() for module in MODULES.values() if name in module.START)
