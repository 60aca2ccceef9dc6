"""Many ranks: each of the five ways computes what one process computes, and sends what its formula says."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import transformer_lab
from tests import killed_ranks, sharded_script, work_of_ranks
from tests.support import assert_close
from transformer_lab.distributed.checkpoints import load_sharded
from transformer_lab.distributed.collectives import all_reduce_ring
from transformer_lab.distributed.context_parallel import balanced_parts, ring_attention
from transformer_lab.distributed.costs import WAYS, activations_kept, bytes_sent, calls_made, weights_held
from transformer_lab.distributed.pipeline import waiting_share
from transformer_lab.distributed.processes import ATTEMPTS, RankError, Ranks
from transformer_lab.distributed.tensor_parallel import split_columns_rows
from transformer_lab.distributed.trials import (
    ORDERS,
    SCHEMES,
    Outcome,
    against_torch,
    micro_batches_held,
    new_model,
    ring_sum,
    train,
    train_alone,
)
from transformer_lab.models.language_model import LanguageModelConfig
from transformer_lab.nn.attention import scaled_dot_product_attention

N_MICRO, PAD = 3, 0
SMALL = ["--d-model", "12", "--d-ff", "8", "--heads", "2", "--layers", "1", "--length", "16"]
GPT = LanguageModelConfig(
    vocab_size=11, d_model=20, n_heads=5, d_ff=22, n_layers=4, max_len=19, dropout=0.0, attention_dropout=0.0
)
GPT_IN_FOURS = replace(GPT, vocab_size=96, d_model=128, n_heads=4, d_ff=256, max_len=40)
WIDE = replace(GPT_IN_FOURS, vocab_size=32, d_model=64, d_ff=512, tie_weights=False)
LLAMA = replace(
    GPT,
    **{"d_model": 24, "n_heads": 6, "n_kv_heads": 3, "positions": "rotary", "norm": "rms_norm", "bias": False},
    **{"feed_forward": "swiglu", "activation": "silu", "tie_weights": False},
)


@pytest.fixture(scope="module")
def ranks() -> Iterator[Ranks]:
    """Four ranks, started once; a test that needs fewer calls the first of them."""
    with Ranks(4) as started:
        yield started


def batches() -> list[torch.Tensor]:
    """Seven texts at a time, which no number of ranks divides, of lengths that differ, within a text and between."""
    generator, made = torch.Generator().manual_seed(1), []
    for step in range(10):
        tokens = torch.randint(1, 11, (7, (13, 11, 17)[step % 3]), generator=generator)
        for text in range(7):
            tokens[text, 13 - text :] = PAD
        made.append(tokens)
    return made


@pytest.fixture(scope="module")
def alone() -> dict[LanguageModelConfig, Outcome]:
    return {config: train_alone(config, batches(), PAD) for config in (GPT, LLAMA)}


def assert_as_one_process(outcomes: list[Outcome], one: Outcome) -> None:
    first = outcomes[0]
    for outcome in outcomes:
        assert outcome.losses == pytest.approx(one.losses, abs=1e-5)
    assert first.weights.keys() >= one.weights.keys()
    for name in one.weights:
        assert_close(first.gradients[name], one.gradients[name], within=1e-5)
        assert_close(first.weights[name], one.weights[name], within=1e-5)


def predicted(scheme: str, n: int, config: LanguageModelConfig, one: Outcome) -> tuple[int, int]:
    """Bytes and calls of all ranks in the first step."""
    kv_width = (config.n_kv_heads or config.n_heads) * config.d_model // config.n_heads
    width = kv_width if scheme == "context" else config.d_model
    size, calls = one.n_parameters, calls_made(scheme, n, config.n_layers, N_MICRO)
    if scheme == "sharded":  # FSDP pads the first axis of each parameter; what is in no layer is gathered once
        layers, rest = padded(config, n)
        return 4 * (n - 1) * (3 * layers + 2 * rest), calls
    tied = 2 * config.vocab_size * config.d_model if scheme == "pipeline" and config.tie_weights else 0
    sent = bytes_sent(scheme, n, size, config.n_layers, 7 * 13, width) + 4 * tied
    return sent, calls + (2 if tied else 0)


def padded(config: LanguageModelConfig, n: int) -> tuple[int, int]:
    """Parameters of the layers and of the rest, each as large as n equal parts of it."""
    sizes = {name: -(-p.size(0) // n) * n * p[0].numel() for name, p in new_model(config).named_parameters()}
    layers = sum(size for name, size in sizes.items() if name.startswith("layers"))
    return layers, sum(sizes.values()) - layers


CUTS = [(GPT, scheme, n) for scheme in SCHEMES for n in (2, 3, 4)] + [(LLAMA, scheme, 3) for scheme in SCHEMES]


@pytest.mark.parametrize(("config", "scheme", "n"), CUTS, ids=lambda x: getattr(x, "positions", x))
def test_ranks_learn_what_one_process_learns_and_send_what_the_formula_says(config, scheme, n, ranks, alone):
    """Losses, gradients, and weights after ten steps; a batch of 7 texts, whose lengths differ."""
    options = {"n_micro": N_MICRO} if scheme == "pipeline" else {}
    outcomes = ranks.call(work_of_ranks.train_with, scheme, config, batches(), PAD, options, n=n)
    assert_as_one_process(outcomes, alone[config])
    calls = sum(number for outcome in outcomes for name, number in outcome.calls.items() if name != "receive")
    expected_bytes, expected_calls = predicted(scheme, n, config, alone[config])
    assert sum(outcome.bytes for outcome in outcomes) == pytest.approx(expected_bytes, rel=1e-12)
    assert calls == expected_calls


@pytest.mark.parametrize(
    ("config", "n"), [(GPT, 2), (GPT, 3), (GPT, 4), (LLAMA, 4)], ids=lambda x: getattr(x, "positions", x)
)
def test_a_pipeline_may_take_one_forward_and_one_back_in_turns(config, n, ranks, alone):
    """1F1B: the same numbers, bytes and calls as in GPipe's order."""
    outcomes = ranks.call(work_of_ranks.train_with, "1F1B", config, batches(), PAD, {"n_micro": N_MICRO}, n=n)
    assert_as_one_process(outcomes, alone[config])
    calls = sum(number for outcome in outcomes for name, number in outcome.calls.items() if name != "receive")
    expected_bytes, expected_calls = predicted("pipeline", n, config, alone[config])
    assert (sum(outcome.bytes for outcome in outcomes), calls) == (expected_bytes, expected_calls)


