"""A view as an ipywidget, for numbers that the kernel computes while the reader plays: anywidget hosts its module.

An HTML-first view needs no kernel and no widget, and leaves a picture; so that is what lessons show.
"""

from functools import cache

from transformer_lab.widgets.bundle import bundle


@cache
def host_class(name: str) -> type:
    """The class of widgets that host one module; anywidget is loaded with the first one."""
    import anywidget
    import traitlets

    class Hosted(anywidget.AnyWidget):
        """A module, and the state that it reads."""

        module = name
        _esm = f"{bundle(name, 'hosted')}export default hosted(view);\n"
        state = traitlets.Dict().tag(sync=True)

        def show(self, view) -> None:
            """Show another view of the same kind.

            Raises:
                ValueError: the view is of another kind.
            """
            if view.module != self.module:
                raise ValueError(f"a widget shows views of one kind, {self.module} (this one is {view.module})")
            self.state = view.sent

    return Hosted
