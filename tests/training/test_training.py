"""Training: the recipe of §5, the loop, checkpoints and the command line."""

import json
import math
import os
import random
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

import transformer_lab
from tests import training_processes
from tests.support import DEVICE, assert_close, randn, refuses, tensor, without_signature_checks
from tests.training.support import advanced, same, weights
from transformer_lab import LanguageModel, LanguageModelConfig, Transformer, TransformerConfig, record_attention
from transformer_lab.data.tasks import Vocabulary, number_name, number_names, wrong_names
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.storage import read_tensors, write_tensors
from transformer_lab.training import (
    Examples,
    Recipe,
    Report,
    TextExamples,
    TextRecipe,
    TextTraining,
    Training,
    average_weights,
    exact_match,
    label_smoothing_loss,
    load_checkpoint,
    load_language_model,
    load_training,
    paper_adam,
    progress,
    save_checkpoint,
    save_training,
    shift_right,
    translate,
    warmup_rate,
)
from transformer_lab.training import __main__ as command
from transformer_lab.training import text as text_command
from transformer_lab.training.commands import number_names as number_run
from transformer_lab.training.experiments import swaps, sweep

COMMITTED = Path(transformer_lab.__file__).parent / "checkpoints" / "en_de.safetensors"
PAIRS = [("one two", "eins zwei"), ("two three", "zwei drei"), ("three", "drei"), ("one", "eins"), ("two", "zwei")]
TOKENIZER = Tokenizer.train([text for pair in PAIRS for text in pair], 9)
EXAMPLES = Examples.from_pairs(PAIRS, TOKENIZER)
RECIPE = Recipe(batch_size=2, warmup_steps=10, rate_factor=1.0)


def small_model(seed: int = 0, **changes) -> Transformer:
    torch.manual_seed(seed)
    config = TransformerConfig(
        vocab_size=len(TOKENIZER), d_model=12, n_heads=3, d_ff=11, n_layers=1, max_len=17, dropout=0.2
    )
    return Transformer(replace(config, **changes)).to(DEVICE)


def small_training(**changes) -> Training:
    return Training(small_model(), EXAMPLES, replace(RECIPE, **changes))


def finish(reports: Iterator[Report]) -> Report:
    """The last report."""
    *_, last = reports
    return last


# Numbers worked by hand


def test_the_decoder_reads_the_targets_one_place_later():
    targets = tensor([[5, 6, 7, 2], [8, 2, 0, 0]])
    assert shift_right(targets, bos_id=1).tolist() == [[1, 5, 6, 7], [1, 8, 2, 0]]
    assert targets.tolist() == [[5, 6, 7, 2], [8, 2, 0, 0]]


def test_smoothing_worked_by_hand():
    """Probabilities 1/2, 1/4, 1/8, 1/8; the target has .8 + .05, each other one .05."""
    logits = tensor([[[1 / 2, 1 / 4, 1 / 8, 1 / 8], [0.9, 0.05, 0.03, 0.02]]]).log()
    loss = label_smoothing_loss(logits, tensor([[0, 3]]), smoothing=0.2, pad_id=3)
    assert loss.item() == pytest.approx((0.85 * 1 + 0.05 * 2 + 0.05 * 3 + 0.05 * 3) * math.log(2))


def test_without_smoothing_the_loss_is_the_mean_surprise_of_the_tokens():
    """Of tokens, not of sentences: three of probability 1/2 and one of 1/8."""
    logits = tensor([[[1 / 2, 3 / 8, 1 / 8]] * 3, [[3 / 8, 1 / 2, 1 / 8]] * 3]).log()
    loss = label_smoothing_loss(logits, tensor([[0, 0, 2], [1, 9, 9]]), smoothing=0.0, pad_id=9)
    assert loss.item() == pytest.approx((1 + 1 + 3 + 1) / 4 * math.log(2))


def test_warm_up_worked_by_hand():
    """d_model 4: a half of step / 64 while that is less than 1 / √step."""
    rates = [warmup_rate(step, d_model=4, warmup_steps=16) for step in (1, 4, 16, 64)]
    assert rates == pytest.approx([0.5 / 64, 0.5 * 4 / 64, 0.5 / 4, 0.5 / 8])


def test_the_papers_base_model_peaks_at_its_4000th_step():
    """§5.3 gives no number for the rate; this is what its equation and its warmup_steps say."""
    rates = [warmup_rate(step, 512, 4000) for step in range(1, 10_001)]
    assert max(range(10_000), key=rates.__getitem__) == 3999
    assert max(rates) == pytest.approx(6.987e-4, rel=1e-3)


def test_adam_is_the_papers():
    defaults = paper_adam(small_model()).defaults
    assert (defaults["betas"], defaults["eps"], defaults["weight_decay"]) == ((0.9, 0.98), 1e-9, 0)


def test_examples_worked_by_hand():
    vocabulary = Vocabulary(["a", "b", "c"])
    examples = Examples.from_pairs([("a b", "b a"), ("c", "c c c")], vocabulary)
    assert examples.src.tolist() == [[3, 4, 2], [5, 2, 0]]
    assert examples.tgt.tolist() == [[4, 3, 2, 0], [5, 5, 5, 2]]
    assert (examples.bos_id, examples.pad_id, len(examples)) == (1, 0, 2)
    src, tgt = examples.rows(torch.tensor([0]))
    assert (src.tolist(), tgt.tolist()) == ([[3, 4, 2]], [[4, 3, 2]])
    assert examples.count(torch.tensor([0])) == 3
    assert examples.count(torch.tensor([1, 0])) == 7


def test_only_columns_that_are_padding_in_every_row_are_left_out():
    left_padded = Examples(tensor([[0, 0, 5, 2, 0], [0, 6, 7, 2, 0]]), tensor([[3, 2, 0, 0], [0, 0, 0, 0]]), 1, 0)
    src, tgt = left_padded.rows(tensor([0, 1]))
    assert src.tolist() == [[0, 0, 5, 2], [0, 6, 7, 2]]
    assert tgt.tolist() == [[3, 2], [0, 0]]
    assert left_padded.rows(tensor([1]))[1].shape == (1, 0)


# Properties


