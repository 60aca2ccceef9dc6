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
    assert counts == {12 * 48**2}


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


def test_all_begin_with_embeddings_of_one_size_unless_a_control_says_otherwise():
    for names in [*swaps.combinations(), ("learned positions",), ("RoPE", "no positions")]:
        model = swaps.build(names)
        assert model.scale == 48**0.5
        assert (model.tokens.weight * model.scale).std().item() == pytest.approx(1, rel=0.05)
        assert model.to_logits.weight is model.tokens.weight
    for names in [("small embeddings",), ("RoPE", "small embeddings")]:
        model = swaps.build(names)
        assert model.scale == 1
        assert model.tokens.weight.std().item() == pytest.approx(0.02, rel=0.05)


def test_without_positions_the_order_of_what_was_read_does_not_matter():
    tokens = torch.arange(20)[None]
    other_order = torch.cat([tokens[:, :19].flip(1), tokens[:, 19:]], 1)
    off = {}
    for name in ("no positions", "learned positions", "RoPE"):
        torch.manual_seed(0)
        model = swaps.build((name,), n_layers=1).eval()
        with torch.no_grad():
            off[name] = (model(tokens) - model(other_order))[:, -1].abs().max().item()
    assert off["no positions"] < 1e-4 < 1e-3 < min(off["RoPE"], off["learned positions"])


def test_a_longer_model_reads_what_the_short_one_has_learned():
    short, longer = swaps.build(("RoPE",)), swaps.build(("RoPE",), length=128)
    longer.load_state_dict(short.state_dict())
    tokens = torch.arange(64)[None]
    with torch.no_grad():
        assert torch.equal(short.eval()(tokens), longer.eval()(tokens))


def test_the_command_trains_each_model_and_stores_its_losses(tmp_path, monkeypatch, capsys):
    text = "for i in range(3):\n    print(i)\n" * 100
    monkeypatch.setattr(swaps, "python_source", lambda: Corpus({"a": text}, {"b": text[:200]}, {"c": text[:200]}))
    out = tmp_path / "swaps.json"
    with without_signature_checks():
        code = swaps.main(["--out", str(out), "--steps", "3", "--first", "2", "--seeds", "0", "1"])
    found = json.loads(out.read_text())
    assert code == 0
    assert [row["swaps"] for row in found] == [[], ["no biases"]]
    assert [(row["n_steps"], row["n_layers"], row["d_model"]) for row in found] == [(3, 2, 48)] * 2
    assert [len({*row["losses"]}) for row in found] == [2, 2]  # another seed, another model
    assert capsys.readouterr().out.count("\n") == 2


def test_the_committed_table_is_what_the_command_writes():
    found = json.loads(TABLE.read_text())
    made = [{"swaps": [*run.swaps], **run.setup._asdict()} for run in swaps.all_runs()]
    assert [{name: row[name] for name in made[0]} for row in found] == made
    assert {len(row["losses"]) for row in found} == {3}
    assert len({json.dumps(row) for row in made}) == len(made)


def test_the_losses_of_one_setup_are_found_by_the_names_of_the_swaps():
    rows = json.loads(TABLE.read_text())
    table, deep = swaps.losses_of(rows), swaps.losses_of(rows, swaps.DEEP)
    assert {*map(frozenset, swaps.combinations())} < table.keys()
    assert deep.keys() == {frozenset(swaps.NAMES), frozenset(swaps.without("pre-norm"))}
    assert table[frozenset()].tolist() == pytest.approx(rows[0]["losses"])
    assert not swaps.losses_of(rows, swaps.Setup(n_steps=1))


@pytest.mark.parametrize("names", [(), tuple(swaps.SWAPS)])
def test_a_committed_loss_comes_out_again_nearly(names):
    """After a tenth of the steps it is still far off, and after none it is that of guessing."""
    corpus, table = swaps.python_source(), swaps.losses_of(json.loads(TABLE.read_text()))
    with without_signature_checks():
        model = swaps.train(corpus, names, 0, swaps.Setup(n_steps=40))
    assert table[frozenset(names)][0] + 0.2 < swaps.nats(corpus, model) < 3.5
