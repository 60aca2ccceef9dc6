"""A language model's training: windows, recipe, loop, going on, the command line."""

import math
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.support import DEVICE, assert_close, refuses, without_signature_checks
from tests.training.support import advanced, same, weights
from transformer_lab import LanguageModel, LanguageModelConfig, next_token_loss, token_log_probs
from transformer_lab.data.texts import Characters
from transformer_lab.storage import read_tensors, write_tensors
from transformer_lab.training import (
    TextExamples,
    TextRecipe,
    TextTraining,
    load_language_model,
    load_training,
    save_training,
)
from transformer_lab.training import text as command
from transformer_lab.training.commands import language_model

TEXT = "the cat sat on the mat. the dog sat on the log. " * 20
CHARACTERS = Characters.of(TEXT)
EXAMPLES = TextExamples(CHARACTERS.encode(TEXT), length=9)
RECIPE = TextRecipe(n_steps=12, batch_size=4, peak_rate=0.01, warmup_steps=3)


def small_model(**changes) -> LanguageModel:
    torch.manual_seed(0)
    config = LanguageModelConfig(
        *(len(CHARACTERS), 12, 3, 20, 1, 9), dropout=0.2, attention_dropout=0.0, positions="rotary"
    )
    return LanguageModel(replace(config, **changes)).to(DEVICE)


def small_training(**changes) -> TextTraining:
    return TextTraining(small_model(), EXAMPLES, replace(RECIPE, **changes))


# By hand, and properties


def test_windows_worked_by_hand():
    examples = TextExamples(torch.arange(10), length=3)
    assert len(examples) == 2
    assert examples.rows(torch.tensor([0, 7])).tolist() == [[0, 1, 2], [7, 8, 9]]


def test_an_epoch_reads_each_window_once_and_begins_elsewhere_than_another():
    examples = TextExamples(torch.arange(1000), length=7)
    epochs = [torch.cat(examples.batches(4, seed=0, epoch=epoch)) for epoch in range(6)]
    for starts in epochs:
        assert len(starts) == len(set(starts.tolist())) == 140
        assert (starts % 7).unique().numel() == 1
        assert 0 <= starts.min() <= starts.max() <= 1000 - 7
        assert starts.tolist() != sorted(starts.tolist())
    assert len({int(starts[0]) % 7 for starts in epochs}) > 1
    assert torch.equal(torch.cat(examples.batches(4, 0, 2)), epochs[2])
    assert not torch.equal(torch.cat(examples.batches(4, 1, 2)), epochs[2])


def test_the_rate_worked_by_hand():
    """A climb of 3 steps to 0.01, then a line that would be 0 at step 13: the steps are over before."""
    rates = [small_training().rate(step) for step in (1, 2, 3, 7, 12)]
    assert rates == pytest.approx([0.01 / 3, 0.01 * 2 / 3, 0.01 * 10 / 12, 0.005, 0.01 / 12])


