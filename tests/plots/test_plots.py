"""Figures: what is drawn is what was given, what would lie is refused, and a picture carries its description."""

import base64
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest
import torch
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from tests.support import DEVICE, tensor
from transformer_lab import plots
from transformer_lab.plots.picture import FONTS, NOTHING, SHARPNESS

QUERIES, KEYS = ["a", "b"], ["x", "y", "z"]
# Query a copies key z; query b looks at x and y. Two queries, three keys: a swapped axis can't pass.
WEIGHTS = [[0.0, 0.0, 1.0], [0.25, 0.75, 0.0]]
SVG = "{http://www.w3.org/2000/svg}"
COPY = [[0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]


def labels(ticks) -> list[str]:
    return [label.get_text() for label in ticks]


def cells(ax: Axes) -> dict:
    """Return the words in each cell by (row, column)."""
    return {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in ax.texts}


def contrast(one, other) -> float:
    """Return the WCAG 2 contrast ratio of two colours."""

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


# Attention: numbers worked by hand.


def test_attention_rows_are_queries_and_columns_are_keys():
    ax = plots.plot_attention(tensor(WEIGHTS), QUERIES, KEYS)
    assert ax.images[0].get_array().tolist() == WEIGHTS
    assert labels(ax.get_yticklabels()) == QUERIES
    assert labels(ax.get_xticklabels()) == KEYS
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    top_left = ax.transData.transform((0, 0))
    assert ax.transData.transform((0, 1))[1] < top_left[1]  # row 1 lies below row 0
    assert ax.transData.transform((1, 0))[0] > top_left[0]  # column 1 lies to the right of column 0


def test_attention_prints_each_weight_in_its_cell():
    ax = plots.plot_attention(tensor(WEIGHTS), QUERIES, KEYS)
    written = {(0, 0): "0.00", (0, 1): "0.00", (0, 2): "1.00", (1, 0): "0.25", (1, 1): "0.75", (1, 2): "0.00"}
    assert cells(ax) == written


def test_a_copy_pattern_leaves_the_paper_only_where_the_query_copies():
    ax = plots.plot_attention(tensor(COPY), list("abc"), list("vwxyz"))
    file = io.BytesIO()
    ax.figure.savefig(file, dpi=ax.figure.dpi)
    pixels = np.asarray(Image.open(file).convert("RGB"), dtype=float)

    def brightness(row, column):
        x, y = ax.transData.transform((column - 0.3, row - 0.3))  # beside the number
        return pixels[pixels.shape[0] - 1 - round(y), round(x)].sum()

    seen = [[brightness(row, column) < 600 for column in range(5)] for row in range(3)]
    assert seen == [[bool(weight) for weight in row] for row in COPY]


def test_the_colour_scale_is_the_same_for_all_weights():
    for weights in (WEIGHTS, [[1 / 3] * 3] * 2):
        assert plots.plot_attention(weights, QUERIES, KEYS).images[0].get_clim() == (0, 1)


def test_a_query_that_may_attend_to_nothing_is_hatched():
    ax = plots.plot_attention(tensor([[0.0, 0, 0], [0.2, 0.3, 0.5]]), QUERIES, KEYS)
    (patch,) = ax.patches
    assert (patch.get_hatch(), patch.get_xy(), patch.get_width(), patch.get_height()) == ("///", (-0.5, -0.5), 3, 1)


def test_what_a_mask_hides_is_hatched_and_is_not_a_weight_of_0():
    mask = [[True, False, False], [True, True, True]]
    ax = plots.plot_attention(tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0]]), QUERIES, KEYS, mask=tensor(mask))
    (patch,) = ax.patches
    assert (patch.get_hatch(), patch.get_xy(), patch.get_width()) == ("///", (0.5, -0.5), 2)
    assert cells(ax) == {(0, 0): "1.00", (1, 0): "0.25", (1, 1): "0.75", (1, 2): "0.00"}


def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(
        ValueError, match=r"^mask must have shape \(len\(query_tokens\), len\(key_tokens\)\) = \(2, 3\) "
    ):
        plots.plot_attention(tensor(WEIGHTS), QUERIES, KEYS, mask=[[True, True, True]])


def test_many_weights_get_a_colour_bar_instead_of_numbers():
    ax = plots.plot_attention(torch.eye(9), list("abcdefghi"), list("ABCDEFGHI"))
    assert not ax.texts
    assert [other.get_ylabel() for other in ax.figure.axes] == ["query", "weight"]