def test_smoothing_is_cross_entropy_with_a_mixed_truth():
    logits, targets = randn(2, 3, 5), tensor([[1, 2, 0], [4, 3, 3]])
    truth = 0.9 * F.one_hot(targets, 5) + 0.1 / 5
    each = -(truth * logits.log_softmax(-1)).sum(-1)
    assert_close(label_smoothing_loss(logits, targets, 0.1, pad_id=0), each[targets != 0].mean())


def test_padding_has_no_gradient():
    logits = randn(2, 3, 5, requires_grad=True)
    label_smoothing_loss(logits, tensor([[1, 0, 0], [2, 3, 0]]), 0.1, pad_id=0).backward()
    assert (logits.grad.abs().sum(-1) > 0).tolist() == [[True, False, False], [True, True, False]]


def number_examples() -> Examples:
    """70 rows; their targets have 2 to 9 tokens."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(2, 10, (70, 1), generator=generator)
    tgt = torch.arange(9).expand(70, 9) + 3
    return Examples(torch.arange(70)[:, None] + 1, tgt.masked_fill(torch.arange(9) >= lengths, 0), bos_id=1, pad_id=0)


def test_an_epoch_shows_each_pair_at_most_once_and_another_one_in_another_order():
    examples = number_examples()
    first, again, second = (examples.batches(8, seed=0, epoch=epoch) for epoch in (0, 0, 1))
    assert [len(batch) for batch in first] == [8] * 8  # six of 70 wait
    assert len(set(torch.cat(first).tolist())) == 64
    assert torch.equal(torch.cat(first), torch.cat(again))
    assert not torch.equal(torch.cat(first), torch.cat(second))
    assert not torch.equal(torch.cat(first), torch.cat(examples.batches(8, seed=1, epoch=0)))


def test_short_pairs_wait_for_the_next_epoch_as_well_as_long_ones():
    examples = number_examples()
    waiting = [set(range(70)) - set(torch.cat(examples.batches(8, 0, epoch)).tolist()) for epoch in range(5)]
    lengths = (examples.tgt != 0).sum(1)
    assert {2, 9} <= {lengths[row].item() for row in set().union(*waiting)}


def test_a_batch_has_pairs_of_about_equal_length_in_no_order_of_length():
    examples = number_examples()
    lengths = [(examples.tgt[batch] != 0).sum(1).tolist() for batch in examples.batches(8, seed=0, epoch=0)]
    assert max(max(batch) - min(batch) for batch in lengths) <= 2
    assert lengths != sorted(lengths)


def test_a_step_takes_the_next_batch_and_the_next_rate():
    training, seen = small_training(), []
    rows = Examples.rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Examples, "rows", lambda self, batch: seen.append(batch.tolist()) or rows(self, batch))
        reports = list(training.run(5))
    batches = [*EXAMPLES.batches(2, 0, epoch=0), *EXAMPLES.batches(2, 0, epoch=1), EXAMPLES.batches(2, 0, epoch=2)[0]]
    assert seen == [batch.tolist() for batch in batches]
    assert [report.step for report in reports] == [1, 2, 3, 4, 5]
    assert [report.rate for report in reports] == [warmup_rate(step, 12, 10) for step in (1, 2, 3, 4, 5)]
    assert finish(small_training(rate_factor=0.25).run(2)).rate == warmup_rate(2, 12, 10) / 4


def test_the_first_step_is_as_written_out():
    model = small_model(dropout=0.0)
    training = Training(small_model(dropout=0.0), EXAMPLES, replace(RECIPE, max_norm=0.01))
    optimizer = paper_adam(model)
    src, tgt = (tokens.to(DEVICE) for tokens in EXAMPLES.rows(EXAMPLES.batches(2, 0, 0)[0]))
    optimizer.param_groups[0]["lr"] = warmup_rate(1, 12, 10)
    loss = label_smoothing_loss(model(src, shift_right(tgt, TOKENIZER.bos_id)), tgt, 0.1, TOKENIZER.pad_id)
    loss.backward()
    before = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    assert before > 0.01
    optimizer.step()
    assert finish(training.run(1)).loss == pytest.approx(loss.item(), abs=1e-6)
    gradient = torch.cat([parameter.grad.flatten() for parameter in training.model.parameters()])
    assert gradient.norm().item() == pytest.approx(0.01, rel=1e-3)
    for name, parameter in weights(training.model).items():
        assert_close(parameter, dict(model.named_parameters())[name].detach(), 1e-5 if "w_k.bias" in name else 1e-6)


def test_it_learns():
    model = small_model(dropout=0.0, d_model=24, d_ff=48)
    training = Training(model, EXAMPLES, replace(RECIPE, warmup_steps=30, batch_size=5))
    evaluate = partial(exact_match, model, TOKENIZER, PAIRS)
    assert evaluate() < 0.5
    last = finish(training.run(90, evaluate))
    assert last.score == 1.0
    assert translate(model, TOKENIZER, ["two three", "one"]) == ["zwei drei", "eins"]


def test_half_of_the_pairs_right_is_an_exact_match_of_a_half(monkeypatch):
    said = {"a": "x", "b": "y", "c": "z", "d": "x"}
    monkeypatch.setattr(
        "transformer_lab.training.evaluation.translate", lambda model, tokenizer, texts: [said[text] for text in texts]
    )
    pairs = [("a", "x"), ("b", "yy"), ("c", "z"), ("d", "X")]
    assert exact_match(small_model(), TOKENIZER, pairs) == 0.5


def test_the_average_of_three_states():
    states = [{"a": tensor([1.0, 4.0]), "b": tensor([[x]])} for x in (0.0, 3.0, 9.0)]
    average = average_weights(states)
    assert {name: weight.tolist() for name, weight in average.items()} == {"a": [1.0, 4.0], "b": [[4.0]]}


def test_states_to_average_are_of_one_model():
    for states in ([], [{"a": tensor([1.0])}, {"b": tensor([1.0])}]):
        with refuses("states must be one or more, of one model"):
            average_weights(states)


def test_texts_are_translated_in_their_order_however_many_there_are(monkeypatch):
    model, texts = small_model(), ["three", "one two", "two"]
    monkeypatch.setattr(  # "translates" each text into itself
        "transformer_lab.training.evaluation.greedy",
        lambda model, src, bos_id, eos_id, max_length: F.pad(src, (1, 0), value=bos_id),
    )
    assert translate(model, TOKENIZER, texts) == texts
    monkeypatch.setattr("transformer_lab.training.evaluation.AT_ONCE", 2)
    assert translate(model, TOKENIZER, texts) == texts


def test_evaluation_comes_every_so_many_steps_and_at_the_end():
    scores = iter([0.25, 0.5, 0.75])
    reports = list(small_training().run(5, lambda: next(scores), every=2))
    assert [report.score for report in reports] == [None, 0.25, None, 0.5, 0.75]
    assert all(report.score is None for report in small_training().run(3))


def test_evaluation_changes_nothing_of_the_training():
    with_it, without = small_training(), small_training()
    finish(with_it.run(5, partial(exact_match, with_it.model, TOKENIZER, PAIRS), every=1))
    finish(without.run(5))
    assert same(weights(with_it.model), weights(without.model))


def test_a_run_draws_its_own_random_numbers():
    """What else is drawn does not matter to it, nor it to what else is drawn."""
    one, other = small_training(), small_training()
    finish(one.run(4))
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    drawn = [torch.rand(1) for _ in other.run(3)]
    finish(other.run(4))
    assert torch.equal(torch.cat(drawn), expected)
    assert same(weights(one.model), weights(other.model))
    assert not same(weights(one.model), weights(advanced(small_training(seed=1), 4).model))


def test_each_step_drops_other_features():
    dropped, training = (
        [],
        Training(small_model(), Examples.from_pairs(PAIRS[:1], TOKENIZER), replace(RECIPE, batch_size=1)),
    )
    training.model.encoder.layers[0].residual_1.dropout.register_forward_hook(
        lambda module, args, output: dropped.append(output == 0)
    )
    advanced(training, 3)
    assert all(0.1 < where.float().mean() < 0.5 for where in dropped)
    assert not torch.equal(dropped[0], dropped[1])
    assert not torch.equal(dropped[1], dropped[2])


def test_who_leaves_the_loop_can_go_on():
    stopped = small_training()
    for report in stopped.run(7):
        if report.step == 3:
            break
    assert stopped.step == 3
    assert same(weights(advanced(stopped, 7).model), weights(advanced(small_training(), 7).model))


def test_an_interrupt_waits_for_the_end_of_its_step():
    training = small_training()
    hook = training.model.encoder.register_forward_hook(lambda *_: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        next(training.run(7))
    hook.remove()
    assert training.step == 1
    assert same(weights(training.model), weights(advanced(small_training(), 1).model))
    assert same(weights(advanced(training, 7).model), weights(advanced(small_training(), 7).model))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_trains_in_a_thread():
    training = small_training()
    thread = threading.Thread(target=advanced, args=(training, 3))
    thread.start()
    thread.join()
    assert same(weights(training.model), weights(advanced(small_training(), 3).model))


def test_bfloat16_is_for_the_matrices_only():
    trainings = [Training(small_model(dropout=0.0), EXAMPLES, replace(RECIPE, bf16=bf16)) for bf16 in (True, False)]
    (training, other), types = trainings, []  # a GPU's dropout draws by the type
    training.model.to_logits.register_forward_hook(lambda module, args, output: types.append(output.dtype))
    loss = finish(training.run(1)).loss
    assert types == [torch.bfloat16]
    assert {parameter.dtype for parameter in training.model.parameters()} == {torch.float32}
    assert loss == pytest.approx(finish(other.run(1)).loss, rel=0.02)


def test_progress_passes_the_reports_on_and_is_silent_where_nobody_looks(capsys):
    reports = [Report(step, 1 / step, 0.0) for step in (1, 2, 3)]
    assert list(progress(iter(reports), until=3)) == reports
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_the_bar_is_drawn_in_a_terminal_and_wiped_off_at_the_end(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    list(progress((Report(step, 0.25, 0.0) for step in (1, 2)), until=2))
    captured = capsys.readouterr()
    assert "0/2" in captured.out
    assert captured.out.rsplit("\r", 2)[1].strip() == ""
    assert captured.err == ""


# Stopped and gone on: the same as never stopped


@pytest.mark.parametrize("stop", [0, 1, 3, 4])
def test_a_training_from_a_file_ends_at_the_same_weights(stop, tmp_path):
    """Over the end of an epoch (2 steps), the end of the warm-up (3), with dropout."""
    path, straight = tmp_path / "run.safetensors", advanced(small_training(warmup_steps=3), 7)
    save_training(path, advanced(small_training(warmup_steps=3), stop), TOKENIZER, {})
    torch.manual_seed(99)
    resumed = load_training(path, EXAMPLES, DEVICE)
    assert resumed.step == stop
    assert resumed.recipe == replace(RECIPE, warmup_steps=3)
    assert next(resumed.run(7)).loss == finish(small_training(warmup_steps=3).run(stop + 1)).loss
    assert same(weights(advanced(resumed, 7).model), weights(straight.model))


def test_a_checkpoint_gives_back_what_it_was_given(tmp_path):
    path, model = tmp_path / "model.safetensors", small_model(activation="gelu", norm_first=True).eval()
    save_checkpoint(path, model, TOKENIZER, {"exact_match": 0.5, "target": "dé"})
    loaded, tokenizer, metrics = load_checkpoint(path)
    assert metrics == {"exact_match": 0.5, "target": "dé"}
    assert tokenizer.to_json() == TOKENIZER.to_json()
    assert loaded.config == model.config
    assert loaded.src_embedding.tokens.weight is loaded.to_logits.weight
    assert not loaded.training
    src, tgt = (tokens.to(DEVICE) for tokens in EXAMPLES.rows(torch.arange(5)))
    assert torch.equal(loaded.to(DEVICE)(src, tgt), model(src, tgt))
    assert torch.equal(Transformer.from_checkpoint(path).to(DEVICE)(src, tgt), model(src, tgt))


def test_untied_embeddings_are_stored_apart(tmp_path):
    model = small_model(tie_weights=False)
    save_checkpoint(tmp_path / "model.safetensors", model, TOKENIZER, {})
    assert same(weights(Transformer.from_checkpoint(tmp_path / "model.safetensors").to(DEVICE)), weights(model))


def test_half_as_many_bytes_for_the_same_weights_rounded(tmp_path):
    model = small_model()
    for name, dtype in (("full", torch.float32), ("half", torch.float16)):
        save_checkpoint(tmp_path / name, model, TOKENIZER, {}, dtype)
    assert (tmp_path / "half").stat().st_size < 0.75 * (tmp_path / "full").stat().st_size
    loaded = weights(Transformer.from_checkpoint(tmp_path / "half").to(DEVICE))
    assert same(loaded, {name: weight.half().float() for name, weight in weights(model).items()})


def test_a_training_can_be_used_as_a_checkpoint(tmp_path):
    training = advanced(small_training(), 2)
    save_training(tmp_path / "run", training, TOKENIZER, {"loss": 1.5})
    model, _, metrics = load_checkpoint(tmp_path / "run")
    assert metrics == {"loss": 1.5}
    assert same(weights(model.to(DEVICE)), weights(training.model))


def test_a_crash_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    save_checkpoint(path, small_model(), TOKENIZER, {})
    before = path.read_bytes()

    def full(number: int) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="the disk is full"):
        save_checkpoint(path, small_model(seed=1), TOKENIZER, {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("main", [swaps.main, sweep.main])
def test_trainings_of_many_models_first_try_where_their_table_will_be(main, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--out", "/no/such/folder/x"])
    assert stop.value.code == 2
    message = "must be a file that can be written (/no/such/folder/x: there is no folder /no/such/folder)"
    assert f"error: argument --out: {message}" in capsys.readouterr().err


def test_two_that_write_at_once_do_not_disturb_each_other(tmp_path, monkeypatch):
    """The second begins and ends while the first is at work."""
    path, sync, models = tmp_path / "model.safetensors", os.fsync, [small_model(seed=1), small_model(seed=2)]

    def another_comes(number: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        save_checkpoint(path, models[1], TOKENIZER, {})
        assert same(weights(load_checkpoint(path)[0].to(DEVICE)), weights(models[1]))

    monkeypatch.setattr(os, "fsync", another_comes)
    save_checkpoint(path, models[0], TOKENIZER, {})
    assert same(weights(load_checkpoint(path)[0].to(DEVICE)), weights(models[0]))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_a_training_of_another_type_with_frozen_parts_goes_on(dtype, tmp_path):
    def partly_frozen() -> Training:
        training = Training(small_model().to(dtype), EXAMPLES, RECIPE)
        for parameter in training.model.encoder.parameters():
            parameter.requires_grad_(False)
        return training

    path, straight = tmp_path / "run", advanced(partly_frozen(), 6)
    save_training(path, advanced(partly_frozen(), 3), TOKENIZER, {})
    resumed = load_training(path, EXAMPLES, DEVICE)
    assert {parameter.dtype for parameter in resumed.model.parameters()} == {dtype}
    assert same(weights(advanced(resumed, 6).model), weights(straight.model))
    assert same(weights(resumed.model.encoder), weights(small_model().to(dtype).encoder))
    assert not any(parameter.requires_grad for parameter in resumed.model.encoder.parameters())


class FusedTraining(TextTraining):
    """What a training on CUDA is, for a device that this machine has: its optimiser updates all weights in one pass."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        optimizer = super().make_optimizer()
        for group in optimizer.param_groups:
            group["fused"] = True
        return optimizer