@pytest.mark.parametrize("n_micro", [1, 3, 7])
def test_in_turns_a_rank_holds_few_micro_batches(n_micro, ranks):
    held = {order: ranks.call(micro_batches_held, order, GPT, batches()[0], n_micro) for order in ORDERS}
    assert held == {"GPipe": [n_micro] * 4, "1F1B": [min(n_micro, 4 - rank) for rank in range(4)]}


def test_data_parallel_has_the_gradients_of_torchs_own(ranks):
    assert max(ranks.call(against_torch, GPT, torch.randint(1, 11, (8, 13)), n=4)) < 1e-6


@pytest.mark.parametrize("scheme", ["data", "sharded"])
def test_a_rank_without_a_text_takes_part(scheme, ranks):
    few = [tokens[:3] for tokens in batches()[:2]]
    assert_as_one_process(ranks.call(train, scheme, GPT, few, PAD), train_alone(GPT, few, PAD))


def test_ranks_hold_less_than_one_process(ranks, alone):
    """Weights, and what the forward pass keeps: what each way cuts, and what it can't."""
    one, tokens = alone[GPT], batches()[:1]
    held = {scheme: ranks.call(train, scheme, GPT, tokens, PAD) for scheme in SCHEMES}
    n_weights = {scheme: max(outcome.n_parameters for outcome in outcomes) for scheme, outcomes in held.items()}
    assert n_weights["data"] == n_weights["context"] == one.n_parameters
    assert n_weights["sharded"] < 0.3 * one.n_parameters
    assert n_weights["tensor"] < 0.5 * one.n_parameters > n_weights["pipeline"]
    kept = {scheme: max(outcome.kept_bytes for outcome in outcomes) for scheme, outcomes in held.items()}
    assert max(kept["data"], kept["sharded"], kept["context"]) < 0.45 * one.kept_bytes
    assert 0.45 * one.kept_bytes < kept["tensor"] < one.kept_bytes


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("scheme", WAYS)
def test_the_memory_of_a_rank_is_what_the_formulas_say(scheme, n, ranks):
    """Of two models, the second wide in its hidden features, with a long text; their sizes can be cut by 4."""
    for config, tokens in ((GPT_IN_FOURS, torch.ones(8, 16)), (WIDE, torch.ones(4, 40))):
        found = ranks.call(train, scheme, config, [tokens.long()], n=n)
        weights = max(outcome.n_parameters for outcome in found)
        assert weights == pytest.approx(weights_held(scheme, n, config), rel=0.02 if scheme == "sharded" else 0)
        kept = max(outcome.kept_bytes for outcome in found)
        assert kept == pytest.approx(activations_kept(scheme, n, config, *tokens.shape), rel=0.02)


