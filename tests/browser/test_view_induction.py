"""The induction explorer in a page: torch's numbers for each head, with heads taken away and brought back."""

from tests.browser.live import near
from tests.view_examples.induction import explored


def choose(view, *keys: str) -> None:
    view.canvas.focus()
    view.press(*keys)


def test_keys_choose_a_head(views):
    view = views["induction of attention alone"]
    for key, at in (
        ("ArrowRight", (0, 1)),
        ("ArrowDown", (1, 1)),
        ("End", (1, 2)),
        ("ArrowRight", (1, 2)),
        ("Home", (0, 0)),
    ):
        choose(view, key)
        near(view.values(), explored("induction of attention alone", at=at))


def test_heads_that_are_taken_away_and_brought_back(views):
    view = views["induction of attention alone"]
    choose(view, "ArrowRight")
    view.button("ablate head 0.1").click()
    near(view.values(), explored("induction of attention alone", at=(0, 1), gone=[(0, 1)]))
    assert view.button("ablate head 0.1").get_attribute("aria-pressed") == "true"
    choose(view, "End")
    view.button("ablate head 1.2").click()
    near(view.values(), explored("induction of attention alone", at=(1, 2), gone=[(0, 1), (1, 2)]))
    view.labelled("show").select_option(label="change from the whole model")
    near(view.values(), explored("induction of attention alone", at=(1, 2), gone=[(0, 1), (1, 2)], change=True))
    view.button("ablate head 1.2").click()
    near(view.values(), explored("induction of attention alone", at=(1, 2), gone=[(0, 1)], change=True))
    view.button("restore all").click()
    view.labelled("show").select_option(label="with what is taken away")
    near(view.values(), explored("induction of attention alone", at=(1, 2)))


def test_the_readout_names_losses_and_scores(views):
    view = views["induction"]
    before = explored("induction", at=(1, 1))
    choose(view, "End")
    assert view.says() == (
        f"head 1.1: mean weight on the token before {before['previous']:.2f}; on what followed the same token before "
        f"{before['induction']:.2f}. After $ (8) comes ⏎: loss {before['intact'][8]:.2f}."
    )
    choose(view, "Home")
    view.button("ablate head 0.0").click()
    after = explored("induction", gone=[(0, 0)])
    assert view.says().endswith(f"loss {after['intact'][8]:.2f}, now {after['losses'][8]:.2f}.")
    alone = views["induction of attention alone"]
    assert "; no token stands twice. " in alone.says()


def test_the_slider_leads_to_a_position(views):
    view = views["induction"]
    view.slider.focus()
    view.press("Home", *["ArrowRight"] * 6)
    near(view.values(), explored("induction", position=6))
    p = explored("induction")["map"][6][2]  # position 6 reads what position 1 read
    assert view.says().startswith(f"head 0.0, query a (6), key <b> (2): weight {p:.3f}. ")


def test_what_is_chosen_stands_in_sight_where_the_text_is_wider_than_its_room(views):
    view = views["induction"]
    view.root.evaluate("root => (root.style.width = '200px')")
    for key, position in (("End", 8), ("Home", 0)):
        view.slider.focus()
        view.press(key)
        view.values()  # the next frame is drawn
        column, start, end, whole = view.root.locator(".tl-scroll canvas").first.evaluate(
            """(canvas, t) => {
                const [{ left, size }, room] = [canvas.layout, canvas.parentElement];
                const { scrollLeft, clientWidth, scrollWidth } = room;
                return [left + (t + 0.5) * size, scrollLeft, scrollLeft + clientWidth, scrollWidth];
            }""",
            position,
        )
        assert whole > end - start, "there is something to scroll"
        assert start <= column <= end
    view.root.evaluate("root => (root.style.width = '')")


def box_of(view, i: int) -> dict:
    return view.canvas.evaluate("(canvas, i) => canvas.layout.boxes[i]", i)


def test_a_point_in_a_small_map_is_the_cursor_of_all(views):
    view = views["induction"]
    before = view.picture()
    view.canvas.scroll_into_view_if_needed()
    box, canvas = box_of(view, 3), view.canvas.bounding_box()
    place = canvas["x"] + box["left"] + 1.5 * box["size"], canvas["y"] + box["top"] + 4.5 * box["size"]
    view.page.mouse.move(*place)
    assert view.says().startswith("head 0.0, query ⏎ (4), key a (1): ")
    assert all(one != other for one, other in zip(view.picture(), before, strict=True))
    view.page.mouse.click(*place)
    near(view.values(), explored("induction", at=(1, 1), position=4))


def test_a_press_among_the_arcs_cuts_them_and_the_loss_changes(views):
    view = views["induction"]
    arcs = view.root.locator(".tl-scroll canvas")
    arcs.scroll_into_view_if_needed()
    arcs.click(position={"x": 90, "y": 60})
    near(view.values(), explored("induction", gone=[(0, 0)]))
    assert view.button("ablate head 0.0").get_attribute("aria-pressed") == "true"
    arcs.click(position={"x": 90, "y": 60})
    near(view.values(), explored("induction"))


def test_a_press_on_a_word_of_the_arcs_leads_to_it(views):
    view = views["induction"]
    arcs = view.root.locator(".tl-scroll canvas")
    arcs.scroll_into_view_if_needed()
    x, y = arcs.evaluate("({layout: {left, size, line}}) => [left + 4.5 * size, line]")
    arcs.click(position={"x": x, "y": y})
    near(view.values(), explored("induction", position=4))


def test_all_heads_stand_in_one_row_where_there_is_room(views):
    view = views["induction"]
    view.values()  # the next frame is drawn
    boxes = view.canvas.evaluate("canvas => canvas.layout.boxes.map(({left, top}) => [left, top])")
    assert len({top for _, top in boxes}) == 1
    assert [left for left, _ in boxes] == sorted({left for left, _ in boxes})
