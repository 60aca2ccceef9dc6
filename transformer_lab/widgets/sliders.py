"""Sliders over a picture: the figure is drawn again, by the kernel, for each position of a slider."""

from collections.abc import Callable

import ipywidgets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_lab.plots import show


class SliderView:
    """Sliders above a picture that follows them; where no kernel runs, the picture at their start.

    `sliders` holds the ipywidgets sliders by name: set `.value` to move one from code.
    """

    def __init__(self, draw: Callable[..., Figure | Axes], alt: str, ranges: dict[str, tuple[float, float, float]]):
        for name, (low, high, start) in ranges.items():
            if not low <= start <= high:
                raise ValueError(f"a slider's start must lie within its range ({name}: {low} to {high}, start {start})")
        self.draw, self.alt = draw, alt
        self.sliders = {name: slider(name, *limits) for name, limits in ranges.items()}
        self.start = self.current()
        self.image = ipywidgets.Image(value=self.start.png(), width=self.start.width)
        for each in self.sliders.values():
            each.observe(self.redraw, names="value")
        self.box = ipywidgets.VBox([*self.sliders.values(), self.image])

    def current(self):
        """The picture at the sliders' present positions."""
        return show(self.draw(**{name: each.value for name, each in self.sliders.items()}), self.alt)

    def redraw(self, change: dict) -> None:
        self.image.value = self.current().png()

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        data, metadata = self.start._repr_mimebundle_()
        return self.box._repr_mimebundle_() | data, metadata


def slider(name: str, low: float, high: float, start: float) -> ipywidgets.FloatSlider:
    step = (high - low) / 80
    return ipywidgets.FloatSlider(value=start, min=low, max=high, step=step, description=name)


def slider_view(draw: Callable[..., Figure | Axes], alt: str, **ranges: tuple[float, float, float]) -> SliderView:
    """Show the figure that `draw` returns, with a slider for each of its arguments: `name=(low, high, start)`.

    `alt` says what the figure shows, for those who can't see it.

    Raises:
        ValueError: alt is empty, or a start lies outside its range.
    """
    return SliderView(draw, alt, ranges)
