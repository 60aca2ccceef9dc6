"""Training a language model on a text, with everything that goes into its checkpoint."""

import hashlib
import time
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from transformer_lab.data.texts import PRINTABLE, Characters, Corpus, python_source, text_file
from transformer_lab.decoding.completion import token_log_probs
from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig
from transformer_lab.nn.losses import bits_per_byte
from transformer_lab.training.checkpoint import load_language_model, load_training, save_checkpoint, save_training
from transformer_lab.training.commands.options import Settings, parser_of, positive, settings, share, whole, written
from transformer_lab.training.text_examples import TextExamples
from transformer_lab.training.text_training import TextRecipe, TextTraining

DESCRIPTION = """
Train a language model on the characters of a text, and store it. The text is the source of Python's standard library,
or a file of your own.

A checkpoint is written every so many steps, at the end, and after Ctrl-C or SIGTERM, which wait for the end of their
step. It can be used (training.load_language_model), or trained further (--resume), up to the step it was to end at;
--text then says where the text is, if it is no longer where it was.
"""
EPILOG = """
exit codes: 0 trained and stored, 1 could not be stored, or the loss was no number any more, 2 wrong arguments or an
unreadable checkpoint, 130 ended by Ctrl-C and stored, 143 ended by SIGTERM and stored

  python -m transformer_lab.training.text --out python.safetensors
  python -m transformer_lab.training.text --text my_book.txt --out book.safetensors
  python -m transformer_lab.training.text --resume book.safetensors
"""
SETTINGS: Settings = {
    "text": (None, Path, "a file in UTF-8 to learn from, instead of Python's source"),
    "steps": (3_000, whole(1), "train up to this step, where the learning rate ends at 0"),
    "batch": (TextRecipe.batch_size, whole(1), "windows in a batch, over all processes"),
    "length": (64, whole(2), "characters in a window, and the model's longest text"),
    "rate": (TextRecipe.peak_rate, positive, "the highest learning rate"),
    "warmup": (TextRecipe.warmup_steps, whole(1), "steps of warm-up"),
    "d-model": (96, whole(1), "width of the model"),
    "heads": (3, whole(1), "attention heads"),
    "d-ff": (384, whole(1), "inner width of the feed-forward networks"),
    "layers": (2, whole(1), "layers"),
    "positions": ("rotary", str, "learned, rotary or sinusoidal"),
    "dropout": (0.0, share, "dropout"),
    "seed": (TextRecipe.seed, whole(0), "of weights, order and dropout"),
}
WATCHED = 20_000  # characters of the validation that are read every so many steps


@dataclass(kw_only=True)
class ModelRun:
    """A training run of a language model, with its characters; `facts` is what the checkpoint tells about it."""

    training: TextTraining
    characters: Characters
    seconds: float = 0.0  # spent before this process
    facts: dict[str, Any] = field(default_factory=dict)
    start: float = field(default_factory=time.perf_counter)

    @property
    def until(self) -> int:
        """The step at which the training ends."""
        return self.training.recipe.n_steps

    @property
    def took(self) -> float:
        """The training time in seconds, including that of earlier processes."""
        return self.seconds + time.perf_counter() - self.start

    def remember(self) -> None:
        """Keep nothing: the rate ends at 0 or is low, so the last weights are as good as an average."""

    def make_lean(self) -> None:
        """Round the weights to float16, as a lean checkpoint stores them."""
        self.training.model.half().float()

    def save(self, out: Path, lean: bool = False) -> None:
        """Write the checkpoint, from which training can be resumed unless it is lean."""
        self.facts |= {"steps": self.training.step, "seconds": round(self.took, 1)}
        if lean:
            save_checkpoint(out, self.training.model, self.characters, self.facts, torch.float16)
        else:
            save_training(out, self.training, self.characters, self.facts)


