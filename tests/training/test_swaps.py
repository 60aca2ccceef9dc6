"""The swaps of lesson 11: every model has equal matrices, and the table that comes with the package is complete."""

import json
from pathlib import Path

import pytest
import torch

import transformer_lab
from tests.support import refuses, without_signature_checks
from transformer_lab import LanguageModel
from transformer_lab.data.texts import Corpus
from transformer_lab.training.experiments import swaps

TABLE = Path(transformer_lab.__file__).parent / "checkpoints" / "swaps.json"


def test_every_combination_has_as_many_numbers_in_its_matrices():
    chosen = swaps.combinations()
    assert len({*chosen}) == 64
    assert (chosen[0], chosen[-1]) == ((), tuple(swaps.SWAPS))
    with torch.device("meta"):
        layers = [LanguageModel(swaps.config(names)).layers[0] for names in chosen]
    counts = {sum(p.numel() for p in layer.parameters() if p.ndim > 1) for layer in layers}
    assert counts == {12 * swaps.D_MODEL**2}


def test_the_paper_s_block_and_today_s_are_what_their_names_say():
    paper, today = swaps.config(()), swaps.config([*swaps.SWAPS])
    assert (paper.norm_first, paper.norm, paper.positions, paper.activation) == (
        False,
        "layer_norm",
        "sinusoidal",
        "relu",
    )
    assert (today.norm_first, today.norm, today.positions, today.feed_forward) == (True, "rms_norm", "rotary", "swiglu")
    assert (paper.d_ff, today.d_ff, today.n_kv_heads, today.bias) == (4 * 48, 3 * 48, 2, False)
    assert swaps.config(("SwiGLU",)).d_ff == 8 * 48 // 3


def test_what_is_unknown_or_uneven_is_refused():
    with refuses("swaps must be among pre-norm, RMSNorm, SwiGLU, RoPE, grouped queries, no biases (got 'ALiBi')"):
        swaps.config(("RoPE", "ALiBi"))
    with refuses("d_model must be divisible by 6, so that all blocks have as many numbers (got 40)"):
        swaps.config(("SwiGLU",), d_model=40)


def test_the_command_trains_each_model_and_stores_its_losses(tmp_path, monkeypatch, capsys):
    text = "for i in range(3):\n    print(i)\n" * 100
    monkeypatch.setattr(swaps, "python_source", lambda: Corpus({"a": text}, {"b": text[:200]}, {"c": text[:200]}))
    out = tmp_path / "swaps.json"
    with without_signature_checks():
        code = swaps.main(["--out", str(out), "--steps", "3", "--first", "2", "--seeds", "0", "1"])
    found = json.loads(out.read_text())
    assert code == 0
    assert [row["swaps"] for row in found] == [[], ["no biases"]]
    assert [row["n_layers"] for row in found] == [2, 2]
    assert [len(row["losses"]) for row in found] == [2, 1]  # the first is one of those that are compared
    assert found[0]["losses"][0] != found[0]["losses"][1]  # another seed, another model
    assert capsys.readouterr().out.count("\n") == 2


def test_the_committed_table_is_what_the_command_writes():
    found = json.loads(TABLE.read_text())
    runs = swaps.all_runs(swaps.STEPS, swaps.SEEDS)
    assert [(tuple(row["swaps"]), row["n_layers"]) for row in found] == [(run.swaps, run.n_layers) for run in runs]
    assert [len(row["losses"]) for row in found] == [len(run.seeds) for run in runs]
    with_three_seeds = [run for run in runs if len(run.seeds) == 3]
    assert {run.swaps for run in with_three_seeds if run.n_layers == 2} == {*swaps.compared()}
    assert [(run.swaps, run.n_steps) for run in with_three_seeds[-2:]] == [
        *(((*swaps.SWAPS,)[1:], 200), ((*swaps.SWAPS,), 200)),
    ]


@pytest.mark.parametrize("names", [(), tuple(swaps.SWAPS)])
def test_a_committed_loss_comes_out_again_nearly(names):
    """After a tenth of the steps it is still far off, and after none it is that of guessing."""
    corpus = swaps.python_source()
    rows = {tuple(row["swaps"]): row["losses"] for row in json.loads(TABLE.read_text()) if row["n_layers"] == 2}
    with without_signature_checks():
        model = swaps.train(corpus, names, seed=0, n_steps=40)
    assert rows[names][0] + 0.2 < swaps.nats(corpus, model) < 3.5