def test_memory_is_predicted_of_known_parts_alone():
    assert weights_held("pipeline", 1, GPT_IN_FOURS) == weights_held("data", 3, GPT_IN_FOURS)
    with pytest.raises(ValueError, match=r"config must have the parts of GPT-2, and no dropout .got .*rotary"):
        weights_held("data", 2, LLAMA)
    with pytest.raises(ValueError, match=r"config must have the parts of GPT-2, and no dropout"):
        activations_kept("data", 2, replace(GPT_IN_FOURS, dropout=0.1), 8, 16)
    with pytest.raises(ValueError, match=r"scheme must be one of data, .* .got 'expert'"):
        weights_held("expert", 2, GPT_IN_FOURS)
    with pytest.raises(ValueError, match=r"n_texts \(0\) must be at least 1"):
        activations_kept("data", 2, GPT_IN_FOURS, 0, 16)


# Dropout


@pytest.mark.parametrize("scheme", SCHEMES)
def test_with_dropout_the_weights_that_all_ranks_have_stay_equal(scheme, ranks):
    heads = 0.3 if scheme != "context" else 0.0
    config = replace(GPT, dropout=0.3, attention_dropout=heads)
    found = ranks.call(work_of_ranks.dropped, scheme, config, batches()[0], n=3)
    norms, own, after = zip(*found, strict=True)
    assert len(set(own)) == 3  # each rank's heads drop other weights
    if scheme == "tensor":
        assert len(set(after)) == 1  # and all of them the same activations
    else:
        assert len(set(after)) == 3
    if scheme not in ("sharded", "pipeline"):  # there each rank has other weights
        assert norms[0] == norms[1] == norms[2] != [1.0] * len(norms[0])


# Messages


def test_a_ring_adds_up_by_hand():
    steps = all_reduce_ring([[1, 2], [10, 20]])
    assert steps == [[[1, 22], [11, 20]], [[11, 22], [11, 22]]]
    assert all_reduce_ring([[1, 2, 3], [10, 20, 30], [100, 200, 300]])[-1] == [[111, 222, 333]] * 3
    assert all_reduce_ring([[5]]) == []


@pytest.mark.parametrize(("n", "size"), [(2, 7), (3, 10), (4, 3)])
def test_a_ring_on_the_wire_gives_torchs_sum_for_the_bytes_of_the_formula(n, size, ranks):
    found = ranks.call(ring_sum, size, n=n)
    assert max(off for off, _, _ in found) < 1e-5
    assert all(calls == 2 * (n - 1) for _, calls, _ in found)
    assert sum(sent for _, _, sent in found) == 2 * (n - 1) * 4 * size


def test_messages_that_start_in_c_are_counted(ranks):
    assert ranks.call(work_of_ranks.traffic_of_ddp, n=2) == [({"all_reduce": 1}, 4 * 35)] * 2


def test_a_message_of_unknown_size_is_refused(ranks):
    with pytest.raises(RankError, match=r"a call must be one of allreduce_, .* to be counted .got alltoall_base_"):
        ranks.call(work_of_ranks.refused_by_traffic, n=2)


# The parts


def test_columns_and_rows_need_one_sum():
    w_up, w_down, x = torch.randn(5, 6), torch.randn(6, 5), torch.randn(3, 5)
    ups, downs = split_columns_rows(w_up, w_down, 3)
    assert (ups.shape, downs.shape) == ((3, 5, 2), (3, 2, 5))
    assert_close((torch.relu(x @ ups) @ downs).sum(0), torch.relu(x @ w_up) @ w_down, within=1e-5)
    with pytest.raises(ValueError, match=r"d_ff \(6\) must be divisible by n \(4\)"):
        split_columns_rows(w_up, w_down, 4)


def test_a_ring_attends_to_one_part_more_each_step():
    queries, keys, values = torch.randn(3, 2, 4), 3 * torch.randn(3, 5, 4), torch.randn(3, 5, 6)
    steps = ring_attention(queries, keys, values)
    for step in range(3):
        for rank in range(3):
            met = [(rank - i) % 3 for i in range(step + 1)]
            right, _ = scaled_dot_product_attention(queries[rank], keys[met].flatten(0, 1), values[met].flatten(0, 1))
            assert_close(steps[step, rank], right, within=1e-5)