@dataclass(kw_only=True)
class TextRun(ModelRun):
    """A training run on a text, with the parts of that text."""

    corpus: Corpus
    text: Path | None  # where the file is, if it is one of the user's

    @property
    def name(self) -> str:
        """The default name of the checkpoint."""
        return "python.safetensors" if self.text is None else f"{self.text.stem}.safetensors"

    def save(self, out: Path, lean: bool = False) -> None:
        """Write the checkpoint, with the facts about the text."""
        text = self.text and (self.text.name if lean else str(self.text))  # whoever uses a model need not know its path
        self.facts |= {"text": text, "text_sha256": digest(self.corpus)}
        super().save(out, lean)

    def watched(self) -> str:
        """The loss on the beginning of the validation text, in nats per character."""
        return f"validation {self.nats(self.corpus.text('validation')[:WATCHED]):.3f} nats a character"

    def score(self) -> str:
        """Measure the loss on validation and test."""
        for part in ("validation", "test"):
            text = self.characters.decode(self.characters.encode(self.corpus.text(part)))
            nats, n_bytes = self.nats(text), len(text.encode())
            bits = bits_per_byte(nats * (len(text) - 1), len(text) - 1, n_bytes)
            self.facts |= {f"{part}_nats": round(nats, 4), f"{part}_bits_per_byte": round(bits, 4)}
        return f"{self.took:.0f} s: test {self.facts['test_nats']:.3f} nats a character, {bits:.3f} bits a byte"

    def nats(self, text: str) -> float:
        """The mean loss per character, not counting the first one."""
        return -token_log_probs(self.training.model, self.characters.encode(text)).mean().item()


def parser() -> ArgumentParser:
    """The parser of the options; those of SETTINGS are None unless they are given."""
    made = parser_of("python -m transformer_lab.training.text", DESCRIPTION, EPILOG, "python.safetensors", SETTINGS)
    made.add_argument("--lean", action="store_true", help="store float16, to use and not to train further")
    return made


def corpus_of(text: Path | None) -> tuple[Corpus, Characters]:
    """The texts, and the characters that a model of them knows."""
    if text is None:
        return python_source(), Characters(PRINTABLE)
    corpus = text_file(text)
    return corpus, Characters.of(corpus.text("train"))


def digest(corpus: Corpus) -> str:
    """A checksum, which is equal for equal texts."""
    return hashlib.sha256("".join(map(corpus.text, ("train", "validation", "test"))).encode()).hexdigest()


def begin(options: Namespace, device: torch.device) -> TextRun:
    """Begin a new training run."""
    chosen = settings(options, SETTINGS)
    text = None if chosen["text"] is None else chosen["text"].absolute()
    corpus, characters = corpus_of(text)
    torch.manual_seed(chosen["seed"])
    config = LanguageModelConfig(
        vocab_size=len(characters),
        d_model=chosen["d-model"],
        n_heads=chosen["heads"],
        d_ff=chosen["d-ff"],
        n_layers=chosen["layers"],
        max_len=chosen["length"],
        dropout=chosen["dropout"],
        attention_dropout=0.0,
        activation="gelu",
        pad_id=characters.pad_id,
        positions=chosen["positions"],
    )
    recipe = TextRecipe(
        n_steps=chosen["steps"],
        batch_size=chosen["batch"],
        peak_rate=chosen["rate"],
        warmup_steps=chosen["warmup"],
        seed=chosen["seed"],
        bf16=device.type == "cuda" if options.bf16 is None else options.bf16,
    )
    examples = TextExamples(characters.encode(corpus.text("train")), chosen["length"])
    training = TextTraining(LanguageModel(config).to(device), examples, recipe)
    return TextRun(training=training, characters=characters, corpus=corpus, text=text)


def resume(options: Namespace, device: torch.device) -> TextRun:
    """Resume the training of a checkpoint."""
    if known := [name for name in written(options, SETTINGS) if name != "--text"]:
        raise ValueError(f"with --resume, {', '.join(known)} must be left out: the checkpoint knows")
    model, characters, metrics = load_language_model(options.resume)
    stored = options.text or metrics["text"]
    text = None if stored is None else Path(stored).absolute()
    corpus = corpus_again(text, options.resume, metrics.get("text_sha256"))
    examples = TextExamples(characters.encode(corpus.text("train")), model.config.max_len)
    training = load_training(options.resume, examples, device, TextTraining)
    assert isinstance(training, TextTraining)
    return TextRun(training=training, characters=characters, corpus=corpus, text=text, seconds=metrics["seconds"])


def corpus_again(text: Path | None, checkpoint: Path, wanted: str | None) -> Corpus:
    """The texts that a checkpoint's training started with, which must have this checksum if it is known."""
    try:
        corpus, _ = corpus_of(text)
    except FileNotFoundError as error:
        raise ValueError(f"--text must say where the text of {checkpoint} is now ({text} is not there)") from error
    if wanted not in (None, digest(corpus)):
        found = "the source of this Python" if text is None else text
        raise ValueError(
            f"a training must go on with the text that it began with ({found} is not that of {checkpoint})"
        )
    return corpus