@pytest.mark.parametrize("value", np.linspace(0, 1, 21))
def test_numbers_contrast_with_their_cells(value):
    ax = plots.plot_attention([[value, 1 - value]], ["a"], ["x", "y"])
    fills = ax.images[0].to_rgba(ax.images[0].get_array())
    assert all(contrast(text.get_color(), fills[0, i, :3]) >= 4.5 for i, text in enumerate(ax.texts))


def test_tokens_are_shown_as_they_are_written():
    ax = plots.plot_attention(tensor(WEIGHTS), ["$5 and $6", "b_1"], ["</s>", "^", "{"])
    plots.show(ax, "odd tokens")
    assert labels(ax.get_yticklabels()) == ["$5 and $6", "b_1"]
    assert not any(label.get_parse_math() for label in [*ax.get_xticklabels(), *ax.get_yticklabels()])


# Attention: what would lie is refused.


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (torch.ones(3) / 3, "weights must be 2-D: rows, columns (its shape is (3,))"),
        (
            torch.ones(1, 4, 2, 3) / 3,
            "weights must be 2-D: rows, columns (its shape is (1, 4, 2, 3); choose one matrix, as in weights[0, 0])",
        ),
        (
            torch.ones(3, 2) / 2,
            "weights must have shape (len(query_tokens), len(key_tokens)) = (2, 3) "
            "(it has (3, 2): that is the transpose)",
        ),
        (
            torch.ones(2, 4) / 4,
            "weights must have shape (len(query_tokens), len(key_tokens)) = (2, 3) (it has (2, 4))",
        ),
        ([[0.5, 0.5, 0.0], [1.5, 0.0, -0.5]], "weights must be at least 0 and finite (row 1, column 2 is -0.5)"),
        ([[0.5, float("nan"), 0.5], [1, 0, 0]], "weights must be at least 0 and finite (row 0, column 1 is nan)"),
        ([[1, 0, 0], [float("inf"), 0, 0]], "weights must be at least 0 and finite (row 1, column 0 is inf)"),
        (
            [[1.0, 0, 0], [0.0, 1.1111, 0.5556]],
            "each row of weights must sum to 1 (row 1 sums to 1.667; dropout changes the sums, "
            "so draw weights of a model in eval())",
        ),
        (
            [[0.25, 0.5, 1.0], [0.75, 0.5, 0.0]],
            "each row of weights must sum to 1 (row 0 sums to 1.75; every column does: is it the transpose, "
            "or softmax over the queries?)",
        ),
    ],
)
def test_attention_refuses(weights, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        plots.plot_attention(weights, QUERIES, KEYS)


def test_dropout_is_refused_and_eval_is_not():
    dropout = torch.nn.Dropout(0.5)
    torch.manual_seed(0)
    weights = torch.softmax(torch.randn(2, 3), dim=-1)
    with pytest.raises(ValueError, match=r"dropout changes the sums"):
        plots.plot_attention(dropout(weights), QUERIES, KEYS)
    plots.plot_attention(dropout.eval()(weights), QUERIES, KEYS)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_softmax_of_every_precision_is_accepted_and_a_tenth_too_much_is_not(dtype):
    generator = torch.Generator().manual_seed(0)
    weights = torch.softmax(3 * torch.randn(40, 50, generator=generator).to(dtype), dim=-1)
    tokens = [f"{i}" for i in range(50)]
    plots.plot_attention(weights, tokens[:40], tokens)
    with pytest.raises(ValueError, match="must sum to 1"):
        plots.plot_attention(weights * 1.1, tokens[:40], tokens)


def test_weights_rounded_by_hand_to_four_digits_are_accepted():
    worked = [[0.2992, 0.5329, 0.1679], [0.2228, 0.7070, 0.0702], [0.2645, 0.2645, 0.4711]]  # row 2 sums to 1.0001
    plots.plot_attention(worked, KEYS, KEYS)


# Amounts.


def test_amounts_have_the_colours_of_weights_from_0_to_the_largest():
    ax = plots.plot_amounts(tensor([[0.0, 1.5, 3.0], [0.5, 2.0, 0.0]]), QUERIES, KEYS)
    assert ax.images[0].get_clim() == (0, 3)
    assert ax.images[0].get_cmap().name == "amounts"  # as attention weights have
    assert [text.get_text() for text in ax.texts] == ["0.00", "1.50", "3.00", "0.50", "2.00", "0.00"]


def test_amounts_that_are_all_0_have_a_scale():
    assert plots.plot_amounts(torch.zeros(2, 3), QUERIES, KEYS).images[0].get_clim() == (0, 1)


@pytest.mark.parametrize("value", [-0.5, float("nan")])
def test_amounts_below_0_are_refused(value):
    with pytest.raises(ValueError, match=f"^amounts must be at least 0 \\(the smallest value is {value}\\)$"):
        plots.plot_amounts([[1, 2, 3], [0, value, 1]], QUERIES, KEYS)


# Matrices.


def test_a_matrix_is_drawn_with_zero_in_the_middle_of_the_colours():
    ax = plots.plot_matrix(tensor([[0.0, 1.5, -0.001], [-3.0, 2.0, 0.5]]), QUERIES, KEYS)
    assert ax.images[0].get_clim() == (-3, 3)
    assert (labels(ax.get_yticklabels()), labels(ax.get_xticklabels())) == (QUERIES, KEYS)
    written = ["0.00", "1.50", "0.00", "-3.00", "2.00", "0.50"]
    assert list(cells(ax).values()) == written
    red, _, blue, _ = ax.images[0].to_rgba(-3.0)
    assert red > blue  # negative is red


def test_masked_scores_are_hatched_and_have_no_number():
    ax = plots.plot_matrix(tensor([[1.0, float("-inf")], [2.0, -4.0]]), ["a", "b"], ["x", "y"])
    assert ax.images[0].get_clim() == (-4, 4)
    assert set(cells(ax)) == {(0, 0), (1, 0), (1, 1)}
    (patch,) = ax.patches
    assert (patch.get_hatch(), patch.get_xy(), patch.get_width()) == ("///", (0.5, -0.5), 1)
    assert ax.images[0].to_rgba(ax.images[0].get_array())[0, 1, :3] == pytest.approx(to_rgb(NOTHING))


@pytest.mark.parametrize("values", [torch.zeros(2, 3), torch.full((2, 3), float("-inf"))])
def test_a_matrix_without_a_largest_value_can_be_drawn(values):
    assert plots.plot_matrix(values, QUERIES, KEYS).images[0].get_clim() == (-1, 1)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_a_map_without_a_row_or_a_column_is_refused(shape):
    for draw in (plots.plot_attention, plots.plot_matrix):
        with pytest.raises(ValueError, match=r"must have at least one row and one column \(its shape is \("):
            draw(np.zeros(shape), QUERIES[: shape[0]], KEYS[: shape[1]])


def test_a_name_of_thousands_of_letters_makes_no_huge_picture():
    names = ["x" * 5000, "y"]
    for drawn in (plots.plot_attention(np.eye(2), names, names), plots.plot_bars({"one": [0.5, 0.5]}, names)):
        assert labels(drawn.get_xticklabels())[0] == "x" * 19 + "…"
        assert Image.open(io.BytesIO(plots.show(drawn, "long").png)).size < (2000, 2000)


def test_numbers_may_be_names():
    ax = plots.plot_attention(np.eye(2), [7, 8], [9, 10])
    assert (labels(ax.get_yticklabels()), labels(ax.get_xticklabels())) == (["7", "8"], ["9", "10"])


def test_of_a_large_map_some_rows_and_columns_are_named_and_no_line_parts_its_cells():
    names = [f"t{i}" for i in range(1000)]
    ax = plots.plot_attention(np.eye(1000), names, names)
    for axis, ticks in ((ax.xaxis, ax.get_xticklabels()), (ax.yaxis, ax.get_yticklabels())):
        assert labels(ticks) == names[::8]
        assert axis.get_ticklocs().tolist() == list(range(0, 1000, 8))
        assert len(axis.get_minor_ticks()) == 0
    assert len(plots.plot_attention(np.eye(128), names[:128], names[:128]).xaxis.get_minor_ticks()) == 127


def test_numbers_stay_within_their_cells_where_these_are_small():
    figure, axes = plots.figure(width=10, height=3.6, columns=3)
    for ax in axes:
        plots.plot_attention(np.full((8, 8), 1 / 8), range(8), range(8), ax=ax)
    figure.draw_without_rendering()
    for ax in axes:
        assert max(text.get_window_extent().width for text in ax.texts) < 0.85 * ax.bbox.width / 8


def test_labels_stand_upright_where_they_would_touch():
    names = ["twenty-", "twenty-", "end"]  # a higher map: its cells are narrower than its axes, at first
    ax = plots.plot_attention(np.full((4, 3), 1 / 3), "abcd", names)
    ax.figure.draw_without_rendering()
    left, right = (label.get_window_extent() for label in ax.get_xticklabels()[:2])
    assert left.x1 + 3 < right.x0


def test_a_blank_label_takes_no_room_from_the_others():
    some = [str(i) if i % 8 == 0 else "" for i in range(64)]
    ax = plots.plot_matrix(np.eye(25, 64), [str(i) for i in range(25)], some, plots.figure(9, 4.2)[1])
    named = ax.get_xticklabels()[8]
    assert (named.get_text(), named.get_rotation(), named.get_fontsize()) == ("8", 0, 10)
    crowded = plots.plot_matrix(np.eye(25, 64), range(25), range(64), plots.figure(9, 4.2)[1]).get_xticklabels()[8]
    assert (crowded.get_rotation(), crowded.get_fontsize() < 7) == (90, True)


def test_a_matrix_of_another_shape_is_refused():
    rule = (
        "values must have shape (len(row_labels), len(column_labels)) = (2, 3) (it has (3, 2): that is the transpose)"
    )
    with pytest.raises(ValueError, match=re.escape(rule)):
        plots.plot_matrix(torch.zeros(3, 2), QUERIES, KEYS)


# Curves and bars.


def test_curves_are_drawn_in_order_and_differ_in_more_than_colour():
    x = [4, 16, 64]
    curves = {"unscaled": [0.2, 0.3, 0.1], "scaled": tensor([0.2, 0.25, 0.5])}
    ax = plots.plot_lines(x, curves, x_label="d_k", y_label="norm", log_x=True)
    assert [line.get_xdata().tolist() for line in ax.lines] == [x, x]
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0.2, 0.3, 0.1], [pytest.approx(0.2), 0.25, 0.5]]
    assert len({line.get_linestyle() for line in ax.lines}) == 2
    assert len({line.get_marker() for line in ax.lines}) == 2
    assert labels(ax.get_legend().get_texts()) == ["unscaled", "scaled"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale(), ax.get_yscale()) == ("d_k", "norm", "log", "linear")
    assert labels(ax.get_xticklabels()) == ["4", "16", "64"]


