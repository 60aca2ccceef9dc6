"""What becomes of the program with each bug: losses, answers, and what the tools say; lesson 14 reads it.

    python -m transformer_lab.training.experiments.clinic --out clinic.json

trains the healthy program and every patient with three seeds, and writes a row for each.
"""

import argparse
import json
from typing import Any

import torch

from transformer_lab.files import replace_file
from transformer_lab.training.commands.options import whole, writable
from transformer_lab.training.experiments.clinic.bugs import BUGS
from transformer_lab.training.experiments.clinic.patients import Program, load
from transformer_lab.training.experiments.clinic.tools import TOOLS

SEEDS, N_TEST, EVERY = (0, 1, 2), 100, 10
HEALTHY = "healthy"


def trained(program: Program, seed: int, n_steps: int) -> tuple[Any, list[float]]:
    """A model that the program has trained, and the loss of each step."""
    tokenizer, (numbers, _) = program.data.all_names(), program.data.split_numbers(N_TEST, 0)
    torch.manual_seed(seed)
    model = program.model.Decoder(program.model.Sizes(len(tokenizer.pieces)))
    recipe = program.training.Recipe(n_steps=n_steps, seed=seed)
    return model, [loss for _, loss in program.training.train(model, tokenizer, numbers, recipe)]


def test_chats(program: Program) -> list[Any]:
    """Chats about numbers that the healthy program never trains on."""
    chats: list[Any] = program.data.draw_chats(program.data.split_numbers(N_TEST, 0)[1], 100, seed=5)
    return chats


def row_of(name: str, seed: int, n_steps: int) -> dict[str, Any]:
    """A training of one patient, and what is seen of it."""
    program = load(None if name == HEALTHY else name)
    tools = {tool: look(program, seed) for tool, look in TOOLS.items()}
    alarms, says = [x for x in tools if tools[x].alarm], {x: tools[x].says for x in tools}
    row = {"bug": name, "seed": seed, "alarms": alarms, "says": says}
    return row | symptoms(program, seed, n_steps) if n_steps else row


def symptoms(program: Program, seed: int, n_steps: int) -> dict[str, Any]:
    """What is seen of a training: every tenth loss, and the answers to the test, all in a batch and one by one."""
    model, losses = trained(program, seed, n_steps)
    tokenizer, chats, generation = program.data.all_names(), test_chats(program), program.generation
    return {
        "n_steps": n_steps,
        "losses": [round(loss, 3) for loss in losses[::EVERY] + losses[-1:]],
        "right": generation.share_right(model, tokenizer, chats),
        "one_by_one": sum(generation.share_right(model, tokenizer, [chat]) for chat in chats[:30]) / 30,
        "answers": generation.answers(model, tokenizer, chats[:4]),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    assert __doc__
    parser = argparse.ArgumentParser(
        "python -m transformer_lab.training.experiments.clinic", description=__doc__.split("\n")[0]
    )
    names = [HEALTHY, *BUGS]
    parser.add_argument("--out", type=writable, default="clinic.json", help="(default: %(default)s)")
    parser.add_argument("--steps", type=whole(0), default=250, help="0: only the tools (default: %(default)s)")
    parser.add_argument("--seeds", type=whole(0), nargs="+", default=SEEDS, help="(default: %(default)s)")
    parser.add_argument("--bugs", nargs="+", choices=names, default=names, metavar="NAME", help="(default: all)")
    options, found = parser.parse_args(arguments), []
    for seed in options.seeds:
        for name in options.bugs:
            found.append(row_of(name, seed, options.steps))
            print({key: value for key, value in found[-1].items() if key not in ("says", "losses")}, flush=True)
            replace_file(options.out, ("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n").encode())
    return 0
