"""The command line of what comes after pretraining: three stages, going on, and what is refused."""

import json
import re
import signal
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from tests.support import DEVICE, without_signature_checks
from transformer_lab import LanguageModel, LanguageModelConfig, training
from transformer_lab.data.texts import Characters
from transformer_lab.training import answers as command
from transformer_lab.training import load_language_model
from transformer_lab.training.commands import language_model, shared
from transformer_lab.training.experiments import answers as experiment

BASE = ("--stage", "base", "--steps", "2", "--lines", "1000", "--batch", "4")
SHOWN = ("--stage", "demonstrations", "--steps", "2", "--examples", "16")
REWARDED = ("--stage", "rewards", "--steps", "4", "--examples", "8", "--batch", "2", "--samples", "2")


def run_command(*arguments: str) -> int:
    with without_signature_checks():
        return command.main([*arguments, "--device", str(DEVICE)])


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("base") / "base.safetensors"
    assert run_command(*BASE, "--lean", "--out", str(path)) == 0
    return path


def same_weights(one: Path, other: Path) -> bool:
    pair = (load_language_model(path)[0].parameters() for path in (one, other))
    return all(torch.equal(*both) for both in zip(*pair, strict=True))


def test_each_stage_begins_with_the_one_before(base, tmp_path, capsys):
    form, right = tmp_path / "form", tmp_path / "right"
    assert run_command(*SHOWN, "--from", str(base), "--out", str(form)) == 0
    assert run_command(*REWARDED, "--from", str(form), "--lean", "--out", str(right)) == 0
    facts = [load_language_model(path)[2] for path in (base, form, right)]
    assert [of["settings"]["stage"] for of in facts] == ["base", "demonstrations", "rewards"]
    assert all(0 <= of["right"] <= 1 for of in facts)
    assert not same_weights(base, form)
    assert re.search(r"% well formed, .*% right, .*% worked, .* of 1000 held-out problems", capsys.readouterr().out)


@pytest.mark.parametrize("kl", ["0", "0.1"])
def test_stopped_by_a_signal_it_goes_on_to_the_same_weights(kl, base, tmp_path, monkeypatch):
    straight, out, save = tmp_path / "straight", tmp_path / "out", language_model.save_training
    begin = (*REWARDED, "--kl", kl, "--from", str(base))
    assert run_command(*begin, "--out", str(straight)) == 0

    def save_training(path, training, *rest) -> None:
        save(path, training, *rest)
        if training.step == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(language_model, "save_training", save_training)
    assert run_command(*begin, "--save-every", "2", "--out", str(out)) == 130
    monkeypatch.setattr(language_model, "save_training", save)
    assert load_language_model(out)[2]["steps"] == 3
    assert run_command("--resume", str(out)) == 0
    assert same_weights(out, straight)


def test_it_does_not_go_on_beside_another_reference(base, tmp_path, monkeypatch, capsys):
    out, other = tmp_path / "out", tmp_path / "other"
    take_step = training.TextTraining.take_step

    def interrupted(self) -> tuple[float, float]:
        signal.raise_signal(signal.SIGINT)
        return take_step(self)

    with monkeypatch.context() as patch:
        patch.setattr(training.TextTraining, "take_step", interrupted)
        assert run_command(*REWARDED, "--kl", "0.1", "--from", str(base), "--out", str(out)) == 130
    assert run_command(*BASE, "--seed", "1", "--lean", "--out", str(other)) == 0
    assert run_command("--resume", str(out), "--from", str(other)) == 2
    assert "--from must be the checkpoint that the training began with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--stage must be one of base, demonstrations, rewards (got none)"),
        (["--stage", "base", "--kl", "1"], "with --stage base, --kl must be left out: it has no use for it"),
        (["--stage", "rewards", "--from", "nowhere"], "a checkpoint must be a file, or one of digit_sums"),
        (["--resume", "BASE", "--steps", "9"], "with --resume, --steps must be left out: the checkpoint knows"),
        (["--resume", "BASE"], "must contain training"),
        (["--resume", "PYTHON"], "a checkpoint to go on from must be one that this command wrote"),
    ],
)
def test_wrong_arguments(arguments, message, base, capsys):
    places = {"BASE": str(base), "PYTHON": str(training.checkpoint_path("python_small"))}
    assert run_command(*(places.get(one, one) for one in arguments)) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def waits(monkeypatch) -> list[float]:
    """The seconds that are waited, which pass at once."""
    found: list[float] = []
    monkeypatch.setattr(shared.time, "sleep", found.append)
    return found