@pytest.mark.parametrize("names", [("with scale", "without scale", "log"), ("log", "without", "with a cache")])
def test_a_part_is_blue_and_its_absence_vermillion_in_whatever_order(names):
    wanted = {"with": plots.picture.COLOURS[0], "without": plots.picture.COLOURS[1], "log": plots.picture.COLOURS[2]}
    lines = plots.plot_lines([0, 1], {name: [0, 1] for name in names}).lines
    bars = plots.plot_bars({name: [0.5, 0.5] for name in names}, ["a", "b"]).containers
    for name, line, bar in zip(names, lines, bars, strict=True):
        colour = to_rgb(wanted[name.split()[0]])
        assert to_rgb(line.get_color()) == to_rgb(bar.patches[0].get_facecolor()[:3]) == colour


def test_where_nothing_is_without_a_part_colours_follow_the_order():
    lines = plots.plot_lines([0, 1], {"with /": [0, 1], "with //": [1, 2], "right": [0, 0]}).lines
    assert [to_rgb(line.get_color()) for line in lines] == [to_rgb(c) for c in plots.picture.COLOURS[:3]]


@pytest.mark.parametrize(
    ("curves", "options", "message"),
    [
        ({"up": [1, 2]}, {}, "each curve must have len(x) = 3 values ('up' has shape (2,))"),
        ({}, {}, "there must be at least one curve (there is none)"),
        ({"up": [1, 0, 2]}, {"log_y": True}, "log_y needs values above 0 ('up' has 0)"),
        ({"up": [1, float("nan"), 2]}, {"log_y": True}, "log_y needs values above 0 ('up' has nan)"),
        ({"up": [1, 2, 3]}, {"log_x": True}, "log_x needs values above 0 ('x' has 0)"),
    ],
)
def test_curves_refuse(curves, options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        plots.plot_lines([0, 1, 2], curves, **options)


def test_curves_added_to_axes_differ_from_those_that_are_there():
    ax = plots.plot_lines([0, 1], {"loss": [2, 1], "table": [1, 1]})
    plots.plot_lines([0, 1], {"validation": [2, 1.5]}, ax=ax)
    assert [to_rgb(line.get_color()) for line in ax.get_lines()] == [to_rgb(c) for c in plots.picture.COLOURS[:3]]
    assert len({(line.get_linestyle(), line.get_marker()) for line in ax.get_lines()}) == 3


@pytest.mark.parametrize(
    ("curve", "written"),
    [
        ([6.3, 0.9], ["1", "2", "3", "4", "6"]),
        ([0.05, 200], ["0.1", "1", "10", "100"]),
        ([1e-7, 1], ["$\\mathdefault{10^{-7}}$", "$\\mathdefault{10^{-5}}$", "$\\mathdefault{10^{-3}}$"]),
    ],
)
def test_a_logarithmic_axis_says_2_and_not_2_times_10_to_the_0(curve, written):
    ax = plots.plot_lines([0, 1], {"loss": curve}, log_y=True)
    ax.figure.draw_without_rendering()
    low, high = ax.get_ylim()
    ticks = [*ax.yaxis.get_major_ticks(), *ax.yaxis.get_minor_ticks()]
    shown = [tick.label1.get_text() for tick in ticks if low <= tick.get_loc() <= high]
    assert set(written) <= set(shown)


def test_where_a_bar_goes_down_a_line_marks_0():
    assert plots.plot_bars({"cost": [1, -0.1]}, "ab").get_lines()[0].get_ydata() == [0, 0]
    assert not plots.plot_bars({"cost": [1, 0.1]}, "ab").get_lines()


def test_bars_stand_side_by_side_over_their_label():
    ax = plots.plot_bars({"unscaled": [0.75, 0.25, 0.0], "scaled": tensor([0.5, 0.25, 0.25])}, KEYS)
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    assert heights == [[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]]
    middles = [[bar.get_x() + bar.get_width() / 2 for bar in bars] for bars in ax.containers]
    assert middles == [pytest.approx([-0.2, 0.8, 1.8]), pytest.approx([0.2, 1.2, 2.2])]
    assert labels(ax.get_xticklabels()) == KEYS
    assert [text.get_text() for text in ax.texts] == ["0.75", "0.25", "0.00", "0.50", "0.25", "0.25"]
    assert len({bars[0].get_hatch() for bars in ax.containers}) == 2


def test_bars_refuse_a_value_too_few():
    with pytest.raises(
        ValueError, match=re.escape("each group must have len(labels) = 3 values ('one' has shape (2,))")
    ):
        plots.plot_bars({"one": [0.5, 0.5]}, KEYS)


def test_runs_are_dots_in_rows_from_top_to_bottom():
    ax = plots.plot_runs(
        {"whole": [0.1, 0.2], "no mask": tensor([3.0])}, x_label="loss", log_x=True, lines={"chance": 2.0}
    )
    dots = [(line.get_xdata().tolist(), list(line.get_ydata())) for line in ax.lines if line.get_marker() == "o"]
    assert dots == [([0.1, 0.2], [0, 0]), ([3.0], [1])]
    assert labels(ax.get_yticklabels()) == ["whole", "no mask"]
    assert ax.get_ylim() == (1.5, -0.5)
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "loss")
    assert [line.get_xdata() for line in ax.lines if line.get_marker() != "o"] == [[2.0, 2.0]]
    assert [text.get_text() for text in ax.texts] == ["chance"]


