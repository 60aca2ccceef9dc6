"""The scripts in the docstring of `distributed.checkpoints`, word by word, with a model and batches to try them on."""

import re
import sys
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import torch
import torch.distributed as dist

from transformer_lab.distributed import checkpoints
from transformer_lab.distributed.checkpoints import load_sharded, save_sharded
from transformer_lab.distributed.sharded import Sharded
from transformer_lab.distributed.trials import EPS, new_model
from transformer_lab.models.language_model import LanguageModelConfig

config = LanguageModelConfig(
    vocab_size=11, d_model=12, n_heads=2, d_ff=8, n_layers=2, max_len=8, dropout=0.0, attention_dropout=0.0
)
batches = [*torch.randint(11, (5, 4, 8), generator=torch.Generator().manual_seed(0))]


def adam_of(parameters: object) -> torch.optim.Adam:
    """As in `trials`, with which the result is compared."""
    return torch.optim.Adam(parameters, 1e-3, eps=EPS)  # type: ignore[arg-type]


def run(script: int, folder: Path, until: int = 0) -> dict:
    """Run the first or the second script of the docstring; returns its variables."""
    blocks = re.findall(r"\n\n((?:    .*\n)+)", checkpoints.__doc__ or "")
    like_torch = SimpleNamespace(optim=SimpleNamespace(Adam=adam_of))
    names = {"torch": like_torch, "dist": dist, "Sharded": Sharded, "LanguageModel": new_model, "config": config}
    names |= {"load_sharded": load_sharded, "save_sharded": save_sharded, "batches": batches}
    names |= {"folder": folder, "until": until}
    exec(dedent(blocks[script]), names)
    return names


def read_alone(folder: Path) -> torch.nn.Module:
    return run(1, folder)["model"]


if __name__ == "__main__":
    run(0, Path(sys.argv[1]), int(sys.argv[2]))