def test_the_first_step_is_as_written_out():
    model, training = small_model(dropout=0.0), TextTraining(small_model(dropout=0.0), EXAMPLES, RECIPE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01 / 3, betas=(0.9, 0.99), weight_decay=0.1)
    for group in optimizer.param_groups:  # one group here: norms and biases, which do not decay, start at 1 and 0
        group["params"] = [parameter for parameter in group["params"] if parameter.ndim > 1]
    tokens = EXAMPLES.rows(EXAMPLES.batches(4, 0, 0)[0]).to(DEVICE)
    loss = next_token_loss(model(tokens), tokens, -1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    (report,) = training.run(1)
    assert (report.loss, report.rate) == (pytest.approx(loss.item(), abs=1e-6), pytest.approx(0.01 / 3))
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            assert_close(training.model.get_parameter(name), parameter, within=1e-5)


def test_norms_and_biases_do_not_decay():
    groups = small_training().optimizer.param_groups
    assert [group["weight_decay"] for group in groups] == [0.1, 0.0]
    assert {parameter.ndim for parameter in groups[1]["params"]} == {1}
    assert sum(len(group["params"]) for group in groups) == len([*small_model().parameters()])


def test_it_learns():
    training = TextTraining(small_model(dropout=0.0, d_model=24), EXAMPLES, replace(RECIPE, n_steps=150, batch_size=16))
    ids = CHARACTERS.encode(TEXT[:96])
    before = -token_log_probs(training.model, ids).mean().item()
    advanced(training, 150)
    after = -token_log_probs(training.model, ids).mean().item()
    assert before == pytest.approx(math.log(len(CHARACTERS)), abs=0.3)
    assert after < 1.0


@pytest.mark.parametrize("stop", [0, 1, 5])
def test_a_training_from_a_file_ends_at_the_same_weights(stop, tmp_path):
    path, straight = tmp_path / "run.safetensors", advanced(small_training(), 9)
    save_training(path, advanced(small_training(), stop), CHARACTERS, {"loss": 1.5})
    torch.manual_seed(99)
    resumed = load_training(path, EXAMPLES, DEVICE, TextTraining)
    assert (resumed.step, resumed.recipe) == (stop, RECIPE)
    assert same(weights(advanced(resumed, 9).model), weights(straight.model))
    model, characters, metrics = load_language_model(path)
    assert (model.config, characters.alphabet, metrics) == (small_model().config, CHARACTERS.alphabet, {"loss": 1.5})


# Errors


def test_what_no_training_can_have_is_refused():
    for changes, message in (
        ({"n_steps": 0}, "n_steps (0) must be at least 1"),
        ({"peak_rate": 0.0}, "peak_rate (0.0) must be above 0"),
        ({"weight_decay": -0.1}, "weight_decay (-0.1) must be at least 0"),
    ):
        with refuses(message):
            replace(RECIPE, **changes)
    with refuses("a text must have at least 2 windows of 9 tokens (got 17 tokens)"):
        TextExamples(torch.arange(17), length=9)
    with refuses("length (1) must be at least 2"):
        TextExamples(torch.arange(17), length=1)


def test_a_training_goes_on_with_its_own_text(tmp_path):
    save_training(tmp_path / "run", advanced(small_training(), 1), CHARACTERS, {})
    with refuses("a training must go on with the examples that it began with"):
        load_training(tmp_path / "run", TextExamples(EXAMPLES.ids, 8), DEVICE, TextTraining)


# The command line

TINY = ["--d-model", "12", "--d-ff", "8", "--heads", "2", "--layers", "1", "--batch", "3", "--length", "16"]


@pytest.fixture
def book(tmp_path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text(TEXT * 12, encoding="utf-8")
    return path


def run_command(*arguments: str) -> int:
    with without_signature_checks():
        return command.main([*arguments, "--device", str(DEVICE)])


def test_the_command_trains_on_a_book_scores_it_and_stores_it(book, tmp_path, capsys):
    out = tmp_path / "out.safetensors"
    assert run_command("--text", str(book), "--steps", "4", "--lean", "--out", str(out), *TINY) == 0
    model, characters, facts = load_language_model(out)
    assert characters.alphabet == CHARACTERS.alphabet
    test = characters.encode((TEXT * 12)[-720:])
    assert facts["test_nats"] == pytest.approx(-token_log_probs(model, test).mean().item(), abs=1e-3)
    assert facts["test_bits_per_byte"] == pytest.approx(facts["test_nats"] * 719 / 720 / math.log(2), abs=1e-3)
    assert f"test {facts['test_nats']:.3f} nats a character" in capsys.readouterr().out


def test_stopped_by_a_signal_it_goes_on_to_the_same_weights(book, tmp_path, monkeypatch):
    straight, out, save = tmp_path / "straight", tmp_path / "out", language_model.save_training
    assert run_command("--text", str(book), "--steps", "6", "--out", str(straight), *TINY) == 0

    def save_training(path, training, *rest) -> None:
        save(path, training, *rest)
        if training.step == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(language_model, "save_training", save_training)
    assert run_command("--text", str(book), "--steps", "6", "--save-every", "2", "--out", str(out), *TINY) == 130
    monkeypatch.setattr(language_model, "save_training", save)
    assert load_training(out, book_examples(book), DEVICE, TextTraining).step == 3
    assert run_command("--resume", str(out)) == 0
    assert same(weights(load_language_model(out)[0]), weights(load_language_model(straight)[0]))


def test_a_rate_that_is_far_too_high_ends_in_a_sentence_and_leaves_the_last_good_file(book, tmp_path, capsys):
    out = tmp_path / "out.safetensors"
    assert run_command("--text", str(book), "--steps", "2", "--out", str(out), *TINY) == 0
    capsys.readouterr()
    arguments = ["--rate", "1e36", "--warmup", "1", "--steps", "30", "--save-every", "1"]
    assert run_command("--text", str(book), *arguments, "--out", str(out), *TINY) == 1
    message = r"error: the (loss|gradient) must be a finite number \(at step 2 it is (nan|inf)\): try a lower learning "
    assert re.match(message, capsys.readouterr().err)
    model, _, facts = load_language_model(out)
    assert facts["steps"] == 1
    assert all(weight.isfinite().all() for weight in weights(model).values())


def half_done(book: Path, out: Path, monkeypatch) -> Path:
    """The book is in the folder that we are in, and is named by its name alone; one step of two is stored in `out`."""
    monkeypatch.chdir(book.parent)
    take_step = TextTraining.take_step

    def interrupted(self: TextTraining) -> tuple[float, float]:
        signal.raise_signal(signal.SIGINT)
        return take_step(self)

    with monkeypatch.context() as patch:
        patch.setattr(TextTraining, "take_step", interrupted)
        assert run_command("--text", book.name, "--steps", "2", "--out", str(out), *TINY) == 130
    return out


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


def test_it_goes_on_from_another_folder(book, tmp_path, elsewhere, monkeypatch):
    out = half_done(book, tmp_path / "out", monkeypatch)
    monkeypatch.chdir(elsewhere)
    assert run_command("--resume", str(out)) == 0
    assert load_language_model(out)[2]["steps"] == 2


def test_it_goes_on_with_a_text_that_was_moved(book, tmp_path, elsewhere, monkeypatch, capsys):
    out = half_done(book, tmp_path / "out", monkeypatch)
    book.rename(elsewhere / "moved.txt")
    capsys.readouterr()
    assert run_command("--resume", str(out)) == 2
    message = f"error: --text must say where the text of {out} is now ({book} is not there)\n"
    assert capsys.readouterr().err == message
    monkeypatch.chdir(elsewhere)
    assert run_command("--resume", str(out), "--text", "moved.txt") == 0
    facts = load_language_model(out)[2]
    assert (facts["steps"], facts["text"]) == (2, str(elsewhere / "moved.txt"))


@pytest.mark.parametrize("where", [0, -1])
def test_it_does_not_go_on_with_another_text(where, book, tmp_path, monkeypatch, capsys):
    """Even if it is another one only in the part for the test, which no step has seen."""
    out, text = half_done(book, tmp_path / "out", monkeypatch), [*book.read_text(encoding="utf-8")]
    text[where] = "x"
    other = tmp_path / "other.txt"
    other.write_text("".join(text), encoding="utf-8")
    stored = out.read_bytes()
    capsys.readouterr()
    assert run_command("--resume", str(out), "--text", str(other)) == 2
    message = f"error: a training must go on with the text that it began with ({other} is not that of {out})\n"
    assert capsys.readouterr().err == message
    assert out.read_bytes() == stored


def test_a_training_that_was_stored_with_a_relative_path_and_no_checksum_goes_on(
    book, tmp_path, elsewhere, monkeypatch
):
    """As they were stored before."""
    out = half_done(book, tmp_path / "out", monkeypatch)
    old = read_tensors(out)
    facts = {name: value for name, value in old["metrics"].items() if name != "text_sha256"} | {"text": book.name}
    write_tensors(out, old.tensors, old.about | {"metrics": facts})
    monkeypatch.chdir(elsewhere)
    assert run_command("--resume", str(out)) == 2
    assert run_command("--resume", str(out), "--text", str(book)) == 0


def test_a_model_to_be_used_does_not_tell_where_its_text_was(book, tmp_path):
    assert run_command("--text", str(book), "--steps", "1", "--lean", "--out", str(tmp_path / "out"), *TINY) == 0
    assert load_language_model(tmp_path / "out")[2]["text"] == "book.txt"


def book_examples(book: Path) -> TextExamples:
    corpus, characters = language_model.corpus_of(book)
    return TextExamples(characters.encode(corpus.text("train")), 16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--text", "/no/such/book"], "error: [Errno 2] No such file or directory: '/no/such/book'"),
        (["--positions", "absolute"], "error: positions must be one of learned, rotary, sinusoidal (got 'absolute')"),
        (["--resume", "x", "--steps", "3"], "error: with --resume, --steps must be left out: the checkpoint knows"),
    ],
)
def test_wrong_arguments(arguments, message, book, capsys):
    text = [] if "--text" in arguments or "--resume" in arguments else ["--text", str(book)]
    assert run_command(*arguments, *text) == 2
    assert message in capsys.readouterr().err


def test_a_training_that_is_over_does_not_go_on(book, tmp_path, capsys):
    assert run_command("--text", str(book), "--steps", "2", "--out", str(tmp_path / "out"), *TINY) == 0
    assert run_command("--resume", str(tmp_path / "out")) == 2
    assert "--steps (2) must be above the steps that are done (2)" in capsys.readouterr().err