@pytest.mark.parametrize(
    ("rank", "local", "tty", "said"),
    [("0", "0", True, "error: "), ("4", "0", True, "\nerror: "), ("4", "0", False, "error: "), ("1", "1", True, "")],
)
def test_a_rank_on_each_machine_says_what_is_wrong_below_the_bar_of_the_first(
    rank, local, tty, said, waits, monkeypatch, capsys
):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("LOCAL_RANK", local)
    monkeypatch.setattr(shared, "joined", nullcontext)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: tty)
    assert run_command("--stage", "rewards", "--from", "nowhere") == 2
    heard = capsys.readouterr().err
    assert heard.startswith(said)
    assert (bool(heard), len(waits)) == ((True, 0) if said else (False, 1))


@pytest.mark.parametrize("rank", ["0", "1"])
def test_the_first_rank_says_which_arguments_are_wrong(rank, waits, monkeypatch, capsys):
    monkeypatch.setenv("RANK", rank)
    with pytest.raises(SystemExit, match="2"):
        run_command("--samples", "1")
    assert (bool(capsys.readouterr().err), len(waits)) == ((True, 0) if rank == "0" else (False, 1))


@pytest.mark.parametrize("local", ["0", "1"])
def test_every_rank_says_that_another_has_ended(local, monkeypatch, capsys):
    monkeypatch.setenv("LOCAL_RANK", local)
    shared.tell(ConnectionError("one of them has ended"))
    assert capsys.readouterr().err == "error: one of them has ended\n"


def test_a_model_of_other_characters_is_refused(tmp_path, capsys):
    model = LanguageModel(LanguageModelConfig(4, 8, 2, 8, 1, 16, positions="rotary"))
    training.save_checkpoint(tmp_path / "ab", model, Characters("ab"), {})
    assert run_command(*REWARDED, "--from", str(tmp_path / "ab"), "--out", str(tmp_path / "out")) == 2
    assert "a model must know the characters of the task" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stage", "prayer"], "must be one of base, demonstrations, rewards (got prayer)"),
        (["--reward", "luck"], "must be one of right, digit, length, random (got luck)"),
        (["--samples", "1"], "must be a whole number from 2"),
        (["--share-worked", "2"], "must be from 0 to 1 (got 2)"),
    ],
)
def test_arguments_that_are_none(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        run_command(*arguments)
    assert message in capsys.readouterr().err


# What comes with the package


def test_the_shipped_base_can_and_does_not_answer():
    model, characters, facts = load_language_model("digit_sums")
    problems = experiment.task.draw_problems(300, 1, held_out=True)
    own = training.after_pretraining.score_as_pretrained(model, characters, problems)
    assert own.right_when_worked > 0.95
    assert own.right == pytest.approx(facts["right"], abs=0.07)
    assert training.after_pretraining.score(model, characters, problems).well_formed == 0


def test_the_table_is_made_by_its_command(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "HELD_OUT", 40)
    monkeypatch.setattr(experiment, "FOR_PICKS", 4)
    monkeypatch.setitem(experiment.ARMS, "few", (None, experiment.by(experiment.shown, steps=2)))
    monkeypatch.setattr(experiment, "CHOOSING", ("few",))
    with without_signature_checks():
        assert experiment.main(["--arms", "few", "--seeds", "3", "--out", str(tmp_path / "table.json")]) == 0
    (row,) = json.loads((tmp_path / "table.json").read_text("utf-8"))
    assert (row["arm"], row["seed"]) == ("few", 3)
    assert 0 <= row["pass@1"] <= row["pass@16"] <= 1


def test_the_shipped_table_has_every_way_with_three_seeds_or_more():
    rows = training.load_table("answers")
    seeds = {arm: [row["seed"] for row in rows if row["arm"] == arm] for arm in experiment.ARMS}
    assert len(rows) == sum(map(len, seeds.values()))
    assert all(sorted(found) == [*range(max(3, len(found)))] for found in seeds.values())
