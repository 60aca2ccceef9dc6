"""The sweep that lesson 09 fits a law to, and the language model that comes with the package."""

import json
import math
from pathlib import Path

import pytest

import transformer_lab
from tests.support import DEVICE, without_signature_checks
from transformer_lab import bits_per_byte, complete, token_log_probs
from transformer_lab.data.texts import PRINTABLE, Characters, Corpus, python_source
from transformer_lab.training import load_language_model
from transformer_lab.training.experiments import sweep

FOLDER = Path(transformer_lab.__file__).parent / "checkpoints"
COMMITTED = [FOLDER / "python.safetensors", FOLDER / "python_small.safetensors"]
each_model = pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)


def test_a_sweep_trains_each_model_and_stores_its_losses(tmp_path, monkeypatch, capsys):
    text = "for i in range(3):\n    print(i)\n" * 100
    monkeypatch.setattr(sweep, "python_source", lambda: Corpus({"a": text}, {"b": text[:200]}, {"c": text[:200]}))
    out = tmp_path / "sweep.json"
    with without_signature_checks():
        code = sweep.main(["--out", str(out), "--widths", "16", "--steps", "2", "30", "--seeds", "0", "1"])
    found = json.loads(out.read_text())
    assert code == 0
    assert [(row["d_model"], row["steps"]) for row in found] == [(16, 2), (16, 30)]
    assert all(row["losses"][0] != row["losses"][1] for row in found)  # another seed, another model
    assert max(found[1]["losses"]) < min(found[0]["losses"]) - 0.3  # more steps, a lower loss
    assert capsys.readouterr().out.count("\n") == 2


def test_the_committed_sweep_is_what_the_command_writes():
    found = json.loads((FOLDER / "sweep.json").read_text())
    wanted = [(d_model, steps) for d_model in sweep.WIDTHS for steps in sweep.STEPS]
    assert [(row["d_model"], row["steps"]) for row in found] == wanted
    assert all(len(row["losses"]) == len(sweep.SEEDS) for row in found)


@each_model
def test_a_committed_language_model_is_small_and_as_good_as_it_says(path):
    assert path.stat().st_size <= 4_000_000
    model, characters, facts = load_language_model(path)
    assert characters.alphabet == PRINTABLE
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{facts['test_nats']:.3f} nats" in readme
    assert f"{facts['test_bits_per_byte']:.3f} bits" in readme
    assert f"{facts['steps']:,}".replace(",", " ") + " steps" in readme
    text = python_source().text("test")[:20_000]  # of another version of Python, this differs a little
    nats = -token_log_probs(model.to(DEVICE), Characters(PRINTABLE).encode(text)).mean().item()
    assert nats == pytest.approx(facts["test_nats"], abs=0.25)
    assert bits_per_byte(nats * len(text), len(text), len(text)) == pytest.approx(nats / math.log(2))


@each_model
def test_a_committed_language_model_knows_how_a_method_begins(path):
    model, characters, _ = load_language_model(path)
    prompt = characters.encode("class Reader:\n    def __ini").expand(1, -1).to(DEVICE)
    said = characters.decode(complete(model.to(DEVICE), prompt, 8, top_k=1)[0].tolist())
    assert said == "class Reader:\n    def __init__(self"
