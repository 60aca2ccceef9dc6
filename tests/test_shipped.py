"""What comes with the package is loaded by its name, from any folder."""

import pytest

from transformer_lab import training
from transformer_lab.training.shipped import FOLDER


def test_a_checkpoint_is_loaded_by_its_name_or_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    by_name, by_path = (training.load_checkpoint(one)[0] for one in ("en_de", FOLDER / "en_de.safetensors"))
    assert all(a.equal(b) for a, b in zip(by_name.parameters(), by_path.parameters(), strict=True))
    assert (
        training.load_language_model("python_small")[2]
        == training.load_language_model(str(FOLDER / "python_small.safetensors"))[2]
    )


def test_a_path_object_is_never_taken_for_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "en_de"
    path.write_bytes(b"mine")
    assert training.checkpoint_path(path) == path
    assert training.checkpoint_path("en_de") == FOLDER / "en_de.safetensors"


def test_each_table_is_loaded_by_its_name():
    assert {"swaps", "losses", "n_layers"} <= set(training.load_table("swaps")[0])
    assert {"d_model", "steps", "losses"} <= set(training.load_table("sweep")[0])


@pytest.mark.parametrize("name", ["en_fr", "../checkpoints/en_de", "EN_DE", ""])
def test_an_unknown_checkpoint_is_refused_with_the_names_that_there_are(name):
    with pytest.raises(
        FileNotFoundError, match=r"must be a file, or one of digit_sums, en_de, python, python_small \(got"
    ):
        training.load_checkpoint(name)


def test_an_unknown_table_is_refused_with_the_names_that_there_are():
    with pytest.raises(ValueError, match=r"one of answers, clinic, .*swaps, sweep \(got sweeps\)"):
        training.load_table("sweeps")
