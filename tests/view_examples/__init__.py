"""Examples of every view, as a reader would make them; the tests of all views, in Python and in a browser, use them.

A module here is named after the view's module and defines

- SET_UP: code that a first cell runs,
- SHOW: for each example its name and the expression that shows it,
- START: for each example what torch says that it must show at first, as the script's `el.values` gives it back.
"""

import importlib
from pathlib import Path

MODULES = {
    path.stem: importlib.import_module(f"{__name__}.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))
}
SET_UP = "\n".join(module.SET_UP.strip() for module in MODULES.values())
SHOW: dict[str, str] = {name: code for module in MODULES.values() for name, code in module.SHOW.items()}
START: dict[str, object] = {name: values for module in MODULES.values() for name, values in module.START.items()}

data: dict = {}
exec(SET_UP, data)


def make(name: str):
    """The view of an example."""
    return eval(SHOW[name], data)
