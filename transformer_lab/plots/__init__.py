"""All static figures of the notebooks: `plot_*(…, ax=None)` draws on the given axes, or on new ones, and returns them.

    figure, (left, right) = plots.figure(width=8, height=3.5, columns=2)
    plots.plot_attention(weights, tokens, tokens, ax=left)
    plots.show(figure, "what the figure shows, for those who can't see it")

Inputs may be tensors (on any device, in any precision, with a gradient), arrays or lists; none is changed. Figures are
cards of paper, which are dark in a dark notebook, and stay out of pyplot's list of open figures.

In reading order: `curves`, `maps`, `charts` (as the views draw them), `picture`, `dark_theme`, `checks`.
"""

from transformer_lab.plots.curves import plot_bars, plot_lines, plot_runs, plot_vectors
from transformer_lab.plots.maps import plot_amounts, plot_attention, plot_matrix
from transformer_lab.plots.picture import Picture, figure, show

__all__ = [
    "Picture",
    "figure",
    "plot_amounts",
    "plot_attention",
    "plot_bars",
    "plot_lines",
    "plot_matrix",
    "plot_runs",
    "plot_vectors",
    "show",
]