@pytest.mark.parametrize(("kind", "of_steps"), [(TextTraining, "cpu"), (FusedTraining, "meta")])
def test_what_the_optimiser_knows_goes_where_torch_itself_would_put_it(kind, of_steps, tmp_path):
    """A fused optimiser counts its steps on the device of the weights, every other one on the CPU."""
    torch.manual_seed(0)
    model = LanguageModel(LanguageModelConfig(len(TOKENIZER), 12, 3, 11, 1, max_len=9, tie_weights=False))
    examples = TextExamples(torch.arange(99) % len(TOKENIZER), 9)
    before = advanced(TextTraining(model, examples, TextRecipe(3, batch_size=4)), 2)
    save_training(tmp_path / "run", before, TOKENIZER, {})
    resumed = load_training(tmp_path / "run", examples, "meta", kind)
    by_torch = kind(LanguageModel(model.config).to("meta"), examples, before.recipe).optimizer
    by_torch.load_state_dict(
        {"state": before.optimizer.state_dict()["state"], "param_groups": by_torch.state_dict()["param_groups"]}
    )
    placed, wanted = (
        {
            (i, key): value.device.type
            for i, state in optimizer.state_dict()["state"].items()
            for key, value in state.items()
        }
        for optimizer in (resumed.optimizer, by_torch)
    )
    assert placed == wanted
    assert {device for (_, key), device in placed.items() if key == "step"} == {of_steps}
    assert {device for (_, key), device in placed.items() if key != "step"} == {"meta"}


