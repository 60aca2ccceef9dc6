"""A language model beside Hugging Face's GPT-2 of equal weights, and how soon a training beats the trigram table.

    pytest tests/benchmarks/test_language_model_speed.py

That the two compute the same is asserted first.
"""

import time
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from tests.benchmarks.timing import ratio_of
from tests.support import DEVICE, assert_close
from transformer_lab import LanguageModel, LanguageModelConfig, complete, next_token_loss
from transformer_lab.data.ngrams import NGrams
from transformer_lab.training.commands import language_model
from transformer_lab.weights.modules import copy_from_huggingface

SMALL = LanguageModelConfig(dropout=0.0, attention_dropout=0.0)  # GPT-2 small
OF_CODE = LanguageModelConfig(*(96, 128, 4, 512, 4, 256), dropout=0.0, attention_dropout=0.0)
NO_PADDING = -1


def both(config: LanguageModelConfig) -> tuple[LanguageModel, nn.Module]:
    """Our model and Hugging Face's, with equal weights and without dropout."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"n_embd": config.d_model, "n_head": config.n_heads, "n_inner": config.d_ff, "n_layer": config.n_layers}
    off = {"bos_token_id": None, "eos_token_id": None, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=config.vocab_size, n_positions=config.max_len, **sizes, **off)
    )
    ours = LanguageModel(config)
    copy_from_huggingface(theirs, ours)
    return ours.to(DEVICE), theirs.to(DEVICE)


@pytest.mark.parametrize(
    ("config", "batch", "rounds"),
    [(SMALL, 1, 5), (SMALL, 4, 5), (OF_CODE, 1, 15)],
    ids=["GPT-2 small, one text", "GPT-2 small, four", "the code model's size"],
)
def test_100_tokens_with_a_cache_beside_hugging_face(config, batch, rounds, capsys):
    ours, theirs = both(config)
    prompt, count = torch.randint(0, config.vocab_size, (batch, 16), device=DEVICE), 100
    settings = {"attention_mask": torch.ones_like(prompt), "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    generate = partial(theirs.eval().generate, prompt, max_new_tokens=count, **settings)
    completed = partial(complete, ours.eval(), prompt, count, top_k=1)
    assert torch.equal(completed(), generate())
    ratio_of(("our 100 tokens", "Hugging Face's"), completed, generate, rounds, capsys)


@pytest.mark.parametrize(
    ("config", "batch", "length", "rounds"),
    [(SMALL, 2, 64, 5), (OF_CODE, 16, 128, 15)],
    ids=["GPT-2 small", "the code model's size"],
)
def test_a_training_step_beside_hugging_face(config, batch, length, rounds, capsys):
    ours, theirs = both(config)
    tokens = torch.randint(0, config.vocab_size, (batch, length), device=DEVICE)
    losses = (
        lambda: next_token_loss(ours(tokens), tokens, NO_PADDING),
        lambda: theirs(tokens, labels=tokens).loss,
    )
    assert_close(losses[0](), losses[1](), within=1e-5)

    def step(loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-4) for model in (ours, theirs)]
    steps = [
        lambda loss=loss, optimizer=optimizer: step(loss(), optimizer)
        for loss, optimizer in zip(losses, optimizers, strict=True)
    ]
    for work in steps:
        work()
    assert_close(losses[0](), losses[1](), within=1e-3)
    ratio_of(("our training step", "Hugging Face's"), *steps, rounds, capsys)


def test_seconds_until_the_trigram_table_is_beaten(capsys):
    """The default training on Python's source; what it reads of the validation is also read by the tables."""
    run = language_model.begin(language_model.parser().parse_args([]), DEVICE)
    train, held_out = (run.characters.encode(run.corpus.text(part)) for part in ("train", "validation"))
    held_out = held_out[: language_model.WATCHED]
    trigram = -NGrams(train, len(run.characters), 3).token_log_probs(held_out).mean().item()
    seconds, step, nats = 0.0, 0, float("inf")
    while nats > trigram:
        start, step = time.perf_counter(), step + 50
        for _ in run.training.run(step):
            pass
        seconds += time.perf_counter() - start
        nats = run.nats(run.corpus.text("validation")[: language_model.WATCHED])
    with capsys.disabled():
        print(
            f"\n{DEVICE}, {torch.get_num_threads()} threads: {seconds:.0f} s, {step} steps until the loss, {nats:.2f} "
            f"nats a character, is below the trigram table's {trigram:.2f}"
        )
    assert step < run.until