def test_runs_refuse():
    with pytest.raises(ValueError, match=re.escape("there must be at least one row of runs (there is none)")):
        plots.plot_runs({})
    with pytest.raises(ValueError, match=re.escape("log_x needs values above 0 ('a' has 0)")):
        plots.plot_runs({"a": [1, 0]}, log_x=True)


def test_vectors_are_arrows_from_the_origin_named_at_their_tips():
    ax = plots.plot_vectors({"query": {"bank": tensor([0.5, 2.0])}, "keys": {"money": [4.5, 0], "$x$": [0, -1]}})
    arrows, names = ax.texts[::2], ax.texts[1::2]
    assert [arrow.xy for arrow in arrows] == [(0.5, 2.0), (4.5, 0.0), (0.0, -1.0)]
    assert {arrow.xyann for arrow in arrows} == {(0, 0)}
    assert labels(names) == ["bank", "money", "$x$"]
    assert [name.xy for name in names] == [arrow.xy for arrow in arrows]
    assert names[0].get_color() != names[1].get_color() == names[2].get_color()
    assert len({line.get_linestyle() for line in ax.lines}) == 2
    assert labels(ax.get_legend().get_texts()) == ["query", "keys"]
    assert ax.get_aspect() == 1
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    assert left < 0 < 4.5 < right
    assert low < -1 < 2 < high