# Error texts


def test_a_step_before_the_first_is_refused():
    with refuses("step (0) and warmup_steps (4) must be at least 1"):
        warmup_rate(0, 512, 4)
    with refuses("step (1) and warmup_steps (0) must be at least 1"):
        warmup_rate(1, 512, 0)


def test_a_batch_that_cannot_be_filled_is_refused():
    message = "batch_size (6) must be from 1, the number of processes, to 5, that of the examples"
    with refuses(message):
        small_training(batch_size=6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_norm": -1.0}, "max_norm (-1.0) must be above 0"),
        ({"max_norm": math.nan}, "max_norm (nan) must be above 0"),
        ({"rate_factor": -1.0}, "rate_factor (-1.0) must be above 0"),
        ({"rate_factor": math.nan}, "rate_factor (nan) must be above 0"),
        ({"smoothing": -1.0}, "smoothing (-1.0) must be from 0 to 1"),
        ({"smoothing": math.nan}, "smoothing (nan) must be from 0 to 1"),
        ({"warmup_steps": 0}, "warmup_steps (0) must be at least 1"),
        ({"batch_size": -3}, "batch_size (-3) must be at least 1"),
    ],
)
def test_a_recipe_that_no_training_can_follow_is_refused(changes, message):
    with refuses(message):
        Recipe(**changes)


