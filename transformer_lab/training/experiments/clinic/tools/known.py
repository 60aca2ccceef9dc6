"""Tools that know beforehand what must come out."""

import math

import torch
from torch import Tensor

from transformer_lab.training.experiments.clinic.patients import Program
from transformer_lab.training.experiments.clinic.tools import bench
from transformer_lab.training.experiments.clinic.tools.reading import Reading

FIRST_LOSS_WITHIN = 0.3


def texts(program: Program, seed: int = 0) -> Reading:
    """Read the data back: do texts survive their tokens, is the test new, and do prompts look like the training?"""
    data, tokenizer = program.data, program.data.all_names()
    chats = bench.some_chats(program, 20, seed)
    whole = [data.chat_text(chat) for chat in chats]
    lost = sum(tokenizer.decode(tokenizer.encode(text)) != text for text in whole)
    training, test = data.split_numbers(100, seed)
    model = bench.silent(program, len(tokenizer.pieces))
    program.generation.answers(model, tokenizer, chats)
    strange = sum(
        ids[: len(prompt)] != prompt for ids, prompt in zip(bench.encoded(program, chats), model.prompts, strict=True)
    )
    known = len({*training} & {*test})
    says = f"{lost} of 20 texts do not come back, {known} of 100 test numbers are in the training, "
    return Reading(lost + known + strange > 0, says + f"{strange} of 20 prompts begin no chat of the training")


def asked_for(program: Program, rows: object) -> Tensor:
    """`(B, T, vocab)`: True where the loss asks a position for a token, because its gradient raises that logit."""
    tokens: Tensor = rows.tokens  # type: ignore[attr-defined]
    logits = torch.zeros(*tokens.shape, len(program.data.all_names().pieces), requires_grad=True)
    program.training.token_losses(logits, rows).sum().backward()
    assert logits.grad is not None
    return logits.grad < 0


def wanted(program: Program, tokens: Tensor) -> set[tuple[int, int, int]]:
    """Row, position and next token, wherever the next token lies behind an `<assistant>` and not behind its `<end>`."""
    found = set()
    for row, ids in enumerate(tokens.tolist()):
        starts = [t for t, token in enumerate(ids) if token == program.data.ASSISTANT]
        for start in starts:
            end = ids.index(program.data.END, start)
            found |= {(row, t, ids[t + 1]) for t in range(start, end)}
    return found


def targets(program: Program, seed: int = 0) -> Reading:
    """Ask the loss what it wants: each token of the answers, from the position before it, and nothing else."""
    rows, pieces = bench.packed(program, 12, seed), program.data.all_names().pieces
    asked = {(int(b), int(t), int(v)) for b, t, v in asked_for(program, rows).nonzero()}
    right = wanted(program, rows.tokens)
    wrong, missing = asked - right, right - asked
    says = f"{len(missing)} of {len(right)} tokens of answers are not asked for, {len(wrong)} others are"
    if wrong:
        row, place, token = min(wrong)
        says += f": after {pieces[rows.tokens[row, place]]!r} comes {pieces[rows.tokens[row, place + 1]]!r}, "
        says += f"and {pieces[token]!r} is asked for"
    return Reading(bool(wrong or missing), says)


def first_loss(program: Program, seed: int = 0) -> Reading:
    """The loss before the first step is near that of a guess, the logarithm of the size of the vocabulary."""
    model, rows = bench.new_model(program, seed), bench.packed(program, 12, seed)
    loss, guess = program.training.add_gradients(model.eval(), [rows]), math.log(len(program.data.all_names().pieces))
    return Reading(abs(loss - guess) > FIRST_LOSS_WITHIN, f"the first loss is {loss:.2f}, that of a guess {guess:.2f}")
