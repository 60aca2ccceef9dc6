"""Recorded trainings by rewards: they train as unrecorded ones do, and what they keep is what happened."""

import json
import math
from copy import deepcopy

import pytest
import torch

from tests.support import assert_close
from transformer_lab import training
from transformer_lab.training.after_pretraining import Problems, RewardRecipe, RewardTraining
from transformer_lab.training.after_pretraining import digit_sums as task
from transformer_lab.training.checkpoint import load_language_model
from transformer_lab.training.experiments import rewarding, scatter
from transformer_lab.training.experiments.answers import N_PROBLEMS, N_SAMPLES, STEPS
from transformer_lab.training.shipped import FOLDER


@pytest.fixture(scope="module")
def base():
    return load_language_model("digit_sums")[:2]


@pytest.fixture(scope="module")
def steps(base):
    return rewarding.recorded(*base, "digit anywhere", 1, steps=2)


def test_recording_changes_nothing(base):
    model, characters = base
    problems = Problems(task.draw_problems(N_PROBLEMS, 201), characters)
    trained = []
    for kind in (RewardTraining, rewarding.RecordedTraining):
        learner = kind(
            deepcopy(model), problems, RewardRecipe(STEPS, seed=1, n_samples=N_SAMPLES), task.names_the_digit
        )
        for _ in learner.run(2):
            pass
        trained.append(learner.model.state_dict())
    assert all(torch.equal(one, other) for one, other in zip(*(x.values() for x in trained), strict=True))


def test_what_is_kept_is_what_the_verifiers_say(steps):
    assert len(steps) == 2
    for step in steps:
        pairs = [(step["problem"], text) for text in step["texts"]]
        assert len(pairs) == N_SAMPLES
        assert step["rewards"] == [task.names_the_digit(*pair) for pair in pairs]
        assert step["exact"] == [task.verifies(*pair) for pair in pairs]
        assert len(set(step["rewards"])) == 2  # a group that says something
        assert 0 <= step["right"] <= step["rewarded"] <= 1


def test_the_probabilities_are_the_models_before_and_after(base, steps):
    """The first step's `before` is what the base itself gives to the answers, computed here token by token."""
    model, characters = base
    step = steps[0]
    for text, before in zip(step["texts"], step["before"], strict=True):
        ids = characters.encode(task.asked(step["problem"]) + text)
        with torch.no_grad():
            log_probs = model(ids[None, :-1]).log_softmax(-1)[0]
        answered = range(len(ids) - len(text), len(ids))
        total = sum(log_probs[i - 1, ids[i]].item() for i in answered)
        assert before == pytest.approx(total, abs=2e-3)
    assert step["before"] != step["after"]


def test_the_command_writes_a_run_for_each_arm_and_seed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(rewarding, "shown", lambda model, characters, seed: model)
    out = tmp_path / "rewards.json"
    options = ["--out", str(out), "--seeds", "2", "--arms", "right", "length", "--steps", "1"]
    assert rewarding.main(options) == 0
    runs = json.loads(out.read_text())
    assert [(run["arm"], run["seed"], len(run["steps"])) for run in runs] == [("right", 2, 1), ("length", 2, 1)]
    assert capsys.readouterr().out.startswith("right 2 rewarded ")


def test_the_shipped_table_has_all_runs_and_is_small():
    runs = training.load_table("rewards")
    assert {(run["arm"], run["seed"]) for run in runs} == {
        (arm, seed) for arm in rewarding.ARMS for seed in rewarding.SEEDS
    }
    assert all(len(run["steps"]) == STEPS for run in runs)
    assert (FOLDER / "rewards.json").stat().st_size < 150_000
    last = {(run["arm"], run["seed"]): run["steps"][-1] for run in runs}
    for seed in rewarding.SEEDS:
        assert last["right", seed]["right"] > 0.9
        assert last["length", seed]["rewarded"] > 0.9 > 0.1 > last["length", seed]["right"]
        assert last["random", seed]["right"] < 0.3
    assert not any(math.isnan(x) for run in runs for step in run["steps"] for x in step["before"] + step["after"])


# Estimates of the gradient


def test_an_estimate_is_a_mean_of_the_gradients_of_whole_answers(base):
    model, characters = base
    learner = scatter.new_training(deepcopy(model), characters, seed=0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        found = scatter.estimates(learner, task.draw_problems(2, 900))
        torch.manual_seed(0)
        rollouts = learner.roll_out(task.draw_problems(2, 900))
    log_probs = learner.token_log_probs(learner.model, rollouts.samples)
    slopes = []
    for part in log_probs.split(rollouts.samples.answer_mask.sum(1).tolist()):  # an answer each
        gradients = torch.autograd.grad(part.sum(), [*learner.model.parameters()], retain_graph=True)
        slopes.append(torch.cat([gradient.flatten() for gradient in gradients]))
    for name, weigh in scatter.WEIGHTS.items():
        by_hand = (weigh(rollouts.rewards).flatten() @ torch.stack(slopes)) / len(slopes)
        assert_close(found[name], by_hand, within=1e-4)


def test_each_reward_less_those_of_the_others():
    assert scatter.less_the_others(torch.tensor([[1.0, 0, 0], [1, 1, 0]])).tolist() == [
        [1, -0.5, -0.5],
        [0.5, 0.5, -1],
    ]
