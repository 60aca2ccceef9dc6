"""The experiments of lesson 15: what their tasks ask for, what their arms change, and the table that they wrote."""

import json
from pathlib import Path

import pytest
import torch

import transformer_lab
from tests.support import assert_close, without_signature_checks
from transformer_lab.training.experiments.since_llama import (
    __main__ as command,
)
from transformer_lab.training.experiments.since_llama import (
    balance,
    bounded_scores,
    caches,
    distance,
    kept_sizes,
    memory,
    parts,
    reading_on,
)
from transformer_lab.training.text_training import TextRecipe

TABLE = Path(transformer_lab.__file__).parent / "checkpoints" / "since_llama.json"


def generator() -> torch.Generator:
    return torch.Generator("cpu").manual_seed(0)


# What the tasks ask for


@pytest.mark.parametrize("task", [memory.Task(8), memory.Task(5, times=3), memory.Task(8, void=40)], ids=str)
def test_the_answer_is_what_was_written_last(task):
    rows, classes = task.draw(20, generator())
    assert rows.shape[1] == task.void + min(task.void, 1) + task.pairs * task.times + memory.ASKED
    for row, answers in zip(rows.tolist(), classes.tolist(), strict=True):
        known, expected = {}, []
        for key, value in row:
            if value == memory.VOID:
                known = {}
            elif value == memory.QUESTION:
                expected.append(known[key])
            else:
                known[key] = value
        assert answers[-memory.ASKED :] == expected
        assert {*answers[: -memory.ASKED]} == {parts.NOT_ASKED}
        assert len(known) == task.pairs


def test_every_position_from_the_mark_on_says_the_marked_symbol():
    rows, classes = distance.draw(20, generator())
    for row, said in zip(rows.tolist(), classes.tolist(), strict=True):
        (place,) = [i for i, symbol in enumerate(row) if symbol >= distance.N_SYMBOLS]
        assert said == [parts.NOT_ASKED] * place + [row[place] - distance.N_SYMBOLS] * (len(row) - place)


def test_shares_by_distance_are_counted_from_the_first_position_that_is_asked():
    asked = torch.tensor([[False, True, True], [True, True, True]])
    right = torch.tensor([[False, True, False], [True, True, False]])
    assert distance.by_distance(right, asked)[:3] == [1.0, 0.5, 0.0]


# What the arms change


def test_a_norm_and_a_cap_bound_the_scores_and_nothing_else_does():
    bounds = {"norm only": parts.D_HEAD**0.5}
    for name in bounded_scores.ATTENTIONS:
        model = parts.python_model(0, lambda rotary, name=name: bounded_scores.attention(name, rotary))
        with torch.no_grad():
            for layer in model.layers:
                layer.self_attention.w_q.weight.mul_(100)
        largest = bounded_scores.largest_score(model)
        assert (largest > 20) == (name in ("plain", "soft cap")), name  # a cap comes after the scores
        assert largest < bounds.get(name, 1e6) + 1e-3


@pytest.mark.parametrize("kept", [False, True])
def test_sizes_are_kept_where_they_shall_be_and_turns_are_counted(kept):
    model = parts.python_model(0)
    matrices = [layer.self_attention.w_q.weight for layer in model.layers]
    before = [matrix.detach().clone() for matrix in matrices]
    training = kept_sizes.TurningTraining(model, TextRecipe(2, peak_rate=0.3), kept)
    with without_signature_checks():
        training.take_step()
        training.take_step()
    grown = [(matrix.norm() / old.norm()).item() for matrix, old in zip(matrices, before, strict=True)]
    assert (grown == pytest.approx([1.0, 1.0], abs=1e-4)) == kept
    assert len(training.turns) == 2
    assert 0 < min(training.turns) < max(training.turns) < 1
    assert kept_sizes.angle(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0])) == pytest.approx(torch.pi / 4)
    drawn = torch.randn(9, 9)
    assert all(kept_sizes.angle(drawn, size * drawn) < 1e-2 for size in (1.1, 1.3, 1.7))