def test_vectors_outside_the_plane_are_refused():
    with pytest.raises(
        ValueError, match=re.escape("each vector must have len(the plane) = 2 values ('up' has shape (3,))")
    ):
        plots.plot_vectors({"one": {"up": [1, 2, 3]}})


# What holds for every figure.

DRAWINGS = {
    "attention": lambda values, ax=None: plots.plot_attention(values, QUERIES, KEYS, ax),
    "matrix": lambda values, ax=None: plots.plot_matrix(values, QUERIES, KEYS, ax),
    "amounts": lambda values, ax=None: plots.plot_amounts(values, QUERIES, KEYS, ax),
    "lines": lambda values, ax=None: plots.plot_lines(values[0] + 1, {"one": values[1]}, ax),
    "bars": lambda values, ax=None: plots.plot_bars({"one": values[0], "two": values[1]}, KEYS, ax),
    "runs": lambda values, ax=None: plots.plot_runs({"one": values[0], "two": values[1]}, ax),
    "vectors": lambda values, ax=None: plots.plot_vectors({"one": {"a": values[0, :2], "b": values[1, :2]}}, ax),
}
each_drawing = pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)


@each_drawing
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_tensors_of_any_kind_are_drawn_and_not_changed(draw, dtype):
    values = tensor(WEIGHTS, dtype=dtype).to(DEVICE).requires_grad_()
    before = values.detach().clone()
    assert isinstance(draw(values), Axes)
    assert torch.equal(values, before)
    assert (values.requires_grad, values.grad) == (True, None)


