"""Interactive views of the lessons."""

from transformer_lab.widgets.sliders import SliderView, slider_view

__all__ = ["SliderView", "slider_view"]