def test_a_recipe_that_changes_nothing_and_a_window_leave_the_first_characters_as_they_are():
    model = parts.python_model(0, max_len=reading_on.LONGER).eval()
    plain = reading_on.nats_by_position(model)
    assert_close(reading_on.nats_by_position(reading_on.rescaled(model, reading_on.SCALINGS["as trained"])), plain)
    windowed = reading_on.nats_by_position(reading_on.windowed(model))
    assert_close(windowed[:63], plain[:63], within=1e-4)
    assert (windowed[64:] - plain[64:]).abs().max() > 1e-5
    near = reading_on.nats_by_position(reading_on.without_new_distances(model))
    assert_close(near[:63], plain[:63], within=1e-4)
    assert min((near[64:] - other[64:]).abs().max() for other in (plain, windowed)) > 1e-5


def test_without_new_distances_a_key_far_back_is_as_far_as_the_furthest_of_the_training():
    """Where all keys are alike, their scores differ by distance alone."""
    model = reading_on.without_new_distances(parts.python_model(0, max_len=reading_on.LONGER))
    attention, x = model.layers[0].self_attention, torch.ones(1, 100, parts.D_MODEL)
    with torch.no_grad():
        weights = attention(x, x, x, transformer_lab.causal_mask(100), need_weights=True)[1][0, :, -1].flip(-1)
    assert_close(weights[:, 64:], weights[:, 63:64].expand(-1, 36))
    assert (weights[:, 62] - weights[:, 63]).abs().max() > 1e-5


def test_a_group_and_a_latent_hold_equally_many_numbers():
    for arm, numbers in caches.NUMBERS.items():
        model, cache = parts.python_model(0, lambda rotary, arm=arm: caches.attention(arm, rotary)), None
        cache = transformer_lab.KVCache()
        with torch.no_grad():
            model(torch.zeros(1, 5, dtype=torch.long), cache)
        assert sum(tensor.numel() for tensor in cache.tensors.values()) == 2 * 5 * numbers, arm


def test_a_bias_falls_where_the_load_is_high_and_a_load_of_one_is_even():
    experts = balance.SigmoidExperts(8, 4, balance.N_EXPERTS, balance.TOP_K, torch.nn.Identity())
    even = 9 * torch.eye(balance.N_EXPERTS) + 5 * torch.eye(balance.N_EXPERTS).roll(1, 1)
    assert balance.loads_of(experts, even).tolist() == [1.0] * balance.N_EXPERTS
    uneven = balance.loads_of(experts, even[:1])
    assert uneven.tolist() == [4, 4, 0, 0, 0, 0, 0, 0]
    model = parts.python_model(0, network=lambda: balance.experts())
    training = balance.BalancedTraining(model, TextRecipe(2), weight=0.0, move=0.5)
    with without_signature_checks():
        training.take_step()
    moved = model.layers[0].feed_forward.balance
    assert {*moved.tolist()} <= {-0.5, 0.0, 0.5}
    assert min(moved) < 0 < max(moved)


# The table


def expected_rows() -> list[tuple[str, int, str]]:
    modules = command.BY_ARM | {"reading on": reading_on}
    found = [(name, seed, arm) for name, module in modules.items() for seed in range(5) for arm in module.ARMS]
    return found + [(f"{name}, ten times as long", 0, arm) for name, arms in command.LONGER.items() for arm in arms]


def test_the_committed_table_has_a_row_for_each_arm_and_seed():
    found = json.loads(TABLE.read_text())
    assert [(row["experiment"], row["seed"], row["arm"]) for row in found] == expected_rows()


@pytest.mark.parametrize("arm", ["linear, 8 pairs"])
def test_a_committed_row_comes_out_again(arm):
    """The same to the last digit where it was made; another machine may round sums in another way."""
    (row,) = [row for row in json.loads(TABLE.read_text()) if (row["arm"], row["seed"]) == (arm, 0)]
    with without_signature_checks():
        assert memory.measure(arm, 0)["right"] == pytest.approx(row["right"], abs=0.03)


def test_the_command_writes_what_it_is_asked_for(tmp_path, monkeypatch, capsys):
    out = tmp_path / "rows.json"
    monkeypatch.setattr(memory, "ARMS", {"linear, 8 pairs": memory.ARMS["linear, 8 pairs"]})
    monkeypatch.setattr(memory, "measure", lambda arm, seed, n_steps: {"right": seed / 2})
    assert command.main(["--out", str(out), "--only", "memory", "--seeds", "0", "1"]) == 0
    about = {"experiment": "memory", "arm": "linear, 8 pairs"}
    assert json.loads(out.read_text()) == [{**about, "seed": 0, "right": 0.0}, {**about, "seed": 1, "right": 0.5}]
    assert capsys.readouterr().out.count("\n") == 2
