"""Training: the recipe of §5, the loop, checkpoints and the command line."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

import transformer_lab
from tests.support import DEVICE, assert_close, randn, refuses, tensor, without_signature_checks
from transformer_lab import Transformer, TransformerConfig, record_attention
from transformer_lab.storage import read_tensors, write_tensors
from transformer_lab.tasks import Vocabulary, number_names
from transformer_lab.tokenizer import Tokenizer
from transformer_lab.training import (
    Examples,
    Recipe,
    Report,
    Training,
    exact_match,
    label_smoothing_loss,
    load_checkpoint,
    load_training,
    paper_adam,
    progress,
    save_checkpoint,
    save_training,
    shift_right,
    translate,
    warmup_rate,
)
from transformer_lab.training import (
    __main__ as command,
)

COMMITTED = Path(transformer_lab.__file__).parent / "checkpoints" / "en_de.safetensors"
PAIRS = [("one two", "eins zwei"), ("two three", "zwei drei"), ("three", "drei"), ("one", "eins"), ("two", "zwei")]
TOKENIZER = Tokenizer.train([text for pair in PAIRS for text in pair], 9)
EXAMPLES = Examples.encode(PAIRS, TOKENIZER)
RECIPE = Recipe(batch_size=2, warmup_steps=10, rate_factor=1.0)


def small_model(seed: int = 0, **changes) -> Transformer:
    torch.manual_seed(seed)
    config = TransformerConfig(
        vocab_size=len(TOKENIZER), d_model=12, n_heads=3, d_ff=11, n_layers=1, max_len=17, dropout=0.2
    )
    return Transformer(replace(config, **changes)).to(DEVICE)


def small_training(**changes) -> Training:
    return Training(small_model(), EXAMPLES, replace(RECIPE, **changes))


def weights(model: Transformer) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


def advanced(training: Training, until: int) -> Training:
    for _ in training.run(until):
        pass
    return training


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
    examples = Examples.encode([("a b", "b a"), ("c", "c c c")], vocabulary)
    assert examples.src.tolist() == [[3, 4, 2], [5, 2, 0]]
    assert examples.tgt.tolist() == [[4, 3, 2, 0], [5, 5, 5, 2]]
    assert (examples.bos_id, examples.pad_id, len(examples)) == (1, 0, 2)
    src, tgt = examples.rows(torch.tensor([0]))
    assert (src.tolist(), tgt.tolist()) == ([[3, 4, 2]], [[4, 3, 2]])
    assert examples.count(torch.tensor([0])) == 3
    assert examples.count(torch.tensor([1, 0])) == 7


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
    assert last.exact_match == 1.0
    assert translate(model, TOKENIZER, ["two three", "one"]) == ["zwei drei", "eins"]


def test_half_of_the_pairs_right_is_an_exact_match_of_a_half(monkeypatch):
    said = {"a": "x", "b": "y", "c": "z", "d": "x"}
    monkeypatch.setattr(
        "transformer_lab.training.evaluation.translate", lambda model, tokenizer, texts: [said[text] for text in texts]
    )
    pairs = [("a", "x"), ("b", "yy"), ("c", "z"), ("d", "X")]
    assert exact_match(small_model(), TOKENIZER, pairs) == 0.5


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
    assert [report.exact_match for report in reports] == [None, 0.25, None, 0.5, 0.75]
    assert all(report.exact_match is None for report in small_training().run(3))


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
        Training(small_model(), Examples.encode(PAIRS[:1], TOKENIZER), replace(RECIPE, batch_size=1)),
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
    training, types = small_training(bf16=True), []
    training.model.to_logits.register_forward_hook(lambda module, args, output: types.append(output.dtype))
    loss = finish(training.run(1)).loss
    assert types == [torch.bfloat16]
    assert {parameter.dtype for parameter in training.model.parameters()} == {torch.float32}
    assert loss == pytest.approx(finish(small_training().run(1)).loss, rel=0.02)


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
    path, model = tmp_path / "model.safetensors", small_model(activation=F.gelu, norm_first=True).eval()
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


def test_a_crash_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    save_checkpoint(path, small_model(), TOKENIZER, {})
    before = path.read_bytes()
    write = Path.write_bytes

    def write_half(self: Path, data: bytes) -> None:
        write(self, data[: len(data) // 2])
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(OSError, match="the disk is full"):
        save_checkpoint(path, small_model(seed=1), TOKENIZER, {})
    assert path.read_bytes() == before


# Error texts


def test_a_step_before_the_first_is_refused():
    with refuses("step (0) and warmup_steps (4) must be at least 1"):
        warmup_rate(0, 512, 4)
    with refuses("step (1) and warmup_steps (0) must be at least 1"):
        warmup_rate(1, 512, 0)


@pytest.mark.parametrize("size", [0, 6])
def test_a_batch_that_cannot_be_filled_is_refused(size):
    message = f"batch_size ({size}) must be from 1, the number of processes, to 5, that of the examples"
    with refuses(message):
        small_training(batch_size=size)


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


@pytest.mark.parametrize("place", [-1, -1000])
def test_a_single_wrong_bit_in_the_weights_is_noticed(stored, place):
    data = bytearray(stored.read_bytes())
    data[place] ^= 1
    stored.write_bytes(data)
    with refuses(f"a checkpoint must be as it was written ({stored} differs from its checksum: it is damaged)"):
        load_checkpoint(stored)


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
    old_tensors, old_header = read_tensors(path)
    changed = {name: tensor for name, tensor in (old_tensors | tensors).items() if name != drop}
    write_tensors(path, changed, {name: value for name, value in (old_header | header).items() if name != drop})
    return path


def test_parts_that_are_missing_are_named(stored):
    with refuses(f"{stored} must contain tokenizer (it contains config, metrics)"):
        load_checkpoint(rewritten(stored, drop="tokenizer"))
    with refuses(f"a checkpoint must contain the config of its model ({stored} contains ['metrics'])"):
        load_checkpoint(rewritten(stored, drop="config"))


def test_weights_that_do_not_fit_are_named(stored):
    name = "encoder.layers.0.feed_forward.w_1.bias"
    with refuses(f"stored weights must fit the model ({name} is missing)"):
        Transformer.from_checkpoint(rewritten(stored, drop=f"model.{name}"))
    wrong = {f"model.{name}": torch.zeros(10), "model.odd": torch.zeros(1)}
    with refuses(f"stored weights must fit the model ({name} is (10,), not (11,); odd is unknown)"):
        Transformer.from_checkpoint(rewritten(stored, tensors=wrong))


def test_many_weights_that_do_not_fit_are_counted(stored):
    config = small_model(d_ff=13).config.to_dict()
    name = "decoder.layers.0.feed_forward.w"  # 3 of 6: one layer each of encoder and decoder, two weights and a bias
    shapes = f"{name}_1.bias is (11,), not (13,); {name}_1.weight is (11, 12), not (13, 12); {name}_2.weight is "
    with refuses(f"stored weights must fit the model ({shapes}(12, 11), not (12, 13) and 3 more)"):
        Transformer.from_checkpoint(rewritten(stored, config=config))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "tanh"}, "activation must be one of relu, gelu, silu (got 'tanh')"),
        ({"width": 3}, "a config must have the fields of TransformerConfig (missing=[], unknown=['width'])"),
    ],
)
def test_a_config_of_another_model_is_refused(stored, changes, message):
    config = small_model().config.to_dict() | changes
    with refuses(message):
        Transformer.from_checkpoint(rewritten(stored, config=config))


def test_an_activation_without_a_name_cannot_be_stored(tmp_path):
    with refuses("activation must be one of relu, gelu, silu to be stored (got <"):
        save_checkpoint(tmp_path / "model", small_model(activation=lambda x: x), TOKENIZER, {})
    assert not list(tmp_path.iterdir())


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
        load_training(tmp_path / "run", Examples.encode(PAIRS[::-1], TOKENIZER))


# The command line

TINY = ["--d-model", "16", "--d-ff", "8", "--layers", "1", "--batch", "8", "--merges", "30", "--device", str(DEVICE)]


@pytest.fixture
def few_numbers(monkeypatch):
    monkeypatch.setattr(command, "number_names", partial(number_names, n_train=100, n_test=5, below=1000))


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
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("step 3: loss ")
    assert lines[-1] == "stored in en_fr.safetensors"


def test_the_command_goes_on_where_it_stopped(few_numbers, tmp_path):
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    assert run_command("--steps", "5", "--out", str(straight), *TINY) == 0
    assert run_command("--steps", "2", "--out", str(stopped), *TINY) == 0
    assert run_command("--steps", "5", "--resume", str(stopped), "--device", str(DEVICE)) == 0
    assert same(weights(Transformer.from_checkpoint(straight)), weights(Transformer.from_checkpoint(stopped)))


def test_lean_is_small_and_scored_as_it_is_stored(few_numbers, tmp_path):
    assert run_command("--steps", "2", "--lean", "--out", str(tmp_path / "lean"), *TINY) == 0
    tensors, header = read_tensors(tmp_path / "lean")
    assert {stored.dtype for stored in tensors.values()} == {torch.float16}
    assert sorted(header) == ["config", "metrics", "tokenizer"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_step_and_stores_it(few_numbers, tmp_path, monkeypatch, number, capsys):
    taken = Training.take_step

    def take_step(self: Training) -> tuple[float, float]:
        if self.step == 2:
            signal.raise_signal(number)
        return taken(self)

    out, straight = tmp_path / "out", tmp_path / "straight"
    assert run_command("--steps", "6", "--out", str(straight), *TINY) == 0
    monkeypatch.setattr(Training, "take_step", take_step)
    assert run_command("--steps", "6", "--lean", "--out", str(out), *TINY) == 130
    assert load_checkpoint(out)[2]["steps"] == 3
    assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)
    assert run_command("--steps", "6", "--resume", str(out)) == 0
    assert same(weights(Transformer.from_checkpoint(straight)), weights(Transformer.from_checkpoint(out)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "xx"], "num2words does not know the language 'xx'; it knows "),
        (["--heads", "3", "--d-model", "16"], "d_model (16) must be divisible by n_heads (3)"),
        (["--steps", "0", *TINY], "--steps (0) must be above the steps that are done (0)"),
        (["--out", "/no/such/folder/x", *TINY], "--out must be in a folder that exists (/no/such/folder does not)"),
        (["--resume", "nothing.safetensors"], "nothing.safetensors"),
        (["--resume", "x", "--batch", "3", "--bf16"], "with --resume, --batch, --bf16 must be left out: "),
    ],
)
def test_wrong_arguments_are_explained(few_numbers, capsys, arguments, message):
    assert run_command(*arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error


def test_a_device_that_is_not_there_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        run_command("--device", "cuda:77")
    assert stop.value.code == 2
    assert "'cuda:77' is no device of this machine" in capsys.readouterr().err


def test_help_says_what_a_run_takes():
    call = [sys.executable, "-m", "transformer_lab.training", "--help"]
    text = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    options = "source target steps batch warmup d-model heads d-ff layers seed out resume device bf16 lean"
    for option in options.split():
        assert f"--{option}" in text


SEVERAL = """
import sys
from functools import partial
from pathlib import Path
from transformer_lab.training import __main__ as command
command.number_names = partial(command.number_names, n_train=100, n_test=5, below=1000)
code = command.main(sys.argv[1:])
names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]  # none where there is no /proc
left = [name for name in names if "gloo" in name]  # such a thread can abort the exit
sys.exit(code or (f"threads left: {left}" if left else 0))
"""


def test_two_processes_learn_what_one_learns(few_numbers, tmp_path):
    """Batches of 7, which two processes share as 4 and 3; the fourth loss depends on three updates."""
    one, two, script = tmp_path / "one", tmp_path / "two", tmp_path / "several.py"
    script.write_text(SEVERAL)
    arguments = ["--steps", "4", "--dropout", "0", "--warmup", "4", *TINY, "--batch", "7", "--device", "cpu"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(transformer_lab.__file__).parents[1])}
    run = subprocess.run(
        [*torchrun, str(script), *arguments, "--out", str(two)], env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("stored in") == 1
    assert run_command(*arguments, "--out", str(one)) == 0
    losses = [load_checkpoint(path)[2]["loss"] for path in (one, two)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


# The committed checkpoint


def test_the_committed_checkpoint_is_small_and_as_good_as_it_says():
    assert COMMITTED.stat().st_size <= 2_000_000
    model, tokenizer, metrics = load_checkpoint(COMMITTED)
    pairs = number_names(metrics["source"], metrics["target"])
    assert (pairs.source, pairs.target, len(pairs.test)) == ("en", "de", metrics["n_test"])
    assert metrics["exact_match"] >= 0.99
    score = exact_match(model.to(DEVICE), tokenizer, pairs.test[:200])
    assert score == pytest.approx(metrics["exact_match"], abs=0.02)
    readme = (COMMITTED.parent / "README.md").read_text(encoding="utf-8")
    assert f"{metrics['exact_match']:.1%}".replace("%", " %") in readme
    assert f"{metrics['steps']} steps" in readme


def test_the_committed_model_looks_at_one_for_ein_and_at_twenty_for_zwanzig():
    model, tokenizer, _ = load_checkpoint(COMMITTED)
    pair = Examples.encode([("three hundred and twenty-one", "dreihunderteinundzwanzig")], tokenizer)
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