@each_drawing
def test_arrays_are_drawn_and_not_changed(draw):
    values = np.array(WEIGHTS)
    draw(values)
    assert values.tolist() == WEIGHTS


@each_drawing
def test_drawing_happens_on_the_given_axes(draw):
    figure, (left, right) = plots.figure(columns=2)
    assert draw(np.array(WEIGHTS), ax=right) is right
    assert not left.has_data()
    assert right.has_data()
    assert right.figure is figure


@each_drawing
def test_two_renderings_have_equal_bytes(draw):
    one, two = (plots.show(draw(np.array(WEIGHTS)), "the same") for _ in range(2))
    assert one._repr_mimebundle_() == two._repr_mimebundle_()


@each_drawing
def test_no_setting_outlives_a_drawing_and_pyplot_holds_no_figure(draw):
    before = dict(matplotlib.rcParams)
    plots.show(draw(np.array(WEIGHTS)), "nothing left")
    assert dict(matplotlib.rcParams) == before
    assert not matplotlib.pyplot.get_fignums()


def test_a_figure_has_the_size_and_the_columns_asked_for():
    figure, axes = plots.figure(width=8, height=3, columns=3)
    assert isinstance(figure, Figure)
    assert figure.get_size_inches().tolist() == [8, 3]
    assert axes.shape == (3,)
    assert isinstance(plots.figure()[1], Axes)


# Pictures.


def picture(alt='query "a" looks at z & <b>') -> plots.Picture:
    return plots.show(plots.plot_matrix(tensor(WEIGHTS), QUERIES, KEYS), alt)


def test_a_picture_carries_its_alt_text_in_every_form():
    data, metadata = picture()._repr_mimebundle_()
    assert data["text/plain"] == repr(picture()) == 'query "a" looks at z & <b>'
    assert '<img alt="query &quot;a&quot; looks at z &amp; &lt;b&gt;" ' in data["text/html"]
    assert metadata["image/png"]["alt"] == 'query "a" looks at z & <b>'
    json.dumps([data, metadata])


