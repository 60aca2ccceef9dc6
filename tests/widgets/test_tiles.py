"""The tiles in Python: what the view carries, what the summary counts, and what is refused."""

import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from tests.support import DEVICE
from tests.view_examples import tiles as example
from tests.view_outputs import numbers, state_of
from transformer_lab import widgets
from transformer_lab.widgets.views.tiles.tiles_picture import draw_tiles


def test_the_view_carries_scores_and_names():
    scores = torch.arange(6.0, device=DEVICE).reshape(2, 3)
    state = state_of(widgets.tiles(scores, ["a", "b"], ["x", "y", "z"], tile=1, d_head=5))
    assert numbers(state["scores"]).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (state["rows"], state["columns"]) == (["a", "b"], ["x", "y", "z"])
    assert (state["tile"], state["d_head"], state["causal"]) == (1, 5, False)


def test_the_summary_counts_tiles_and_bytes():
    view = widgets.tiles(torch.zeros(6, 6), tile=2)
    expected = "9 tiles of 2 × 2 walk over 6 × 6 scores: 2,080 bytes in fast memory at a time, whatever the length of "
    assert repr(view) == f"{expected}the text."
    assert repr(widgets.tiles(torch.zeros(6, 6), tile=2, causal=True)).startswith(
        "6 tiles of 2 × 2 walk over 6 × 6 scores, those of the future left out: "
    )
    assert repr(widgets.tiles(torch.zeros(5, 7), tile=4)).startswith("4 tiles of 4 × 4 walk over 5 × 7 scores: ")


def test_tiles_refuse_what_they_cannot_show():
    scores = torch.zeros(4, 5)
    for wrong in (torch.zeros(17, 4), torch.zeros(1, 4), torch.zeros(4)):
        with pytest.raises(ValueError, match=r"scores must be \(T, S\) of 2 to 16 tokens \(their shape is "):
            widgets.tiles(wrong)
    with pytest.raises(ValueError, match="scores must be finite"):
        widgets.tiles(scores - torch.inf)
    with pytest.raises(ValueError, match=r"tile must be one of 1, 2, 3, 4, 6, 8 \(got 5\)"):
        widgets.tiles(scores, tile=5)
    with pytest.raises(ValueError, match=r"causal attention needs as many queries as keys \(got 4, 5\)"):
        widgets.tiles(scores, causal=True)
    with pytest.raises(ValueError, match="query_tokens"):
        widgets.tiles(scores, ["a"])


@pytest.mark.parametrize(("size", "tile", "causal"), [((6, 6), 2, False), ((7, 7), 3, True), ((4, 5), 2, False)])
def test_where_no_script_runs_the_tile_is_on_the_desk_with_which_the_view_opens(size, tile, causal):
    scores = 3 * torch.randn(*size)
    names = [f"q{t}" for t in range(size[0])], [f"k{s}" for s in range(size[1])]
    drawn = draw_tiles(scores, names, tile=tile, d_head=8, causal=causal, text=1024)
    written = [one.get_text() for one in drawn.axes[0].texts]
    assert written.count("✓") == 4
    shown = example.shown(scores, tile, 4, causal)
    remembered = [f"{shown[name][0]:.2f}".replace("-", "−") for name in ("maximum", "total", "factor")]
    desk = written[written.index("The desk: fast memory") :]
    assert [next(one for one in desk if one[0] == kind) for kind in "qk"] == [
        f"q{shown['rows'][0]}",
        f"k{shown['columns'][0]}",
    ]
    heads = [desk.index(name) for name in ("m", "ℓ", "×")]
    assert [desk[i + 1] for i in heads] == remembered


@pytest.mark.parametrize("causal", [False, True])
def test_the_sheet_has_a_colour_for_each_score_that_is_the_paler_the_later_it_is_read(causal):
    scores = torch.full((6, 6), 2.0)
    names = [str(i) for i in range(6)]
    ax = draw_tiles(scores, (names, names), tile=2, d_head=8, causal=causal, text=1024).axes[0]
    cells = {one.get_xy(): one for one in ax.patches if one.get_gid() == "score"}
    seen = {(s, t) for t in range(6) for s in range(6) if not causal or s <= t}
    assert set(cells) == seen
    assert sum(one.get_gid() == "score" for one in ax.patches) == len(seen), "no score is coloured twice"
    tiles = example.walk(6, 6, 2, causal)
    pale = [
        {sum(to_rgb(cells[s, t].get_facecolor())) for t in rows for s in columns if (s, t) in seen}
        for rows, columns in tiles
    ]
    here = min(range(len(tiles)), key=lambda i: min(pale[i]))
    assert all(len(one) == 1 for one in pale)
    (now,), read, coming = pale[here], set().union(*pale[:here]), set().union(*pale[here + 1 :])
    assert now < min(read) <= max(read) < min(coming)
    on_desk = [one for one in ax.patches if isinstance(one, Rectangle) and one.get_width() == 0.97 and one.get_fill()]
    desk = [sum(to_rgb(one.get_facecolor())) for one in on_desk]
    assert desk
    assert desk == pytest.approx([now] * len(desk)), "the tile has the colours of the desk"
