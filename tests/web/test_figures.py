"""Figures of the site: their panels are found, and by night each colour is the one that means the same."""

import importlib
import io
import re
from base64 import b64decode

import nbformat
import numpy as np
import pytest
import torch
from PIL import Image

from tests.built_site import LESSONS, ROOT
from transformer_lab import plots
from transformer_lab.plots.picture import PAPER

PANELS = {"03_positional_encoding": {4: 3}, "04_residual_blocks": {1: 3}, "01_attention": {2: 2}, "05_masking": {1: 2}}
PANELS |= {"08_decoding": {2: 2}, "10_inside": {2: 2}, "12_published_weights": {2: 2}, "16_after_pretraining": {1: 2}}


@pytest.fixture
def web(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    return importlib.import_module


def picture(figure, alt="a figure") -> tuple[Image.Image, str]:
    shown = plots.show(figure, alt=alt)
    return Image.open(io.BytesIO(shown.png)), shown.html()


def stored(name: str) -> list[Image.Image]:
    cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
    found = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    data = [one["image/png"] for one in found if "image/png" in one and one["text/html"].startswith("<img alt=")]
    return [Image.open(io.BytesIO(b64decode(one))) for one in data]


@pytest.mark.parametrize("name", LESSONS)
def test_the_panels_of_every_stored_figure_are_found(web, name):
    panels = web("panels").panels
    found = {i: len(panels(one)[0]) for i, one in enumerate(stored(name), 1)}
    assert {i: count for i, count in found.items() if count > 1} == PANELS.get(name, {})


def test_panels_are_cut_through_paper_and_a_legend_below_them_is_a_part_of_its_own(web):
    (*_, figure) = stored("03_positional_encoding")
    parts, legend = web("panels").panels(figure)
    assert legend is not None
    assert [part[3] for part in parts] == [legend[1]] * 3
    pixels = np.asarray(figure.convert("RGB"), dtype=int)
    for _, top, right, bottom in parts[:-1]:
        assert abs(pixels[top:bottom, right] - pixels[0, 0]).max() < 9
    assert sum(right - left for left, _, right, _ in parts) == figure.width


def test_one_panel_is_not_cut(web):
    for draw in (lambda: plots.plot_lines([1, 2, 3], {"a": [1, 2, 3]}), lambda: cells([[0.2, 0.8], [1, 0]])):
        assert len(web("panels").panels(picture(draw())[0])[0]) == 1


def cells(weights):
    return plots.plot_attention(torch.tensor(weights), *(list("abcdefgh")[: len(of)] for of in (weights, weights[0])))


def test_by_night_each_colour_is_the_one_that_means_the_same(web):
    night = web("night")
    dark = night.dark_paper()
    assert dark.keys() == PAPER.keys()
    names = list(PAPER)
    got = night.by_night(np.array([night.rgb_of(PAPER[name]) for name in names]))
    for name, colour in zip(names, got, strict=True):
        assert abs(colour - night.rgb_of(dark[name])).max() <= 1, name


def test_by_night_numbers_are_legible_in_every_cell(web):
    """Light where a cell is dark, dark where it is bright: WCAG asks for 4.5 to 1."""
    night = web("night")
    weights = [[0.0, 0.1, 0.9], [0.3, 0.3, 0.4], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]
    figure, _ = picture(cells(weights))
    day, dark = (np.asarray(one.convert("RGB"), dtype=float) for one in (figure, night.of_night(figure)))
    black = day.max(-1) < 8
    rows, columns = np.nonzero(black)
    assert len(rows) > 100
    for y, x in zip(rows[::7], columns[::7], strict=True):
        around = dark[max(0, y - 9) : y + 9, max(0, x - 9) : x + 9].reshape(-1, 3)
        values, counts = np.unique(around, axis=0, return_counts=True)
        assert contrast(dark[y, x], values[counts.argmax()]) > 4.5


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    linear = [np.where(c <= 10, c / 255 / 12.92, ((c / 255 + 0.055) / 1.055) ** 2.4) for c in (one, other)]
    low, high = sorted(float(c @ [0.2126, 0.7152, 0.0722]) for c in linear)
    return (high + 0.05) / (low + 0.05)


def test_a_map_with_a_sign_parts_at_the_dark_ground(web):
    night = web("night")
    figure, html = picture(plots.plot_matrix(torch.tensor([[-1.0, 0.0, 1.0]]), ["a"], ["x", "y", "z"]))
    dark = np.asarray(night.of_night(figure, is_signed=True).convert("RGB"), dtype=float)
    assert "%3CclipPath id='c'" in html, "by which the site tells such a map"
    colours, counts = np.unique(dark.reshape(-1, 3), axis=0, return_counts=True)
    cells = colours[np.argsort(-counts)[:4]]  # and the paper
    assert sorted(night.oklab(cells)[:, 0] > 0.6) == [False, False, True, True], "far from 0 is bright, 0 is dark"


def test_a_figure_is_two_files_and_its_description(web, tmp_path):
    shown = plots.show(plots.plot_lines([1, 2], {"a": [1, 2]}), alt='a "b"')
    output = nbformat.v4.new_output("display_data", shown._repr_mimebundle_()[0])
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])])
    web("figures").hang_figures(page, tmp_path / "figures", "07_training")
    html = page.cells[0].outputs[0].data["text/html"]
    names = re.findall(r'src="figures/([^"]+)"', html)
    assert names == ["07_training-1-0-day.png", "07_training-1-0-night.png"]
    assert html.count('alt="a &quot;b&quot;"') == 2
    assert all((tmp_path / "figures" / name).exists() for name in names)


def test_the_parts_of_a_drawing_are_windows_onto_it_and_do_not_overlap(web):
    for name, parts in web("stacked").PARTS.items():
        width, height = map(
            int, re.search(r'width="(\d+)" height="(\d+)"', (ROOT / f"img/{name}.svg").read_text()).groups()
        )
        seen = np.zeros((height, width), int)
        for left, top, wide, high in parts:
            assert left + wide <= width
            assert top + high <= height
            seen[top : top + high, left : left + wide] += 1
        assert seen.max() == 1, name
        assert min(358 / wide for _, _, wide, _ in parts) * 14 > 12, f"{name}: words of 12 pixels on a phone"


def test_a_drawing_with_parts_has_them_below_itself_and_another_stays_as_it_is(web):
    drawing = '<p><img alt="two" src="../_images/{}.svg" /></p>'
    assert web("stacked").with_parts(drawing.format("01_lookup")).count("<img") == 3
    assert web("stacked").with_parts(drawing.format("08_tree")) == drawing.format("08_tree")
