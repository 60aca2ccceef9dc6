"""The schedule of a training step: by hand, and against the formulas of `distributed`."""

import itertools

import pytest
import torch

from transformer_lab.analysis.rank_tasks import Stack, Step
from transformer_lab.analysis.ranks import held, reads, schedule, use_of_time
from transformer_lab.distributed.context_parallel import balanced_parts
from transformer_lab.distributed.costs import WAYS, Cluster, bytes_sent, calls_made
from transformer_lab.distributed.pipeline import waiting_share
from transformer_lab.distributed.tensor_parallel import split_columns_rows

STACK = Stack(d_model=8, n_layers=12, n_tokens=960, length=48, n_bytes=4)
CLUSTER = Cluster(flops=1e6, link=3e4)
FAST = Cluster(flops=1e6, link=1e30)
every_way = pytest.mark.parametrize("way", WAYS)


def whole(tasks):
    return max(task.end for task in tasks)


@every_way
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("overlap", [False, True])
def test_bytes_are_those_of_the_formulas(way, n, overlap):
    tasks = schedule(way, Step(STACK, n, CLUSTER, overlap))
    expected = bytes_sent(way, n, STACK.n_parameters, STACK.n_layers, STACK.n_tokens, STACK.d_model, STACK.n_bytes)
    assert sum(task.n_bytes for task in tasks) == pytest.approx(expected, rel=1e-12)


@every_way
@pytest.mark.parametrize("n", [2, 3, 4])
def test_calls_are_those_of_the_formulas(way, n):
    tasks = schedule(way, Step(STACK, n, CLUSTER, n_micro=5))
    left_out = 2 * n if way == "sharded" else 0  # what is in no layer
    assert sum(task.n_calls for task in tasks) == calls_made(way, n, STACK.n_layers, 5) - left_out


@every_way
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_arithmetic_is_shared_and_costs_six_flops_a_parameter_and_token_besides_the_scores(way, n):
    scores = 6 * STACK.n_layers * STACK.d_model * STACK.length * STACK.n_tokens / (n * CLUSTER.reached * CLUSTER.flops)
    expected = CLUSTER.seconds_computing(STACK.n_parameters, STACK.n_tokens, n) + scores
    for overlap in (False, True):
        for use in use_of_time(schedule(way, Step(STACK, n, CLUSTER, overlap)), n):
            assert use.computing == pytest.approx(expected)


@every_way
def test_what_a_rank_does_adds_up_to_the_step(way):
    for overlap in (False, True):
        tasks = schedule(way, Step(STACK, 3, CLUSTER, overlap, slow=1.5))
        for use in use_of_time(tasks, 3):
            assert use.computing + use.sending + use.waiting == pytest.approx(whole(tasks))
            assert min(use.computing, use.sending, use.waiting) > -1e-9


@pytest.mark.parametrize("way", ["data", "sharded", "tensor", "context"])
def test_alike_ranks_never_wait_for_each_other_and_send_as_long_as_the_cluster_says(way):
    tasks = schedule(way, Step(STACK, 4, CLUSTER))
    for use in use_of_time(tasks, 4):
        assert use.waiting == pytest.approx(0, abs=1e-9)
        assert use.sending == pytest.approx(CLUSTER.seconds_sending(sum(task.n_bytes for task in tasks), 4))


@pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 4), (4, 4), (4, 12)])
def test_a_pipeline_waits_as_its_formula_says(n, m):
    tasks = schedule("pipeline", Step(STACK, n, FAST, n_micro=m))
    for use in use_of_time(tasks, n):
        assert use.waiting / whole(tasks) == pytest.approx(waiting_share(n, m))


@every_way
def test_no_rank_does_two_things_at_once(way):
    for overlap in (False, True):
        tasks = schedule(way, Step(STACK, 4, CLUSTER, overlap, slow=2))
        for rank in range(4):
            mine = sorted((t.start, t.end) for t in tasks if rank in t.ranks and (t.computes or not overlap))
            assert all(end <= start + 1e-9 for (_, end), (start, _) in itertools.pairwise(mine))


@every_way
def test_what_a_task_needs_is_done(way):
    tasks = schedule(way, Step(STACK, 4, CLUSTER, overlap=True))
    ends = {task.name: task.end for task in tasks}
    assert len(ends) == len(tasks)
    assert all(ends[name] <= task.start + 1e-9 for task in tasks for name in task.after)


@every_way
def test_sending_while_computing_saves_time_but_for_sums_that_the_next_layer_needs(way):
    plain, overlapped = (whole(schedule(way, Step(STACK, 4, CLUSTER, overlap))) for overlap in (False, True))
    if way == "tensor":
        assert overlapped == pytest.approx(plain)
    else:
        assert overlapped < 0.99 * plain


def test_by_hand_two_ranks_share_one_layer():
    """d 1, 10 tokens in texts of 5, float: 24 · 10 + 2 · 5 · 10 = 340 FLOPs forward, 12 weights of 4 bytes."""
    stack, cluster = Stack(1, 1, 10, 5, 4), Cluster(flops=100, link=8, reached=1.0)
    tasks = schedule("data", Step(stack, 2, cluster))
    assert [(task.name, task.start, task.end) for task in tasks] == [
        ("F0@0", 0, 1.7),
        ("F0@1", 0, 1.7),
        ("B0@0", 1.7, pytest.approx(5.1)),
        ("B0@1", 1.7, pytest.approx(5.1)),
        ("sum", pytest.approx(5.1), pytest.approx(5.1 + 2 * 6 * 4 / 8)),
    ]


def test_all_wait_for_a_slow_rank():
    tasks = schedule("data", Step(STACK, 3, FAST, slow=2))
    uses = use_of_time(tasks, 3)
    assert [use.waiting / whole(tasks) for use in uses] == pytest.approx([0.5, 0.5, 0])


@every_way
def test_the_ranks_together_hold_each_weight(way):
    n, times = 4, {"data": 4, "context": 4}.get(way, 1)
    area = torch.zeros(2)
    for rank in range(n):
        for piece in filter(None, held(way, rank, n, 12)):
            area += torch.tensor([(right - left) * (low - top) for left, top, right, low in piece])
    assert (area / 12).tolist() == pytest.approx([times, times])


def test_tensor_parallel_holds_the_columns_and_rows_of_the_package():
    up = torch.arange(8.0).expand(3, 8)  # its columns' numbers
    ups, downs = split_columns_rows(up, up.T.contiguous(), 4)
    for rank in range(4):
        (left, _, right, _), (_, top, _, low) = held("tensor", rank, 4, 1)[0]
        assert ups[rank, 0].tolist() == downs[rank, :, 0].tolist() == list(range(int(8 * left), int(8 * right)))
        assert (left, right) == (top, low)


def test_context_parallel_reads_the_positions_of_the_package():
    for rank, parts in enumerate(balanced_parts(64, 4)):
        boxes = reads("context", rank, 4)
        assert [(box[0] * 64, box[2] * 64) for box in boxes] == [(part.start, part.stop) for part in parts]


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"each rank must have a layer \(got 4 ranks, 2 layers\)"):
        schedule("pipeline", Step(Stack(n_layers=2), 4, CLUSTER))
    with pytest.raises(ValueError, match=r"length \(10\) must be at most n_tokens \(5\)"):
        Stack(n_tokens=5, length=10)
    with pytest.raises(ValueError, match=r"scheme must be one of data, sharded, .* \(got 'expert'\)"):
        held("expert", 0, 2, 4)