def test_balanced_parts_see_about_equally_many_keys():
    for length, n in ((8, 2), (17, 3), (64, 4)):
        parts = balanced_parts(length, n)
        assert sorted(i for part in parts for piece in part for i in piece) == [*range(length)]
        seen = [sum(i + 1 for piece in part for i in piece) for part in parts]
        assert max(seen) - min(seen) <= 2 * length
    with pytest.raises(ValueError, match=r"2 positions for each rank \(got 5 positions, 3 ranks\)"):
        balanced_parts(5, 3)


def test_the_wait_of_a_pipeline_by_hand():
    assert waiting_share(4, 1) == 0.75
    assert waiting_share(4, 12) == 0.2
    with pytest.raises(ValueError, match=r"n_micro .0. must be at least 1"):
        waiting_share(2, 0)


@pytest.mark.parametrize(
    ("scheme", "change", "options", "message"),
    [
        ("tensor", {"n_heads": 2}, {}, r"head with keys of its own \(got 4 ranks, 2 such heads\)"),
        ("pipeline", {"n_layers": 3}, {}, r"each rank must have a layer \(got 4 ranks, 3 layers\)"),
        ("pipeline", {}, {"n_micro": 8}, r"a text for each of 8 micro-batches \(got 7\)"),
        ("context", {"attention_dropout": 0.1}, {}, r"attention_dropout must be 0, .* \(got 0.1\)"),
        ("context", {"max_len": 7}, {}, r"2 positions for each rank \(got 7 positions, 4 ranks\)"),
    ],
)
def test_what_can_not_be_cut_is_refused(scheme, change, options, message, ranks):
    config = replace(GPT, **change)
    with pytest.raises(RankError, match=rf"raised ValueError: .*{message}"):
        ranks.call(work_of_ranks.refused, scheme, config, batches()[0][:, : config.max_len][:, :13], options)


def test_costs_refuse_what_is_no_way_to_cut():
    with pytest.raises(ValueError, match=r"scheme must be one of data, sharded, .* .got 'expert'"):
        bytes_sent("expert", 2, 1, 1, 1, 1)
    with pytest.raises(ValueError, match=r"n_ranks \(0\) must be at least 1"):
        calls_made("data", 0, 1)


# Checkpoints