@pytest.mark.parametrize("factor", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_before_the_weights_learn_from_it(factor, monkeypatch):
    training, loss = advanced(small_training(), 2), Training.loss
    before = weights(training.model)
    monkeypatch.setattr(Training, "loss", lambda self, batch: loss(self, batch) * factor)
    message = f"the loss must be a finite number (at step 3 it is {factor}): try a lower learning rate or a longer"
    with refuses(message):
        next(training.run(7))
    assert training.step == 2
    assert same(weights(training.model), before)
    monkeypatch.undo()
    assert same(weights(advanced(training, 5).model), weights(advanced(small_training(), 5).model))


def test_so_does_a_gradient_that_is_no_number_where_the_loss_is_one():
    training = small_training()
    before = weights(training.model)
    training.model.to_logits.weight.register_hook(lambda gradient: gradient * math.nan)
    with refuses("the gradient must be a finite number (at step 1 it is nan): try a lower learning rate"):
        next(training.run(7))
    assert same(weights(training.model), before)


def test_weights_that_are_no_numbers_are_not_stored(stored):
    before, training = stored.read_bytes(), small_training()
    with torch.no_grad():
        training.model.encoder.layers[0].feed_forward.w_1.bias[3] = math.nan
    message = "weights to be stored must be finite numbers (encoder.layers.0.feed_forward.w_1.bias has others)"
    with refuses(message):
        save_training(stored, training, TOKENIZER, {})
    with refuses(message):
        save_checkpoint(stored, training.model, TOKENIZER, {})
    assert stored.read_bytes() == before


def test_nor_are_those_that_float16_cannot_hold(stored):
    model = small_model()
    with torch.no_grad():
        model.encoder.layers[0].feed_forward.w_1.bias[3] = 70_000
    save_checkpoint(stored, model, TOKENIZER, {})
    with refuses("weights to be stored must be finite numbers (encoder.layers.0.feed_forward.w_1.bias has others)"):
        save_checkpoint(stored, model, TOKENIZER, {}, torch.float16)


def test_evaluation_every_0_steps_is_refused():
    with refuses("every (0) must be at least 1"):
        finish(small_training().run(1, lambda: 0.5, every=0))


def test_a_single_text_and_no_pairs_are_refused():
    with refuses("texts must be several texts, such as a list of them (got one: 'one two')"):
        translate(small_model(), TOKENIZER, "one two")
    with refuses("examples must be made from one pair of texts or more (got none)"):
        Examples.from_pairs([], TOKENIZER)


@pytest.fixture
def stored(tmp_path) -> Path:
    save_checkpoint(tmp_path / "model.safetensors", small_model(), TOKENIZER, {})
    return tmp_path / "model.safetensors"


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.safetensors"):
        load_checkpoint(tmp_path / "no.safetensors")


@pytest.mark.parametrize("kept", [0, 5, 300, -1])
def test_a_file_that_is_cut_short_is_refused(stored, kept):
    stored.write_bytes(stored.read_bytes()[:kept])
    with refuses(f"a checkpoint must be a whole safetensors file ({stored}: "):
        Transformer.from_checkpoint(stored)


def test_another_kind_of_file_is_refused(tmp_path):
    torch.save({"weight": torch.zeros(3)}, tmp_path / "pickled.pt")
    with refuses(f"a checkpoint must be a whole safetensors file ({tmp_path / 'pickled.pt'}: "):
        load_checkpoint(tmp_path / "pickled.pt")


@pytest.mark.parametrize("position", [-1, -1000])
def test_a_single_wrong_bit_in_the_weights_is_noticed(stored, position):
    data = bytearray(stored.read_bytes())
    data[position] ^= 1
    stored.write_bytes(data)
    with refuses(f"a checkpoint must be as it was written ({stored} differs from its checksum: it is damaged)"):
        load_checkpoint(stored)


def test_a_single_wrong_bit_anywhere_is_noticed(stored):
    data, rng = stored.read_bytes(), random.Random(0)
    end_of_header = 8 + int.from_bytes(data[:8], "little")
    for end in [end_of_header] * 150 + [len(data)] * 50:
        damaged = bytearray(data)
        damaged[rng.randrange(end)] ^= 1 << rng.randrange(8)
        stored.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a checkpoint must be (a whole|as it was|written by)"):
            read_tensors(stored)


def test_a_changed_header_is_noticed(stored):
    stored.write_bytes(stored.read_bytes().replace(b'\\"dropout\\": 0.2', b'\\"dropout\\": 0.3'))
    with refuses("differs from its checksum"):
        load_checkpoint(stored)


def test_safetensors_of_another_program_are_refused(tmp_path):
    save_file({"weight": torch.zeros(3)}, tmp_path / "other.safetensors")
    with refuses(
        f"must be written by transformer_lab ({tmp_path / 'other.safetensors'} has no checksum in its header)"
    ):
        load_checkpoint(tmp_path / "other.safetensors")


def rewritten(path: Path, drop: str = "", tensors: dict = {}, **header) -> Path:  # noqa: B006
    """The file with a part of its header or a tensor left out, or others put in, and a checksum that fits."""
    old = read_tensors(path)
    changed = {name: tensor for name, tensor in (old.tensors | tensors).items() if name != drop}
    write_tensors(path, changed, {name: value for name, value in (old.about | header).items() if name != drop})
    return path


def test_parts_that_are_missing_are_named(stored):
    with refuses(f"{stored} must contain tokenizer (it contains config, metrics)"):
        load_checkpoint(rewritten(stored, drop="tokenizer"))
    with refuses(f"{stored} must contain config (it contains metrics)"):
        load_checkpoint(rewritten(stored, drop="config"))


def test_weights_that_do_not_fit_are_named(stored):
    name = "encoder.layers.0.feed_forward.w_1.bias"
    with refuses(f"stored weights must fit the model ({name} is missing)"):
        Transformer.from_checkpoint(rewritten(stored, drop=f"model.{name}"))
    wrong = {f"model.{name}": torch.zeros(10), "model.odd": torch.zeros(1)}
    with refuses(f"stored weights must fit the model ({name} is (10,), not (11,); odd is unknown)"):
        Transformer.from_checkpoint(rewritten(stored, tensors=wrong))


def test_many_weights_that_do_not_fit_are_counted(stored):
    config = asdict(small_model(d_ff=13).config)
    name = "decoder.layers.0.feed_forward.w"  # 3 of 6: one layer each of encoder and decoder, two weights and a bias
    shapes = f"{name}_1.bias is (11,), not (13,); {name}_1.weight is (11, 12), not (13, 12); {name}_2.weight is "
    with refuses(f"stored weights must fit the model ({shapes}(12, 11), not (12, 13) and 3 more)"):
        Transformer.from_checkpoint(rewritten(stored, config=config))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "tanh"}, "activation must be one of relu, gelu, gelu_tanh, silu (got 'tanh')"),
        ({"width": 3}, "a config must have the fields of TransformerConfig (missing=[], unknown=['width'])"),
    ],
)
def test_a_config_of_another_model_is_refused(stored, changes, message):
    config = asdict(small_model().config) | changes
    with refuses(message):
        Transformer.from_checkpoint(rewritten(stored, config=config))