def test_a_picture_is_sharper_than_it_is_shown():
    data, metadata = picture()._repr_mimebundle_()
    stored = base64.b64decode(data["image/png"])
    assert f"href='data:image/png;base64,{data['image/png']}'" in data["text/html"]
    image, width = Image.open(io.BytesIO(stored)), metadata["image/png"]["width"]
    assert image.width == pytest.approx(width * SHARPNESS, abs=1)
    assert f'width="{width}"' in data["text/html"]
    assert image.convert("RGB").getpixel((0, 0)) == (251, 250, 246)  # paper
    assert len(stored) < 30_000


# A picture in the dark: which parts of it are to keep their colours.


def boxes(shown: plots.Picture, of: str) -> list[list[float]]:
    """Left, top, right and bottom of what an outline encloses, as shares of the picture."""
    path = ElementTree.fromstring(shown.svg).find(f".//{SVG}{of}path")
    numbers = re.findall(r"M([-\d.]+) ([-\d.]+)H([-\d.]+)V([-\d.]+)H", path.get("d"))
    return [[float(x) / shown.size[i % 2] for i, x in enumerate(box)] for box in numbers]


def test_an_image_is_stored_once_and_knows_the_theme():
    shown = picture()
    assert shown.svg.count(base64.b64encode(shown.png).decode()) == 1
    assert len(shown.svg) < len(shown.png) * 4 / 3 + 1200
    assert "@media(prefers-color-scheme:dark)" in shown.svg
    address = re.search(r'src="data:image/svg\+xml,([^"]+)"', shown.html())[1]
    assert ElementTree.canonicalize(unquote(address)) == ElementTree.canonicalize(shown.svg)


def test_cells_keep_their_colours_and_what_is_not_known_does_not():
    scores = torch.tensor([[1.0, -torch.inf], [2.0, 3.0]])
    ax = plots.plot_matrix(scores, ["a", "b"], ["x", "y"])
    shown = plots.show(ax, "causal scores")
    image, (row_0, row_1) = Image.open(io.BytesIO(shown.png)).convert("RGB"), boxes(shown, "clipPath/{*}")
    assert row_1[2] - row_1[0] == pytest.approx(2 * (row_0[2] - row_0[0]), abs=0.01)  # of row 0, the first cell alone
    assert (row_0[0], row_0[3]) == pytest.approx((row_1[0], row_1[1]), abs=0.01)
    fills = ax.images[0].to_rgba(np.ma.masked_invalid(scores))[..., :3] * 255
    for (left, top, _, bottom), fill in zip((row_0, row_1), fills[:, 0], strict=True):
        beside_the_number = (left + 0.03) * image.width, (0.8 * top + 0.2 * bottom) * image.height
        assert image.getpixel(tuple(map(int, beside_the_number))) == pytest.approx(fill, abs=4)


def test_what_has_no_cells_is_inverted_as_a_whole():
    assert "clipPath" not in plots.show(plots.plot_lines([1, 2], {"a": [1, 2]}), "a line").svg


def test_amounts_are_inverted_with_their_paper():
    weights = plots.plot_attention(torch.eye(9), list("abcdefghi"), list("ABCDEFGHI"))
    assert "clipPath" not in plots.show(weights, "a diagonal").svg


def test_gaps_between_cells_are_lines_across_the_map():
    shown = picture()
    (cells,), gaps = boxes(shown, "clipPath/{*}")[:1], boxes(shown, "g/{*}")
    upright = [box for box in gaps if box[3] - box[1] > 0.1]
    assert (len(gaps), len(upright)) == (3, 2)  # of 2 rows and 3 columns
    thirds = [cells[0] + i * (cells[2] - cells[0]) / 3 for i in (1, 2)]
    assert [(box[0] + box[2]) / 2 for box in upright] == pytest.approx(thirds, abs=0.01)


def test_the_scale_of_a_map_keeps_its_colours():
    shown = plots.show(plots.plot_matrix(torch.eye(9), list("abcdefghi"), list("ABCDEFGHI")), "a diagonal")
    scale = boxes(shown, "clipPath/{*}")[-1]
    assert scale[2] - scale[0] < 0.1 < scale[3] - scale[1]