def in_our_package(*call: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the tests in a Python of its own."""
    root = Path(transformer_lab.__file__).parents[1]
    path = {"PYTHONPATH": f"{root}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    environment = os.environ | path | variables
    return subprocess.run([sys.executable, "-m", *call], cwd=root, env=environment, capture_output=True, text=True)


def test_a_checkpoint_of_four_ranks_is_read_by_two_and_by_one(ranks, tmp_path):
    tokens = batches()[0]
    four, two, given = tmp_path / "four", tmp_path / "two", ("sharded", GPT, tokens)
    straight = ranks.call(work_of_ranks.steps, 4, *given, None, None)[0]
    ranks.call(work_of_ranks.steps, 2, *given, None, four)
    by_two = ranks.call(work_of_ranks.steps, 2, *given, four, two, n=2)[0]
    model, _, step = work_of_ranks.loaded_alone(GPT, two)
    assert step == 4
    for name, parameter in model.named_parameters():
        assert_close(by_two[name], straight[name], within=1e-5)
        assert_close(parameter, straight[name], within=1e-5)


def test_the_script_of_the_docstring_goes_on_with_other_ranks_and_is_read_alone(tmp_path):
    """Under torchrun: two ranks take 3 steps, one goes on to 5; then this process reads it."""
    program = "torch.distributed.run", "--standalone", "--nproc-per-node"
    for n, until in ((2, 3), (1, 5)):
        run = in_our_package(*program, str(n), "-m", "tests.sharded_script", str(tmp_path / "run"), str(until))
        assert run.returncode == 0, run.stderr
    model = sharded_script.read_alone(tmp_path / "run")
    alone = train_alone(sharded_script.config, sharded_script.batches)
    for name, parameter in model.named_parameters():
        assert_close(parameter, alone.weights[name], within=1e-5)


def test_a_folder_without_a_checkpoint_of_the_model_is_refused(tmp_path):
    model = new_model(GPT)
    with pytest.raises(ValueError, match=r"a checkpoint of this model must be in the folder .*nowhere"):
        load_sharded(tmp_path / "nowhere", model, torch.optim.Adam(model.parameters()))


# The training commands


def test_a_training_goes_on_with_another_number_of_ranks(ranks, tmp_path):
    """Three ranks for 4 steps, two for 4 more; and one for all 8: the same curve, and one that speaks."""
    (tmp_path / "book.txt").write_text("the cat sat on the mat. the dog sat on the log. " * 240, encoding="utf-8")
    few = [*SMALL, "--batch", "7", "--warmup", "4", "--steps", "8", "--device", "cpu"]
    new = ["--text", str(tmp_path / "book.txt"), *few]
    losses = {}
    for name, calls in {"many": ((new, 3, 4), ([], 2, 8)), "one": ((new, 1, 8),)}.items():
        path = tmp_path / name
        for arguments, n, until in calls:
            begin = [*arguments, "--out", str(path)] if arguments else ["--resume", str(path)]
            found = ranks.call(work_of_ranks.train_command, begin, until, n=n)
            assert [code for code, _, _, _ in found] == [0 if until == 8 else 143] * n
            assert [bool(said) for _, said, _, _ in found] == [True] + [False] * (n - 1)
            losses.setdefault(name, []).extend(found[0][3])
    assert losses["many"] == pytest.approx(losses["one"], abs=1e-5)


def test_a_process_under_torchrun_ends_when_its_training_has_ended():
    """It once waited for ever for a thread of its group, which waited for Python's lock."""
    alone = {"LOCAL_RANK": "0", "RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    run = in_our_package("tests.alone_under_torchrun", **alone)
    assert (run.returncode, run.stdout) == (0, "left\n"), run.stderr


def test_a_killed_rank_ends_all_with_a_sentence_and_little_is_lost():
    """By torchrun. `python -m tests.killed_ranks 10` kills ten times."""
    run = in_our_package("tests.killed_ranks", "1")
    assert run.returncode == 0, run.stderr
    (found,) = json.loads(run.stdout)
    assert found["sentence"]
    assert (found["traces"], found["left"]) == (0, [])
    assert 0 <= found["lost"] <= killed_ranks.SAVE_EVERY


# Faults: the last of these leaves no ranks


def test_the_error_of_a_rank_is_told_and_the_ranks_can_be_called_again(ranks):
    with pytest.raises(RankError, match="rank 1 raised ValueError: a rank of ours has no memory left"):
        ranks.call(work_of_ranks.raises, 1, n=3)
    assert ranks.call(torch.distributed.get_rank, n=3) == [0, 1, 2]


def test_ranks_that_wait_for_one_that_skips_are_ended_by_the_limit(ranks):
    with pytest.raises(RankError, match=r"rank [02] raised RuntimeError: .*(Timed out|Connection)"):
        ranks.call(work_of_ranks.skips, 1, n=3, limit=5)


def in_the_way(ranks, n_groups: int) -> None:
    """Put folders where the next groups would write the file in which their ranks find each other."""
    for group in range(n_groups):
        (Path(ranks.folder.name) / str(ranks.calls + 1 + group)).mkdir()


def test_a_group_that_fails_is_made_again_before_anybody_works(ranks):
    in_the_way(ranks, ATTEMPTS - 1)
    assert ranks.call(torch.distributed.get_rank, n=3) == [0, 1, 2]


def test_a_group_that_fails_again_and_again_is_told(ranks):
    in_the_way(ranks, ATTEMPTS)
    with pytest.raises(RankError, match=r"rank \d raised .*(directory|timeout)"):
        ranks.call(torch.distributed.get_rank, n=3)
    assert ranks.call(torch.distributed.get_rank, n=3) == [0, 1, 2]


def test_a_number_of_ranks_that_do_not_run_is_refused(ranks):
    with pytest.raises(ValueError, match=r"n must be from 1 to the number of ranks that run, 4 \(got 5\)"):
        ranks.call(torch.distributed.get_rank, n=5)


def test_a_function_of_a_notebook_is_refused(ranks):
    def own() -> None:
        """Stands in a cell."""

    own.__module__ = "__main__"
    with pytest.raises(ValueError, match=r"must stand in a module that they can import \(got .*own, of a notebook"):
        ranks.call(own)


def test_a_rank_that_dies_ends_all(ranks):
    processes = ranks.processes
    with pytest.raises(RankError, match=r"rank 2 died \(exit code 7\)"):
        ranks.call(work_of_ranks.dies, 2)
    assert not any(process.is_alive() for process in processes)
    with pytest.raises(ValueError, match=r"ranks that run, 0 \(got 2\)"):
        ranks.call(torch.distributed.get_rank, n=2)