def test_a_tokenizer_of_another_model_is_refused(tmp_path, stored):
    other = Tokenizer.train(["abc"], 0)
    sizes = f"({len(other)}, {len(TOKENIZER)})"
    with refuses(f"tokenizer and model must have the same number of tokens {sizes}"):
        save_checkpoint(tmp_path / "model", small_model(), other, {})
    with refuses(f"tokenizer and model must have the same number of tokens {sizes}"):
        load_checkpoint(rewritten(stored, tokenizer=other.to_json()))


def test_what_was_stored_to_be_used_cannot_go_on(stored):
    with refuses(f"{stored} must contain training (it contains config, metrics, tokenizer)"):
        load_training(stored, EXAMPLES)


def test_a_training_goes_on_with_its_own_examples_only(tmp_path):
    save_training(tmp_path / "run", advanced(small_training(), 1), TOKENIZER, {})
    with refuses(f"go on with the examples that it began with (those of {tmp_path / 'run'} differ)"):
        load_training(tmp_path / "run", Examples.from_pairs(PAIRS[::-1], TOKENIZER))


# The command line

TINY = ["--d-model", "16", "--d-ff", "8", "--layers", "1", "--batch", "8", "--merges", "30", "--device", str(DEVICE)]


@pytest.fixture
def few_numbers(monkeypatch):
    monkeypatch.setattr(number_run, "number_names", partial(number_names, n_train=100, n_test=5, below=1000))


def run_command(*arguments: str) -> int:
    with without_signature_checks():
        return command.main([*arguments])


