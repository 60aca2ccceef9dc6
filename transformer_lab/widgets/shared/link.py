"""The kernel behind a view, for what only Python can compute: a translation by a model, a training run.

The output is an HTML-first view as any other, live in itself; beside its state it holds nothing of the kernel's but a
key. The page's end of the link is an anywidget model that is never displayed, which the view finds by that key. So no
notebook stores a widget, and one that is opened without its kernel shows its views as they were, not "model not found".
"""

import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from secrets import token_hex
from typing import Any


def running_kernel() -> Any:
    """The Jupyter kernel that runs this process, or None."""
    if "IPython" not in sys.modules:
        return None
    return getattr(sys.modules["IPython"].get_ipython(), "kernel", None)


@cache
def link_class() -> type:
    """The class of links, for which anywidget is loaded when the first one is made."""
    import anywidget
    import traitlets

    class Link(anywidget.AnyWidget):
        """The Python end of a link: `send` and `on_msg` carry messages, and the page can read traits at any time."""

        _esm = files(__package__).joinpath("link.js").read_text("utf-8")
        key = traitlets.Unicode().tag(sync=True)

    return Link


def connect(hear: Callable[[dict], None], **shared: dict) -> Any:
    """A link to the page, or None if no kernel runs.

    `hear` is called with each message of the page, on the main thread, while no cell runs. `shared` are dictionaries
    that the page can read, by name; bytes in them travel as bytes. To share another one assign to `link.<name>`.
    """
    kernel = running_kernel()
    if kernel is None:
        return None
    import traitlets

    link = link_class()(key=token_hex(8))
    link.add_traits(**{name: traitlets.Dict(value).tag(sync=True) for name, value in shared.items()})
    link.on_msg(lambda _, content, buffers: on_main_thread(kernel, lambda: hear(content)))
    return link


def on_main_thread(kernel: Any, act: Callable[[], None]) -> None:
    """Act now or, on another thread, once the main one has finished its cell, so that a model never does two things."""
    if threading.current_thread() is threading.main_thread():
        act()
    else:
        kernel.io_loop.add_callback(act)
