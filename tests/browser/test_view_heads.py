"""Heads side by side in a page: torch's numbers for each choice, one cursor for all maps, keys that choose a head."""

from tests.browser.live import Live, near
from tests.view_examples.heads import compared, data


def test_sorted_by_entropy_or_diagonality(views):
    for name in ("heads", "heads of two layers"):
        for sort in ("entropy", "diagonality"):
            views[name].labelled("sort by").select_option(label=sort)
            near(views[name].values(), compared(name, sort=sort))


def test_one_head_and_the_difference_of_two(views):
    view = views["heads"]
    view.labelled("show").select_option(label="head 2")
    near(view.values(), compared(head=2))
    view.labelled("minus").select_option(label="head 1")
    near(view.values(), compared(head=2, minus=1))
    view.canvas.focus()
    view.root.locator("canvas").nth(1).focus()
    view.press("ArrowRight")
    one, other = (data["four_heads"][head, 0, 1].item() for head in (2, 1))
    assert view.says().startswith(f"query I, key bin: {one:.3f} − {other:.3f} = ")


def test_the_temperature_is_that_of_all_heads(views):
    view = views["heads of two layers"]
    view.labelled("show").select_option(label="head 1.2")
    view.slider.focus()
    view.press(*["ArrowRight"] * 10)
    near(view.values(), compared("heads of two layers", head=5, temperature=10**0.2))


def test_a_head_that_is_left_out(views):
    view = views["heads"]
    assert views["heads of two layers"].labelled("leave out").count() == 0
    view.labelled("leave out").select_option(label="head 3")
    expected = compared(without=3)
    near(view.values(), expected)
    mean = sum(expected["share"]) / 6
    assert f"Without head 3 the outputs lose a part {mean:.3f} times as long as they are, on average." in view.says()
    view.root.locator("canvas").nth(1).focus()
    length = data["head_parts"][3, 0].norm().item()
    assert view.says().endswith(
        f"Without head 3 the output of I loses a part of length {length:.3f}: {expected['share'][0]:.3f} of the whole."
    )


def box_of(view: Live, place: int) -> dict:
    return view.canvas.evaluate("(canvas, i) => canvas.layout.boxes[i]", place)


def place_of(view: Live, head: int, query: int) -> tuple[float, float]:
    """On the screen, the end of the ribbons of a query in the weave of a head."""
    view.canvas.scroll_into_view_if_needed()
    box, canvas = box_of(view, head), view.canvas.bounding_box()
    y = box["queries"] + query * box["row"]
    return canvas["x"] + box["left"] + box["width"] - box["room"] - 16, canvas["y"] + y


def test_a_word_that_is_pointed_at_in_a_weave_is_the_cursor_of_all(views):
    view = views["heads"]
    before = view.picture()
    place = place_of(view, head=3, query=1)
    view.page.mouse.move(*place)
    looked_at = data["heads_keys"][data["four_heads"][3, 1].argmax()]
    assert view.says().startswith(f"query am, key {looked_at}: ")
    after = view.picture()
    assert before[0] != after[0]
    assert before[1] != after[1]
    view.page.mouse.click(*place)
    near(view.values(), compared(head=3))


def test_a_key_that_is_pointed_at_shows_who_looks_at_it_most(views):
    view = views["heads"]
    view.canvas.scroll_into_view_if_needed()
    box, canvas = box_of(view, 0), view.canvas.bounding_box()
    view.page.mouse.move(canvas["x"] + box["left"] + 20, canvas["y"] + box["keys"] + 2 * box["row"])
    query = data["heads_queries"][data["four_heads"][0, :, 2].argmax()]
    assert view.says().startswith(f"query {query}, key wer: ")


def test_a_weave_that_is_dragged_onto_another_is_subtracted(views):
    view = views["heads"]
    view.page.mouse.move(*place_of(view, head=1, query=2))
    view.page.mouse.down()
    view.page.mouse.move(*place_of(view, head=2, query=2), steps=3)
    view.page.mouse.up()
    near(view.values(), compared(head=2, minus=1))


def test_keys_choose_a_head_in_the_order_that_is_seen(views):
    view = views["heads"]
    view.labelled("sort by").select_option(label="entropy")
    order = compared(sort="entropy")["order"]
    view.canvas.focus()
    for key, place in (("End", 3), ("ArrowLeft", 2), ("Home", 0), ("ArrowLeft", 0), ("ArrowRight", 1)):
        view.press(key)
        near(view.values(), compared(head=order[place], sort="entropy"))
