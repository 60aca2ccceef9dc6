"""The encoding explorer in a page: each control, the mouse and the keys show torch's numbers."""

from playwright.sync_api import expect

from tests.browser.live import Live, near
from tests.view_examples.encoding import explored


def test_the_sliders_choose_position_and_pair(views):
    view = views["encoding"]
    view.labelled("position").fill("7")
    near(view.values(), explored(position=7))
    view.labelled("pair").fill("5")
    near(view.values(), explored(position=7, pair=5))
    # 2π · 10000^(10/12) = 13,536
    assert view.says().endswith("Wavelength of pair 5: 2π · 10000^(10/12) = 13,537 positions.")


def test_a_table_of_ones_own_has_no_wavelength(views):
    view = views["own encoding"]
    view.labelled("pair").fill("2")
    near(view.values(), explored("own encoding", pair=2))
    assert "avelength" not in view.says()


def test_keys_choose_position_and_pair(views):
    view = views["encoding"]
    view.canvas.focus()
    view.press("ArrowRight", "ArrowDown", "ArrowDown")
    near(view.values(), explored(position=21, pair=2))
    view.press("Home", "ArrowLeft", "PageDown", "ArrowDown", "ArrowUp")
    near(view.values(), explored(position=0, pair=4))
    view.press("End", "ArrowRight", "PageUp", "ArrowUp")
    near(view.values(), explored(position=39, pair=0))
    assert view.labelled("position").input_value() == "39"


def point_at(view: Live, position: int, feature: int) -> None:
    """Put the mouse in the middle of a cell of the table."""
    view.canvas.scroll_into_view_if_needed()
    box = view.canvas.bounding_box()
    corner = "({x, y, width, height}) => [x, y, width, height]"
    left, top, width, height = view.canvas.evaluate(f"canvas => ({corner})(canvas.layout.map)")
    x, y = (position + 0.5) / 40 * width, (feature + 0.5) / 12 * height
    view.page.mouse.move(box["x"] + left + x, box["y"] + top + y)


def test_the_mouse_reads_a_cell_and_a_press_chooses_it(views):
    view = views["encoding"]
    point_at(view, position=3, feature=7)
    near(view.values(), explored())
    # cos(3 · 10000^(-6/12)) = cos(0.03) = 1.000; position 20 is 17 places on
    assert "Under the pointer: position 3, feature 7 is 1.000, distance −17, dot product " in view.says()
    view.page.mouse.down()
    near(view.values(), explored(position=3, pair=3))
    point_at(view, position=9, feature=2)
    near(view.values(), explored(position=9, pair=1))
    view.page.mouse.up()
    point_at(view, position=5, feature=5)
    near(view.values(), explored(position=9, pair=1))


def test_a_kept_curve_stays_while_another_pair_is_chosen(views):
    view = views["encoding"]
    view.labelled("pair").fill("3")
    alone = view.picture()
    view.labelled("pair").fill("1")
    view.button("keep the curve").click()
    expect(view.button("keep the curve")).to_have_attribute("aria-pressed", "true")
    view.labelled("pair").fill("3")
    beside = view.picture()
    assert beside != alone
    expect(view.button("keep the curve")).to_have_attribute("aria-pressed", "false")
    view.labelled("pair").fill("1")
    view.button("keep the curve").click()
    view.labelled("pair").fill("3")
    assert view.picture() == alone


def test_the_table_has_the_curves_and_the_products(views):
    view = views["encoding"]
    view.button("show as table").click()
    near(view.values(), explored())
    rows = view.root.locator("tr").all_inner_texts()
    assert len(rows) == 41
    assert rows[0].split("\t") == ["position", "feature 0", "feature 1", "distance from 20", "dot product"]
    assert rows[21].split("\t") == ["20", "0.913", "0.408", "0", "6.000"]  # sin 20, cos 20; six pairs of length 1
