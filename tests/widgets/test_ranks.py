"""The view of ranks in Python: what it carries, what its summary says, and what is refused."""

import pytest

from tests.view_examples.ranks import LARGE, shown
from tests.view_outputs import state_of
from transformer_lab import widgets
from transformer_lab.analysis.rank_tasks import Stack, Step
from transformer_lab.distributed.costs import Cluster
from transformer_lab.widgets.views.ranks.ranks_picture import BARS, draw_step


def test_the_view_carries_sizes_and_where_it_begins():
    state = state_of(widgets.ranks("tensor", 3, cluster=Cluster(1e15, 40e9, 0.5), overlap=True))
    assert state["sizes"] == {"d_model": 4096, "n_layers": 4, "length": 8192, "n_bytes": 2}
    assert state["speed"] == 0.5e15
    first = state["first"]
    assert (first["way"], first["n"], first["overlap"]) == (2, 3, True)
    assert state["links"][first["link"]] == 50e9  # the nearest
    assert state["tokens"][first["tokens"]] == 65_536


def test_the_summary_has_the_time_and_the_bytes():
    now = shown("data", LARGE)
    whole = now["seconds"]
    expected = (
        f"4 ranks, data parallel: a step of 65,536 tokens takes {1000 * whole:.0f} ms, on average "
        f"{100 * now['computing'][0] / whole:.0f} % computing, {100 * now['sending'][0] / whole:.0f} % sending, "
        f"0 % waiting; together the ranks send {now['bytes'] / 1e9:.1f} GB."
    )
    assert repr(widgets.ranks()) == expected


@pytest.mark.parametrize("scheme", ["data", "sharded", "tensor", "context", "pipeline"])
def test_the_picture_has_a_bar_for_each_time_that_a_rank_computes(scheme):
    from transformer_lab.analysis.ranks import schedule

    step = Step(Stack(), 3, Cluster(989e12, 50e9))
    drawn = draw_step(scheme, step).axes[1]
    tasks = schedule(scheme, step)
    bars = [one for one in drawn.collections if one.get_zorder() == BARS]
    assert len(bars) == sum(task.computes for task in tasks)
    messages = sum(task.rounds * (1 if task.kind == "send" else 3) for task in tasks if not task.computes)
    assert len(drawn.lines) == messages + 3  # and the wires
    assert drawn.get_xlim()[1] == pytest.approx(1000 * max(task.end for task in tasks))


def test_ranks_refuses_what_it_cannot_show():
    with pytest.raises(ValueError, match=r"scheme must be one of data, .* \(got 'expert'\)"):
        widgets.ranks("expert")
    with pytest.raises(ValueError, match=r"n \(5\) must be 2 to 4"):
        widgets.ranks(n=5)
    with pytest.raises(ValueError, match=r"n_layers \(3\) must be 4 to 8"):
        widgets.ranks(stack=Stack(n_layers=3))
    with pytest.raises(ValueError, match=r"n_tokens \(192\) must be length \(64\) times a power of 2 up to 128"):
        widgets.ranks(stack=Stack(64, 4, 192, 64))