def test_the_command_trains_and_stores(few_numbers, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_command("--steps", "3", "--target", "fr", *TINY) == 0
    model, tokenizer, metrics = load_checkpoint("en_fr.safetensors")
    assert (metrics["source"], metrics["target"], metrics["steps"], metrics["n_test"]) == ("en", "fr", 3, 5)
    test = number_names("en", "fr", n_train=100, n_test=5, below=1000).test
    assert exact_match(model.to(DEVICE), tokenizer, test) == metrics["exact_match"]
    assert (model.config.d_model, model.config.d_ff, model.config.n_layers) == (16, 8, 1)
    first, slices, last = capsys.readouterr().out.splitlines()
    assert first == f"step 3: loss {metrics['loss']:.3f}, stored in en_fr.safetensors"
    assert slices == "short: 0.0%, 3 digits: 0.0%"
    assert last.endswith(f" s: {metrics['exact_match']:.1%} of 5 unseen names right")


def test_the_command_goes_on_where_it_stopped(few_numbers, tmp_path):
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    assert run_command("--steps", "5", "--out", str(straight), *TINY) == 0
    assert run_command("--steps", "2", "--out", str(stopped), *TINY) == 0
    assert run_command("--steps", "5", "--resume", str(stopped), "--device", str(DEVICE)) == 0
    assert same(weights(Transformer.from_checkpoint(straight)), weights(Transformer.from_checkpoint(stopped)))


def test_lean_is_small_and_scored_as_it_is_stored(few_numbers, tmp_path):
    assert run_command("--steps", "2", "--lean", "--out", str(tmp_path / "lean"), *TINY) == 0
    lean = read_tensors(tmp_path / "lean")
    assert {tensor.dtype for tensor in lean.tensors.values()} == {torch.float16}
    assert sorted(lean.about) == ["config", "metrics", "tokenizer"]


def test_lean_is_the_average_of_the_last_five_states(few_numbers, tmp_path, monkeypatch):
    monkeypatch.setattr(number_run, "APART", 2)
    taken, states = Training.take_step, []

    def take_step(self: Training) -> tuple[float, float]:
        result = taken(self)
        states.append({name: weight.detach().clone() for name, weight in self.model.named_parameters()})
        return result

    monkeypatch.setattr(Training, "take_step", take_step)
    assert run_command("--steps", "11", "--warmup", "2", "--lean", "--out", str(tmp_path / "lean"), *TINY) == 0
    for name, weight in load_checkpoint(tmp_path / "lean")[0].named_parameters():
        mean = sum(states[step - 1][name] for step in (3, 5, 7, 9, 11)) / 5
        torch.testing.assert_close(weight.to(DEVICE), mean, atol=1e-3, rtol=1e-3)
        difference = (states[-1][name] - mean).abs().max()
        assert difference == 0 or difference > 2e-3


def test_the_score_is_that_of_all_slices_together(few_numbers, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(number_run, "exact_match", lambda model, tokenizer, pairs: float("hundred" not in pairs[0][0]))
    assert run_command("--steps", "1", "--out", str(tmp_path / "out"), *TINY) == 0
    metrics = load_checkpoint(tmp_path / "out")[2]
    slices = number_names(n_train=100, n_test=5, below=1000).slices
    assert {kind: len(pairs) for kind, pairs in slices.items()} == {"short": 2, "3 digits": 3}
    assert metrics["slices"] == {"short": 1.0, "3 digits": 0.0}
    assert metrics["exact_match"] == pytest.approx(2 / 5)


def at_step(number: int, monkeypatch, *signals: int) -> None:
    """From now on these signals come during that step."""
    taken = Training.take_step

    def take_step(self: Training) -> tuple[float, float]:
        for one in signals if self.step == number - 1 else ():
            signal.raise_signal(one)
        return taken(self)

    monkeypatch.setattr(Training, "take_step", take_step)


@pytest.mark.parametrize("presses", [2, 3])
def test_whoever_presses_ctrl_c_again_and_again_gets_out_with_everything_stored(
    few_numbers, tmp_path, monkeypatch, presses
):
    out, save = tmp_path / "out", number_run.save_training

    def save_training(*arguments) -> None:
        signal.raise_signal(signal.SIGINT)  # once more, while the file is written
        save(*arguments)

    at_step(2, monkeypatch, *[signal.SIGINT] * (presses - 1))
    monkeypatch.setattr(number_run, "save_training", save_training)
    assert run_command("--steps", "6", "--save-every", "4", "--out", str(out), *TINY) == 130
    assert load_checkpoint(out)[2]["steps"] == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("presses", [1, 2, 3])
def test_ctrl_c_after_the_last_step_ends_the_evaluation_and_loses_nothing(
    few_numbers, tmp_path, monkeypatch, presses, capsys
):
    def interrupted(*_) -> float:
        for _ in range(presses):
            signal.raise_signal(signal.SIGINT)
        raise AssertionError("the evaluation goes on")

    monkeypatch.setattr(number_run, "exact_match", interrupted)
    assert run_command("--steps", "2", "--out", str(tmp_path / "out"), *TINY) == 130
    assert load_checkpoint(tmp_path / "out")[2]["steps"] == 2
    assert "interrupted: the score is not in the file" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_checkpoint_is_stored_every_so_many_steps_and_before_the_last_evaluation(few_numbers, tmp_path, monkeypatch):
    stored, save = [], number_run.save_training

    def save_training(path: Path, training: Training, *rest) -> None:
        stored.append(training.step)
        save(path, training, *rest)

    monkeypatch.setattr(number_run, "save_training", save_training)
    monkeypatch.setattr(number_run, "exact_match", lambda *_: stored.append("evaluated") or 0.5)
    slices = len(number_names(n_train=100, n_test=5, below=1000).slices)
    assert run_command("--steps", "5", "--save-every", "2", "--out", str(tmp_path / "out"), *TINY) == 0
    assert stored == [2, 4, 5, *["evaluated"] * slices, 5]


@pytest.mark.parametrize(
    ("source", "target", "told"), [("en", "fr", []), ("fr_BE", "en", ["fr_BE"]), ("es", "it", ["es", "it"])]
)
def test_the_command_says_which_names_num2words_gets_wrong(few_numbers, tmp_path, source, target, told, capsys):
    languages = ["--source", source, "--target", target]
    assert run_command("--steps", "1", *languages, "--out", str(tmp_path / "out"), *TINY) == 0
    notes = [f"note: {wrong_names(language)}" for language in told if wrong_names(language)]
    assert capsys.readouterr().err.splitlines() == notes


@pytest.mark.parametrize("lean", [[], ["--lean"]])
def test_a_loss_that_is_no_number_ends_the_command_and_leaves_the_last_good_file(
    few_numbers, tmp_path, monkeypatch, lean, capsys
):
    """At step 4; steps 1 to 3 are stored."""
    out, good, loss = tmp_path / "out", tmp_path / "good", Training.loss
    assert run_command("--steps", "3", "--out", str(good), *TINY) == 0
    capsys.readouterr()
    monkeypatch.setattr(Training, "loss", lambda self, batch: loss(self, batch) * (math.nan if self.step == 3 else 1))
    assert run_command("--steps", "6", "--save-every", "1", "--out", str(out), *lean, *TINY) == 1
    output = capsys.readouterr()
    message = (
        "error: the loss must be a finite number (at step 4 it is nan): try a lower learning rate or a longer warm-up"
    )
    assert output.err.splitlines()[-1] == message
    assert "stored" not in output.out
    assert load_checkpoint(out)[2]["steps"] == 3
    assert same(weights(Transformer.from_checkpoint(out)), weights(Transformer.from_checkpoint(good)))


def test_where_nothing_can_be_written_is_known_before_the_first_step(few_numbers, monkeypatch):
    at_step(1, monkeypatch, signal.SIGTERM)  # which would be an exit code of its own
    assert run_command("--out", "/no/such/folder/x", *TINY) == 2


def test_a_disk_that_is_full_later_on_is_an_exit_code_of_its_own(few_numbers, tmp_path, monkeypatch, capsys):
    def full(*_) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(number_run, "save_training", full)
    assert run_command("--steps", "2", "--out", str(tmp_path / "out"), *TINY) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "error: the disk is full"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_step_and_stores_it(few_numbers, tmp_path, monkeypatch, number, capsys):
    out, straight = tmp_path / "out", tmp_path / "straight"
    assert run_command("--steps", "6", "--out", str(straight), *TINY) == 0
    at_step(3, monkeypatch, number)
    assert run_command("--steps", "6", "--lean", "--out", str(out), *TINY) == 128 + number
    assert load_checkpoint(out)[2]["steps"] == 3
    assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)
    assert run_command("--steps", "6", "--resume", str(out)) == 0
    assert same(weights(Transformer.from_checkpoint(straight)), weights(Transformer.from_checkpoint(out)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "xx"], "num2words does not know the language 'xx'; it knows "),
        (["--heads", "3", "--d-model", "16"], "d_model (16) must be divisible by n_heads (3)"),
        (
            ["--out", "/no/such/folder/x", *TINY],
            "--out must be a file that can be written (/no/such/folder/x: there is no folder /no/such/folder)\n",
        ),
        (
            ["--out", "/dev/null/x", *TINY],
            "--out must be a file that can be written (/dev/null/x: there is no folder /dev/null)\n",
        ),
        (
            ["--out", "/proc/x", *TINY],
            "--out must be a file that can be written (/proc/x: [Errno 2] No such file or directory: '/proc/x')\n",
        ),
        (
            ["--out", "/tmp", *TINY],
            "--out must be a file that can be written (/tmp: a file must have a name of its own",
        ),
        (["--resume", "nothing.safetensors"], "nothing.safetensors"),
        (["--resume", "x", "--batch", "3", "--bf16"], "with --resume, --batch, --bf16 must be left out: "),
    ],
)
def test_wrong_arguments_are_explained(few_numbers, capsys, arguments, message):
    assert run_command(*arguments) == 2
    error = capsys.readouterr().err
    assert error.splitlines()[-1].startswith("error: ")
    assert message in error


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--device", "cuda:77", "'cuda:77' is no device of this machine"),
        ("--device", "meta", "must be a device that holds numbers (meta holds shapes alone)"),
        ("--heads", "0", "must be a whole number from 1 to 2^63 - 1 (got 0)"),
        ("--layers", "two", "must be a whole number from 1 to 2^63 - 1 (got two)"),
        ("--steps", "0", "must be a whole number from 1 to 2^63 - 1 (got 0)"),
        ("--seed", "1" + 30 * "0", "must be a whole number from 0 to 2^63 - 1 (got 1000"),
        ("--dropout", "nan", "must be from 0 to below 1 (got nan)"),
        ("--rate-factor", "-1", "must be a number above 0 (got -1)"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_its_name(option, value, message, capsys):
    with pytest.raises(SystemExit) as stop:
        run_command(option, value)
    assert stop.value.code == 2
    assert f"argument {option}: {message}" in capsys.readouterr().err


def test_of_many_processes_one_says_what_is_wrong_with_their_options(monkeypatch, capsys):
    for rank, says in (("0", True), ("1", False)):
        monkeypatch.setenv("RANK", rank)
        with pytest.raises(SystemExit, match="2"):
            run_command("--steps", "0")
        assert ("--steps" in capsys.readouterr().err) == says


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_help_says_what_a_run_takes(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["transformer_lab.training", "--help"])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # runpy would store the checked code as if it were the plain
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("transformer_lab.training", run_name="__main__")  # as python -m does
    assert stop.value.code == 0
    text = capsys.readouterr().out
    options = "source target steps batch warmup d-model heads d-ff layers seed out save-every resume device bf16 lean"
    for option in options.split():
        assert f"--{option}" in text


# In other processes

SHARED = ["--steps", "4", "--dropout", "0", "--warmup", "4"]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory) -> tuple[Path, dict, str]:
    """Two processes trained one model, one was killed 5 times: the folder, what came out, and what was said."""
    folder = tmp_path_factory.mktemp("elsewhere")
    root = Path(transformer_lab.__file__).parents[1]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{root}"}
    call = [sys.executable, "-m", "tests.training_processes", "5", str(folder), *SHARED]
    run = subprocess.run(call, cwd=root, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    *said, result = run.stdout.splitlines()
    return folder, json.loads(result), "\n".join(said)


def test_two_processes_learn_what_one_learns(few_numbers, elsewhere, tmp_path):
    """Batches of 7, which two processes share as 4 and 3; the fourth loss depends on three updates."""
    folder, result, said = elsewhere
    assert result["shared"] == [[[0, 0], []], [[0, 0], []]]  # exit codes, and the threads of gloo that are left
    assert said.count("stored in") == 2  # once for each of two models
    assert run_command(*training_processes.TINY, *SHARED, "--out", str(tmp_path / "one")) == 0
    losses = [load_checkpoint(path)[2]["loss"] for path in (folder / "two", tmp_path / "one")]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_two_processes_learn_from_a_text_what_one_learns(elsewhere, tmp_path):
    """Batches of 7 windows, shared as 4 and 3."""
    folder, _, _ = elsewhere
    book, alone = training_processes.book(tmp_path), tmp_path / "one"
    with without_signature_checks():
        assert text_command.main(["--text", str(book), *training_processes.TINY_TEXT, "--out", str(alone)]) == 0
    (two, _, facts_of_two), (one, _, facts) = map(load_language_model, (folder / "two of text", alone))
    assert facts_of_two["loss"] == pytest.approx(facts["loss"], abs=1e-5)
    for name, parameter in one.named_parameters():
        assert_close(two.get_parameter(name), parameter, within=1e-4)


def test_a_killed_training_loses_no_more_than_the_steps_since_it_was_stored(elsewhere):
    """`python -m tests.training_processes 20` kills it 20 times."""
    _, result, _ = elsewhere
    assert len(result["lost"]) == 5
    assert 0 <= min(result["lost"]) <= max(result["lost"]) <= training_processes.SAVE_EVERY
    assert result["as never killed"]


# The committed checkpoint


def test_the_committed_checkpoint_is_small_and_as_good_as_it_says():
    assert COMMITTED.stat().st_size <= 1_500_000
    model, tokenizer, metrics = load_checkpoint(COMMITTED)
    pairs = number_names(metrics["source"], metrics["target"])
    assert (pairs.source, pairs.target, len(pairs.test)) == ("en", "de", metrics["n_test"])
    assert metrics["exact_match"] >= 0.995
    assert set(metrics["slices"]) == set(pairs.slices)
    assert exact_match(model.to(DEVICE), tokenizer, pairs.slices["6 digits"]) >= 0.995
    readme = (COMMITTED.parent / "README.md").read_text(encoding="utf-8")
    assert f"{metrics['exact_match']:.1%}".replace("%", " %") in readme
    assert f"{metrics['steps']} steps" in readme


def test_the_committed_model_has_no_blind_spot():
    model, tokenizer, _ = load_checkpoint(COMMITTED)
    numbers = [*range(1_000), *range(1_000, 1_000_000, 1_000)]
    sources, targets = ([number_name(number, language) for number in numbers] for language in ("en", "de"))
    said = translate(model.to(DEVICE), tokenizer, sources)
    assert {
        source: given for source, given, wanted in zip(sources, said, targets, strict=True) if given != wanted
    } == {}


def test_the_committed_model_looks_at_one_for_ein_and_at_twenty_for_zwanzig():
    model, tokenizer, _ = load_checkpoint(COMMITTED)
    pair = Examples.from_pairs([("three hundred and twenty-one", "dreihunderteinundzwanzig")], tokenizer)
    with torch.no_grad(), record_attention(model) as maps:
        model(pair.src, shift_right(pair.tgt, pair.bos_id))
    looked_at = pair.src[0, maps["decoder.layers.1.cross_attention"][0].mean(0).argmax(-1)]
    source, target = ([tokenizer.decode([i]) for i in ids.tolist()] for ids in (looked_at, pair.tgt[0]))
    words = dict(zip(target, source, strict=True))
    assert (words["ein"], words["undzwan"]) == ("one", " twenty-")


def test_the_header_of_the_committed_checkpoint_is_plain_json():
    data = COMMITTED.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert sorted(header["__metadata__"]) == ["config", "metrics", "sha256", "tokenizer"]
