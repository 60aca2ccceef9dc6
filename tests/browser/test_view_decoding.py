"""The decoding explorer in a page: each method at each step shows torch's numbers, by mouse and by keys."""

import itertools
import math

import pytest
from playwright.sync_api import expect

from tests.browser.live import Live, near
from tests.view_examples.decoding import chosen, data, greedy, log_probs, sentence
from transformer_lab.decoding.single import top_k_filter, top_p_filter

NAMES = data["grammar_words"]
EOS = 1


def settle(view: Live, **expected) -> None:
    """The view shows these values, among others."""
    shown = view.values()
    near({name: shown[name] for name in expected}, expected)


def listed(view: Live) -> list[list[str]]:
    view.values()  # the next frame is drawn
    return [row.locator("th, td").all_text_contents() for row in view.root.locator(".tl-list tr").all()[1:]]


def total(ids: list[int]) -> float:
    return sum(log_probs(ids[:i])[ids[i]].item() for i in range(1, len(ids)))


def every_sentence(length: int, branching: int = 7) -> list[list[int]]:
    """All sentences of the table, the most probable first."""
    all_of_them, stack = [], [[0]]
    while stack:
        ids = stack.pop()
        if ids[-1] == EOS or len(ids) == length:
            all_of_them.append(ids)
        else:
            best = log_probs(ids).topk(branching)
            stack += [
                [*ids, i] for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True) if p > -math.inf
            ]
    return sorted(all_of_them, key=total, reverse=True)


def beams(size: int, length: int) -> list[list[tuple[list[int], float]]]:
    """For each step all extensions of the live sentences, the most probable first."""
    live, steps = [[0]], []
    while live and len(live[0]) < length:
        longer = [[*ids, i] for ids in live for i in range(7) if log_probs(ids)[i] > -math.inf]
        steps.append(sorted(((ids, total(ids)) for ids in longer), key=lambda pair: -pair[1]))
        live = [ids for ids, _ in steps[-1][:size] if ids[-1] != EOS]
    return steps


def test_greedy_step_by_step(views):
    view, ids = views["decoding"], greedy(5)
    expect(view.button("▶ play")).to_be_visible()
    view.slider.focus()
    view.press("End")
    for step in (3, 2, 1):
        view.button("one step back").click()
        shown = chosen(ids[: step + 1])
        settle(view, step=step, tokens=shown["tokens"], probabilities=shown["probabilities"], sentences=[sentence(ids)])
        token = NAMES[ids[step]]
        assert f"{token} is the most probable token ({shown['probabilities'][0]:.3f})" in view.says()
    view.button("one step back").click()
    settle(view, step=1)
    view.button("one step forth").click()
    settle(view, step=2)
    view.slider.focus()
    view.press("End")
    settle(view, step=4)


@pytest.mark.parametrize(("name", "length", "branching"), [("decoding", 5, 7), ("decoding of the best", 6, 3)])
def test_the_list_ranks_what_was_found_among_all_sentences(views, name, length, branching):
    every, found = every_sentence(length, branching), greedy(length)
    assert total(found) < total(every[0]), "the example is one in which greedy misses the best sentence"
    expected = [
        [
            f"{every.index(ids) + 1}",
            sentence(ids),
            f"{total(ids):.2f}".replace("-", "−"),
            f"{math.exp(total(ids)):.4f}",
            "✓ the result" if ids == found else "not found",
        ]
        for ids in every[: max(3, every.index(found) + 1)]
        if ids in every[:3] or ids == found
    ]
    assert listed(views[name]) == expected


def test_sampling_cuts_as_the_package_does(views):
    view = views["decoding"]
    view.button("sampling").click()
    view.labelled("temperature").focus()
    view.press(*["ArrowRight"] * 10)
    view.labelled("top-k").focus()
    view.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    view.labelled("top-p").focus()
    view.press(*["ArrowLeft"] * 10)
    view.slider.focus()
    view.press("Home")
    best = log_probs([0]).topk(7)
    cut = top_p_filter(top_k_filter(best.values / 10**0.2, 4), 0.8)
    assert 1 < cut.isfinite().sum() < 4, "both cuts are at work"
    settle(view, probabilities=cut.softmax(-1).tolist(), kept=cut.isfinite().tolist(), step=1)
    assert f"{cut.isfinite().sum()} of 7 tokens are kept; they held " in view.says()


def test_the_share_of_a_cut_table_is_told_as_such(views):
    view = views["decoding of the best"]
    view.button("sampling").click()
    view.labelled("top-k").focus()
    view.press("Home")
    view.slider.focus()
    view.press("Home")
    share = log_probs([0]).topk(3).values.softmax(-1)[0]
    assert f"1 of 7 tokens are kept; they held {share:.3f} of the 3 in the table before the cut." in view.says()


def test_draws_are_counted_and_come_again_after_a_reset(views):
    view = views["decoding"]
    view.button("sampling").click()
    view.button("draw 20").click()
    view.button(
        "draw",
    ).click()
    rows = listed(view)
    drawn = [int(row[-1].split()[1]) for row in rows if row[-1].startswith("✓")]
    assert all(row[-1].endswith("of 22") or row[-1] == "not found" for row in rows)
    assert 5 <= sum(drawn) <= 22  # the twelve most probable sentences are listed
    view.button("reset").click()
    assert view.values()["step"] == 3
    view.button("sampling").click()
    expect(view.button("draw 20")).to_be_visible()
    for _ in range(21):
        view.button("draw").click()
    assert listed(view) == rows


