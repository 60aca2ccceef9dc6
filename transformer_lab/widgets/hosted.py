"""A view as an ipywidget, for numbers that the kernel computes while the reader plays: anywidget hosts the same module.

An HTML-first view needs no kernel and no widget, and leaves a picture; so that is what lessons show.
"""

from functools import cache

from transformer_lab.widgets.kit import View, bundle


def hosted(view: View):
    """The view as a widget; its `show(another)` puts other numbers of the same kind in its place.

    It goes with other ipywidgets, for instance `slider.observe(lambda _: widget.show(widgets.heads(…)), "value")`.
    """
    return host_class(view.module)(state=view.state)


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

        def show(self, view: View) -> None:
            """Show another view of the same kind.

            Raises:
                ValueError: the view is of another kind.
            """
            if view.module != self.module:
                raise ValueError(f"a widget shows views of one kind, {self.module} (this one is {view.module})")
            self.state = view.state

    return Hosted