@pytest.mark.parametrize("more", [0, 0.003, 0.004, 0.007])
def test_no_paper_is_taken_for_a_cell(more):
    """In the dark, a line of paper that keeps its colour would be a bright line at the edge of the map."""
    ax = plots.plot_matrix(-np.ones((130, 130)), range(130), range(130), plots.figure(3 + more, 3 + more)[1])
    shown = plots.show(ax, "nothing but minus one")
    (box, *_), image = boxes(shown, "clipPath/{*}"), np.asarray(Image.open(io.BytesIO(shown.png)).convert("L"))
    left, top, right, bottom = (value * shown.size[i % 2] for i, value in enumerate(box))
    assert all(value == pytest.approx(round(value), abs=1e-3) for value in (left, top, right, bottom))
    cells = image[round(top) : round(bottom), round(left) : round(right)]
    assert cells.size > 10_000
    assert cells.max() < 100


def test_paper_lies_below_the_cells_and_around_them():
    below, above = ElementTree.fromstring(picture().svg).findall(f"{SVG}g[@class='d']/{SVG}use")
    assert (below.get("href"), above.get("clip-path")) == ("#o", "url(#c)")
    assert below.get("fill") == below.get("stroke") == plots.dark_theme.PAPER


def test_a_line_across_a_map_is_inverted_as_lines_are():
    ax = plots.plot_matrix(np.eye(4), "abcd", "efgh")
    ax.axhline(1.5, color="black", linewidth=2)
    shown = plots.show(ax, "tiles of two rows")
    map_, line = boxes(shown, "clipPath[@id='c']/{*}")[0], boxes(shown, "clipPath[@id='l']/{*}")[0]
    assert (line[0], line[2]) == pytest.approx((map_[0], map_[2]), abs=0.02)
    assert (line[1] + line[3]) / 2 == pytest.approx((map_[1] + map_[3]) / 2, abs=0.01)
    *_, last = ElementTree.fromstring(shown.svg).find(f"{SVG}g[@class='d']")
    assert (last.get("clip-path"), last[0].get("class")) == ("url(#l)", "i")


def test_a_picture_is_a_snapshot():
    ax = plots.plot_attention(tensor(WEIGHTS), QUERIES, KEYS)
    early = plots.show(ax, "early")
    before = early.png
    ax.set_title("late")
    assert early.png == before != plots.show(ax, "late").png


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_a_picture_without_alt_text_is_refused(alt):
    with pytest.raises(ValueError, match=re.escape("alt must say what the figure shows (it is empty)")):
        picture(alt)


def test_nbconvert_gives_the_image_its_alt_text():
    nbformat, nbconvert = pytest.importorskip("nbformat"), pytest.importorskip("nbconvert")
    data, metadata = picture("a sentence")._repr_mimebundle_()
    output = nbformat.v4.new_output("display_data", data=data, metadata=metadata)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[output])])
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    assert re.findall(r'<img [^>]*?alt="([^"]*)"', page) == ["a sentence"]


def test_importing_the_package_imports_no_matplotlib():
    code = "import sys, transformer_lab; print([name for name in sys.modules if 'matplotlib' in name])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_a_figure_that_was_shown_makes_room_for_what_is_added_to_it():
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    before = plots.show(figure, "empty"), axes.get_position().height
    axes.set_title("two\nlines")
    after = plots.show(figure, "with a title"), axes.get_position().height
    assert after[0].size == before[0].size
    assert after[1] < before[1] - 0.03


# Lettering: that of the pages, wherever the words come from.


def fonts_of(ax) -> set:
    """The files of the fonts in which the words of a figure are set."""
    properties = [text.get_fontproperties() for text in ax.figure.findobj(Text) if text.get_text()]
    return {Path(font_manager.findfont(one)).name for one in properties}


def test_all_words_are_set_in_the_letters_of_the_pages():
    ax = plots.plot_lines([0, 1], {"loss": [1.0, 2.0]})
    ax.set_title("title", weight="bold")
    ax.text(0.5, 0.5, "written by a notebook, outside of the style")
    plots.show(ax, "a line")
    assert fonts_of(ax) == {"inter-regular.ttf", "inter-bold.ttf"}


def test_digits_are_as_wide_as_one_another_and_the_signs_of_lessons_are_there():
    for path in FONTS:
        font = font_manager.get_font(path)
        assert len({font.load_char(ord(digit)).linearHoriAdvance for digit in "0123456789"}) == 1
        assert {ord(sign) for sign in "−→←√∂σ≤≥·×∞θαβ²✓…"} <= set(font.get_charmap())
    assert len(FONTS) == 2