def test_cold_sampling_is_greedy(views):
    view = views["decoding"]
    view.button("sampling").click()
    view.labelled("top-k").focus()
    view.press("Home")
    view.button("draw 20").click()
    settle(view, sentences=[sentence(greedy(5))])


@pytest.mark.parametrize("size", [1, 2, 4])
def test_beams_step_by_step(views, size):
    view = views["decoding"]
    view.button("beam").click()
    view.labelled("beam size").focus()
    view.press("Home", *["ArrowRight"] * (size - 1))
    steps = beams(size, 5)
    view.slider.focus()
    view.press("Home")
    for number, extensions in enumerate(steps, start=1):
        settle(
            view,
            step=number,
            tokens=[sentence(ids) for ids, _ in extensions],
            probabilities=[math.exp(log_prob) for _, log_prob in extensions],
            kept=[i < size for i in range(len(extensions))],
        )
        view.press("ArrowRight")
    ended = [pair for step in steps for pair in step[:size] if pair[0][-1] == EOS]
    found = sorted([*ended, *((ids, p) for ids, p in steps[-1][:size] if ids[-1] != EOS)], key=lambda pair: -pair[1])
    settle(view, sentences=[sentence(ids) for ids, _ in found], totals=[log_prob for _, log_prob in found])


def test_a_beam_of_two_finds_what_greedy_misses(views):
    view = views["decoding"]
    view.button("beam").click()
    assert view.values()["sentences"][0] == sentence(every_sentence(5)[0])
    view.labelled("beam size").focus()
    view.press("Home")
    assert view.values()["sentences"] == [sentence(greedy(5))]


def test_keys_and_mouse_find_the_same_node_of_the_tree(views):
    view, ids = views["decoding"], greedy(5)
    view.slider.focus()
    view.press("End")
    view.canvas.focus()
    assert view.says() == "The beginning: nothing is written yet, log probability 0."
    for length in (2, 3):
        view.press("ArrowRight")
        before, last = (
            f"{x:.2f}".replace("-", "−")
            for x in (total(ids[: length - 1]), total(ids[:length]) - total(ids[: length - 1]))
        )
        assert view.says().startswith(f"“{sentence(ids[:length])}”: log probability {before} + {last} = ")
        assert view.says().endswith("Kept.")
    view.press("ArrowDown")
    by_keys = view.says()
    assert by_keys.endswith("Not taken.")
    view.canvas.blur()
    box, place = view.canvas.bounding_box(), "canvas.boxes.filter(({one}) => one.depth === 2 && one.at === 1)[0]"
    x, y = view.canvas.evaluate(f"canvas => {{ const found = {place}; return [found.x + 5, found.y + 5]; }}")
    view.page.mouse.move(box["x"] + x, box["y"] + y)
    assert view.says() == by_keys
    view.page.mouse.move(0, 0)
    assert view.says().startswith("Step 4 of 4")
    view.canvas.focus()
    view.press("ArrowRight", "Home", "ArrowLeft", "ArrowUp", "ArrowDown")
    assert view.says().startswith("The beginning")


def test_the_table_has_the_distribution(views):
    view = views["decoding"]
    view.button("show as table").click()
    shown = view.values()
    rows = [row.locator("th, td").all_text_contents() for row in view.root.locator("table:not(.tl-list) tr").all()[1:]]
    assert [row[0] for row in rows] == shown["tokens"]
    assert [row[1] for row in rows] == [f"{p:.4f}" for p in shown["probabilities"]]
    assert [row[2] for row in rows] == ["yes"] * 7


def test_a_cut_table_offers_no_more_than_it_holds(views):
    view = views["decoding of the best"]
    view.button("sampling").click()
    assert view.labelled("top-k").get_attribute("max") == "3"
    view.button("beam").click()
    assert view.labelled("beam size").get_attribute("max") == "3"
    assert list(itertools.islice(view.values()["kept"], 4)) == [True, True, False, False]


def test_on_a_phone_the_last_step_is_in_sight_until_the_reader_looks_back(views):
    view = views["decoding"]
    view.page.set_viewport_size({"width": 360, "height": 844})
    try:
        view.button("beam").click()
        view.slider.focus()
        view.press("End")
        view.values()  # the next frame is drawn
        seen = """room => {
            const {boxes} = room.querySelector("canvas"), last = Math.max(...boxes.map(({one}) => one.depth));
            const near = boxes.filter(({one}) => one.depth === last).map(({x, width}) => [x, x + width]).flat();
            return [Math.min(...near) - room.scrollLeft, Math.max(...near) - room.scrollLeft - room.clientWidth];
        }"""
        tree = view.root.locator(".tl-tree")
        left, right = tree.evaluate(seen)
        assert left >= 0 >= right
        assert tree.evaluate("room => room.scrollLeft > 0 && room.style.getPropertyValue('--tl-before') !== '0px'")
        tree.evaluate("room => { room.scrollLeft = 0; }")
        view.canvas.hover(position={"x": 20, "y": 20})
        view.values()
        assert tree.evaluate("room => room.scrollLeft") == 0, "who looks back is not brought to the end again"
    finally:
        view.page.set_viewport_size({"width": 1280, "height": 1000})
