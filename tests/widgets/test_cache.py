"""What a key-value cache costs: the formulas by hand and against what torch counts, and the view's Python."""

from dataclasses import replace
from math import ceil

import pytest
import torch
from matplotlib.colors import to_hex
from torch.utils.flop_counter import FlopCounterMode

from tests.view_outputs import state_of
from transformer_lab import FeedForward, KVCache, MultiHeadAttention, widgets
from transformer_lab.analysis import (
    PRESETS,
    DecoderSize,
    cache_bytes,
    flops_with_cache,
    flops_without_cache,
)
from transformer_lab.nn import masks
from transformer_lab.plots.picture import MEANINGS
from transformer_lab.widgets.views.cache.cache_picture import ROOM, shelves
from transformer_lab.widgets.views.cache.cache_view import LENGTHS

SIZE = DecoderSize(n_layers=3, n_heads=4, n_kv_heads=2, d_head=5, d_ff=7)
ALL = PRESETS | {"shared": SIZE}


def test_bytes_by_hand():
    # keys and values · 3 layers · 2 heads · 5 numbers = 60 numbers a token; · 11 tokens · 2 texts · 4 bytes
    assert cache_bytes(SIZE, length=11, batch=2, bytes_per_number=4) == 60 * 11 * 2 * 4
    assert cache_bytes(PRESETS["GPT-2 small"], length=1024) == 37_748_736  # 2 · 12 · 12 · 64 · 1024 · 2
    assert cache_bytes(PRESETS["GPT-3"], length=1) == 4_718_592  # 4.7 MB for each token


def test_flops_by_hand():
    # a layer, d_model 20: W_Q and W_O 20 × 20, W_K and W_V 20 × 10, feed-forward 20 × 7 twice = 1480 multiply-adds;
    # for each key a score and a weighted value, 2 · 20 multiply-adds
    assert flops_with_cache(SIZE, length=1) == 3 * 2 * (1480 + 40)
    assert flops_with_cache(SIZE, length=6) == 3 * 2 * (1480 + 6 * 40)
    assert flops_without_cache(SIZE, length=6) == 3 * 2 * (6 * 1480 + 36 * 40)


@pytest.mark.parametrize("size", ALL.values(), ids=ALL)
def test_without_a_cache_a_token_costs_as_many_times_as_there_are_tokens(size):
    for length in (1, 2, 77):
        assert flops_without_cache(size, length) == length * flops_with_cache(size, length)


def test_shared_keys_and_values_shrink_the_cache_by_their_share():
    heads = DecoderSize(n_layers=3, n_heads=12, n_kv_heads=12, d_head=5, d_ff=240)
    for shared in (6, 4, 1):
        fewer = replace(heads, n_kv_heads=shared)
        assert cache_bytes(heads, 7) == 12 // shared * cache_bytes(fewer, 7)
        assert flops_with_cache(heads, 7) - flops_with_cache(fewer, 7) == 3 * 2 * 2 * 60 * 5 * (12 - shared)


def test_torch_counts_the_same_work():
    size, length = DecoderSize(n_layers=1, n_heads=4, n_kv_heads=4, d_head=5, d_ff=7), 6
    attention, feed_forward = MultiHeadAttention(size.d_model, size.n_heads), FeedForward(size.d_model, size.d_ff)
    x = torch.randn(1, length, size.d_model)

    with FlopCounterMode(display=False) as anew:
        feed_forward(attention(x, x, x, masks.causal_mask(length), need_weights=True)[0])
    assert anew.get_total_flops() == flops_without_cache(size, length)

    cache, old, new_one = KVCache(), x[:, :-1], x[:, -1:]
    attention(old, old, old, cache=cache.layer(0))
    with FlopCounterMode(display=False) as new:
        feed_forward(attention(new_one, new_one, new_one, need_weights=True, cache=cache.layer(0))[0])
    assert new.get_total_flops() == flops_with_cache(size, length)


# ── the view ──


def test_it_carries_the_presets_and_where_it_starts():
    state = state_of(widgets.cache_cost("Transformer base", length=100))
    assert [size["name"] for size in state["presets"]] == list(PRESETS)
    assert state["presets"][1]["d_ff"] == 2048
    assert (state["preset"], state["lengths"][state["at"]]) == (1, 91)  # 91 of 64, 91, 128
    assert sorted(set(LENGTHS)) == LENGTHS
    assert (LENGTHS[0], LENGTHS[-1]) == (1, 131072)


def test_the_presets_have_the_widths_of_their_papers():
    widths = {name: size.d_model for name, size in PRESETS.items()}
    assert widths == {"this project's translator": 128, "Transformer base": 512, "GPT-2 small": 768, "GPT-3": 12288}


def test_the_summary_gives_bytes_and_the_saving():
    assert repr(widgets.cache_cost(length=1024)) == (
        "GPT-2 small at 1024 tokens: its key-value cache takes 37.7 MB in float16, "
        "and without it token 1024 costs 1024 times the FLOPs."
    )
    assert "takes 2.42 GB in" in repr(widgets.cache_cost("GPT-3"))
    assert "takes 2.05 kB in" in repr(widgets.cache_cost("this project's translator", length=2))


def test_shelves_are_filled_to_scale():
    for n_bytes in (1e3, 5e6, 1e9, 16e9):
        levels = shelves(n_bytes)
        assert all(capacity * full / ROOM == pytest.approx(n_bytes) for capacity, full in levels)
        assert all(full < 1 for _, full in levels[:-1])
        assert levels[-1][1] >= 1 or len(levels) == 3


@pytest.mark.parametrize(
    ("preset", "length"), [("GPT-2 small", 512), ("this project's translator", 64), ("GPT-3", 4096)]
)
def test_the_picture_has_the_shelf_and_both_charts_at_the_length(preset, length):
    shelf, kept, work = widgets.cache_cost(preset, length).fallback().axes
    size, at = PRESETS[preset], LENGTHS.index(length)
    filled = [one for one in shelf.patches if to_hex(one.get_facecolor()) == MEANINGS["key"]]
    assert len(filled) == sum(ceil(full) for _, full in shelves(cache_bytes(size, length)))
    assert kept.get_lines()[0].get_ydata()[at] == cache_bytes(size, length)
    with_cache, without = (line.get_ydata()[at] for line in work.get_lines()[:2])
    assert (with_cache, without) == (flops_with_cache(size, length), flops_without_cache(size, length))
    assert kept.get_lines()[-1].get_xdata() == [length, length]


def test_a_cache_that_no_laptop_holds_is_shared_by_many():
    shelf = widgets.cache_cost("GPT-3", 65536).fallback().axes[0]
    assert shelf.texts[-1].get_text() == "It takes 19 such laptops."


# ── refusals ──


def test_it_refuses_what_it_has_not():
    with pytest.raises(ValueError, match=r"preset must be one of .*GPT-2 small, GPT-3 \(got GPT-9\)"):
        widgets.cache_cost("GPT-9")
    for length in (0, 131073):
        with pytest.raises(ValueError, match=rf"length \({length}\) must be at least 1 and at most 131072"):
            widgets.cache_cost(length=length)
    for shared in (0, 3):
        with pytest.raises(ValueError, match=rf"n_heads \(4\) must be divisible by n_kv_heads \({shared}\)"):
            replace(SIZE, n_kv_heads=shared)
